"""What the API server did, by its audit log: the same clock and the same count for every contender."""

import json
import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

_QUIET_SECONDS = 0.5


@dataclass(frozen=True)
class Served:
    """The requests of one user in a stretch of the log.

    `seconds` run from the first successful PATCH coming in to the last one done.
    """

    requests: int
    patches: int
    refused: int
    seconds: float

    @property
    def patches_per_second(self) -> float:
        return self.patches / self.seconds


class Window:
    """A stretch of the audit log that starts where the log ended when this was made."""

    def __init__(self, audit_log: Path) -> None:
        self._path = audit_log
        self._start = audit_log.stat().st_size

    def served(self, user: str) -> Served:
        """Return what the API server did for `user` in the stretch, once nothing more is written."""
        events = [event for event in self._events() if event["user"]["username"] == user]
        codes = [event["responseStatus"]["code"] for event in events]
        done = [event for event, code in zip(events, codes, strict=True) if event["verb"] == "patch" and code < 300]
        came = min((_moment(event["requestReceivedTimestamp"]) for event in done), default=0.0)
        went = max((_moment(event["stageTimestamp"]) for event in done), default=0.0)
        return Served(len(events), len(done), sum(code >= 400 for code in codes), went - came)

    def _events(self) -> list[dict[str, Any]]:
        before, size = -1, self._path.stat().st_size
        while size != before:
            time.sleep(_QUIET_SECONDS)
            before, size = size, self._path.stat().st_size
        with self._path.open("rb") as log:
            log.seek(self._start)
            return [json.loads(line) for line in log]


def _moment(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
