"""The scenarios: functions from a request to the answer of a scripted model; they know no wire and no clock.

A scenario is a pure function. Its answer consists of parts and exactly one `Finish`, like the output of an adapter;
:mod:`partstream.testing.scripted` adds usage and price. Text arrives in pieces like those of real models, and contains
characters of two, three and four bytes, so that splits inside a character occur.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

from partstream.errors import CallerError, UpstreamFailureError
from partstream.lm.outputs import Finish, Outcome
from partstream.lm.parts import DataPart, FinishReason, TextPart, ThinkingPart, ToolCallPart, UnifiedFinishReason
from partstream.testing.asked import new_images, rounds_of_calls, tool_outputs, user_text
from partstream.testing.directives import AskedCall, read_calls, whole_number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from partstream.lm.messages import Tool
    from partstream.lm.outputs import InboundRequest
    from partstream.lm.parts import ResponsePart
    from partstream.testing.asked import ToolOutput

__all__ = ["DEFAULT_LONG_PIECES", "SCENARIOS", "Scenario", "UnknownScenarioError", "find_scenario"]

DEFAULT_LONG_PIECES: Final = 300
"""The number of text parts in the scenario `long` without a value; `scenario:long=N` sets another number."""

MAX_LONG_PIECES: Final = 1_000_000
MAX_ROUNDS: Final = 1000


Outputs: TypeAlias = "Iterator[ResponsePart | Finish]"
"""An answer, made on demand: parts, then one `Finish`. Call ids are unique within the answer only."""


class Scenario(Protocol):
    """Answers a request; `value` is the text after the scenario's name, or empty."""

    def __call__(self, asked: InboundRequest, value: str, /) -> Outputs:
        """The answer.

        Raises:
            UnknownScenarioError: The value is unknown; raised by the call, before the first part.
        """
        ...


class UnknownScenarioError(CallerError):
    """Unknown scenario, or an unknown value of a scenario.

    Attributes:
        name: The requested name, with its value if the value is unknown.
        expected: The accepted names or values.
    """

    def __init__(self, name: str, expected: str) -> None:
        super().__init__(f"unknown scenario {name!r}; expected {expected}")
        self.name = name
        self.expected = expected


def find_scenario(name: str) -> Scenario:
    """The scenario of that name.

    Raises:
        UnknownScenarioError: The scenario is unknown.
    """
    if name not in SCENARIOS:
        raise UnknownScenarioError(name, f"one of {', '.join(SCENARIOS)}")
    return SCENARIOS[name]


def _pieces(text: str) -> list[str]:
    """`text` cut before each word, like the tokens of a model."""
    return re.findall(r"\s*\S+|\s+$", text)


def _says(text: str) -> Iterator[TextPart]:
    return map(TextPart, _pieces(text))


def _thinks(text: str) -> Iterator[ThinkingPart]:
    return map(ThinkingPart, _pieces(text))


_STOPPED: Final = Finish(Outcome.COMPLETED, FinishReason(UnifiedFinishReason.STOP))
_CALLED: Final = Finish(Outcome.COMPLETED, FinishReason(UnifiedFinishReason.TOOL_CALLS))


# ---- one function a scenario ----


def _text(asked: InboundRequest, value: str) -> Outputs:
    yield from _says("Hello from Partstream! Grüße, 你好, 👋: this answer came over real HTTP, one word at a time.")
    yield _STOPPED


def _thinking(asked: InboundRequest, value: str) -> Outputs:
    yield from _thinks(
        "**Working it out**\n\nSix times seven is the same as six times five plus six times two: 30 + 12."
    )
    yield from _says("Six times seven is **42**.")
    yield _STOPPED


def _thinking_only(asked: InboundRequest, value: str) -> Outputs:
    yield from _thinks("I think, and think, and find nothing that is worth saying.")
    yield _STOPPED


def _refusal(asked: InboundRequest, value: str) -> Outputs:
    yield from _says("I am sorry, but I can't help with that.")
    yield _STOPPED


def _empty(asked: InboundRequest, value: str) -> Outputs:
    yield _STOPPED


_INCOMPLETE: Final = {
    "max_output_tokens": UnifiedFinishReason.LENGTH,
    "content_filter": UnifiedFinishReason.CONTENT_FILTER,
}


def _incomplete(asked: InboundRequest, value: str) -> Outputs:
    reason = value or next(iter(_INCOMPLETE))
    if reason not in _INCOMPLETE:
        raise UnknownScenarioError(f"incomplete={value}", f"incomplete=REASON, one of {', '.join(_INCOMPLETE)}")
    finish = Finish(Outcome.INCOMPLETE, FinishReason(_INCOMPLETE[reason], reason))
    return iter((*_says("This answer stops in the middle of"), finish))


def _failed(asked: InboundRequest, value: str) -> Outputs:
    yield from _says("This answer begins well, and then")
    error = UpstreamFailureError("The model broke while it was answering.", provider_code="server_error")
    yield Finish(Outcome.FAILED, FinishReason(UnifiedFinishReason.ERROR), error=error)


_CITATION: Final = "application/vnd.vscode.citation+json"
_SOURCED: Final = (
    ("The Eiffel Tower is 330 metres high 🗼.", "Eiffel Tower", "https://example.com/eiffel-tower"),
    (
        " The Tokyo Skytree is higher: 634 metres.",
        "Größe der Türme",
        "https://example.com/towers?sort=height&unit=m",
    ),
)
"""Sentences, each with the title and the URL of its source."""


def _citations(asked: InboundRequest, value: str) -> Outputs:
    said = 0
    for sentence, title, url in _SOURCED:
        yield from _says(sentence)
        start, said = said + len(sentence) - len(sentence.lstrip()), said + len(sentence)
        span = {"start_index": start, "end_index": said}
        yield DataPart.json({"type": "url_citation", "url": url, "title": title, **span}, _CITATION)
    yield _STOPPED


_SECTION: Final = (
    "\n## A heading\n\nA paragraph with **bold**, `code` and a [link](https://example.com), then a list:\n\n"
    "- one: naïve\n- two: 東京\n- three: 🚀\n\n```python\nfor number in range(3):\n    print(number)\n```\n"
)


def _long(asked: InboundRequest, value: str) -> Outputs:
    count = whole_number(value, MAX_LONG_PIECES) if value else DEFAULT_LONG_PIECES
    if not count:
        raise UnknownScenarioError(f"long={value:.40}", f"long=N with N from 1 to {MAX_LONG_PIECES:,}")
    return _sections(count)


def _sections(count: int) -> Outputs:
    section = _pieces(_SECTION)
    for index in range(count):
        yield TextPart(section[index % len(section)])
    yield _STOPPED


def _image_echo(asked: InboundRequest, value: str) -> Outputs:
    images = new_images(asked.messages)
    lines = [f"{number}. {image}" for number, image in enumerate(images, start=1)]
    yield from _says(f"I see {len(images)} image(s):\n" + "\n".join(lines) if images else "I see no image.")
    yield _STOPPED


def _tools(asked: InboundRequest, value: str) -> Outputs:
    """First round: thinking, text and parallel calls. Second round: an answer made from the tools' results.

    With a number, so many rounds of calls come first, as in the session of an agent: `scenario:tools=20`.
    """
    rounds = whole_number(value, MAX_ROUNDS) if value else 1
    if rounds is None:
        raise UnknownScenarioError(f"tools={value}", f"a number of rounds from 0 to {MAX_ROUNDS}")
    return _work(asked, rounds) if value else _look_up(asked)


def _look_up(asked: InboundRequest) -> Outputs:
    calls: tuple[AskedCall, ...] = ()
    if outputs := tool_outputs(asked.messages):
        yield from _says(_report(outputs))
    elif calls := read_calls(user_text(asked.messages)) or _chosen_calls(asked):
        names = " and ".join(dict.fromkeys(f"`{call.name}`" for call in calls))
        yield from _thinks(f"I do not know this by heart. {names} can tell me.")
        yield from _says("Let me look that up.")
        yield from _calls(calls)
    else:
        yield from _says("I was offered no tools, so I can only guess.")
    yield _CALLED if calls else _STOPPED


def _work(asked: InboundRequest, rounds: int) -> Outputs:
    """The next round of an agent's session: it depends on how many there were since the user spoke."""
    done = rounds_of_calls(asked.messages)
    calls = _calls_of_round(asked, done) if done < rounds and asked.options.tools else ()
    yield from _thinks(_THOUGHT.format(round=done + 1, rounds=rounds) * (1 + done % _PARALLEL))
    if calls:
        yield from _says(f"Step {done + 1}: I look at the next {len(calls)} places.")
        yield from _calls(calls)
    else:
        yield from _says(_report(tool_outputs(asked.messages)[-_PARALLEL:]))
    yield _CALLED if calls else _STOPPED


def _calls(calls: Iterable[AskedCall]) -> Iterator[ToolCallPart]:
    return (ToolCallPart(f"call_{number}", call.name, call.arguments) for number, call in enumerate(calls, start=1))


# ---- which tools, with which arguments ----


_THOUGHT: Final = (
    "**Step {round}**\n\nThis is step {round} of {rounds}. What I have read so far says where the value is made, not "
    "why it is wrong. The next places to look at are those that call it, and the test that fails. "
)
_PARALLEL: Final = 3
_WIDE_ROUNDS: Final = 10
"""Each tenth round has so many calls that their blocks are more than a prompt cache looks back over."""
_WIDE: Final = 12


def _calls_of_round(asked: InboundRequest, done: int) -> tuple[AskedCall, ...]:
    """One to three calls, now and then many; of the offered tools in turn, each with arguments of its own."""
    tools = asked.options.tools
    count = _WIDE if done % _WIDE_ROUNDS == _WIDE_ROUNDS - 1 else 1 + done % _PARALLEL
    chosen = [(tools[(done + place) % len(tools)], f"src/step_{done}/place_{place}.py") for place in range(count)]
    return tuple(AskedCall(tool.name, _arguments(tool, text)) for tool, text in chosen)


def _report(outputs: Iterable[ToolOutput]) -> str:
    lines = []
    for output in outputs:
        text = output.text.strip()
        shown = text if len(text) <= 500 else text[:500] + "…"
        lines.append(f"- {output.name or output.call_id}: {shown or 'nothing'}")
    return "Here is what I found:\n\n" + "\n".join(lines)


def _chosen_calls(asked: InboundRequest) -> tuple[AskedCall, ...]:
    """Two calls with different arguments: of the first two tools, or twice of the only tool."""
    tools = (asked.options.tools * 2)[:2]
    # Places in the question ("the weather in Lisbon") come first, then two default places.
    places = (*re.findall(r"\bin ([A-Z]\w+)", user_text(asked.messages)), "Paris", "Tokyo")
    return tuple(
        AskedCall(tool.name, _arguments(tool, place)) for tool, place in zip(tools, dict.fromkeys(places), strict=False)
    )


def _arguments(tool: Tool, text: str) -> dict[str, Any]:
    """Values for the properties that the tool's schema requires, or for all properties if it requires none."""
    schema = tool.input_schema or {}
    properties = _mapping(schema.get("properties"))
    required = schema.get("required")
    names = [name for name in required if isinstance(name, str)] if isinstance(required, list) else list(properties)
    return {name: _sample(_mapping(properties.get(name)), text) for name in names}


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


_SAMPLES: Final[dict[str, Any]] = {
    "integer": 1,
    "number": 1.5,
    "boolean": True,
    "array": [],
    "object": {},
    "null": None,
}


def _sample(schema: Mapping[str, Any], text: str) -> Any:
    """A value that fits a JSON schema: the schema's own suggestion, else a simple value of its type."""
    for suggestion in ("const", "default"):
        if suggestion in schema:
            return schema[suggestion]
    values = schema.get("enum")
    if isinstance(values, list) and values:
        return values[0]
    kinds = schema.get("type")
    kind = kinds[0] if isinstance(kinds, list) and kinds else kinds
    return _SAMPLES.get(kind, text) if isinstance(kind, str) else text


SCENARIOS: Final[dict[str, Scenario]] = {
    "text": _text,
    "thinking": _thinking,
    "tools": _tools,
    "refusal": _refusal,
    "citations": _citations,
    "long": _long,
    "empty": _empty,
    "thinking_only": _thinking_only,
    "incomplete": _incomplete,
    "failed": _failed,
    "image_echo": _image_echo,
}
"""All scenarios by name; the replay upstream lists the names as its models."""
