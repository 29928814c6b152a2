"""The function's own processor time for a PATCH, against bare urllib3 that sends the same, by turns."""

import json
import statistics
import subprocess
import sys
from dataclasses import dataclass
from urllib.parse import urlsplit

from bench import wrk
from bench.bed import REPOSITORY, SECRET, Bed
from tests.support.ecr_standin import new_password


@dataclass(frozen=True)
class OwnTime:
    """Milliseconds of processor time for a PATCH, medians, and the median of the ratios of each round."""

    function: float
    urllib3: float
    ratio: float


def measure(bed: Bed, rounds: int) -> OwnTime:
    """Return what a PATCH costs the function, which is what a run over one namespace more takes longer."""
    namespaces = bed.namespaces
    ours, theirs = [], []
    for _ in range(rounds):
        many = bed.refresh().invocation.cpu_seconds
        one = bed.invoke({"namespaces": namespaces[-1:]}).cpu_seconds
        ours.append((many - one) / (len(namespaces) - 1) * 1000)
        theirs.append(_urllib3(bed) / len(namespaces) * 1000)
    ratios = [mine / its for mine, its in zip(ours, theirs, strict=True)]
    return OwnTime(statistics.median(ours), statistics.median(theirs), statistics.median(ratios))


def _urllib3(bed: Bed) -> float:
    work, result = bed.folder / "bare-work.json", bed.folder / "bare.json"
    endpoint = urlsplit(bed.control_plane.endpoint)
    paths = [f"/api/v1/namespaces/{name}/secrets/{SECRET}?{wrk.QUERY}" for name in bed.namespaces]
    sent = {
        "host": endpoint.hostname,
        "port": endpoint.port,
        "ca_pem": bed.control_plane.ca_pem,
        "headers": wrk.headers(bed.control_plane.token_of("refresher")),
        "paths": paths,
        "body": wrk.rendered(SECRET, new_password()),
    }
    work.write_text(json.dumps(sent))
    program = [sys.executable, "-I", "-S", "-B", str(REPOSITORY / "bench" / "bare.py"), str(result), str(work)]
    subprocess.run([*program, str(bed.layer)], check=True, env={})
    measured = json.loads(result.read_text())
    if measured["done"] != len(paths):
        raise RuntimeError(f"of {len(paths)} PATCHes, {measured['done']} succeeded")
    seconds: float = measured["cpu_seconds"]
    return seconds
