"""The composition root: what a refresh is made of, and the one place where secrets are made known to the guard."""

from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

from upsert import kinds, sources
from upsert.aws import Aws
from upsert.config import Config
from upsert.core.identity import REFRESHER, Identity
from upsert.core.objects import Material, Ref, Target
from upsert.core.sensitive import Sensitive
from upsert.errors import AwsError, SourceFailed
from upsert.kube.access import cannot_assume, describe
from upsert.kube.api import Api
from upsert.kube.bearer import BearerTokens, sign_bearer_token
from upsert.kube.writer import KubeWriter
from upsert.records import Records
from upsert.refresh import Accounts, Parts
from upsert.request import Request
from upsert.telemetry import Context, Telemetry


class Surroundings(NamedTuple):
    """What both functions are made of: AWS, the guard, and how much time is left in seconds."""

    aws: Aws
    conceal: Callable[[Sensitive[str]], None]
    remaining: Callable[[], float]

    @classmethod
    def of(cls, config: Config, telemetry: Telemetry, context: Context) -> "Surroundings":
        """Return the surroundings of an invocation."""
        return cls(
            Aws(account=config.account, region=config.region),
            telemetry.conceal,
            lambda: context.get_remaining_time_in_millis() / 1000,
        )

    def read(self, refs: Collection[Ref]) -> Mapping[Ref, Material | SourceFailed]:
        """Return what the sources give, every secret in it known to the guard."""
        readings = sources.read(refs, self.aws)
        for reading in readings.values():
            if isinstance(reading, Material):
                for secret in reading.secrets:
                    self.conceal(secret)
        return readings

    def connect(self, target: Target, identity: Identity) -> Api:
        """Return the API server of a cluster. Raises a `ClusterError` if EKS does not tell where it is."""

        def sign() -> Sensitive[str]:
            token = sign_bearer_token(session, target.name)
            self.conceal(token)
            return token

        access = describe(self.aws, target)
        try:
            session = self.aws.session(region=target.region, role_arn=target.role_arn)
        except AwsError as error:
            raise cannot_assume(target, error) from None
        return Api(access, BearerTokens(sign), identity, remaining=self.remaining)


class _SideBySide:
    """Looks the cluster up while the sources are read, which come first: neither has to wait for the other."""

    def __init__(self, surroundings: Surroundings, target: Target) -> None:
        self._surroundings = surroundings
        self._target = target
        self._found: Future[Api]

    def read(self, refs: Collection[Ref]) -> Mapping[Ref, Material | SourceFailed]:
        """Return what the sources give, once EKS has answered, too."""
        with ThreadPoolExecutor(1, thread_name_prefix="cluster") as pool:
            self._found = pool.submit(self._surroundings.connect, self._target, REFRESHER)
            return self._surroundings.read(refs)

    def connect(self) -> KubeWriter:
        """Return the cluster. Raises what looking it up came to: that is told after what the sources came to."""
        return KubeWriter(self._found.result())


def refresh_parts(request: Request, surroundings: Surroundings, records: Records) -> Parts[KubeWriter]:
    """Return the parts of a refresh."""
    names_accounts = any(one.service_accounts for one in request.objects)
    both = _SideBySide(surroundings, request.target)
    return Parts(
        read=both.read,
        build=kinds.build,
        connect=both.connect,
        record=records.outcome,
        source_failed=records.source_failed,
        unplaced=records.unplaced,
        accounts=partial(_accounts, records) if names_accounts else None,
    )


def sum_up(event: Mapping[str, Any], config: Config, telemetry: Telemetry) -> dict[str, Any]:
    """Write and return what a run over a fleet came to. Raises `InputError`."""
    # Imported by whoever needs it: each import is part of the cold start, and most runs are none over a fleet.
    from upsert.fleet import fleet_report  # noqa: PLC0415
    from upsert.fleet_records import fleet_completed  # noqa: PLC0415

    return fleet_completed(telemetry, fleet_report(event, config))


def _accounts(records: Records, writer: KubeWriter) -> Accounts:
    # As above: most files of objects name no ServiceAccount.
    from upsert.account_records import account_record  # noqa: PLC0415
    from upsert.kube.service_accounts import ServiceAccounts  # noqa: PLC0415
    from upsert.service_accounts import name_secrets  # noqa: PLC0415

    return partial(name_secrets, ServiceAccounts(writer.api), record=partial(account_record, records.telemetry))
