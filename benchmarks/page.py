"""Makes the page of `make bench` of its results; reads nothing but them, so that the page can be made anywhere."""

from __future__ import annotations
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.competitors import FLOOR
from benchmarks.grids import Grid, markdown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["RESULTS", "page", "target_row"]

RESULTS: Final = Path(__file__).resolve().parent / "results.json"

_OURS: Final = ("partstream, fast", "partstream")
"""With msgspec, and without; a case may add what they read."""
_MANY: Final = (": time at twice the size", ": peak memory,", ": peak memory", ": µs an event,", "cancelled")
"""Targets of many cases: each kind has one row on the page, of the case that is nearest to its limit."""

_INTRODUCTION: Final = """\
<!-- Made by tools/generate.py of benchmarks/results.json, which `make bench` writes. -->
# Performance

What Partstream costs a program that reads streams, and what its sidecar costs VS Code: `make bench`, four minutes.
What a server costs has [a page of its own](serving-performance.md), and so have [a hub](hub-performance.md) and
[recording](recording-performance.md).

## Where others are ahead

"""

_EXPLANATION: Final = """
## How it is measured

All readers get the same chunks of bytes, made by `benchmarks/streams.py` the same on every machine: 20,000 events of
about 280 bytes, with the fields that OpenAI's server sends. Each reader is a process that stays warm, and all take
their turns, round by round; the slow ones in every third or seventh round. Before the first, each says how many
characters and calls it found, and the run stops if they do not agree. The clock is the processor time of the thread
that reads. A ratio is the median of the ratios of the rounds.

- **partstream, fast** is the reader with msgspec (the extra `fast`), **partstream** the same without it.
- **JavaScript floor** is the least that a reader on Node does: eventsource-parser, `JSON.parse`, a switch into parts.
  It keeps no order, checks nothing, and ignores what closing events say.
- Packages of others are at pinned versions (`benchmarks/peers`, `benchmarks/node`). None has a network below it, and
  none but pydantic-ai and the AI SDK makes parts: both are in their favour. *Helper* is the package's own helper for
  streams.
- **Typeless** and **chat** are chunks of Chat Completions; **padded** ones have OpenAI's padding of random length.
  Frames have an `event:` line where the wire has one.
- **Hostile streams** once took the square of their length: their time at twice a size is to be at most 2.2 times that
  at the size. [The table of attacks](../security/tests.md) says what was tried.
- **Cancelling** is from the call to the closed connection of the upstream, on loopback.
- The **sidecar** is a real process, asked through its pipes as the extension asks it; *as packed* it has no msgspec.
- These figures are of a Python that was built without profile-guided optimisation. One with it is faster.

`python -m benchmarks.versions FOLDER` compares this checkout with another one. `python -m benchmarks.cancelling`,
`captures`, `sidecar` and `tokens` measure their rows alone.
"""


def page(results: Mapping[str, Any]) -> str:
    """The page."""
    machine = results["machine"] | {name: f"{count:,}" for name, count in results["settings"].items()}
    skipped = results["skipped"] | results["counting"]["skipped"]
    return "".join((_INTRODUCTION, *_ahead(results), "\n", markdown(machine, skipped, _grids(results)), _EXPLANATION))


def target_row(target: Mapping[str, Any]) -> tuple[str, str, str, str]:
    """A row of what was to be reached."""
    sign = "≥" if target["at_least"] else "≤"
    unit = f" {target['unit']}" if target["unit"] else ""
    reached = "reached" if target["reached"] else "not reached"
    return target["what"], f"{target['figure']:.4g}{unit}", f"{sign} {target['limit']:g}{unit}", reached


def _ahead(results: Mapping[str, Any]) -> Iterator[str]:
    """A line of each reader of others that is faster than one of ours somewhere."""
    lines: dict[str, list[str]] = {}
    for case in results["microseconds_per_event"]:
        ours, others = _sides(case)
        for name, theirs in others.items():
            slower = [f"{own} {figure:.2f}" for own, figure in ours.items() if theirs < figure]
            if slower:
                lines.setdefault(name, []).append(f"{_name(case)} {theirs:.2f} ({'; '.join(slower)})")
    yield from (f"- **{name}**, µs an event, and ours: {', '.join(said)}\n" for name, said in lines.items())
    if not lines:
        yield "Nobody who was measured reads faster.\n"


def _name(case: Mapping[str, str]) -> str:
    how = [case["framing"]] if case["stream"] == "text" and case["framing"] == "data" else []
    return ", ".join([case["stream"], *how, *([case["chunking"]] if case["chunking"] != "one event" else [])])


def _sides(case: Mapping[str, Any]) -> tuple[dict[str, float], dict[str, float]]:
    """The figures of a case: ours by who reads, and those of others."""
    ours: dict[str, float] = {}
    others: dict[str, float] = {}
    for name, figure in case["readers"].items():
        own = next((own for own in _OURS if name == own or name.startswith(f"{own}, ")), None)
        if own is None:
            others[name] = figure["median"]
        elif not name.endswith(("OpenResponses events", "without the fast path")):
            ours.setdefault(own, figure["median"])
    return ours, others


def _grids(results: Mapping[str, Any]) -> list[Grid]:
    return [
        Grid("Targets", ("what", "measured", "target", ""), [target_row(one) for one in _targets(results)]),
        Grid(
            "Reading, µs an event",
            ("stream", *_OURS, FLOOR.name, "others"),
            [_read(case) for case in results["microseconds_per_event"]],
        ),
        Grid("Counting, the sidecar and others", ("what", "measured"), [*_others(results)]),
    ]


def _targets(results: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """All targets; of a kind with many cases, the one that is nearest to its limit, or beyond it."""
    kinds: dict[str, list[Mapping[str, Any]]] = {}
    for target in results["targets"]:
        kind = next((kind for kind in _MANY if kind in target["what"]), target["what"])
        kinds.setdefault(kind, []).append(target)
    for targets in kinds.values():
        worst = max(targets, key=lambda one: one["figure"] / one["limit"] if one["limit"] else 0.0)
        more = f" (the most of {len(targets)})" if len(targets) > 1 else ""
        yield {**worst, "what": worst["what"] + more}


def _read(case: Mapping[str, Any]) -> tuple[str, ...]:
    ours, others = _sides(case)
    floor = others.pop(FLOOR.name, None)
    figures = [ours.get(own) for own in _OURS] + [floor]
    said = ", ".join(f"{name} {figure:.1f}" for name, figure in others.items())
    return _name(case), *("–" if figure is None else f"{figure:.2f}" for figure in figures), said


def _others(results: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    counting, sidecar = results["counting"], results["sidecar"]
    for name, found in counting["text"].items():
        yield f"{counting['characters']:,} characters: {name}", f"{found['milliseconds']:.2f} ms"
    for name, figures in counting["conversation_milliseconds"].items():
        yield (
            f"a total of 1,000 messages, {name}: estimated, exact",
            " and ".join(f"{figure:.2f} ms" for figure in figures.values()),
        )
    for name, cost in results["keeping_microseconds_per_event"].items():
        yield f"an event through the transport, {name}", f"{cost['median']:.1f} µs"
    for name, start in sidecar["start"].items():
        memory = f", {start['resident_listed']:.0f} MiB" if start["resident_listed"] else ""
        yield f"the sidecar's first part, {name}", f"{start['answered']:.0f} ms{memory}"
    for name, row in sidecar["work"].items():
        yield f"the sidecar: {name}", f"{row['figure']:,.4g} {row['unit']}"
