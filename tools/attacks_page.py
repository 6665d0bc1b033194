"""Makes the table of attacks: what was tried on each part, what happens, and the tests that show it.

The rows are in tools/attacks.toml. A row that names a test which is not there is an error here, so no page is made of
it; `tests/test_security_pages.py` checks the rest.
"""

from __future__ import annotations
import ast
import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Attack", "attacks", "attacks_page", "missing_tests"]

_ROOT: Final = Path(__file__).resolve().parent.parent
_ROWS: Final = Path(__file__).with_name("attacks.toml")
_TYPESCRIPT: Final = ".test.ts"
_SENTENCE: Final = re.compile(r'^test\(\s*"([^"]+)"', re.MULTILINE)

_HEAD: Final = """\
# How security is tested

<!-- Made by tools/generate.py from tools/attacks.toml. Change it there. -->

{count} attacks, what happens now, and the tests that show it, below `packages/*/tests/`, `tests/` or `extension/test/`.
Most rows hold several variants; `tools/attacks.toml` names the rows of tests too. A row whose test does not exist fails
the build.

`make test PART=fuzz` damages streams, bodies, socket messages, files, bundles, recordings and settings for as long as
one likes. `make bench WHAT=soak` has clients behave badly, within the memory of a pod. `cli/test_pod.py` starts the
commands of the printed pods within their memory, and where Linux lets it, as the pod's user without capabilities, on a
read-only root with the pod's volumes. Its network, the seccomp profile and the kubelet are not simulated.

| area | tried | what happens | shown by |
|---|---|---|---|
"""


@dataclass(frozen=True, slots=True)
class Attack:
    """One row.

    Attributes:
        area: What is attacked.
        tried: What is tried.
        result: What happens.
        tests: Below a folder of tests: `path::name` of a test without `test_`, or `path::name[row]`, in TypeScript its
            sentence as the name; or `tried by hand on DATE` where there is none.
    """

    area: str
    tried: str
    result: str
    tests: tuple[str, ...]


def attacks() -> list[Attack]:
    """All rows in the order of the page."""
    areas = tomllib.loads(_ROWS.read_text(encoding="utf-8"))
    return [Attack(area, tried, result, tuple(tests)) for area, rows in areas.items() for tried, result, *tests in rows]


def attacks_page() -> str:
    """The page in Markdown.

    Raises:
        ValueError: A row names a test that is not there.
    """
    rows = attacks()
    if missing := [one for attack in rows for one in missing_tests(attack)]:
        raise ValueError("tools/attacks.toml: " + "; ".join(missing))
    lines = []
    for number, one in enumerate(rows):
        area = one.area if number == 0 or rows[number - 1].area != one.area else ""  # once for the rows below it too
        lines.append(f"| {area} | {one.tried} | {one.result} | {'<br>'.join(dict.fromkeys(map(_shown, one.tests)))} |")
    return _HEAD.format(count=len(rows)) + "\n".join(lines) + "\n"


def _shown(named: str) -> str:
    path, separator, name = named.partition("[")[0].partition("::")
    return f"`{path}::{'' if path.endswith(_TYPESCRIPT) else 'test_'}{name}`" if separator else named


BY_HAND: Final = "tried by hand on "


def missing_tests(attack: Attack) -> Iterator[str]:
    """What a row names and does not exist; that it names nothing is missing too."""
    if not attack.tests:
        yield f"{attack.tried!r} has no test"
    for named in attack.tests:
        path, _, name = named.partition("::")
        name, _, row = name.partition("[")
        if not named.startswith(BY_HAND) and not any(
            f"test_{name}" in tests and (not row or row.rstrip("]") in texts)
            for tests, texts in map(_names, _files(path))
        ):
            yield f"{attack.tried!r} has no test {named}"


@cache
def _files(path: str) -> tuple[Path, ...]:
    folders = (_ROOT / "tests", *sorted(_ROOT.glob("packages/*/tests")), _ROOT / "extension/test")
    return tuple(folder / path for folder in folders if (folder / path).is_file())


@cache
def _names(path: Path) -> tuple[frozenset[str], frozenset[str]]:
    """The tests of a file, and the texts in it, among which are the names of rows."""
    text = path.read_text(encoding="utf-8")
    if path.name.endswith(_TYPESCRIPT):
        return frozenset(f"test_{one}" for one in _SENTENCE.findall(text)), frozenset()
    nodes = [*ast.walk(ast.parse(text))]
    tests = (one.name for one in nodes if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef))
    texts = (one.value for one in nodes if isinstance(one, ast.Constant) and isinstance(one.value, str))
    return frozenset(tests), frozenset(texts)
