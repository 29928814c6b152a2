"""Names from inside a Secret, made printable: someone may have put a password in the place of one."""

import re


class Names:
    """What one Secret calls its parts; a name that its form does not vouch for is numbered instead."""

    _HOST = (
        r"(?i)(https?://)?(?=[^/]*[.:]|localhost)[A-Za-z0-9*-]{1,63}(\.[A-Za-z0-9*-]{1,63}){0,8}(:[0-9]{1,5})?"
        r"(/[a-z0-9._-]{1,63}){0,8}/?"
    )
    _KEY = r"[A-Za-z0-9._-]{1,63}"
    # Known by heart, not by form: a password may look like the name of a field.
    _FIELDS = frozenset(
        {"username", "password", "auth", "email", "serveraddress", "identitytoken", "registrytoken", "provider"}
    )
    _MEMBERS = frozenset(
        {"credHelpers", "credsStore", "HttpHeaders", "proxies", "plugins", "detachKeys", "currentContext"}
    )

    def __init__(self) -> None:
        self._unprintable: dict[str, dict[str, int]] = {}

    def of_key(self, name: str) -> str:
        """Return the name of a data key."""
        return self._placed(name, "key", known=bool(re.fullmatch(self._KEY, name)))

    def of_host(self, name: str) -> str:
        """Return the name of a registry host."""
        return self._placed(name, "host", known=bool(re.fullmatch(self._HOST, name)))

    def of_field(self, name: str) -> str:
        """Return the name of a field of an entry."""
        return self._placed(name, "field", known=name in self._FIELDS)

    def of_member(self, name: str) -> str:
        """Return the name of a member of the docker config."""
        return self._placed(name, "member", known=name in self._MEMBERS)

    def _placed(self, name: str, what: str, *, known: bool) -> str:
        if known:
            return name
        earlier = self._unprintable.setdefault(what, {})
        return f"<unprintable {what} {earlier.setdefault(name, len(earlier) + 1)}>"
