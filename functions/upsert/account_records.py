"""The log records of ServiceAccounts: the one place that names their fields."""

from upsert.core.account_outcomes import AccountMissing, AccountOutcome, AccountPatched
from upsert.core.outcomes import Failed
from upsert.records import failure
from upsert.telemetry import Telemetry


def account_record(telemetry: Telemetry, outcome: AccountOutcome) -> None:
    """Write the record of one ServiceAccount, unless it needed nothing."""
    match outcome:
        case AccountPatched():
            telemetry.info(
                "service_account.patched",
                namespace=outcome.namespace,
                service_account=outcome.service_account,
                uid=outcome.uid,
                resource_version=outcome.resource_version,
                status=outcome.status,
            )
        case AccountMissing():
            telemetry.info(
                "service_account.missing", namespace=outcome.namespace, service_account=outcome.service_account
            )
        case Failed():
            telemetry.error("object.failed", **failure(outcome))
