"""The audit log of the API server: what was asked, by whom, and how it was answered."""

import json
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

_POLL_SECONDS = 0.05


@dataclass(frozen=True)
class AuditEvent:
    """One request to the API server.

    `resource` carries the subresource after a slash (`secrets/status`); for a request that is not about a resource it
    is the path of the URL.
    """

    audit_id: str
    user: str
    verb: str
    resource: str
    namespace: str
    name: str
    status: int
    uri: str
    user_agent: str

    @classmethod
    def from_json(cls, event: dict[str, Any]) -> Self:
        """Read one event of audit.k8s.io/v1."""
        target = event.get("objectRef", {})
        uri = event["requestURI"]
        kind = "/".join(part for part in (target.get("resource"), target.get("subresource")) if part)
        return cls(
            audit_id=event["auditID"],
            user=event.get("user", {}).get("username", ""),
            verb=event["verb"],
            resource=kind or uri.partition("?")[0],
            namespace=target.get("namespace", ""),
            name=target.get("name", ""),
            status=event.get("responseStatus", {}).get("code", 0),
            uri=uri,
            user_agent=event.get("userAgent", ""),
        )


class AuditLog:
    """A window on the audit log that starts where the log ended when this was made."""

    def __init__(self, path: Path, *, from_start: bool = False) -> None:
        """Open a window on the log at `path`, over everything if `from_start`, else over what comes from now on."""
        self.path = path
        self._start = 0 if from_start else self._end()

    def mark(self) -> None:
        """Start the window anew: what has been logged until now no longer counts."""
        self._start = self._end()

    def events(self, *, user: str | None = None) -> list[AuditEvent]:
        """Return the finished requests of the window, each once, in the order they were logged.

        A watch is logged when it starts and when it ends; it counts from its start. A line that is still being
        written is left for the next call.
        """
        with self.path.open("rb") as log:
            log.seek(self._start)
            lines = log.read().split(b"\n")[:-1]
        found: dict[str, AuditEvent] = {}
        for line in lines:
            event = AuditEvent.from_json(json.loads(line))
            if user is None or event.user == user:
                found.setdefault(event.audit_id, event)
        return list(found.values())

    def counts(self, *, user: str, quiet: float = 0.3, timeout: float = 10.0) -> Counter[tuple[str, str]]:
        """Count the user's requests of the window by verb and resource, once the log holds them all.

        The API server may log a long answer shortly after the client has read it. So this waits until no request of
        the user has been added for `quiet` seconds, and raises `TimeoutError` after `timeout` seconds of unrest.
        """
        deadline = time.monotonic() + timeout
        events = self.events(user=user)
        settled_at = time.monotonic() + quiet
        while time.monotonic() < settled_at:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{user} was still sending requests after {timeout:g} s")
            time.sleep(_POLL_SECONDS)
            now = self.events(user=user)
            if len(now) != len(events):
                events = now
                settled_at = time.monotonic() + quiet
        return Counter((event.verb, event.resource) for event in events)

    def _end(self) -> int:
        return self.path.stat().st_size
