"""Nine applications whose Secrets were made by hand, in the ways that go wrong, and what their sources say instead."""

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.certificates import make_serving_certificate
from tests.support.controlplane import ControlPlane

type Data = Mapping[str, bytes]
type Prepare = Callable[[ControlPlane, "Application", Path], object]


@dataclass(frozen=True)
class Application:
    """One application: the data that its pods read, and what its team believes it to be.

    `planted` is what a check has to find, by key, for the values of `believed` that differ. Where nothing is believed,
    nobody knows where the values came from, and they are imported. `entry` is added to its entry in the file.
    """

    name: str
    made: str
    live: Data
    prepare: Prepare
    believed: Data | None = None
    planted: Mapping[str, str] = field(default_factory=dict)
    entry: Mapping[str, Any] = field(default_factory=dict)

    @property
    def namespace(self) -> str:
        """Return where it runs."""
        return f"app-{self.name}"

    @property
    def title(self) -> str:
        """Return its object as records name it."""
        return f"{str(self.entry.get('kind', 'Secret')).lower()}/{self.name}-config"

    @property
    def secret(self) -> str:
        """Return the name of the secret that becomes its source."""
        return f"apps/{self.name}"

    @property
    def written(self) -> dict[str, Any]:
        """Return its entry in the file of objects: each key is a member of one secret."""
        return {
            "name": self.title.partition("/")[2],
            "namespaces": {"include": [self.namespace]},
            "data": {key: self._source(key) for key in self.live},
            **self.entry,
        }

    def kept(self, data: Data) -> str:
        """Return the JSON text with these values as members, those that are no text in base64."""
        return json.dumps({key: _as_member(value) for key, value in data.items()})

    def _source(self, key: str) -> dict[str, str]:
        decoded = {} if _is_text(self.live[key]) else {"decode": "base64"}
        return {"secret": self.secret, "member": key, **decoded}


def _as_member(value: bytes) -> str:
    return value.decode() if _is_text(value) else base64.b64encode(value).decode()


def _is_text(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


def _by_files(plane: ControlPlane, one: Application, folder: Path) -> None:
    """As `kubectl create --from-file`: every byte of each file, the last newline of an editor included."""
    arguments = []
    for key, value in one.live.items():
        (folder / key).write_bytes(value)
        arguments.append(f"--from-file={key}={folder / key}")
    kind = ("configmap",) if one.title.startswith("configmap") else ("secret", "generic")
    plane.kubectl("create", *kind, one.written["name"], f"--namespace={one.namespace}", *arguments)


def _by_env_file(plane: ControlPlane, one: Application, folder: Path) -> None:
    """As `kubectl create --from-env-file`, to which quotes are a part of the value."""
    lines = b"".join(key.encode() + b"=" + value + b"\n" for key, value in one.live.items())
    (folder / "env").write_bytes(lines)
    plane.kubectl(
        "create", "secret", "generic", one.written["name"], f"--namespace={one.namespace}",
        f"--from-env-file={folder / 'env'}",
    )  # fmt: skip


def _by_literals(plane: ControlPlane, one: Application, _: Path) -> None:
    literals = [f"--from-literal={key}={value.decode()}" for key, value in one.live.items()]
    plane.kubectl("create", "secret", "generic", one.written["name"], f"--namespace={one.namespace}", *literals)


def _by_apply(plane: ControlPlane, one: Application, _: Path) -> None:
    """As `kubectl apply` of a manifest that `echo VALUE | base64` filled: with kubectl's copy in an annotation."""
    body = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": one.written["name"]},
        "data": {key: base64.b64encode(value).decode() for key, value in one.live.items()},
    }
    plane.kubectl("apply", f"--namespace={one.namespace}", "--filename=-", stdin=json.dumps(body))


def _by_a_pair(plane: ControlPlane, one: Application, folder: Path) -> None:
    for key, value in one.live.items():
        (folder / key).write_bytes(value)
    plane.kubectl(
        "create", "secret", "tls", one.written["name"], f"--namespace={one.namespace}",
        f"--cert={folder / 'tls.crt'}", f"--key={folder / 'tls.key'}",
    )  # fmt: skip


def cast() -> Sequence[Application]:
    """Return the nine applications, with a new certificate each time."""
    pair = make_serving_certificate()
    certificate, authority, key = (text.encode() for text in (pair.certificate_pem, pair.ca_pem, pair.key_pem))
    another = make_serving_certificate().ca_pem.encode()
    multiline = b"-----BEGIN TOKEN-----\nd2ViaG9vay1zaWduaW5nLWtleQ==\n-----END TOKEN-----\n"
    return (
        Application(
            "api",
            "kubectl create --from-file, from an editor",
            live={
                "db_password": b"api-password-5d1f88\n",
                "db_user": b"api",
                "db_host": b"db.internal",
                "log_token": b"log-token-of-the-api-7c\n",
                "cache_url": b"redis://cache.internal:6379",
            },
            prepare=_by_files,
            believed={
                "db_password": b"api-password-5d1f88",
                "db_user": b"api",
                "db_host": b"db.internal",
                "log_token": b"log-token-of-the-api-7c",
                "cache_url": b"redis://cache.internal:6379",
            },
            planted={"db_password": "trailing newline", "log_token": "trailing newline"},
        ),
        Application(
            "billing",
            "kubectl apply, filled by echo | base64",
            live={
                "api_key": b"billing-key-of-a-provider\n",
                "account": b"4711",
                "endpoint": b"https://pay.example.com",
                "webhook_secret": b"billing-webhook-secret-19\n",
            },
            prepare=_by_apply,
            believed={
                "api_key": b"billing-key-of-a-provider",
                "account": b"4711",
                "endpoint": b"https://pay.example.com",
                "webhook_secret": b"billing-webhook-secret-19",
            },
            planted={"api_key": "trailing newline", "webhook_secret": "trailing newline"},
        ),
        Application(
            "checkout",
            "kubectl create --from-file, saved on Windows",
            live={
                "application.properties": b"user=checkout\r\npassword=checkout-password-3e\r\nretries=3\r\n",
                "logging.properties": b"level=info\r\nformat=json\r\n",
                "license": b"checkout-license-of-2026",
                "region": b"eu",
            },
            prepare=_by_files,
            believed={
                "application.properties": b"user=checkout\npassword=checkout-password-3e\nretries=3\n",
                "logging.properties": b"level=info\nformat=json\n",
                "license": b"checkout-license-of-2026",
                "region": b"eu",
            },
            planted={"application.properties": "CRLF", "logging.properties": "CRLF"},
        ),
        Application(
            "search",
            "pasted into a web form",
            live={
                "admin_password": b" search-admin-password-88f0",
                "index_key": b"search-index-key-22b7  ",
                "query_key": b"search-query-key-51aa",
                "cluster": b"search-eu",
            },
            prepare=_by_literals,
            believed={
                "admin_password": b"search-admin-password-88f0",
                "index_key": b"search-index-key-22b7",
                "query_key": b"search-query-key-51aa",
                "cluster": b"search-eu",
            },
            planted={"admin_password": "leading white space", "index_key": "trailing white space"},
        ),
        Application(
            "mailer",
            "kubectl create --from-env-file, with quotes",
            live={
                "SMTP_PASSWORD": b'"mailer-password-0b4c"',
                "SMTP_USER": b"mailer",
                "SMTP_HOST": b"smtp.example.com",
                "DKIM_SELECTOR": b"'2026a'",
                "FROM": b"noreply@example.com",
            },
            prepare=_by_env_file,
            believed={
                "SMTP_PASSWORD": b"mailer-password-0b4c",
                "SMTP_USER": b"mailer",
                "SMTP_HOST": b"smtp.example.com",
                "DKIM_SELECTOR": b"2026a",
                "FROM": b"noreply@example.com",
            },
            planted={"SMTP_PASSWORD": "quotes", "DKIM_SELECTOR": "quotes"},
        ),
        Application(
            "reports",
            "kubectl create --from-literal of what was base64 already",
            live={
                "warehouse_password": base64.b64encode(b"reports-warehouse-password"),
                "warehouse_user": b"reports",
                "bucket": b"reports-of-eu",
                "signing_key": base64.b64encode(b"reports-signing-key-of-2026"),
            },
            prepare=_by_literals,
            believed={
                "warehouse_password": b"reports-warehouse-password",
                "warehouse_user": b"reports",
                "bucket": b"reports-of-eu",
                "signing_key": b"reports-signing-key-of-2026",
            },
            planted={"warehouse_password": "base64 twice", "signing_key": "base64 twice"},
        ),
        Application(
            "webhook",
            "a key whose line breaks were escaped on their way",
            live={
                "signing.pem": multiline.replace(b"\n", b"\\n"),
                "url": b"https://hooks.example.com/in",
                "channel": b"ops",
                "settings.json": b'\xef\xbb\xbf{"token": "webhook-token-of-ops-60"}',
            },
            prepare=_by_files,
            believed={
                "signing.pem": multiline,
                "url": b"https://hooks.example.com/in",
                "channel": b"ops",
                "settings.json": b'{"token": "webhook-token-of-ops-60"}',
            },
            planted={"signing.pem": r"escaped \n", "settings.json": "BOM"},
        ),
        Application(
            "storefront",
            "kubectl create secret tls, its chain in another order",
            live={"tls.crt": certificate + authority + another, "tls.key": key},
            prepare=_by_a_pair,
            believed={"tls.crt": certificate + another + authority, "tls.key": key},
            planted={"tls.crt": "PEM order"},
            entry={"type": "tls"},
        ),
        Application(
            "legacy",
            "kubectl create --from-file, by somebody who has left",
            live={
                "keystore.p12": b"\x30\x82\x0a\x01legacy-keystore\x00\xff\xfe",
                "keystore.password": b"legacy-keystore-password-1",
                "truststore.p12": b"\x30\x82\x0b\x02legacy-truststore\x00\xff",
                "partner.token": b"legacy-partner-token-c4\n",
                "mode": b"batch",
                "queue": b"legacy-in",
                "tenant": b"0042",
                "note": b"",
            },
            prepare=_by_files,
        ),
    )


def public(value: bytes) -> bool:
    """Return whether a value is too short or too plain to be looked for in what is said."""
    return len(value) < 16 or value.startswith((b"-----BEGIN CERTIFICATE", b"https://", b"redis://", b"level="))
