"""What a refresh asks of the API server: namespaces listed, objects applied. A write is one try, of many."""

from collections.abc import Sequence

from upsert.core import document
from upsert.core.answers import Answer, Written
from upsert.core.identity import Identity
from upsert.core.sensitive import Sensitive
from upsert.kube import calls
from upsert.kube.api import Api
from upsert.kube.namespaces import list_names
from upsert.kube.pace import Pace


class KubeWriter:
    """One cluster, for one run. Threads may share it."""

    def __init__(self, api: Api) -> None:
        self.api = api

    @property
    def identity(self) -> Identity:
        """Return who asks."""
        return self.api.identity

    @property
    def requests(self) -> int:
        """Return how many requests were sent so far, retries included."""
        return self.api.requests

    @property
    def pace(self) -> Pace:
        """Return what says how many writes may be under way at once."""
        return self.api.pace

    def time_left(self) -> float:
        """Return the seconds until nothing more may be started."""
        return self.api.time_left()

    def namespaces(self, selector: str, names: Sequence[str] = ()) -> list[str]:
        """Return the names of the namespaces that match the label selector, like `list_names`."""
        return list_names(self.api, selector, names)

    def apply(
        self, path: str, configuration: Sensitive[bytes], *, force: bool, dry_run: bool = False
    ) -> Answer[Written]:
        """Return the answer to one server-side apply."""
        return self.api.try_once(calls.apply(path, configuration, force=force, dry_run=dry_run))

    def claim(self, path: str, configuration: Sensitive[bytes]) -> Answer[Written]:
        """Return the answer to one unforced apply of a document that names the version that it is for."""
        return self.api.try_once(calls.apply(path, configuration, force=False))

    def remove_last_applied(self, path: str, written: Written, *, dry_run: bool = False) -> Answer[Written]:
        """Return the answer to the removal of kubectl's annotation from this very version of the object."""
        patch = document.without_last_applied(written.uid, written.resource_version)
        return self.api.try_once(calls.merge(path, patch, dry_run=dry_run))

    def disclaim(self, path: str, patch: Sensitive[bytes]) -> Answer[Written]:
        """Return the answer to a patch of who claims what in the version of an object that it names."""
        return self.api.try_once(calls.merge(path, patch))
