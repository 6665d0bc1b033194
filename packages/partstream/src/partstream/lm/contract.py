"""The contract between a provider and its consumers: the rules as data, and the checker that enforces them.

Source: "Language Model Provider Stream Semantics", version 1.0 draft of 30 January 2026; every `section` is one of its
sections. :data:`RULES` are the rules that a stream of parts can show; the other demands are in :data:`UNOBSERVABLE`, so
that the tables cover the whole document.

:class:`ContractChecker` is between a provider and the reader of its parts. It judges each part by the checks of its
class, which trust no type, because providers are other people's code, and the end of the response by its state: open,
cancelled, ended. It does no I/O and no logging: violations go to a callback. :func:`missing_evidence` is the other
side: where nothing was seen, "not broken" means nothing. :data:`RULE_HINTS` describe a broken rule as a person sees it
in VS Code, and where it usually comes from.
"""

from __future__ import annotations
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from enum import IntEnum, StrEnum, auto
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from partstream.codec.checks import dataclass, field
from partstream.codec.json_codec import find_non_json, shorten
from partstream.errors import ContractViolationError, LanguageModelError
from partstream.lm import parts

# ---- Rules ----


class Level(StrEnum):
    """The requirement level of a rule, as in RFC 2119."""

    MUST = "MUST"
    SHOULD = "SHOULD"


class Evidence(StrEnum):
    """The facts that a checker needs, beside the parts, to judge a rule; the value is the name shown to a person."""

    TOOLS = "the request's tools"
    NAMESPACE = "the provider's namespace"
    POSITIONS = "the parts' positions"
    COMPLETION = "a completed stream"
    CANCELLATION = "a cancelled stream"
    FAILURE = "a failed stream"


@dataclass(frozen=True, slots=True)
class Rule:
    """One promise of a provider about its response stream.

    Attributes:
        id: The stable name, `<subject>.<promise>`.
        section: The section of the document that states the promise.
        level: The requirement level. A broken MUST stops the part; a broken SHOULD is only reported.
        text: The promise as one sentence.
        needs: The facts that a checker needs to judge the rule, or None if the parts are enough.
    """

    id: str
    section: str
    level: Level
    text: str
    needs: Evidence | None = None


@dataclass(frozen=True, slots=True)
class UnobservablePromise:
    """A demand of the document that no checker of parts can judge: the side that it binds, and why."""

    bound_to: str
    section: str
    level: Level
    text: str
    reason: str


def _must(name: str, section: str, text: str, needs: Evidence | None = None) -> Rule:
    return Rule(name, section, Level.MUST, text, needs)


def _should(name: str, section: str, text: str, needs: Evidence | None = None) -> Rule:
    return Rule(name, section, Level.SHOULD, text, needs)


_TABLE: Final = (
    _must(
        "stream.generation-order",
        "1.1",
        "Parts arrive in the order in which the model generated them.",
        Evidence.POSITIONS,
    ),
    _must("stream.nothing-after-completion", "1.1", "No part follows the end of the response."),
    _must("stream.ends-once", "5.1", "A response ends once: it either resolves or is rejected."),
    _must(
        "stream.visible-part",
        "5.3",
        "A completed response holds text, a tool call or data that is no mark of the host: with thinking alone, VS "
        "Code shows 'no response was returned'.",
        Evidence.COMPLETION,
    ),
    # Section 5.2 allows one last text part. Section 1.1 does not, and VS Code drops parts that come late.
    _must(
        "cancellation.nothing-after", "1.1", "No part follows the cancellation of the request.", Evidence.CANCELLATION
    ),
    _should(
        "cancellation.resolves", "5.2", "A cancelled response resolves and is not rejected.", Evidence.CANCELLATION
    ),
    _should(
        "failure.language-model-error",
        "5.3",
        "A failed response is rejected with a LanguageModelError.",
        Evidence.FAILURE,
    ),
    _must("part.known-class", "1.2", "A part is a text part, a thinking part, a tool call part or a data part."),
    _must("part.no-tool-result", "1.2", "A response holds no tool result part."),
    _must("part.known-audience", "9.1", "The audience of a text or data part is a list of Audience values or absent."),
    _must("text.string-value", "2.1", "The value of a text part is a string."),
    _should("text.utf-8", "2.2", "The value of a text part can be encoded as UTF-8 (no half of a surrogate pair)."),
    _must("thinking.string-value", "2.4", "The value of a thinking part is a string or an array of strings."),
    _must("thinking.string-id", "2.4", "The id of a thinking part is a string or absent."),
    _must("thinking.json-metadata", "2.4", "The metadata of a thinking part is a JSON object or absent."),
    _must("tool-call.non-empty-call-id", "3.3", "The call id of a tool call is a non-empty string."),
    _must("tool-call.non-empty-name", "3.1", "The name of a tool call is a non-empty string."),
    _must(
        "tool-call.known-tool", "3.1", "The name of a tool call is that of one of the request's tools.", Evidence.TOOLS
    ),
    _must("tool-call.object-input", "3.1", "The input of a tool call is a parsed object."),
    _must("tool-call.json-input", "3.1", "The input of a tool call holds only JSON values."),
    _must("tool-call.atomic", "3.2", "A tool call is one part: no second part completes it."),
    _must("tool-call.unique-call-id", "3.2", "No two tool calls of a response share a call id."),
    _should(
        "tool-call.namespaced-call-id",
        "3.3",
        "The call id of a tool call starts with the provider's namespace.",
        Evidence.NAMESPACE,
    ),
    _must("data.bytes", "4.1", "The data of a data part is bytes."),
    _must("data.media-type", "4.1", "The media type of a data part is a non-empty string."),
)

RULES: Final[Mapping[str, Rule]] = MappingProxyType({rule.id: rule for rule in _TABLE})
"""Every enforced rule by id, in the order of reports."""

UNOBSERVABLE: Final = (
    UnobservablePromise(
        "provider",
        "3.4",
        Level.SHOULD,
        "A tool call is emitted as soon as the model has fully specified it.",
        "The parts do not tell when the model had finished the call.",
    ),
    UnobservablePromise(
        "provider",
        "5.2",
        Level.SHOULD,
        "A cancelled provider stops requesting data from upstream.",
        "Requesting happens on the provider's connection, below the parts.",
    ),
    UnobservablePromise(
        "provider",
        "8.2",
        Level.SHOULD,
        "Text is emitted as it is received.",
        "The parts carry no time, and a short answer may rightly be one part.",
    ),
    UnobservablePromise(
        "provider",
        "8.2",
        Level.SHOULD,
        "Errors of the upstream are logged.",
        "A log is not in the stream; the error itself carries all known facts.",
    ),
    UnobservablePromise(
        "consumer",
        "2.2",
        Level.MUST,
        "Consecutive text parts are joined into one text.",
        "The reader of the parts joins them.",
    ),
    UnobservablePromise(
        "consumer",
        "7.3",
        Level.MUST,
        "Tool calls are executed, and their results sent with the matching call ids in a new request.",
        "Only the next request shows the results.",
    ),
)
"""The document's other demands, and why no checker of parts can judge them."""


# ---- Checks of parts ----


@dataclass(slots=True)
class ResponseFacts:
    """The facts about one response so far.

    Attributes:
        tools: The names of the request's tools, or None if unknown.
        namespace: The prefix of the provider's call ids, or None if unknown.
        call_ids: The ids of the calls that passed; the only field that grows.
        visible: Whether a text that is not empty, a tool call, or data that is no mark of the host has passed.
    """

    tools: frozenset[str] | None
    namespace: str | None
    call_ids: set[str] = field(default_factory=set)
    last_call: parts.ToolCallPart | None = None
    visible: bool = False


_Find: TypeAlias = Callable[[Any, ResponseFacts], str | None]


@dataclass(frozen=True, slots=True)
class _Check:
    """`find` describes how a part breaks a rule, or returns None; it relies on other rules that the part must keep."""

    rule: Rule
    find: _Find
    relies_on: tuple[Rule, ...] = ()


Finding: TypeAlias = tuple[Rule, str]
"""A rule that a part breaks, and a description of how."""


def judge(part: object, seen: ResponseFacts) -> Sequence[Finding]:
    """All rules that `part` breaks; notes in `seen` a part that breaks no MUST."""
    findings: list[Finding] = []
    checks = _CHECKS.get(type(part))
    if checks is None:
        checks = next((_CHECKS[one] for one in type(part).__mro__ if one in _CHECKS), _UNKNOWN_CLASS)
    for check in checks:
        if findings and any(rule in check.relies_on for rule, _ in findings):
            continue
        detail = check.find(part, seen)
        if detail is not None:
            findings.append((check.rule, detail))
    if not any(rule.level is Level.MUST for rule, _ in findings):
        _note(part, seen)
    return findings


def _note(part: object, seen: ResponseFacts) -> None:
    if isinstance(part, parts.TextPart):
        # An empty text shows nothing: a host that gets only empty texts has nothing to display.
        seen.visible = seen.visible or bool(part.value)
    elif isinstance(part, parts.DataPart):
        seen.visible = seen.visible or not parts.is_mark(part.mime_type)
    elif isinstance(part, parts.ToolCallPart):
        seen.visible = True
        seen.call_ids.add(part.call_id)
        seen.last_call = part


def _text_value(part: parts.TextPart, _: ResponseFacts) -> str | None:
    value: object = part.value
    return None if isinstance(value, str) else f"the value is {_described(value)}, expected a string"


def _text_utf8(part: parts.TextPart, _: ResponseFacts) -> str | None:
    if part.value.isascii():
        return None
    try:
        part.value.encode()
    except UnicodeEncodeError as error:
        return f"half of a surrogate pair, {part.value[error.start]!r}, at character {error.start}"
    return None


def _known_audience(part: parts.TextPart | parts.DataPart, _: ResponseFacts) -> str | None:
    value: object = part.audience
    if value is None or (isinstance(value, list | tuple) and all(isinstance(one, parts.Audience) for one in value)):
        return None
    return f"the audience is {_described(value)}, expected a list of Audience values or none"


def _thinking_value(part: parts.ThinkingPart, _: ResponseFacts) -> str | None:
    value: object = part.value
    if isinstance(value, str) or (isinstance(value, list | tuple) and all(isinstance(piece, str) for piece in value)):
        return None
    return f"the value is {_described(value)}, expected a string or an array of strings"


def _thinking_id(part: parts.ThinkingPart, _: ResponseFacts) -> str | None:
    value: object = part.id
    return None if isinstance(value, str | None) else f"the id is {_described(value)}, expected a string or none"


def _thinking_metadata(part: parts.ThinkingPart, _: ResponseFacts) -> str | None:
    metadata: object = part.metadata
    if metadata is None:
        return None
    if not isinstance(metadata, Mapping):
        return f"the metadata are {_described(metadata)}, expected an object"
    return find_non_json(metadata, "metadata")


def _known_tool(part: parts.ToolCallPart, seen: ResponseFacts) -> str | None:
    if seen.tools is None or part.name in seen.tools:
        return None
    have = shorten(sorted(seen.tools)) if seen.tools else "none"
    return f"the tool {shorten(part.name)} is not among the request's tools: {have}"


def _object_input(part: parts.ToolCallPart, _: ResponseFacts) -> str | None:
    value: object = part.input
    if isinstance(value, Mapping):
        return None
    return f"the input of call {shorten(part.call_id)} is {_described(value)}, expected an object"


def _atomic(part: parts.ToolCallPart, seen: ResponseFacts) -> str | None:
    last = seen.last_call
    # The same call again, unchanged, is a call that was emitted twice: see `tool-call.unique-call-id`.
    if last is None or last.call_id != part.call_id or last.name != part.name or last.input == part.input:
        return None
    return f"call {shorten(part.call_id)} of {shorten(part.name)} came in two parts with different input"


def _namespaced(part: parts.ToolCallPart, seen: ResponseFacts) -> str | None:
    if seen.namespace is None or part.call_id.startswith(seen.namespace):
        return None
    return f"call id {shorten(part.call_id)} does not start with {shorten(seen.namespace)}"


def _data_bytes(part: parts.DataPart, _: ResponseFacts) -> str | None:
    value: object = part.data
    return None if isinstance(value, bytes) else f"the data are {_described(value)}, expected bytes"


def _described(value: object) -> str:
    return f"{shorten(value)} ({type(value).__name__})"


def _non_empty(what: str, value: object) -> str | None:
    return None if isinstance(value, str) and value else f"{what} is {_described(value)}, expected a non-empty string"


def _checks(*rows: tuple[str, _Find] | tuple[str, _Find, tuple[str, ...]]) -> tuple[_Check, ...]:
    """Checks by the ids of their rules, and of those that they rely on."""
    return tuple(
        _Check(RULES[rule], find, tuple(RULES[one] for one in (more[0] if more else ()))) for rule, find, *more in rows
    )


_CALL_ID: Final = ("tool-call.non-empty-call-id",)

_CHECKS: Final[Mapping[type, tuple[_Check, ...]]] = MappingProxyType(
    {
        parts.TextPart: _checks(
            ("text.string-value", _text_value),
            ("text.utf-8", _text_utf8, ("text.string-value",)),
            ("part.known-audience", _known_audience),
        ),
        parts.ThinkingPart: _checks(
            ("thinking.string-value", _thinking_value),
            ("thinking.string-id", _thinking_id),
            ("thinking.json-metadata", _thinking_metadata),
        ),
        # An unhashable call id never reaches the set of ids, and a call in two parts is no second call.
        parts.ToolCallPart: _checks(
            ("tool-call.non-empty-call-id", lambda part, _: _non_empty("the call id", part.call_id)),
            ("tool-call.non-empty-name", lambda part, _: _non_empty("the tool's name", part.name)),
            ("tool-call.known-tool", _known_tool, ("tool-call.non-empty-name",)),
            ("tool-call.object-input", _object_input),
            ("tool-call.json-input", lambda part, _: find_non_json(part.input, "input"), ("tool-call.object-input",)),
            ("tool-call.atomic", _atomic, _CALL_ID),
            (
                "tool-call.unique-call-id",
                lambda part, seen: (
                    f"call id {shorten(part.call_id)} came twice" if part.call_id in seen.call_ids else None
                ),
                (*_CALL_ID, "tool-call.atomic"),
            ),
            ("tool-call.namespaced-call-id", _namespaced, _CALL_ID),
        ),
        parts.DataPart: _checks(
            ("data.bytes", _data_bytes),
            ("data.media-type", lambda part, _: _non_empty("the media type", part.mime_type)),
            ("part.known-audience", _known_audience),
        ),
        parts.ToolResultPart: _checks(
            (
                "part.no-tool-result",
                lambda part, _: (
                    f"a ToolResultPart for call {shorten(part.call_id)} came; tool results belong in messages"
                ),
            )
        ),
    }
)

_UNKNOWN_CLASS: Final = _checks(("part.known-class", lambda part, _: f"an object of class {type(part).__name__} came"))

# ---- The checker ----

MAX_KEPT_VIOLATIONS: Final = 1000
"""The most violations that a checker keeps; it counts and reports all of them."""


class CheckMode(StrEnum):
    """How a checker treats a part that breaks a MUST."""

    STRICT = "strict"
    """The checker raises an error that names the rule."""
    LENIENT = "lenient"
    """The checker drops the part and reports the violation."""


@dataclass(frozen=True, slots=True)
class CodePlace:
    """A line of a provider's source; its string form is `file:line`."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Violation:
    """One violation of one rule.

    Attributes:
        rule: The rule.
        detail: A description of what the provider did.
        index: The index of the part in the response, from 0; None if the end of the response broke the rule.
        place: The line of the provider's code that reported the part, or None if unknown.
    """

    rule: Rule
    detail: str
    index: int | None
    place: CodePlace | None = None

    def __str__(self) -> str:
        """The violation for a log: `rule-id at file:line. The rule's sentence. Here: what the provider did.`"""
        at = "" if self.place is None else f" at {self.place}"
        return f"{self.rule.id}{at}. {self.rule.text} Here: {self.detail}."


class _State(IntEnum):
    OPEN = auto()
    CANCELLED = auto()
    ENDED = auto()


# Looked up once for every part: a member of an enumeration takes a fifth of the whole check to find in Python 3.11.
_OPEN: Final = _State.OPEN
_ENDED: Final = _State.ENDED

# The rule that a part breaks by coming too late, by state; in a state without a row, parts may come.
_LATE_PART: Final = {
    _State.CANCELLED: RULES["cancellation.nothing-after"],
    _State.ENDED: RULES["stream.nothing-after-completion"],
}


class ContractChecker:
    """Checks the parts of one response. A text part takes constant time and leaves no copy behind.

    Both modes report a broken SHOULD and let the part pass.

    Args:
        tools: The names of the request's tools; with None, tool names are not compared.
        mode: How to treat a part that breaks a MUST.
        on_violation: Called with each violation, before an error is raised; a host logs here.
        namespace: The prefix that the provider's call ids should have, or None if unknown.
        locate: Called only for a part that breaks a rule; returns the line of the provider's code that reported it.
            The checker does not look at the stack; :class:`partstream.runtime.progress.CheckedProgress` does.

    Attributes:
        violations: The first :data:`MAX_KEPT_VIOLATIONS` violations, in order.
        counts: The number of violations of each rule, by rule id.

    Example:
        >>> from partstream import CheckMode, ContractChecker, ToolCallPart
        >>> checker = ContractChecker(mode=CheckMode.LENIENT)
        >>> for _ in range(2):
        ...     part = checker.check(ToolCallPart("call-1", "read_file", {}))
        >>> part is None, checker.violations[0].rule.id
        (True, 'tool-call.unique-call-id')
    """

    def __init__(
        self,
        tools: Iterable[str] | None = None,
        mode: CheckMode = CheckMode.STRICT,
        on_violation: Callable[[Violation], object] | None = None,
        *,
        namespace: str | None = None,
        locate: Callable[[], CodePlace | None] = lambda: None,
    ) -> None:
        self.violations: list[Violation] = []
        self.counts: Counter[str] = Counter.__new__(Counter)  # empty: `__init__` takes as long as all the rest here
        self._mode = mode
        self._on_violation = on_violation
        self._locate = locate
        self._state = _OPEN
        self._seen = ResponseFacts(None if tools is None else frozenset(tools), namespace)
        self._count = 0
        self._position: int | None = None
        self._evidence: set[Evidence | None] = {None}
        if tools is not None:
            self._evidence.add(Evidence.TOOLS)
        if namespace is not None:
            self._evidence.add(Evidence.NAMESPACE)

    def check(self, part: parts.ResponsePart, position: int | None = None) -> parts.ResponsePart | None:
        """Checks the next part that the provider reports.

        Args:
            part: The part; an object of any other class is a violation.
            position: The part's place in the order of generation, as a number that grows; None if unknown.

        Returns:
            The part if it may pass, otherwise None.

        Raises:
            ContractViolationError: The part breaks a MUST and the mode is strict.
        """
        index = self._count
        self._count = index + 1
        if self._state is not _OPEN:
            self._report(_LATE_PART[self._state], f"a {type(part).__name__} came", index)
            return None
        if position is not None:
            self._evidence.add(Evidence.POSITIONS)
            last = self._position
            if last is not None and position < last:
                detail = f"a part with position {position} came after one with position {last}"
                self._report(RULES["stream.generation-order"], detail, index)
                return None
            self._position = position
        if part.__class__ is parts.TextPart and part.audience is None:
            # Nearly every part of a stream: text that no check of the table could object to. Surrogates do not print.
            value = part.value
            if value.__class__ is str and (value.isascii() or value.isprintable()):
                if value:
                    self._seen.visible = True
                return part
        is_kept = True
        for rule, detail in judge(part, self._seen):
            self._report(rule, detail, index)
            is_kept = is_kept and rule.level is not Level.MUST
        return part if is_kept else None

    def cancel(self) -> None:
        """Records that the request was cancelled; has no effect after the end of the response."""
        if self._state is _OPEN:
            self._state = _State.CANCELLED
            self._evidence.add(Evidence.CANCELLATION)

    def complete(self) -> None:
        """Records that the response resolved.

        Raises:
            ContractViolationError: The end breaks a MUST and the mode is strict.
        """
        before = self._end("resolved")
        if before is not _OPEN:
            return
        self._evidence.add(Evidence.COMPLETION)
        if not self._seen.visible:
            rule = RULES["stream.visible-part"]
            detail = f"the response completed without text, a tool call or data (parts: {self._count})"
            self._report(rule, detail, None)

    def fail(self, error: BaseException) -> None:
        """Records that the response was rejected with `error`.

        Raises:
            ContractViolationError: The end breaks a MUST and the mode is strict.
        """
        before = self._end(f"rejected with {type(error).__name__}")
        if before is _State.ENDED:
            return
        if before is _State.CANCELLED:
            rule = RULES["cancellation.resolves"]
            self._report(rule, f"the response was rejected with {type(error).__name__}", None)
            return
        self._evidence.add(Evidence.FAILURE)
        if not isinstance(error, LanguageModelError):
            rule = RULES["failure.language-model-error"]
            self._report(rule, f"the response was rejected with {type(error).__name__}", None)

    def judges(self, rule: Rule) -> bool:
        """Whether the checker has the evidence to judge `rule`; without it, "not broken" means nothing."""
        return rule.needs in self._evidence

    def _end(self, how: str) -> _State:
        before, self._state = self._state, _ENDED
        if before is _ENDED:
            self._report(RULES["stream.ends-once"], f"the response was {how} after its end", None)
        return before

    def _report(self, rule: Rule, detail: str, index: int | None) -> None:
        violation = Violation(rule, detail, index, None if index is None else self._locate())
        self.counts[rule.id] += 1
        if len(self.violations) < MAX_KEPT_VIOLATIONS:
            self.violations.append(violation)
        if self._on_violation is not None:
            self._on_violation(violation)
        if self._mode is CheckMode.STRICT and rule.level is Level.MUST:
            raise ContractViolationError(rule.id, rule.section, rule.text, detail)


# ---- Evidence ----

_PARTS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "text": (parts.TextPart.__name__, "a text part"),
        "thinking": (parts.ThinkingPart.__name__, "a thinking part"),
        "tool-call": (parts.ToolCallPart.__name__, "a tool call"),
        "data": (parts.DataPart.__name__, "a data part"),
    }
)
"""The class of the parts that a rule is about, and its name for a person, by the first word of the rule's id."""
_OF_THE_END: Final = frozenset({"stream.nothing-after-completion", "stream.ends-once"})


def missing_evidence(
    rule: Rule, checker: ContractChecker, classes: Collection[str], *, has_end: bool, has_error: bool
) -> str | None:
    """What an answer lacks to show whether an unbroken rule is kept.

    Args:
        classes: The names of the classes of its parts.
        has_end: Whether the end of the answer was seen; not that of a stream that breaks off.
        has_error: Whether the answer failed.

    Returns:
        What is lacking, as a person says it; None where nothing is.
    """
    if not checker.judges(rule):
        return rule.needs
    if not classes and has_error and rule.needs is not Evidence.FAILURE:
        return "a part"
    if rule.id in _OF_THE_END and not has_end:
        return "the end of the stream"
    name, shown = _PARTS.get(rule.id.partition(".")[0], ("", ""))
    return shown if name and name not in classes else None


# ---- Hints ----


@dataclass(frozen=True, slots=True)
class Hint:
    """What a person sees in VS Code of a broken promise, and its causes in the provider; the likeliest first."""

    seen: str
    causes: tuple[str, ...]


RULE_HINTS: Final[Mapping[str, Hint]] = MappingProxyType(
    {
        "stream.generation-order": Hint(
            "The answer reads in the wrong order: a tool runs before the text that explains it.",
            (
                "parts of several kinds are collected and reported kind by kind",
                "calls are reported in the order in which they became complete, not in that of the model",
            ),
        ),
        "stream.nothing-after-completion": Hint(
            "The end of the answer is missing: VS Code drops what comes after the method has returned.",
            (
                "a task that reports is not awaited before the method returns",
                "a callback of a library reports after its stream has closed",
            ),
        ),
        "stream.ends-once": Hint(
            "A failed answer looks complete, or a complete one shows an error.",
            (
                "an error is caught and only logged after `progress.finish(...)`",
                "an error path reports the end and then runs on into the normal end",
            ),
        ),
        "stream.visible-part": Hint(
            "The chat shows 'no response was returned'.",
            (
                "the model only thought, or the server sent an empty answer: raise an error that says so",
                "a text that came in an unknown event was dropped",
            ),
        ),
        "cancellation.nothing-after": Hint(
            "Words appear after the person has pressed Stop, or in the next answer.",
            (
                "the token is looked at before the request only, not before each part",
                "what was buffered is flushed when the stream is closed",
            ),
        ),
        "cancellation.resolves": Hint(
            "Pressing Stop shows an error in the chat.",
            ("the error of the closed connection, or CancelledError, leaves the method",),
        ),
        "failure.language-model-error": Hint(
            "The chat shows a stack trace or 'unknown error' instead of a reason.",
            ("an exception of the library is raised as it is: wrap it in LanguageModelError",),
        ),
        "part.known-class": Hint(
            "The part is missing in the chat.",
            ("a chunk of a library, a string or a dict is reported instead of a part",),
        ),
        "part.no-tool-result": Hint(
            "The part is missing in the chat; tools seem to have no result.",
            ("an agent's own tool results are reported: show them as text or thinking",),
        ),
        "part.known-audience": Hint(
            "The part is missing in the chat.",
            ("a name or a number is given as the audience: make a list of Audience values",),
        ),
        "text.string-value": Hint(
            "The text is missing in the chat, or reads `[object Object]`.",
            ("a delta that is None or an object is put into a TextPart",),
        ),
        "text.utf-8": Hint(
            "A replacement character appears instead of an emoji.",
            ("bytes are decoded chunk by chunk; use an incremental decoder",),
        ),
        "thinking.string-value": Hint(
            "The thinking is missing.", ("a summary that is an object, or None, is put into a ThinkingPart",)
        ),
        "thinking.string-id": Hint(
            "The thinking is missing, or is no longer sent back to the model.",
            ("an index is used as the id: make it a string",),
        ),
        "thinking.json-metadata": Hint(
            "The thinking is missing, or its signature is lost in the next round.",
            ("an object of a library, or bytes, is put into the metadata: keep JSON values",),
        ),
        "tool-call.non-empty-call-id": Hint(
            "The tool's result never reaches the model.",
            ("the server sends the id in the first delta only, and a later one is used", "the server sends no id"),
        ),
        "tool-call.non-empty-name": Hint(
            "The tool call fails at once.",
            ("the name is in the first delta only", "a server's own tool has no name and is passed on as a call"),
        ),
        "tool-call.known-tool": Hint(
            "The chat says that the tool does not exist, and the agent stops or starts over.",
            (
                "names that were changed for the server are not changed back",
                "tools of the server or of an inner agent are passed on as calls",
            ),
        ),
        "tool-call.object-input": Hint(
            "The tool runs without arguments, or fails.",
            ("the arguments are passed on as the JSON text that the server sent", "empty arguments become None"),
        ),
        "tool-call.json-input": Hint(
            "The tool call is lost on its way to VS Code.",
            ("the input holds objects of Python, such as dates, sets or NaN",),
        ),
        "tool-call.atomic": Hint(
            "The tool runs with half of its arguments.",
            ("a call is reported for every delta: report it once, when it is complete",),
        ),
        "tool-call.unique-call-id": Hint(
            "The tool runs twice.",
            ("a final snapshot is handed out after the deltas", "ids count from 0 in each step of an inner loop"),
        ),
        "tool-call.namespaced-call-id": Hint(
            "In a conversation with several providers, a result may reach the wrong call.",
            ("the id of the server is passed on without the prefix",),
        ),
        "data.bytes": Hint("The data are missing.", ("a string, or base64, is put into a DataPart: decode it",)),
        "data.media-type": Hint("The data are missing.", ("the media type of the server was empty",)),
    }
)
