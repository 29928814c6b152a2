"""The last guard before anything is written: a text that holds part of a known secret is not written.

Secrets are kept out of texts by `Sensitive` and by reading answers down to codes. This guard is for the day on which
something new gets around both.
"""

import base64

from pullsecret.core.sensitive import Sensitive

# Every window of this many characters of a secret is known. Texts are probed at every `_STRIDE`th place, so any run
# of _WINDOW + _STRIDE - 1 = 20 characters of a secret is found; random runs of 12 do not occur elsewhere by chance.
_WINDOW = 12
_STRIDE = 9


class Redactor:
    """Knows secrets, and tells texts that hold a part of one."""

    def __init__(self) -> None:
        self._windows: set[str] = set()

    def learn(self, secret: Sensitive[str]) -> None:
        """Know the secret from now on, also inside base64 at any of its three alignments."""
        value = secret.reveal()
        for text in (value, *(_encoded(value, shift) for shift in range(3))):
            self._windows.update(text[start : start + _WINDOW] for start in range(len(text) - _WINDOW + 1))

    def finds_in(self, text: str) -> bool:
        """Return whether `text` holds 20 or more characters of a known secret on end."""
        windows = self._windows
        return any(text[start : start + _WINDOW] in windows for start in range(0, len(text) - _WINDOW + 1, _STRIDE))


def _encoded(value: str, shift: int) -> str:
    """Return the part of base64 text that depends on `value` alone when `shift` bytes come before it."""
    encoded = base64.b64encode(b"\0" * shift + value.encode()).decode().rstrip("=")
    return encoded[2 * shift : -1]
