#!/bin/sh
# Find Java 17 or newer, which Spark 4 needs, and print its home folder.
#
# Looked at in order: JAVA_HOME, `java` on the PATH, the usual places. Where none will do: as root on Debian or
# Ubuntu a headless JRE is installed; anywhere else this says what to install and fails.
# Only the folder goes to standard output, so that a caller can write: JAVA_HOME=$(scripts/ensure_java.sh)
set -eu

WANTED=17

say() { echo "ensure_java: $*" >&2; }

# home_of JAVA: the home of that java if it is new enough, else nothing.
home_of() {
    settings=$("$1" -XshowSettings:properties -version 2>&1) || return 0
    # "17", or "1.8" up to Java 8
    release=$(printf '%s\n' "$settings" | sed -n 's/^ *java\.specification\.version = \([0-9]*\).*/\1/p')
    [ "${release:-0}" -ge "$WANTED" ] || return 0
    printf '%s\n' "$settings" | sed -n 's/^ *java\.home = //p'
}

find_java() {
    on_path=$(command -v java || true)
    for java in "${JAVA_HOME:+$JAVA_HOME/bin/java}" "$on_path" \
        /usr/lib/jvm/*/bin/java /opt/java/*/bin/java /Library/Java/JavaVirtualMachines/*/Contents/Home/bin/java; do
        [ -n "$java" ] && [ -x "$java" ] || continue
        home=$(home_of "$java")
        [ -n "$home" ] || continue
        printf '%s\n' "$home"
        return 0
    done
    return 1
}

install_java() {
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return 1
    say "no Java $WANTED or newer found; installing one with apt-get"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq >&2 || return 1
    for package in openjdk-17-jre-headless openjdk-21-jre-headless default-jre-headless; do
        apt-get install -y -qq --no-install-recommends "$package" >&2 </dev/null && return 0
    done
    return 1
}

find_java && exit 0
install_java && find_java && exit 0

say "Spark needs Java $WANTED or newer, and none was found (JAVA_HOME=${JAVA_HOME:-unset})."
say "Install one, then run this again:"
say "  Debian, Ubuntu:  sudo apt-get install openjdk-17-jre-headless   (or default-jre-headless)"
say "  Fedora, RHEL:    sudo dnf install java-21-openjdk-headless"
say "  macOS:           brew install openjdk@17"
say "or set JAVA_HOME to the folder of one that is already there."
exit 1
