"""What each source is to the rest: a row of the table."""

import base64
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from upsert.core.fields import Fields
from upsert.core.objects import Material, Part, Ref
from upsert.errors import SourceFailed


class AwsApi(Protocol):
    """The AWS APIs, as far as a source needs them."""

    @property
    def account(self) -> str:
        """Return the id of the function's own account."""

    @property
    def region(self) -> str:
        """Return the function's own region."""

    def call(
        self, service: str, operation: str, *, region: str = "", role_arn: str = "", **parameters: object
    ) -> Mapping[str, Any]:
        """Return what an operation answers, in a region and as a role if these are given. Raises `AwsError`."""


class NoFile(Exception):
    """There is no such file that can be used. The text says why, and what was expected."""


class Folder(Protocol):
    """The folder of the file of objects, at build."""

    def read(self, path: str) -> bytes:
        """Return what a file in it holds. Raises `NoFile`."""


def given(ref: Ref) -> bytes:
    """Return the value that stands in a ref itself, or nothing if it is kept elsewhere."""
    return base64.b64decode(ref.get("base64")) if ref.source == "file" else ref.get("text").encode()


type Reading = Mapping[Ref, Material | SourceFailed]


def _no_host(_: Ref) -> str:
    """Return nothing: it is no source of logins."""
    return ""


class Source(NamedTuple):
    """One source of bytes.

    `word` is its name in the file of objects; `gives_login` says whether it gives registry logins, else one value;
    `is_plain` whether the value stands in the repository. `form` reads its fields from the file, at build, and `many`
    those of many keys at once. `read` gives each of the refs its material, or why there is none. `host` is that of a
    login, with words for what only a deployment knows.
    """

    word: str
    form: Callable[[Fields, Folder], Mapping[str, str]] | None
    read: Callable[[Collection[Ref], AwsApi], Reading]
    gives_login: bool = False
    is_plain: bool = False
    many: Callable[[Fields, Folder], Sequence[Part]] | None = None
    host: Callable[[Ref], str] = _no_host
