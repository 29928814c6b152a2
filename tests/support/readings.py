"""What a source gave for a ref, as tests look at it."""

from upsert.core.objects import Material, Ref
from upsert.errors import SourceFailed


def ref_to(word: str, name: str, **fields: str) -> Ref:
    """Return a ref as the build makes it: to a secret or a parameter of that name, with more fields."""
    return Ref(word, tuple(sorted({word: name, **fields}.items())))


def given(reading: Material | SourceFailed, key: str = "value") -> bytes:
    """Return the bytes under a key of what was given."""
    assert isinstance(reading, Material), reading
    return reading.data[key].reveal()


def text(reading: Material | SourceFailed, key: str = "value") -> str:
    """Return the text under a key of what was given."""
    return given(reading, key).decode()


def why(reading: Material | SourceFailed) -> str:
    """Return why nothing was given."""
    assert isinstance(reading, SourceFailed), reading
    return str(reading)
