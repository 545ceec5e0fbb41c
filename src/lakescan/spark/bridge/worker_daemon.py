"""Spark's daemon of Python workers, which has imported what a worker of Lakescan's needs before it forks one.

It travels in the JAR that executors get, so it is there where Lakescan is not yet. A process with threads must not
fork: where an import has started one, or nothing could be imported, this becomes Spark's own daemon.
"""

import gc
import importlib
import os
import sys

# Without these, two libraries start a thread each when they are loaded. Only our own code runs in these workers.
_NO_THREADS = {"OPENBLAS_NUM_THREADS": "1", "JE_ARROW_MALLOC_CONF": "background_thread:false"}
_SPARKS_OWN = "pyspark.daemon"
# The last two are imported when rows are first grouped, and when a file first has deleted rows.
_IMPORTED = (_SPARKS_OWN, "pyspark.worker", "lakescan.spark.dsv2.worker", "pyarrow.acero", "pyroaring")
_THREADS = "/proc/self/task"  # of Linux


def main() -> None:
    _leave_the_folder()
    given = dict(os.environ)
    os.environ.update(_NO_THREADS)
    if not os.path.isdir(_THREADS) or not _has_imported() or len(os.listdir(_THREADS)) > 1:
        os.execve(sys.executable, [sys.executable, "-m", _SPARKS_OWN, *sys.argv[1:]], given)
    # A worker adds to its paths, and then has what is known of each looked up anew: 0.1 s for Spark's archives.
    sys.path_importer_cache.clear()
    # Spark has a worker collect garbage after every task, and what is written to is no longer shared.
    gc.collect()
    gc.freeze()
    sys.modules[_SPARKS_OWN].manager()


def _leave_the_folder() -> None:
    """Python has found this file by its folder, which is nobody else's to know."""
    own = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [path for path in sys.path if path != own]
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in paths if path != own)


def _has_imported() -> bool:
    try:
        for name in _IMPORTED:
            importlib.import_module(name)
        # It imports pandas where that is installed.
        importlib.import_module("pyarrow").array([0])
    except Exception:
        # A worker meets the same, and names it; or it finds Lakescan among the files that Spark sends later.
        return False
    return True


if __name__ == "__main__":
    main()
