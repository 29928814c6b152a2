"""Every block of commands that a page prints is run by a test as it is, or says what it needs that no test has."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.pages import PAGES, Block, MarkWithoutBlock, blocks
from tests.support.template import ROOT

HERE = Path(__file__).parent
EVERY = [block for page in PAGES for block in blocks(page)]
MARKED = [block for block in EVERY if block.needs is not None]
NEEDS = {"AWS", "a machine of its own"}
# The sections that tests of other folders run, with the test's own word for them.
RECIPES = ("tests/cluster/test_recipes.py", "^## Recipes")
ADOPTING = "tests/adopt/test_documented_steps.py"
ELSEWHERE = {
    **{("docs/objects.md", block.section): RECIPES for block in EVERY if block.text.startswith("kubectl create ")},
    ("docs/adopting.md", "An application's Secret, step by step"): (ADOPTING, "An application's Secret, step by step"),
    ("docs/adopting.md", "The way back"): (ADOPTING, "The way back"),
}


def followed() -> Iterator[tuple[str, str]]:
    """Yield the page and the section of each call here that runs all of the blocks of a section, or hands them out."""
    for file in HERE.glob("test_*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            match node:
                case ast.Call(
                    func=ast.Attribute(attr="follow" | "texts"),
                    args=[ast.Constant(value=str(page)), ast.Constant(value=str(section)), *_],
                ):
                    yield page, section
    yield "README.md", "Deploy"  # by the fixture that the others are built on


def test_every_block_is_run_or_says_what_it_needs() -> None:
    run = {*followed(), *ELSEWHERE}
    forgotten = [str(one) for one in EVERY if one.needs is None and (one.page, one.section) not in run]
    assert forgotten == []
    assert len(EVERY) - len(MARKED) >= 50
    print(f"{len(EVERY)} blocks: {len(EVERY) - len(MARKED)} are run, {len(MARKED)} need what no test has")


def test_what_is_said_to_be_run_is_there() -> None:
    there = {(block.page, block.section) for block in EVERY}
    assert {*followed(), *ELSEWHERE} <= there
    for file, word in ELSEWHERE.values():
        assert word in (ROOT / file).read_text(), file


@pytest.mark.parametrize("block", MARKED, ids=str)
def test_a_block_that_is_not_run_says_why(block: Block) -> None:
    assert block.needs is not None
    need, reason = block.needs
    assert need in NEEDS
    assert len(reason.split()) >= 5


def test_few_blocks_are_not_run() -> None:
    assert len(MARKED) <= 5


@pytest.mark.parametrize("block", EVERY, ids=str)
def test_nothing_in_a_command_is_left_to_the_reader_to_guess(block: Block) -> None:
    assert "…" not in block.text
    assert "..." not in block.text


PAGE = """\
# A page

Some text `make it`.

    make one      # with a comment
    aws two \\
      --more

- An item

  ```sh
  kubectl three
  ```

## Another

<!-- needs AWS: because of this -->

    sam four --parameter-overrides Name=NAME --capabilities CAPABILITY_NAMED_IAM

    not a command at all

```yaml
make: five
```
"""


def page(folder: Path, text: str) -> list[Block]:
    file = folder / "page.md"
    file.write_text(text)
    return blocks(file, folder)


def test_blocks_are_found_as_a_reader_sees_them(tmp_path: Path) -> None:
    one, three, four = page(tmp_path, PAGE)
    assert (one.section, one.line, one.needs) == ("A page", 5, None)
    assert one.commands == ["make one      # with a comment", "aws two \\\n  --more"]
    assert (three.text, three.line) == ("kubectl three", 12)
    assert (four.section, four.needs) == ("Another", ("AWS", "because of this"))
    words = {"NAME": "demo", "Name": "no", "OVER": "no"}
    assert four.filled(words) == "sam four --parameter-overrides Name=demo --capabilities CAPABILITY_NAMED_IAM"


@pytest.mark.parametrize(
    "text", ["\nno command\n", "\n    no command\n", "", "\n<!-- needs AWS: again -->\n\n    make it\n"]
)
def test_a_mark_without_commands_is_a_fault(tmp_path: Path, text: str) -> None:
    with pytest.raises(MarkWithoutBlock):
        page(tmp_path, f"<!-- needs AWS: because of this -->\n{text}")
