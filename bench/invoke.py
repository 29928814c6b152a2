"""Invokes a handler once in this process, as Lambda does, and writes what it cost to a file.

    python -I -S -B bench/invoke.py RESULT WORKERS FUNCTION EVENT PATH...

WORKERS is how many requests may be young at once, FUNCTION refresh or adopt, EVENT JSON. The PATHs are the import path:
the function's folder and the layer's, as they ship. Standard output is the log.
"""

import importlib
import json
import resource
import sys
import time

# Found by path, since nothing but the function is on this program's, and gone from there before anything is measured.
sys.path.insert(0, __file__.rpartition("/bench/")[0])
from tests.support.context import Context

del sys.path[0]


def main() -> None:
    result, workers, function, event, *paths = sys.argv[1:]
    sys.path[:0] = paths
    started, cpu_started = time.monotonic(), time.process_time()
    handler = importlib.import_module(f"upsert.handlers.{function}").handler  # the import is part of what is measured
    from upsert.kube.api import Api  # noqa: PLC0415

    imported, cpu_imported = time.monotonic(), time.process_time()
    # The function has a constant for it; the curve over it is what that was chosen by.
    defaults = Api.__init__.__kwdefaults__ or {}
    defaults["concurrency"] = int(workers)
    answer = handler(json.loads(event), Context())
    ended, cpu_ended = time.monotonic(), time.process_time()
    measured = {
        "import_seconds": imported - started,
        "import_cpu_seconds": cpu_imported - cpu_started,
        "seconds": ended - imported,
        "cpu_seconds": cpu_ended - cpu_imported,
        # Linux counts ru_maxrss in KiB. It starts with the memory of the parent at the fork, so VmHWM is read instead.
        "peak_mb": _peak_kib() / 1024,
        "answer": answer,
    }
    with open(result, "w", encoding="utf-8") as file:  # noqa: PTH123 - pathlib is not part of the function
        json.dump(measured, file)


def _peak_kib() -> int:
    try:
        with open("/proc/self/status", encoding="utf-8") as status:  # noqa: PTH123
            return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))
    except FileNotFoundError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    main()
