"""What Google's servers refuse of a request that has the right form, in their own words (facts 4, 5, 10).

Sources: facts gemini.md and the issues that are cited there; names of functions: kaitranntt/ccs#219.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from partstream.protocols.gemini.asked_fields import camel_case, list_of, object_of
from partstream.protocols.gemini.carried_items import SIGNATURE, usable_signature
from partstream.protocols.gemini.known_models import known_model
from partstream.protocols.gemini.refused_fields import check_fields
from partstream.protocols.gemini.thinking_config import Levels
from partstream.protocols.refused import RefusedRequestError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from partstream.protocols.wire_request import WireRequest

__all__ = ["refuse"]

_INVALID: Final = "INVALID_ARGUMENT"
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
_DATA: Final = "required oneof field 'data' must have one initialized field"


def refuse(request: WireRequest) -> None:
    """Refuses a request as Google's servers do.

    Args:
        request: A request that the protocol itself can read.

    Raises:
        RefusedRequestError: It is refused.
    """
    model_id = request.path.rpartition("/")[2].partition(":")[0]
    body = camel_case(request.body)
    check_fields(body)
    contents = [camel_case(one) for one in list_of(body, "contents")]
    _check_parts(contents)
    turns = _turns(contents)
    _check_turns(turns)
    _check_end(turns, model_id)
    if known_model(model_id).signs_calls:
        _check_signatures(turns)
    _check_tools(body)
    _check_thinking(object_of(object_of(body, "generationConfig"), "thinkingConfig"), model_id)


def _refusal(message: str) -> RefusedRequestError:
    return RefusedRequestError(message, code=_INVALID)


# ---- contents ----


def _parts(content: Mapping[str, Any]) -> list[dict[str, Any]]:
    return list_of(content, "parts")


def _check_parts(contents: Sequence[Mapping[str, Any]]) -> None:
    if not contents:
        raise _refusal(f"{_REQUEST}contents: contents is not specified\n")
    for place, content in enumerate(contents):
        parts = _parts(content)
        if not parts:
            raise _refusal(f"{_REQUEST}contents[{place}].parts: contents.parts must not be empty.\n")
        for number, part in enumerate(parts):
            if part.get(SIGNATURE) == "":
                raise _refusal("Corrupted thought signature.")
            # An empty text is data: the official Python client sends back those of its chats (`google-genai` 3.4.0).
            if not part.keys() - {"thought", SIGNATURE} and usable_signature(part.get(SIGNATURE)) is None:
                raise _refusal(f"{_REQUEST}contents[{place}].parts[{number}].data: {_DATA}\n")


def _turns(contents: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The contents, those of one role that follow each other as one: official clients send back a content for each
    chunk of an answer. Results and further words of the user stay apart (facts 10.1)."""
    turns: list[dict[str, Any]] = []
    for content in contents:
        parts = list(_parts(content))
        if turns and _is_model(turns[-1]) and _is_model(content):
            turns[-1]["parts"] += parts
        else:
            turns.append({**content, "parts": parts})
    return turns


def _numbers(content: Mapping[str, Any], name: str) -> int:
    return sum(name in part for part in _parts(content))


def _is_model(content: Mapping[str, Any]) -> bool:
    return content.get("role") == _MODEL


def _check_turns(contents: Sequence[Mapping[str, Any]]) -> None:
    """Checks that all responses follow their calls at once, and that nothing else comes between (facts 10.1)."""
    waiting = 0
    for place, content in enumerate(contents):
        calls, responses = _numbers(content, _CALL), _numbers(content, _RESPONSE)
        if waiting and responses != waiting:
            raise _refusal(_COUNT)
        if responses and not waiting:
            raise _refusal(_RESPONSE_TURN)
        if calls and place == 0:
            raise _refusal(_CALL_TURN)
        waiting = calls
    if waiting:
        raise _refusal(_COUNT)


_NO_LAST_TURN: Final = re.compile(r"gemini-(?:3\.5-flash-lite|3\.[6-9]|3\.\d\d|[4-9]|\d\d).*")
"""The models that refuse a trailing turn of their own: 3.5 Flash-Lite, 3.6 and later (facts 10.1)."""


def _check_end(contents: Sequence[Mapping[str, Any]], model_id: str) -> None:
    if _NO_LAST_TURN.fullmatch(model_id) and _is_model(contents[-1]):
        raise _refusal(_LAST_TURN)


def _check_signatures(contents: Sequence[Mapping[str, Any]]) -> None:
    """Checks the first call of each step of the current turn: behind the last words of the user (facts 5, rule 2)."""
    begin = max((place for place, one in enumerate(contents) if not _is_model(one) and _says_more(one)), default=0)
    for place, content in enumerate(contents[begin:], begin):
        call = next((part for part in _parts(content) if _CALL in part), None)
        if call is not None and usable_signature(call.get(SIGNATURE)) is None:
            raise _refusal(_SIGNATURE.format(name=object_of(call, _CALL).get("name"), position=place + 1))


def _says_more(content: Mapping[str, Any]) -> bool:
    """Whether a content of the user holds more than responses."""
    return any(_RESPONSE not in part for part in _parts(content))


# ---- tools and thinking ----


def _check_tools(body: Mapping[str, Any]) -> None:
    own: list[str] = []
    functions = 0
    for place, tool in enumerate(list_of(body, "tools")):
        declared = list_of(tool, "functionDeclarations")
        functions += len(declared)
        own += tool.keys() - {"functionDeclarations"}
        for number, one in enumerate(declared):
            _check_function(one, f"tools[{place}].function_declarations[{number}]")
    config = object_of(body, "toolConfig")
    if own and functions and not config.get("includeServerSideToolInvocations"):
        raise _refusal(f"Built-in tools ({{{own[0]}}}) and Function Calling cannot be combined in the same request.")


def _check_function(declared: Mapping[str, Any], where: str) -> None:
    if not _NAME.fullmatch(str(declared.get("name"))):
        raise _refusal(
            f"The GenerateContentRequest proto is invalid:\n  * {where}.name: [FIELD_INVALID] Invalid function name. "
            "Must start with a letter or an underscore. Must be a-z, A-Z, 0-9, or contain underscores (_), dots (.), "
            "colons (:), or dashes (-), with a maximum length of 128."
        )
    if "parameters" in declared and "parametersJsonSchema" in declared:
        raise _refusal(f"{_REQUEST}{where}: parameters and parameters_json_schema are mutually exclusive.\n")


def _check_thinking(thinking: Mapping[str, Any], model_id: str) -> None:
    level, budget = thinking.get("thinkingLevel"), thinking.get("thinkingBudget")
    if level is not None and budget is not None:
        raise _refusal("You can only set only one of thinking budget and thinking level.")
    control = known_model(model_id).thinking
    if level is None:
        return
    if not isinstance(control, Levels):
        if model_id.startswith("gemini-2"):
            raise _refusal("Thinking level is not supported for this model.")
    elif str(level).lower() not in control.words:
        word = str(level).upper()
        raise _refusal(
            f"Thinking level {word} is not supported for this model. Please retry with other thinking level."
        )
