"""One answer of a hosted provider: checked against the contract, with a usage as its last part; knows no connection.

Files: a chat of VS Code shows no data part, and an answer of data alone as "no response was returned"
(docs/wires/vscode.md#responses-without-text). So :class:`ShownFiles` adds a line of text with a link to each file, for
the two that show an answer to a person (:class:`partstream.vscode.failures.Asker`). A program gets the data alone.
Copilot keeps the text of an answer and not its data, so a conversation that comes back holds links. :func:`restored`
puts the files in their place: a model sees the picture that it drew, and no server sees where the file is.

State: the agent host (the "Copilot harness") asks with `includeEncryptedThinking`. Of an answer it keeps texts, calls
and thinking, and of the metadata of thinking only the text `encrypted_content`; it drops the stateful marker
(docs/wires/vscode-agent-host.md#reasoning-state-of-the-agent-host). So :class:`OpaqueStateProgress` carries the state
in that text, and :func:`with_decoded_state` returns it as the parts that the provider reported: no provider and no
protocol knows the difference. After an edit, and after another model was chosen, the agent host returns no
thinking of earlier answers; their state then comes from a memory of bounded size, which is lost with the process.
"""

from __future__ import annotations
import asyncio
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.checks import dataclass, replace
from partstream.conversation.provider_state import ITEMS, decode_state, encode_state, marker_part, read_marker
from partstream.errors import LanguageModelError
from partstream.lm import parts as values
from partstream.lm.messages import ChatMessage, RequestOptions, Role
from partstream.runtime.answer_files import AnswerFiles, FileNotKeptError, described, is_file
from partstream.runtime.progress import CheckedProgress
from partstream.tokens.counting import count_all, counted_usage
from partstream.tokens.families import CountSource
from partstream.upstream.context import AnswerTap
from partstream.vscode.failures import ProviderFailedError, is_providers_own
from partstream.vscode.hosted import OuterProgress, UsageWatch, answer_end

if TYPE_CHECKING:
    from partstream.conversation.provider_state import CallersMemory
    from partstream.lm.cancellation import CancellationToken
    from partstream.lm.outputs import Finish
    from partstream.lm.parts import MessagePart, ResponsePart
    from partstream.lm.provider import DrainingProgress, LanguageModelChatInformation
    from partstream.vscode import rpc_types as wire
    from partstream.vscode.hosted import Generation, HostedProvider

_logger = logging.getLogger("partstream.hosts.vscode")
_files_logger = logging.getLogger("partstream.files")

_BLANK_LINE: Final = "\n\n"


class CapturedProgress(OuterProgress):
    """A progress that passes on everything, and shows each part to a tap."""

    def __init__(self, progress: DrainingProgress, tap: AnswerTap) -> None:
        super().__init__(progress)
        self._report = progress.report
        self._take = tap.part

    def report(self, part: ResponsePart) -> None:  # noqa: D102
        self._report(part)
        self._take(part)


class ShownFiles(OuterProgress):
    """A progress that passes on everything, and a line with a link after each file."""

    def __init__(self, progress: DrainingProgress, files: AnswerFiles) -> None:
        super().__init__(progress)
        self._files = files
        self._is_begun = False  # whether there is text that no blank line follows yet

    def report(self, part: ResponsePart) -> None:  # noqa: D102
        self._progress.report(part)
        if isinstance(part, values.TextPart):
            self._is_begun = True
        elif isinstance(part, values.DataPart) and is_file(part):
            before = _BLANK_LINE if self._is_begun else ""
            self._progress.report(values.TextPart(f"{before}{self._line(part)}{_BLANK_LINE}"))
            self._is_begun = False

    def _line(self, part: values.DataPart) -> str:
        try:
            return self._files.keep(part).link
        except FileNotKeptError as error:
            _files_logger.warning("a file of an answer (%s) was not kept: %s", described(part), error)
            return f"*A file ({described(part)}) could not be saved: {error}.*"


# ---- Hosted answer ----


class HostedAnswer:
    """One call of a provider, from its start until its last part has been reported.

    Args:
        generation: The generation of the provider that answers; the caller keeps it open meanwhile.
        files: Keeps the files of the answer for a person; None for a program, which reads the data.
    """

    def __init__(
        self,
        hosted: HostedProvider,
        generation: Generation,
        model: LanguageModelChatInformation,
        messages: Sequence[ChatMessage],
        options: RequestOptions,
        progress: DrainingProgress,
        token: CancellationToken,
        files: AnswerFiles | None,
    ) -> None:
        self._hosted = hosted
        self._generation = generation
        self.model = model
        self._messages = messages
        self._options = options
        self._token = token
        self._watch = UsageWatch(
            progress if files is None else ShownFiles(progress, files), shows_files=files is not None
        )
        self._is_for_person = files is not None
        # A model sometimes invents a tool. Calls of unknown tools pass, so that Copilot can tell the model.
        self._checked = CheckedProgress(self._watch, tools=None, on_violation=generation.broken_rules.note)
        self.error: BaseException | None = None  # what the provider raised

    @property
    def finish(self) -> Finish | None:
        """How the provider reported that its answer ended; None while it has not."""
        return self._checked.said_finish

    @property
    def usage(self) -> Mapping[str, Any]:
        """The usage that VS Code got with the answer; empty if it got none."""
        return self._watch.usage or {}

    async def run(self) -> None:
        """Calls the provider, passes on its parts at once, and reports a usage last.

        Raises:
            ProviderFailedError: The provider raised an error.
        """
        provider = self._generation.provider
        # The first listener of the token: parts that the provider reports on hearing of the cancellation are too late.
        subscription = self._token.on_cancellation_requested(self._checked.cancel)
        try:
            try:
                await provider.provide_language_model_chat_response(
                    self.model, self._messages, self._options, self._checked, self._token
                )
            finally:
                # What a thread has reported last comes in the next turn of the event loop. From Python 3.14 on, a wait
                # for a thread that has ended already takes no turn.
                await asyncio.sleep(0)
        except BaseException as error:
            if not is_providers_own(error, self._token):
                raise
            self.error = error
            self._checked.fail(error)
            raise self._hosted.failed(error, "could not answer") from error
        finally:
            subscription.dispose()
        self._checked.complete()
        if self._watch.usage is None and not self._token.is_cancellation_requested:
            usage_of_finish = None if self.finish is None else self.finish.usage
            part = None if usage_of_finish is None else values.usage_part(usage_of_finish)
            if part is None:
                part = await self._counted_usage()
            await self._watch.drain()  # the provider may have left more than the backlog takes
            self._watch.report(part)

    async def _counted_usage(self) -> values.DataPart:
        """The usage of an answer whose provider reported none: VS Code takes all three numbers or none."""
        messages, provider = [*self._messages, self._watch.answer()], self._generation.provider
        counts, _ = await count_all(provider, self.model, messages, self._token, is_providers_own)
        usage = await counted_usage(counts, self._watch.length, self.model.family, self._options.tools)
        said = {
            "prompt_tokens": usage.input_tokens,
            "completion_tokens": usage.output_tokens,
            "total_tokens": usage.total_tokens,
            values.SOURCE_KEY: CountSource.ESTIMATED.value,
        }
        return values.DataPart.json(said, values.USAGE_MIME_TYPE)

    def check(self, end: wire.AnswerEnd) -> None:
        """Logs what has cut the answer.

        Raises:
            ProviderFailedError: There is nothing in it for the one who asks: VS Code would only say that "no response
                was returned". Programs read data; a chat takes only text and calls for an answer.
        """
        name, reason = self.model.name, end["finishReason"]
        cut = None if reason is None else values.CUTS.get(values.UnifiedFinishReason(reason))
        if cut is not None:
            ids = {"": end["providerFinishReason"], "response ": end["responseId"], "model ": end["answeredBy"]}
            facts = ", ".join(f"{what}{known}" for what, known in ids.items() if known is not None)
            _logger.info("the answer of %s was cut: %s%s", name, cut, f" ({facts})" if facts else "")
        watch = self._watch
        if watch.is_visible or (watch.data and not self._is_for_person):
            return
        if watch.data:
            said = f"{name} answered with data only ({', '.join(watch.data)}), which the chat does not show."
        else:
            said = f"{name} ended its answer without a text or a tool call{'' if cut is None else f': {cut}'}."
        raise ProviderFailedError(self._hosted.name, LanguageModelError(said))

    def end(self, now: float) -> wire.AnswerEnd:
        """How the answer ended, for the debug information; `now` is in seconds since 1970."""
        cancelled = self._token.is_cancellation_requested
        return answer_end(self._hosted.name, self.model.id, self.finish, self.error, cancelled=cancelled, now=now)


# ---- Restored files ----

_LINE: Final = re.compile(
    r"(?:\n\n)?\[(?P<type>[^][\n,]+), (?P<size>[^][\n]+)\]\((?P<url>file://[^)\s]+)\)(?:\n\n|\n?\Z)"
)
"""A line with a link, and the blank lines around it; hosts strip those at the end of an answer. No bracket is in it:
from each of a million that a model writes, the whole text would be searched."""
_MOST_BYTES: Final = 20 * 1024 * 1024
"""The most bytes of all files of a conversation: the safe limit of one request (docs/wires/gemini.md#contents)."""


def restored(messages: Sequence[ChatMessage], files: AnswerFiles, *, takes_images: bool) -> list[ChatMessage]:
    """The conversation with files in place of the links to them.

    Files that are gone, and those that are too many bytes in all, the oldest first, leave their description.

    Args:
        takes_images: Whether the model takes images; without that, all files leave their description.
    """
    room = _Room(_MOST_BYTES if takes_images else 0)
    newest_first = [_restored_message(message, files, room) for message in reversed(messages)]
    return newest_first[::-1]


@dataclass(slots=True)
class _Room:
    """How many bytes the files of a conversation may still take."""

    left: int


def _restored_message(message: ChatMessage, files: AnswerFiles, room: _Room) -> ChatMessage:
    if message.role is not Role.ASSISTANT:
        return message
    parts: list[MessagePart] = []
    for part in reversed(message.content):
        pieces = [*_pieces(part.value, files, room)] if isinstance(part, values.TextPart) else [part]
        parts += reversed(pieces)
    return replace(message, content=tuple(reversed(parts)))


def _pieces(text: str, files: AnswerFiles, room: _Room) -> Iterator[MessagePart]:
    begin = 0
    for line in _LINE.finditer(text):
        if not files.owns(line["url"]):
            continue
        if line.start() > begin:
            yield values.TextPart(text[begin : line.start()])
        data = files.find(line["url"], room.left)
        room.left -= len(data or b"")
        yield values.TextPart(f"[{line['type']}]") if data is None else values.DataPart(data, line["type"])
        begin = line.end()
    if begin < len(text) or not text:
        yield values.TextPart(text[begin:])


# ---- Sealed state ----

MOST_CHARACTERS: Final = 262_144
"""The most characters of the opaque state, which each request repeats. VS Code 1.139 gave 2,000,000 back whole."""

_CARRIER: Final = "encrypted_content"
"""The field of the metadata that the agent host keeps."""
_METADATA: Final = "thinking"
_MARKER: Final = "marker"


class OpaqueStateProgress(OuterProgress):
    """A progress that passes on an answer with its state in one thinking part, before the first call.

    The calls, and what else comes after the first of them, wait for the end of the answer, when the state is known.
    The agent host takes an answer only as a whole, so this delays no reader.

    Args:
        memory: Keeps the opaque state, for an agent host that does not give it back.
    """

    def __init__(self, progress: DrainingProgress, memory: CallersMemory) -> None:
        super().__init__(progress)
        self._memory = memory
        self._said: list[values.TextPart | values.ToolCallPart] = []
        self._metadata: Mapping[str, Any] | None = None
        self._marker: values.DataPart | None = None
        self._held: list[ResponsePart] = []

    def report(self, part: ResponsePart) -> None:
        """Passes on a part, keeps the state in it, or holds it back until the end."""
        if isinstance(part, values.ThinkingPart) and part.metadata is not None:
            # The chat keeps the last metadata of an answer, so a provider puts all that it needs into it.
            self._metadata = part.metadata
            part = replace(part, metadata=None)
            if not part.value:
                return
        elif isinstance(part, values.DataPart) and part.mime_type == values.STATEFUL_MARKER_MIME_TYPE:
            self._marker = part
            return
        if isinstance(part, values.TextPart | values.ToolCallPart):
            self._said.append(part)
        is_usage = isinstance(part, values.DataPart) and part.mime_type == values.USAGE_MIME_TYPE
        if self._held or isinstance(part, values.ToolCallPart) or is_usage:
            self._held.append(part)
        else:
            self._progress.report(part)

    def complete(self) -> None:
        """Reports the state, and what was held back: the answer is whole."""
        opaque = self._opaque()
        if opaque is not None:
            state = {_CARRIER: opaque}
            self._memory.remember(self._said, state)
            self._progress.report(values.ThinkingPart("", None, state))
        for part in self._held:
            self._progress.report(part)
        self._held.clear()

    def _opaque(self) -> str | None:
        """The opaque state, as much of it as fits; None for none."""
        metadata: Mapping[str, Any] = self._metadata or {}
        marker = self._marker
        nothing: Mapping[str, Any] = {}
        for thinking, kept in ((metadata, _without_repetition(marker, metadata)), (nothing, marker)):
            fields = {_METADATA: thinking, _MARKER: None if kept is None else kept.data.decode(errors="replace")}
            state = {name: value for name, value in fields.items() if value}
            if state and len(opaque := encode_state(state)) <= MOST_CHARACTERS:
                return opaque
        if metadata or marker is not None:
            _logger.warning(
                "the state of an answer is longer than %d characters: the agent host gets the answer without it",
                MOST_CHARACTERS,
            )
        return None


def _without_repetition(marker: values.DataPart | None, metadata: Mapping[str, Any]) -> values.DataPart | None:
    """The marker without the reasoning that the metadata of thinking lists too; as it is where that lists none."""
    ours = None if marker is None or ITEMS not in metadata else read_marker(marker)
    if marker is None or ours is None or not ours.reasoning:
        return marker
    model_id, _, _ = marker.data.decode(errors="replace").partition("\\")
    return marker_part(model_id, replace(ours, reasoning=()))


def with_decoded_state(messages: Sequence[ChatMessage], memory: CallersMemory) -> list[ChatMessage]:
    """The conversation with the state of its answers as their providers reported it; all else stays as it is. The
    `memory` has the state of those answers that came back without it."""
    return [
        replace(message, content=tuple(piece for part in message.content for piece in _opened(part)))
        if message.role is Role.ASSISTANT
        else message
        for message in memory.restored(messages)
    ]


def _opened(part: MessagePart) -> Iterator[MessagePart]:
    opaque = part.metadata.get(_CARRIER) if isinstance(part, values.ThinkingPart) and part.metadata else None
    state = decode_state(opaque) if isinstance(opaque, str) else None
    if not isinstance(part, values.ThinkingPart) or not isinstance(state, dict):
        yield part
        return
    marker, metadata = state.get(_MARKER), state.get(_METADATA)
    if isinstance(marker, str):
        yield values.DataPart.text(marker, values.STATEFUL_MARKER_MIME_TYPE)
    yield replace(part, metadata=metadata if isinstance(metadata, dict) else None)
