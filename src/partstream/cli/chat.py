"""`partstream chat`: a conversation with a model on any server whose protocol there is a gateway for.

It knows how to ask and to show; what goes over the wire is the gateway's.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from enum import IntEnum
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import click
from rich.markup import escape

from partstream.cli.rendering import StreamRenderer, make_console, printable, read_usage, usage_line
from partstream.cli.upstream_options import gateway_of, upstream_options
from partstream.consumer import LanguageModels
from partstream.errors import LanguageModelError, LanguageModelErrorCode
from partstream.messages import ChatMessage
from partstream.outputs import StreamOptions, ThinkingMode
from partstream.parts import DataPart, TextPart
from partstream.provider import LanguageModelChatInformation
from partstream.tokens import Counters
from partstream.tokens.ledger.ledger import open_ledger
from partstream.upstreams import GatewayProvider, Timeouts
from partstream.usage import USAGE_MIME_TYPE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from partstream.tokens.ledger.ledger import Ledger
    from partstream.upstreams import GatewayConfiguration

__all__ = ["command"]

_PROMPT: Final = "> "


class _Outcome(IntEnum):
    """How an answer ended, as an exit code."""

    ANSWERED = 0
    FAILED = 3
    CANCELLED = 130
    """What shells give for Ctrl-C."""


@click.command(short_help="Talk to a model on any server that speaks a known protocol.")
@click.argument("prompt", required=False)
@upstream_options
@click.option("--model", "model_id", required=True, metavar="M", help="The model as the server names it.")
@click.option("--system", metavar="TEXT", help="Instructions for the model.")
@click.option(
    "--thinking",
    type=click.Choice([mode.value for mode in ThinkingMode]),
    help="What becomes of thinking; part in a terminal, else off.",
)
@click.option(
    "--timeout-first-event",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help=f"How long the model may read before it answers; {Timeouts().first_event:g} if nobody says otherwise.",
)
def command(
    *,
    prompt: str | None,
    model_id: str,
    system: str | None,
    thinking: str | None,
    timeout_first_event: float | None,
    **options: Any,
) -> None:
    """Talk to a model on any server that speaks a known protocol.

    With PROMPT: one answer, then the exit code 0, 3 for a failure, 130 after Ctrl-C; - reads the prompt from standard
    input. Without: a conversation, one message a line, until /exit or the end of the input; Ctrl-C stops an answer.
    The answer goes to standard output; tokens and errors go to standard error. What the options leave out comes from
    the environment and from your file: `partstream config show`.
    """
    mode = thinking or (ThinkingMode.PART if sys.stdout.isatty() else ThinkingMode.OFF)
    gateway = gateway_of(**options)
    configuration = replace(
        gateway,
        models=(_information(model_id),),
        stream=StreamOptions(thinking=ThinkingMode(mode)),
        timeouts=replace(gateway.timeouts, first_event=timeout_first_event or gateway.timeouts.first_event),
    )
    first = [ChatMessage.system(system)] if system else []
    with asyncio.Runner() as runner:
        chat = _Chat(runner, configuration, first)
        try:
            sys.exit(chat.converse() if prompt is None else chat.answer(_text_of(prompt)))
        finally:
            runner.run(chat.aclose())


def _information(model_id: str) -> LanguageModelChatInformation:
    return LanguageModelChatInformation(model_id, model_id, model_id, "1", 128_000, 16_384)


def _text_of(prompt: str) -> str:
    text = sys.stdin.read() if prompt == "-" else prompt
    if not text.strip():
        raise click.UsageError("PROMPT: got nothing, expected a message for the model")
    return text


@dataclass(slots=True)
class _Chat:
    """One conversation: the messages so far, and who answers."""

    runner: asyncio.Runner
    configuration: GatewayConfiguration
    first: list[ChatMessage]
    messages: list[ChatMessage] = field(init=False)
    out: Console = field(default_factory=make_console)
    aside: Console = field(default_factory=lambda: make_console(stderr=True))
    ledger: Ledger = field(init=False)
    provider: GatewayProvider = field(init=False)
    models: LanguageModels = field(init=False)

    def __post_init__(self) -> None:
        self.messages = list(self.first)
        self.ledger = open_ledger()
        self.provider = GatewayProvider(self.configuration, ledger=self.ledger, counters=Counters())
        self.models = LanguageModels()
        self.models.register_language_model_chat_provider("gateway", self.provider)

    async def aclose(self) -> None:
        """Closes the connections, and writes what was learned of tokens."""
        await self.models.aclose()
        await self.provider.aclose()
        await asyncio.to_thread(self.ledger.close)

    def converse(self) -> int:
        """Answers line after line; the exit code is 0 for a person, and that of the last answer for a pipe."""
        outcome = _Outcome.ANSWERED
        interactive = sys.stdin.isatty()
        if interactive:
            (model,) = self.configuration.models
            self.aside.print(f"[bold]{escape(model.id)}[/bold] at {escape(self.configuration.shown_url)}")
            self.aside.print("[dim]Ctrl-C stops an answer, /clear starts anew, /exit or Ctrl-D ends.[/dim]")
        for line in _typed_lines() if interactive else sys.stdin:
            said = line.strip()
            if said == "/exit":
                break
            if said == "/clear":
                self.messages = list(self.first)
                self.aside.print("[dim]The conversation begins anew.[/dim]")
            elif said:
                outcome = self.answer(said)
        return _Outcome.ANSWERED if interactive else outcome

    def answer(self, said: str) -> _Outcome:
        """Asks the model and shows its answer; what came of it stays in the conversation."""
        renderer = StreamRenderer(self.out)
        parts: list[str] = []
        outcome, note = _Outcome.ANSWERED, ""
        try:
            self.runner.run(self._stream(said, renderer, parts))
        except KeyboardInterrupt:
            outcome, note = _Outcome.CANCELLED, "[yellow]Stopped.[/yellow]"
        except LanguageModelError as error:
            outcome, note = _Outcome.FAILED, f"[red]{escape(printable(self._sentence(error)))}[/red]"
        renderer.end_line()
        if note:
            self.aside.print(note, soft_wrap=not self.aside.is_terminal)
        if text := "".join(parts):
            self.messages += (ChatMessage.user(said), ChatMessage.assistant(text))
        elif outcome is _Outcome.ANSWERED:
            self.aside.print("[dim]The model said nothing.[/dim]")
        return outcome

    async def _stream(self, said: str, renderer: StreamRenderer, parts: list[str]) -> None:
        (model,) = await self.models.select_chat_models()
        response = await model.send_request([*self.messages, ChatMessage.user(said)])
        async with response, aclosing(response.stream) as stream:
            async for part in stream:
                if isinstance(part, DataPart) and part.mime_type == USAGE_MIME_TYPE:
                    renderer.end_line()
                    self.aside.print(f"[dim]── {escape(usage_line(read_usage(part)))}[/dim]")
                    continue
                if isinstance(part, TextPart):
                    parts.append(part.value)
                renderer.show(part)

    def _sentence(self, error: LanguageModelError) -> str:
        if error.code is LanguageModelErrorCode.NO_PERMISSIONS and not self.configuration.has_key:
            return f"{error.message} (no key was sent: put one into the environment variable PARTSTREAM_API_KEY)"
        return error.message


def _typed_lines() -> Iterator[str]:
    """What a person types, with line editing where Python has it; Ctrl-D and Ctrl-C end it."""
    with suppress(ImportError):  # Windows has no readline; its console edits lines by itself
        import_module("readline")
    while True:
        try:
            yield input(_PROMPT)
        except (EOFError, KeyboardInterrupt):
            click.echo(err=True)
            return
