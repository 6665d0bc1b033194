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
    PACED,
    PEERS,
    SERVERS,
)  # fmt: skip

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from benchmarks.serving.contestants import Contestant, Server

__all__ = ["RESULTS", "ahead", "grids", "page"]

RESULTS: Final = Path(__file__).resolve().parent / "results.json"

_MEGABYTE: Final = 1e6
_SHORT, _LONG = "10", "200"
_STREAMS: Final = "streams at once"
_LAST_HUNDREDTH: Final = 98
"""The place of the 99th percentile among the hundredths."""

_INTRODUCTION: Final = """\
<!-- Made by tools/generate.py of benchmarks/serving/results.json, which `make bench WHAT=serve` writes. -->
# Performance of serving

`partstream serve` and a [hub](../hub.md), beside a floor and gateways of others, in one run: `make bench WHAT=serve`,
fourteen minutes on Linux with Node 20. `ONLY="floor partstream" ROUNDS=1` is a quick look, which leaves this page as it
is.

## Where others are ahead

"""

_EXPLANATION: Final = """
## How it is measured

Everybody runs at the same time before one model server, over loopback, on the same processors as that server and the
clients. In each lap, {laps} of a round, all have a turn, in an order of chance, those that take long last: the speed of
a machine changes within seconds. One answer of each is compared letter by letter with what was to be said, and the
words of every answer are counted. A ratio is the median of the ratios of the laps, with the least and the most of them.
The definitions are those of the public board of gateways (onthebench.ai).

- **Added to the first word**: from a request to its first word, less the same of the model server alone. One client,
  {firsts} answers of 10 words in a lap.
- **Added to a gap**: from word to word of an answer of 64 words, one every 20 ms, less the same of the model server.
- **Processor time**: the clock of the process with its ended threads, and its children, for an answer. 16 clients.
  Postgres' own processes are not in it. **A further word**: that of 200 words less that of 10, for each of the 190.
- **Streams at once**: the most of 8, 16, 24, 32, 48 and so on of which every word comes and no gap is longer than
  200 ms, in one of two tries; one word every 20 ms.
- **Memory**: what is resident in all processes before the first request, after so many answers, and at rest again.
  Growth is that from the middle of the rounds to their end.
- **Start**: from the start of the process to the end of its first answer of 10 words.

Who takes part:

- **the model server**: raw sockets, one event a turn of the event loop.
- **floor**: the least that Python can do, 150 lines under uvicorn, httptools and uvloop. They check the key, change the
  model, forward the bytes and note the usage.
- **partstream**: `partstream serve --profile`, without a store of answers, else as it is by default.
- **hub**: `partstream serve --hub`: one worker, a key with a budget and a price, a SQLite file or Postgres.
- **llm-rosetta**: its gateway, without keys. It closes the connection after each answer; opening the next one is not in
  its times.
- **Portkey**: its gateway, without keys. It waits 25 ms after the first event of each answer. On Node 20 it answers 500
  to everything; a preload of three lines, which makes headers changeable, mends that.
- **TensorZero**: its gateway in Rust, embedded in a process of Python, without keys and without a database. It is asked
  in Chat Completions alone.
- **LiteLLM**: its proxy, one worker, a master key, no database. PyPI lacks some of the packages that its extra `proxy`
  names; the newest there stand in for them. {rust}

Client and model server speak Chat Completions, if nothing else is said. *Messages* is Anthropic Messages on both
sides, *Chat to Messages* a client of Chat Completions before Anthropic Messages. *A provider* answers out of a class in
Python, without a model server.

"""

_RUST: Final = """\
Its Rust core
  is switched on (`LITELLM_RUST=true`); {} that Rust made it (`x-litellm-rust`)."""


def page(results: Mapping[str, Any]) -> str:
    """The page that explains the results."""
    rust = _RUST.format(
        f"an answer of {', '.join(results['by_rust'])}" if results["by_rust"] else "none of its answers"
    )
    explanation = _EXPLANATION.format(rust=rust, **results["sizes"])
    tables = markdown(results["machine"], results["skipped"], grids(results))
    return "".join((_INTRODUCTION, *ahead(results), "\n", tables, explanation.rstrip(), "\n"))


def ahead(results: Mapping[str, Any]) -> Iterator[str]:
    """A line of each peer that is better than Partstream somewhere: its figure, and ours in brackets."""
    figures = _Figures(results)
    leads = {peer.name: ", ".join(figures.leads(peer)) for peer in PEERS if figures.has(peer, OURS)}
    for name, said in leads.items():
        if said:
            yield f"- **{name}**: {said}\n"
    if not any(leads.values()):
        yield "Nobody who was measured is, in any figure.\n"


def grids(results: Mapping[str, Any]) -> list[Grid]:
    """The results as tables; ratios to the floor only if it took part."""
    figures = _Figures(results)
    present = [one for one in CONTESTANTS if one.name in results["first_words"]]
    return [
        Grid("Targets", ("what", "measured", "goal", "reached"), [*figures.goals()]),
        Grid(
            "One client",
            ("contestant", "first word: added p50, ms", "p99, ms", "p50 / floor", "gap: added p50, ms", "p99, ms"),
            [figures.alone(one) for one in present],
        ),
        Grid(
            "16 clients",
            (
                "contestant", "10 words: answers/s", "processor, ms", "/ floor",
                "200 words: answers/s", "a further word, µs", "/ floor",
            ),
            [figures.at_work(one) for one in present],
        ),
        Grid(
            "Streams at once, memory and start",
            (
                "server", "streams", "idle, MB", "after, MB", "answers", "at rest again, MB",
                "growth, MB per 1,000 answers", "start, s",
            ),
            [*figures.held()],
        ),
    ]  # fmt: skip


class _Figures:
    """What follows from the results of a run."""

    def __init__(self, results: Mapping[str, Any]) -> None:
        self._results = results

    def alone(self, one: Contestant) -> tuple[str, ...]:
        """A row of the times of one client."""
        is_direct = one in (DIRECT, DIRECT_MESSAGES)
        halves = [_hundredths(self._all(each))[49] for each in (one, _direct(one))]
        half = halves[0] if is_direct else median(self._added(one))
        late = self._late(one, "first_words", is_added=not is_direct)
        ratio = "" if is_direct or not self.has(FLOOR) else _spread(_ratios(self._added(one), self._added(FLOOR)))
        gaps = ["", ""]
        if one.name in self._results["gaps"]:
            gaps = [f"{self._late(one, 'gaps', place, is_added=not is_direct):.2f}" for place in (49, _LAST_HUNDREDTH)]
        name = f"{one.name} (not added)" if is_direct else one.name
        return name, f"{half:.2f}", f"{late:.2f}", ratio, *gaps

    def at_work(self, one: Contestant) -> tuple[str, ...]:
        """A row of rates and processor times."""
        short, long = (self._results["answers"][one.name][words] for words in (_SHORT, _LONG))
        rates = [f"{median(each['answers'] / each['seconds'] for each in laps):,.0f}" for laps in (short, long)]
        if one in (DIRECT, DIRECT_MESSAGES):
            return one.name, rates[0], "", "", rates[1], "", ""
        used, further = self._processor(one), self._further(one)
        ratios = ["", ""]
        if self.has(FLOOR):
            ratios = [
                _spread(_ratios(used, self._processor(FLOOR))),
                _spread(_ratios(further, self._further(FLOOR))),
            ]
        return one.name, rates[0], f"{median(used):.2f}", ratios[0], rates[1], f"{median(further):.1f}", ratios[1]

    def held(self) -> Iterator[tuple[str, ...]]:
        """The rows of streams, memory and start."""
        for server in SERVERS:
            if server.name not in self._results["memory"]:
                continue
            idle, after, again, growth = self._memory(server)
            sustained = self._results["streams"]
            streams = [f"{sustained[one.name]:,}" for one in PACED if one.server is server and one.name in sustained]
            answers = f"{self._results['memory'][server.name][-2][0]:,}"
            grown = "" if growth is None else f"{growth:.2f}"
            starts = self._results["starts"].get(server.name)
            start = f"{median(starts):.2f}" if starts else ""
            sizes = f"{idle:.1f}", f"{after:.1f}", answers, f"{again:.1f}", grown
            yield server.name, *(streams or [""]), *sizes, start

    def leads(self, peer: Contestant) -> Iterator[str]:
        """Where a peer is better than Partstream: its figure, and ours in brackets."""
        for (what, unit, theirs), (_, _, ours) in zip(self._figures(peer), self._figures(OURS), strict=True):
            is_better = theirs > ours if what == _STREAMS else theirs < ours
            if is_better:
                yield f"{what} {theirs:.3g}{unit} ({ours:.3g})"

    def _figures(self, one: Contestant) -> Iterator[tuple[str, str, float]]:
        """What is compared: less is better, but of streams."""
        yield "added to the first word", " ms", median(self._added(one))
        yield "first word, p99", " ms", self._late(one, "first_words")
        yield "processor time of an answer of 10 words", " ms", median(self._processor(one))
        yield "processor time of a further word", " µs", median(self._further(one))
        yield _STREAMS, "", self._results["streams"].get(one.name, 0)
        idle, after, _, growth = self._memory(one.server)
        yield "memory idle", " MB", idle
        yield "after the rounds", " MB", after
        yield "growth per 1,000 answers", " MB", growth or 0.0
        yield "start", " s", median(self._results["starts"].get(one.server.name, [0.0]))

    def _memory(self, server: Server) -> tuple[float, float, float, float | None]:
        """Megabytes before the first answer, after the rounds and at rest again; and the growth by 1,000 answers from
        the middle of the rounds to their end, None for a single round."""
        (_, idle), *rounds, (_, again) = self._results["memory"][server.name]
        (some, halfway), (all_, after) = rounds[(len(rounds) - 1) // 2], rounds[-1]
        growth = (after - halfway) / _MEGABYTE / (all_ - some) * 1000 if all_ > some else None
        return idle / _MEGABYTE, after / _MEGABYTE, again / _MEGABYTE, growth

    def goals(self) -> Iterator[tuple[str, str, str, str]]:
        """What is to be reached."""
        if self.has(FLOOR, OURS):
            yield from self._beside_floor()
        for hub in HUBS:
            if self.has(OURS, hub):
                more = [one - other for one, other in zip(self._added(hub), self._added(OURS), strict=True)]
                yield _at_most(f"added to the first word by a {hub.name}, more than without", more, 0.7, "ms")
        if self.has(OURS):
            yield _at_most("memory, idle", [self._memory(OURS.server)[0]], 45.0, "MB")
            if starts := self._results["starts"].get(OURS.server.name):
                yield _at_most("start to the first answer", starts, 0.30, "s")
        for peer in PEERS:
            if self.has(OURS, peer):
                yield from self._beside(peer)

    def _beside_floor(self) -> Iterator[tuple[str, str, str, str]]:
        added = self._added(FLOOR)
        for one, what, limit in (
            (OURS, "same wire", 3.0),
            (MESSAGES, "same wire, Messages", 3.0),
            (ACROSS, "across wires", 5.0),
        ):
            if self.has(one):
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
        idle = [self._memory(one.server)[0] for one in (peer, OURS)]
        yield f"memory, idle, {peer.name} / Partstream", f"{idle[0] / idle[1]:.3g} ×", "–", "–"

    def has(self, *contestants: Contestant) -> bool:
        """Whether all of them took part."""
        return all(one.name in self._results["first_words"] for one in contestants)

    def _added(self, one: Contestant) -> list[float]:
        """By lap: the milliseconds to the first word beyond those of the model server itself."""
        through, alone = (self._results["first_words"][each.name] for each in (one, _direct(one)))
        return [median(values) - median(others) for values, others in zip(through, alone, strict=True)]

    def _late(
        self, one: Contestant, of: str = "first_words", place: int = _LAST_HUNDREDTH, *, is_added: bool = True
    ) -> float:
        """A hundredth of all laps, the 99th if nothing else is said, beyond that of the model server."""
        through, alone = (_hundredths(self._all(each, of))[place] for each in (one, _direct(one)))
        return through - alone if is_added else through

    def _all(self, one: Contestant, of: str = "first_words") -> list[float]:
        """The milliseconds of all laps from a request to its first word, or from a word to the next."""
        return [*chain.from_iterable(self._results[of][one.name])]

    def _processor(self, one: Contestant, words: str = _SHORT) -> list[float]:
        """By lap: the milliseconds of an answer."""
        return [each["processor"] / each["answers"] * 1e3 for each in self._results["answers"][one.name][words]]

    def _further(self, one: Contestant) -> list[float]:
        """By lap: the microseconds of a further word."""
        pairs = zip(self._processor(one, _LONG), self._processor(one), strict=True)
        return [(long - short) / (int(_LONG) - int(_SHORT)) * 1e3 for long, short in pairs]


def _direct(one: Contestant) -> Contestant:
    """The model server itself, in the wire in which it speaks to a contestant."""
    return DIRECT if one.upstream == "chat" else DIRECT_MESSAGES


def _hundredths(values: Sequence[float]) -> list[float]:
    return quantiles(values, n=100)


def _ratios(values: Sequence[float], others: Sequence[float]) -> list[float]:
    return [one / other for one, other in zip(values, others, strict=True)]


def _spread(values: Sequence[float]) -> str:
    """The median, and what the laps differ by."""
    return f"{median(values):.2f} [{min(values):.2f}–{max(values):.2f}]"


def _at_most(what: str, values: Sequence[float], limit: float, unit: str) -> tuple[str, str, str, str]:
    figure = median(values)
    reached = "reached" if figure <= limit else "not reached"
    return what, f"{figure:.3g} {unit}", f"≤ {limit:g} {unit}", reached


def _more_than(what: str, values: Sequence[float]) -> tuple[str, str, str, str]:
    figure = median(values)
    return what, f"{figure:.3g} ×", "> 1 ×", "reached" if figure > 1 else "not reached"
