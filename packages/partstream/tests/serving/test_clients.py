"""Which client asks: what is read of its headers, and what never is."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partstream import chat_model
from partstream.lm.messages import ChatMessage, RequestOptions, Tool
from partstream.lm.outputs import InboundRequest
from partstream.server.application import app
from partstream.server.clients import AnswerKind, ClientClass, RequestClient, client_of
from rows import one_test_for

from .asgi import ask

_METADATA = json.dumps({"turn_id": "turn-7", "workspace": "/home/ada/secret-project", "sandbox": "none"})
_AGENT, _PACKAGE = ClientClass.AGENT, ClientClass.PACKAGE


@one_test_for(
    ("headers", "expected"),
    [
        pytest.param(
            {
                "user-agent": "codex_exec/0.169.0 (Debian 12.0.0; x86_64) unknown",
                "originator": "codex_exec",
                "session-id": "0199-aa",
                "thread-id": "0199-aa",
                "x-codex-turn-metadata": _METADATA,
            },
            RequestClient("codex", "0.169.0", _AGENT, "0199-aa", "turn-7"),
            id="Codex",
        ),
        pytest.param(
            {
                "user-agent": "claude-cli/2.1.330 (external, sdk-cli)",
                "x-app": "cli",
                "x-claude-code-session-id": "5f0c",
                "x-stainless-retry-count": "1",
            },
            RequestClient("claude-code", "2.1.330", _AGENT, "5f0c", retry=1),
            id="Claude Code, once more",
        ),
        pytest.param(
            {
                "user-agent": "opencode/1.18.33 ai-sdk/openai-compatible/3.0.92 runtime/bun/1.4.5",
                "x-session-id": "ses_1",
                "x-session-affinity": "ses_1",
            },
            RequestClient("opencode", "1.18.33", _AGENT, "ses_1"),
            id="opencode",
        ),
        pytest.param(
            {"user-agent": "AsyncOpenAI/Python 3.54.0", "x-stainless-retry-count": "0"},
            RequestClient("openai-python", "3.54.0", _PACKAGE),
            id="the package of OpenAI",
        ),
        pytest.param(
            {"user-agent": "Anthropic/JS 1.12.0"}, RequestClient("anthropic-node", "1.12.0", _PACKAGE), id="Anthropic's"
        ),
        pytest.param(
            {"user-agent": "google-genai-sdk/3.4.0 gl-python/3.11.7"},
            RequestClient("google-genai", "3.4.0", _PACKAGE),
            id="Google's",
        ),
        pytest.param(
            {"user-agent": "my-tool/2.0", "x-session-id": "mine"},
            RequestClient("my-tool", "2.0", session="mine"),
            id="an unknown program that names its session",
        ),
        pytest.param({"user-agent": "codexish/1"}, RequestClient("codexish", "1"), id="a name that begins alike"),
        pytest.param({}, RequestClient(), id="no user agent"),
    ],
)
def test_a_client_is_named_by_its_headers(headers: dict[str, str], expected: RequestClient) -> None:
    assert client_of(headers) == expected


RECORDED = Path(__file__).resolve().parents[4] / "tests" / "fixtures" / "agents"
_UUID, _OPENCODE_SESSION = "00000000-0000-4000-8000-000000000001", "ses_00000000000000000000000001"


@one_test_for(
    ("recorded", "name", "version", "session", "kind"),
    [
        ("codex", "codex", "0.169.0", _UUID, AnswerKind.TURN),
        ("claude-code", "claude-code", "2.1.330", _UUID, AnswerKind.TURN),
        ("opencode-chat", "opencode", "1.18.33", _OPENCODE_SESSION, AnswerKind.TURN),
        ("opencode-chat-title", "opencode", "1.18.33", _OPENCODE_SESSION, AnswerKind.TITLE),
        ("opencode-messages-title", "opencode", "1.18.33", _OPENCODE_SESSION, AnswerKind.TITLE),
        ("opencode-responses-title", "opencode", "1.18.33", _OPENCODE_SESSION, AnswerKind.TITLE),
        ("copilot-cli", "copilot-cli", "", None, AnswerKind.TURN),
        ("gemini-cli", "gemini-cli", "0.61.0", None, AnswerKind.TURN),
        ("qwen-code", "qwen-code", "0.24.4", None, AnswerKind.TURN),
    ],
)
def test_the_first_request_of_a_coding_agent_names_its_client_and_session(
    recorded: str, name: str, version: str, session: str | None, kind: AnswerKind
) -> None:
    # The recordings have lengths instead of prompts; this one begins with these words.
    text = (RECORDED / f"{recorded}.json").read_text(encoding="utf-8")
    request = json.loads(
        text.replace("(2096 characters)", "You are a title generator. You output ONLY a thread title.")
    )
    seen: list[Any] = []
    application = app(parrot)
    application.on_did_finish_answer(seen.append)
    path, _, query = request["path"].partition("?")
    asyncio.run(ask(application, path, request["body"], headers=dict(request["headers"]), query=query))
    [client] = [one.client for one in seen]
    assert (client.name, client.version, client.session, client.kind) == (name, version, session, kind)
    assert client.of_class is ClientClass.AGENT
    assert (client.turn is not None) is (name == "codex")


@chat_model(id="parrot")
async def parrot(messages: Any, options: Any) -> Any:
    yield "Hello"


def _asked(*messages: ChatMessage, tools: tuple[Tool, ...] = (), **body: object) -> InboundRequest:
    return InboundRequest("m", messages, RequestOptions(tools), body=body)


_TITLE = ChatMessage.system("You are a title generator. You output ONLY a thread title. Nothing else.")
_OPENCODE = {"user-agent": "opencode/1.18.33 ai-sdk/openai"}


@pytest.mark.parametrize(
    ("headers", "asked", "kind"),
    [
        (_OPENCODE, _asked(_TITLE, ChatMessage.user("Generate a title for this conversation:")), AnswerKind.TITLE),
        (_OPENCODE, _asked(ChatMessage.system("You are opencode."), ChatMessage.user("Hello")), AnswerKind.TURN),
        (_OPENCODE, _asked(_TITLE, tools=(Tool("bash", "Runs."),)), AnswerKind.TURN),
        ({"user-agent": "OpenAI/JS 7"}, _asked(_TITLE), AnswerKind.TURN),
    ],
)
def test_the_title_that_opencode_asks_for_is_a_kind_of_its_own(
    headers: dict[str, str], asked: InboundRequest, kind: AnswerKind
) -> None:
    assert client_of(headers, asked).kind is kind


@pytest.mark.parametrize(
    "metadata",
    [{"turn_id": "turn-7"}, {"x-codex-turn-metadata": _METADATA}, {"turn_id": "turn-7", "path": "/home/ada"}],
)
def test_a_frame_of_a_socket_names_its_turn_in_the_body(metadata: dict[str, str]) -> None:
    codex = {"user-agent": "codex_exec/0.169.0", "session-id": "s"}
    assert client_of(codex, _asked(client_metadata=metadata)).turn == "turn-7"


@one_test_for(
    "value",
    ["/home/ada/project", '{"turn_id": "x"}', "a b", "a\x1b[2J", "", "x" * 129, "идентификатор"],
)
def test_what_is_no_plain_id_is_not_kept(value: str) -> None:
    codex = {
        "user-agent": "codex_cli_rs/1",
        "session-id": value,
        "x-codex-turn-metadata": json.dumps({"turn_id": value}),
    }
    seen = client_of(codex)
    assert (seen.session, seen.turn) == (None, None)


@one_test_for("metadata", ["{", "[]", "7", '{"turn_id": 7}', '{"turn_id": null}', "[" * 10_000, " " * 20_000])
def test_metadata_of_another_shape_names_no_turn(metadata: str) -> None:
    codex = {"user-agent": "codex_exec/1", "x-codex-turn-metadata": metadata}
    assert client_of(codex, _asked(client_metadata=metadata)).turn is None


@given(
    st.dictionaries(st.sampled_from(["user-agent", "session-id", "x-session-id", "x-stainless-retry-count"]), st.text())
)
def test_any_header_gives_short_plain_names(headers: dict[str, str]) -> None:
    seen = client_of(headers)
    said = f"{seen.name}{seen.version}{seen.session}{seen.turn}"
    assert said.isascii()
    assert said.isprintable()
    assert len(said) < 300
    assert "/home" not in (seen.session or "")
    assert 0 <= seen.retry <= 1_000
