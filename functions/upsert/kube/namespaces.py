"""The namespaces of a cluster."""

from collections.abc import Sequence
from functools import partial

from upsert.core.answers import Answer, Page
from upsert.core.parsing import parse_names
from upsert.core.resources import NAMESPACES
from upsert.errors import (
    ClusterError,
    ClusterNotTrusted,
    ClusterUnreachable,
    InputError,
    ListForbidden,
    Unauthorized,
    UnexpectedAnswer,
)
from upsert.kube.api import RESTARTS, Api
from upsert.kube.calls import METADATA_LIST, Call, get


def list_names(api: Api, selector: str, names: Sequence[str] = ()) -> list[str]:
    """Return the names of all namespaces that match the label selector, empty for all, read in pages.

    If `names` are given, only these are asked for, by the label that every namespace has:
    https://kubernetes.io/docs/reference/labels-annotations-taints/#kubernetes-io-metadata-name
    Raises a `ClusterError`, or an `InputError` if the server does not understand the selector.
    """
    by_name = f"kubernetes.io/metadata.name in ({','.join(names)})" if names else ""
    # A blank one is everything to the API server, but not before a comma.
    pages = api.pages(partial(_page, ",".join(part for part in (selector.strip(), by_name) if part)))
    if pages[-1].status == 410:
        raise UnexpectedAnswer(
            f"{api.endpoint} let a list of namespaces expire {RESTARTS} times; it is overloaded, or its etcd is "
            "compacted too often. Nothing was written"
        )
    if pages[-1].value is None:
        raise _why_no_list(api, pages[-1], selector)
    return [name for page in pages if page.value for name in page.value.items]


def _page(selector: str, limit: str, token: str) -> Call[Page[str]]:
    query = {"limit": limit, "labelSelector": selector, "continue": token}
    return get(NAMESPACES.path(), query, parse_names, accept=METADATA_LIST)


def _why_no_list(  # noqa: PLR0911 - one case per answer reads best in one place
    api: Api, page: Answer[Page[str]], selector: str
) -> ClusterError | InputError:
    match page.status, page.trouble:
        case 400, "":
            return InputError([f"namespaces.selector: the API server does not understand {selector!r}"])
        case 401, _:
            return Unauthorized(
                f"{api.endpoint} does not accept the function's role (401); create its access entry (or its "
                f"aws-auth mapping), with the Kubernetes group {api.identity.group}. Nothing was written"
            )
        case 403, _:
            return ListForbidden(
                f"{api.endpoint} knows the function's role but does not let it list namespaces (403); apply "
                f"{api.identity.role}, and check that the access entry names the group {api.identity.group}. "
                "Nothing was written"
            )
        case 0, "no-time":
            return ClusterUnreachable(
                f"the function's time was nearly over before {api.endpoint} had listed its namespaces; raise "
                "Timeout. Nothing was written"
            )
        case 0, "timeout":
            return ClusterUnreachable(
                f"{api.endpoint} did not answer in time; a private endpoint is reached only from its VPC: set "
                "SubnetIds and SecurityGroupIds, and let the cluster's security group admit them on port 443. "
                "Nothing was written"
            )
        case 0, "untrusted":
            return ClusterNotTrusted(
                f"the certificate of {api.endpoint} is not signed by the cluster's certificate authority; look "
                "for a proxy that opens TLS, or a cluster that was created anew under the same name. Nothing "
                "was written"
            )
        case 0, _:
            return ClusterUnreachable(
                f"no connection to {api.endpoint}: refused, reset, or the name does not resolve; check the "
                "endpoint, the proxy variables and the VPC's DNS. Nothing was written"
            )
        case 429 | 500 | 502 | 503 | 504 as status, _:
            return ClusterUnreachable(
                f"{api.endpoint} answered the list of namespaces with status {status} each time; it, or the load "
                "balancer before it, is overloaded or down. Nothing was written"
            )
        case status, _:
            return UnexpectedAnswer(
                f"{api.endpoint} answered the list of namespaces with status {status}, not with what a "
                "Kubernetes API server sends; look for a proxy or load balancer. Nothing was written"
            )
