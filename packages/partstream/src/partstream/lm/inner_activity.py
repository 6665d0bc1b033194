"""The internal tool calls of an agent and their results, as lines for people and as data for programs.

A line cuts the arguments and shows only the size of a result (docs/wires/agents.md#inner-activity).
"""

from __future__ import annotations
import dataclasses
import json
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from math import isfinite
from typing import Any, Final, Protocol

from partstream.codec.checks import dataclass
from partstream.codec.text import code_block, inline_code, visible
from partstream.lm.parts import DataPart

ACTIVITY_MIME_TYPE: Final = "application/vnd.partstream.activity+json"
"""The media type of a data part that holds one inner call or result in full; hosts ignore it."""

_MOST_ARGUMENTS: Final = 200
_MOST_ERROR: Final = 200
_MOST_DATA: Final = 262_144
"""The most characters of a value in a data part; a longer one is cut, and the part says so."""
_KILO: Final = 1000


@dataclass(frozen=True, slots=True)
class InnerCall:
    """The agent calls one of its own tools. Never becomes a tool call of the answer: the host must not run it.

    Attributes:
        call_id: The framework's id of the call.
        name: The name of the agent's tool.
        arguments: The arguments, usually a JSON object; a text where the framework has only that.
        step: The number of the inner request to the model that made the call, from 1.
        is_refused: Whether the call was not allowed, and did not run.
    """

    call_id: str
    name: str
    arguments: object
    step: int = 1
    is_refused: bool = False


@dataclass(frozen=True, slots=True)
class InnerResult:
    """One of the agent's own tools has returned; see :class:`InnerCall` for the fields that both have.

    Attributes:
        content: What it returned: a text or any other value.
        is_error: Whether the tool failed.
    """

    call_id: str
    name: str
    content: object
    is_error: bool = False
    step: int = 1


class NamedCall(Protocol):
    """A call that people are shown: a name, and arguments that are usually a JSON object."""

    @property
    def name(self) -> str:
        """The name of the tool."""

    @property
    def arguments(self) -> object:
        """The arguments."""


def shown_call(call: NamedCall) -> str:
    """A call as people read it: `search(query="agents", limit=3)`, its arguments cut at 200 characters."""
    shown = _shown_arguments(call)
    return f"{call.name}({shown if len(shown) <= _MOST_ARGUMENTS else f'{shown[:_MOST_ARGUMENTS]}…'})"


def wanted_call(call: NamedCall) -> str:
    """A call that a person is to allow, in Markdown: where its line is cut, a block of code with all arguments follows.

    Characters that hide in a text, such as bidirectional controls, are shown as escapes.
    """
    line = inline_code(visible(shown_call(call)))
    if len(_shown_arguments(call)) <= _MOST_ARGUMENTS:
        return line
    return f"{line} with these arguments:\n\n{visible(code_block(plain_value(call.arguments)))}"


def wish(call: NamedCall) -> str:
    """The sentence that asks a person for a call, in Markdown."""
    wanted = wanted_call(call)
    return f"The agent wants to run {wanted}" + ("" if "\n" in wanted else ".")


def _shown_arguments(call: NamedCall) -> str:
    if isinstance(call.arguments, Mapping):
        shown = ", ".join(f"{name}={_json(value)}" for name, value in call.arguments.items())
    else:
        shown = "" if call.arguments in (None, "") else _text_of(call.arguments)
    return " ".join(shown.split())


def call_line(call: InnerCall) -> str:
    """The line of a call: `Called search(query="agents")`; of a refused one, `Not allowed: delete(path="a.py")`."""
    return f"{'Not allowed:' if call.is_refused else 'Called'} {shown_call(call)}"


def result_line(result: InnerResult) -> str:
    """The line of a result: `-> 3 results, 1.2 kB`; of a failed one, the beginning of what it says."""
    text = _text_of(result.content)
    if result.is_error:
        said = " ".join(text.split())
        return f"-> failed: {said if len(said) <= _MOST_ERROR else f'{said[:_MOST_ERROR]}…'}"
    if result.content is None or text == "":
        return "-> nothing"
    counted = ""
    if isinstance(result.content, Sequence) and not isinstance(result.content, str | bytes):
        count = len(result.content)
        counted = "1 result, " if count == 1 else f"{count} results, "
    size = len(text.encode(errors="replace"))
    if size < _KILO:
        return f"-> {counted}{size} bytes"
    return f"-> {counted}{size / _KILO:.1f} kB" if size < _KILO**2 else f"-> {counted}{size / _KILO**2:.1f} MB"


def handover_line(to: str) -> str:
    """The line of a handover: `Handed over to Billing agent`."""
    return f"Handed over to {to}"


def call_data(call: InnerCall) -> DataPart:
    """The data part of a call: `{"type": "call", "callId", "name", "arguments", "step"}`, with `isRefused` of one that
    did not run."""
    facts: dict[str, Any] = {"type": "call", "callId": call.call_id, "name": call.name, "step": call.step}
    return _data({**facts, "isRefused": True} if call.is_refused else facts, "arguments", call)


def result_data(result: InnerResult) -> DataPart:
    """The data part of a result: `{"type": "result", "callId", "name", "content", "isError", "step"}`."""
    facts = {"type": "result", "callId": result.call_id, "name": result.name, "step": result.step}
    return _data({**facts, "isError": result.is_error}, "content", result)


def _data(facts: dict[str, Any], field: str, output: InnerCall | InnerResult) -> DataPart:
    value = plain_value(getattr(output, field))
    if len(text := _json(value)) > _MOST_DATA:
        return DataPart.json({**facts, field: text[:_MOST_DATA], "isCut": True}, ACTIVITY_MIME_TYPE)
    return DataPart.json({**facts, field: value}, ACTIVITY_MIME_TYPE)


def plain_value(value: object) -> Any:
    """A value in JSON's types: models dump themselves, dataclasses become objects, members of an enumeration their
    value, dates ISO 8601, bytes their text or base64, numbers that are none null, others their text."""
    try:
        return json.loads(json.dumps(_plain(value)))
    except (TypeError, ValueError, RecursionError):
        return _shown(value)


def _plain(value: object) -> Any:
    if isinstance(value, str | int | float | None) and not isinstance(value, Enum):
        return value if not isinstance(value, float) or isfinite(value) else None
    made = next((make(value) for kind, make in _MADE if isinstance(value, kind)), None)
    made = next((make(value) for name, make in _DATES if made is None and hasattr(type(value), name)), made)
    if made is not None:
        return made
    dump = getattr(type(value), "model_dump", None)
    if dump is not None:
        return dump(value, mode="json")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    return _shown(value)


def _of_bytes(value: Any) -> str:
    try:
        return bytes(value).decode()
    except UnicodeDecodeError:
        return b64encode(value).decode("ascii")


_MADE: Final[tuple[tuple[Any, Callable[[Any], Any]], ...]] = (
    (Enum, lambda value: _plain(value.value)),
    (Mapping, lambda value: {name if isinstance(name := _plain(one), str) else _json(name): _plain(of)
                             for one, of in value.items()}),
    (list | tuple | set | frozenset, lambda value: [_plain(one) for one in value]),
    (bytes | bytearray | memoryview, _of_bytes),
)  # fmt: skip
_DATES: Final[tuple[tuple[str, Callable[[Any], str]], ...]] = (
    ("isoformat", lambda value: value.isoformat()),
    ("total_seconds", lambda value: f"PT{value.total_seconds():g}S"),
)
"""The same of dates, times and spans, by a method of their class: a start does not load `datetime`."""


def _shown(value: object) -> str:
    try:
        return str(value)
    except Exception as error:  # the objects of other people's code
        return f"({type(value).__name__} without text: {type(error).__name__})"


def _json(value: object) -> str:
    return json.dumps(plain_value(value), ensure_ascii=False)


def _text_of(value: object) -> str:
    return value if isinstance(value, str) else _json(value)
