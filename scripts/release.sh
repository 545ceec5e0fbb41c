#!/usr/bin/env bash
# Builds the wheel and the source distribution into dist/ and proves them: twine reads what PyPI would show, and the
# wheel, installed in a fresh environment of each Python that is here, runs the demo from an empty folder.
# PYTHONS="3.10 3.12" picks some of them. Nothing is uploaded.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
unset PYTHONPATH

.venv/bin/python scripts/check_release.py
rm -rf dist
.venv/bin/python -m build --outdir dist . >"$place/build.log" 2>&1 || { cat "$place/build.log"; exit 1; }
.venv/bin/python -m twine check --strict dist/*
wheel=$(echo "$PWD"/dist/*.whl)

# The interpreter of a release such as 3.12: on the PATH, or one that pyenv keeps.
interpreter() {
    local python
    for python in "python$1" "$HOME/.pyenv/versions/$1".*/bin/python; do
        if "$python" -c 'import ensurepip' 2>/dev/null; then
            echo "$python"
            return
        fi
    done
}

cd "$place"
tried=() absent=()
for release in ${PYTHONS:-3.10 3.11 3.12 3.13 3.14}; do
    python=$(interpreter "$release")
    if [[ -z "$python" ]]; then
        absent+=("$release")
        continue
    fi
    echo "== Python $release"
    "$python" -m venv fresh
    fresh/bin/python -m pip install --quiet --disable-pip-version-check "$wheel[spark,hudi]"
    fresh/bin/lakescan --version
    fresh/bin/python -c 'import pyspark, pyarrow; print("PySpark", pyspark.__version__, "pyarrow", pyarrow.__version__)'
    fresh/bin/lakescan demo >demo.log 2>&1 || { cat demo.log; exit 1; }
    grep "The same rows as" demo.log | sort | uniq -c
    tried+=("$release")
    rm -rf fresh
done
((${#tried[@]})) || { echo "There is no Python here to install the wheel with."; exit 1; }
echo "$(basename "$wheel") works on Python ${tried[*]}.${absent[*]:+ Not here, so not tried: ${absent[*]}.}"
