"""What is tried at every server: one row each. Knows no server.

A trial asks through the command line or through the Python API, as a person would, and says in one sentence what was
seen. Every server is configured to give the same answers to the same words.
"""

from __future__ import annotations
import asyncio
import json
import os
import subprocess
import sys
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from partstream import (
    ChatMessage,
    ContextLengthExceededError,
    GatewayConfiguration,
    LanguageModelError,
    ModelOverride,
    ModelSelection,
    PartstreamError,
    RequestOptions,
    RetryPolicy,
    Secret,
    StreamOptions,
    TextPart,
    ThinkingPart,
    Timeouts,
    Tool,
    ToolCallPart,
    ToolFunction,
    TruncatedStreamError,
    UpstreamConnectionError,
    UpstreamError,
    UpstreamFailureError,
    UpstreamHTTPError,
    connect,
    run_tool_loop,
)
from partstream.protocols.protocol import AUTO

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from partstream.runtime.requests import LanguageModelChatResponse

__all__ = ["TRIALS", "Target", "Trial", "UnexpectedError", "prove"]

OURS: Final = "ours/"
"""What the name of a model begins with, behind a proxy, that our own server offers."""
_SCENARIOS: Final = ("text", "thinking", "tools", "long", "incomplete")
"""The models of our own server, which `partstream upstream` describes."""

HELLO: Final = "Hello! Grüße, 你好, 👋."
WARM: Final = "It is 21 degrees in Lisbon."
_KEY_VARIABLE: Final = "SERVERS_KEY"
_LONGEST_COMMAND: Final = 60
_LONGEST_ANSWER: Final = 30

_WEATHER: Final = Tool(
    "get_weather",
    "Tells the weather of a city.",
    {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)


class UnexpectedError(Exception):
    """A trial saw something else; the message says what."""


@dataclass(frozen=True, slots=True)
class Target:
    """A server as it is asked.

    Attributes:
        base_url: Where.
        protocol: What is said of its protocol; empty where nothing is said.
        model: The model that is asked where :attr:`models` has none.
        models: By the name of a trial, the model that is asked for it.
        key: What it wants for a key; empty for none.
        environment: The environment of the command line: no settings of the user who runs this.
        behind: The base URL of our own model server behind a proxy; empty for servers that are no proxy.
    """

    base_url: str
    protocol: str
    model: str
    models: Mapping[str, str] = field(default_factory=dict)
    key: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    behind: str = ""


@dataclass(frozen=True, slots=True)
class Trial:
    """One thing to try.

    Attributes:
        name: Of tables.
        run: Tries it; gives one sentence on what was seen, or raises an UnexpectedError.
        needs_auto: Whether it is about a server of which nothing but the address is said.
        needs_proxy: Whether it is about a server that can ask our own one.
    """

    name: str
    run: Callable[[Target, str], Awaitable[str]]
    needs_auto: bool = False
    needs_proxy: bool = False


async def prove(trial: Trial, target: Target) -> str:
    """Runs a trial within a limit of time.

    Raises:
        UnexpectedError: It saw something else.
    """
    model = target.models.get(trial.name, target.model)
    try:
        async with asyncio.timeout(_LONGEST_COMMAND + _LONGEST_ANSWER):
            return await trial.run(target, model)
    except (TimeoutError, subprocess.TimeoutExpired):
        raise UnexpectedError("it did not end in time") from None
    except PartstreamError as error:
        raise UnexpectedError(_named(error)) from error


def _named(error: PartstreamError) -> str:
    return f"{type(error).__name__}: {error}"


# The command line


async def _run_command(target: Target, *arguments: str, key: str | None = None) -> subprocess.CompletedProcess[str]:
    options = ["--base-url", target.base_url]
    if target.protocol:
        options += ["--protocol", target.protocol]
    environment = dict(target.environment)
    if target.key:
        options += ["--api-key-env", _KEY_VARIABLE]
        environment[_KEY_VARIABLE] = target.key if key is None else key
    command = [sys.executable, "-m", "partstream", *arguments, *options]
    return await asyncio.to_thread(
        subprocess.run,
        command,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=_LONGEST_COMMAND,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def _failed(done: subprocess.CompletedProcess[str]) -> UnexpectedError:
    return UnexpectedError(f"exit code {done.returncode}: {' '.join(done.stderr.split())}")


async def _list_models(target: Target, model: str) -> str:
    done = await _run_command(target, "models", "--json")
    if done.returncode:
        raise _failed(done)
    ids = [one["id"] for one in json.loads(done.stdout)]
    if model not in ids:
        raise UnexpectedError(f"{model} is not among {', '.join(ids) or 'none'}")
    return f"{len(ids)} listed"


async def _chat(target: Target, model: str) -> str:
    done = await _run_command(target, "chat", "--model", model, "Say hello.")
    if done.returncode:
        raise _failed(done)
    _expect("the text", done.stdout.strip(), HELLO)
    return "the whole text"


# The Python API


def _configuration(target: Target, model: str, key: str | None = None) -> GatewayConfiguration:
    key = target.key if key is None else key
    return GatewayConfiguration(
        target.base_url,
        api_key=Secret(key) if key else None,
        retry=RetryPolicy(attempts=1),
        timeouts=Timeouts(first_event=_LONGEST_ANSWER, total=_LONGEST_ANSWER),
        stream=StreamOptions(call_id_prefix=""),
        selection=ModelSelection(overrides={model: ModelOverride()}),
        ledger=False,
        protocol=target.protocol or AUTO,
    )


async def _ask(
    target: Target, model: str, messages: str | Sequence[ChatMessage], *tools: Tool, key: str | None = None
) -> LanguageModelChatResponse:
    """Asks, and reads the answer to its end."""
    async with connect(_configuration(target, model, key), model=model) as chat:
        response = chat.stream(messages, RequestOptions(tools=tools))
        async for _part in response:
            pass
        return response


def _text(response: LanguageModelChatResponse) -> str:
    return "".join(part.value for part in response.parts if isinstance(part, TextPart))


def _expect(what: str, got: object, expected: object) -> None:
    if got != expected:
        raise UnexpectedError(f"{what}: got {got!r}, expected {expected!r}")


async def _stream(target: Target, model: str) -> str:
    response = await _ask(target, model, "Say hello.")
    _expect("the text", _text(response), HELLO)
    pieces = sum(isinstance(part, TextPart) for part in response.parts)
    if pieces < 2:
        raise UnexpectedError("the text came in one piece")
    reason = response.finish_reason
    _expect("the finish reason", reason and reason.unified.value, "stop")
    return f"{pieces} pieces, then {reason.raw if reason else None}"


_OTHER_ADDRESSES: Final = ("", "/", "/v1/", "/v1/chat/completions", "/v1/models")
"""What people paste behind the host in place of `/v1`."""


async def _addresses(target: Target, model: str) -> str:
    root = target.base_url.removesuffix("/v1")
    for path in _OTHER_ADDRESSES:
        try:
            response = await _ask(replace(target, base_url=root + path), model, "Say hello.")
        except LanguageModelError as error:
            if target.base_url not in str(error):
                raise UnexpectedError(f"{root + path}: {_named(error)}") from error
        else:
            _expect(f"the text below {path or 'the host'}", _text(response), HELLO)
    return "understood, or answered with the URL to use"


async def _turns(target: Target, model: str) -> str:
    messages = [
        ChatMessage.user("The word is bluebird."),
        ChatMessage.assistant("Noted."),
        ChatMessage.user("Which word was it?"),
    ]
    _expect("the text", _text(await _ask(target, model, messages)), "bluebird")
    return "it knew the first turn"


async def _tool_round_trip(target: Target, model: str) -> str:
    asked: list[Mapping[str, Any]] = []

    async def get_weather(arguments: Mapping[str, Any]) -> str:
        asked.append(arguments)
        return "21 degrees"

    question = ChatMessage.user("What is the weather in Lisbon?")
    async with connect(_configuration(target, model), model=model) as chat:
        result = await run_tool_loop(chat, [question], [ToolFunction(_WEATHER, get_weather)], max_rounds=3)
    _expect("the arguments", asked, [{"city": "Lisbon"}])
    _expect("the text", result.text, WARM)
    return "called, answered, and said so"


async def _two_calls(target: Target, model: str) -> str:
    response = await _ask(target, model, "What is the weather in two cities?", _WEATHER)
    calls = [part for part in response.parts if isinstance(part, ToolCallPart)]
    _expect("the cities", [call.input.get("city") for call in calls], ["Lisbon", "Oslo"])
    _expect("the number of ids", len({call.call_id for call in calls}), 2)
    reason = response.finish_reason
    _expect("the finish reason", reason and reason.unified.value, "tool-calls")
    return "two calls in one answer"


async def _thinking(target: Target, model: str) -> str:
    response = await _ask(target, model, "Think: what is six times seven?")
    thought = "".join("".join(part.value) for part in response.parts if isinstance(part, ThinkingPart))
    _expect("the thinking", thought, "Six times seven is 42.")
    _expect("the text", _text(response), "42")
    return "thinking, then the text"


async def _usage(target: Target, model: str) -> str:
    usage = (await _ask(target, model, "Say hello.")).usage
    if usage is None or not usage.input_tokens or not usage.output_tokens:
        raise UnexpectedError("no usage" if usage is None else f"usage of {usage.input_tokens}, {usage.output_tokens}")
    return f"{usage.input_tokens} in, {usage.output_tokens} out"


async def _rate_limit(target: Target, model: str) -> str:
    return await _refused(target, model, "Limit me.", 429)


async def _overflow(target: Target, model: str) -> str:
    return await _refused(target, model, "Read all of it.", 400, kind=ContextLengthExceededError)


async def _wrong_model(target: Target, _model: str) -> str:
    return await _refused(target, "no-such-model", "Say hello.", 400, 404)


async def _wrong_key(target: Target, model: str) -> str:
    return await _refused(target, model, "Say hello.", 400, 401, 403, key="not-the-key")


async def _refused(
    target: Target,
    model: str,
    words: str,
    *statuses: int,
    kind: type[UpstreamError] = UpstreamError,
    key: str | None = None,
) -> str:
    """Asks what has to be refused: with one of the statuses, or by an error within the stream."""
    try:
        response = await _ask(target, model, words, key=key)
    except UpstreamError as error:
        told = (UpstreamHTTPError, UpstreamFailureError, ContextLengthExceededError)
        if not isinstance(error, kind) or not isinstance(error, told) or error.http_status not in {*statuses, None}:
            raise
        return _named(error)
    raise UnexpectedError(f"it answered {_text(response)!r}")


async def _broken_off(target: Target, model: str) -> str:
    try:
        response = await _ask(target, model, "Break off.")
    except (TruncatedStreamError, UpstreamConnectionError) as error:
        return f"told as {type(error).__name__}"
    raise UnexpectedError(f"it was taken for whole: {_text(response)!r}")


async def _in_between(target: Target, _model: str) -> str:
    """Asks our own server for each of these scenarios, and asks for it again through the proxy in between."""
    direct = replace(target, base_url=target.behind, key="")
    other: dict[str, str] = {}
    for scenario in _SCENARIOS:
        said, came = await _essence(direct, scenario), await _essence(target, OURS + scenario)
        for name, value in said.items():
            if came[name] != value:
                other.setdefault(name, f"{scenario} has {came[name]!r:.80} instead of {value!r:.80}")
    if other:
        raise UnexpectedError(f"otherwise: {', '.join(other)}. {'; '.join(other.values())}")
    return f"{len(_SCENARIOS)} answers of our own server came through as they are"


async def _essence(target: Target, model: str) -> dict[str, object]:
    """What has to be the same of two answers that say the same, by name."""
    response = await _ask(target, model, "Say hello.", _WEATHER)
    thought = "".join("".join(part.value) for part in response.parts if isinstance(part, ThinkingPart))
    calls = [(part.name, part.input) for part in response.parts if isinstance(part, ToolCallPart)]
    usage, reason = response.usage, response.finish_reason
    return {
        "text": _text(response),
        "thinking": thought,
        "calls": calls,
        "tokens": usage and (usage.input_tokens, usage.output_tokens),
        "tokens of thinking": usage and usage.reasoning_tokens,
        "finish": reason and reason.unified.value,
    }


TRIALS: Final = (
    Trial("models", _list_models),
    Trial("chat", _chat),
    Trial("stream", _stream),
    Trial("addresses", _addresses, needs_auto=True),
    Trial("turns", _turns),
    Trial("tool round trip", _tool_round_trip),
    Trial("two calls", _two_calls),
    Trial("thinking", _thinking),
    Trial("usage", _usage),
    Trial("rate limit", _rate_limit),
    Trial("overflow", _overflow),
    Trial("broken off", _broken_off),
    Trial("wrong model", _wrong_model),
    Trial("wrong key", _wrong_key),
    Trial("in between", _in_between, needs_proxy=True),
)
"""In the order of tables: the first two through the command line, the others through the Python API."""
