"""Makes tables and a page of the results; reads nothing but them, so that the page can be made anywhere."""

from __future__ import annotations
from itertools import chain
from pathlib import Path
from statistics import median, quantiles
from typing import TYPE_CHECKING, Any, Final

from benchmarks.grids import Grid, markdown
from benchmarks.serving.contestants import (
    ACROSS,
    CONTESTANTS,
    DIRECT,
    DIRECT_MESSAGES,
    FLOOR,
    HUBS,
    MESSAGES,
    OURS,
    PEERS,
    SERVERS,
)  # fmt: skip

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from benchmarks.serving.contestants import Contestant

__all__ = ["RESULTS", "grids", "page"]

RESULTS: Final = Path(__file__).resolve().parent / "results.json"

_MEGABYTE: Final = 1e6
_SHORT, _LONG = "10", "200"
_LAST_HUNDREDTH: Final = 98
"""The place of the 99th percentile among the hundredths."""

_INTRODUCTION: Final = """\
<!-- Made by tools/generate.py of benchmarks/serving/results.json, which `make bench WHAT=serve` writes. -->
# Performance of serving

`make bench WHAT=serve` measures `partstream serve` and a [hub](../hub.md) beside a floor and gateways of others. It
needs Linux and Node 20, takes about a quarter of an hour, and makes this page. Its exit code is 0 whatever the figures
are. `make bench WHAT=serve ONLY="floor partstream" ROUNDS=3` is a quick look, which leaves the page as it is.

| contestant | what it is |
|---|---|
| the model server | raw sockets, one event a turn of the event loop; all others are before it |
| floor | what it costs at least in Python: an application of 150 lines under uvicorn, httptools and uvloop |
| partstream | `partstream serve --profile`, without a store of answers, else as it is by default |
| hub | `partstream serve --hub`: one worker, a key with a budget and a price, a SQLite file or Postgres |
| llm-rosetta | its gateway, from PyPI, open to everybody: its settings take no keys |
| Portkey | its gateway, from npm, which has no keys of its own |
| LiteLLM | its proxy, the newest that PyPI has with all that it needs: one worker, a master key, no database |

The floor checks the key, reads the request, changes its model, forwards the bytes of the answer and notes its usage.
Client and model server speak Chat Completions, if nothing else is said. *Messages* is Anthropic Messages on both sides,
*Chat to Messages* a client of Chat Completions before a model server of Anthropic Messages. *A provider* answers out of
a class in Python, without a model server. The gateway of Portkey answers 500 to everything on Node 20, because it
changes headers that cannot be changed; here a preload of three lines makes them changeable. llm-rosetta closes the
connection after each answer; opening the next one is not in its times to a first word.

All run at the same time, and are asked over loopback by one process that reads raw sockets. In each round everybody has
a turn, in an order of chance, so what else the machine does falls on all. The text of an answer of each is compared
with what was to be said, and the words of every answer are counted. A ratio is the median of the ratios of the rounds,
with the least and the most of them.

- **Added to the first word**: the median time from a request to its first word, less that of the model server alone.
  One client, answers of 10 words.
- **Processor time**: the clock of the process with its ended threads, and its children, for an answer. 16 clients. The
  processes of Postgres are not in it.
- **A further word**: the processor time of an answer of 200 words less that of 10, for each of the 190.
- **Memory** is what is resident in all processes: before the first request, and after so many answers.
- **Start**: from the start of the process to the end of its first answer of 10 words.

"""


def page(results: Mapping[str, Any]) -> str:
    """The page that explains the results."""
    return _INTRODUCTION + markdown(results["machine"], results["skipped"], grids(results))


def grids(results: Mapping[str, Any]) -> list[Grid]:
    """The results as tables; ratios to the floor only if it took part."""
    figures = _Figures(results)
    present = [one for one in CONTESTANTS if one.name in results["first_words"]]
    return [
        Grid("Targets", ("what", "measured", "goal", "reached"), [*figures.goals()]),
        Grid(
            "First word, one client",
            ("contestant", "added p50, ms", "added p99, ms", "p50 / floor", "p99 / floor"),
            [figures.first_words(one) for one in present],
        ),
        Grid(
            "16 clients",
            (
                "contestant", "10 words: answers/s", "processor, ms", "/ floor",
                "200 words: answers/s", "a further word, µs", "/ floor",
            ),
            [figures.at_work(one) for one in present],
        ),
        Grid("Memory and start", ("server", "idle, MB", "after, MB", "answers", "start, s"), [*figures.held()]),
    ]  # fmt: skip


class _Figures:
    """What follows from the results of a run."""

    def __init__(self, results: Mapping[str, Any]) -> None:
        self._results = results

    def first_words(self, one: Contestant) -> tuple[str, ...]:
        """A row of the times to a first word."""
        if one in (DIRECT, DIRECT_MESSAGES):
            half, late = (quantiles(self._all(one), n=100)[place] for place in (49, _LAST_HUNDREDTH))
            return f"{one.name} (not added)", f"{half:.2f}", f"{late:.2f}", "", ""
        late = self._late(one)
        of_floor = f"{late / self._late(FLOOR):.1f}" if self._has(FLOOR) else ""
        ratio = _spread(_ratios(self._added(one), self._added(FLOOR))) if self._has(FLOOR) else ""
        return one.name, f"{median(self._added(one)):.2f}", f"{late:.2f}", ratio, of_floor

    def at_work(self, one: Contestant) -> tuple[str, ...]:
        """A row of rates and processor times."""
        short, long = (self._results["answers"][one.name][words] for words in (_SHORT, _LONG))
        rates = [f"{median(each['answers'] / each['seconds'] for each in rounds):,.0f}" for rounds in (short, long)]
        if one in (DIRECT, DIRECT_MESSAGES):
            return one.name, rates[0], "", "", rates[1], "", ""
        used, further = self._processor(one), self._further(one)
        ratios = ["", ""]
        if self._has(FLOOR):
            ratios = [
                _spread(_ratios(used, self._processor(FLOOR))),
                _spread(_ratios(further, self._further(FLOOR))),
            ]
        return one.name, rates[0], f"{median(used):.2f}", ratios[0], rates[1], f"{median(further):.1f}", ratios[1]

    def held(self) -> Iterator[tuple[str, ...]]:
        """The rows of memory and start."""
        for server in SERVERS:
            if (memory := self._results["memory"].get(server.name)) is None:
                continue
            sizes = [f"{memory[name] / _MEGABYTE:.1f}" for name in ("idle_bytes", "after_bytes")]
            starts = self._results["starts"].get(server.name)
            yield server.name, *sizes, f"{memory['answers']:,}", f"{median(starts):.2f}" if starts else ""

    def goals(self) -> Iterator[tuple[str, str, str, str]]:
        """What is to be reached."""
        if self._has(FLOOR, OURS):
            yield from self._beside_floor()
        for hub in HUBS:
            if self._has(OURS, hub):
                more = [one - other for one, other in zip(self._added(hub), self._added(OURS), strict=True)]
                yield _at_most(f"added to the first word by a {hub.name}, more than without", more, 0.7, "ms")
        if self._has(OURS):
            memory = self._results["memory"][OURS.server.name]
            yield _at_most("memory, idle", [memory["idle_bytes"] / _MEGABYTE], 45.0, "MB")
            if starts := self._results["starts"].get(OURS.server.name):
                yield _at_most("start to the first answer", starts, 0.30, "s")
        for peer in PEERS:
            if self._has(OURS, peer):
                yield from self._beside(peer)

    def _beside_floor(self) -> Iterator[tuple[str, str, str, str]]:
        added = self._added(FLOOR)
        for one, what, limit in (
            (OURS, "same wire", 3.0),
            (MESSAGES, "same wire, Messages", 3.0),
            (ACROSS, "across wires", 5.0),
        ):
            if self._has(one):
                yield _at_most(f"added to the first word, {what} / floor", _ratios(self._added(one), added), limit, "×")
        used = _ratios(self._processor(OURS), self._processor(FLOOR))
        yield _at_most("processor time of an answer of 10 words / floor", used, 5.0, "×")
        further = _ratios(self._further(OURS), self._further(FLOOR))
        yield _at_most("processor time of a further word, same wire / floor", further, 1.3, "×")

    def _beside(self, peer: Contestant) -> Iterator[tuple[str, str, str, str]]:
        added = _ratios(self._added(peer), self._added(OURS))
        yield _more_than(f"added to the first word, {peer.name} / Partstream", added)
        used = _ratios(self._processor(peer), self._processor(OURS))
        yield _more_than(f"processor time of an answer of 10 words, {peer.name} / Partstream", used)
        idle = [self._results["memory"][one.server.name]["idle_bytes"] for one in (peer, OURS)]
        yield f"memory, idle, {peer.name} / Partstream", f"{idle[0] / idle[1]:.3g} ×", "–", "–"

    def _has(self, *contestants: Contestant) -> bool:
        return all(one.name in self._results["first_words"] for one in contestants)

    def _added(self, one: Contestant) -> list[float]:
        """By round: the milliseconds to the first word beyond those of the model server itself."""
        through, alone = (self._results["first_words"][each.name] for each in (one, _direct(one)))
        return [median(values) - median(others) for values, others in zip(through, alone, strict=True)]

    def _late(self, one: Contestant) -> float:
        """The 99th percentile of all rounds, beyond that of the model server."""
        through, alone = (quantiles(self._all(each), n=100)[_LAST_HUNDREDTH] for each in (one, _direct(one)))
        return through - alone

    def _all(self, one: Contestant) -> list[float]:
        """The milliseconds of all rounds from a request to its first word."""
        return [*chain.from_iterable(self._results["first_words"][one.name])]

    def _processor(self, one: Contestant, words: str = _SHORT) -> list[float]:
        """By round: the milliseconds of an answer."""
        return [each["processor"] / each["answers"] * 1e3 for each in self._results["answers"][one.name][words]]

    def _further(self, one: Contestant) -> list[float]:
        """By round: the microseconds of a further word."""
        pairs = zip(self._processor(one, _LONG), self._processor(one), strict=True)
        return [(long - short) / (int(_LONG) - int(_SHORT)) * 1e3 for long, short in pairs]


def _direct(one: Contestant) -> Contestant:
    """The model server itself, in the wire in which it speaks to a contestant."""
    return DIRECT if one.upstream == "chat" else DIRECT_MESSAGES


def _ratios(values: Sequence[float], others: Sequence[float]) -> list[float]:
    return [one / other for one, other in zip(values, others, strict=True)]


def _spread(values: Sequence[float]) -> str:
    """The median, and what the rounds differ by."""
    return f"{median(values):.2f} [{min(values):.2f}–{max(values):.2f}]"


def _at_most(what: str, values: Sequence[float], limit: float, unit: str) -> tuple[str, str, str, str]:
    figure = median(values)
    reached = "reached" if figure <= limit else "not reached"
    return what, f"{figure:.3g} {unit}", f"≤ {limit:g} {unit}", reached


def _more_than(what: str, values: Sequence[float]) -> tuple[str, str, str, str]:
    figure = median(values)
    return what, f"{figure:.3g} ×", "> 1 ×", "reached" if figure > 1 else "not reached"
