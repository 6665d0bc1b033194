"""Measures reading a conversation and writing its request: milliseconds by length, with and without continuation.

    python -m benchmarks.requests

The target is 10 ms for 200 messages of 1 MB together, and time that grows with the length and no faster.
"""

from __future__ import annotations
import time
from statistics import median

import click

from partstream import ChatMessage, DataPart, RequestOptions, TextPart, Tool, ToolCallPart, ToolResultPart
from partstream.codec.json_codec import dumps
from partstream.conversation.preparation import Continuation, RequestSettings, prepare
from partstream.conversation.provider_state import Origin
from partstream.protocols.openresponses.write_request import WRITE_REQUEST

MESSAGES = 200
CHARACTERS = 1_000_000
TOOLS = tuple(
    Tool(f"tool_{number}", "Does something. " * 20, {"type": "object", "properties": {"path": {"type": "string"}}})
    for number in range(40)
)


def conversation(messages: int, characters: int) -> list[ChatMessage]:
    """What an agent's session is made of: few questions, many tool results, one image."""
    size = characters // messages
    made = [ChatMessage.system("You are an agent. " * (size // 18))]
    while len(made) < messages:
        number = len(made)
        called = ToolCallPart(f"gw-call_{number}", "tool_1", {"path": f"/src/{number}.py", "text": "é" * (size // 8)})
        made += [
            ChatMessage.user("Why does it fail? " * (size // 18)),
            ChatMessage.assistant([TextPart("Let me look at it. " * (size // 38)), called]),
            ChatMessage.user([ToolResultPart(called.call_id, (TextPart("a line of a file\n" * (size * 2 // 17)),))]),
            ChatMessage.assistant("It is this. " * (size // 24)),
        ]
    image = DataPart(b"\x89PNG\r\n\x1a\n" + bytes(size), "image/png")
    made[1] = ChatMessage.user([*made[1].content, image])
    return made[:messages]


def measure(messages: list[ChatMessage], settings: RequestSettings, rounds: int) -> tuple[float, int]:
    """Median milliseconds from messages to a body, and the bytes of the body."""
    origin, options = Origin("upstream", "model"), RequestOptions(tools=TOOLS)
    taken, body = [], {}
    for _ in range(rounds):
        begin = time.perf_counter()
        prepared = prepare(origin, messages, options, settings, "gw-")
        body = WRITE_REQUEST.write(prepared.request(prepared.carries)).body
        taken.append((time.perf_counter() - begin) * 1000)
    return median(taken), len(dumps(body))


@click.command()
@click.option("--rounds", default=21, show_default=True, help="How often each length is converted.")
def main(rounds: int) -> None:
    """Shows a line for each length."""
    cases = {"as it is": RequestSettings(), "with continuation": RequestSettings(continuation=Continuation.ON)}
    for name, settings in cases.items():
        for factor in (0.25, 0.5, 1, 2, 4):
            messages = conversation(int(MESSAGES * factor), int(CHARACTERS * factor))
            milliseconds, size = measure(messages, settings, rounds)
            click.echo(f"{name}: {len(messages):4} messages, {size / 1e6:5.2f} MB: {milliseconds:6.2f} ms")


if __name__ == "__main__":
    main()
