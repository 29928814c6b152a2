"""The machine and the versions that the figures are from."""

import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests.support import assets

_PACKAGES = ("aws-lambda-powertools", "boto3", "botocore", "pycurl", "urllib3")


def description(wrk_version: str) -> dict[str, Any]:
    """Return what somebody needs to know to compare figures; no names of hosts or users."""
    server = subprocess.run(
        [assets.locate() / "kube-apiserver", "--version"], capture_output=True, text=True, check=True
    )
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "load_before": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        "api_server": server.stdout.strip(),
        "wrk": wrk_version,
        "packages": {name: version(name) for name in _PACKAGES},
    }


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
