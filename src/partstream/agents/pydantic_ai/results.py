"""The end of a run: what its result adds to what was streamed, and what the requests to the model took."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from partstream.agents.adapter import AgentFile, ResultObject, StepUsage
from partstream.errors import TruncatedStreamError
from partstream.outputs import Finish, Outcome
from partstream.parts import text_part
from partstream.usage import FinishReason, UnifiedFinishReason, Usage

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from partstream.agents.adapter import AgentOutput
    from partstream.agents.pydantic_ai.texts import StepTexts

__all__ = ["RunEnd", "is_deferred", "is_deferred_type", "outputs_of_responses", "outputs_of_value"]

_DEFERRED: Final = "DeferredToolRequests"
"""The class of a result that says what the run waits for."""
_RESPONSE: Final = "response"
_REASONS: Final[Mapping[str, UnifiedFinishReason]] = {
    "stop": UnifiedFinishReason.STOP,
    "length": UnifiedFinishReason.LENGTH,
    "content_filter": UnifiedFinishReason.CONTENT_FILTER,
    "tool_call": UnifiedFinishReason.TOOL_CALLS,
    "error": UnifiedFinishReason.ERROR,
}
_CUT: Final = frozenset({UnifiedFinishReason.LENGTH, UnifiedFinishReason.CONTENT_FILTER})


@dataclass(frozen=True, slots=True)
class RunEnd:
    """How a run ended.

    Attributes:
        output: Its result: a text, an object, or the framework's `DeferredToolRequests` for a run that waits.
        messages: The framework's messages of the whole conversation.
        new_messages: Those that the run added.
    """

    output: Any
    messages: Sequence[Any] = field(repr=False)
    new_messages: Sequence[Any] = field(repr=False)


def is_deferred(output: object) -> bool:
    """Whether the result of a run says that it waits for others, in place of a result."""
    return is_deferred_type(type(output))


def is_deferred_type(of_output: object) -> bool:
    """Whether a type of results is the one that says so."""
    return isinstance(of_output, type) and any(one.__name__ == _DEFERRED for one in of_output.__mro__)


def outputs_of_value(output: Any, texts: StepTexts, *, has_file: bool) -> list[AgentOutput]:
    """What the result of a run adds to what was streamed.

    Text is streamed before it is the result, and an output function or a validator may make another of it. A file has
    come as a part. An object has been streamed where the model writes it as text, else only the result has it.

    Args:
        output: The result.
        texts: What was said.
        has_file: Whether a file has come as a part.
    """
    if output is None or is_deferred(output):
        return []
    said = texts.of_step.strip()
    if isinstance(output, str):
        return [] if output.strip() == said else [text_part(piece) for piece in texts.another(output)]
    if isinstance(data := getattr(output, "data", None), bytes):
        return [] if has_file else [AgentFile(data, output.media_type)]
    return [] if _is_json(said) else [ResultObject(output)]


def outputs_of_responses(messages: Iterable[Any]) -> list[AgentOutput]:
    """The tokens of each request to the model, and how the last one ended.

    Args:
        messages: The messages that the run added.
    """
    responses = [message for message in messages if message.kind == _RESPONSE]
    usages: list[AgentOutput] = [StepUsage(usage) for one in responses if (usage := _usage(one.usage)) is not None]
    return [*usages, *(_finish(one) for one in responses[-1:])]


def _is_json(text: str) -> bool:
    """Whether a text is a JSON document, perhaps in a block of code."""
    inside = text.removeprefix("```json").removeprefix("```").removesuffix("```")
    try:
        return isinstance(json.loads(inside), dict | list)
    except ValueError:
        return False


def _usage(usage: Any) -> Usage | None:
    """The tokens of one request; None where the model did not say them. The framework writes an unknown count as 0."""
    given, answered = usage.input_tokens, usage.output_tokens
    if not given and not answered:
        return None
    reasoning = getattr(usage, "output_reasoning_tokens", 0) or usage.details.get("reasoning_tokens")
    return Usage(
        input_tokens=given,
        output_tokens=answered,
        total_tokens=given + answered,
        cached_tokens=usage.cache_read_tokens or None,
        reasoning_tokens=reasoning or None,
        raw=dict(usage.details),
        cache_write_tokens=usage.cache_write_tokens or None,
    )


def _finish(response: Any) -> Finish:
    raw = response.finish_reason
    if _broke_off(response):
        return Finish(Outcome.TRUNCATED, error=TruncatedStreamError("ANSWERING"), model=response.model_name)
    unified = _REASONS.get(raw, UnifiedFinishReason.OTHER)
    return Finish(
        Outcome.INCOMPLETE if raw and unified in _CUT else Outcome.COMPLETED,
        reason=None if raw is None else FinishReason(unified, raw),
        response_id=response.provider_response_id,
        model=response.model_name,
    )


def _broke_off(response: Any) -> bool:
    """Whether the answer of a model server ended without its end.

    The clients of model servers take the end of the bytes for the end of the answer, and the framework says `stop` in
    place of a reason that never came (observed with 2.68 over Chat Completions and Responses). What a server has said
    itself stands in `provider_details`; a server that says neither that nor a token has not come to the end.
    """
    said = (response.provider_details or {}).get("finish_reason")
    has_calls = any(part.part_kind == "tool-call" for part in response.parts)
    return response.provider_name is not None and not said and not has_calls and _usage(response.usage) is None
