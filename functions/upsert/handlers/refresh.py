"""The refresh function: on its schedule, or by hand."""

import os
from functools import partial
from typing import Any

from upsert import refresh, service_accounts
from upsert.adapters import aws, ecr, eks, kube
from upsert.adapters.kube_service_accounts import ServiceAccountCluster
from upsert.adapters.secretsmanager import KeptSecret
from upsert.core import extra_registries
from upsert.core.docker_config import Entry
from upsert.errors import without_values
from upsert.settings import load
from upsert.telemetry import Context, Telemetry, summary


def handler(event: dict[str, Any], context: Context) -> dict[str, Any]:
    """Refresh the Secret in every selected namespace and return the summary.

    Raises a `UpsertError` if the run could not go on, or if any namespace failed, so that Lambda's retries, the
    failure destination and the alarms see it.
    """
    with Telemetry(context) as telemetry:
        return _run(event, context, telemetry)


@without_values
def _run(event: dict[str, Any], context: Context, telemetry: Telemetry) -> dict[str, Any]:
    settings, request = load(os.environ, event)
    telemetry.configure(settings, dry_run=request.dry_run)
    session = aws.session(os.environ.get("AWS_REGION"))

    def logins() -> ecr.Logins:
        granted = ecr.logins(session, settings.registries)
        for login in granted.entries:
            telemetry.conceal(login.password)
        telemetry.token(granted.expires_at, settings)
        return granted

    def extra() -> tuple[Entry, ...]:
        if not settings.extra_registries_secret:
            return ()
        entries = extra_registries.read(KeptSecret(session, settings.extra_registries_secret).read())
        for entry in entries:
            for credential in entry.credentials:
                telemetry.conceal(credential)
        return entries

    def connect() -> ServiceAccountCluster:
        target = request.cluster
        return kube.connect(
            eks.reach(session, target.region, target.role_arn) if target else session,
            settings.cluster_name,
            concurrency=settings.concurrency,
            remaining=lambda: context.get_remaining_time_in_millis() / 1000,
            conceal=telemetry.conceal,
            kind=ServiceAccountCluster,
        )

    report = refresh.refresh(
        settings,
        request,
        logins=logins,
        extra=extra,
        connect=connect,
        record=telemetry.outcome,
        accounts=partial(
            service_accounts.name_secret, settings=settings, dry_run=request.dry_run, record=telemetry.account
        ),
    )
    telemetry.completed(report)
    if error := report.error():
        raise error
    return summary(report)
