"""What the events of Secrets Manager and Parameter Store say has changed, and which sources that concerns.

https://docs.aws.amazon.com/secretsmanager/latest/userguide/event-detail-secret-label-updated-secretsmanager.html
https://docs.aws.amazon.com/systems-manager/latest/userguide/sysman-paramstore-cwe.html
"""

from typing import NamedTuple

from upsert.core.fields import Fields, Grammar
from upsert.core.grammars import ACCOUNT, REGION
from upsert.core.objects import Object, Ref

_SECRET = ("aws.secretsmanager", "Secret Label Updated")
_PARAMETER = ("aws.ssm", "Parameter Store Change")
_CURRENT, _PREVIOUS = "AWSCURRENT", "AWSPREVIOUS"
# A secret's ARN ends in a hyphen and six characters that its name does not have.
_SUFFIX = 7

_NAME = Grammar(r"[!-~]{1,2048}", "a name")
_LABEL = Grammar(r"[!-~]{1,256}", "a staging label, such as AWSCURRENT")


class Change(NamedTuple):
    """A value that changed: of a ``secret`` under a staging label, or of a ``parameter``; where it is, and its ARNs."""

    source: str
    name: str
    account: str
    region: str
    arns: tuple[str, ...] = ()
    label: str = ""

    def concerns(self, one: Object, *, account: str, region: str) -> bool:
        """Return whether an object has a part from there, for a function of that account and region."""
        return any(self._is_of(part.ref, account, region) for part in one.parts if part.ref.source == self.source)

    def _is_of(self, ref: Ref, account: str, region: str) -> bool:
        if ref.get("version"):
            return False
        is_secret = self.source == "secret"
        if is_secret and ref.get("stage", _CURRENT) not in self._moved:
            return False
        named = ref.get(self.source)
        if named.startswith("arn:"):
            return any(named in (arn, arn[:-_SUFFIX] if is_secret else arn) for arn in self.arns)
        role_arn = ref.get("role_arn")
        home = (role_arn.split(":")[4] if role_arn else account, region)
        # The path of a parameter may be told without its first slash; two secrets may differ in it alone.
        is_named = named == self.name or (not is_secret and named.lstrip("/") == self.name.lstrip("/"))
        return home == (self.account, self.region) and is_named

    @property
    def _moved(self) -> tuple[str, ...]:
        """Return the labels that are on other versions now: AWSPREVIOUS follows AWSCURRENT, and no event tells so."""
        return (_CURRENT, _PREVIOUS) if self.label == _CURRENT else (self.label,)


def is_one(fields: Fields) -> bool:
    """Return whether an event is of one of these sources."""
    return (fields.value.get("source"), fields.value.get("detail-type")) in (_SECRET, _PARAMETER)


def change(fields: Fields) -> Change:
    """Return what an event says has changed, and note what is wrong with it."""
    is_secret = fields.value.get("source") == _SECRET[0]
    detail = fields.child("detail", "an object that names what has changed")
    return Change(
        source="secret" if is_secret else "parameter",
        name=detail.text("name", _NAME, is_secret=True),
        account=fields.text("account", ACCOUNT),
        region=fields.text("region", REGION),
        arns=fields.texts("resources", _NAME, most=10),
        label=detail.text("labelUpdated", _LABEL, is_secret=True) if is_secret else "",
    )
