package lakescan;

import java.io.IOException;
import java.util.List;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapred.FileSplit;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.hadoop.mapreduce.TaskAttemptID;
import org.apache.hadoop.mapreduce.task.TaskAttemptContextImpl;
import org.apache.parquet.HadoopReadOptions;
import org.apache.parquet.ParquetReadOptions;
import org.apache.parquet.filter2.predicate.FilterPredicate;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.ParquetInputFormat;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.parquet.hadoop.metadata.ParquetMetadata;
import org.apache.spark.deploy.SparkHadoopUtil;
import org.apache.spark.rdd.InputFileBlockHolder$;
import org.apache.spark.sql.catalyst.expressions.BasePredicate;
import org.apache.spark.sql.catalyst.expressions.Predicate$;
import org.apache.spark.sql.execution.datasources.parquet.VectorizedParquetRecordReader;
import org.apache.spark.sql.execution.vectorized.WritableColumnVector;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/**
 * Pieces of files, decoded by Spark's own vectorized Parquet reader in the executor itself, without deleted rows and
 * without those that a filter drops. Only files that hold the wanted columns as Spark would have written them are
 * opened. Rows come in the order in which a worker would send them.
 */
public final class PlainFiles {
  private static final int ROWS_IN_A_BATCH = 4096;
  private static final String REQUESTED = "org.apache.spark.sql.parquet.row.requested_schema";
  /** The column in which Spark's reader says where in the file each row is. */
  private static final String POSITIONS = "_tmp_metadata_row_index";

  private final StructType stored;
  private final StructType partitions;
  private final int[] places;
  private final PushedFilters filters;
  private BasePredicate filter;
  private final StoredColumns columns;
  private final Configuration settings;
  private final TaskAttemptContext context;

  /**
   * Column `at` of a batch is column `places[at]` of the stored ones and, behind them, the partition's. `filters` are
   * for {@link PushedFilters}, null where there are none.
   */
  public PlainFiles(
      StructType stored, StructType partitions, int[] places, byte[] filters, Configuration stores)
      throws IOException {
    this.stored = stored;
    this.partitions = partitions;
    this.places = places;
    this.columns = new StoredColumns(stored);
    this.settings = settings();
    if (stores != null) {
      StoreFiles.use(stores, settings);
    }
    this.context = context(settings);
    if (filters == null) {
      this.filters = null;
    } else {
      StructType all = stored;
      for (int at = 0; at < partitions.length(); at++) {
        all = all.add(partitions.apply(at));
      }
      this.filters = new PushedFilters(filters, all);
    }
  }

  /**
   * The rows of a piece, null where a worker is to read them: where the file does not hold its columns as Spark would
   * have written them, and where it is to be filtered and Parquet knows of few rows that they do not pass. A worker
   * decodes and filters with less effort, but it knows nothing of pages, and has to be started first: for a small scan
   * it is not worth that.
   */
  public Rows open(FilePiece piece) throws IOException {
    if (piece.path == null) {
      return null;
    }
    // Options that are not made of settings would be made of all that Hadoop finds in XML files, for each file.
    ParquetReadOptions options = HadoopReadOptions.builder(settings, piece.path).build();
    ParquetFileReader file = ParquetFileReader.open(piece.file(settings), options);
    try {
      return chosen(piece, file);
    } finally {
      file.close();
    }
  }

  private Rows chosen(FilePiece piece, ParquetFileReader file) throws IOException {
    ParquetMetadata footer = file.getFooter();
    if (!columns.areIn(footer)) {
      return null;
    }
    long rows = FilePiece.rowsOf(footer.getBlocks());
    piece.checkRows(rows);
    FilterPredicate pages =
        filters == null ? null : PageFilter.of(filters.wanted, stored, footer.getFileMetaData().getSchema());
    boolean filtered = filters != null && filters.rows != null && !filters.always;
    if (filtered && (pages == null || !PageFilter.skipsHalf(pages, stored, file, piece))) {
      return null;
    }
    return new Rows(piece, footer.getBlocks(), piece.deletedRows(rows, settings), pages, this);
  }

  /** Made where a file is to be filtered: to generate and look up its code takes longer than to look at pages. */
  private BasePredicate filter() {
    if (filter == null && filters != null && filters.rows != null) {
      filter = Predicate$.MODULE$.create(filters.rows);
    }
    return filter;
  }

  /** What Spark's reader takes from a session, here the same in all: the answer must not hang on it. */
  private Configuration settings() {
    Configuration configuration = new Configuration(SparkHadoopUtil.get().conf());
    configuration.set(REQUESTED, stored.json());
    configuration.set(
        "parquet.read.support.class", "org.apache.spark.sql.execution.datasources.parquet.ParquetReadSupport");
    configuration.setBoolean("spark.sql.caseSensitive", true);
    configuration.setBoolean("spark.sql.parquet.binaryAsString", false);
    configuration.setBoolean("spark.sql.parquet.int96AsTimestamp", true);
    configuration.setBoolean("spark.sql.parquet.inferTimestampNTZ.enabled", true);
    configuration.setBoolean("spark.sql.legacy.parquet.nanosAsLong", false);
    // By name alone: that a column of the name has the id that it should is seen to beforehand.
    configuration.setBoolean("spark.sql.parquet.fieldId.read.enabled", false);
    configuration.setBoolean("parquet.page.verify-checksum.enabled", true);
    configuration.setBoolean("parquet.filter.stats.enabled", true);
    configuration.setBoolean("parquet.filter.dictionary.enabled", true);
    configuration.setBoolean("parquet.filter.columnindex.enabled", true);
    configuration.setBoolean("parquet.filter.bloom.enabled", true);
    configuration.unset("parquet.private.read.filter.predicate");
    configuration.unset("parquet.read.filter");
    return configuration;
  }

  private static TaskAttemptContext context(Configuration settings) {
    return new TaskAttemptContextImpl(settings, new TaskAttemptID());
  }

  /** With a column more, by which rows are told where pages between them are left out. */
  private Configuration settings(FilterPredicate pages) {
    Configuration narrower = new Configuration(settings);
    narrower.set(REQUESTED, stored.add(POSITIONS, DataTypes.LongType, true).json());
    ParquetInputFormat.setFilterPredicate(narrower, pages);
    return narrower;
  }

  /** The rows of one piece, batch by batch. */
  public static final class Rows {
    private final FilePiece piece;
    private final List groups;
    private final int[] own;
    private final PlainFiles files;
    private final DeletedRows.Live live;
    private FilterPredicate pages;
    private final Selection selection = new Selection(ROWS_IN_A_BATCH);
    private final long rows;
    private Decoder decoder;
    private ColumnVector[] whole;
    private ColumnVector[] selected;
    private ColumnVector[] filtered;
    private ColumnVector positions;
    private ColumnarBatch current;
    private int group = -1;
    private long leftInGroup;
    private long position;

    Rows(FilePiece piece, List groups, DeletedRows deleted, FilterPredicate pages, PlainFiles files) {
      this.piece = piece;
      this.groups = groups;
      this.own = FilePiece.groupsIn(groups, piece.start, piece.length);
      this.live = deleted == null ? null : deleted.live();
      this.pages = pages;
      this.files = files;
      long count = 0;
      for (int at = 0; at < own.length; at++) {
        count += rowsOf(own[at]);
      }
      this.rows = count;
    }

    public boolean next() throws IOException {
      if (rows == 0) {
        return false;
      }
      if (whole == null) {
        begin();
      }
      while (decoder.nextKeyValue()) {
        int count = decoder.resultBatch().numRows();
        moveOn(count);
        select(count);
        if (selection.count > 0) {
          current = new ColumnarBatch(selection.count < count ? left() : whole, selection.count);
          return true;
        }
      }
      return false;
    }

    public ColumnarBatch batch() {
      return current;
    }

    /** Where in the file the first row is that has not been given; all before it that are wanted have been. */
    public long position() {
      return position;
    }

    public void close() throws IOException {
      if (decoder != null) {
        decoder.close();
        decoder = null;
      }
    }

    private void initialize() throws IOException {
      decoder = new Decoder();
      try {
        FileSplit split = new FileSplit(piece.path, piece.start, piece.length, new String[0]);
        decoder.initialize(split, pages == null ? files.context : context(files.settings(pages)));
      } catch (InterruptedException interrupted) {
        Thread.currentThread().interrupt();
        throw new IOException(interrupted);
      }
      if (pages == null ? decoder.total() != rows : decoder.total() > rows) {
        throw new IOException(piece.path + ": its row groups are not where their sizes say");
      }
    }

    private void begin() throws IOException {
      initialize();
      if (pages != null && decoder.total() == rows) {
        // Where no page is left out the rows' places need not be asked for.
        close();
        pages = null;
        initialize();
      }
      decoder.initBatch(files.partitions, piece.partition);
      decoder.enableReturningBatches();
      chooseColumns(decoder.resultBatch());
      // For input_file_name(), as Spark's own readers do.
      InputFileBlockHolder$.MODULE$.set(piece.path.toUri().toString(), piece.start, piece.blockLength());
    }

    /** Every batch has the same columns; those of the partition are the same in every row. */
    private void chooseColumns(ColumnarBatch batch) {
      int stored = files.stored.length();
      positions = pages == null ? null : batch.column(stored);
      filtered = new ColumnVector[stored + files.partitions.length()];
      for (int at = 0; at < filtered.length; at++) {
        filtered[at] = batch.column(at < stored || pages == null ? at : at + 1);
      }
      whole = new ColumnVector[files.places.length];
      selected = new ColumnVector[files.places.length];
      for (int at = 0; at < whole.length; at++) {
        int place = files.places[at];
        whole[at] = filtered[place];
        selected[at] = place < stored ? new SelectedColumn(whole[at], selection) : whole[at];
      }
    }

    /** The columns without the rows that are not selected; those of the partition are the same in every row. */
    private ColumnVector[] left() {
      boolean hasLongRuns = selection.hasLongRuns();
      boolean isListed = false;
      ColumnVector[] values = new ColumnVector[whole.length];
      for (int at = 0; at < values.length; at++) {
        boolean isStored = files.places[at] < files.stored.length();
        boolean isMoved = hasLongRuns && isStored && selection.move((WritableColumnVector) whole[at]);
        values[at] = isMoved ? whole[at] : selected[at];
        isListed |= isStored && !isMoved;
      }
      if (isListed) {
        selection.list();
      }
      return values;
    }

    private void select(int count) {
      selection.clear();
      if (live == null) {
        selection.add(0, count);
      } else if (positions == null) {
        live.select(position - count, count, selection);
      } else {
        live.select(positions, count, selection);
      }
      for (int at = 0; files.filters != null && at < files.filters.notNull.length; at++) {
        dropNulls(filtered[files.filters.notNull[at]]);
      }
      if (files.filter() != null) {
        filter(files.filter(), new ColumnarBatch(filtered, count));
      }
    }

    private void dropNulls(ColumnVector column) {
      if (!column.hasNull()) {
        return;
      }
      selection.list();
      int passed = 0;
      for (int at = 0; at < selection.count; at++) {
        int row = selection.rows[at];
        if (!column.isNullAt(row)) {
          selection.rows[passed++] = row;
        }
      }
      selection.keep(passed);
    }

    private void filter(BasePredicate filter, ColumnarBatch batch) {
      selection.list();
      int passed = 0;
      for (int at = 0; at < selection.count; at++) {
        int row = selection.rows[at];
        if (filter.eval(batch.getRow(row))) {
          selection.rows[passed++] = row;
        }
      }
      selection.keep(passed);
    }

    /** No batch has rows of two row groups; where pages are left out, Spark's reader says which rows it has. */
    private void moveOn(int count) {
      if (positions != null) {
        position = positions.getLong(count - 1) + 1;
        return;
      }
      while (leftInGroup == 0) {
        group++;
        leftInGroup = rowsOf(own[group]);
        position = 0;
        for (int at = 0; at < own[group]; at++) {
          position += rowsOf(at);
        }
      }
      leftInGroup -= count;
      position += count;
    }

    private long rowsOf(int group) {
      return ((BlockMetaData) groups.get(group)).getRowCount();
    }
  }

  /** Dates and times are in one calendar, as {@link StoredColumns} makes sure. */
  private static final class Decoder extends VectorizedParquetRecordReader {
    Decoder() {
      super(null, "CORRECTED", "UTC", "CORRECTED", "UTC", false, ROWS_IN_A_BATCH);
    }

    long total() {
      return totalRowCount;
    }
  }
}
