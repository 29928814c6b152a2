"""Knows which files are patches for Kustomize."""

import os
from collections.abc import Iterator
from pathlib import Path

import yaml

from upsert_hooks.manifests import NotYamlError, decode, parse
from upsert_hooks.nodes import get, text

# https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/
_NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_LISTS = ("patches", "patchesStrategicMerge", "patchesJson6902")


def is_patch(file: str) -> bool:
    """Return whether a kustomization beside or above a file, in its repository, names it as a patch."""
    path = Path(os.path.abspath(file))  # noqa: PTH100 - resolve() would follow links, which a kustomization does not name
    for folder in path.parents:
        if any(path in _patches(folder / name) for name in _NAMES):
            return True
        if (folder / ".git").exists():
            return False
    return False


def _patches(kustomization: Path) -> Iterator[Path]:
    try:
        roots = parse(decode(kustomization.read_bytes()))
    except (OSError, UnicodeDecodeError, NotYamlError):
        return
    for patches in (get(root, key) for root in roots for key in _LISTS):
        if isinstance(patches, yaml.SequenceNode):
            for patch in patches.value:
                yield Path(os.path.normpath(kustomization.parent / (text(patch) or text(get(patch, "path")))))
