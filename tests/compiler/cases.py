"""Files of objects, good and bad, for the compiler and the schema."""

from dataclasses import dataclass, field

from upsert import kinds, sources
from upsert.core.grammars import FULL_TYPE, MEMBER, PARAMETER
from upsert.core.resources import MANIFESTS

# What a type, a kind and a source may be, as errors say it: a new row of a table changes no case here.
_WORDS = " or ".join(row.word for row in kinds.TABLE.values() if row.resource.kind == "Secret")
KINDS = f"{_WORDS}, or {FULL_TYPE.expected}"
_RESOURCES = " or ".join(
    dict.fromkeys(row.resource.kind for row in kinds.TABLE.values() if row.resource not in MANIFESTS)
)
RESOURCES = f"{_RESOURCES}, or in its place a manifest, such as {{file: baseline/quota.yaml}}"
LOGINS = ", ".join(row.word for row in sources.TABLE.values() if row.gives_login)
VALUES = ", ".join(row.word for row in sources.TABLE.values() if row.form and not row.gives_login and not row.is_plain)

SHORT = {
    "name": "aws-ecr-token",
    "type": "docker-registry",
    "registries": "[{ecr: {}}]",
    "namespaces": "{include: [apps]}",
}
NAMED_CLUSTERS = "clusters: [{name: production-eu}, {name: production-us}, {name: test}]"

RICH = """\
# yaml-language-server: $schema=objects.schema.json
version: 1
clusters:
  - {name: production-eu}
  - {name: team-blue, region: eu-west-1, role_arn: "arn:aws:iam::210987654321:role/eks-upsert"}
objects:
  - name: aws-ecr-token
    type: docker-registry
    registries:
      - ecr: {}
      - ecr: {account: "111122223333", region: us-east-1}
      - ecr: {region: eu-north-1, role_arn: "arn:aws:iam::444455556666:role/pull"}
      - ecr: {host: registry.example.com:8443}
      - ecr_public: {}
      - auths: {secret: other-registries, member: docker}
    namespaces: {include: ["*"], exclude: ["kube-*", team-b], selector: "env in (prod,stage)"}
    service_accounts: [default]
    on_conflict: take-over
  - name: team-b-registries
    kind: Secret
    type: docker-registry
    registries:
      - auths: {secret: "arn:aws:secretsmanager:eu-central-1:111122223333:secret:team-b-AbCdEf"}
    namespaces:
      include: [team-b]
    clusters: ["team-*"]
"""


def an_object(**fields: str) -> str:
    """Return an object in one line. A field that is empty is left out."""
    named = {**SHORT, **fields}
    return "{" + ", ".join(f"{name}: {value}" for name, value in named.items() if value) + "}"


def a_file(*objects: str, more: str = "") -> str:
    """Return a file whose objects stand in lines 3, 4, …, and `more` after them."""
    return "\n".join(["version: 1", "objects:", *(f"  - {one}" for one in objects), more]) + "\n"


def of_namespaces(namespaces: str) -> str:
    return a_file(an_object(namespaces=namespaces))


def of_registries(registries: str) -> str:
    return a_file(an_object(registries=registries))


def of_data(*entries: str) -> str:
    return a_file(an_object(type="generic", registries="", data=f"{{{', '.join(entries)}}}"))


def _a_config_map(data: str) -> str:
    return an_object(kind="ConfigMap", type="", registries="", data=data)


GOOD = {
    "one object": a_file(an_object()),
    "rich": RICH,
    "a byte order mark": "\ufeff" + a_file(an_object()),
    "line ends of Windows": a_file(an_object()).replace("\n", "\r\n"),
    "JSON": '{"version": 1, "objects": [{"name": "a", "type": "docker-registry", "registries": [{"ecr": {}}], '
    '"namespaces": {"selector": "a=b"}}]}',
    "an explicit end": "---\n" + a_file(an_object()) + "...\n",
    "an alias": a_file(an_object(registries="&common [{ecr: {}}]"), an_object(name="b", registries="*common")),
    "a repeated namespace": of_namespaces("{include: [a, a]}"),
    "include with exclude and selector": of_namespaces('{include: ["team-*"], exclude: [team-a], selector: "a,!b"}'),
    "include with a selector": of_namespaces('{include: [a], selector: "a=b"}'),
    "nothing excluded": of_namespaces("{include: [a], exclude: []}"),
    "words that YAML 1.1 takes for true": a_file(
        an_object(name="on", namespaces="{include: [on, off, yes, no, y, n]}")
    ),
    "dates and times as names": a_file(an_object(name="2024-01-01", namespaces="{include: [2001-12-14, 0b1]}")),
    "numbers in quotes": a_file(an_object(name="'1e3'", namespaces='{include: ["012", "0x1f", "7"]}')),
    "an account id in quotes": of_registries('[{ecr: {account: "012345678901"}}]'),
    "one registry in two regions": of_registries("[{ecr: {}}, {ecr: {region: eu-west-1}}]"),
    "one registry under two of its hosts": of_registries(
        '[{ecr: {account: "111122223333", region: eu-west-1}}, {ecr: {host: 111122223333.dkr-ecr.eu-west-1.on.aws}}]'
    ),
    "a login by its parts": of_registries(
        "[{server: 'https://r.example.com:5000/v2/', username: ci, password: {secret: a}, email: ci@example.com}]"
    ),
    "a login to Docker Hub, whose username is kept": of_registries("[{username: {secret: a}, password: {secret: b}}]"),
    "a ConfigMap": a_file(_a_config_map("{a: {value: '1'}, B_c-d.e: {value: ''}}")),
    "a ConfigMap without keys": a_file(_a_config_map("{}")),
    "a Secret without keys": a_file(an_object(type="generic", registries="", data="{}")),
    "a Secret of a full type": a_file(an_object(type="example.com/token", registries="", data="{a: {secret: b}}")),
    "one host on two ports": of_registries("[{ecr: {host: a.example.com:5000}}, {ecr: {host: a.example.com}}]"),
    "one name in two namespaces": a_file(an_object(), an_object(namespaces="{include: [other]}")),
    "one name in two clusters": a_file(
        an_object(clusters="[production-eu]"), an_object(clusters="[production-us, test]"), more=NAMED_CLUSTERS
    ),
    "one name where labels decide": a_file(an_object(), an_object(namespaces='{selector: "a=b"}')),
    "one name where globs leave out what the other names": a_file(
        an_object(namespaces='{include: ["*"], exclude: ["team-*"]}'), an_object(namespaces="{include: ['team-*']}")
    ),
    "all clusters, where there are none": a_file(an_object(clusters="['*']")),
    "every way to name a value": of_data(
        "a: {secret: apps/api}",
        "b: {secret: apps/api, member: b c, decode: base64, stage: AWSPREVIOUS}",
        f"c: {{secret: apps/api, version: {'a' * 32}}}",
        'd: {secret: apps/api, role_arn: "arn:aws:iam::111122223333:role/read"}',
        "e: {parameter: /apps/api/token, member: e}",
        'f: {parameter: "arn:aws:ssm:eu-west-1:111122223333:parameter/apps/api", version: "3"}',
        "g: {parameter: api, label: production, decode: base64}",
    ),
    "many values at once": a_file(
        an_object(
            type="generic",
            registries="",
            data_from='[{secret: a, members: [b, c]}, {parameter: /d, members: [e], version: "1", decode: base64}]',
        )
    ),
}


@dataclass(frozen=True)
class Bad:
    """A file with the faults that are told, and whether the schema finds any too."""

    text: str | bytes
    faults: list[str] = field(default_factory=list)
    in_schema: bool = True

    @property
    def bytes(self) -> bytes:
        return self.text if isinstance(self.text, bytes) else self.text.encode()


_LIST_OF_NAMESPACES = "expected a list, each of it a namespace's name or a glob over such names, such as team-*"
_NAME = "expected an object's name: lower-case letters, digits, - and ."
_NAMESPACE = "expected a namespace's name or a glob over such names, such as team-*"
_ACCOUNT = "expected a 12-digit AWS account id, in quotes"
_FIELDS = "kind or type or name or namespaces or service_accounts or on_conflict or clusters or write"
_OBJECT, _KEYED = f"{_FIELDS} or registries", f"{_FIELDS} or data or data_from"
_HOST = "expected a bare host without https:// and path, such as 111122223333.dkr.ecr.eu-central-1.amazonaws.com"
_ECR = "expected an object of account, region, role_arn, host, or {}"
_AUTHS = "objects[0].registries[0].auths"
_PLAIN = "is for ConfigMaps alone; expected a source that keeps it, such as {secret: NAME}"
_OF_SECRETS = "secret or member or decode or stage or version or role_arn"
_SECRET = "expected a secret's name in this account and region, or its ARN"
_KEY = "expected a key of letters, digits, -, _ and ."

# What is no YAML, or not in one piece, before any field is looked at.
UNREADABLE = {
    "empty": Bad(b"", ["1: the file is empty; expected version: 1 and objects"]),
    "only comments": Bad("# one\n# two\n", ["1: the file is empty; expected version: 1 and objects"]),
    "only a start": Bad("---\n", ["1: the file is empty; expected version: 1 and objects"]),
    "a text": Bad("hello\n", ["1: a text of 5 characters is wrong; expected version: 1 and objects"]),
    "a list": Bad("- version: 1\n", ["1: a list of 1 is wrong; expected version: 1 and objects"]),
    "no UTF-8": Bad(b"version: 1\nobjects: \xff\n", ["2: byte 21 is no UTF-8; expected a file in UTF-8"]),
    "UTF-16": Bad("version: 1".encode("utf-16"), ["1: byte 1 is no UTF-8; expected a file in UTF-8"]),
    "a control character": Bad("version: 1\nobjects: \x07\n", ["2: the character U+0007 is in it; expected text"]),
    "a zero byte": Bad("version: 1\n\x00", ["2: the character U+0000 is in it; expected text"]),
    "a tab": Bad("version: 1\nobjects:\n\t- name: a\n", ["3: a tab; expected spaces"]),
    "a second document": Bad(a_file(an_object()) + "---\nversion: 1\n", ["5: a second document; expected one"]),
    "a star without quotes": Bad(
        a_file(an_object(namespaces="{include: [*]}")),
        ['3: a * or & without a name behind it; expected quotes around the text, such as "*"'],
    ),
    "an anchor that is missing": Bad(
        of_registries("*common"),
        ["3: an alias (*) whose anchor (&) is missing; expected one before it, or quotes around the text"],
    ),
    "an anchor twice": Bad(
        "version: &a 1\nobjects: &a []\n",
        ["2: an anchor (&) of a name that is taken; expected another name, or quotes around the text"],
    ),
    "unclosed": Bad(
        "version: 1\nobjects: [", ["2: no YAML: expected the node content, but found '<stream end>'; expected YAML"]
    ),
    "a colon too many": Bad(
        "version: 1\nobjects: a: b\n", ["2: no YAML: mapping values are not allowed here; expected YAML"]
    ),
    "an unknown tag handle": Bad(
        "version: !hunter2!x 1\n", ["1: no YAML: found undefined tag handle …; expected YAML"]
    ),
    "nested too deep": Bad("[" * 5000, ["1: values are nested too deep; expected version: 1 and objects"]),
    "an alias for what it is in": Bad(
        "version: 1\nobjects: &all\n  - *all\n",
        ["2: objects[0]: an alias for what it is in; expected an alias for something else"],
    ),
    "a billion laughs": Bad(
        "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
        + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 10)),
        ["1: more than 100000 values, with aliases; expected at most that many"],
    ),
    "too many bytes": Bad(
        "#" * (1024 * 1024 + 1), ["1: the file has more than 1048576 bytes; expected at most that many"]
    ),
}

BAD = {
    "no version": Bad(f"objects: [{an_object()}]\n", ["1: version: is missing; expected 1"]),
    "another version": Bad(f"objects: [{an_object()}]\nversion: 2\n", ["2: version: 2 is wrong; expected 1"]),
    "a version in quotes": Bad(f"version: '1'\nobjects: [{an_object()}]\n", ["1: version: '1' is wrong; expected 1"]),
    "a true version": Bad(f"version: true\nobjects: [{an_object()}]\n", ["1: version: true is wrong; expected 1"]),
    "a version with a point": Bad(
        f"version: 1.0\nobjects: [{an_object()}]\n", ["1: version: 1.0 is wrong; expected 1"], in_schema=False
    ),
    "a repeated version": Bad(
        a_file(an_object(), more="version: 1"),
        ["4: version: is there twice, first in line 1; expected once"],
        in_schema=False,
    ),
    "no objects": Bad(
        "version: 1\n", ["1: objects: is missing; expected a list of objects, each with a name and namespaces"]
    ),
    "too many objects": Bad(
        a_file(*(an_object(name=f"a{n}") for n in range(1001))),
        ["2: objects: a list of 1001 is wrong; expected at most 1000"],
    ),
    "an empty list of objects": Bad(
        "version: 1\nobjects: []\n",
        ["2: objects: a list of 0 is wrong; expected a list of objects, each with a name and namespaces"],
    ),
    "objects that are an object": Bad(
        "version: 1\nobjects: {a: b}\n",
        ["2: objects: an object of 1 is wrong; expected a list of objects, each with a name and namespaces"],
    ),
    "an object that is a text": Bad(
        "version: 1\nobjects:\n  - hunter2\n",
        ["3: objects[0]: a text of 7 characters is wrong; expected objects, each with a name and namespaces"],
    ),
    "an unknown field above": Bad(
        a_file(an_object(), more="obejcts: []"),
        ["4: unknown field 'obejcts'; expected version or clusters or objects"],
    ),
    "an unknown field of an object": Bad(
        a_file(an_object(), an_object(name="b", onconflict="refuse")),
        [f"4: objects[1]: unknown field 'onconflict'; expected {_OBJECT}"],
    ),
    "an unknown field in a line of its own": Bad(
        "version: 1\nobjects:\n- name: a\n  type: docker-registry\n  registries: [{ecr: {}}]\n"
        "  namespaces:\n    include: [a]\n    includes: [b]\n",
        ["8: objects[0].namespaces: unknown field 'includes'; expected include or exclude or selector"],
    ),
    "a merge key": Bad(
        a_file(an_object(registries="[{ecr: &e {}}, {ecr: {<<: *e, region: eu-west-1}}]")),
        ["3: objects[0].registries[1].ecr: unknown field '<<'; expected account or region or role_arn or host"],
    ),
    "a repeated key": Bad(
        "version: 1\nobjects:\n- name: a\n  type: docker-registry\n  registries: [{ecr: {}}]\n"
        "  namespaces: {include: [a]}\n  name: b\n",
        ["7: objects[0].name: is there twice, first in line 3; expected once"],
        in_schema=False,
    ),
    "a key that is a list": Bad(
        a_file(an_object(), more="? [a, b]\n: c"),
        ["4: a field whose name is a list or an object; expected a text"],
        in_schema=False,
    ),
    "a tag": Bad(
        a_file(an_object(name="!!python/object/apply:os.system hunter2")),
        ["3: objects[0].name: a tag (!); expected the value without one, or quotes around a text that starts with !"],
        in_schema=False,
    ),
    "a tag of YAML's own": Bad(
        a_file(an_object(name="!!str a")),
        ["3: objects[0].name: a tag (!); expected the value without one, or quotes around a text that starts with !"],
        in_schema=False,
    ),
    "half of a character": Bad(
        a_file(an_object(name=r'"\ud83d"')),
        [r"3: objects[0].name: half of a character, such as \ud83d; expected it whole, such as \U0001f600"],
    ),
    "a key with a tag": Bad(
        a_file(an_object(), more="!!str a: b"),
        ["4: a field whose name has a tag (!); expected the name without one"],
        in_schema=False,
    ),
    "no name": Bad(a_file(an_object(name="")), [f"3: objects[0].name: is missing; {_NAME}"]),
    "an upper-case name": Bad(a_file(an_object(name="Token")), [f"3: objects[0].name: 'Token' is wrong; {_NAME}"]),
    "a name that is a number": Bad(
        a_file(an_object(name="1e3")), [f"3: objects[0].name: 1e3 is no text; {_NAME}, in quotes"]
    ),
    "a name that is true": Bad(
        a_file(an_object(name="true")), [f"3: objects[0].name: true is no text; {_NAME}, in quotes"]
    ),
    "a name that is nothing": Bad(a_file(an_object(name="~")), [f"3: objects[0].name: null is wrong; {_NAME}"]),
    "a name that is a list": Bad(a_file(an_object(name="[a]")), [f"3: objects[0].name: a list of 1 is wrong; {_NAME}"]),
    "a long name": Bad(
        a_file(an_object(name="a" * 254)), [f"3: objects[0].name: '{'a' * 80}'… (254 characters) is wrong; {_NAME}"]
    ),
    "no type, which is that of a generic Secret": Bad(
        a_file(an_object(type="")),
        [
            f"3: objects[0]: unknown field 'registries'; expected {_KEYED}",
            "3: objects[0].data: is missing; expected an object of keys, each with a source, such as {secret: NAME}",
        ],
        in_schema=False,
    ),
    "an unknown type": Bad(
        a_file(an_object(type="opaque")),
        [f"3: objects[0].type: 'opaque' is wrong; expected {KINDS}"],
        in_schema=False,
    ),
    "an unknown kind": Bad(
        a_file(an_object(kind="Pod")), [f"3: objects[0].kind: 'Pod' is wrong; expected {RESOURCES}"], in_schema=False
    ),
    "an unknown on_conflict": Bad(
        a_file(an_object(on_conflict="force")),
        ["3: objects[0].on_conflict: 'force' is wrong; expected take-over or refuse"],
    ),
    "no namespaces": Bad(
        a_file(an_object(namespaces="")),
        ["3: objects[0].namespaces: is missing; expected an object of include, exclude and selector"],
    ),
    "empty namespaces": Bad(
        of_namespaces("{}"),
        ["3: objects[0].namespaces: names neither include nor selector; expected at least one of them"],
    ),
    "namespaces that are a list": Bad(
        of_namespaces("[apps]"),
        ["3: objects[0].namespaces: a list of 1 is wrong; expected an object of include, exclude and selector"],
    ),
    "exclude alone": Bad(
        of_namespaces("{exclude: [a]}"),
        ["3: objects[0].namespaces: names neither include nor selector; expected at least one of them"],
    ),
    "an include that is a text": Bad(
        of_namespaces("{include: apps}"),
        [f"3: objects[0].namespaces.include: 'apps' is wrong; {_LIST_OF_NAMESPACES}"],
    ),
    "an include of nothing": Bad(
        of_namespaces("{include: []}"),
        [f"3: objects[0].namespaces.include: a list of 0 is wrong; {_LIST_OF_NAMESPACES}"],
    ),
    "namespaces that are numbers": Bad(
        of_namespaces("{include: [012, 7, 0x1f, .5, .inf, true, ~]}"),
        [
            *(
                f"3: objects[0].namespaces.include[{index}]: {found} is no text; {_NAMESPACE}, in quotes"
                for index, found in enumerate(["012", "7", "0x1f", ".5", ".inf", "true"])
            ),
            f"3: objects[0].namespaces.include[6]: null is wrong; {_NAMESPACE}",
        ],
    ),
    "a namespace with a dot": Bad(
        of_namespaces("{include: [a.b]}"), [f"3: objects[0].namespaces.include[0]: 'a.b' is wrong; {_NAMESPACE}"]
    ),
    "everything is excluded": Bad(
        of_namespaces("{include: ['*'], exclude: ['*']}"),
        ["3: objects[0].namespaces.exclude: leaves nothing of include; expected a namespace that the object goes to"],
        in_schema=False,
    ),
    "every glob is excluded": Bad(
        of_namespaces("{include: ['team-*'], exclude: ['*']}"),
        ["3: objects[0].namespaces.exclude: leaves nothing of include; expected a namespace that the object goes to"],
        in_schema=False,
    ),
    "all that is included is excluded": Bad(
        of_namespaces("{include: [team-a, team-b], exclude: ['team-*']}"),
        ["3: objects[0].namespaces.exclude: leaves nothing of include; expected a namespace that the object goes to"],
        in_schema=False,
    ),
    "an empty selector": Bad(
        of_namespaces("{selector: ''}"),
        ["3: objects[0].namespaces.selector: '' is wrong; expected a label selector such as team=a,env in (dev,test)"],
    ),
    "no registries": Bad(
        a_file(an_object(registries="")),
        ["3: objects[0].registries: is missing; expected a list of registries, such as {ecr: {}}"],
        in_schema=False,
    ),
    "an empty list of registries": Bad(
        of_registries("[]"),
        ["3: objects[0].registries: a list of 0 is wrong; expected a list of registries, such as {ecr: {}}"],
    ),
    "a registry that is a text": Bad(
        of_registries("[ecr]"),
        ["3: objects[0].registries[0]: a text of 3 characters is wrong; expected registries, such as {ecr: {}}"],
    ),
    "an unknown registry": Bad(
        of_registries("[{gar: {}}]"),
        [f"3: objects[0].registries[0]: names no source; expected one of {LOGINS}"],
        in_schema=False,
    ),
    "a registry of two sources": Bad(
        of_registries("[{ecr: {}, ecr_public: {}}]"),
        [f"3: objects[0].registries[0]: names ecr and ecr_public; expected one of {LOGINS}"],
    ),
    "a login by its parts and a source": Bad(
        of_registries("[{ecr: {}, username: ci, password: {secret: a}}]"),
        ["3: objects[0].registries[0]: unknown field 'ecr'; expected server or username or password or email"],
    ),
    "a login without a password": Bad(
        of_registries("[{server: a.example.com, username: ci}]"),
        [
            (
                "3: objects[0].registries[0].password: is missing; "
                "expected a source, such as {secret: NAME, member: password}"
            )
        ],
    ),
    "a password in a server": Bad(
        of_registries('[{server: "https://ci:hunter2@a.example.com", username: ci, password: {secret: a}}]'),
        [
            (
                "3: objects[0].registries[0].server: a text of 32 characters is wrong; "
                "expected the host of a registry, such as registry.example.com:5000"
            )
        ],
    ),
    "a key that is none": Bad(
        a_file(_a_config_map("{a b: {value: x}}")),
        [f"3: objects[0].data: has a key of 3 characters that is none; {_KEY}"],
    ),
    "a type for a ConfigMap": Bad(
        a_file(an_object(kind="ConfigMap", type="generic", registries="", data="{}")),
        ["3: objects[0].type: is for Secrets alone; expected a ConfigMap without one"],
        in_schema=False,
    ),
    "a TLS Secret without its key": Bad(
        a_file(an_object(type="tls", registries="", data="{tls.crt: {secret: a}}")),
        ["3: objects[0].data: lacks tls.key; expected tls.crt and tls.key"],
        in_schema=False,
    ),
    "the token of a service account": Bad(
        a_file(an_object(type="kubernetes.io/service-account-token", registries="", data="{token: {secret: a}}")),
        [
            (
                "3: objects[0].type: is filled by the cluster's own controller, with tokens of its own; "
                "expected another type"
            )
        ],
        in_schema=False,
    ),
    "an ecr without fields": Bad(
        of_registries("[ecr:]"),
        [f"3: objects[0].registries[0].ecr: null is wrong; {_ECR}"],
    ),
    "an account id without quotes": Bad(
        of_registries("[{ecr: {account: 111122223333}}]"),
        [f"3: objects[0].registries[0].ecr.account: 111122223333 is no text; {_ACCOUNT}"],
    ),
    "an account id that starts with 0, without quotes": Bad(
        of_registries("[{ecr: {account: 012345678901}}]"),
        [f"3: objects[0].registries[0].ecr.account: 012345678901 is no text; {_ACCOUNT}"],
    ),
    "an upper-case host": Bad(
        of_registries("[{ecr: {host: A.example.com}}]"),
        [f"3: objects[0].registries[0].ecr.host: a text of 13 characters is wrong; {_HOST}"],
    ),
    "a host with a scheme": Bad(
        of_registries('[{ecr: {host: "https://a.example.com"}}]'),
        [f"3: objects[0].registries[0].ecr.host: a text of 21 characters is wrong; {_HOST}"],
    ),
    "a registry twice": Bad(
        of_registries("[{ecr: {}}, {ecr: {}}]"),
        ["3: objects[0].registries[1]: is there twice; expected each registry once"],
        in_schema=False,
    ),
    "service accounts that are a text": Bad(
        a_file(an_object(service_accounts="default")),
        [
            (
                "3: objects[0].service_accounts: 'default' is wrong; "
                "expected a list, each of it a ServiceAccount's name, such as default"
            )
        ],
    ),
    "clusters that are none": Bad(
        a_file(an_object(), more="clusters: []"),
        ["4: clusters: a list of 0 is wrong; expected a list of clusters, such as {name: production}"],
    ),
    "a cluster without a name": Bad(
        a_file(an_object(), more="clusters: [{region: eu-west-1}]"),
        ["4: clusters[0].name: is missing; expected the name of an EKS cluster"],
    ),
    "a cluster twice": Bad(
        a_file(an_object(), more="clusters:\n- name: a\n- name: a\n  region: eu-west-1"),
        ["6: clusters[1].name: 'a' is there twice; expected each cluster once"],
        in_schema=False,
    ),
    "a cluster's region": Bad(
        a_file(an_object(), more="clusters: [{name: a, region: Frankfurt}]"),
        ["4: clusters[0].region: 'Frankfurt' is wrong; expected a region such as eu-central-1"],
    ),
    "a cluster's role": Bad(
        a_file(an_object(), more="clusters: [{name: a, role_arn: eks-upsert}]"),
        [
            (
                "4: clusters[0].role_arn: 'eks-upsert' is wrong; "
                "expected a role ARN such as arn:aws:iam::111122223333:role/pull"
            )
        ],
    ),
    "a cluster's unknown field": Bad(
        a_file(an_object(), more="clusters: [{name: a, endpoint: b}]"),
        ["4: clusters[0]: unknown field 'endpoint'; expected name or region or role_arn"],
    ),
    "clusters that the file does not have": Bad(
        a_file(an_object(clusters="[production-eu, 'prod-*']"), more=NAMED_CLUSTERS),
        [
            (
                "3: objects[0].clusters: 'prod-*' is no cluster of the file; "
                "expected a match for 'production-eu, production-us, test'"
            )
        ],
        in_schema=False,
    ),
    "clusters in a file that has none": Bad(
        a_file(an_object(clusters="[production-eu]")),
        [
            (
                "3: objects[0].clusters: 'production-eu' is no cluster of the file; "
                "expected none in objects, since the file has no clusters"
            )
        ],
        in_schema=False,
    ),
    "all at once, in the order of lines": Bad(
        "version: 3\nobjects:\n  - name: Up\n    type: docker-registry\n    namespaces: {include: [a.b]}\n"
        "  - name: !x y\n    type: none\n    name: b\nmore: 1\n",
        [
            "1: version: 3 is wrong; expected 1",
            f"3: objects[0].name: 'Up' is wrong; {_NAME}",
            "3: objects[0].registries: is missing; expected a list of registries, such as {ecr: {}}",
            f"5: objects[0].namespaces.include[0]: 'a.b' is wrong; {_NAMESPACE}",
            "6: objects[1].name: a tag (!); expected the value without one, or quotes around a text that starts with !",
            "6: objects[1].namespaces: is missing; expected an object of include, exclude and selector",
            f"7: objects[1].type: 'none' is wrong; expected {KINDS}",
            "8: objects[1].name: is there twice, first in line 6; expected once",
            "9: unknown field 'more'; expected version or clusters or objects",
        ],
    ),
    "a stage with a blank": Bad(
        of_data("a: {secret: b, stage: AWS PREVIOUS}"),
        ["3: objects[0].data.a.stage: a text of 12 characters is wrong; expected a staging label, such as AWSPREVIOUS"],
    ),
    "a decoding that is none": Bad(
        of_data("a: {parameter: /b, decode: base32}"),
        ["3: objects[0].data.a.decode: a text of 6 characters is wrong; expected base64"],
    ),
    "a version without quotes": Bad(
        of_data("a: {parameter: /b, version: 3}"),
        ["3: objects[0].data.a.version: a number is no text; expected the number of a version, in quotes"],
    ),
    "the path of a parameter without its first slash": Bad(
        of_data("a: {parameter: b/c}"),
        [f"3: objects[0].data.a.parameter: a text of 3 characters is wrong; expected {PARAMETER.expected}"],
    ),
    "a parameter with its version": Bad(
        of_data("a: {parameter: '/b:3'}"),
        [f"3: objects[0].data.a.parameter: a text of 4 characters is wrong; expected {PARAMETER.expected}"],
    ),
    "a stage and a version": Bad(
        of_data(f"a: {{secret: b, stage: c, version: {'a' * 32}}}"),
        ["3: objects[0].data.a: names stage and version; expected one of them at most"],
        in_schema=False,
    ),
    "many values of no members": Bad(
        a_file(an_object(type="generic", registries="", data_from="[{secret: a, members: []}]")),
        [
            f"3: objects[0].data_from[0].members: a list of 0 is wrong; expected a list, each of it {MEMBER.expected}",
        ],
    ),
    "a member twice": Bad(
        a_file(an_object(type="generic", registries="", data_from="[{secret: a, members: [b, b]}]")),
        ["3: objects[0].data_from[0].members: names a member twice; expected each once"],
    ),
    "a member that is no key": Bad(
        a_file(an_object(type="generic", registries="", data_from="[{secret: a, members: [b c]}]")),
        [
            f"3: objects[0].data_from[0]: has a key of 3 characters that is none; {_KEY}",
        ],
        in_schema=False,
    ),
    "a key from two places": Bad(
        a_file(
            an_object(
                type="generic", registries="", data="{b: {secret: a}}", data_from="[{parameter: c, members: [b]}]"
            )
        ),
        ["3: objects[0].data_from[0]: gives the key 'b', which is there already; expected each key once"],
        in_schema=False,
    ),
    "a literal in a Secret": Bad(
        of_data("a: {value: b}"),
        [
            f"3: objects[0].data.a.value: {_PLAIN}",
        ],
        in_schema=False,
    ),
    "an env file for a Secret": Bad(
        a_file(an_object(type="generic", registries="", data_from="[{env_file: a.env}]")),
        [
            f"3: objects[0].data_from[0].env_file: {_PLAIN}",
        ],
        in_schema=False,
    ),
    # Where somebody may have put a value, it is told by its length.
    "a password for a secret's name": Bad(
        of_registries("[{auths: {secret: 'hunter2 '}}]"),
        [f"3: objects[0].registries[0].auths.secret: a text of 8 characters is wrong; {_SECRET}"],
    ),
    "a number for a secret's name": Bad(
        of_registries("[{auths: {secret: 12345678}}]"),
        [f"3: objects[0].registries[0].auths.secret: a number is no text; {_SECRET}, in quotes"],
    ),
    "a password for a source": Bad(
        of_registries("[{auths: hunter2}]"),
        [f"3: {_AUTHS}: a text of 7 characters is wrong; expected a source, such as {{secret: NAME}}"],
    ),
    "a colon without a space": Bad(
        of_registries("[{auths: {secret: a, member:hunter2}}]"),
        [f"3: {_AUTHS}: unknown field of 14 characters and without a value; expected {_OF_SECRETS}"],
        in_schema=False,
    ),
    "a docker config where its secret belongs": Bad(
        of_registries('[{auths: {a.example.com: {username: u, password: "hunter2"}}}]'),
        [f"3: objects[0].registries[0].auths: names no source; expected one of {VALUES}"],
        in_schema=False,
    ),
}
