"""The check of creationPolicy: what it finds and where, what it leaves alone, and that it installs as a hook."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from upsert_hooks.creation_policy import main

REPOSITORY = Path(__file__).parents[2]
HEAD = """\
apiVersion: external-secrets.io/v1
kind: ExternalSecret
metadata:
  name: {name}
spec:
"""
CLUSTER_HEAD = """\
apiVersion: external-secrets.io/v1beta1
kind: ClusterExternalSecret
metadata: {name: pull}
spec:
"""
LIST_HEAD = """\
kind: List
apiVersion: v1
items:
"""
NO_POLICY = "no creationPolicy, so it owns its Secret; write Owner, Orphan, Merge or None"
OWNER = (
    "creationPolicy Owner aims at aws-ecr-token, which the refresher writes; deleting the ExternalSecret would delete "
    "it. Aim at another name, or remove this ExternalSecret"
)


def external_secret(target: str, name: str = "database") -> str:
    return HEAD.format(name=name) + target


def delete_with(policy: str) -> str:
    would = "would delete a Secret that others write; use Retain or Merge"
    return f"deletionPolicy Delete together with creationPolicy {policy} {would}"


CASES: Mapping[str, tuple[str, list[str]]] = {
    "an explicit policy": (external_secret("  target:\n    creationPolicy: Owner\n"), []),
    "no target": (external_secret("  refreshInterval: 1h\n"), [f"6: ExternalSecret database: {NO_POLICY}"]),
    "no policy": (external_secret("  target:\n    name: x\n"), [f"7: ExternalSecret database: {NO_POLICY}"]),
    "an empty policy": (
        external_secret("  target:\n    creationPolicy:\n"),
        [f"7: ExternalSecret database: {NO_POLICY}"],
    ),
    "no spec": (HEAD.format(name="database"), [f"5: ExternalSecret database: {NO_POLICY}"]),
    "Owner of the pull Secret by its own name": (
        external_secret("  target:\n    creationPolicy: Owner\n", name="aws-ecr-token"),
        [f"7: ExternalSecret aws-ecr-token: {OWNER}"],
    ),
    "Owner of the pull Secret by the target's name": (
        external_secret("  target:\n    name: aws-ecr-token\n    creationPolicy: Owner\n"),
        [f"8: ExternalSecret database: {OWNER}"],
    ),
    "Owner of another Secret in spite of its own name": (
        external_secret("  target:\n    name: x\n    creationPolicy: Owner\n", name="aws-ecr-token"),
        [],
    ),
    "Orphan of the pull Secret": (external_secret("  target: {name: aws-ecr-token, creationPolicy: Orphan}\n"), []),
    "Delete with Merge": (
        external_secret("  target:\n    creationPolicy: Merge\n    deletionPolicy: Delete\n"),
        [f"8: ExternalSecret database: {delete_with('Merge')}"],
    ),
    "Delete with CreateOrMerge": (
        external_secret("  target:\n    deletionPolicy: Delete\n    creationPolicy: CreateOrMerge\n"),
        [f"7: ExternalSecret database: {delete_with('CreateOrMerge')}"],
    ),
    "Delete with Owner": (external_secret("  target: {creationPolicy: Owner, deletionPolicy: Delete}\n"), []),
    "Retain with Merge": (external_secret("  target: {creationPolicy: Merge, deletionPolicy: Retain}\n"), []),
    "a ClusterExternalSecret": (
        CLUSTER_HEAD
        + "  externalSecretName: aws-ecr-token\n  externalSecretSpec:\n    target:\n      creationPolicy: Owner\n",
        [f"8: ClusterExternalSecret pull: {OWNER}"],
    ),
    "a ClusterExternalSecret without a policy": (
        CLUSTER_HEAD + "  externalSecretSpec:\n    target: {name: x}\n",
        [f"6: ClusterExternalSecret pull: {NO_POLICY}"],
    ),
    "the second and the fourth of four documents": (
        "\n---\n".join(
            [
                "# nothing but a comment\nkind: ConfigMap",
                external_secret("  target: {}\n"),
                external_secret("  target: {creationPolicy: None}"),
                external_secret("  target: {}\n", name="cache"),
            ]
        ),
        [f"9: ExternalSecret database: {NO_POLICY}", f"24: ExternalSecret cache: {NO_POLICY}"],
    ),
    "a List": (
        LIST_HEAD + "- apiVersion: external-secrets.io/v1\n  kind: ExternalSecret\n  metadata: {name: a}\n  spec: {}\n",
        [f"7: ExternalSecret a: {NO_POLICY}"],
    ),
    "an ExternalSecretList": (
        LIST_HEAD.replace("kind: List", "kind: ExternalSecretList")
        + "- apiVersion: external-secrets.io/v1\n  kind: ExternalSecret\n  metadata: {name: a}\n  spec: {}\n",
        [f"7: ExternalSecret a: {NO_POLICY}"],
    ),
    "a kind from Helm": (
        "apiVersion: '{{ .Values.api }}'\nkind: ExternalSecret\nspec: {}\n",
        ["1: note: skipped: a Helm template decides its kind; check what it renders to"],
    ),
    "another group's kind of that name": ("apiVersion: example.com/v1\nkind: ExternalSecret\nspec: {}\n", []),
    "JSON": (
        json.dumps(yaml.safe_load(external_secret("  target: {name: x}\n")), indent=2),
        [f"8: ExternalSecret database: {NO_POLICY}"],
    ),
    "JSON with tabs": (
        json.dumps(yaml.safe_load(external_secret("  target: {name: x}\n")), indent="\t"),
        [f"8: ExternalSecret database: {NO_POLICY}"],
    ),
    "a template of its own operator": (
        external_secret("  target:\n    creationPolicy: Owner\n    template:\n      data: {a: '{{ .password }}'}\n"),
        [],
    ),
    "a template of its own operator and no policy": (
        external_secret("  target:\n    template:\n      data:\n        a: |\n          x {{ .password }}\n"),
        [f"7: ExternalSecret database: {NO_POLICY}"],
    ),
    "a Helm template that is no YAML": (
        "---\n{{- if .Values.enabled }}\n" + external_secret("  target: {}\n") + "{{- end }}\n",
        ["1: note: skipped: a Helm template; check what it renders to"],
    ),
    "a policy from Helm": (
        external_secret("  target:\n    creationPolicy: {{ .Values.policy }}\n"),
        ["7: note: ExternalSecret database: skipped: a Helm template decides its creationPolicy"],
    ),
    "a target from Helm": (
        external_secret("  target: {{ .Values.target }}\n"),
        ["6: note: ExternalSecret database: skipped: a Helm template decides its creationPolicy"],
    ),
    "a document beside a Helm template": (
        "{{ if x }}\nkind: ExternalSecret\n{{ end }}\n---\n" + external_secret("  target: {}\n"),
        [
            "1: note: skipped: a Helm template; check what it renders to",
            f"10: ExternalSecret database: {NO_POLICY}",
        ],
    ),
    "no YAML": (
        "kind: ExternalSecret\n  spec: [\n",
        ["2: is not YAML: mapping values are not allowed here"],
    ),
    "something else that is no YAML": ("kind: Deployment\n  spec: [\n", []),
    "nothing": ("", []),
}


@pytest.mark.parametrize("case", CASES)
def test_each_finding_names_file_and_line(tmp_path: Path, capsys: pytest.CaptureFixture[str], case: str) -> None:
    text, findings = CASES[case]
    file = tmp_path / "manifest.yaml"
    file.write_text(text)
    status = main([str(file)])
    assert capsys.readouterr().out.splitlines() == [f"{file}:{finding}" for finding in findings]
    assert status == int(any(": note: " not in f":{finding}" for finding in findings))


def test_a_byte_order_mark_and_crlf_are_no_trouble(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "manifest.yaml"
    file.write_bytes(b"\xef\xbb\xbf" + external_secret("  target: {}\n").replace("\n", "\r\n").encode())
    assert main([str(file)]) == 1
    assert capsys.readouterr().out == f"{file}:6: ExternalSecret database: {NO_POLICY}\n"


def test_what_cannot_be_read_fails_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "latin.yaml"
    file.write_bytes("kind: ExternalSecret # é".encode("latin-1"))
    assert main([str(file), str(tmp_path / "nowhere.yaml")]) == 1
    assert capsys.readouterr().out.splitlines() == [
        f"{file}:1: is not UTF-8",
        f"{tmp_path / 'nowhere.yaml'}:1: cannot be read: No such file or directory",
    ]


def test_the_pull_secret_may_have_another_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "manifest.yaml"
    file.write_text(external_secret("  target: {name: registries, creationPolicy: Owner}\n"))
    assert main([str(file)]) == 0
    assert main(["--secret-name", "registries", str(file)]) == 1
    assert "aims at registries" in capsys.readouterr().out


def test_no_files_are_no_findings() -> None:
    assert main([]) == 0


def test_the_hook_installs_from_the_repository_and_brings_nothing_but_the_check(tmp_path: Path) -> None:
    (hook,) = yaml.safe_load((REPOSITORY / ".pre-commit-hooks.yaml").read_text())
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    # As pre-commit does: pip install of the repository. Its dependencies are taken from here, so that none is fetched.
    copy = _copy(tmp_path / "repository")
    pip = [sys.executable, "-m", "pip", "--quiet"]
    subprocess.run([*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", tmp_path, copy], check=True)
    (built,) = tmp_path.glob("*.whl")
    subprocess.run([venv / "bin" / "pip", "--quiet", "install", "--no-deps", built], check=True)
    site = next(venv.glob("lib/python*/site-packages"))
    assert {path.name for path in site.iterdir() if not path.name.startswith(("pip", "eks_upsert-"))} == {
        "upsert_hooks"
    }
    (site / "yaml").symlink_to(Path(yaml.__file__).parent)
    file = tmp_path / "manifest.yaml"
    file.write_text(external_secret("  target: {}\n"))
    done = subprocess.run([venv / "bin" / hook["entry"], file], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stdout == f"{file}:6: ExternalSecret database: {NO_POLICY}\n"
    assert done.stderr == ""


def _copy(target: Path) -> Path:
    """Copy what a build reads, so that it leaves nothing behind in the repository."""
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        if (REPOSITORY / name).exists():
            target.mkdir(exist_ok=True)
            (target / name).write_text((REPOSITORY / name).read_text())
    for source in (REPOSITORY / "hooks").rglob("*.py"):
        copy = target / source.relative_to(REPOSITORY)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(source.read_text())
    return target
