"""The refresh function: on its schedule, or by hand."""

import os
from typing import Any

from pullsecret import refresh
from pullsecret.adapters import aws, ecr, kube
from pullsecret.settings import load
from pullsecret.telemetry import Context, Telemetry, summary


def handler(event: dict[str, Any], context: Context) -> dict[str, Any]:
    """Refresh the Secret in every selected namespace and return the summary.

    Raises a `PullSecretError` if the run could not go on, or if any namespace failed, so that Lambda's retries, the
    failure destination and the alarms see it.
    """
    with Telemetry(context) as telemetry:
        settings, request = load(os.environ, event)
        telemetry.configure(settings)
        session = aws.session(os.environ.get("AWS_REGION"))

        def logins() -> ecr.Logins:
            granted = ecr.logins(session, settings.registries)
            for login in granted.entries:
                telemetry.conceal(login.password)
            telemetry.token(granted.expires_at, settings)
            return granted

        def connect() -> kube.Cluster:
            return kube.connect(
                session,
                settings.cluster_name,
                concurrency=settings.concurrency,
                remaining=lambda: context.get_remaining_time_in_millis() / 1000,
                conceal=telemetry.conceal,
            )

        report = refresh.refresh(settings, request, logins=logins, connect=connect, record=telemetry.outcome)
        telemetry.completed(report)
        if error := report.error():
            raise error
        return summary(report)
