"""The view of recordings: what a page, a terminal and a script show of them, as JSON.

A file gives a view of each of its exchanges that is an answer of a model, and of each answer of a host whose parts came
from none or from several of them. Two answers are compared by the structure of their parts, not by time: deltas are
joined first, because two answers hardly ever cut their texts alike; then the longest common subsequence of the runs is
found, by kind and name of the tool, and the runs of each pair are compared. A regression is what became worse from an
old answer to a new one, for a script. An account says the same of an answer in words: a terminal, a summary for an
issue, and the page without its script print its rows.
"""

from __future__ import annotations
import re
import shlex
from base64 import b64decode
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypedDict

from partstream.codec.checks import dataclass, replace
from partstream_devtools.bundles.recorded import answers_in
from partstream_devtools.inspector.answer_view import view_of_answer, view_of_exchange
from partstream_devtools.inspector.cache import Conversations, finding_of
from partstream_devtools.inspector.reading import read_exchange
from partstream_devtools.inspector.shapes import FORMAT, AnswerView, CommandView, RedactionView, View

if TYPE_CHECKING:
    from partstream_devtools.bundles.exchange import Bundle, RecordedAnswer, RecordedExchange
    from partstream_devtools.inspector.cache import Prices
    from partstream_devtools.inspector.shapes import ComparisonRow, ComparisonView, RunView

# ---- Comparing ----

MOST_IN_PAIRS: Final = 4
"""Answers of which all pairs are compared; of more, each with the first."""
_MOST_CELLS: Final = 4_000_000
"""Cells of the table that finds the longest common subsequence; of more, only beginnings and ends are paired."""
_AROUND: Final = 24  # characters that are shown around the place where two texts differ
_DIFFERS: Final = {"text": "texts differ", "call": "arguments differ", "data": "data differ"}
_CLASS_OF_ID: Final = re.compile(r"(?:[A-Za-z]+[-_])+")


def comparisons(answers: Sequence[AnswerView]) -> list[ComparisonView]:
    """The comparisons of answers: all pairs of four or fewer, else each with the first."""
    if len(answers) <= MOST_IN_PAIRS:
        return [compare(left, right) for left, right in combinations(answers, 2)]
    return [compare(answers[0], right) for right in answers[1:]]


_ENDS: Final[Mapping[str, Callable[[AnswerView], str]]] = {
    "outcome": lambda view: view["outcome"],
    "finish reason": lambda view: "" if view["finishReason"] is None else view["finishReason"]["unified"],
    "broken rules": lambda view: ", ".join(sorted({one["rule"] for one in view["violations"]})),
    "events without a part": lambda view: ", ".join(sorted({one["type"] for one in view["unmapped"]})),
}
"""What is compared of the ends of two answers."""


def compare(left: AnswerView, right: AnswerView) -> ComparisonView:
    """One answer beside another."""
    rows = [_row(left, right, one, two) for one, two in _aligned(left["runs"], right["runs"])]
    said = ((name, of(left) or "none", of(right) or "none") for name, of in _ENDS.items())
    ends = [f"{name}: {one}, {two}" for name, one, two in said if one != two]
    if ends:
        rows.append({"left": None, "right": None, "label": "end", "same": False, "differences": ends})
    return {
        "left": left["id"],
        "right": right["id"],
        "same": all(row["same"] for row in rows),
        "rows": rows,
        "numbers": [
            {
                "id": one["id"],
                "label": one["label"],
                "left": one["text"],
                "right": two["text"],
                "ratio": round(two["value"] / one["value"], 3) if one["value"] and two["value"] is not None else None,
            }
            for one, two in zip(left["numbers"], right["numbers"], strict=True)
        ],
    }


def _aligned(left: Sequence[RunView], right: Sequence[RunView]) -> list[tuple[int | None, int | None]]:
    """The runs of both sides in order, in pairs: of one kind, and calls of one label."""
    one, two = ([run["label"] if run["kind"] == "call" else run["kind"] for run in side] for side in (left, right))
    start = _common(one, two)
    end = _common(one[start:][::-1], two[start:][::-1])
    inner = (one[start : len(one) - end], two[start : len(two) - end])
    pairs: list[tuple[int | None, int | None]] = [(index, index) for index in range(start)]
    pairs += [(None if a is None else a + start, None if b is None else b + start) for a, b in _longest_common(*inner)]
    pairs += [(len(one) - end + index, len(two) - end + index) for index in range(end)]
    return pairs


def _common(one: Sequence[Hashable], two: Sequence[Hashable]) -> int:
    return next((index for index, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))


def _longest_common(one: Sequence[Hashable], two: Sequence[Hashable]) -> Iterator[tuple[int | None, int | None]]:
    """The pairs of the longest common subsequence, and between them what only one side has."""
    rows, columns = len(one), len(two)
    if rows * columns > _MOST_CELLS:
        yield from ((index, None) for index in range(rows))
        yield from ((None, index) for index in range(columns))
        return
    lengths = [[0] * (columns + 1) for _ in range(rows + 1)]
    for a in range(rows - 1, -1, -1):
        for b in range(columns - 1, -1, -1):
            longest = max(lengths[a + 1][b], lengths[a][b + 1])
            lengths[a][b] = lengths[a + 1][b + 1] + 1 if one[a] == two[b] else longest
    a = b = 0
    while a < rows or b < columns:
        if a < rows and b < columns and one[a] == two[b]:
            yield a, b
            a, b = a + 1, b + 1
        elif b == columns or (a < rows and lengths[a + 1][b] >= lengths[a][b + 1]):
            yield a, None
            a += 1
        else:
            yield None, b
            b += 1


def _row(left: AnswerView, right: AnswerView, one: int | None, two: int | None) -> ComparisonRow:
    if one is None or two is None:
        run = right["runs"][two] if two is not None else left["runs"][one or 0]
        side = "right" if one is None else "left"
        label, differences = run["label"], [f"only on the {side}"]
    else:
        label = left["runs"][one]["label"]
        differences = list(_differences(left, right, left["runs"][one], right["runs"][two]))
    return {"left": one, "right": two, "label": label, "same": not differences, "differences": differences}


def _differences(left: AnswerView, right: AnswerView, one: RunView, two: RunView) -> Iterator[str]:
    texts = _text(left, one), _text(right, two)
    if texts[0] != texts[1]:
        place = _common(*texts)
        shown = " and ".join(repr(text[max(0, place - _AROUND) : place + _AROUND]) for text in texts)
        what = _DIFFERS.get(one["kind"], f"{one['kind']} differs")
        yield f"{what} at character {place + 1:,} ({len(texts[0]):,} and {len(texts[1]):,} in all): {shown}"
    ids = _class_of_id(left, one), _class_of_id(right, two)
    if ids[0] != ids[1]:
        yield f"ids of another kind: {ids[0] or 'none'}, {ids[1] or 'none'}"


def _text(view: AnswerView, run: RunView) -> str:
    return "".join(part["text"] for part in view["parts"][run["from"] : run["to"] + 1])


def _class_of_id(view: AnswerView, run: RunView) -> str:
    """What ids begin with that are made alike, such as `call_`."""
    part = view["parts"][run["from"]]
    found = _CLASS_OF_ID.match(part["callId"] or part["id"] or "")
    return "" if found is None else found[0]


# ---- The view ----


@dataclass(frozen=True, slots=True)
class ViewedFile:
    """A recording and where it came from.

    Attributes:
        name: The name of its file, or what else people call it.
        form: The name of its form, such as `bundle` or `sse`.
        bundle: What it holds.
        path: How a command names it; empty for what is no file, and is named in no command.
    """

    name: str
    form: str
    bundle: Bundle
    path: str = ""
    earlier: tuple[RecordedExchange, ...] = ()


def view_of(files: Sequence[ViewedFile], *, is_live: bool = False, prices: Prices = lambda _model: None) -> View:
    """The view of one or several files.

    Args:
        files: The files; answers of several files are compared with each other.
        is_live: Whether more may come.
        prices: Gives the known prices of a model, for what a spoiled cache costs.
    """
    pairs = [pair for number, file in enumerate(files) for pair in _answers(file, number, len(files))]
    answers = [answer for answer, _ in pairs]
    _diagnose(pairs, [one for file in files for one in file.earlier], prices)
    versions: dict[str, str] = {}
    for file in files:
        # Of several files, the first that says a version counts.
        versions |= {"made by": file.bundle.made_by, **file.bundle.versions, **versions}
    return {
        "format": FORMAT,
        "title": ", ".join(file.name for file in files) or "no answer yet",
        "source": {
            "name": ", ".join(file.name for file in files),
            "form": ", ".join(dict.fromkeys(file.form for file in files)),
            "hasClock": any(number["value"] is not None for answer in answers for number in answer["numbers"]),
            "live": is_live,
        },
        "redaction": _redaction(files),
        "versions": versions,
        "answers": answers,
        "comparisons": comparisons(answers),
        "commands": list(_commands(files)),
    }


_BEFORE: Final = "the answer before"


def _diagnose(
    pairs: Sequence[tuple[AnswerView, RecordedExchange | None]], earlier: Sequence[RecordedExchange], prices: Prices
) -> None:
    """Says of each answer what became of the prompt cache since the request before, if that is of its conversation."""
    known = dict.fromkeys(map(id, earlier), _BEFORE)
    conversations = Conversations(earlier)
    for answer, exchange in pairs:
        if exchange is None:
            continue
        if (found := conversations.request_before(exchange)) is not None:
            read, now = read_exchange(found), read_exchange(exchange)
            answer["cache"] = finding_of(found, exchange, read, now, known[id(found)], prices)
        known[id(exchange)] = answer["title"]


def _answers(file: ViewedFile, number: int, files: int) -> Iterator[tuple[AnswerView, RecordedExchange | None]]:
    """The answers of a file, in the order in which they began, each with its exchange if there is one; ids name the
    file where there are several."""
    bundle, beside = _answers_alone(file.bundle)
    file = replace(file, bundle=bundle)
    before = f"{number + 1}." if files > 1 else ""
    known = {answer.number: answer for answer in bundle.answers}
    seen: list[tuple[AnswerView, RecordedExchange | None]] = []
    for answer_number in dict.fromkeys((*known, *(exchange.answer for exchange in bundle.exchanges))):
        answer, exchanges = known.get(answer_number), bundle.exchanges_of(answer_number)
        owner = _owner(answer, exchanges)
        # The exchange that the parts came from has the answer of the host; another has what all of its exchanges share.
        shared = None
        if answer is not None:
            shared = replace(answer, reported=(), outcome=None, error=None, left_out=0, dropped=())
        for exchange in exchanges:
            title = _title(file, exchange, exchanges, files)
            seen.append((view_of_exchange(exchange, answer if exchange is owner else shared, title), exchange))
        if answer is not None and owner is None:
            title = f"Answer {answer.number}, as its host got it"
            seen.append((view_of_answer(answer, f"{file.name}: {title}" if files > 1 else title), None))
    seen.sort(key=lambda pair: pair[0]["offset"])
    if beside and seen:
        seen[0][0]["notes"].append(f"The file also holds what is no answer of a model: {', '.join(beside)}.")
    for one, shown in seen:
        yield {**one, "id": before + one["id"]}, shown


def _answers_alone(bundle: Bundle) -> tuple[Bundle, list[str]]:
    """A bundle without exchanges that are no answers of a model, such as those for a list of models; what these are."""
    answers = answers_in(bundle)
    numbers = {one.number for one in answers}
    left = [one for one in bundle.exchanges if one.number not in numbers]
    if not left:
        return bundle, []
    named = [f"#{one.number} {one.request.method} {one.request.path}" for one in left if one.request is not None]
    alone = {one.answer for one in left} - {one.answer for one in answers}
    kept = tuple(one for one in bundle.answers if one.number not in alone or one.reported)
    return replace(bundle, exchanges=answers, answers=kept), named


def _owner(answer: RecordedAnswer | None, exchanges: Sequence[RecordedExchange]) -> RecordedExchange | None:
    """The exchange that the parts of an answer came from: that of one alone, or the last of several attempts.

    None where the parts came from several, as those of an agent, or of none.
    """
    if answer is None or not exchanges:
        return None
    attempts = {(one.request.path, one.request.body) if one.request is not None else None for one in exchanges}
    return exchanges[-1] if len(attempts) == 1 else None


def _title(file: ViewedFile, exchange: RecordedExchange, exchanges: Sequence[RecordedExchange], files: int) -> str:
    several = f", exchange {exchanges.index(exchange) + 1} of {len(exchanges)}" if len(exchanges) > 1 else ""
    alone = len(file.bundle.exchanges) == 1 and len(file.bundle.answers) <= 1
    number = "" if alone else f"Answer {exchange.answer}"
    names = [file.name] if files > 1 or alone else []
    return ": ".join([*names, *([number] if number else [])]) + several


def _redaction(files: Sequence[ViewedFile]) -> RedactionView:
    """What was replaced; of several files, the level of the one of which least was."""
    known = [file.bundle.redaction for file in files]
    counts: Counter[str] = Counter()
    for one in known:
        counts.update({} if one is None else one.counts)
    levels = {"unknown" if one is None else one.level.value for one in known}
    order = ("none", "unknown", "keys", "structure")
    return {
        "level": next((level for level in order if level in levels), "unknown"),
        "counts": dict(counts),
        "kept": sorted({name for one in known if one is not None for name in one.kept}),
    }


def _commands(files: Sequence[ViewedFile]) -> Iterator[CommandView]:
    """What a person may want to run on the same files."""
    if not files or not all(file.path for file in files):
        return  # what is in memory has no name that a command takes
    names = shlex.join(file.path for file in files)
    yield {"label": "Judge it by the contract", "text": f"partstream check {names}"}
    if len(files) == 1:
        yield {"label": "See its parts", "text": f"partstream replay {names}"}
        yield {"label": "Serve it as a model server", "text": f"partstream upstream --replay {names}"}
        yield {"label": "Make a file to share", "text": f"partstream share {names} answer.partstream.zip"}


# ---- Regressions ----

_WHOLE: Final = frozenset({"completed", "incomplete"})


class Regression(TypedDict):
    """One thing that is worse: `kind` is `slower`, `outcome`, `broken`, `unmapped` or `types`."""

    kind: str
    detail: str


def regressions(old: AnswerView, new: AnswerView, slower_than: float) -> list[Regression]:
    """What is worse of the new answer, whose first visible part may take `slower_than` times as long."""
    found: list[Regression] = []
    before, after = (
        next(number["value"] for number in one["numbers"] if number["id"] == "time_to_first_chunk")
        for one in (old, new)
    )
    if before is not None and after is not None and after > before * slower_than:
        detail = f"the first visible part came after {after:,.0f} ms, before after {before:,.0f} ms"
        found.append({"kind": "slower", "detail": f"{detail}: more than {slower_than:g} times as long"})
    if old["outcome"] in _WHOLE and new["outcome"] not in _WHOLE:
        found.append({"kind": "outcome", "detail": f"the answer is {new['outcome']}, before {old['outcome']}"})
    return [*found, *_broken_or_unmapped(old, new), *_gone(old, new)]


def _broken_or_unmapped(old: AnswerView, new: AnswerView) -> Iterator[Regression]:
    """What only the new answer breaks, and events that only there no part represents."""
    known = {one["rule"] for one in old["violations"]}
    for rule in dict.fromkeys(one["rule"] for one in new["violations"]):
        if rule not in known:
            yield {"kind": "broken", "detail": f"{rule} is broken now"}
    unmapped = {one["type"] for one in old["unmapped"]}
    for one in new["unmapped"]:
        if one["type"] not in unmapped:
            yield {"kind": "unmapped", "detail": f"no part represents the new events of type {one['type']}"}


def _gone(old: AnswerView, new: AnswerView) -> Iterator[Regression]:
    """Types of events that are gone. New ones that are understood make nothing worse, nor does another protocol."""
    protocols = [one["protocol"]["name"] for one in (old, new) if one["protocol"] is not None]
    if len(set(protocols)) > 1:
        return
    types = {event["type"] for event in new["events"]}
    for kind in dict.fromkeys(event["type"] for event in old["events"] if event["kind"] != "keepalive"):
        if kind not in types:
            yield {"kind": "types", "detail": f"events of type {kind} are gone"}


# ---- An account in words ----

_MOST_LISTED: Final = 10
"""Violations, gaps and numbers of events that are listed."""
_LONGEST_QUOTE: Final = 600  # characters of the event at which it went wrong, and of a field of an error
_BLAMED: Final = {
    "server": "The server's fault",
    "network": "The network's fault",
    "provider": "The provider's fault",
    "client": "Not the server's fault",
    "nobody": "No fault",
}
_STYLES: Final = {"nobody": "green", "client": "yellow"}


class Row(NamedTuple):
    """A row of an account: a name, which may be empty, and what it says, which may have several lines.

    Attributes:
        style: How a terminal shows it.
        form: `ours` for words of Partstream, `quoted` for words of a server, `number` for a row of the numbers.
        level: 1, or 2 for what belongs to the row before.
    """

    name: str
    value: str
    style: str = ""
    form: Literal["ours", "quoted", "number"] = "ours"
    level: int = 1


def facts_of(answer: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The facts of the head of the page: a name and a text each."""
    request, response, protocol = answer["request"], answer["response"], answer["protocol"]
    finish, usage = answer["finishReason"], answer["usage"]
    counts = ", ".join(f"{label} {number:,}" for label, number in usage["rows"]) if usage else ""
    facts = (
        ("Request", request and f"{request['method']} {request['path']}"),
        ("Response", response and f"{response['status']} {response['reason']}".strip()),
        ("Protocol", protocol and protocol.get("title", protocol["name"]) + ("" if protocol["sure"] else " (guessed)")),
        ("Model", answer["model"]),
        ("Host", answer["host"]),
        ("Started", answer["startedAt"]),
        ("Finish reason", finish and finish["unified"] + (f" ({finish['raw']})" if finish["raw"] else "")),
        ("Bytes ended", answer["ending"] or (answer["events"] and "-")),
        ("Usage", usage and f"{counts} ({usage['source']})"),
        ("Prompt cache", answer["cache"] and answer["cache"]["text"]),
    )
    return [(name, str(value)) for name, value in facts if value]


def account_of(answer: Mapping[str, Any]) -> Iterator[Row]:
    """What happened in an answer, where it went wrong, and whose fault it is, beside :func:`facts_of`."""
    facts, events, reads, reason = dict(facts_of(answer)), answer["events"], answer["reads"], answer["finishReason"]
    words = (
        facts.get("Protocol", "unknown protocol"),
        answer["model"],
        answer["response"] and f"HTTP {answer['response']['status']}",
        answer["outcome"] + (f" ({reason['raw'] or reason['unified']})" if reason else ""),
        f"{sum(event['count'] for event in events):,} events"
        if events
        else f"{len(answer['parts']):,} parts, no bytes",
        reads and f"{reads[-1][2]:,} bytes in {len(reads):,} reads",
        answer["usage"] and f"tokens {facts['Usage']}",
    )
    yield Row("", " · ".join(filter(None, words)), form="quoted")
    blame, verdict = answer["blame"], answer["verdict"]
    yield Row(_BLAMED[blame["who"]], blame["sentence"], _STYLES.get(blame["who"], "bold red"))
    judged = "broken" if verdict["broken"] else "kept" if verdict["kept"] else "not judged"
    counts = (("kept", "kept"), ("broken", "broken"), ("warnings", "warned of"), ("notJudged", "not judged"))
    yield Row(f"Contract {judged}", ", ".join(f"{verdict[key]} {word}" for key, word in counts if verdict[key]) + ".")
    yield from _wrong(answer)
    for one in answer["violations"][:_MOST_LISTED]:
        where = "the end" if one["part"] is None else f"part {one['part']}"
        event = "" if one["event"] is None else f" of event {one['event']}"
        rule = f"{one['rule']} ({one['level']}, section {one['section']})"
        yield Row(f"{where}{event} breaks {rule}", one["promise"], "red" if one["level"] == "MUST" else "yellow")
        yield Row("Here", f"{one['detail']}.", form="quoted", level=2)
        if one["seen"]:
            yield Row("What it looks like", one["seen"], "dim", level=2)
        yield from (Row("Often", cause, "dim", level=2) for cause in one["hints"])
    if (more := len(answer["violations"]) - _MOST_LISTED) > 0:
        yield Row("More broken promises", f"{more:,}")
    for one in answer["unmapped"]:
        listed = ", ".join(map(str, one["events"][:_MOST_LISTED])) + (
            ", …" if len(one["events"]) > _MOST_LISTED else ""
        )
        yield Row("No part represents", f"{one['count']} × {one['type']} (events {listed})", "dim", "quoted")
    for gap in answer["gaps"][:_MOST_LISTED]:
        word, style = ("Stall", "yellow") if gap["stall"] else ("Gap", "dim")
        yield Row(f"{word} before event {gap['before']}", f"{gap['ms']:,.0f} ms", style)
    yield from (Row("Note", note, "yellow") for note in answer["notes"])
    missing: dict[str, list[str]] = {}
    for number in answer["numbers"]:
        if number["missing"] is None:
            yield Row(number["label"], number["text"], form="number")
        else:
            missing.setdefault(number["missing"], []).append(number["label"])
    is_all = len(missing) == 1 and sum(map(len, missing.values())) == len(answer["numbers"])
    for why, labels in missing.items():
        yield Row("All numbers" if is_all else ", ".join(labels), f"- ({why})", "dim")


def _wrong(answer: Mapping[str, Any]) -> Iterator[Row]:
    """The event at which it went wrong, with its place and its bytes, and the error."""
    event = next((one for one in answer["events"] if one["n"] == answer["wrong"]), None)
    if event is not None:
        at = "" if event["at"] is None else f", +{event['at']:,.0f} ms"
        last = event["n"] + event["count"] - 1
        number = f"event {event['n']}" if event["count"] == 1 else f"events {event['n']:,} to {last:,}"
        place = f"{number}{at}, bytes {event['from']:,} to {event['to']:,}"
        yield Row(f"Went wrong at {place}", event["type"], "bold red", "quoted")
        data = b64decode(answer["bytes"])[event["from"] : event["to"]].decode(errors="replace").strip()
        shown = data if len(data) <= _LONGEST_QUOTE else f"{data[:_LONGEST_QUOTE]}… ({len(data):,} characters)"
        yield Row("", shown, "dim", "quoted", 2)
    if (error := answer["error"]) is not None:
        yield Row("Error", f"{error['type']}: {error['message']}", "red", "quoted")
        yield from (Row(name, value[:_LONGEST_QUOTE], "dim", "quoted", 2) for name, value in error["fields"])
