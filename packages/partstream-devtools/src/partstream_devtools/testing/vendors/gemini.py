"""Google's servers: what they refuse of a request in the right form, in their own words, and their implicit cache.

The checks begin with the fields: the servers' JSON is that of Protocol Buffers, where every message has its fields
under two names each, and one unknown name anywhere fails the whole request (docs/wires/gemini.md#tools-and-schemas).
Messages whose fields are left out here hold other people's values, such as the arguments of a call. The contents
follow: the order of the turns, and the calls that need a signature. Tools and thinking come last, by model.

The cache keeps every beginning of the prompt, tools and system first. It has no marks, writing costs nothing, and what
is read costs a tenth (docs/wires/gemini.md#caching; the price: documentation of context caching of the Gemini
Enterprise Agent Platform, October 2026).

Sources: docs/wires/gemini.md; names of functions: kaitranntt/ccs#219.
"""

from __future__ import annotations
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from typing import Any, Final
from urllib.parse import unquote

from partstream.codec.json_codec import loads
from partstream.protocols.gemini.models import Levels, known_model
from partstream.protocols.gemini.provider_state import SIGNATURE, usable_signature
from partstream.protocols.gemini.serve import camel_case, list_of, object_of
from partstream.protocols.serve import WireRequest
from partstream_devtools.testing.vendors import vendor


class _Google(vendor.Vendor):
    code = "INVALID_ARGUMENT"

    def checks(self, request: WireRequest) -> vendor.Checks:
        model_id = request.path.rpartition("/")[2].partition(":")[0]
        body = camel_case(request.body)
        yield from _check_message(body, "request", "")
        contents = [camel_case(one) for one in list_of(body, "contents")]
        yield from _check_parts(contents)
        turns = _turns(contents)
        yield from _check_turns(turns)
        yield _NO_LAST_TURN.fullmatch(model_id) and _is_model(turns[-1]), _LAST_TURN
        if known_model(model_id).signs_calls:
            yield from _check_signatures(turns)
        yield from _check_tools(body)
        yield from _check_thinking(object_of(object_of(body, "generationConfig"), "thinkingConfig"), model_id)

    def cached_prompt(self, request: WireRequest) -> vendor.CachedPrompt:
        model = unquote(request.path.rpartition("/models/")[2].partition(":")[0])
        least = next((tokens for name, tokens in _LEAST_TOKENS if model.startswith(name)), _LEAST_OF_OTHERS)
        rule = vendor.CacheRule(least, is_automatic=True, read_price=0.1)
        return vendor.CachedPrompt(tuple(_prompt_blocks(request.body)), rule, model)


# ---- fields ----

_Message = dict[str, str]
"""The fields of a message, each with the name of the message that it holds; empty for any other value."""


_MESSAGES: Final[Mapping[str, _Message]] = {
    message: {**dict.fromkeys(row.get("plain", ()), ""), **row.get("messages", {})}
    for message, row in loads((files(__package__) / "gemini_messages.json").read_bytes()).items()
}
"""By our names for them.

Source: docs/wires/gemini.md#contents and the messages of googleapis/python-genai `types.py`.
"""

_OF_ANY_NAME: Final = "schemas"
_CAPITAL: Final = re.compile(r"[A-Z]")


def _check_message(value: Any, message: str, where: str) -> vendor.Checks:
    if isinstance(value, list):
        for number, one in enumerate(value):
            yield from _check_message(one, message, f"{where}[{number}]")
    elif isinstance(value, dict) and message == _OF_ANY_NAME:
        for name, one in value.items():
            yield from _check_message(one, "schema", f"{where}[{name}].value")
    elif isinstance(value, dict):
        known = _MESSAGES[message]
        listed = value.get("enum") if message == "schema" else None
        for place, one in enumerate(listed if isinstance(listed, list) else ()):
            yield not isinstance(one, str), f"Invalid value at '{where}.enum[{place}]' (TYPE_STRING), {one}"
        for name, one in camel_case(value).items():
            at = _CAPITAL.sub(lambda letter: f"_{letter[0].lower()}", name)
            around = f" at '{where}'" if where else ""
            unknown = f'Invalid JSON payload received. Unknown name "{name}"{around}: Cannot find field.'
            yield name not in known, unknown
            if inner := known[name]:
                yield from _check_message(one, inner, f"{where}.{at}" if where else at)


# ---- contents ----

_REQUEST: Final = "* GenerateContentRequest."
_CALL: Final = "functionCall"
_RESPONSE: Final = "functionResponse"
_MODEL: Final = "model"
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,127}")

_CALL_TURN: Final = (
    "Please ensure that function call turn comes immediately after a user turn or after a function response turn."
)
_RESPONSE_TURN: Final = "Please ensure that function response turn comes immediately after a function call turn."
_COUNT: Final = (
    "Please ensure that the number of function response parts is equal to the number of function call parts of the "
    "function call turn."
)
_LAST_TURN: Final = "Requests ending with a model turn are not supported unless the last part is a function response."
_SIGNATURE: Final = (
    "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, "
    "and missing thought_signature may lead to degraded model performance. Additional data, function call "
    "`default_api:{name}` , position {position}."
)
_WRONG_NAME: Final = (
    "The GenerateContentRequest proto is invalid:\n  * {where}.name: [FIELD_INVALID] Invalid function name. "
    "Must start with a letter or an underscore. Must be a-z, A-Z, 0-9, or contain underscores (_), dots (.), "
    "colons (:), or dashes (-), with a maximum length of 128."
)
_DATA: Final = "required oneof field 'data' must have one initialized field"


def _parts(content: Mapping[str, Any]) -> list[dict[str, Any]]:
    return list_of(content, "parts")


def _check_parts(contents: Sequence[Mapping[str, Any]]) -> vendor.Checks:
    yield not contents, f"{_REQUEST}contents: contents is not specified\n"
    for place, content in enumerate(contents):
        parts = _parts(content)
        yield not parts, f"{_REQUEST}contents[{place}].parts: contents.parts must not be empty.\n"
        for number, part in enumerate(parts):
            yield part.get(SIGNATURE) == "", "Corrupted thought signature."
            # An empty text is data: the official Python client sends back those of its chats (`google-genai` 3.4.0).
            has_data = part.keys() - {"thought", SIGNATURE} or usable_signature(part.get(SIGNATURE)) is not None
            yield not has_data, f"{_REQUEST}contents[{place}].parts[{number}].data: {_DATA}\n"


def _turns(contents: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The contents, those of one role that follow each other as one: official clients send back a content for each
    chunk of an answer. Results and further words of the user stay apart (docs/wires/gemini.md#contents)."""
    turns: list[dict[str, Any]] = []
    for content in contents:
        parts = list(_parts(content))
        if turns and _is_model(turns[-1]) and _is_model(content):
            turns[-1]["parts"] += parts
        else:
            turns.append({**content, "parts": parts})
    return turns


def _is_model(content: Mapping[str, Any]) -> bool:
    return content.get("role") == _MODEL


def _check_turns(contents: Sequence[Mapping[str, Any]]) -> vendor.Checks:
    """All responses follow their calls at once, and nothing else comes between (docs/wires/gemini.md#contents)."""
    waiting = 0
    for place, content in enumerate(contents):
        calls, responses = (sum(name in part for part in _parts(content)) for name in (_CALL, _RESPONSE))
        yield waiting and responses != waiting, _COUNT
        yield responses and not waiting, _RESPONSE_TURN
        yield calls and place == 0, _CALL_TURN
        waiting = calls
    yield waiting, _COUNT


_NO_LAST_TURN: Final = re.compile(r"gemini-(?:3\.5-flash-lite|3\.[6-9]|3\.\d\d|[4-9]|\d\d).*")
"""The models that refuse a trailing model turn: 3.5 Flash-Lite, 3.6 and later (docs/wires/gemini.md#contents)."""


def _check_signatures(contents: Sequence[Mapping[str, Any]]) -> vendor.Checks:
    """The first call of each step of the current turn: after the last words of the user
    (docs/wires/gemini.md#signatures)."""
    of_user = [(place, _parts(one)) for place, one in enumerate(contents) if not _is_model(one)]
    begin = max((place for place, parts in of_user if any(_RESPONSE not in part for part in parts)), default=0)
    for place, content in enumerate(contents[begin:], begin):
        call = next((part for part in _parts(content) if _CALL in part), None)
        if call is not None:
            said = _SIGNATURE.format(name=object_of(call, _CALL).get("name"), position=place + 1)
            yield usable_signature(call.get(SIGNATURE)) is None, said


# ---- tools and thinking ----


def _check_tools(body: Mapping[str, Any]) -> vendor.Checks:
    own: list[str] = []
    functions = 0
    for place, tool in enumerate(list_of(body, "tools")):
        declared = list_of(tool, "functionDeclarations")
        functions += len(declared)
        own += tool.keys() - {"functionDeclarations"}
        for number, one in enumerate(declared):
            where = f"tools[{place}].function_declarations[{number}]"
            yield not _NAME.fullmatch(str(one.get("name"))), _WRONG_NAME.format(where=where)
            has_both = "parameters" in one and "parametersJsonSchema" in one
            yield has_both, f"{_REQUEST}{where}: parameters and parameters_json_schema are mutually exclusive.\n"
    if own and functions:
        is_allowed = object_of(body, "toolConfig").get("includeServerSideToolInvocations")
        mixed = f"Built-in tools ({{{own[0]}}}) and Function Calling cannot be combined in the same request."
        yield not is_allowed, mixed


def _check_thinking(thinking: Mapping[str, Any], model_id: str) -> vendor.Checks:
    level, budget = thinking.get("thinkingLevel"), thinking.get("thinkingBudget")
    has_both = level is not None and budget is not None
    yield has_both, "You can only set only one of thinking budget and thinking level."
    control = known_model(model_id).thinking
    if level is not None and isinstance(control, Levels):
        sentence = f"Thinking level {str(level).upper()} is not supported for this model."
        yield str(level).lower() not in control.words, f"{sentence} Please retry with other thinking level."
    elif level is not None:
        yield model_id.startswith("gemini-2"), "Thinking level is not supported for this model."


# ---- the implicit cache ----

_LEAST_TOKENS: Final = (("gemini-2.5", 2048),)
"""The shortest beginning that is kept, by how the name of a model begins."""
_LEAST_OF_OTHERS: Final = 4096


def _prompt_blocks(body: Mapping[str, Any]) -> Iterator[vendor.PromptBlock]:
    for tool in vendor.objects_in(body.get("tools")):
        for one in vendor.objects_in(tool.get("functionDeclarations")) or [tool]:
            yield vendor.block_of(one, "tools")
    system = body.get("systemInstruction", body.get("system_instruction"))
    for part in vendor.objects_in(system.get("parts") if isinstance(system, Mapping) else None):
        yield vendor.block_of(part, "system")
    for content in vendor.objects_in(body.get("contents")):
        for part in vendor.objects_in(content.get("parts")):
            yield vendor.block_of(part, content.get("role"))


VENDOR: Final = _Google()
