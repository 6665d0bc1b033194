"""The session of an agent over real HTTP: a conversation as Copilot keeps it, our requests, a server that bills caches.

The tools are those that Copilot's agent mode was recorded with; the system message and the results of tools have the
sizes that were observed. Nothing in it is random: every run sends the same bytes.
"""

from __future__ import annotations
import json
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.copilot_conversation import CopilotConversation
from partstream import CancellationTokenSource, LanguageModelChatInformation, RequestOptions
from partstream.lm.parts import USAGE_MIME_TYPE, DataPart, TextPart, ToolResultPart
from partstream.upstream.configuration import GatewayConfiguration
from partstream.upstream.provider import GatewayProvider
from partstream.vscode.methods import decode_options
from partstream_devtools.testing.admission import endpoint_at
from partstream_devtools.testing.upstream import ReplayUpstream

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.lm.parts import ResponsePart, ToolCallPart
    from partstream.protocols.serve import WireRequest
    from partstream_devtools.testing.replaying import ReceivedRequest

__all__ = ["Exchange", "play_session"]

RECORDED: Final = Path(__file__).resolve().parent.parent / "tests" / "fixtures" / "copilot" / "rounds-1.json"

SYSTEM: Final = "You are an expert AI programming assistant, working with a user in the VS Code editor. " * 168
"""As long as the one that Copilot 0.67 was observed to send in agent mode."""
CONTEXT: Final = "<environment_info>\nThe user's current OS is: Linux\n</environment_info>\n" * 10
QUESTIONS: Final = (
    "The totals of the report are wrong since last week. Find out why and mend it.",
    "Good. Now do the same for the export, and write a test that fails without the change.",
    "The test is slow. What does it wait for? Make it fast, and say what you changed.",
)
THINKS: Final = {"reasoningEffort": "high"}
"""What a person chose in the picker: some models think only where they are asked to."""
SHORTEST_RESULT, LONGEST_RESULT = 200, 8_000
"""Characters of the results of tools: a listing, and a file of some hundred lines."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request of the session and what its answer said.

    Attributes:
        request: The request, as the corner that reads it gets it.
        usage: The usage that our reader handed out.
    """

    request: WireRequest
    usage: Mapping[str, Any]


@dataclass(slots=True)
class _Answer:
    """Takes the parts of an answer."""

    parts: list[ResponsePart] = field(default_factory=list)

    def report(self, part: ResponsePart, /) -> None:
        """Takes the next part."""
        self.parts.append(part)


async def play_session(protocol: str, model_id: str, rounds: int, **settings: Any) -> list[Exchange]:
    """Plays a session of three turns.

    Args:
        protocol: The protocol of the server.
        model_id: The model that is asked.
        rounds: The number of requests in each turn: the last one brings the answer, the others calls.
        settings: Further fields of the configuration of the upstream.
    """
    model = LanguageModelChatInformation(model_id, model_id, model_id, "1", 1_000_000, 64_000)
    options = replace(decode_options(json.loads(RECORDED.read_bytes())["options"]), model_configuration=THINKS)
    conversation = CopilotConversation(SYSTEM)
    said: list[Mapping[str, Any]] = []
    async with ReplayUpstream(scenario=f"tools={rounds - 1}", bills_cache=True) as upstream:
        base_url = upstream.base_url_of(protocol)
        provider = GatewayProvider(GatewayConfiguration(base_url, models=(model,), protocol=protocol, **settings))
        try:
            for number, question in enumerate(QUESTIONS):
                if not number:
                    conversation.ask(CONTEXT)
                conversation.ask(question)
                calls: tuple[ToolCallPart, ...] | None = None
                while calls is None or calls:
                    parts = await _asked(provider, model, conversation, options)
                    said.append(_usage(parts))
                    calls = conversation.answer(parts, model_id)
                    conversation.give(map(_result, calls))
        finally:
            await provider.aclose()
        asked = [received for received in upstream.requests if received.method == "POST"]
    return [Exchange(_wire(received), usage) for received, usage in zip(asked, said, strict=True)]


async def _asked(
    provider: GatewayProvider,
    model: LanguageModelChatInformation,
    conversation: CopilotConversation,
    options: RequestOptions,
) -> list[ResponsePart]:
    answer = _Answer()
    await provider.provide_language_model_chat_response(
        model, conversation.messages(model.id), options, answer, CancellationTokenSource().token
    )
    return answer.parts


def _usage(parts: list[ResponsePart]) -> Mapping[str, Any]:
    found = [part for part in parts if isinstance(part, DataPart) and part.mime_type == USAGE_MIME_TYPE]
    usage: Mapping[str, Any] = json.loads(found[-1].data) if found else {}
    return usage


def _result(call: ToolCallPart) -> ToolResultPart:
    """The result of a call: the same for the same call, and as long as its digest says."""
    said = json.dumps([call.name, call.input])
    digest = sha256(said.encode()).hexdigest()
    length = SHORTEST_RESULT + int(digest[:8], 16) % (LONGEST_RESULT - SHORTEST_RESULT)
    line = f"{digest[:12]}: value = totals.get(name, 0) + row.amount  # seen by {call.name}\n"
    return ToolResultPart(call.call_id, (TextPart((line * (length // len(line) + 1))[:length]),))


def _wire(received: ReceivedRequest) -> WireRequest:
    path, _, query = received.path.partition("?")
    return endpoint_at(path).request(path, received.body, received.headers, query)
