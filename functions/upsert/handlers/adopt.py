"""The adopt function, by hand only: check, import, adopt."""

import os
from collections.abc import Sequence
from typing import Any

from upsert import adopt
from upsert.adapters import aws, ecr
from upsert.adapters.kube import connect
from upsert.adapters.kube_adopter import Adopter
from upsert.adapters.secretsmanager import KeptSecret
from upsert.core.docker_config import Login
from upsert.errors import without_values
from upsert.settings import load_adoption
from upsert.telemetry import Context, Telemetry, adoption_answer


def handler(event: dict[str, Any], context: Context) -> dict[str, Any]:
    """Do the event's action in every selected namespace and return the summary and the lines.

    Raises a `UpsertError` if the run could not go on, or if a Secret was not adopted.
    """
    with Telemetry(context, "adopt") as telemetry:
        return _run(event, context, telemetry)


@without_values
def _run(event: dict[str, Any], context: Context, telemetry: Telemetry) -> dict[str, Any]:
    settings, request = load_adoption(os.environ, event)
    telemetry.configure(settings)
    session = aws.session(os.environ.get("AWS_REGION"))

    def logins() -> Sequence[Login]:
        granted = ecr.logins(session, settings.registries).entries
        for login in granted:
            telemetry.conceal(login.password)
        return granted

    def cluster() -> Adopter:
        return connect(
            session,
            settings.cluster_name,
            concurrency=settings.concurrency,
            remaining=lambda: context.get_remaining_time_in_millis() / 1000,
            conceal=telemetry.conceal,
            kind=Adopter,
        )

    report = adopt.run(
        settings,
        request,
        logins=logins,
        kept=lambda: KeptSecret(session, settings.extra_registries_secret),
        connect=cluster,
        record=telemetry.adoption,
        conceal=telemetry.conceal,
    )
    telemetry.adoption_completed(report)
    if error := report.error():
        raise error
    return adoption_answer(report)
