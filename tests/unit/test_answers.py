"""What the API server said is reduced to codes, numbers and names; its text goes nowhere."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from upsert.core import parsing
from upsert.core.answers import Answer, Page, Refusal, Written
from upsert.core.document import EXPIRES_AT

SECRET = "QVdTOmEtcGFzc3dvcmQtdGhhdC1ub2JvZHktbWF5LXNlZQ=="
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
OBJECT = {"kind": "PartialObjectMetadata", "metadata": {"uid": "6f2c-1", "resourceVersion": "42"}}


def read(status: int, body: object, headers: Mapping[str, str] | None = None) -> Answer[Written]:
    return of_write(status, json.dumps(body).encode(), headers)


def of_write(status: int, body: bytes, headers: Mapping[str, str] | None = None) -> Answer[Written]:
    return parsing.answer(parsing.parse_written, status, headers or {}, body)


def read_page(status: int, body: object) -> Answer[Page[str]]:
    return parsing.answer(parsing.parse_names, status, {}, json.dumps(body).encode())


def refused(status: int, *causes: tuple[str, str], reason: str = "") -> Answer[Written]:
    return Answer(status, refusal=Refusal(reason, causes=causes))


def status_body(**fields: Any) -> dict[str, Any]:
    return {"kind": "Status", "apiVersion": "v1", "status": "Failure", **fields}


def caused(reason: str, *causes: Mapping[str, Any], **details: Any) -> dict[str, Any]:
    return status_body(reason=reason, details={"causes": list(causes), **details})


@pytest.mark.parametrize("status", [200, 201])
def test_an_object_gives_its_proof(status: int) -> None:
    answer = read(status, OBJECT)

    assert answer == Answer(status, value=Written("6f2c-1", "42"))


def test_a_creation_that_was_a_dry_run_has_no_version_yet() -> None:
    assert read(201, {"metadata": {"uid": "6f2c-1"}}) == Answer(201, value=Written("6f2c-1", ""))


def test_an_old_copy_is_noted_and_not_kept() -> None:
    metadata = {**OBJECT["metadata"], "annotations": {LAST_APPLIED: SECRET}}  # type: ignore[dict-item]

    answer = read(200, {"metadata": metadata})

    assert answer == Answer(200, value=Written("6f2c-1", "42", holds_last_applied=True))
    assert SECRET not in repr(answer)


def test_one_that_waits_for_its_finalizers_is_said_to_be_deleted() -> None:
    metadata = {**OBJECT["metadata"], "deletionTimestamp": "2030-01-02T03:04:05Z"}  # type: ignore[dict-item]

    assert read(200, {"metadata": metadata}).value == Written("6f2c-1", "42", is_being_deleted=True)


@pytest.mark.parametrize(
    ("annotations", "expires_at"),
    [
        ({EXPIRES_AT: "2030-01-02T03:04:05Z"}, "2030-01-02T03:04:05Z"),
        # What we do not write is not kept: anybody may have put anything there.
        ({EXPIRES_AT: SECRET}, ""),
        ({EXPIRES_AT: "2030-01-02T03:04:05+00:00"}, ""),
        ({EXPIRES_AT: None}, ""),
        ({"other": "2030-01-02T03:04:05Z"}, ""),
        (None, ""),
    ],
)
def test_what_our_annotation_says_is_kept_if_it_is_a_time_as_we_write_it(annotations: object, expires_at: str) -> None:
    metadata = {**OBJECT["metadata"], "annotations": annotations}  # type: ignore[dict-item]

    assert read(200, {"metadata": metadata}) == Answer(200, value=Written("6f2c-1", "42", expires_at=expires_at))


@pytest.mark.parametrize(
    ("owners", "has_owner"), [([{"kind": SECRET, "name": SECRET, "uid": "1"}], True), ([], False), (None, False)]
)
def test_that_there_is_an_owner_is_noted_and_not_who(owners: object, has_owner: bool) -> None:
    metadata = {**OBJECT["metadata"], "ownerReferences": owners}  # type: ignore[dict-item]

    answer = read(200, {"metadata": metadata})

    assert answer == Answer(200, value=Written("6f2c-1", "42", has_owner=has_owner))
    assert SECRET not in repr(answer)


def owner(manager: str, **fields: object) -> dict[str, Any]:
    return {"manager": manager, "operation": "Apply", "fieldsV1": fields}


@pytest.mark.parametrize(
    ("entries", "blind"),
    [
        (None, ()),
        ([owner("helm", **{"f:data": {"f:mine": {}}})], ()),
        ([owner("helm", **{"f:stringData": {"f:mine": {}}})], ("helm",)),
        ([owner("b", **{"f:stringData": {".": {}, "f:mine": {}}}), owner("a", **{"f:stringData": {"f:mine": {}}})],
         ("a", "b")),
        ([owner("helm", **{"f:stringData": {"f:mine": {}}}), owner("helm", **{"f:stringData": {"f:mine": {}}})],
         ("helm",)),
        # A key that is not ours is nobody's business: ours is not written by it.
        ([owner("helm", **{"f:stringData": {"f:another": {}}})], ()),
        ([owner("helm", **{"f:stringData": {}})], ()),
        ([owner("eks-upsert", **{"f:stringData": {"f:mine": {}}})], ()),
        ([owner("a\u202e", **{"f:stringData": {"f:mine": {}}})], ("a field manager whose name cannot be shown",)),
    ],
)  # fmt: skip
def test_who_writes_a_key_of_ours_as_string_data_is_named(entries: object, blind: tuple[str, ...]) -> None:
    metadata = {**OBJECT["metadata"], "managedFields": entries}  # type: ignore[dict-item]

    value = read(200, {"metadata": metadata}).value

    assert value is not None
    assert value.blind_managers(["mine", "other"]) == blind


@pytest.mark.parametrize(
    ("body", "names", "continue_token"),
    [
        ({"items": []}, (), ""),
        ({"items": [{"metadata": {"name": "a"}}, {"metadata": {"name": "b-1"}}]}, ("a", "b-1"), ""),
        ({"items": [{"metadata": {"name": "a"}}], "metadata": {"continue": "t0k"}}, ("a",), "t0k"),
        ({"items": [], "metadata": {"continue": None}}, (), ""),
        ({"kind": "PartialObjectMetadataList", "items": None}, (), ""),
        ({"kind": "PartialObjectMetadataList"}, (), ""),
    ],
)
def test_a_page_gives_its_names_and_how_to_go_on(body: object, names: tuple[str, ...], continue_token: str) -> None:
    assert read_page(200, body) == Answer(200, value=Page(names, continue_token))


@pytest.mark.parametrize(
    "body", [{"items": []}, {"items": None}, {"kind": "Status", "metadata": {"uid": "u-1", "resourceVersion": "1"}}]
)
def test_a_success_that_is_not_the_object_proves_nothing(body: object) -> None:
    assert read(200, body) == Answer(200, trouble="unreadable")


def test_an_object_in_place_of_a_list_is_no_empty_list() -> None:
    body = {"kind": "Secret", "metadata": {"uid": "u-1", "resourceVersion": "1"}}
    assert read_page(200, body) == Answer(200, trouble="unreadable")


def test_a_list_that_was_created_is_none() -> None:
    assert read_page(201, {"items": []}) == Answer(201, trouble="unreadable")


def test_a_webhook_that_says_401_says_nothing_about_the_bearer_token() -> None:
    assert read(401, status_body(reason="Unauthorized")).is_unauthenticated
    assert not read(401, status_body(message='admission webhook "a.b" denied the request')).is_unauthenticated


@pytest.mark.parametrize(
    ("status", "body", "refusal"),
    [
        (401, status_body(reason="Unauthorized"), Refusal(reason="Unauthorized")),
        (
            403,
            status_body(
                reason="Forbidden",
                message='secrets "x" is forbidden: User "u" cannot patch resource "secrets" in API group ""',
                details={"kind": "secrets"},
            ),
            Refusal(reason="Forbidden", kind="secrets", missing_verb="patch"),
        ),
        (
            403,
            status_body(reason="Forbidden", message='User "u" cannot create resource "secrets"'),
            Refusal(reason="Forbidden", missing_verb="create"),
        ),
        (
            403,
            status_body(reason="Forbidden", message='User "u" cannot list resource "namespaces"'),
            Refusal(reason="Forbidden", missing_verb="list"),
        ),
        (
            403,
            status_body(reason="Forbidden", message='secrets "x" is forbidden: exceeded quota: full, used: secrets=1'),
            Refusal(reason="Forbidden", quota="full"),
        ),
        (
            403,
            status_body(message=f'admission webhook "policy.example" denied the request: {SECRET}'),
            Refusal(denied_by="admission webhook policy.example"),
        ),
        (
            403,
            status_body(message=f'admission webhook "policy.example" denied the request: exceeded quota: {SECRET}'),
            Refusal(denied_by="admission webhook policy.example"),
        ),
        (
            403,
            status_body(message='admission webhook "policy.example" denied the request: exceeded quota: everything'),
            Refusal(denied_by="admission webhook policy.example"),
        ),
        (
            403,
            status_body(
                message="policy 'adds' with binding 'all' denied request: status unknown for quota: everything"
            ),
            Refusal(denied_by="MutatingAdmissionPolicy adds"),
        ),
        (
            500,
            status_body(message=f'Internal error occurred: failed calling webhook "policy.example": {SECRET}'),
            Refusal(denied_by="admission webhook policy.example", is_unasked=True),
        ),
        (
            422,
            status_body(
                reason="Invalid",
                message='secrets "x" is forbidden: '
                f"ValidatingAdmissionPolicy 'no-x' with binding 'all' denied request: {SECRET}",
            ),
            Refusal(reason="Invalid", denied_by="ValidatingAdmissionPolicy no-x"),
        ),
        (
            403,
            status_body(
                reason="Forbidden",
                message=f"secrets \"x\" is forbidden: ValidatingAdmissionPolicy 'a.b' denied request: {SECRET}",
            ),
            Refusal(reason="Forbidden", denied_by="ValidatingAdmissionPolicy a.b"),
        ),
        (
            403,
            status_body(reason="Invalid", message=f"policy 'adds' with binding 'all' denied request: {SECRET}"),
            Refusal(reason="Invalid", denied_by="MutatingAdmissionPolicy adds"),
        ),
        (
            403,
            status_body(reason="Forbidden", message=f'policy "adds" denied request: exceeded quota: {SECRET}'),
            Refusal(reason="Forbidden", denied_by="MutatingAdmissionPolicy adds"),
        ),
        (
            500,
            status_body(message=f"expected map, got &{{policy 'x' with binding 'y' denied request {SECRET}}}"),
            Refusal(),
        ),
        (
            403,
            status_body(message='secrets "x" is forbidden: status unknown for quota: new, resources: secrets'),
            Refusal(quota="new", is_quota_unknown=True),
        ),
        (
            403,
            status_body(message=f'admission webhook "{SECRET}" denied the request: no'),
            Refusal(),
        ),
        (
            403,
            caused("Forbidden", {"reason": "NamespaceTerminating", "message": SECRET, "field": SECRET}, kind="secrets"),
            Refusal(reason="Forbidden", kind="secrets", causes=(("NamespaceTerminating", ""),)),
        ),
        (
            404,
            status_body(reason="NotFound", details={"kind": "namespaces"}),
            Refusal(kind="namespaces", reason="NotFound"),
        ),
        (
            409,
            caused(
                "Conflict",
                {"reason": "FieldManagerConflict", "message": 'conflict with "kubectl-create" using v1', "field": "."},
                {"reason": "FieldManagerConflict", "message": 'conflict with "helm" using v1 at 2020-01-01T00:00:00Z'},
                {"reason": "FieldManagerConflict", "message": 'conflict with "helm" using v1'},
            ),
            Refusal(
                reason="Conflict",
                causes=(("FieldManagerConflict", ""),) * 3,
                managers=("helm", "kubectl-create"),
            ),
        ),
        (
            422,
            caused("Invalid", {"reason": "FieldValueForbidden", "message": SECRET, "field": "data"}, kind="Secret"),
            Refusal(reason="Invalid", kind="Secret", causes=(("FieldValueForbidden", "data"),)),
        ),
        (
            422,
            caused("Invalid", {"reason": "FieldValueInvalid", "message": SECRET, "field": "type"}),
            Refusal(reason="Invalid", causes=(("FieldValueInvalid", "type"),)),
        ),
        (410, status_body(reason="Expired"), Refusal(reason="Expired")),
        (
            500,
            status_body(reason="InternalError", message=f"expected map, got &{{{SECRET}}}"),
            Refusal(reason="InternalError"),
        ),
    ],
)
def test_a_status_is_reduced_to_its_codes(status: int, body: object, refusal: Refusal) -> None:
    assert read(status, body) == Answer(status, refusal=refusal)


@pytest.mark.parametrize(
    ("header", "details", "seconds"),
    [
        ("5", {}, 5.0),
        (None, {"retryAfterSeconds": 7}, 7.0),
        ("5", {"retryAfterSeconds": 7}, 5.0),
        ("Wed, 21 Oct 2030 07:28:00 GMT", {}, 0.0),
        ("-1", {}, 0.0),
        ("1.5", {}, 0.0),
        ("٣", {}, 0.0),
        ("99999999999", {}, 0.0),
        (None, {"retryAfterSeconds": "soon"}, 0.0),
        (None, {"retryAfterSeconds": True}, 0.0),
        (None, {}, 0.0),
    ],
)
def test_the_servers_patience_is_whole_seconds(header: str | None, details: object, seconds: float) -> None:
    headers = {} if header is None else {"Retry-After": header}

    assert read(429, status_body(details=details), headers).retry_after == seconds


def test_a_load_balancers_patience_counts_too() -> None:
    assert of_write(503, b"<html>", {"Retry-After": "3"}) == Answer(503, retry_after=3.0)


HOSTILE = {
    "empty": b"",
    "html": f"<html><body>{SECRET}</body></html>".encode(),
    "text": SECRET.encode(),
    "invalid utf-8": b'{"metadata": {"uid": "\xff\xfe' + SECRET.encode() + b'"}}',
    "cut off": json.dumps(OBJECT).encode()[:-3],
    "a list": json.dumps([SECRET]).encode(),
    "a number": b"5",
    "null": b"null",
    "deep lists": b"[" * 200_000,
    "deep objects": b'{"a":' * 200_000,
    "a huge number": b'{"metadata": {"uid": ' + b"9" * 10_000 + b"}}",
    "no metadata": json.dumps({"data": SECRET}).encode(),
    "metadata is a list": json.dumps({"metadata": [SECRET]}).encode(),
    "uid is a number": json.dumps({"metadata": {"uid": 5, "resourceVersion": "1"}}).encode(),
    "uid is a text": json.dumps({"metadata": {"uid": f"{SECRET} ", "resourceVersion": "1"}}).encode(),
    "uid alone": json.dumps({"metadata": {"uid": "u-1"}}).encode(),
    "version alone": json.dumps({"metadata": {"resourceVersion": "1"}}).encode(),
    "version is a text": json.dumps({"metadata": {"uid": "u-1", "resourceVersion": f"{SECRET}\n"}}).encode(),
    "items is a text": json.dumps({"items": SECRET}).encode(),
    "items without names": json.dumps({"items": [{"metadata": {"name": "a"}}, {"metadata": {}}]}).encode(),
    "items are texts": json.dumps({"items": [SECRET]}).encode(),
    "a name that is none": json.dumps({"items": [{"metadata": {"name": f"{SECRET}/../x"}}]}).encode(),
    "a failure": json.dumps(status_body(message=SECRET)).encode(),
}


@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE)
def test_a_success_without_proof_is_none(body: bytes) -> None:
    answer = of_write(200, body)

    assert answer == Answer(200, trouble="unreadable")
    assert answer.is_worth_retrying


@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE)
def test_no_list_is_made_of_what_is_none(body: bytes) -> None:
    assert parsing.answer(parsing.parse_names, 200, {}, body) == Answer(200, trouble="unreadable")


@pytest.mark.parametrize("status", [204, 301, 400, 404, 405, 409, 410, 418, 422, 505])
@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE)
def test_an_error_that_kubernetes_did_not_send_is_its_status_alone(status: int, body: bytes) -> None:
    answer = of_write(status, body)

    assert answer in (Answer(status, trouble="unreadable"), Answer(status))


@pytest.mark.parametrize("status", [401, 403, 429, 500, 502, 503, 504])
def test_a_status_code_that_says_enough_needs_no_body(status: int) -> None:
    assert of_write(status, b"<html>") == Answer(status)


TEXTS = [
    ("message", status_body(message=SECRET * 30_000)),
    ("reason", status_body(reason=SECRET)),
    ("reason is a list", status_body(reason=[SECRET])),
    ("kind", status_body(details={"kind": SECRET})),
    ("name", status_body(details={"name": SECRET, "uid": SECRET})),
    ("details", status_body(details=SECRET)),
    ("causes", status_body(details={"causes": SECRET})),
    ("a cause", status_body(details={"causes": [SECRET, [SECRET], {"reason": SECRET, "field": SECRET}]})),
    ("a field", caused("Invalid", {"reason": "FieldValueInvalid", "field": f"data[{SECRET}]"})),
    ("a manager", caused("Conflict", {"reason": "FieldManagerConflict", "message": f'conflict with "{SECRET}"'})),
    ("a manager's line", caused("Conflict", {"message": f'conflict with "helm\n{SECRET}"'})),
    ("a long manager", caused("Conflict", {"message": f'conflict with "{"m" * 129}{SECRET}"'})),
    ("many causes", caused("Invalid", *[{"reason": "Code", "field": SECRET}] * 10_000)),
    ("the metadata", {**status_body(), "metadata": {"uid": SECRET, "continue": SECRET}}),
    ("late in a message", status_body(message=f"{'x' * 5000} cannot patch resource {SECRET}")),
]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 410, 422, 429, 500, 503])
@pytest.mark.parametrize("body", [body for _, body in TEXTS], ids=[name for name, _ in TEXTS])
def test_nothing_of_a_text_gets_into_an_answer(status: int, body: dict[str, Any]) -> None:
    shown = repr(read(status, body))

    assert SECRET not in shown
    assert len(shown) < 1500


def test_a_manager_whose_name_cannot_be_shown_is_left_out() -> None:
    body = caused(
        "Conflict",
        {"reason": "FieldManagerConflict", "message": 'conflict with "helm" using v1'},
        {"reason": "FieldManagerConflict", "message": 'conflict with "\\u202eevil" using v1'},
        {"reason": "FieldManagerConflict", "message": "conflict with nobody"},
    )

    assert read(409, body).refusal.managers == ("helm",)
    assert read(409, body).is_conflict_of_managers


@pytest.mark.parametrize(
    ("answer", "worth"),
    [
        (Answer(0, trouble="timeout"), True),
        (Answer(0, trouble="connection"), True),
        (Answer(0, trouble="untrusted"), False),
        (Answer(0, trouble="no-time"), False),
        (Answer(200), False),
        (Answer(201), False),
        (Answer(200, trouble="unreadable"), True),
        (Answer(200, trouble="too-long"), False),
        (Answer(400), False),
        (Answer(401), False),
        (Answer(403), False),
        (Answer(404), False),
        (Answer(409), True),
        (refused(409, ("FieldManagerConflict", "")), False),
        (Answer(410), False),
        (Answer(418, trouble="unreadable"), False),
        (Answer(422), False),
        (Answer(429), True),
        (Answer(500), True),
        (Answer(501), False),
        (Answer(502), True),
        (Answer(503), True),
        (Answer(504), True),
    ],
)
def test_only_what_may_pass_is_tried_again(answer: Answer[Written], worth: bool) -> None:
    assert answer.is_worth_retrying is worth


@pytest.mark.parametrize(
    ("answer", "failed"),
    [
        (refused(409, reason="Conflict"), True),
        (refused(409, ("FieldManagerConflict", "")), False),
        (refused(422, ("FieldValueInvalid", "metadata.uid"), reason="Invalid"), True),
        (refused(422, ("FieldValueInvalid", "type"), reason="Invalid"), False),
        (refused(412, reason="Conflict"), False),
        (refused(404, reason="NotFound"), False),
        (Answer(200, value=Written("u-1", "1")), False),
    ],
)
def test_another_version_or_another_object_is_a_precondition_that_failed(answer: Answer[Written], failed: bool) -> None:
    assert answer.is_precondition_failed is failed


@pytest.mark.parametrize(
    ("answer", "not_found"),
    [
        (Answer(404, refusal=Refusal(reason="NotFound", kind="secrets")), True),
        (Answer(404, refusal=Refusal(denied_by="admission webhook x")), False),
        (Answer(404, trouble="unreadable"), False),
        (Answer(410), False),
    ],
)
def test_that_there_is_no_such_object_is_for_the_server_to_say(answer: Answer[Written], not_found: bool) -> None:
    assert answer.is_not_found is not_found


@pytest.mark.parametrize(
    ("answer", "retried"),
    [
        (Answer(403, refusal=Refusal(quota="new", is_quota_unknown=True)), True),
        (Answer(403, refusal=Refusal(quota="full")), False),
        (Answer(500, refusal=Refusal(denied_by="admission webhook x", is_unasked=True)), True),
        (Answer(403, refusal=Refusal(denied_by="admission webhook x")), False),
    ],
)
def test_what_a_webhook_or_a_quota_says_may_pass_or_not(answer: Answer[Written], retried: bool) -> None:
    assert answer.is_worth_retrying is retried


@pytest.mark.parametrize(
    ("answer", "throttled", "outage", "less"),
    [
        (Answer(429), True, False, True),
        (Answer(503), False, True, True),
        (Answer(502), False, True, False),
        (Answer(504), False, True, False),
        (Answer(0, trouble="timeout"), False, True, False),
        (Answer(0, trouble="connection"), False, True, False),
        (Answer(0, trouble="untrusted"), False, False, False),
        (Answer(500), False, False, False),
        (Answer(429, refusal=Refusal(denied_by="admission webhook x")), False, False, False),
        (Answer(503, refusal=Refusal(denied_by="admission webhook x")), False, False, False),
    ],
)
def test_who_asks_for_patience_is_the_server_and_not_a_webhook(
    answer: Answer[Written], throttled: bool, outage: bool, less: bool
) -> None:
    assert (answer.is_throttled, answer.is_outage, answer.asks_for_less) == (throttled, outage, less)


KEYS = ["kind", "metadata", "items", "uid", "resourceVersion", "annotations", "continue", "name"]
KEYS += ["details", "causes", "reason", "field", "message", "retryAfterSeconds"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(KEYS),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)
STATUSES = st.sampled_from([200, 201, 204, 302, 400, 401, 403, 404, 409, 410, 422, 429, 500, 503])


@given(STATUSES, JSON, st.booleans())
def test_any_json_at_all_is_read(status: int, body: object, is_status: bool) -> None:
    if is_status and isinstance(body, dict):
        body["kind"] = "Status"

    written, page = read(status, body), read_page(status, body)

    assert written.status == page.status == status
    assert written.value is None or (status in (200, 201) and written.value.uid)
    assert page.value is None or (status == 200 and all(page.value.items))


@given(STATUSES, st.binary(max_size=200))
def test_any_bytes_at_all_are_read(status: int, body: bytes) -> None:
    answer = of_write(status, body)

    assert answer.status == status
    assert answer.value is None


def test_the_conflict_that_a_webhook_claims_is_none_of_managers() -> None:
    causes = (("FieldManagerConflict", ""),)
    answer: Answer[Written] = Answer(409, refusal=Refusal(causes=causes, denied_by="admission webhook x"))

    assert not answer.is_conflict_of_managers
    assert not answer.is_precondition_failed
