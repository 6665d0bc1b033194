"""`partstream demo`: a whole conversation turn over real HTTP, narrated as it happens.

The server is that of `partstream serve` on the small host for loopback, and the model is its built-in one: no other
package is needed. A request and its response pass through the code that an application uses.
"""

from __future__ import annotations
import asyncio
import time
from collections.abc import Mapping
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

import click
from rich.markup import escape
from rich.rule import Rule
from rich.text import Text

from partstream.cli.console import StreamRenderer, broken_command, make_console, read_usage, usage_line
from partstream.cli.program import program
from partstream.codec.checks import dataclass
from partstream.codec.json_codec import dumps
from partstream.errors import to_install
from partstream.lm.messages import ChatMessage, RequestOptions, Tool
from partstream.lm.parts import TextPart, Usage
from partstream.protocols.protocol import DEFAULT_PROTOCOL, asking
from partstream.protocols.serve import path_for_model
from partstream.runtime import tool_loop
from partstream.runtime.consumer import LanguageModelChat, LanguageModels
from partstream.server.application import app
from partstream.server.demo_provider import DEMO_MODEL, DemoProvider
from partstream.server.listening import DEFAULT_PORT
from partstream.server.loopback import Host
from partstream.upstream.configuration import GatewayConfiguration
from partstream.upstream.provider import GatewayProvider

if TYPE_CHECKING:
    from rich.console import Console

_QUESTION: Final = "How is the weather in Lisbon, and what time is it in Tokyo?"
_OPTIONS: Final = RequestOptions(model_configuration={"reasoningEffort": "low"})
"""Over some wires, servers give thinking on demand alone."""
_BASE_PATHS: Final = app(DemoProvider()).base_paths
_SECONDS_PER_WORD: Final = 0.04
_PAUSE_SECONDS: Final = 0.5


_WEATHER: Final = {"Lisbon": "24 °C, sunny, a light wind from the sea"}
_HOURS_FROM_UTC: Final = {"Tokyo": 9}
_NOW: Final = datetime(2026, 5, 1, 12, 30, tzinfo=UTC)  # always the same, so that the demo is


def _get_weather(arguments: Mapping[str, Any]) -> str:
    return _WEATHER.get(arguments["city"], "no report")


def _get_time(arguments: Mapping[str, Any]) -> str:
    return f"{_NOW + timedelta(hours=_HOURS_FROM_UTC.get(arguments['city'], 0)):%H:%M}"


_CITY: Final = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
_TOOLS: Final = (
    tool_loop.ToolFunction(Tool("get_weather", "Tells the weather in a city.", _CITY), _get_weather),
    tool_loop.ToolFunction(Tool("get_time", "Tells what time it is in a city.", _CITY), _get_time),
)


@click.command(short_help="Watch a whole conversation turn run over real HTTP.")
@click.option("--fast", is_flag=True, help="Do not pause.")
@click.option(
    "--protocol",
    type=click.Choice(sorted(_BASE_PATHS)),
    default=DEFAULT_PROTOCOL,
    help="Protocol to use.",
    show_default=True,
)
def command(fast: bool, protocol: str) -> None:
    """Watch a whole conversation turn run over real HTTP.

    Starts a model server on this machine, asks it a question and runs the tools that the model calls. No data leaves
    the machine, and no key is needed.
    """
    narrator = _Narrator(make_console(breaks_lines=True), 0.0 if fast else _PAUSE_SECONDS, protocol)
    asyncio.run(_run(narrator, 0.0 if fast else _SECONDS_PER_WORD, protocol))


async def _run(narrator: _Narrator, pace: float, protocol: str) -> None:
    start = time.monotonic()
    narrator.title()
    application = app(DemoProvider(pace=pace))
    async with Host(application, lambda _status, message: dumps({"error": message})) as host:
        base_url = f"http://127.0.0.1:{host.port}{_BASE_PATHS[protocol]}"
        await narrator.step(f"A model server listens on [bold]{base_url}[/bold] and speaks {protocol}.")
        provider = GatewayProvider(GatewayConfiguration(base_url, protocol=protocol, models=(DEMO_MODEL,)))
        try:
            async with LanguageModels() as models:
                models.register_language_model_chat_provider("demo", provider)
                (model,) = await models.select_chat_models()
                await narrator.step(f"A provider for it is registered: vendor {model.vendor}, model {model.name}.")
                await narrator.step(f"Our tools: {', '.join(tool.tool.name for tool in _TOOLS)}.")
                path = path_for_model(asking(protocol).path, model.id)
                result = await _converse(model, narrator, base_url + path)
        finally:
            await provider.aclose()
    narrator.total(result, time.monotonic() - start)
    narrator.what_next()


async def _converse(model: LanguageModelChat, narrator: _Narrator, url: str) -> tool_loop.ToolLoopResult:
    narrator.question(url)
    async with aclosing(tool_loop.stream_tool_loop(model, [ChatMessage.user(_QUESTION)], _TOOLS, _OPTIONS)) as events:
        async for event in events:
            await narrator.tell(event)
            if isinstance(event, tool_loop.LoopFinished):
                return event.result
    raise AssertionError("a tool loop ends with LoopFinished or raises")


@dataclass(slots=True)
class _Narrator:
    """Prints what happens, slowly enough to read."""

    console: Console
    pause: float
    protocol: str
    url: str = ""
    parts: int = 0
    renderer: StreamRenderer | None = None

    def title(self) -> None:
        self.console.print("[bold]Partstream[/bold]: one conversation turn over real HTTP, on this machine alone.\n")

    async def step(self, text: str) -> None:
        self.console.print(f"[green]●[/green] {text}")
        await asyncio.sleep(self.pause)

    def question(self, url: str) -> None:
        self.url = url
        self.console.print(f"\n[bold]You:[/bold] {_QUESTION}")

    async def tell(self, event: tool_loop.ToolLoopEvent) -> None:
        match event:
            case tool_loop.RoundStarted(number, messages):
                self.renderer = StreamRenderer(self.console)
                self.console.print()
                self.console.print(Rule(f"Round {number}", style="dim", align="left"))
                sent = "the question" if len(messages) == 1 else "the question, the calls and their results"
                await self.step(f"POST {self.url}\n  sends {sent}; the answer streams:")
                self.console.print()
            case tool_loop.PartReceived(part):
                self.parts += 1
                if self.renderer is not None:
                    self.renderer.show(part)
            case tool_loop.ToolCallStarted(call):
                await self.step(f"{call.name} runs here, as a Python function.")
            case tool_loop.ToolResultReceived(call, result):
                text = "".join(part.value for part in result.content if isinstance(part, TextPart))
                await self.step(f"{call.name} returned: [bold]{escape(text)}[/bold]")

    def total(self, result: tool_loop.ToolLoopResult, seconds: float) -> None:
        used = [read_usage(part) for part in result.usage_parts]
        usage = Usage(
            input_tokens=sum(one.input_tokens or 0 for one in used),
            output_tokens=sum(one.output_tokens or 0 for one in used),
        )
        self.console.print()
        self.console.print(Rule("Done", style="dim", align="left"))
        counts = f"{result.rounds} rounds, {self.parts} parts, {usage_line(usage)}"
        self.console.print(f"{counts}, {seconds:.1f} s in all.\n")

    def what_next(self) -> None:
        start = program()
        option = "" if self.protocol == DEFAULT_PROTOCOL else f" --protocol {self.protocol}"
        base_url = f"http://127.0.0.1:{DEFAULT_PORT}{_BASE_PATHS[self.protocol]}"
        self.console.print("[bold]Try next[/bold], in two terminals:")
        for line in (
            f"{start} serve --demo --no-token",
            f"{start} chat --base-url {base_url}{option} --model {DEMO_MODEL.id}",
        ):
            shown = broken_command(line, self.console.width - 2) if self.console.is_terminal else line
            for piece in shown.splitlines():
                self.console.print(Text(f"  {piece}"), soft_wrap=True)
        if find_spec("uvicorn") is None:
            self.console.print(Text(f"The first command needs more packages:\n  {to_install('serve')}"), soft_wrap=True)
        self.console.print(
            f"The second command can talk to any server that speaks {self.protocol}; see its --help for options."
        )
