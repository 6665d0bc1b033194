"""The shapes of a view: the JSON that the inspector makes of recordings, and that its page, terminal and files show."""

from __future__ import annotations
from typing import Final, Literal, TypedDict

FORMAT: Final = 1
"""The number of this form of a view."""

FramingName = Literal["sse", "jsonl", "document"]
EventKind = Literal[
    "text", "thinking", "call", "data", "usage", "start", "end", "error", "keepalive", "unmapped", "other"
]
EventMark = Literal["gap", "stall", "unmapped", "broken", "lump", "late"]
"""`gap`: a long time before it; `stall`: one in which nothing moved; `lump`: it came in the same read as the event that
changed the answer before it; `late`: it came after the end of the answer."""
PartKind = Literal["text", "thinking", "call", "data", "usage", "other"]
Who = Literal["server", "network", "provider", "client", "nobody"]


class SourceView(TypedDict):
    """What the view was made from."""

    name: str
    form: str
    hasClock: bool
    live: bool


class RedactionView(TypedDict):
    """What was replaced; `level` is `keys`, `structure`, `none`, or `unknown` where the file does not say."""

    level: str
    counts: dict[str, int]
    kept: list[str]


class RequestView(TypedDict):
    """The request; `body` is its text, at most its first 200,000 characters."""

    method: str
    path: str
    headers: list[tuple[str, str]]
    body: str
    size: int
    sentAt: float | None


class ResponseView(TypedDict):
    """The head of the response."""

    status: int
    reason: str
    headers: list[tuple[str, str]]
    at: float | None


class ProtocolView(TypedDict):
    """The protocol, and whether the file or an event of its own says so."""

    name: str
    title: str
    sure: bool


class ErrorView(TypedDict):
    """An error: the name of its class, its sentence, and its facts as texts."""

    type: str
    message: str
    fields: list[tuple[str, str]]


class BlameView(TypedDict):
    """Whose fault it is."""

    who: Who
    sentence: str


class FinishReasonView(TypedDict):
    """Why the model stopped, and the server's own word for it."""

    unified: str
    raw: str | None


class UsageView(TypedDict):
    """The tokens, and who counted them."""

    rows: list[tuple[str, int]]
    source: str


class VerdictView(TypedDict):
    """How many rules of the contract were kept, broken (MUST), warned of (SHOULD) and not judged."""

    kept: int
    broken: int
    warnings: int
    notJudged: int


class NumberView(TypedDict):
    """One number of the table: `text` is its value with its unit, `-` where it is missing, `missing` says why."""

    id: str
    label: str
    value: float | None
    unit: str
    text: str
    missing: str | None
    definition: str


EventView = TypedDict(
    "EventView",
    {
        "n": int,
        "at": float | None,
        "until": float | None,
        "type": str,
        "kind": EventKind,
        "from": int,
        "to": int,
        "text": str,
        "parts": list[int],
        "violations": list[int],
        "marks": list[EventMark],
        "count": int,
    },
)
"""One event of the stream, or a run of `count` deltas that are shown as one and whose last came at `until`. Its bytes
are those `from` one place `to` another."""


class PartView(TypedDict):
    """One part, and the event that completed it; None where no event of the bytes did."""

    i: int
    at: float | None
    kind: PartKind
    event: int | None
    text: str
    name: str | None
    callId: str | None
    id: str | None


RunView = TypedDict(
    "RunView",
    {"kind": PartKind, "from": int, "to": int, "at": float | None, "until": float | None, "label": str},
)
"""Parts of one kind that follow each other, or one call: `from` its first part `to` its last."""


ShownView = TypedDict("ShownView", {"at": float, "from": int, "to": int, "forced": bool})
"""One flush of VS Code, simulated: the parts `from` the first `to` the last of it. `forced` where its queue was full or
the answer was over; otherwise its timer ran out."""


class ViolationView(TypedDict):
    """A rule of the contract that was broken, and where."""

    rule: str
    level: str
    section: str
    promise: str
    detail: str
    part: int | None
    event: int | None
    seen: str
    hints: list[str]


class UnmappedView(TypedDict):
    """Events of a type that no part represents."""

    type: str
    count: int
    events: list[int]


class GapView(TypedDict):
    """A long time between two events that changed the answer."""

    after: int
    before: int
    ms: float
    stall: bool


class ResultView(TypedDict):
    """A part of the answer as VS Code joins them."""

    kind: PartKind
    text: str
    name: str | None
    callId: str | None
    part: int


class CacheView(TypedDict):
    """What became of the prompt cache since the request before, which `before` names.

    `byte` is the first byte of the prompt, in the order in which servers read it, that is not the same as before; the
    prompt before had `bytes`. `kind` is what changed, `where` its place in the body. `missedTokens` were in the cache
    and were not read from it, at a `cost` in US dollars; both are None where they are not known. `vendor` is what the
    server itself says, or empty. `text` says all of it in words.
    """

    before: str
    kind: str
    where: str
    byte: int
    bytes: int
    says: str
    missedTokens: int | None
    cost: float | None
    advice: str
    vendor: str
    text: str


class AnswerView(TypedDict):
    """One exchange with a server, or one answer of a host of which no bytes are known.

    `wrong` is the number of the event at which it went wrong; None where it did not, or where no event shows it.
    """

    id: str
    title: str
    offset: float
    startedAt: str | None
    host: str | None
    request: RequestView | None
    response: ResponseView | None
    protocol: ProtocolView | None
    framing: FramingName | None
    model: str | None
    outcome: str
    ending: str | None
    error: ErrorView | None
    wrong: int | None
    blame: BlameView
    finishReason: FinishReasonView | None
    usage: UsageView | None
    verdict: VerdictView
    numbers: list[NumberView]
    bytes: str
    reads: list[tuple[float | None, int, int]]
    events: list[EventView]
    parts: list[PartView]
    runs: list[RunView]
    shown: list[ShownView]
    shownUnpaced: list[ShownView]
    violations: list[ViolationView]
    unmapped: list[UnmappedView]
    gaps: list[GapView]
    notes: list[str]
    result: list[ResultView]
    cache: CacheView | None


class ComparisonRow(TypedDict):
    """One place of two answers: the two runs of a pair, None on the side that has none."""

    left: int | None
    right: int | None
    label: str
    same: bool
    differences: list[str]


class ComparedNumber(TypedDict):
    """One number of two answers."""

    id: str
    label: str
    left: str
    right: str
    ratio: float | None


class ComparisonView(TypedDict):
    """Two answers beside each other, by the structure of their parts."""

    left: str
    right: str
    same: bool
    rows: list[ComparisonRow]
    numbers: list[ComparedNumber]


class CommandView(TypedDict):
    """A command to copy."""

    label: str
    text: str


class View(TypedDict):
    """All that is shown of one or several files."""

    format: int
    title: str
    source: SourceView
    redaction: RedactionView
    versions: dict[str, str]
    answers: list[AnswerView]
    comparisons: list[ComparisonView]
    commands: list[CommandView]
