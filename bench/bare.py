"""Sends PATCHes with urllib3 and nothing else, from 16 threads, and writes what they cost to a file.

    python -I -S -B bench/bare.py RESULT WORK PATH...

WORK is a file of what is sent (see `own_time`); the PATHs are the import path, on which urllib3 is.
"""

import json
import ssl
import sys
import time

_WORKERS = 16


def main() -> None:
    result, work, *paths = sys.argv[1:]
    sys.path[:0] = paths
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - as the function, from its own import path

    import urllib3  # noqa: PLC0415

    with open(work, encoding="utf-8") as file:  # noqa: PTH123 - pathlib is not part of what is measured
        sent = json.load(file)
    body = sent["body"].encode()
    trust = ssl.create_default_context(cadata=sent["ca_pem"])
    trust.verify_flags &= ~ssl.VERIFY_X509_STRICT
    pool = urllib3.HTTPSConnectionPool(
        sent["host"], sent["port"], maxsize=_WORKERS, ssl_context=trust, timeout=60, retries=False
    )

    def send(path: str) -> bool:
        response = pool.urlopen("PATCH", path, headers=sent["headers"], body=body)
        return response.status == 200 and bool(response.data)

    started, cpu_started = time.monotonic(), time.process_time()
    with ThreadPoolExecutor(_WORKERS) as threads:
        done = sum(threads.map(send, sent["paths"]))
    measured = {"done": done, "seconds": time.monotonic() - started, "cpu_seconds": time.process_time() - cpu_started}
    with open(result, "w", encoding="utf-8") as file:  # noqa: PTH123
        json.dump(measured, file)


if __name__ == "__main__":
    main()
