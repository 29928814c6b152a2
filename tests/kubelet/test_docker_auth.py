"""Our verdict on a docker config is the one of a kubelet's own parser."""

import json
import re
from pathlib import Path
from random import Random

import botocore
import pytest

from tests.kubelet import generator, table
from tests.kubelet.configs import Case, cases
from tests.support.kubelet import Question, Verdict, ask
from upsert.core.docker_auth import is_ecr, logins, unreadable
from upsert.core.sensitive import Sensitive

# The program is built first if it has to be; with an empty Go cache that takes minutes.
pytestmark = pytest.mark.timeout(1200)

ROWS = table.read()
GENERATED = 2000

ACCOUNT = "111122223333"
PARTITIONS = json.loads((Path(botocore.__file__).parent / "data" / "partitions.json").read_text())["partitions"]
ECR_HOSTS = [
    *(
        f"{ACCOUNT}.{service}.{next(iter(partition['regions']))}.{partition['outputs']['dnsSuffix']}"
        for partition in PARTITIONS
        for service in ("dkr.ecr", "dkr.ecr-fips")
    ),
    *(
        f"{ACCOUNT}.{service}.{region}"
        for service in ("dkr-ecr", "dkr-ecr-fips")
        for region in ("us-gov-west-1.on.aws", "cn-north-1.on.amazonwebservices.com.cn")
    ),
    *("public.ecr.aws", "ecr-public.aws.com"),
]


def ours(case: Case) -> tuple[bool, list[list[tuple[str, str]]]]:
    """Return whether we take the config for readable, and the logins of each image."""
    pulls = [logins(case.config, image) for image in case.images]
    return unreadable(case.config) is None, [[(user, password.reveal()) for user, password in pull] for pull in pulls]


def theirs(case: Case, verdict: Verdict) -> tuple[bool, list[list[tuple[str, str]]]]:
    """Return the same of a kubelet; where it leaves the order to chance, sorted by host."""
    pulls = verdict.pulls or (None,) * len(case.images)
    return verdict.error is None, [
        [(login.username, login.password) for group in pull or () for login in group] for pull in pulls
    ]


def test_the_table_is_what_the_kubelets_parser_says() -> None:
    assert table.make(cases()) == ROWS


@pytest.mark.parametrize(("case", "verdict"), ROWS, ids=[case.name for case, _ in ROWS])
def test_the_verdict_is_a_kubelets(case: Case, verdict: Verdict) -> None:
    assert ours(case) == theirs(case, verdict)


def test_the_verdict_on_random_configs_is_a_kubelets() -> None:
    rows = table.make([generator.case(seed) for seed in range(GENERATED)])

    assert [case for case, verdict in rows if ours(case) != theirs(case, verdict)] == []
    # The configs are worth asking about: many are readable, many are not, and many images get logins.
    readable = sum(verdict.error is None for _, verdict in rows)
    assert 0.2 * GENERATED < readable < 0.9 * GENERATED
    assert sum(any(verdict.pulls) for _, verdict in rows) > 0.1 * GENERATED
    assert any(len(group) > 1 for _, verdict in rows for pull in verdict.pulls for group in pull or ())


@pytest.mark.parametrize("config", [case.config for case, verdict in ROWS if verdict.error is not None])
def test_the_reason_says_where_and_never_a_value(config: bytes) -> None:
    place = r"auths\[\d+\]( \((quay\.io|ghcr\.io|x)\))?"
    reason = (
        r"no JSON|it starts with a byte order mark|nested too deeply|a value of HttpHeaders is no text"
        rf"|(the config|auths|HttpHeaders|{place}) is no JSON object"
        rf"|(username|password|email|auth) of {place} is no text"
        rf"|auth of {place} is no base64 \(of the standard alphabet, without blanks\)"
        rf"|auth of {place} is not the base64 of username:password"
    )

    assert re.fullmatch(reason, unreadable(config) or "")


@pytest.mark.parametrize(
    ("host", "place"),
    [
        ("quay.io", "auths[1] (quay.io)"),
        ("https://reg.example:5000/v2/", "auths[1] (https://reg.example:5000/v2/)"),
        ("*.dkr.ecr.*.amazonaws.com", "auths[1] (*.dkr.ecr.*.amazonaws.com)"),
        ("glpat-abcdEFGH1234", "auths[1]"),
        ("user:secret@reg.example", "auths[1]"),
        ("reg.example?token=secret", "auths[1]"),
        ("a" * 64 + ".b", "auths[1]"),
        ("reg.example\n", "auths[1]"),
    ],
)
def test_a_host_is_named_only_if_it_looks_like_one(host: str, place: str) -> None:
    config = json.dumps({"auths": {"good.example": {}, host: {"auth": "a-secret"}}}).encode()

    assert unreadable(config) == f"auth of {place} is no base64 (of the standard alphabet, without blanks)"


def test_a_password_is_masked() -> None:
    assert logins(b'{"auths":{"quay.io":{"auth":"dTpw"}}}', "quay.io/app") == [("u", Sensitive("p"))]
    assert "'p'" not in repr(logins(b'{"auths":{"quay.io":{"auth":"dTpw"}}}', "quay.io/app"))


def test_nesting_that_only_go_reads_is_refused() -> None:
    config = b'{"x":' + b"[" * 9999 + b"]" * 9999 + b"}"

    assert ask([Question(config, ())])[0].error is None
    assert unreadable(config) == "nested too deeply"


@pytest.mark.parametrize("host", ECR_HOSTS)
def test_each_name_of_a_registry_of_ecr_is_ecrs(host: str) -> None:
    assert is_ecr(host)
    assert is_ecr(f"https://{host.upper()}:443/v2/team")
    assert is_ecr(".".join(["*", "*", "*", *host.split(".")[3:]]))


@pytest.mark.parametrize(
    "host",
    [
        *("*.dkr.ecr.*.amazonaws.com", "1111*.dkr.ecr.eu-*.amazonaws.com", "*.*.*.*.*.*", "*.*.*.*.*", "*.*.*"),
        *("*.dkr-ecr.*.on.aws", "*.dkr*.*.on.aws", "*.ecr.aws", "*.*.ecr*.*.amazonaws.*", "public.*.aws", "p*.e*.a*"),
        *("public.ecr.aws/alias", "https://public.ecr.aws/v2/", "HTTPS://public.ecr.aws", "oci://public.ecr.aws/alias"),
        *(f"AWS@{ECR_HOSTS[0]}", f"AWS:x@{ECR_HOSTS[0]}/team?x#y", f" {ECR_HOSTS[0]}\n", f"{ECR_HOSTS[0]}."),
    ],
)
def test_each_spelling_that_may_match_a_registry_of_ecr_is_ecrs(host: str) -> None:
    assert is_ecr(host)


@pytest.mark.parametrize(
    "host",
    [
        *(
            "",
            "/",
            "*",
            "*.*",
            "*.com",
            "*.amazonaws.com",
            "amazonaws.com",
            "quay.io",
            "*.*.io",
            "docker.io",
            "*.*.*.*",
        ),
        *(
            "reg.*.*.*.amazonaws.com",
            "11112222333.*.ecr.*.amazonaws.com",
            f"{ACCOUNT}.dkr.ecr",
            # Some proxy's own registry, which is only called like one of ECR.
            f"{ACCOUNT}.dkr.ecr.eu-central-1.amazonaws.com.example.com:5000",
            "dkr.ecr.amazonaws.com",
        ),
        *(
            f"{ACCOUNT}.dkr.ecr.aws",
            "ecr.aws",
            "private.ecr.aws",
            "public.ecr.aws.example",
            "ecr.eu-central-1.amazonaws.com",
        ),
        *(
            f"reg.example/{ECR_HOSTS[0]}",
            f"reg.example/?{ECR_HOSTS[0]}",
            f"{ECR_HOSTS[0]}@reg.example",
            "*.*.*.*.*.*.example",
        ),
        *(
            "s3.eu-central-1.amazonaws.com",
            "*.s3.*.amazonaws.com",
            "*.*.s3.*.amazonaws.com",
            "https://",
            "public.ecr.aws:x",
        ),
    ],
)
def test_other_hosts_are_not_ecrs(host: str) -> None:
    assert not is_ecr(host)


def test_whatever_gives_an_image_of_ecr_its_login_is_ecrs() -> None:
    random = Random(1)
    hosts = [_spelled_at_random(random, random.choice(ECR_HOSTS)) for _ in range(GENERATED)]
    # A kubelet compares port and case as text, so images are named with those of the host that is asked about too.
    ports = [re.search(r":[0-9]+", host) for host in hosts]
    verdicts = ask(
        Question(
            json.dumps({"auths": {host: {"auth": "dTpw"}}}).encode(),
            tuple(f"{name}{port[0] if port else ''}/team/app" for ecr in ECR_HOSTS for name in (ecr, ecr.upper())),
        )
        for host, port in zip(hosts, ports, strict=True)
    )

    matched = [host for host, verdict in zip(hosts, verdicts, strict=True) if any(verdict.pulls)]
    assert [host for host in matched if not is_ecr(host)] == []
    assert len(matched) > 0.2 * GENERATED


def _spelled_at_random(random: Random, host: str) -> str:
    labels = host.split(".")
    for _ in range(random.choice((0, 1, 2, len(labels)))):
        at = random.randrange(len(labels))
        label = labels[at]
        cut = random.randint(0, len(label))
        labels[at] = random.choice(("*", f"{label[:cut]}*", f"*{label[cut:]}", f"{label[:cut]}*{label[cut:]}", "**"))
    name = ".".join(labels)
    if random.random() < 0.2:
        name = name.upper()
    if random.random() < 0.3:
        return name
    scheme = random.choice(("", "https://", "http://", "HTTPS://", "u@", "https://u:p@"))
    port = random.choice(("", "", ":443", ":"))
    return scheme + name + port + random.choice(("", "/", "/v1/", "/v2/", "/team", "/v2/te", "?x", "#x", "/team?x"))
