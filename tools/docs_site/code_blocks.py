"""The fenced blocks of a page, each with the comments that say how it is checked.

A comment is on the line before the fence, where readers do not see it:

- `<!-- example: FILE -->`: the block is that file, which a test runs.
- `<!-- file: NAME -->`: the block is a file of a package that a test puts together from the page.
- `<!-- run by: FILE -->`: that file runs the block, or is what shows it.
- `<!-- not run: REASON -->`: it is not run, for this reason.
- `<!-- given: NAME, NAME -->`: it is run here, with these names of `surroundings.py`; what it uses of `GIVEN` there
  without making it, it gets in any case.
- `<!-- continues -->`: it is read together with the blocks of its language before it.
- `<!-- door: NAME -->`: it is one way from nothing to an answer, or a piece of one, that `make test PART=newcomer`
goes.

A tutorial is followed from its beginning to its end; there, other comments say what its reader does:

- `<!-- saved as: NAME -->`: the block is saved in this file.
- `<!-- kept running -->`: the command serves in a terminal of its own, until the end of the page.
- `<!-- exit code: N -->`: the last of the commands ends with this code, and not with 0.
"""

from __future__ import annotations
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

MARKS = (
    *("example", "file", "run by", "not run", "given", "continues", "door"),
    *("saved as", "kept running", "exit code"),
)
FENCE = re.compile(r"^( *)```(.*)$")
COMMENT = re.compile(r"^ *<!-- ([a-z ]+?)(?:: (.*?))? -->$")


@dataclass(frozen=True)
class Block:
    """A fenced block of a page.

    Attributes:
        page: The path of the page, below the project.
        line: The number of the line of its opening fence.
        language: The word after the fence; empty without one.
        code: The text between the fences, without the indentation of the fence.
        marks: The comments before it, by their first words.
        before: The block of the page before it.
        follows: Whether only empty lines lie between the block before it and this one.
    """

    page: str
    line: int
    language: str
    code: str
    marks: dict[str, str] = field(default_factory=dict)
    before: Block | None = None
    follows: bool = False

    @property
    def place(self) -> str:
        """The page and the line."""
        return f"{self.page}:{self.line}"


def find_blocks(page: str, text: str) -> Iterator[Block]:
    """The blocks of a page, in order; an unclosed one goes to the end, as in Markdown."""
    lines = text.splitlines()
    before: Block | None = None
    closed = number = 0
    while number < len(lines):
        opening = FENCE.match(lines[number])
        if opening is None:
            number += 1
            continue
        indent = len(opening[1])
        end = next((at for at in range(number + 1, len(lines)) if lines[at].strip() == "```"), len(lines))
        marks, above = _marks(lines, number)
        before = Block(
            page=page,
            line=number + 1,
            language=opening[2].strip(),
            code="".join(f"{line[indent:]}\n" for line in lines[number + 1 : end]),
            marks=marks,
            before=before,
            follows=before is not None and not any(line.strip() for line in lines[closed:above]),
        )
        yield before
        closed = number = end + 1


def _marks(lines: list[str], number: int) -> tuple[dict[str, str], int]:
    """The comments right above a line, and the line where they begin."""
    marks: dict[str, str] = {}
    while number > 0 and (comment := COMMENT.match(lines[number - 1])) and comment[1] in MARKS:
        marks[comment[1]] = comment[2] or ""
        number -= 1
    return marks, number
