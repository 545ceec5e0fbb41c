"""Says which tests an earlier commit had that the checkout has no more, by name.

    python scripts/lost_tests.py v1.0.0

Both lists are collected with the checkout's own environment and without running a test. The exit code is 1 where a test
is lost.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def names(checkout: Path) -> set[str]:
    """The names of all tests of a checkout."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "--quiet", "-p", "no:cacheprovider"]
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src")}
    ran = subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True, check=False)
    if ran.returncode:
        sys.exit(f"The tests of {checkout} cannot be collected:\n{ran.stdout[-2000:]}{ran.stderr[-2000:]}")
    return {line for line in ran.stdout.splitlines() if "::" in line}


def main() -> None:
    """Compares the checkout with the commit that the command line names."""
    with tempfile.TemporaryDirectory(prefix="lakescan-tests-") as folder:
        earlier = Path(folder) / "lakescan"
        subprocess.run(["git", "clone", "--quiet", "--shared", "--no-checkout", ROOT, earlier], check=True)
        subprocess.run(["git", "checkout", "--quiet", sys.argv[1]], cwd=earlier, check=True)
        before, after = names(earlier), names(ROOT)
    lost = sorted(before - after)
    print(*lost, sep="\n")
    print(f"{len(before)} tests before, {len(after)} now, {len(lost)} lost, {len(after - before)} new")
    sys.exit(bool(lost))


if __name__ == "__main__":
    main()
