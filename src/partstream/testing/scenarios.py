"""The project's own scenarios: a request in, the answer of a made-up model out; they know no wire and no clock.

Each is a pure function: the same request gives the same answer. Text is cut into pieces the way models generate it,
and holds characters of two, three and four bytes, so that a split inside one is a real split.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final, Protocol

from partstream.errors import CallerError
from partstream.protocols.serving import (
    Answer,
    Citation,
    Failed,
    Incomplete,
    RefusalBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
)
from partstream.testing.directives import AskedCall, read_calls

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from partstream.messages import Tool
    from partstream.protocols.serving import ServedRequest, ToolOutput

__all__ = ["DEFAULT_LONG_PIECES", "SCENARIOS", "Scenario", "UnknownScenarioError", "find_scenario"]

DEFAULT_LONG_PIECES: Final = 300
"""How many text deltas the scenario `long` has when it is not told; `scenario:long=N` tells it."""

MAX_LONG_PIECES: Final = 1_000_000


class Scenario(Protocol):
    """Answers a request; `value` is what was written after the scenario's name, or empty."""

    def __call__(self, request: ServedRequest, value: str, /) -> Answer:
        """The whole answer."""
        ...


class UnknownScenarioError(CallerError):
    """A scenario that there is not, or a value that it has no use for.

    Attributes:
        name: What was asked for.
        expected: What could be asked for.
    """

    def __init__(self, name: str, expected: str) -> None:
        super().__init__(f"unknown scenario {name!r}; expected {expected}")
        self.name = name
        self.expected = expected


def find_scenario(name: str) -> Scenario:
    """The scenario of that name.

    Raises:
        UnknownScenarioError: There is none.
    """
    if name not in SCENARIOS:
        raise UnknownScenarioError(name, f"one of {', '.join(SCENARIOS)}")
    return SCENARIOS[name]


def _pieces(text: str) -> tuple[str, ...]:
    """Cut before each word, as tokens are; joined they are `text` again."""
    return tuple(re.findall(r"\s*\S+|\s+$", text))


# ---- one function a scenario ----


def _text(request: ServedRequest, value: str) -> Answer:
    return _says("Hello from Partstream! Grüße, 你好, 👋: this answer came over real HTTP, one word at a time.")


def _thinking(request: ServedRequest, value: str) -> Answer:
    thinking = ThinkingBlock(
        _pieces("**Working it out**\n\nSix times seven is the same as six times five plus six times two: 30 + 12.")
    )
    return Answer((thinking, TextBlock(_pieces("Six times seven is **42**."))))


def _thinking_only(request: ServedRequest, value: str) -> Answer:
    return Answer((ThinkingBlock(_pieces("I think, and think, and find nothing that is worth saying.")),))


def _refusal(request: ServedRequest, value: str) -> Answer:
    return Answer((RefusalBlock(_pieces("I am sorry, but I can't help with that.")),))


def _empty(request: ServedRequest, value: str) -> Answer:
    return Answer()


def _incomplete(request: ServedRequest, value: str) -> Answer:
    reasons = ("max_output_tokens", "content_filter")
    if value not in {"", *reasons}:
        raise UnknownScenarioError(f"incomplete={value}", f"incomplete=REASON, one of {', '.join(reasons)}")
    return Answer((TextBlock(_pieces("This answer stops in the middle of")),), Incomplete(value or reasons[0]))


def _failed(request: ServedRequest, value: str) -> Answer:
    block = TextBlock(_pieces("This answer begins well, and then"))
    return Answer((block,), Failed("server_error", "The model broke while it was answering."))


_SOURCES: Final = (
    ("Eiffel Tower", "https://example.com/eiffel-tower"),
    ("Größe der Türme", "https://example.com/towers?sort=height&unit=m"),
)


def _citations(request: ServedRequest, value: str) -> Answer:
    first, second = "The Eiffel Tower is 330 metres high 🗼.", " The Tokyo Skytree is higher: 634 metres."
    spans = ((0, len(first)), (len(first) + 1, len(first) + len(second)))
    citations = tuple(
        Citation(url, title, start, end) for (title, url), (start, end) in zip(_SOURCES, spans, strict=True)
    )
    return Answer((TextBlock(_pieces(first + second), citations),))


def _long(request: ServedRequest, value: str) -> Answer:
    if value and not (value.isdecimal() and 0 < int(value) <= MAX_LONG_PIECES):
        raise UnknownScenarioError(f"long={value}", f"long=N with N from 1 to {MAX_LONG_PIECES:,}")
    count = int(value) if value else DEFAULT_LONG_PIECES
    section = _pieces(
        "\n## A heading\n\nA paragraph with **bold**, `code` and a [link](https://example.com), then a list:\n\n"
        "- one: naïve\n- two: 東京\n- three: 🚀\n\n```python\nfor number in range(3):\n    print(number)\n```\n"
    )
    return Answer((TextBlock(tuple(section[index % len(section)] for index in range(count))),))


def _image_echo(request: ServedRequest, value: str) -> Answer:
    if not request.images:
        return _says("I see no image.")
    lines = [f"{number}. {image}" for number, image in enumerate(request.images, start=1)]
    return _says(f"I see {len(request.images)} image(s):\n" + "\n".join(lines))


def _tools(request: ServedRequest, value: str) -> Answer:
    """First round: thinking, text and calls in parallel. Second: an answer out of what the tools gave."""
    if request.tool_outputs:
        return Answer((TextBlock(_pieces(_report(request.tool_outputs))),))
    calls = read_calls(request.user_text) or _chosen_calls(request)
    if not calls:
        return _says("I was offered no tools, so I can only guess.")
    names = " and ".join(dict.fromkeys(f"`{call.name}`" for call in calls))
    return Answer(
        (
            ThinkingBlock(_pieces(f"I do not know this by heart. {names} can tell me.")),
            TextBlock(_pieces("Let me look that up.")),
            *(ToolCallBlock(call.name, _json_pieces(call.arguments)) for call in calls),
        )
    )


def _says(text: str) -> Answer:
    return Answer((TextBlock(_pieces(text)),))


# ---- which tools, with which arguments ----


def _report(outputs: Iterable[ToolOutput]) -> str:
    lines = []
    for output in outputs:
        text = output.text.strip()
        shown = text if len(text) <= 500 else text[:500] + "…"
        lines.append(f"- {output.name or output.call_id}: {shown or 'nothing'}")
    return "Here is what I found:\n\n" + "\n".join(lines)


def _chosen_calls(request: ServedRequest) -> tuple[AskedCall, ...]:
    """Two calls, of the first two tools or of the only one twice, with arguments that differ."""
    tools = (request.tools * 2)[:2]
    # "the weather in Lisbon" is a place to ask for; without one, the made-up model has its own two.
    places = (*re.findall(r"\bin ([A-Z]\w+)", request.user_text), "Paris", "Tokyo")
    return tuple(
        AskedCall(tool.name, _arguments(tool, place)) for tool, place in zip(tools, dict.fromkeys(places), strict=False)
    )


def _arguments(tool: Tool, text: str) -> dict[str, Any]:
    """What the tool's schema requires, or, where it requires nothing by name, all that it describes."""
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
    """A value that fits a JSON schema: what the schema itself suggests, else the plainest of its type."""
    for suggestion in ("const", "default"):
        if suggestion in schema:
            return schema[suggestion]
    values = schema.get("enum")
    if isinstance(values, list) and values:
        return values[0]
    kinds = schema.get("type")
    kind = kinds[0] if isinstance(kinds, list) and kinds else kinds
    return _SAMPLES.get(kind, text) if isinstance(kind, str) else text


def _json_pieces(arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """JSON in pieces of seven characters: no call is whole before its last."""
    text = json.dumps(arguments, ensure_ascii=False)
    return tuple(text[start : start + 7] for start in range(0, len(text), 7))


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
"""All scenarios by name; the names are the models that the replay upstream lists."""
