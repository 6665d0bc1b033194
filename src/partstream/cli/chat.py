"""`partstream chat`: a conversation with a model on any server that speaks a known protocol.

Asks and shows the answers; does not know the wire, which is the gateway provider's.
"""

from __future__ import annotations

import asyncio
import re
import sys
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import click
from rich.markup import escape

from partstream.cli.console import make_console
from partstream.cli.exit_codes import ExitCode
from partstream.cli.rendering import StreamRenderer, printable, read_usage, usage_line
from partstream.cli.sign_of_life import MOMENTS, saying_that_it_waits
from partstream.cli.upstream_options import gateway_of, upstream_options
from partstream.configuration.advice import explained
from partstream.consumer import LanguageModels
from partstream.consumer.settings import ViolationLog
from partstream.errors import LanguageModelError
from partstream.kept_files import KeptFiles, NotKeptError, described, is_file
from partstream.messages import ChatMessage
from partstream.outputs import ThinkingMode
from partstream.parts import DataPart, TextPart
from partstream.provider import LanguageModelChatInformation
from partstream.tokens import Counters
from partstream.tokens.ledger.ledger import open_ledger
from partstream.upstreams import GatewayProvider, Timeouts
from partstream.usage import USAGE_MIME_TYPE, UnifiedFinishReason

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractAsyncContextManager

    from rich.console import Console

    from partstream.contract import Violation
    from partstream.tokens.ledger.ledger import Ledger
    from partstream.upstreams import GatewayConfiguration
    from partstream.usage import FinishReason

__all__ = ["command"]

_PROMPT: Final = "> "

_COMMAND: Final = re.compile(r"/[a-z]+(\s.*)?", re.IGNORECASE)
"""A line that is a command; a path has a second slash."""
_HELP: Final = (
    "Ctrl-C stops an answer, /clear starts over, /exit or Ctrl-D ends the chat, /help says this; "
    "// begins a message with a slash."
)

_EMPTINESS: Final = "stream.visible-part"
"""The rule that an answer without text and calls breaks."""

_CUTS: Final = {
    UnifiedFinishReason.LENGTH: "it reached its token limit",
    UnifiedFinishReason.CONTENT_FILTER: "a content filter stopped it",
}
"""Why an answer ends before the model has finished it; the extension has the same words in `answerEnd.ts`."""


@click.command(short_help="Chat with a model on any server that speaks a known protocol.")
@click.argument("prompt", required=False)
@upstream_options
@click.option("--model", "model_id", metavar="M", help="The model's id on the server. Default: defaultModel.")
@click.option("--system", metavar="TEXT", help="Instructions for the model.")
@click.option(
    "--timeout-first-event",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help=f"Longest wait for an answer's first event. Default: the configured limit, or {Timeouts().first_event:g}.",
)
def command(
    *,
    prompt: str | None,
    model_id: str | None,
    system: str | None,
    timeout_first_event: float | None,
    **options: Any,
) -> None:
    """Chat with a model on any server that speaks a known protocol.

    With PROMPT, prints one answer and exits with code 0, with 3 after a failure or an answer without text, or with 130
    after Ctrl-C; use - to read the prompt from standard input. Without PROMPT, holds a conversation, one message per
    line, until /exit or the end of the input; /help names the commands; Ctrl-C stops an answer. Answers go to standard
    output, with the model's thinking only in a terminal unless a setting says otherwise; token counts and errors go to
    standard error. Settings that no option gives come from the environment and your configuration file: see
    `partstream config show`.
    """
    # A terminal shows thinking apart from the answer; who reads the output of a pipe wants the answer.
    mode = ThinkingMode.PART if sys.stdout.isatty() else ThinkingMode.OFF
    gateway = gateway_of(defaults={"thinking": mode.value}, **options)
    configuration = replace(
        gateway,
        models=(_information(model_id or _default_model(gateway)),),
        timeouts=replace(gateway.timeouts, first_event=timeout_first_event or gateway.timeouts.first_event),
    )
    first = [ChatMessage.system(system)] if system else []
    with asyncio.Runner() as runner:
        chat = _Chat(runner, configuration, first)
        try:
            sys.exit(chat.converse() if prompt is None else chat.answer(_text_of(prompt)))
        finally:
            runner.run(chat.aclose())


def _default_model(gateway: GatewayConfiguration) -> str:
    """The configured model.

    Raises:
        UsageError: None is.
    """
    if gateway.selection.default is None:
        raise click.UsageError(
            "no model: give --model, or set defaultModel or PARTSTREAM_DEFAULT_MODEL; `partstream models` lists them"
        )
    return gateway.selection.default


def _information(model_id: str) -> LanguageModelChatInformation:
    return LanguageModelChatInformation(model_id, model_id, model_id, "1", 128_000, 16_384)


def _text_of(prompt: str) -> str:
    text = sys.stdin.read() if prompt == "-" else prompt
    if not text.strip():
        raise click.UsageError("PROMPT: got an empty text, expected a message for the model")
    return text


class _ViolationsButEmptiness:
    """Logs the broken rules, except for that of an empty answer, which the chat tells in plain words."""

    def __init__(self) -> None:
        self._log = ViolationLog()

    def __call__(self, vendor: str, model_id: str, violation: Violation) -> None:
        if violation.rule.id != _EMPTINESS:
            self._log(vendor, model_id, violation)


@dataclass(slots=True)
class _Chat:
    """One conversation: the messages so far, and the provider that answers them."""

    runner: asyncio.Runner
    configuration: GatewayConfiguration
    first: list[ChatMessage]
    messages: list[ChatMessage] = field(init=False)
    out: Console = field(default_factory=make_console)
    aside: Console = field(default_factory=lambda: make_console(stderr=True))
    files: KeptFiles = field(default_factory=KeptFiles)
    kept: int = 0
    ledger: Ledger = field(init=False)
    provider: GatewayProvider = field(init=False)
    models: LanguageModels = field(init=False)

    def __post_init__(self) -> None:
        self.messages = list(self.first)
        self.ledger = open_ledger()
        self.provider = GatewayProvider(self.configuration, ledger=self.ledger, counters=Counters())
        self.models = LanguageModels(on_violation=_ViolationsButEmptiness())
        self.models.register_language_model_chat_provider("gateway", self.provider)

    async def aclose(self) -> None:
        """Closes the connections, and writes the token counts of this session to the ledger."""
        await self.models.aclose()
        await self.provider.aclose()
        await asyncio.to_thread(self.ledger.close)

    def converse(self) -> int:
        """Answers line after line; returns 0 in a terminal, and the exit code of the last answer in a pipe."""
        exit_code = ExitCode.FINE
        interactive = sys.stdin.isatty()
        if interactive:
            (model,) = self.configuration.models
            self.aside.print(f"[bold]{escape(model.id)}[/bold] at {escape(self.configuration.shown_url)}")
            self._say(_HELP)
        for line in _typed_lines() if interactive else sys.stdin:
            text = line.strip()
            if text == "/exit":
                break
            if _COMMAND.fullmatch(text):
                exit_code = self._run_command(text, exit_code)
            elif text:
                exit_code = self.answer(text.removeprefix("/") if text.startswith("//") else text)
        return ExitCode.FINE if interactive else exit_code

    def _run_command(self, text: str, exit_code: ExitCode) -> ExitCode:
        """Runs what the line commands; a command that nobody knows is no question for a model, which may cost."""
        if text == "/clear":
            self.messages = list(self.first)
            self._say("The conversation starts over.")
        elif text == "/help":
            self._say(_HELP)
        else:
            self._say(f"There is no command {text.split(maxsplit=1)[0]}. {_HELP}")
            return ExitCode.UNUSABLE
        return exit_code

    def _say(self, text: str) -> None:
        self.aside.print(f"[dim]{escape(printable(text))}[/dim]")

    def answer(self, question: str) -> ExitCode:
        """Asks the model and shows its answer; the text that came stays in the conversation, also after a failure."""
        renderer = StreamRenderer(self.out)
        fragments: list[str] = []
        self.kept = 0
        exit_code, note = ExitCode.FINE, ""
        try:
            self.runner.run(self._stream(question, renderer, fragments))
        except KeyboardInterrupt:
            exit_code, note = ExitCode.INTERRUPTED, "[yellow]Stopped.[/yellow]"
        except LanguageModelError as error:
            exit_code, note = ExitCode.FAILED, f"[red]{escape(printable(explained(error, self.configuration)))}[/red]"
        renderer.end_line()
        if note:
            self.aside.print(note)
        if text := "".join(fragments):
            self.messages += (ChatMessage.user(question), ChatMessage.assistant(text))
        elif exit_code is ExitCode.FINE and not self.kept:
            self._say("The answer holds no text.")
            exit_code = ExitCode.FAILED
        return exit_code

    def _waiting(self) -> AbstractAsyncContextManager[Callable[[], object]]:
        """Says in a terminal that the model has not begun; a pipe has nobody who waits."""
        limit = self.configuration.timeouts.first_event

        def say(seconds: float) -> None:
            self._say(
                f"No answer yet after {seconds:g} s, {limit:g} s is the limit; "
                "a server may have to load the model first. Ctrl-C stops."
            )

        return saying_that_it_waits(say, MOMENTS if self.aside.is_terminal else ())

    async def _stream(self, question: str, renderer: StreamRenderer, fragments: list[str]) -> None:
        (model,) = await self.models.select_chat_models()
        response = await model.send_request([*self.messages, ChatMessage.user(question)])
        async with response, self._waiting() as stop_waiting, aclosing(response.stream) as stream:
            async for part in stream:
                stop_waiting()
                if isinstance(part, DataPart) and part.mime_type == USAGE_MIME_TYPE:
                    renderer.end_line()
                    self.aside.print(f"[dim]── {escape(usage_line(read_usage(part)))}[/dim]")
                    continue
                if isinstance(part, TextPart):
                    fragments.append(part.value)
                if isinstance(part, DataPart) and is_file(part):
                    renderer.end_line()
                    self._keep(part)
                    continue
                renderer.show(part)
        if sentence := _cut_sentence(response.finish_reason):
            renderer.end_line()
            self.aside.print(f"[yellow]{escape(printable(sentence))}[/yellow]")

    def _keep(self, part: DataPart) -> None:
        """Keeps a file of the answer, and says where it is."""
        try:
            kept = self.files.keep(part)
        except NotKeptError as error:
            self.aside.print(
                f"[red]{escape(printable(f'A file ({described(part)}) could not be kept: {error}.'))}[/red]"
            )
            return
        self.kept += 1
        self.out.print(escape(printable(f"{kept.path} ({kept.description})")), soft_wrap=True)


def _cut_sentence(reason: FinishReason | None) -> str | None:
    """Why the answer was cut, with the server's own word; None for an answer that ended by itself."""
    cause = None if reason is None else _CUTS.get(reason.unified)
    if reason is None or cause is None:
        return None
    return f"The answer was cut: {cause}{f' ({reason.raw})' if reason.raw else ''}."


def _typed_lines() -> Iterator[str]:
    """The lines that a person types, with line editing where Python has it, until Ctrl-D or Ctrl-C."""
    with suppress(ImportError):  # Windows has no readline; its console edits lines by itself
        import_module("readline")
    while True:
        try:
            yield input(_PROMPT)
        except (EOFError, KeyboardInterrupt):
            click.echo(err=True)
            return
