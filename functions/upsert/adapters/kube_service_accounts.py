"""The Kubernetes API server for a refresher that ServiceAccounts are its business too."""

from collections.abc import Sequence
from urllib.parse import urlencode

from upsert.adapters.kube import METADATA, Cluster
from upsert.core import answers
from upsert.core.answers import Answer
from upsert.core.manifest import FIELD_MANAGER
from upsert.core.service_accounts import ServiceAccount
from upsert.errors import ServiceAccountsNotListed


class ServiceAccountCluster(Cluster):
    """One cluster's API server, for one run that also names the Secret in ServiceAccounts. Threads may share it."""

    def service_accounts(self, name: str, namespaces: Sequence[str] = ()) -> list[ServiceAccount]:
        """Return every ServiceAccount of that name, or those in the given namespaces, read in pages.

        The field selector lets RBAC limit the list to that name by resourceNames, as it limits the PATCH:
        https://kubernetes.io/docs/reference/access-authn-authz/rbac/#referring-to-resources
        Raises `ServiceAccountsNotListed`.
        """
        places = [f"/api/v1/namespaces/{namespace}/serviceaccounts" for namespace in namespaces]
        found: list[ServiceAccount] = []
        for place in places or ["/api/v1/serviceaccounts"]:
            pages = self._pages(
                place, {"fieldSelector": f"metadata.name={name}"}, "application/json", answers.read_service_accounts
            )
            if not pages[-1].succeeded:
                raise ServiceAccountsNotListed(_why_not_listed(name, pages[-1]))
            found.extend(account for page in pages for account in page.service_accounts)
        return found

    def patch_service_account(self, account: ServiceAccount, patch: bytes, *, dry_run: bool) -> Answer:
        """Return the answer to a merge patch that names the version it is for."""
        query = {"fieldManager": FIELD_MANAGER} | ({"dryRun": "All"} if dry_run else {})
        path = f"/api/v1/namespaces/{account.namespace}/serviceaccounts/{account.name}?{urlencode(query)}"
        headers = {"Accept": METADATA, "Content-Type": "application/merge-patch+json"}
        return self._call("PATCH", path, headers, patch, answers.read_conditional)


def _why_not_listed(name: str, page: Answer) -> str:
    if page.status == 403:
        return (
            f"the Secrets are in place, but the function's group may not list ServiceAccounts named {name} (403); "
            "apply rbac/service-accounts.yaml with that name in resourceNames, or empty ServiceAccounts"
        )
    answered = f"status {page.status}" if page.status else page.trouble
    return (
        f"the Secrets are in place, but the ServiceAccounts named {name} could not be listed ({answered}); the next "
        "refresh tries again"
    )
