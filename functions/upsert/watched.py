"""What alarms watch, measured of a run on one cluster and of one over a fleet alike."""

from collections.abc import Mapping
from typing import Any, Protocol

from upsert.telemetry import Unit


class Measure(Protocol):
    """Measures a value."""

    def __call__(self, name: str, value: float, unit: Unit = ...) -> None:
        """Add to a metric."""


def measure_watched(measure: Measure, answer: Mapping[str, Any], *, sources_failed: int) -> None:
    """Measure what the fields of a summary say.

    A run over a part that failed nowhere says nothing about the rest: it counts no full refresh, and measures no 0 that
    would end an alarm which a full run raised.
    """
    is_whole, token, certificate = (
        answer[name] for name in ("is_whole", "token_seconds_to_spare", "certificate_seconds_to_spare")
    )
    if is_whole or answer["failed"]:
        measure("ObjectsFailed", answer["failed"])
    if is_whole or answer["not_refreshed"]:
        measure("NotRefreshed", len(answer["not_refreshed"]))
    if is_whole or sources_failed:
        measure("SourcesFailed", sources_failed)
    if token is not None and (is_whole or token <= 0):
        measure("TokenSecondsToSpare", token, Unit.SECONDS)
    if certificate is not None and (is_whole or certificate <= 0):
        measure("CertificateSecondsToSpare", certificate, Unit.SECONDS)
    if is_whole:
        measure("FullRefreshes", int(answer["applied"] > 0))
        measure("RunsStopped", 0)
