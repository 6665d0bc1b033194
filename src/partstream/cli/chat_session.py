"""One conversation in a terminal or a pipe: asks whoever it is held with, and shows the answers."""

from __future__ import annotations

import re
import sys
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Final

import click
from rich.markup import escape

from partstream.cli.chat_captures import ChatCaptures
from partstream.cli.console import MOMENTS, StreamRenderer, make_console, read_usage, saying_that_it_waits, usage_line
from partstream.cli.terminal import ExitCode
from partstream.codec.text import visible
from partstream.errors import PartstreamError
from partstream.lm.inner_activity import ACTIVITY_MIME_TYPE
from partstream.lm.messages import ChatMessage, Role
from partstream.lm.parts import (
    STATEFUL_MARKER_MIME_TYPE,
    USAGE_MIME_TYPE,
    DataPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    UnifiedFinishReason,
)
from partstream.runtime.answer_files import KeptFiles, NotKeptError, described, is_file
from partstream.runtime.consumer import LanguageModels, choose_model
from partstream.runtime.progress import fault_of
from partstream.runtime.requests import ViolationLog
from partstream.runtime.tool_loop import assistant_content

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterator
    from contextlib import AbstractAsyncContextManager

    from rich.console import Console

    from partstream.cli.chat_partners import ChatPartner
    from partstream.lm.contract import Violation
    from partstream.lm.parts import FinishReason, ResponsePart
    from partstream.runtime.consumer import LanguageModelChat
    from partstream.runtime.requests import LanguageModelChatResponse

__all__ = ["ChatSession", "Screens"]

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

_CUTS: Final = {
    UnifiedFinishReason.LENGTH: "it reached its token limit",
    UnifiedFinishReason.CONTENT_FILTER: "a content filter stopped it",
}
"""Why an answer ends before the model has finished it; the extension has the same words in `answerEnd.ts`."""


@dataclass(frozen=True, slots=True)
class Screens:
    """Where the chat is shown: answers on standard output, all else beside it."""

    out: Console = field(default_factory=make_console)
    aside: Console = field(default_factory=lambda: make_console(stderr=True))

    def say(self, text: str, style: str = "dim") -> None:
        """Says something beside the answers."""
        self.aside.print(f"[{style}]{escape(visible(text))}[/{style}]")


class _Violations:
    """Tells of the broken rules, except for those that the chat tells of itself.

    Args:
        screens: Where the person is told who has written the provider; None logs them.
    """

    def __init__(self, screens: Screens | None) -> None:
        self._screens = screens
        self._log = ViolationLog()

    def __call__(self, vendor: str, model_id: str, violation: Violation) -> None:
        if violation.rule.id in _SAID_OTHERWISE:
            return
        if self._screens is None:
            self._log(vendor, model_id, violation)
        else:
            self._screens.say(f"The answer broke the rule {violation}", "yellow")


@dataclass(slots=True)
class _Answer:
    """What came of one answer.

    Attributes:
        parts: The parts that go back with the next question.
        is_seen: Whether a file or a call was shown.
    """

    parts: list[ResponsePart] = field(default_factory=list)
    is_seen: bool = False

    @property
    def has_text(self) -> bool:
        """Whether any text came."""
        return any(isinstance(part, TextPart) and part.value for part in self.parts)

    def take(self, part: ResponsePart, *, keeps_state: bool) -> None:
        """Keeps what goes back of a part."""
        is_state = isinstance(part, DataPart) and part.mime_type == STATEFUL_MARKER_MIME_TYPE
        if isinstance(part, TextPart) or (keeps_state and is_state):
            self.parts.append(part)
        self.is_seen = self.is_seen or isinstance(part, ToolCallPart)


@dataclass(slots=True)
class ChatSession:
    """One conversation: the messages so far, and who answers them.

    Attributes:
        runner: Runs the questions.
        partner: Who answers.
        screens: Where the conversation is shown.
        first: The messages that it begins with, also after `/clear`.
        shows_thinking: Whether thinking is shown.
        captures: Keeps what goes by of the answers.
    """

    runner: asyncio.Runner
    partner: ChatPartner
    screens: Screens
    first: list[ChatMessage]
    shows_thinking: bool
    captures: ChatCaptures = field(default_factory=ChatCaptures)
    _messages: list[ChatMessage] = field(init=False)
    _files: KeptFiles = field(default_factory=KeptFiles)
    _models: LanguageModels = field(init=False)

    def __post_init__(self) -> None:
        self._messages = list(self.first)
        partner = self.partner
        self._models = LanguageModels(
            on_violation=_Violations(self.screens if partner.is_own else None), on_provider_error=self._failed_beside
        )
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
            self._greet()
        with self.captures.door():
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

    def _greet(self) -> None:
        """Says who answers; of a person's own provider only when its models are known."""
        name = self.partner.model_id
        if name is None:
            try:
                name = self.runner.run(self._model()).id
            except PartstreamError as error:
                self.screens.say(self.partner.explain(error), "red")
                name = self.partner.vendor
        self.screens.aside.print(f"[bold]{escape(visible(name))}[/bold] {escape(visible(self.partner.place))}")
        self.screens.say(_HELP)

    def _run_command(self, text: str, exit_code: ExitCode) -> ExitCode:
        """Runs what the line commands; a command that nobody knows is no question for a model, which may cost."""
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
        """Tells of an error that no request raises; that of a list comes out of the question itself."""
        if self._models.provider_errors.get(vendor) is not error:
            self.screens.say(f"{vendor} failed beside an answer: {fault_of(error)}", "red")

    def _waiting(self) -> AbstractAsyncContextManager[Callable[[], object]]:
        """Says in a terminal that the model has not begun; a pipe has nobody who waits."""
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
                        captured.part(part)
                        stop_waiting()
                        answer.take(part, keeps_state=self.partner.is_own)
                        self._show(part, renderer, answer)
            except PartstreamError as error:
                captured.end(_outcome(response, "failed"), error)
                raise
            captured.end(_outcome(response, "completed"))
        if sentence := _cut_sentence(response.finish_reason):
            renderer.end_line()
            self.screens.say(sentence, "yellow")

    async def _model(self) -> LanguageModelChat:
        """The model that answers. Where none is named, a server's first one answers from now on, and a note names it.

        Raises:
            PartstreamError: The models cannot be listed, or none of them has this id.
        """
        model = await choose_model(self._models, self.partner.vendor, self.partner.model_id)
        if self.partner.model_id is None and not self.partner.is_own:
            self.partner.model_id = model.id
            self.screens.say(
                f"Note: the model {model.id} answers, the first that the server lists; --model names another."
            )
        return model

    def _show(self, part: ResponsePart, renderer: StreamRenderer, answer: _Answer) -> None:
        if isinstance(part, ThinkingPart) and not self.shows_thinking:
            return
        if isinstance(part, DataPart) and part.mime_type == ACTIVITY_MIME_TYPE:
            return  # for programs; the thinking beside it says the same
        if isinstance(part, DataPart) and part.mime_type == USAGE_MIME_TYPE:
            renderer.end_line()
            self.screens.say(f"── {usage_line(read_usage(part))}")
        elif isinstance(part, DataPart) and is_file(part):
            renderer.end_line()
            answer.is_seen |= self._keep(part)
        else:
            renderer.show(part)

    def _keep(self, part: DataPart) -> bool:
        """Keeps a file of the answer and says where it is; returns whether that could be done."""
        try:
            kept = self._files.keep(part)
        except NotKeptError as error:
            self.screens.say(f"A file ({described(part)}) could not be kept: {error}.", "red")
            return False
        self.screens.out.print(escape(visible(f"{kept.path} ({kept.description})")), soft_wrap=True)
        return True


def _outcome(response: LanguageModelChatResponse, otherwise: str) -> str:
    """How an answer ended, as its provider says; else as it looks."""
    return otherwise if response.finish is None else response.finish.outcome.value


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
