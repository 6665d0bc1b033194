"""`partstream chat`: a conversation with a model on any server that speaks a known protocol, or with a provider.

Reads the options and holds the conversation; does not know the wire, which is the provider's.
"""

from __future__ import annotations
import asyncio
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, aclosing, suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import click
from rich.text import Text

from partstream.cli.captures import KEPT, ChatCaptures, chat_captures
from partstream.cli.console import MOMENTS, StreamRenderer, make_console, saying_that_it_waits, usage_line
from partstream.cli.options import configuration_of, gateway_of, upstream_options
from partstream.cli.provider_source import check_beside_provider, log_as_wanted, provider_option, reloaded
from partstream.cli.terminal import ExitCode
from partstream.codec.checks import dataclass, field, replace
from partstream.codec.system import CACHE
from partstream.codec.text import visible
from partstream.config.examination import explained
from partstream.errors import LanguageModelError, LanguageModelErrorCode, PartstreamError, UpstreamError
from partstream.lm import parts as values
from partstream.lm.inner_activity import ACTIVITY_MIME_TYPE
from partstream.lm.messages import ChatMessage, Role
from partstream.lm.outputs import ThinkingMode
from partstream.lm.provider import LanguageModelChatInformation
from partstream.runtime.answer_files import AnswerFiles, FileNotKeptError, described, is_file
from partstream.runtime.consumer import LanguageModelChat, LanguageModels, choose_model
from partstream.runtime.progress import fault_of
from partstream.runtime.provider_files import default_name
from partstream.runtime.requests import LanguageModelChatResponse, ViolationLog
from partstream.runtime.tool_loop import assistant_content
from partstream.tokens import Counters
from partstream.tokens.ledger import open_ledger
from partstream.upstream.configuration import GatewayConfiguration, Timeouts
from partstream.upstream.context import LogLevel
from partstream.upstream.http_errors import says_path_is_missing
from partstream.upstream.provider import GatewayProvider

if TYPE_CHECKING:
    from rich.console import Console

    from partstream.lm.contract import Violation
    from partstream.lm.parts import ResponsePart

_PROMPT: Final = "> "

_COMMAND: Final = re.compile(r"/[a-z]+(\s.*)?", re.IGNORECASE)
"""A line that is a command; a path has a second slash."""
_HELP: Final = (
    "Ctrl-C stops an answer, /inspect shows what came of the last one, /clear starts over, /exit or Ctrl-D ends the "
    "chat, /help says this; "
    "// begins a message with a slash."
)

_SAID_OTHERWISE: Final = frozenset({"stream.visible-part", "failure.language-model-error"})
"""The rules that an answer without text and calls, and a bug, break; the chat says both in plain words."""


@dataclass(frozen=True, slots=True)
class Screens:
    """Where the chat is shown: answers on standard output, all else beside it."""

    out: Console = field(default_factory=make_console)
    aside: Console = field(default_factory=lambda: make_console(stderr=True))

    def say(self, text: str, style: str = "dim") -> None:
        """Says something beside the answers."""
        self.aside.print(Text(visible(text), style))


@dataclass(slots=True)
class _Answer:
    """What came of one answer."""

    parts: list[ResponsePart] = field(default_factory=list)  # the parts that go back with the next question
    is_seen: bool = False  # whether a file or a call was shown

    @property
    def has_text(self) -> bool:
        return any(isinstance(part, values.TextPart) and part.value for part in self.parts)

    def take(self, part: ResponsePart, *, keeps_state: bool) -> None:
        is_state = isinstance(part, values.DataPart) and part.mime_type == values.STATEFUL_MARKER_MIME_TYPE
        if isinstance(part, values.TextPart) or (keeps_state and is_state):
            self.parts.append(part)
        self.is_seen = self.is_seen or isinstance(part, values.ToolCallPart)


@dataclass(slots=True)
class ChatSession:
    """One conversation: the messages so far, and who answers them."""

    runner: asyncio.Runner  # runs the questions
    partner: ChatPartner  # who answers
    screens: Screens  # where the conversation is shown
    first: list[ChatMessage]  # the messages that it begins with, also after `/clear`
    shows_thinking: bool  # whether thinking is shown
    captures: ChatCaptures  # keeps the answers as they arrive
    _messages: list[ChatMessage] = field(init=False)
    _files: AnswerFiles = field(default_factory=AnswerFiles)
    _models: LanguageModels = field(init=False)

    def __post_init__(self) -> None:
        self._messages = list(self.first)
        partner = self.partner
        log = ViolationLog()

        def say_violation(vendor: str, model_id: str, violation: Violation) -> None:
            """Says which rules an answer of a person's own provider broke; those of a server, the log gets."""
            if violation.rule.id in _SAID_OTHERWISE:
                return
            if partner.is_own:
                self.screens.say(f"The answer broke the rule {violation}", "yellow")
            else:
                log(vendor, model_id, violation)

        self._models = LanguageModels(on_violation=say_violation, on_provider_error=self._failed_beside)
        self._models.register_language_model_chat_provider(partner.vendor, partner.provider)

    async def aclose(self) -> None:
        """Ends the answers that are still coming, and the partner."""
        await self._models.aclose()
        await self.partner.aclose()

    def converse(self) -> int:
        """Answers line after line; returns 0 in a terminal, and the exit code of the last answer in a pipe."""
        exit_code = ExitCode.FINE
        interactive = sys.stdin.isatty()
        if interactive:
            # A person's own provider has a name only when its models are known.
            name = self.partner.model_id
            if name is None:
                try:
                    name = self.runner.run(self._model()).id
                except PartstreamError as error:
                    self.screens.say(self.partner.explain(error), "red")
                    name = self.partner.vendor
            self.screens.aside.print(Text.assemble((visible(name), "bold"), f" {visible(self.partner.place)}"))
            self.screens.say(_HELP)
        with self.captures.capture_socket():
            for line in _typed_lines() if interactive else sys.stdin:
                text = line.strip()
                if text == "/exit":
                    break
                if _COMMAND.fullmatch(text):
                    exit_code = self._run_command(text, exit_code)
                elif text:
                    exit_code = self.answer(text.removeprefix("/") if text.startswith("//") else text)
        return ExitCode.FINE if interactive else exit_code

    def answer(self, question: str) -> ExitCode:
        """Asks the model and shows its answer; the text that came stays in the conversation, also after a failure."""
        renderer = StreamRenderer(self.screens.out)
        answer = _Answer()
        exit_code, note, style = ExitCode.FINE, "", ""
        try:
            self.runner.run(self._stream(question, renderer, answer))
        except KeyboardInterrupt:
            exit_code, note, style = ExitCode.INTERRUPTED, "Stopped.", "yellow"
        except PartstreamError as error:
            exit_code, note, style = ExitCode.FAILED, self.partner.explain(error), "red"
        renderer.end_line()
        if note:
            self.screens.say(note, style)
        if answer.has_text:
            content = assistant_content(answer.parts, ())
            self._messages += (ChatMessage.user(question), ChatMessage(Role.ASSISTANT, content))
        elif exit_code is ExitCode.FINE and not answer.is_seen:
            self.screens.say("The answer holds no text.")
            exit_code = ExitCode.FAILED
        return exit_code

    def _run_command(self, text: str, exit_code: ExitCode) -> ExitCode:
        """Runs a command; an unknown one is no question for a model, which may cost."""
        if text == "/clear":
            self._messages = list(self.first)
            self.screens.say("The conversation starts over.")
        elif text == "/inspect":
            self.captures.inspect(self.screens.say)
        elif text == "/help":
            self.screens.say(_HELP)
        else:
            self.screens.say(f"There is no command {text.split(maxsplit=1)[0]}. {_HELP}")
            return ExitCode.UNUSABLE
        return exit_code

    def _failed_beside(self, vendor: str, error: Exception) -> None:
        """Says an error that no request raises; the request itself raises that of a list."""
        if self._models.provider_errors.get(vendor) is not error:
            self.screens.say(f"{vendor} failed beside an answer: {fault_of(error)}", "red")

    def _waiting(self) -> AbstractAsyncContextManager[Callable[[], object]]:
        """Says in a terminal that the model has not begun."""
        limit = self.partner.first_event_limit
        until = "" if limit is None else f", {limit:g} s is the limit; a server may have to load the model first"

        def say(seconds: float) -> None:
            self.screens.say(f"No answer yet after {seconds:g} s{until}. Ctrl-C stops.")

        return saying_that_it_waits(say, MOMENTS if self.screens.aside.is_terminal else ())

    async def _stream(self, question: str, renderer: StreamRenderer, answer: _Answer) -> None:
        await self.partner.look()
        model = await self._model()
        with self.captures.capture(model.id) as captured:
            response = await model.send_request([*self._messages, ChatMessage.user(question)])
            try:
                async with response, self._waiting() as stop_waiting, aclosing(response.stream) as stream:
                    async for part in stream:
                        if captured is not None:
                            captured.part(part)
                        stop_waiting()
                        answer.take(part, keeps_state=self.partner.is_own)
                        self._show(part, renderer, answer)
            except PartstreamError as error:
                if captured is not None:
                    captured.end(_outcome(response, "failed"), error)
                raise
            if captured is not None:
                captured.end(_outcome(response, "completed"))
        reason = response.finish_reason
        if reason is not None and (cause := values.CUTS.get(reason.unified)) is not None:
            renderer.end_line()
            self.screens.say(f"The answer was cut: {cause}{f' ({reason.raw})' if reason.raw else ''}.", "yellow")

    async def _model(self) -> LanguageModelChat:
        """The model that answers. If none is named, a server's first one answers from now on, and a note names it."""
        model = await choose_model(self._models, self.partner.vendor, self.partner.model_id)
        if self.partner.model_id is None and not self.partner.is_own:
            self.partner.model_id = model.id
            self.screens.say(
                f"Note: the model {model.id} answers, the first that the server lists; --model names another."
            )
        return model

    def _show(self, part: ResponsePart, renderer: StreamRenderer, answer: _Answer) -> None:
        if isinstance(part, values.ThinkingPart) and not self.shows_thinking:
            return
        if isinstance(part, values.DataPart) and part.mime_type == ACTIVITY_MIME_TYPE:
            return  # for programs; the thinking beside it says the same
        if isinstance(part, values.DataPart) and part.mime_type == values.USAGE_MIME_TYPE:
            renderer.end_line()
            self.screens.say(f"── {usage_line(values.usage_in(part)[0])}")
        elif isinstance(part, values.DataPart) and is_file(part):
            renderer.end_line()
            answer.is_seen |= self._keep(part)
        else:
            renderer.show(part)

    def _keep(self, part: values.DataPart) -> bool:
        """Keeps a file of the answer and says where it is; returns whether that could be done."""
        try:
            kept = self._files.keep(part)
        except FileNotKeptError as error:
            self.screens.say(f"A file ({described(part)}) could not be saved: {error}.", "red")
            return False
        self.screens.out.print(Text(visible(f"{kept.path} ({kept.description})")), soft_wrap=True)
        return True


def _outcome(response: LanguageModelChatResponse, otherwise: str) -> str:
    return otherwise if response.finish is None else response.finish.outcome.value


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


# ---- Chat partners ----


class Server:
    """A model server of the settings, with the one model that answers; without any, the first of its list answers."""

    is_own = False

    def __init__(self, configuration: GatewayConfiguration) -> None:
        self._configuration = configuration
        self._ledger = open_ledger()
        self.vendor = "gateway"  # the name in errors
        self.place = f"at {configuration.shown_url}"  # as the head of the chat says it
        self.provider = GatewayProvider(configuration, ledger=self._ledger, counters=Counters())
        self.model_id = configuration.models[0].id if configuration.models else None  # None until the list is known
        self.first_event_limit: float | None = configuration.timeouts.first_event

    def explain(self, error: PartstreamError) -> str:
        """The sentence of an error, with the advice that fits the settings."""
        if not isinstance(error, LanguageModelError):
            return str(error)
        said = explained(error, self._configuration)
        if self.model_id is not None:
            return said
        if isinstance(error, UpstreamError):
            return f"{said}; --model names a model without a list" if says_path_is_missing(error) else said
        is_empty = error.code is LanguageModelErrorCode.NOT_FOUND
        return "the server lists no language models: name one with --model" if is_empty else said

    async def look(self) -> None:
        """Nothing to do: the settings are read once."""

    async def aclose(self) -> None:
        """Closes the connections, and writes the token counts of this session to the ledger."""
        await self.provider.aclose()
        await asyncio.to_thread(self._ledger.close)


class OwnProvider:
    """A person's own provider, loaded again after each edit; the attributes are those of :class:`Server`.

    The chat shows what breaks the contract, and returns the provider's state.

    Args:
        say: Tells the person what became of an edit; the second argument says whether it is bad news.

    Raises:
        UnusableProviderError: The source cannot be loaded.
    """

    is_own = True
    first_event_limit: float | None = None

    def __init__(self, source: str, model_id: str | None, say: Callable[[str, bool], None]) -> None:
        self._source = source
        self._say = say
        self._ledger = open_ledger()
        self.provider, self._loader = reloaded(source, self._loaded, lambda: self._ledger)
        self.vendor = default_name(source)
        self.place = self._loader.place
        self.model_id = model_id

    def explain(self, error: PartstreamError) -> str:
        """The sentence of an error; that of a bug names the file and the line."""
        return str(error)

    async def look(self) -> None:
        """Loads the file again if it was edited."""
        await self.provider.look()

    async def aclose(self) -> None:
        """Closes all versions of the provider, and writes what its answers took to the ledger."""
        await self.provider.aclose()
        await asyncio.to_thread(self._ledger.close)

    def _loaded(self, error: BaseException | None) -> None:
        if error is None:
            self._say(f"{self._source} was loaded again.", False)
        else:
            said = fault_of(error, self._loader.file)
            self._say(f"{self._source} cannot be loaded, the previous version answers: {said}", True)


ChatPartner: TypeAlias = Server | OwnProvider
"""A provider to chat with, and its line in the chat."""


# ---- Chat ----


@click.command(short_help="Chat with a model on any server that speaks a known protocol, or with your provider.")
@click.argument("prompt", required=False)
@provider_option("Ask the provider in this Python file, reloaded for each message, instead of a server.")
@upstream_options
@click.option(
    "--model", "model_id", metavar="M", help="The model's id. Default: defaultModel, or the first that is listed."
)
@click.option("--system", metavar="TEXT", help="Instructions for the model.")
@click.option(
    "--timeout-first-event",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help=f"The longest wait for the first event of an answer. Default: the "
    f"configured limit, or {Timeouts().first_event:g}.",
)
@click.option(
    "--trace", is_flag=True, help="Log every event of the answers to standard error, as --log-level trace does."
)
@click.option(
    "--record",
    is_flag=False,
    flag_value=KEPT,
    metavar="[FILE]",
    help="Record the answers, with each read and its time. Default: a file in the folder of recordings.",
)
def command(
    *,
    prompt: str | None,
    provider_source: str | None,
    model_id: str | None,
    system: str | None,
    timeout_first_event: float | None,
    trace: bool,
    record: str | None,
    **options: Any,
) -> None:
    """Chat with a model on any server that speaks a known protocol, or with the provider of a file.

    With PROMPT, prints one answer and exits with code 0, with 3 after a failure or an answer without text, or with 130
    after Ctrl-C; use - to read the prompt from standard input. Without PROMPT, holds a conversation, one message per
    line, until /exit or the end of the input; /help names the commands; Ctrl-C stops an answer. Answers go to standard
    output, and the model's thinking only in a terminal, unless a setting says otherwise; token counts and errors go to
    standard error. Settings that no option gives come from the environment and your configuration file: see
    `partstream config show`. Without a model, the first one that the server lists answers. A detected protocol is
    remembered for a day.

    With --provider, each message is answered by the current file; if it cannot be loaded, the faulty line is named, and
    the previous version answers. At the start, such a file ends the command with code 2.
    """
    first = [ChatMessage.system(system)] if system else []
    screens = Screens()
    # A terminal shows thinking apart from the answer; who reads the output of a pipe wants the answer.
    mode = ThinkingMode.PART if sys.stdout.isatty() else ThinkingMode.OFF
    captures = chat_captures(record)
    if trace:
        options["logLevel"] = LogLevel.TRACE
    partner: ChatPartner
    if provider_source is None:
        partner = Server(_configuration(model_id, timeout_first_event, mode, options))
    else:
        check_beside_provider({**options, "timeout_first_event": timeout_first_event})
        log_as_wanted(options)
        partner = OwnProvider(
            provider_source, model_id, lambda text, is_bad: screens.say(text, "red" if is_bad else "dim")
        )
    with asyncio.Runner() as runner:
        # The mode of a server is one of its settings, which it keeps by itself.
        shows_thinking = mode is ThinkingMode.PART or not partner.is_own
        session = ChatSession(runner, partner, screens, first, shows_thinking, captures)
        try:
            if prompt is None:
                sys.exit(session.converse())
            text = sys.stdin.read() if prompt == "-" else prompt
            if not text.strip():
                raise click.UsageError("PROMPT: got an empty text, expected a message for the model")
            sys.exit(session.answer(text))
        finally:
            runner.run(session.aclose())
            captures.write(screens.say)


def _configuration(
    model_id: str | None, timeout_first_event: float | None, mode: ThinkingMode, options: dict[str, Any]
) -> GatewayConfiguration:
    gateway = gateway_of(configuration_of(defaults={"thinking": mode.value}, **options))
    named = model_id or gateway.selection.default
    return replace(
        gateway,
        # The server is asked for its models only where none is named.
        models=() if named is None else (LanguageModelChatInformation(named, named, named, "1", 128_000, 16_384),),
        timeouts=replace(gateway.timeouts, first_event=timeout_first_event or gateway.timeouts.first_event),
        protocol_folder=CACHE.path(),
    )
