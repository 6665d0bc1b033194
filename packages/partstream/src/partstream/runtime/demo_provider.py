"""A built-in model that needs no server and no key: it thinks, calls the tool that fits, and answers.

It lets a person or a test try a client against `partstream serve` before there is a real model. Asked about the weather
or the time in a place, it calls a tool for each place that the question names, one in a round, and then says what the
tools said.
"""

from __future__ import annotations
import asyncio
import math
import re
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping, Sequence
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.checks import as_count
from partstream.lm import provider
from partstream.lm.messages import ChatMessage, RequestOptions, Role, Tool, ToolMode
from partstream.lm.outputs import Finish, Outcome
from partstream.lm.parts import FinishReason, TextPart, ThinkingPart, ToolCallPart, ToolResultPart, UnifiedFinishReason
from partstream.runtime.simple import FunctionProvider, user_request

if TYPE_CHECKING:
    from partstream.lm.parts import ResponsePart

DEMO_MODEL: Final = provider.LanguageModelChatInformation(
    id="demo",
    name="Partstream demo",
    family="demo",
    version="1",
    max_input_tokens=128_000,
    max_output_tokens=16_000,
    detail="built in",
    capabilities=provider.LanguageModelChatCapabilities(image_input=True, tool_calling=True),
    # In cents for a million tokens: an invented price, with which a budget of money can be tried.
    extra={"inputCost": 100, "outputCost": 500, "pricing": "$1 / $5"},
)

_TOPICS: Final = tuple(
    re.compile(words, re.IGNORECASE) for words in (r"weather|forecast|temperature", r"\bwhat time\b")
)
"""What a question and the description of the tool for it have in common."""
_PLACE: Final = r"[A-Z][\w'-]*(?: [A-Z][\w'-]*)*"
_PLACES: Final = re.compile(rf"\bin ({_PLACE}(?:(?:, | and ){_PLACE})*)")
_BETWEEN_PLACES: Final = re.compile(r", | and ")
_EXACTLY: Final = re.compile(r"exactly: *(.+)", re.DOTALL)
_COUNT: Final = re.compile(r"count from (\d{1,3}) to (\d{1,3})", re.IGNORECASE)
_SUMMARY: Final = re.compile(r"summari[sz]e the conversation", re.IGNORECASE)
_MOST_ROUNDS: Final = 5
_CHARACTERS_OF_TOKEN: Final = 4
_LIMITS: Final = ("max_output_tokens", "max_completion_tokens", "max_tokens")
_PIECES: Final = re.compile(r"\S+\s*")


class DemoProvider(FunctionProvider):
    """Offers :data:`DEMO_MODEL`.

    Args:
        pace: Seconds between two pieces of an answer.
    """

    def __init__(self, *, pace: float = 0.0) -> None:
        async def answer(
            messages: Sequence[ChatMessage], options: RequestOptions
        ) -> AsyncGenerator[ResponsePart | Finish, None]:
            limits = (as_count(options.model_options.get(name)) for name in _LIMITS)
            room = min((one * _CHARACTERS_OF_TOKEN for one in limits if one), default=math.inf)
            for part in _answer(messages, options):
                room -= sum(map(len, _texts((part,))))
                if room < 0:
                    yield Finish(Outcome.INCOMPLETE, FinishReason(UnifiedFinishReason.LENGTH, "length"))
                    return
                yield part
                await asyncio.sleep(pace)

        super().__init__(answer, DEMO_MODEL, _count)


def _count(text: str | ChatMessage) -> int:
    """A token for every four characters, those of tools' results among them."""
    if isinstance(text, str):
        size = len(text)
    else:
        results = (part.content for part in text.content if isinstance(part, ToolResultPart))
        size = sum(len(one) for content in (text.content, *results) for one in _texts(content))
    return -(-size // _CHARACTERS_OF_TOKEN)


def _answer(messages: Sequence[ChatMessage], options: RequestOptions) -> Iterator[ResponsePart]:
    asked, results = _last_question(messages)
    for tool, place in _calls(asked, options)[len(results) : _MOST_ROUNDS]:
        yield from _pieces(f"I do not know this by heart, but {tool.name} can tell me.", ThinkingPart)
        yield ToolCallPart(f"call_{token_hex(12)}", tool.name, _arguments(tool.input_schema or {}, place))
        return
    yield from _pieces("I have what I need for an answer.", ThinkingPart)
    yield from _pieces(_said(asked, results, messages), TextPart)


def _calls(asked: str, options: RequestOptions) -> list[tuple[Tool, str]]:
    """The calls that a question is for, as tool and place: for each topic, the tool about it, else the first one."""
    topic = next((one for one in _TOPICS if one.search(asked)), None)
    if not options.tools or (topic is None and options.tool_mode is not ToolMode.REQUIRED):
        return []
    topic = topic or _TOPICS[0]
    calls: list[tuple[Tool, str]] = []
    begin = 0
    for found in _PLACES.finditer(asked):
        new = next((one for one in _TOPICS if one.search(asked, begin, found.start())), None)
        if calls and new is None:  # such as `in May` after `in Rome`
            continue
        topic = new or topic
        tool = _tool_about(topic, options.tools)
        calls += ((tool, place.strip()) for place in _BETWEEN_PLACES.split(found[1]))
        begin = found.end()
    return calls or [(_tool_about(topic, options.tools), "here")]


def _tool_about(topic: re.Pattern[str], tools: Sequence[Tool]) -> Tool:
    return next((one for one in tools if topic.search(f"{one.name} {one.description}")), tools[0])


def _said(asked: str, results: Sequence[str], messages: Iterable[ChatMessage]) -> str:
    if results:
        return f"The tools say: {'; '.join(results)}"
    if exactly := _EXACTLY.search(asked):
        return exactly[1].strip()
    if count := _COUNT.search(asked):
        return ", ".join(str(number) for number in range(int(count[1]), int(count[2]) + 1))
    if _SUMMARY.search(asked):
        earlier = [text for one in messages if one.role is Role.USER for text in _texts(one.content) if text != asked]
        return "The person said:\n" + "\n".join(f"- {text}" for text in earlier)
    return f"You said: {asked}" if asked else "Hello! I am the demo model of Partstream."


def _last_question(messages: Sequence[ChatMessage]) -> tuple[str, list[str]]:
    """The last question of the person, without an editor's context, and the results of tools after it."""
    results: list[str] = []
    for message in reversed(messages):
        if message.role is not Role.USER:
            continue
        outputs = [part for part in message.content if isinstance(part, ToolResultPart)]
        results[:0] = [" ".join(_texts(one.content)) for one in outputs]
        if text := user_request([message]):
            return text, results
    return "", results


def _texts(parts: Iterable[object]) -> Iterator[str]:
    return (part.value for part in parts if isinstance(part, TextPart | ThinkingPart))


def _arguments(schema: Mapping[str, Any], place: str) -> dict[str, Any]:
    """Arguments by a JSON schema: what is required, or else the first property."""
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return {}
    required = schema.get("required")
    names = [one for one in required if one in properties] if isinstance(required, list) else []
    return {name: _value(properties[name], place) for name in names or list(properties)[:1]}


def _value(schema: Any, place: str) -> Any:
    if not isinstance(schema, dict):
        return place
    if isinstance(schema.get("enum"), list) and schema["enum"]:
        return schema["enum"][0]
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((one for one in kind if one != "null"), "string")
    if kind == "object":
        return _arguments(schema, place)
    if kind == "array":
        return [_value(schema.get("items"), place)]
    return _VALUES.get(str(kind), place)


_VALUES: Final[Mapping[str, Any]] = {"integer": 1, "number": 1, "boolean": True, "null": None}


def _pieces(text: str, kind: type[TextPart | ThinkingPart]) -> Iterator[TextPart | ThinkingPart]:
    return (kind(piece) for piece in _PIECES.findall(text))
