"""Writes the page on what becomes of each field between two wires, from the census."""

from __future__ import annotations
import sys
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Final

sys.path.append(str(Path(__file__).resolve().parent.parent))
sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))

from tried_table import row

from census.fates import Fate
from census.table import table_of_fates, taken
from census.wires import WIRES
from interop.freshness.census import read_kept
from partstream.protocols.protocol import PROTOCOLS
from unsupported import UNSUPPORTED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from unsupported import Unsupported

__all__ = ["table_of_fates", "translation_page"]

_HEAD: Final = """\
# Translation

<!-- Made by tools/generate.py from the census (tests/census): change what a reader or writer does, or wires.py. -->

A request that comes in over one wire can be asked over another, and the answer goes back the same way. In the middle
are VS Code's own values: messages and options on the way up, parts and one `Finish` on the way down.

This page says what becomes of each field. It is made from a run: every field that the types of the official packages
have is sent over every pair of these wires, with a value of its type, and looked for on the other side. The page
promises nothing else. A field is written as its place: `tools[function].function.strict` is the field `strict` of a
function in a tool of the type `function`.

| fate | what becomes of the field |
|---|---|
| carried | The other side says it, in its own word. |
| refused | The client gets an error that names it. |
| named | It is left out, and named in the log and in [a header of the reply](../serving.md#what-reaches-no-model). |
| text | It arrives as words in a text of the conversation. |
| lost | It is left out without a word. |

Where a tool, a part or an event does not arrive, neither do its fields, and they are not listed. What a wire does by
itself, such as places in a stream and fields that repeat the request, is not counted.

Where both sides speak the same wire, `partstream serve` forwards the bytes and translates nothing
([how](../everywhere.md#the-same-wire)); the fields of these tables with one wire twice are about the requests that it
translates all the same.

A call of a tool is one part, so its arguments arrive in one piece, whatever pieces the upstream sent.
"""

_TITLES: Final = {
    "request": ("Requests", "the client speaks"),
    "answer": ("Answers", "the upstream speaks"),
    "event": ("Events", "the upstream speaks"),
}
_SAYS: Final = {
    "request": "A request that a client makes in one wire (rows) for an upstream of another (columns).",
    "answer": "An answer in one document that an upstream gives in one wire (rows) to a client of another (columns).",
    "event": "An event that an upstream streams in one wire (rows) to a client of another (columns).",
}
_WORDS: Final = {Fate.SILENT: "lost", Fate.BROKEN: "lost"}
_ORDER: Final = ("carried", "refused", "named", "text", "lost")


def translation_page() -> str:
    """The whole page."""
    packages = {name: read_kept(name) for name in WIRES}
    versions = ", ".join(dict.fromkeys(f"{said['package']} {said['version']}" for said in packages.values()))
    written = {name: protocol for name, protocol in PROTOCOLS.items() if protocol.write_response is not None}
    lines = [_HEAD, f"The types are those of {versions}.", ""]
    for direction in _TITLES:
        lines += _direction(direction)
    lines += [
        "## What each protocol has no place for",
        "",
        "The values in the middle, and what of them has no place in a wire of this package. Tests prove these tables",
        "over every recording, and over made-up answers and requests",
        "(`packages/partstream/tests/protocols/test_round_trips.py`).",
        "",
    ]
    lines += _unsupported({name: UNSUPPORTED[protocol.name] for name, protocol in written.items()})
    return "\n".join(lines)


def _direction(direction: str) -> Iterator[str]:
    """What becomes of requests, answers or events: how many fields arrive, and then each one."""
    title, corner = _TITLES[direction]
    yield from (f"## {title}", "", f"{_SAYS[direction]} Each cell counts fields: carried, refused or named, lost.", "")
    yield row((corner, *WIRES))
    yield row(("---",) * (len(WIRES) + 1))
    for wire in WIRES:
        yield row((f"**{wire}**", *(_counted(direction, wire, number) for number, _ in enumerate(WIRES))))
    yield ""
    for wire in WIRES:
        yield from (f"### {title} of {wire}", "")
        groups: defaultdict[tuple[Fate | None, ...], list[str]] = defaultdict(list)
        for path, fates in taken().fates(direction, wire):
            groups[fates].append(path)
        for fates, paths in groups.items():
            yield f"- **{_pattern(fates)}**: {', '.join(f'`{path}`' for path in paths)}"
        yield ""


def _word(fate: Fate) -> str:
    return _WORDS.get(fate, str(fate))


def _counted(direction: str, wire: str, number: int) -> str:
    words = [_word(fates[number]) for _, fates in taken().fates(direction, wire) if fates[number] is not None]
    lost = words.count("lost") + words.count("text")
    return f"{words.count('carried')}, {len(words) - words.count('carried') - lost}, {lost}"


def _pattern(fates: Sequence[Fate | None]) -> str:
    """The fate at each wire, in words."""
    places: defaultdict[str, list[str]] = defaultdict(list)
    for name, fate in zip(WIRES, fates, strict=True):
        if fate is not None:
            places[_word(fate)].append(name)
    if len(places) == 1 and None not in fates:
        return f"{next(iter(places))} everywhere"
    return "; ".join(f"{word}: {' '.join(places[word])}" for word in _ORDER if word in places)


def _unsupported(names: Mapping[str, Unsupported]) -> Iterator[str]:
    """One table: what several protocols have no place for has one row, which names them."""
    where: defaultdict[tuple[str, str, str], list[str]] = defaultdict(list)
    for name, unsupported in names.items():
        for of, features in (
            ("answers", unsupported.response),
            ("answers in one document", unsupported.document),
            ("requests", unsupported.request),
        ):
            for one in features:
                where[one.name, one.says, of].append(name)
    yield row(("what", "which", "of", "protocols"))
    yield row(("---",) * 4)
    for (what, says, of), protocols in sorted(where.items(), key=lambda item: (-len(item[1]), item[0])):
        yield row((what, says, of, "all" if len(protocols) == len(names) else ", ".join(protocols)))
    yield ""
