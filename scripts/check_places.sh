#!/usr/bin/env bash
# Proves that `make test` passes where people put it: for an ordinary user who may not write to the checkout, behind a
# link, with HOME and TMPDIR in folders of odd names, another time zone, the locale C, proxies in the environment that
# do not answer, no npm and no network. Runs as root on Linux; arguments go to pytest. (`check_alone.sh` proves a folder
# with a space and a letter beyond ASCII, `.ci/run` one called lakescan.)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

make .venv/.installed
JAVA_HOME="$(scripts/ensure_java.sh)"
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
mkdir "$place/a home" "$place/for a while" "$place/bin"
ln -s "$PWD" "$place/linked"
for program in make bash sh python3 env ps sed awk dirname basename cat ls rm mkdir mktemp tr uname head sleep kill id expr \
    readlink hostname nice true grep cut git getconf; do
    ln -s "$(command -v "$program")" "$place/bin/"
done
chmod -R a+rwX "$place"
nobody=65534

cat >"$place/bin/run" <<'E2'
#!/bin/sh
cd "$1" && shift && exec make test ARGS="$*"
E2
chmod a+x "$place/bin/run"

# A namespace without a network still has this machine's own addresses.
unshare --net bash -c 'ip link set lo up; exec "$@"' in-place \
    setpriv --reuid=$nobody --regid=$nobody --clear-groups \
    env -i PATH="$place/bin" JAVA_HOME="$JAVA_HOME" LAKESCAN_GOLDEN="${LAKESCAN_GOLDEN:-}" \
    HOME="$place/a home" TMPDIR="$place/for a while" TZ=Asia/Kathmandu LC_ALL=C \
    http_proxy=http://127.0.0.1:9 https_proxy=http://127.0.0.1:9 HTTP_PROXY=http://127.0.0.1:9 HTTPS_PROXY=http://127.0.0.1:9 \
    run "$place/linked" "$@"
