"""Prints the Kubernetes roles that a file of objects needs, as YAML for people to read before they apply it."""

import json
import re
import shlex
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from compiler.checks import ObjectsFile
from compiler.grants import Grants, Names, grants
from upsert.core.resources import MANIFESTS, NAMESPACES, SERVICE_ACCOUNTS, Resource

SHIPPED = "functions/objects.yaml"
"""The file that `make rbac` is for unless told otherwise."""

_LINE = 120
# A text that YAML 1.1, which kubectl reads, takes for a text without quotes.
_PLAIN = re.compile(r"(?!(?:y|n|yes|no|on|off|true|false|null)$)[a-z][a-z0-9.-]*")

_REFRESHER_HEAD = """\
What the refresher may do in your cluster, whole, for the file of objects that it is printed for. An admin applies it:

  {command} | kubectl apply -f -

What is not here, on purpose:
  - get, list, watch on what it writes: it never asks for a value. Said exactly: the API server answers a PATCH with
    the whole object, so whoever steals the refresher's token can read the objects that are named here, in the
    namespaces where the role is bound, and no other Secret or ConfigMap.
  - update, delete: it cannot replace or remove an object, so no pull ever finds its Secret missing.
  - objects of any other name.
"""
_ADOPTER_HEAD = """\
What the adopter may do in your cluster, whole: what the refresher may, and read the objects that it compares, for the
file of objects that it is printed for. An admin applies it for the time of a migration, and then deletes it:

  {command} | kubectl apply -f -
  {command} | kubectl delete -f -

What is not here, on purpose:
  - list, watch on what it reads, and objects of any other name: it reads these, namespace by namespace.
  - update, delete: it cannot replace or remove an object.
  - ExternalSecrets. To have `check` name those that write the same Secrets, add this rule to the ClusterRole:
      - apiGroups: [external-secrets.io]
        resources: [externalsecrets]
        verbs: [list]
"""
_NAMESPACES = """\
To know where to write. Pages of up to 500 namespaces, metadata only. No get or watch: it asks once a run.
"""
_WRITE = """\
The one write: a server-side-apply PATCH. The API server checks patch when the object exists, and patch and create
when it does not, and knows the name in both cases: resourceNames holds for creating too. (A plain POST carries no
name for it to check and is refused.)
"""
_READ = """\
get is what the refresher does not have. Adopting is a server-side-apply PATCH that names the uid and the
resourceVersion of what was read.
"""
_MANIFEST = """\
What a manifest says. RBAC cannot limit a patch to one field: whoever holds this could lift these very quotas and
limits, open these policies, or close them.
"""
_LIST_ACCOUNTS = """\
To know where the ServiceAccounts are that are to name a pull Secret. It asks for one name at a time, with a field
selector, and resourceNames holds for that. It asks for all namespaces at once, which no role in some of them
allows.
"""
_PATCH_ACCOUNTS = """\
To name the pull Secret in these ServiceAccounts. RBAC cannot limit a patch to one field: whoever holds this could
also change their labels and annotations (on EKS, an annotation there names the IAM role that its pods get).
"""
_GROUP = """\
A group, not a user: the EKS access entry of the function's IAM role puts every session of that role into it.
"""
_GROUP_OF_ADOPTER = """\
A group of its own: the adopter has its own IAM role, so that the refresher never gets to read.
"""
_LOCAL = """\
Objects whose namespaces the file gives by name go to these alone, and so does the role for them. The namespaces have
to exist. One that is deleted and created again needs this file again; one that has left the file keeps its role until
somebody deletes it there, which docs/objects.md tells how to do.
"""


def roles(found: ObjectsFile, *, cluster: str = "", is_adopter: bool = False, source: str = SHIPPED) -> str:
    """Return the roles and bindings of the refresher, or of the adopter, for a file or one of its clusters, as YAML.

    `source` is where the file is. Raises `InputError` if the file has no such cluster, or needs one to be named.
    """
    wanted = grants(found, cluster=cluster, has_accounts=not is_adopter)
    who = _AS_ADOPTER if is_adopter else _AS_REFRESHER
    given = (
        "" if source == SHIPPED else f" OBJECTS={shlex.quote(source)}",
        f" CLUSTER={shlex.quote(cluster)}" if cluster else "",
        " ADOPTER=1" if is_adopter else "",
    )
    head = who.head.format(command=f"make rbac{''.join(given)}")
    return "".join(_Writer(who, head).documents(wanted))


@dataclass(frozen=True, slots=True)
class _Identity:
    """Whose roles they are: their name and group, their verbs on an object, and what is said about all that."""

    name: str
    verbs: tuple[str, ...]
    head: str
    about_objects: str
    about_group: str


_AS_REFRESHER = _Identity("eks-upsert", ("create", "patch"), _REFRESHER_HEAD, _WRITE, _GROUP)
_AS_ADOPTER = _Identity("eks-upsert-adopter", ("create", "patch", "get"), _ADOPTER_HEAD, _READ, _GROUP_OF_ADOPTER)


@dataclass(frozen=True, slots=True)
class _Writer:
    """Writes roles, and says about each thing in them once why it is there."""

    who: _Identity
    head: str
    _said: set[str] = field(default_factory=set)

    def documents(self, wanted: Grants) -> Iterator[str]:
        """Give the parts of the text, in their order."""
        yield self._once(self.head, "")
        yield from self._role("ClusterRole", "", self._cluster_rules(wanted))
        for namespace, names in wanted.local.items():
            yield from self._role("Role", namespace, self._rules(names), about=_LOCAL)

    def _cluster_rules(self, wanted: Grants) -> Iterator[str]:
        yield self._rule(NAMESPACES, (), ("list",), _NAMESPACES)
        if wanted.accounts:
            yield self._rule(SERVICE_ACCOUNTS, wanted.accounts, ("list",), _LIST_ACCOUNTS)
        yield from self._rules(wanted.everywhere)

    def _rules(self, names: Names) -> Iterator[str]:
        for resource in sorted(names, key=lambda one: (one == SERVICE_ACCOUNTS, one.plural)):
            if resource == SERVICE_ACCOUNTS:
                yield self._rule(resource, names[resource], ("patch",), _PATCH_ACCOUNTS)
            else:
                yield self._rule(resource, names[resource], self.who.verbs, self.who.about_objects)

    def _rule(self, resource: Resource, names: Collection[str], verbs: Collection[str], about: str) -> str:
        more = _MANIFEST if resource in MANIFESTS else ""
        return (
            f"{self._once(about, '  ')}{self._once(more, '  ')}"
            f'  - apiGroups: ["{resource.group}"]\n'
            f"    resources: [{resource.plural}]\n"
            f"{_resource_names(sorted(names))}"
            f"    verbs: [{', '.join(verbs)}]\n"
        )

    def _role(self, kind: str, namespace: str, rules: Iterator[str], about: str = "") -> Iterator[str]:
        """Give a role and what binds it to the group."""
        yield f"---\n{self._once(about, '')}{_head(kind, self.who.name, namespace)}rules:\n"
        yield from rules
        yield f"---\n{_head(f'{kind}Binding', self.who.name, namespace)}roleRef:\n"
        yield f"  apiGroup: rbac.authorization.k8s.io\n  kind: {kind}\n  name: {self.who.name}\nsubjects:\n"
        yield self._once(self.who.about_group, "  ")
        yield f"  - apiGroup: rbac.authorization.k8s.io\n    kind: Group\n    name: {self.who.name}\n"

    def _once(self, text: str, indent: str) -> str:
        if text in self._said:
            return ""
        self._said.add(text)
        return "".join(f"{indent}# {line}".rstrip() + "\n" for line in text.splitlines())


def _head(kind: str, name: str, namespace: str) -> str:
    within = f"  namespace: {_text(namespace)}\n" if namespace else ""
    return f"apiVersion: rbac.authorization.k8s.io/v1\nkind: {kind}\nmetadata:\n  name: {name}\n{within}"


def _resource_names(names: Collection[str]) -> str:
    if not names:
        return ""
    line = f"    resourceNames: [{', '.join(map(_text, names))}]\n"
    return (
        line if len(line) <= _LINE else "    resourceNames:\n" + "".join(f"      - {_text(name)}\n" for name in names)
    )


def _text(text: str) -> str:
    """Return a text as YAML has it, in quotes if it could be taken for something else."""
    return text if _PLAIN.fullmatch(text) else json.dumps(text)
