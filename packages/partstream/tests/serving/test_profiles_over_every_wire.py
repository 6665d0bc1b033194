"""`partstream serve --profile` as a process: servers of four wires behind one address, each over another wire."""

from __future__ import annotations
import asyncio
import json
import os
import sys
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from partstream import ChatMessage, RequestOptions, TextPart, ToolCallPart, ToolResultPart
from partstream.upstream.endpoint import Secret
from partstream.upstream.provider import GatewayProvider
from partstream_devtools.testing.upstream import ReplayUpstream
from serving.test_any_wire_into_any_other import ROUNDS, TOOLS, model, opaque_in
from serving.wires import WIRES
from upstreams.upstreams import ask, configuration, run

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

TOKEN = "a-token-of-the-tests"  # noqa: S105 - of no server but these
OF = {wire.name: wire for wire in WIRES}
OVER = {
    "openresponses": "anthropic-messages",
    "chat-completions": "openresponses",
    "anthropic-messages": "chat-completions",
    "gemini": "ollama",
}
"""For the wire of each server, the wire of its client."""


@asynccontextmanager
async def serving(settings: Path, data: Path) -> AsyncIterator[str]:
    """The command, and its URL; it is stopped in the end."""
    names = [option for name in OVER for option in ("--profile", name)]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PARTSTREAM_")}
    own = {
        "PARTSTREAM_CONFIG": str(settings),
        "PARTSTREAM_DATA": str(data),
        "PARTSTREAM_SERVE_TOKEN": TOKEN,
        "PARTSTREAM_LEDGER": "false",
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "partstream", "serve", "--port", "0", "--json", *names,
        env=kept | own, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        async with asyncio.timeout(30):
            line = json.loads(await process.stdout.readline())
            while line["type"] != "listening":
                line = json.loads(await process.stdout.readline())
        yield line["url"]
    finally:
        process.terminate()
        _, errors = await process.communicate()
    # Wires have no place for some counts and facts, nor for Ollama's context window, which is said once.
    said = (line for line in errors.splitlines() if not line.startswith(b"fields of an answer do not reach"))
    wrong = [line for line in said if b" options.num_ctx" not in line]
    assert (process.returncode, wrong) == (0, [])


def test_each_server_is_asked_over_another_wire_and_all_state_comes_back(tmp_path: Path) -> None:
    async def test() -> None:
        async with AsyncExitStack() as stack:
            upstream = await stack.enter_async_context(ReplayUpstream(scenario=f"tools={ROUNDS}"))
            settings = tmp_path / "partstream.toml"
            settings.write_text(
                "".join(
                    f'[profiles.{name}]\nbaseUrl = "{upstream.base_url_of(name)}"\nprotocol = "{name}"\n'
                    f'models = ["{_model(name)}"]\n'
                    for name in OVER
                )
            )
            url = await stack.enter_async_context(serving(settings, tmp_path))
            for of_server, of_client in OVER.items():
                wire, name = OF[of_client], _model(of_server)
                client = GatewayProvider(
                    configuration(
                        url + wire.base_path, protocol=wire.name, models=(model(name),), api_key=Secret(TOKEN)
                    )
                )
                stack.push_async_callback(client.aclose)
                await _session(client, upstream, name)

    run(test(), 90)


def _model(wire: str) -> str:
    return "gemini-3.8-flash" if wire == "gemini" else f"claude-opus-5-{wire}"


async def _session(client: GatewayProvider, upstream: ReplayUpstream, name: str) -> None:
    """A turn up to its answer, at whose end the server has the state of every round before it."""
    messages = [ChatMessage.user("Why does it fail?")]
    options = RequestOptions(tools=TOOLS, model_configuration={"reasoningEffort": "high"})
    for number in range(ROUNDS + 1):
        answer = await ask(client, messages, model_id=name, options=options)
        assert answer.error is None, (name, number)
        assert len(opaque_in(upstream.requests[-1].body)) >= number, (name, number)
        calls = [one for one in answer.parts if isinstance(one, ToolCallPart)]
        messages.append(ChatMessage.assistant(answer.parts))
        messages.append(ChatMessage.user([ToolResultPart(one.call_id, (TextPart(f"{one.input}"),)) for one in calls]))
    assert not calls
