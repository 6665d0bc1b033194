"""The tables of targets on the page of the conformance kit: what each broke, and what came."""

from __future__ import annotations
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tried_table import row

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["targets_table"]

_RESULTS: Final = Path(__file__).resolve().parent.parent / "interop" / "conformance" / "results.json"
_COUNTED: Final = ("passed", "failed", "warning", "untestable", "not applicable", "not judged")


def targets_table() -> Iterator[str]:
    """The lines: a row for each target and wire, then what each breaks, with the end of what came."""
    results: dict[str, Any] = json.loads(_RESULTS.read_text(encoding="utf-8"))
    rows = [(name, wire, found) for name, result in results.items() for wire, found in result["wires"].items()]
    yield row(("target", "wire", *_COUNTED, "breaks"))
    yield row(("---", "---", *("---:",) * len(_COUNTED), "---"))
    for name, wire, found in rows:
        if "failed" in found:
            yield row((f"**{name}**", wire, *("",) * len(_COUNTED), f"could not be tested: {found['failed']}"))
            continue
        counts = (str(found["counts"][verdict] or "") for verdict in _COUNTED)
        yield row((f"**{name}**", wire, *counts, ", ".join(f"`{rule}`" for rule in found["broken"]) or "nothing"))
    yield ""
    for name, result in results.items():
        left_out = f"; left out: {result['skipped']}" if "skipped" in result else ""
        yield f"- {name}: {result['package']}, {result['kind']}; {result['date']}{left_out}"
    yield ""
    yield "### What each broke"
    yield ""
    for name, wire, found in rows:
        for rule, broken in found.get("broken", {}).items():
            yield from _broken(f"{name}, {wire}", rule, broken)


def _broken(where: str, rule: str, broken: dict[str, Any]) -> Iterator[str]:
    more = f", and in {broken['scenarios'] - 1} more" if broken["scenarios"] > 1 else ""
    yield f"<details><summary>{where}: <code>{rule}</code> ({broken['level']})</summary>"
    yield ""
    yield f"{broken['promise']} In the scenario `{broken['scenario']}`{more}: {broken['got']}."
    yield ""
    if broken["came"]:
        yield "<!-- not run: what `make interop TRY=conformance` saw of a package that it alone installs -->"
        yield "```text"
        yield from broken["came"]
        yield "```"
        yield ""
    yield "</details>"
    yield ""
