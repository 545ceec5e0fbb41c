#!/usr/bin/env bash
# Proves that a clone needs nothing beside it, and neither does the source distribution: both are put into an empty
# folder, where the commands of README run without golden tables. Of the tests all are collected, and those of the
# sample tables are run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

alone=$(mktemp -d)
trap 'rm -rf "$alone"' EXIT
unset LAKESCAN_GOLDEN PYTHONPATH
samples="tests/test_sample_tables.py tests/golden tests/formats/hudi/test_kinds.py tests/formats/hudi/test_merging.py
    tests/formats/delta/test_sample_skipping.py tests/formats/delta/test_type_widening.py"

echo "== a clone alone"
git clone --quiet --no-hardlinks . "$alone/clone"
make -C "$alone/clone" demo
make -C "$alone/clone" test ARGS="--collect-only --quiet --quiet"
make -C "$alone/clone" test ARGS="--quiet $(echo $samples) tests/spark/test_same_rows.py"

echo "== a source distribution alone"
python="$alone/clone/.venv/bin/python"
"$python" -m build --sdist --outdir "$alone" "$alone/clone" >/dev/null
mkdir "$alone/unpacked"
tar -xzf "$alone"/lakescan-*.tar.gz -C "$alone/unpacked" --strip-components 1
rm -rf "$alone/clone/src" # what is imported from here on is the distribution's
cd "$alone/unpacked"
export PYTHONPATH="$PWD/src"
"$python" -m pytest --collect-only --quiet --quiet
"$python" -m pytest --quiet $samples
