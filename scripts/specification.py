"""What the reader promises, feature by feature, each with the tests that prove it.

`docs/specification.md` is made of this table (`scripts/made_tables.py`), which fails where a test that is named here is
not there any more. A test is named by its file below `tests/` and its function.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Feature:
    """One promise, in the words of the format's protocol or of SQL, and what proves it."""

    name: str
    promise: str
    tests: tuple[str, ...]


def _feature(name: str, promise: str, file: str, *tests: str) -> Feature:
    return Feature(name, promise, tuple(f"{file}::{test}" if "::" not in test else test for test in tests))


DELTA_LOG = "formats/delta/test_checkpoint.py"
DELTA_STREAM = "formats/delta/stream/test_delta_stream.py"
HUDI_ERRORS = "formats/hudi/test_errors.py"

SPECIFICATION: dict[str, tuple[Feature, ...]] = {
    "Delta Lake: protocol and log": (
        _feature(
            "Protocol",
            "A table that needs an unknown reader feature or version is refused by name, before data is read.",
            "formats/delta/test_protocol.py",
            "test_any_other_feature_is_refused_by_name",
            "test_a_reader_version_that_does_not_exist_yet_is_refused",
        ),
        _feature(
            "Writer features",
            "A feature that only writers need stops no reader.",
            "formats/delta/test_protocol.py",
            "test_a_feature_that_only_writers_need_stops_no_reader",
        ),
        _feature(
            "`catalogManaged`",
            "Refused, with the reason.",
            "formats/delta/test_protocol.py",
            "test_a_catalog_managed_table_is_refused_with_a_sentence_that_explains_it",
        ),
        _feature(
            "`vacuumProtocolCheck`",
            "It asks nothing of a reader: the table is read.",
            "formats/delta/test_protocol.py",
            "test_a_supported_feature_stops_nobody",
        ),
        _feature(
            "Replay",
            "The last action for a file wins, across commits and within one.",
            "formats/delta/test_replay.py",
            "test_any_sequence_of_adds_and_removes_leaves_the_files_that_a_dictionary_would_hold",
            "formats/delta/test_commits.py::test_the_last_action_for_a_file_wins_across_commits_and_within_one",
        ),
        _feature(
            "Checkpoints, `v2Checkpoint`",
            "Classic, in parts and V2 with sidecars give what the commits give.",
            DELTA_LOG,
            "test_a_checkpoint_gives_what_the_commits_give",
            "test_a_sidecar_is_found_by_its_name_or_by_a_path_anywhere",
        ),
        _feature(
            "Broken checkpoints",
            "Passed over with a warning where the log can do without them, an error where it cannot.",
            DELTA_LOG,
            "test_a_broken_checkpoint_is_passed_over_with_a_warning",
            "test_a_broken_checkpoint_that_the_log_cannot_do_without_is_an_error",
        ),
        _feature(
            "Log compaction",
            "A compacted file gives what its commits give, and gives way to them where it is damaged.",
            DELTA_LOG,
            "test_log_compaction_files_give_what_their_commits_give",
            "formats/delta/test_lying_log.py::test_a_damaged_compacted_file_gives_way_to_the_commits",
        ),
        _feature(
            "Version checksums",
            "A log that its checksum refutes is refused.",
            "formats/delta/test_checksum.py",
            "test_every_count_is_compared",
            "test_an_add_that_is_gone_from_the_log_is_missed",
        ),
        _feature(
            "Gaps",
            "A commit that is missing is an error that names its file.",
            "formats/delta/test_log_segment.py",
            "test_a_missing_commit_is_an_error_that_names_its_file",
        ),
        _feature(
            "Damage",
            "A commit that is corrupt is an error that names it, never a part of the answer.",
            "formats/delta/test_commits.py",
            "test_a_corrupt_commit_is_an_error_that_names_it_and_never_a_partial_answer",
            "formats/delta/test_lying_log.py::test_a_broken_add_is_refused_by_snapshots_changes_and_streams_alike",
        ),
    ),
    "Delta Lake: rows": (
        _feature(
            "Every sample table",
            "Each version has the rows that the engine which wrote it read.",
            "test_sample_tables.py",
            "test_a_sample_table_has_the_rows_that_its_engine_read",
            "test_every_version_has_the_rows_that_the_engine_read_of_it",
        ),
        _feature(
            "`deletionVectors`",
            "Deleted rows never appear; size, checksum and number of rows are verified.",
            "formats/delta/test_deletion_vector.py",
            "test_any_positions_come_back_from_any_kind_of_storage",
            "test_a_wrong_checksum_is_an_error_that_names_the_file",
            "reader/test_read.py::test_vectors_skipped_row_groups_and_split_files_together_give_each_live_row_once",
        ),
        _feature(
            "`columnMapping`",
            "By name and by id; renamed, dropped and swapped columns keep their own values.",
            "formats/delta/test_column_mapping.py",
            "test_a_mapped_table_is_filtered_partitioned_and_read_in_logical_names",
            "test_a_renamed_column_keeps_its_values_and_a_new_one_of_the_old_name_has_none",
        ),
        _feature(
            "`typeWidening`",
            "Old files, statistics and partition values are read in the new type.",
            "formats/delta/test_type_widening.py",
            "test_old_rows_read_in_the_new_types_as_delta_spark_reads_them",
            "test_statistics_and_partition_values_of_the_old_type_skip_only_what_cannot_match",
        ),
        _feature(
            "`variantType`, `variantShredding`",
            "Variants are Spark's; shredded ones are made whole.",
            "spark/test_delta_types.py",
            "test_a_shredded_variant_is_sparks_variant_type_with_the_values_delta_spark_gives",
            "reader/test_variant.py::test_whatever_was_shredded_comes_back_as_it_was",
        ),
        _feature(
            "`timestampNtz` (also `timestampWithoutTimezone`), time zones",
            "The same moments in every session time zone.",
            "spark/test_scan.py",
            "test_timestamps_are_the_same_instants_in_every_session_zone",
        ),
        _feature(
            "Partition values",
            "As Delta Spark reads their text, or an error that names the column.",
            "formats/delta/test_partition_values.py",
            "test_an_unusual_spelling_is_the_value_that_delta_spark_reads_or_an_error",
        ),
        _feature(
            "Schema evolution",
            "Columns added, moved and dropped, nested ones too, read as a model of the table.",
            "formats/delta/test_schema_evolution.py",
            "test_a_table_reads_the_same_as_a_model_of_it_through_any_changes_of_its_columns",
        ),
        _feature(
            "Old calendars",
            "Dates and moments of old Spark files are those that were written.",
            "spark/test_calendars.py",
            "test_old_dates_and_times_are_those_that_were_written",
        ),
        _feature(
            "`CHAR`, collations",
            "`CHAR` is padded; text with a collation is compared by it.",
            "spark/test_delta_types.py",
            "test_char_is_padded_and_varchar_is_not",
            "test_a_collated_column_is_compared_by_its_collation",
        ),
        _feature(
            "Row tracking, `_metadata`",
            "File, row index and row ids are those of Delta Spark.",
            "formats/delta/test_row_tracking.py",
            "test_every_version_gives_the_metadata_that_delta_spark_gives",
            "spark/test_file_metadata.py::test_names_types_and_values_are_those_of_sparks_own_column",
        ),
        _feature(
            "Shallow clones",
            "Files and deletion vectors of the source are read where they are.",
            "formats/delta/test_paths.py",
            "test_a_shallow_clone_reads_the_files_and_deletion_vectors_of_its_source",
        ),
        _feature(
            "Data files",
            "A file that is missing, replaced or damaged is an error that names it.",
            "reader/test_file_checks.py",
            "test_a_file_replaced_by_one_of_another_size_is_an_error_that_names_both_sizes",
            "test_a_page_that_is_not_what_its_checksum_says_is_an_error",
            "reader/test_read.py::test_a_missing_data_file_is_an_error_and_never_a_partial_answer",
        ),
    ),
    "Delta Lake: versions, changes and streams": (
        _feature(
            "Time travel",
            "By version, by moment and by `path@v12`; outside the log the range is named.",
            "formats/delta/test_time_travel.py",
            "test_every_version_reads_as_it_was",
            "test_a_moment_finds_the_newest_commit_that_is_not_after_it",
            "test_the_end_of_a_path_may_name_a_version",
        ),
        _feature(
            "In-commit timestamps",
            "Times that commits wrote into themselves win over file times.",
            "formats/delta/test_time_travel.py",
            "test_times_that_commits_wrote_into_themselves_win_over_file_times",
        ),
        _feature(
            "Change data feed",
            "The changes that Delta Spark gives; applied to a version they give the later one.",
            "formats/delta/test_changes.py",
            "test_every_range_gives_the_changes_that_delta_spark_gives",
            "test_changes_applied_to_a_version_give_the_later_version",
        ),
        _feature(
            "History",
            "What `DESCRIBE HISTORY` says.",
            "formats/delta/test_history.py",
            "test_the_history_is_the_one_that_delta_spark_describes",
        ),
        _feature(
            "Streams: exactly once",
            "Each row once across restarts, also of a killed driver.",
            "formats/delta/stream/test_model.py",
            "test_a_stream_delivers_what_the_model_says",
            "spark/test_stream.py::test_a_killed_driver_started_again_gives_each_row_exactly_once",
        ),
        _feature(
            "Streams: no append",
            "A commit that deletes or changes rows stops the stream, unless an option says otherwise.",
            DELTA_STREAM,
            "test_a_commit_that_is_no_append_stops_the_stream_and_is_named",
            "test_each_option_passes_the_commits_it_names",
        ),
        _feature(
            "Streams: limits",
            "`maxFilesPerTrigger`, `maxBytesPerTrigger` and `Trigger.AvailableNow`.",
            DELTA_STREAM,
            "test_both_limits_hold_at_once_and_one_file_always_passes",
            "test_available_now_ends_where_the_table_ended_when_it_began",
        ),
        _feature(
            "Streams: schema changes",
            "A stream stops at each; a restart, or a schema log, takes it on.",
            "formats/delta/stream/test_stream_schema.py",
            "test_an_added_column_stops_the_stream_and_a_restart_goes_on_with_it",
            "test_a_schema_log_takes_a_stream_through_renames_and_drops",
        ),
        _feature(
            "Streams: failures",
            "An error of the query, never an empty batch.",
            "spark/test_stream.py",
            "test_a_failure_is_an_error_of_the_query_and_never_an_empty_batch",
        ),
    ),
    "Apache Hudi": (
        _feature(
            "Copy on write, merge on read",
            "The rows that Hudi on Spark and hudi-rs read, of each instant.",
            "formats/hudi/test_kinds.py",
            "test_a_table_reads_as_hudi_rs_reads_it",
            "formats/hudi/test_reads.py::test_every_instant_reads_as_hudi_rs_reads_it",
            "formats/hudi/test_merging.py::test_rows_are_merged_as_hudi_merges_them",
        ),
        _feature(
            "File groups of log files alone",
            "Of every table version; refused by name where one may have lost its base file.",
            "formats/hudi/test_log_only.py",
            "test_the_rows_are_those_that_hudi_reads",
            "test_before_table_version_8_commits_say_which_log_files_there_are",
            "test_a_group_that_may_have_lost_its_base_file_is_refused_by_name",
        ),
        _feature(
            "Filters on merged rows",
            "A filter never brings back the row that an update replaced.",
            "formats/hudi/test_kinds.py",
            "test_a_filter_never_brings_back_the_row_that_an_update_replaced",
        ),
        _feature(
            "Column statistics index",
            "It skips files and never rows, also where Hudi's own skipping loses some.",
            "formats/hudi/test_column_statistics.py",
            "test_with_skipping_the_rows_are_those_without",
            "test_a_filter_finds_the_rows_that_hudi_finds_and_those_that_hudi_loses",
        ),
        _feature(
            "Read optimized, as of, incremental",
            "What Hudi's own options ask for, in every spelling that Hudi takes.",
            "formats/hudi/test_hudis_options.py",
            "test_a_query_gives_the_rows_that_hudi_gives",
            "formats/hudi/test_options.py::test_as_of_instant_is_the_newest_instant_not_after_it",
            "formats/hudi/test_options.py::test_an_incremental_query_is_after_its_begin_and_up_to_its_end",
            "formats/hudi/test_reads.py::test_a_read_optimized_read_is_the_base_files_alone",
        ),
        _feature(
            "Changes",
            "The rows of the last state that the commits wrote.",
            "formats/hudi/test_reads.py",
            "test_changes_are_the_rows_of_the_last_state_that_the_commits_wrote",
        ),
        _feature(
            "Streams",
            "Each row of each commit once; an instant that is gone is an error.",
            "formats/hudi/test_stream.py",
            "test_whatever_happens_each_row_of_each_commit_is_given_once",
            "test_an_instant_that_was_archived_is_an_error_and_not_an_empty_batch",
        ),
        _feature(
            "Damage",
            "Cut blocks, missing files and wrong counts are errors, and no byte ends the process.",
            HUDI_ERRORS,
            "test_a_log_block_that_is_cut_off_is_an_error_and_not_a_block_less",
            "test_a_missing_log_file_is_an_error",
            "formats/hudi/test_damage.py::test_no_byte_of_a_commit_is_believed",
        ),
        _feature(
            "What is not read",
            "Other table versions, mergers of the table's own and other base files are refused by name.",
            HUDI_ERRORS,
            "test_an_unsupported_table_version_is_refused_by_name",
            "test_a_merger_of_the_tables_own_is_refused_by_name",
            "test_lance_base_files_are_refused_by_name",
        ),
    ),
    "What is pushed down": (
        _feature(
            "Filters",
            "The rows that Spark, and DuckDB, find; only a filter that is evaluated exactly is claimed.",
            "scan/test_any_filter.py",
            "test_a_filtered_scan_gives_the_rows_that_duckdb_gives",
            "spark/test_any_expression.py::test_a_random_filter_gives_the_same_rows_with_and_without_pushdown",
            "spark/test_skipping.py::test_only_a_filter_that_is_evaluated_exactly_is_claimed",
        ),
        _feature(
            "Skipping of files",
            "A skipped file holds no row that is wanted; missing and cut statistics keep the file.",
            "predicate/test_skipping.py",
            "test_a_skipped_file_holds_no_row_that_is_wanted",
            "scan/test_pruning.py::test_a_file_without_usable_statistics_is_read_and_never_an_error",
        ),
        _feature(
            "Skipping of row groups",
            "Each type with an order skips, and never the row group that matches.",
            "reader/test_row_groups.py",
            "test_every_type_with_an_order_skips_row_groups_and_never_the_one_that_matches",
        ),
        _feature(
            "Generated columns",
            "Whatever zone the writer was in, no matching row is lost.",
            "scan/test_generated_columns.py",
            "test_whatever_zone_the_writer_was_in_no_matching_row_is_lost",
        ),
        _feature(
            "Runtime filters",
            "The rows that the join gives without them.",
            "spark/test_skipping.py",
            "test_a_runtime_filter_gives_the_rows_that_the_join_gives_without_it",
        ),
        _feature(
            "Aggregates",
            "Bit for bit the answer without pushdown.",
            "scan/test_any_pushdown.py",
            "test_an_aggregate_is_that_of_the_rows",
            "spark/test_pushdowns.py::test_pushdown_changes_no_bit_of_the_answer",
            "spark/test_pushdowns.py::test_what_the_log_answers_opens_no_data_file",
        ),
        _feature(
            "Subqueries",
            "Merged into one scan or not, each gives the same.",
            "spark/test_merged_subqueries.py",
            "test_any_subqueries_give_the_same_merged_and_alone",
            "test_subqueries_over_the_same_rows_are_one_scan",
        ),
        _feature(
            "Limit, offset, top-n",
            "As many rows as asked for, the first ones where an order is given.",
            "scan/test_any_pushdown.py",
            "test_a_limit_gives_so_many_rows_of_the_table_and_an_offset_leaves_so_many_out",
            "test_the_first_rows_by_an_order_are_the_first_of_the_table",
        ),
        _feature(
            "`TABLESAMPLE SYSTEM`",
            "The rows of whole files, drawn by the seed, whatever else is asked; each as often as the fraction says.",
            "scan/test_sample.py",
            "test_whatever_is_asked_of_a_sample_is_asked_of_the_rows_of_its_files",
            "test_every_file_is_taken_as_often_as_the_fraction_says",
            "spark/test_sample.py::test_a_sample_is_the_rows_of_the_files_that_its_seed_takes",
        ),
        _feature(
            "Values out of Variants",
            "What Spark takes out of whole ones; a cast that fails fails whoever asks for it.",
            "spark/test_variant_fields.py",
            "test_every_path_as_every_type_is_what_spark_takes_out_of_the_whole_variant",
            "test_a_cast_that_fails_fails_whoever_asks_for_it_and_nobody_else",
        ),
        _feature(
            "Spark's own Parquet reader",
            "The same rows with and without workers.",
            "spark/test_plain_files.py",
            "test_any_table_has_the_same_rows_with_and_without_workers",
        ),
        _feature(
            "Switches",
            "Every switch leaves the rows as they are.",
            "spark/test_skipping.py",
            "test_every_switch_leaves_the_rows_as_they_are",
        ),
        _feature(
            "One query, one version",
            "By whatever names a query calls a table, whoever made its parts and when; a version that is named stays.",
            "spark/test_pinned_versions.py",
            "spark/test_skipping.py::test_a_query_sees_one_version_by_whatever_names",
            "test_a_version_that_a_path_names_is_not_that_of_the_path_without_it",
            "test_frames_that_were_made_before_and_after_a_commit_are_one_version_in_a_query",
            "test_a_frame_without_a_version_follows_the_table_and_one_that_names_it_stays",
        ),
        _feature(
            "Tables made anew",
            "A table that was deleted and made anew at its path, or copied there, is not taken for the one before.",
            "formats/delta/test_made_anew.py",
            "test_a_table_made_anew_is_not_taken_for_the_one_before",
            "test_a_copy_that_took_another_way_is_told_from_what_it_is_put_in_place_of",
            "spark/test_pinned_versions.py::"
            "test_a_table_made_anew_is_read_by_new_queries_and_by_frames_of_the_one_before",
        ),
    ),
    "Stores, options and errors": (
        _feature(
            "S3",
            "The rows of local disk; failures of the store are told from damaged files.",
            "formats/delta/test_object_store.py",
            "test_a_table_reads_as_deltalake_reads_it_on_local_disk",
            "test_a_store_that_fails_in_the_middle_of_a_file_is_no_damage_to_the_file",
            "formats/hudi/test_object_store.py::test_rows_changes_and_history_are_those_of_local_disk",
        ),
        _feature(
            "Azure",
            "The same, by a key, by a signature or as Hadoop's OAuth says.",
            "io/test_azure.py",
            "test_a_table_reads_as_on_local_disk_by_a_key_and_by_a_signature",
            "test_oauth_means_what_it_means_to_hadoop",
        ),
        _feature(
            "Google's store",
            "The same for Delta tables, anonymously or by a key file.",
            "io/test_gcs.py",
            "test_a_table_reads_as_on_local_disk",
            "test_a_key_file_signs_every_request_of_every_process",
        ),
        _feature(
            "The session's keys",
            "Driver and workers open a store with what Spark's Hadoop was told, credential stores included.",
            "spark/test_stores.py",
            "test_driver_and_workers_read_with_the_keys_of_the_session",
            "test_azure_and_google_open_with_what_the_session_was_told",
            "test_keys_in_a_credential_store_of_hadoops_are_read",
        ),
        _feature(
            "Failing stores",
            "The same rows after some failures; after the last attempt one error that names the file.",
            "io/test_retries.py",
            "test_a_store_that_fails_every_fourth_request_gives_the_same_rows",
            "test_a_store_that_keeps_failing_is_one_error_that_names_the_file_after_as_many_attempts_as_were_given",
            "test_keys_that_expire_in_the_middle_of_a_query_are_named",
            "io/test_azure.py::test_a_store_that_fails_every_fourth_request_gives_the_same_rows",
            "io/test_gcs.py::test_a_store_that_fails_every_fourth_request_gives_the_same_rows",
        ),
        _feature(
            "Secrets",
            "No error, plan or `repr` shows a key.",
            "io/test_configuration.py",
            "test_no_secret_is_shown",
            "spark/test_stores.py::test_no_plan_no_report_and_no_error_shows_a_secret_of_azure_or_google",
            "io/test_secrets.py::test_no_error_shows_a_password_of_a_location",
        ),
        _feature(
            "Options",
            "One that is not known is refused with the nearest.",
            "test_options.py",
            "test_a_mistyped_option_is_refused_with_the_nearest",
            "spark/test_options.py::test_an_option_that_cannot_be_honoured_is_refused_by_name",
        ),
        _feature(
            "Errors",
            "Each names what it is about and says what to do.",
            "test_errors.py",
            "test_an_error_names_what_it_is_about_and_says_what_to_do",
        ),
        _feature(
            "Writing",
            "A statement that would write is refused.",
            "spark/test_errors.py",
            "test_a_statement_that_would_write_is_refused",
        ),
    ),
}
