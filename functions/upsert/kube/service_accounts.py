"""What is asked of the API server about ServiceAccounts, if any are to name a pull Secret."""

from collections.abc import Sequence
from functools import partial

from upsert.core import service_accounts
from upsert.core.answers import Answer, Page, Written
from upsert.core.resources import SERVICE_ACCOUNTS
from upsert.core.sensitive import Sensitive
from upsert.core.service_accounts import ServiceAccount
from upsert.errors import ServiceAccountsNotListed
from upsert.kube import calls
from upsert.kube.api import Api
from upsert.kube.calls import Call
from upsert.kube.pace import Pace


class ServiceAccounts:
    """The ServiceAccounts of one cluster, for one run. Threads may share it."""

    def __init__(self, api: Api) -> None:
        self._api = api

    @property
    def pace(self) -> Pace:
        """Return what says how many requests may be under way at once."""
        return self._api.pace

    def time_left(self) -> float:
        """Return the seconds until nothing more may be started."""
        return self._api.time_left()

    def may_start(self) -> bool:
        """Return whether enough of the function's time is left to start on another one."""
        return self._api.may_start()

    def listed(self, name: str, namespaces: Sequence[str] = ()) -> list[ServiceAccount]:
        """Return every ServiceAccount of that name, or those in the given namespaces, read in pages.

        The field selector lets RBAC limit the list to that name by resourceNames, as it limits the PATCH:
        https://kubernetes.io/docs/reference/access-authn-authz/rbac/#referring-to-resources
        Raises `ServiceAccountsNotListed`.
        """
        found: list[ServiceAccount] = []
        for namespace in namespaces or ("",):
            pages = self._api.pages(partial(_page, namespace, name))
            if pages[-1].value is None:
                raise ServiceAccountsNotListed(self._why_not_listed(name, pages[-1]))
            found.extend(account for page in pages if page.value for account in page.value.items)
        return found

    def patch(self, account: ServiceAccount, patch: Sensitive[bytes], *, dry_run: bool) -> Answer[Written]:
        """Return the answer to one try of a merge patch that names the version it is for."""
        path = SERVICE_ACCOUNTS.path(account.namespace, account.name)
        return self._api.try_once(calls.merge(path, patch, dry_run=dry_run))

    def anew(self, account: ServiceAccount) -> Answer[Page[ServiceAccount]]:
        """Return the answer to one try of reading it again: a page that holds it alone, or nothing."""
        return self._api.try_once(_page(account.namespace, account.name, "500", ""))

    def _why_not_listed(self, name: str, page: Answer[Page[ServiceAccount]]) -> str:
        if page.status == 403:
            identity = self._api.identity
            return (
                f"the Secrets are in place, but the group {identity.group} may not list ServiceAccounts named {name} "
                f"(403); apply {identity.role} with that name in resourceNames, or name no service_accounts"
            )
        answered = f"status {page.status}" if page.status else page.trouble
        return (
            f"the Secrets are in place, but the ServiceAccounts named {name} could not be listed ({answered}); the "
            "next refresh tries again"
        )


def _page(namespace: str, name: str, limit: str, token: str) -> Call[Page[ServiceAccount]]:
    query = {"limit": limit, "fieldSelector": f"metadata.name={name}", "continue": token}
    return calls.get(SERVICE_ACCOUNTS.path(namespace), query, partial(service_accounts.parse_of, namespace, name))
