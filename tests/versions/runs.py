"""Runs the tests of what Kubernetes does on one control plane."""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

from tests.support.assets import REPOSITORY
from tests.support.processes import Workspace

# All that acts on an API server as the shipped roles, but tests/e2e, which is about AWS, and the long proofs.
FOLDERS = tuple(f"tests/{name}" for name in ("cluster", "contract", "rbac", "kinds", "adopt", "proofs"))


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the tests went on one version, which is what the API server's program says that it is."""

    version: str
    status: int
    passed: int
    failed: int
    skipped: int
    seconds: float

    def __str__(self) -> str:
        """Return the closing line."""
        word = "passed" if self.status == 0 else f"FAILED (status {self.status})"
        figures = f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"
        return f"{self.version}: {word}: {figures}, in {self.seconds:.0f} s"


def run(assets: Path, arguments: Sequence[str] = ()) -> Outcome:
    """Run the tests on the control plane of that folder; `arguments` are pytest's, in place of `FOLDERS` if any."""
    server = subprocess.run([assets / "kube-apiserver", "--version"], capture_output=True, text=True, check=True)
    version = server.stdout.strip()
    print(f"==> {version}", flush=True)
    with Workspace() as workspace:
        report = workspace.folder / "report.xml"
        # Of the two families of reports, tests may record figures in this one alone.
        options = ["-m", "not soak", f"--junit-xml={report}", "-o", "junit_family=xunit1"]
        command = [sys.executable, "-m", "pytest", *options, *(arguments or FOLDERS)]
        started = time.monotonic()
        ended = subprocess.run(
            command, cwd=REPOSITORY, env={**os.environ, "KUBEBUILDER_ASSETS": str(assets)}, check=False
        )
        seconds = time.monotonic() - started
        counts = _counts(report)
    failed, skipped = counts["failures"] + counts["errors"], counts["skipped"]
    return Outcome(version, ended.returncode, counts["tests"] - failed - skipped, failed, skipped, seconds)


def _counts(report: Path) -> dict[str, int]:
    """Return what pytest counted; nothing if it did not come to its end."""
    suites = list(ET.parse(report).iter("testsuite")) if report.exists() else []
    return {
        name: sum(int(suite.get(name, 0)) for suite in suites) for name in ("tests", "failures", "errors", "skipped")
    }
