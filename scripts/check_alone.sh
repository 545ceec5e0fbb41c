#!/usr/bin/env bash
# Proves that a clone needs nothing beside it, and neither does the source distribution: both are put into an empty
# folder, whose name has a space and a letter beyond ASCII, where the commands of README run without golden tables. Of
# the tests all are collected, and those are run that read the sample tables or depend on where they are.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

alone=$(mktemp -d)
trap 'rm -rf "$alone"' EXIT
unset LAKESCAN_GOLDEN PYTHONPATH
place="$alone/a länd"
clone="$place/lakescan"
samples="tests/test_sample_tables.py tests/golden tests/formats/hudi/test_kinds.py tests/formats/hudi/test_merging.py
    tests/formats/delta/test_sample_skipping.py tests/formats/delta/test_type_widening.py"
placed="tests/cli tests/docs/test_made_tables.py tests/test_options.py tests/test_imports.py tests/spark/test_same_rows.py
    tests/spark/test_errors.py tests/spark/test_messages.py"

echo "== a clone alone"
mkdir "$place"
git clone --quiet --no-hardlinks . "$clone"
make -C "$clone" demo
make -C "$clone" test-all ARGS="--numprocesses 0 --collect-only --quiet --quiet"
make -C "$clone" test ARGS="$(echo $samples $placed)"

echo "== a source distribution alone"
python="$clone/.venv/bin/python"
"$python" -m build --sdist --outdir "$alone" "$clone" >/dev/null
mkdir "$alone/unpacked"
tar -xzf "$alone"/lakescan-*.tar.gz -C "$alone/unpacked" --strip-components 1
rm -rf "$clone/src" # what is imported from here on is the distribution's
cd "$alone/unpacked"
export PYTHONPATH="$PWD/src"
"$python" -m pytest --collect-only --quiet --quiet
"$python" -m pytest --numprocesses auto $samples
