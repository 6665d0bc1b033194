"""The whole streams that are damaged: answers of every kind in every protocol, and recordings where there are any."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from partstream.lm.messages import ChatMessage, RequestOptions
from partstream.lm.outputs import InboundRequest, Reply, StreamOutput
from partstream.protocols.protocol import PROTOCOLS, known_framings
from partstream.protocols.reader import StreamReader
from partstream.runtime.translation import write_answer
from recordings import FOLDER

_FIXTURES = Path(__file__).parents[1] / "fixtures" / "ai_sdk"
_AGENTS = Path(__file__).parents[1] / "fixtures" / "ag_ui"
_MOST_EVENTS = 120
_LONGEST_EVENT = 20_000
_ASKED = InboundRequest(
    "m", (ChatMessage.user("Hi"),), RequestOptions(), body={"include": ["reasoning.encrypted_content"]}
)


@dataclass(frozen=True, slots=True)
class Source:
    """One whole stream.

    Attributes:
        protocol: The name of its protocol.
        name: Where it is from.
        events: The data of each event, as it stands on the wire.
    """

    protocol: str
    name: str
    events: tuple[bytes, ...]


@cache
def sources() -> tuple[Source, ...]:
    """All streams, in the same order on every machine that has the same recordings."""
    found = [*_answers(), *_agents(), *_recordings(), *_made_up()]
    return tuple(Source(one.protocol, one.name, one.events[:_MOST_EVENTS]) for one in found if one.events)


def _answers() -> list[Source]:
    """What was recorded of the AI SDK, written in every protocol that has a writer."""
    written: list[Source] = []
    for path in sorted(_FIXTURES.glob("7.*/*.fullstream.plain.jsonl")):
        outputs = _read(path)
        for name, row in PROTOCOLS.items():
            if row.write_response is not None:
                events = write_answer(row, _ASKED, outputs, Reply("identity", 1, 9))
                written.append(Source(name, f"{path.stem} as {name}", tuple(_data(name, event) for event in events)))
    return written


def _read(path: Path) -> list[StreamOutput]:
    reader = StreamReader("ai-sdk", framing=known_framings()["jsonl"])
    return [*reader.feed(path.read_bytes()), *reader.end()]


def _data(protocol: str, event: dict[str, Any]) -> bytes:
    row = PROTOCOLS[protocol]
    if row.framings[0].name in {"sse", "jsonl"} or row.write_response is None:
        return json.dumps(event, separators=(",", ":")).encode()
    return row.write_response().frame(event).strip()


def _agents() -> list[Source]:
    """Runs of agents, which hold more than a writer of answers writes: own tools, interrupts, snapshots."""
    return [
        Source("ag-ui", path.name, tuple(path.read_bytes().splitlines())) for path in sorted(_AGENTS.glob("*.jsonl"))
    ]


def _recordings() -> list[Source]:
    """Recordings of real servers, if this machine has them."""
    folders = {
        "openresponses": "openresponses/*.jsonl",
        "ai-sdk": "ai_sdk/*/*.jsonl",
        "chat-completions": "chat_completions/*.jsonl",
        "anthropic-messages": "anthropic_messages/*.jsonl",
        "gemini": "gemini/*.jsonl",
        "ollama": "ollama/*.jsonl",
    }
    found: list[Source] = []
    for protocol, pattern in folders.items():
        for path in sorted(FOLDER.glob(pattern)):
            lines = tuple(line for line in path.read_bytes().split(b"\n") if line.strip())
            if all(len(line) < _LONGEST_EVENT for line in lines):
                found.append(Source(protocol, path.name, lines))
    return found


def _made_up() -> list[Source]:
    """A stream of each protocol that nothing here writes, and of which there is no recording."""
    return [
        Source(name, "invented", tuple(json.dumps(one).encode() for one in events)) for name, events in MADE_UP.items()
    ]


def _step(index: int, step: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"event_type": "step.start", "index": index, "step": step},
        *({"event_type": "step.delta", "index": index, "delta": delta} for delta in deltas),
        {"event_type": "step.stop", "index": index},
    ]


MADE_UP: dict[str, list[dict[str, Any]]] = {
    "gemini-interactions": [
        {"event_type": "interaction.created", "interaction": {"id": "i", "status": "in_progress", "model": "m"}},
        *_step(
            0,
            {"type": "thought"},
            {"type": "thought_summary", "content": {"type": "text", "text": "A greeting."}},
            {"type": "thought_signature", "signature": "c2ln"},
        ),
        *_step(1, {"type": "google_search_call", "id": "s", "arguments": {"queries": ["Hi"]}}),
        *_step(2, {"type": "model_output"}, {"type": "text", "text": "Hi "}, {"type": "text", "text": "there."}),
        *_step(
            3,
            {"type": "function_call", "id": "c", "name": "look_up", "arguments": {}},
            {"type": "arguments_delta", "arguments": '{"word": '},
            {"type": "arguments_delta", "arguments": '"hello"}'},
        ),
        {
            "event_type": "interaction.completed",
            "interaction": {"id": "i", "status": "requires_action", "usage": {"total_input_tokens": 9}},
        },
    ],
}
"""By protocol: the events of a whole stream."""
