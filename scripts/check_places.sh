#!/usr/bin/env bash
# Proves that `make test` passes where people put it: in a clone called lakescan, for an ordinary user who may not write
# there, behind a link, with HOME and TMPDIR in folders with a space, another time zone, the locale C, proxies in the
# environment that do not answer, no npm and no network. Runs as root on Linux, with a Python that everybody may run
# (PYTHON); its arguments go to pytest. `check_alone.sh` proves a path with a space and a letter beyond ASCII.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

JAVA_HOME="$(scripts/ensure_java.sh)"
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
chmod 755 "$place"
mkdir "$place/a home" "$place/for a while" "$place/bin"
chmod 777 "$place/a home" "$place/for a while"
git clone --quiet --no-hardlinks . "$place/lakescan"
make -C "$place/lakescan" PYTHON="${PYTHON:-/usr/bin/python3}" .venv/.installed
ln -s "$place/lakescan" "$place/linked"
ln -s /bin/* /usr/bin/* "$place/bin/" 2>/dev/null || true # some are in both
rm -f "$place"/bin/{npm,npx,node,java}
nobody=65534

# A namespace of its own has no network but this machine's own addresses.
unshare --net bash -c 'ip link set lo up; exec "$@"' in-place \
    setpriv --reuid=$nobody --regid=$nobody --clear-groups \
    env -i PATH="$place/bin" JAVA_HOME="$JAVA_HOME" LAKESCAN_GOLDEN="${LAKESCAN_GOLDEN:-}" \
    HOME="$place/a home" TMPDIR="$place/for a while" TZ=Asia/Kathmandu LC_ALL=C \
    {http,https,HTTP,HTTPS}_proxy=http://127.0.0.1:9 \
    sh -c 'cd "$0" && exec make test ARGS="$*"' "$place/linked" "$@"
