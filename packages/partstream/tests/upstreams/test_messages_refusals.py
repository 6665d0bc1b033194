"""Servers of Anthropic Messages that refuse something of a request: how often each is asked, and with what."""

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from listening import deliver, listening
from partstream import ChatMessage, RequestOptions, Tool
from partstream.codec.json_codec import dumps
from partstream.conversation.preparation import RequestSettings
from partstream.conversation.provider_state import Origin
from partstream.errors import UpstreamHTTPError
from partstream.lm.messages import ToolMode
from partstream.lm.parts import TextPart, ThinkingPart, ToolCallPart, ToolResultPart
from partstream.protocols.anthropic_messages.models import AnthropicMessagesSettings, PromptCache
from partstream.protocols.anthropic_messages.provider_state import block_item
from partstream.server.loopback import ServerConnection
from partstream.tokens.ledger import open_ledger
from partstream.upstream.configuration import fingerprint_of
from partstream.upstream.endpoint import Secret
from partstream.upstream.requests import RefusedFields
from partstream_devtools.testing.faults import Step, document
from upstreams.test_refusals import Body, asked, server
from upstreams.upstreams import ask, gateway_to, run

MESSAGES: dict[str, Any] = {"protocol": "anthropic-messages"}
OPUS, SONNET = "claude-opus-4-6", "claude-sonnet-4-5"
TOOLS = (Tool("look_up", "", {"type": "object"}),)

_EVENTS: list[dict[str, Any]] = [
    {
        "type": "message_start",
        "message": {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": {}},
    },
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hello"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
    {"type": "message_stop"},
]
HELLO = list(
    document(
        200,
        "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in _EVENTS).encode(),
        "text/event-stream",
    )
)


def refusal(said: str, status: int = 400) -> list[Step]:
    error = {"type": "invalid_request_error", "message": said}
    return list(document(status, dumps({"type": "error", "error": error, "request_id": "req_1"})))


def refusing(refuses: Callable[[Body], str | None]) -> Callable[[Body], list[Step]]:
    def answer_to(body: Body) -> list[Step]:
        said = refuses(body)
        return HELLO if said is None else refusal(said)

    return answer_to


NO_ENABLED = (
    '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" '
    "to control thinking behavior."
)
NO_DISABLED = '"thinking.type.disabled" is not supported for this model.'
NO_ADAPTIVE = "adaptive thinking is not supported on this model"
FORMS = {
    "enabled": (SONNET, {"reasoningEffort": "high"}, {"enabled": NO_ENABLED}, ["enabled", "adaptive"]),
    "adaptive": (OPUS, {}, {"adaptive": NO_ADAPTIVE}, ["adaptive", "enabled"]),
    "disabled": (OPUS, {"reasoningEffort": "none"}, {"disabled": NO_DISABLED}, ["disabled", None]),
    "adaptive, by its type": (
        OPUS,
        {},
        {"adaptive": "thinking: Input tag 'adaptive' found using 'type' does not match any of the expected tags"},
        ["adaptive", "enabled"],
    ),
    "all": (OPUS, {}, {"adaptive": NO_ADAPTIVE, "enabled": NO_ENABLED}, ["adaptive", "enabled", None]),
}


@pytest.mark.parametrize(("model", "chosen", "refused", "sent"), FORMS.values(), ids=FORMS)
def test_decision_8_a_form_of_thinking_that_is_refused_is_sent_in_another_at_once_and_from_then_on(
    model: str, chosen: dict[str, str], refused: dict[str, str], sent: list[str | None]
) -> None:
    async def check() -> None:
        def refuses(body: Body) -> str | None:
            return refused.get(body.get("thinking", {}).get("type"))

        async with server(refusing(refuses)) as (url, came), gateway_to(url, **MESSAGES) as provider:
            for _ in range(2):
                assert (await asked(provider, model_id=model, model_configuration=chosen)).text == "Hello"
            assert [body.get("thinking", {}).get("type") for body in came] == [*sent, sent[-1]]
            for body in came:
                thinking = body.get("thinking", {})
                assert ("display" in thinking) == (thinking.get("type") in {"adaptive", "enabled"})
                assert thinking.get("budget_tokens", 1024) < body["max_tokens"]

    run(check())


def test_decision_11_marks_for_the_cache_are_switched_off_by_a_refusal_that_names_them() -> None:
    async def check() -> None:
        def refuses(body: Body) -> str | None:
            return "system.0.cache_control: Extra inputs are not permitted" if "cache_control" in str(body) else None

        async with server(refusing(refuses)) as (url, came), gateway_to(url, **MESSAGES) as provider:
            for _ in range(2):
                conversation = [ChatMessage.system("Be brief."), ChatMessage.user("Hi")]
                answer = await ask(provider, conversation, options=RequestOptions(TOOLS), model_id=OPUS)
                assert answer.text == "Hello"
            first, *others = came
            assert str(first).count("cache_control") == 3
            assert ["cache_control" in str(body) for body in others] == [False, False]

    run(check())


def test_decision_11_marks_for_the_cache_are_switched_off_by_a_setting() -> None:
    async def check() -> None:
        settings = RequestSettings(own=AnthropicMessagesSettings(prompt_cache=PromptCache.OFF))
        async with (
            server(lambda body: HELLO) as (url, came),
            gateway_to(url, **MESSAGES, request=settings) as provider,
        ):
            assert (await asked(provider, model_id=OPUS)).text == "Hello"
            assert "cache_control" not in str(came)

    run(check())


REFUSALS: dict[str, tuple[str, dict[str, Any], Callable[[Body], bool], str]] = {
    "how thinking is shown": (
        OPUS,
        {},
        lambda body: "display" in body.get("thinking", {}),
        "thinking.adaptive.display: Extra inputs are not permitted",
    ),
    "an effort": (
        OPUS,
        {"model_configuration": {"reasoningEffort": "low"}},
        lambda body: "output_config" in body,
        "This model does not support the effort parameter.",
    ),
    "context editing": (
        SONNET,
        {"tools": TOOLS},
        lambda body: "context_management" in body,
        "context_management: Extra inputs are not permitted",
    ),
    "a beta": (
        SONNET,
        {"tools": TOOLS},
        lambda body: "context_management" in body,
        "Unexpected value(s) `context-management-2025-06-27` for the `anthropic-beta` header.",
    ),
    "a temperature": (
        "claude-next",
        {"model_options": {"temperature": 0.5}},
        lambda body: "temperature" in body,
        "`temperature` is deprecated for this model.",
    ),
    "a longer answer": (
        OPUS,
        {},
        lambda body: body["max_tokens"] > 8192,
        "max_tokens: 128000 > 8192, which is the maximum allowed number of output tokens for claude-opus-4-6",
    ),
    "a forced call": (
        OPUS,
        {"tools": TOOLS, "tool_mode": ToolMode.REQUIRED},
        lambda body: body.get("tool_choice", {}).get("type") == "any",
        "tool_choice: 'any' is not supported for this model",
    ),
    "an option of another wire": (
        OPUS,
        {"model_options": {"seed": 7}},
        lambda body: "seed" in body,
        "seed: Extra inputs are not permitted",
    ),
}


@pytest.mark.parametrize(("model", "options", "is_refused", "said"), REFUSALS.values(), ids=REFUSALS)
def test_what_a_server_refuses_is_left_out_once_and_from_then_on(
    model: str, options: dict[str, Any], is_refused: Callable[[Body], bool], said: str
) -> None:
    async def check() -> None:
        answers = refusing(lambda body: said if is_refused(body) else None)
        async with server(answers) as (url, came), gateway_to(url, **MESSAGES) as provider:
            for _ in range(2):
                answer = await ask(provider, "Hi", options=RequestOptions(**options), model_id=model)
                assert (answer.text, answer.error) == ("Hello", None)
            assert [is_refused(body) for body in came] == [True, False, False]

    run(check())


THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "sig_1"}


def _thinking(url: str, model: str) -> ThinkingPart:
    origin = Origin(fingerprint_of("anthropic-messages", url), model)
    items = [{**block_item(THOUGHT), "after": [0, 0]}]
    return ThinkingPart("Hm.", None, {"reasoning_items": items, "origin": origin.key})


def _conversation(url: str) -> list[ChatMessage]:
    """A finished turn with thinking, and a turn of which a call has its result."""
    return [
        ChatMessage.user("Hi"),
        ChatMessage.assistant([_thinking(url, OPUS), TextPart("Ho")]),
        ChatMessage.user("?"),
        ChatMessage.assistant([_thinking(url, OPUS), ToolCallPart("1", "look_up", {})]),
        ChatMessage.user([ToolResultPart("1", (TextPart("x"),))]),
    ]


def _thought(body: Body) -> list[int]:
    """The answers that go back with their thinking, by number."""
    answers = [message for message in body["messages"] if message["role"] == "assistant"]
    return [number for number, one in enumerate(answers) if one["content"][0]["type"] == "thinking"]


@pytest.mark.parametrize(
    "said",
    [
        "messages.1.content.0: Invalid `signature` in `thinking` block",
        "messages.1.content.0: `thinking` blocks in the latest assistant message cannot be modified.",
        "messages.1.content.0.thinking.signature: Field required",
    ],
)
def test_decision_7_refused_thinking_goes_of_finished_turns_first_and_then_all_with_thinking_off(said: str) -> None:
    async def check(refused: int) -> list[Body]:
        def refuses(body: Body) -> str | None:
            return said if len(_thought(body)) > 2 - refused else None

        async with server(refusing(refuses)) as (url, came), gateway_to(url, **MESSAGES) as provider:
            answer = await ask(provider, _conversation(url), options=RequestOptions(TOOLS), model_id=OPUS)
            assert (answer.text, answer.error) == ("Hello", None)
        return came

    async def both() -> None:
        one = await check(1)
        assert [_thought(body) for body in one] == [[0, 1], [1]]
        assert [body["thinking"]["type"] for body in one] == ["adaptive", "adaptive"]
        all_of_it = await check(2)
        assert [_thought(body) for body in all_of_it] == [[0, 1], [1], []]
        assert [body["thinking"]["type"] for body in all_of_it] == ["adaptive", "adaptive", "disabled"]

    run(both())


def test_what_cannot_be_corrected_is_asked_once() -> None:
    async def check() -> None:
        answers = refusing(lambda body: "messages: at least one message is required")
        async with server(answers) as (url, came), gateway_to(url, **MESSAGES) as provider:
            answer = await asked(provider, model_id=OPUS)
            assert isinstance(answer.error, UpstreamHTTPError)
            assert len(came) == 1

    run(check())


def test_the_headers_carry_version_betas_and_one_key() -> None:
    async def check() -> None:
        headers: list[dict[str, str]] = []

        async def serve(connection: ServerConnection) -> None:
            while (request := await connection.next_request()) is not None:
                headers.append(dict(request.headers))
                await deliver(connection, request, HELLO)

        async with listening(serve) as url, gateway_to(f"{url}/v1", **MESSAGES, api_key=Secret("k-1")) as provider:
            answer = await ask(provider, "Hi", options=RequestOptions(TOOLS), model_id=SONNET)
            assert answer.text == "Hello"
        (sent,) = headers
        assert (sent["x-api-key"], "authorization" in sent) == ("k-1", False)
        assert sent["anthropic-version"] == "2023-06-01"
        assert sent["anthropic-beta"] == "context-management-2025-06-27"

    run(check())


NO_VERSION = 'anthropic-version: "2026-10-21" is not a valid version'


def test_a_version_that_a_server_refuses_is_replaced_by_the_older_one_at_once_and_from_then_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def check() -> None:
        versions: list[str] = []

        async def serve(connection: ServerConnection) -> None:
            while (request := await connection.next_request()) is not None:
                versions.append(dict(request.headers)["anthropic-version"])
                await deliver(connection, request, HELLO if versions[-1] == "2023-06-01" else refusal(NO_VERSION))

        settings = RequestSettings(own=AnthropicMessagesSettings(messages_server="anthropic"))
        async with listening(serve) as url, gateway_to(f"{url}/v1", **MESSAGES, request=settings) as provider:
            for _ in range(2):
                answer = await asked(provider, model_id=OPUS)
                assert (answer.text, answer.error) == ("Hello", None)
        assert versions == ["2026-10-21", "2023-06-01", "2023-06-01"]
        assert (
            f"{OPUS} refuses anthropic-version (you set anthropic-version): sent again with anthropic-ver"
            in caplog.text
        )

    run(check())


def test_a_server_that_refuses_the_older_version_too_is_not_asked_again() -> None:
    async def check() -> None:
        said = NO_VERSION.replace("2026-10-21", "2023-06-01")
        async with server(refusing(lambda body: said)) as (url, came), gateway_to(url, **MESSAGES) as provider:
            assert isinstance((await asked(provider, model_id=OPUS)).error, UpstreamHTTPError)
            assert len(came) == 1

    run(check())


def test_a_beta_of_a_person_that_is_refused_is_left_out_once_and_from_then_on() -> None:
    async def check() -> None:
        sent: list[str | None] = []

        async def serve(connection: ServerConnection) -> None:
            while (request := await connection.next_request()) is not None:
                sent.append(dict(request.headers).get("anthropic-beta"))
                said = "Unexpected value(s) `message-threads-2026-08-12` for the `anthropic-beta` header."
                await deliver(connection, request, HELLO if sent[-1] is None else refusal(said))

        settings = RequestSettings(own=AnthropicMessagesSettings(betas=("message-threads-2026-08-12",)))
        async with listening(serve) as url, gateway_to(f"{url}/v1", **MESSAGES, request=settings) as provider:
            for _ in range(2):
                assert (await asked(provider, model_id=OPUS)).text == "Hello"
        assert sent == ["message-threads-2026-08-12", None, None]

    run(check())


def test_what_was_refused_is_known_after_a_restart(tmp_path: Path) -> None:
    names = frozenset({"thinking:enabled", "max_tokens:8192", "tools[].cache_control", "beta:compact-2026-01-12"})
    with closing(open_ledger(tmp_path)) as ledger:
        RefusedFields("u", ledger).keep(OPUS, names)
        ledger.flush()
    with closing(open_ledger(tmp_path)) as ledger:
        assert RefusedFields("u", ledger).of(OPUS) == names
