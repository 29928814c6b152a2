"""What the function's own logger and metrics wrote, decoded."""

import json
from typing import Any

import pytest


class Written:
    """What went to standard output since the last look."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def lines(self) -> list[dict[str, Any]]:
        """Return each line; there must be nothing on the error output."""
        captured = self._capsys.readouterr()
        assert captured.err == "", captured.err
        return [json.loads(line) for line in captured.out.splitlines()]

    def records(self) -> list[dict[str, Any]]:
        """Return the log records."""
        return [line for line in self.lines() if "_aws" not in line]

    def metrics(self) -> list[dict[str, Any]]:
        """Return the metrics."""
        return [line for line in self.lines() if "_aws" in line]
