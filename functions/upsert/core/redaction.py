"""The last guard before anything is written: the part of a known secret in a text is masked.

Secrets are kept out of texts by `Sensitive` and by reading answers down to codes. This guard is for the day on which
something new gets around both.
"""

import base64
from collections.abc import Collection, Iterable, Iterator

from upsert.core.sensitive import Sensitive

# Of a secret, the window of this many characters at every `_LEARNED`th place is known, and texts are probed at every
# `_PROBED`th. The two have no common divisor, so any run of _WINDOW + _LEARNED * _PROBED - 1 = 23 characters of a
# secret is found. Random runs of 12 do not occur elsewhere by chance.
_WINDOW = 12
_LEARNED = 4
_PROBED = 3
# Every run of _WINDOW characters holds one of the runs of _GRAM that begin _APART characters from one another.
_GRAM = 6
_APART = _WINDOW - _GRAM + 1
MASK = "***"
# Where texts are probed, as far as records are long.
_PLACES = tuple(slice(start, start + _WINDOW) for start in range(0, 3000, _PROBED))


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
        count = max(0, (len(text) - _WINDOW) // _PROBED + 1)
        # Each record is probed: so no code of ours runs for each of its windows.
        windows = map(text.__getitem__, _PLACES[:count]) if count <= len(_PLACES) else _windows(text, _PROBED)
        return not self._windows.isdisjoint(map(hash, windows))

    def masked(self, text: str) -> str:
        """Return the text with the known parts of secrets in it masked."""
        hits = [start for start, window in enumerate(_windows(text, 1)) if hash(window) in self._windows]
        runs: list[tuple[int, int]] = []
        for start in hits:
            # Of a secret every fourth window is known, so its ends may lie up to three characters further out.
            begin, end = max(0, start - _LEARNED + 1), min(len(text), start + _WINDOW + _LEARNED - 1)
            if runs and begin <= runs[-1][1]:
                runs[-1] = (runs[-1][0], end)
            else:
                runs.append((begin, end))
        for begin, end in reversed(runs):
            text = f"{text[:begin]}{MASK}{text[end:]}"
        return text


def _windows(text: str, step: int, length: int = _WINDOW) -> Iterator[str]:
    return (text[start : start + length] for start in range(0, len(text) - length + 1, step))


def _encodings(value: str) -> list[str]:
    """Return the parts of base64 text that depend on `value` alone, for each alignment that it can have there."""
    plain = value.encode(errors="surrogatepass")
    encoded = [base64.b64encode(b"\0" * shift + plain).decode().rstrip("=") for shift in range(3)]
    return [text[2 * shift : -1] for shift, text in enumerate(encoded)]


def reveals(text: str, secrets: Iterable[Sensitive[str]]) -> bool:
    """Return whether a short text holds part of one of the secrets, like `revealing`."""
    return bool(revealing([text], secrets))


def revealing(texts: Collection[str], secrets: Iterable[Sensitive[str]]) -> frozenset[str]:
    """Return those of the texts that hold 12 or more characters on end of one of the secrets, plain or in base64.

    For short texts and secrets that are not worth learning for a whole run. Takes as long as both are, together.
    """
    grams = {gram for text in texts for gram in _windows(text, 1, _GRAM)}
    suspects = {
        window
        for secret in secrets
        for form in (secret.reveal(), *_encodings(secret.reveal()))
        for place in range(0, len(form) - _GRAM + 1, _APART)
        if form[place : place + _GRAM] in grams
        for window in _windows(form[max(0, place + _GRAM - _WINDOW) : place + _WINDOW], 1)
    }
    return frozenset(text for text in texts if suspects and not suspects.isdisjoint(_windows(text, 1)))
