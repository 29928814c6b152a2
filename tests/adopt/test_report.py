"""The report: the adopter's verdicts as Markdown, which shows every name as it is and no more than fits a comment."""

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from upsert import adopt_report
from upsert.adopt import AdoptReport
from upsert.adopt_records import adopt_answer
from upsert.adopt_request import Action
from upsert.core.adoptions import Adopted, Refused, Result, lines_of
from upsert.core.checks import Check, missing
from upsert.core.outcomes import Failed
from upsert.core.verdicts import Likeness, Verdict
from upsert.errors import SourceFailed

API = "secret/api"
DIFFERS = Verdict("DB_PASSWORD", Likeness.MISMATCH, 48, 49, ("trailing newline",), loses_nothing=False)
SAME = Verdict("TOKEN", Likeness.MATCH)


def checked(namespace: str, *verdicts: Verdict, title: str = API, notes: tuple[str, ...] = ()) -> Check:
    reasons = tuple(f"differs: {one.key}" for one in verdicts if not one.loses_nothing)
    return Check(title, namespace, verdicts, notes=notes, reasons=reasons)


def report(*results: Result, **more: tuple[tuple[str, SourceFailed], ...] | tuple[str, ...]) -> AdoptReport:
    return AdoptReport(Action.CHECK, results, api_requests=1, saw_external_secrets=True, **more)  # type: ignore[arg-type]


class Cells(HTMLParser):
    """The rows of all tables as a reader sees them, and every tag."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.tags: set[str] = set()
        self.is_in_cell = False
        self.feed(MarkdownIt("commonmark").enable("table").render(text))

    def handle_starttag(self, tag: str, _attributes: object) -> None:
        self.tags.add(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
            self.is_in_cell = True

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th"):
            self.is_in_cell = False

    def handle_data(self, data: str) -> None:
        if self.is_in_cell:
            self.rows[-1][-1] += data


def rows(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in row] for row in Cells(text).rows]


def test_namespaces_share_a_row_and_what_is_to_be_looked_at_stands_first() -> None:
    text = adopt_report.markdown(
        report(
            *(checked(f"team-{number}", SAME) for number in range(7)),
            checked("team-x", SAME, DIFFERS, notes=("finalizer a/b: adopt leaves it alone",)),
            missing(API, "team-y"),
        )
    )
    assert text.startswith("### Adopter: check\n\n7 adoptable, 1 missing, 1 not adoptable.\n"), text
    assert rows(text) == [
        ["object", "conclusion", "namespaces"],
        [API, "not adoptable: differs: DB_PASSWORD", "team-x"],
        [API, "not adoptable: missing (the next refresh creates it)", "team-y"],
        [API, "adoptable", "team-0, team-1, team-2, team-3, team-4 and 2 more"],
        ["object", "key", "verdict", "namespaces"],
        [API, "DB_PASSWORD", "MISMATCH (48 vs 49 bytes; trailing newline)", "team-x"],
        [API, "TOKEN", "MATCH", "team-0, team-1, team-2, team-3, team-4 and 3 more"],
        ["object", "note", "namespaces"],
        [API, "finalizer a/b: adopt leaves it alone", "team-x"],
    ]


def test_every_way_in_which_an_object_may_end_has_its_row() -> None:
    why = SourceFailed("secret/none: its source is missing")
    adopted = Adopted(API, "a", "uid", "1", (SAME,), written=True, removed_last_applied=False)
    text = adopt_report.markdown(
        report(
            adopted,
            Refused(API, "b", "changed since the check; check again"),
            Failed(API, "c", "forbidden", 403, "grant get"),
            not_made=(("secret/none", why),),
            unplaced=("secret/nowhere",),
        )
    )
    told = {(row[0], row[1], row[2]) for row in rows(text) if len(row) == 3}
    assert {
        (API, lines_of(adopted)[-1].removeprefix("a/api: "), "a"),
        (API, "refused: changed since the check; check again", "b"),
        (API, "not adoptable: forbidden (status 403); grant get", "c"),
        ("secret/none", f"not checked: {why}", ""),
        ("secret/nowhere", "not checked: no namespace is in its scope", ""),
    } < told


LOUD = (
    "a|b",
    "<img src=x onerror=alert(1)>",
    "![x](https://example.com/x.png)",
    "[x](javascript:alert(1))",
    "`code` **bold** _it_ ~~no~~",
    "&lt;script&gt;",
    "<!-- gone -->",
    r"a\|b \\",
    "<withheld name 1>",
    "https://quay.io/v1/",
)


@pytest.mark.parametrize("key", LOUD)
def test_a_name_shows_as_it_is_and_is_no_markup(key: str) -> None:
    text = adopt_report.markdown(report(checked("team-a", Verdict(key, Likeness.MATCH))))
    assert rows(text)[-1] == [API, key, "MATCH", "team-a"]
    assert Cells(text).tags == {"h3", "h4", "p", "table", "thead", "tbody", "tr", "th", "td"}


@given(st.text(alphabet=st.characters(blacklist_categories=("Cs", "Zl", "Zp", "Cc")), max_size=30))
def test_no_text_breaks_the_table(text: str) -> None:
    row = rows(adopt_report.markdown(report(Refused(API, "team-a", text))))[-1]
    assert len(row) == 3
    assert row[1].split() == ["refused:", *"".join(one if one.isprintable() else " " for one in text).split()]


@pytest.mark.parametrize("text", ["line\nbreak", "line\r\nbreak", "line\x0bbreak", "line\u2028break"])
def test_no_line_end_breaks_the_table(text: str) -> None:
    row = rows(adopt_report.markdown(report(Refused(API, "team-a", text))))[-1]
    assert row[1].split() == ["refused:", "line", "break"]


@pytest.mark.parametrize("text", ["@everyone", "see #12", "https://example.com", "www.example.com", "WWW.example.com"])
def test_github_makes_no_link_and_no_mention_of_a_text(text: str) -> None:
    assert text not in adopt_report.markdown(report(Refused(API, "team-a", text)))


def test_what_does_not_fit_a_comment_is_counted() -> None:
    text = adopt_report.markdown(
        report(*(checked(f"team-{number}", Verdict(f"KEY_{number}", Likeness.MATCH)) for number in range(10_000)))
    )
    assert 50_000 < len(text) <= 65_536
    shown = sum(row[1].startswith("KEY_") for row in rows(text))
    assert f"\n{10_000 - shown} more rows are in the log.\n" in text


def test_the_answer_holds_the_report_if_it_is_asked_for() -> None:
    found = report(checked("team-a", SAME))
    assert adopt_answer(found, as_markdown=True) == {**adopt_answer(found), "report": adopt_report.markdown(found)}
