#!/usr/bin/env bash
# Compiles the Java classes with every warning that Janino leaves us a choice in, against the JARs of each Spark that
# is installed here: those of `.venv` and of the environments that `make versions` makes. Janino knows no generics, so
# raw types, unchecked calls and casts are how it must be; Spark's own classes in Scala have no varargs. Where there is no JDK, or a Spark is missing, it says so.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

javac=${JAVA_HOME:+$JAVA_HOME/bin/}javac
if ! command -v "$javac" >/dev/null; then
    echo "Java: left out, since there is no JDK (javac) here; a Java runtime is enough to use Lakescan"
    exit 0
fi
classes=$(mktemp -d)
trap 'rm -rf "$classes"' EXIT
# Newer releases have classes besides, in a folder named after the first of them.
newer() {
    case $1 in
    *-4.2.*) echo src/lakescan/spark/bridge/since_4_2/*.java ;;
    *-4.3.*) echo src/lakescan/spark/bridge/since_4_[23]/*.java ;;
    esac
}
for environment in .venv .venv-pyspark-4.0 .venv-pyspark-4.1 .venv-pyspark-4.2; do
    jars=$(echo "$environment"/lib/python3*/site-packages/pyspark/jars)
    if [[ ! -d $jars ]]; then
        echo "Java: not compiled against $environment, which is not there (make versions makes it)"
        continue
    fi
    "$javac" -Xlint:all,-rawtypes,-unchecked,-cast,-serial,-overrides,-classfile,-options,-path -Werror -proc:none \
        -d "$classes" -cp "$jars/*" src/lakescan/spark/bridge/*.java $(newer "$(basename "$jars"/spark-core_*.jar)")
    echo "Java: compiled against $(basename "$jars"/spark-core_*.jar .jar)"
done
