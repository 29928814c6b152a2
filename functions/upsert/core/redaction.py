"""The last guard before anything is written: a text that holds part of a known secret is not written.

Secrets are kept out of texts by `Sensitive` and by reading answers down to codes. This guard is for the day on which
something new gets around both.
"""

import base64
from collections.abc import Iterable, Iterator

from upsert.core.sensitive import Sensitive

# Of a secret, the window of this many characters at every `_LEARNED`th place is known, and texts are probed at every
# `_PROBED`th. The two have no common divisor, so any run of _WINDOW + _LEARNED * _PROBED - 1 = 23 characters of a
# secret is found. Random runs of 12 do not occur elsewhere by chance.
_WINDOW = 12
_LEARNED = 4
_PROBED = 3


class Redactor:
    """Knows secrets, and tells texts that hold a part of one. It keeps hashes only, so it is no leak itself."""

    def __init__(self) -> None:
        self._windows: set[int] = set()

    def learn(self, secret: Sensitive[str]) -> None:
        """Know the secret from now on, also in base64, and in base64 of base64: so a Secret holds a docker config."""
        once = _encodings(secret.reveal())
        twice = [text for encoded in once for text in _encodings(encoded)]
        for text in (secret.reveal(), *once, *twice):
            self._windows.update(map(hash, _windows(text, _LEARNED)))

    def finds_in(self, text: str) -> bool:
        """Return whether `text` holds 23 or more characters of a known secret on end."""
        return not self._windows.isdisjoint(map(hash, _windows(text, _PROBED)))


def _windows(text: str, step: int) -> Iterator[str]:
    return (text[start : start + _WINDOW] for start in range(0, len(text) - _WINDOW + 1, step))


def _encodings(value: str) -> list[str]:
    """Return the parts of base64 text that depend on `value` alone, for each alignment that it can have there."""
    plain = value.encode(errors="surrogatepass")
    encoded = [base64.b64encode(b"\0" * shift + plain).decode().rstrip("=") for shift in range(3)]
    return [text[2 * shift : -1] for shift, text in enumerate(encoded)]


def reveals(text: str, secrets: Iterable[Sensitive[str]]) -> bool:
    """Return whether `text` holds 12 or more characters on end of one of the secrets, plain or in base64.

    For a short text and secrets that are not worth learning for a whole run.
    """
    windows = set(_windows(text, 1))
    forms = (form for secret in secrets for form in (secret.reveal(), *_encodings(secret.reveal())))
    return any(window in form for form in forms for window in windows)
