"""The template of a release: the shipped one, whose code is what lies packed beside it."""

import re

ARTIFACTS = ("RefreshFunction", "AdoptFunction", "DependenciesLayer")


class CannotBePackaged(Exception):
    """The template does not name its code as this module expects; the message says what is missing."""


def packaged(text: str, version: str) -> str:
    """Return the template with its code packed beside it, everything else as it is written, comments included.

    Raises `CannotBePackaged`.
    """
    description = r"^(Description: .*)$"
    # SAM builds nothing of what is packed.
    build = r"^    Metadata:(?: \{BuildMethod: makefile\}|\n      BuildMethod: makefile)\n"
    function = r"^  (\w+):\n(    Type: AWS::Serverless::Function\n(?:    .*\n)*?)    Properties:\n"
    layer = r"^  (\w+):\n(    Type: AWS::Serverless::LayerVersion\n(?:.*\n)*?) +ContentUri: .*\n"
    text = _replaced(description, rf"\1 Version {version}.", text, ["Description"])
    text = _replaced(build, "", text, ARTIFACTS)
    text = _replaced(r"^    CodeUri: functions/\n", "", text, ["CodeUri of all functions"])
    text = _replaced(function, r"  \1:\n\2    Properties:\n      CodeUri: \1.zip\n", text, ARTIFACTS[:2])
    return _replaced(layer, r"  \1:\n\2      ContentUri: \1.zip\n", text, ARTIFACTS[2:])


def _replaced(pattern: str, by: str, text: str, where: object) -> str:
    changed, times = re.subn(pattern, by, text, flags=re.MULTILINE)
    expected = len(where) if isinstance(where, (list, tuple)) else 1
    if times != expected:
        raise CannotBePackaged(f"{pattern!r} is {times} times in the template; expected {expected}, one for {where}")
    return changed
