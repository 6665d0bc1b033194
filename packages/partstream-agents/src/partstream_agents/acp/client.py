"""An agent of the Agent Client Protocol as a model: a program such as Claude Code, Codex or Gemini CLI in the picker.

::

    from partstream_agents.acp.client import acp_agent

    provider = acp_agent(["npx", "-y", "@agentclientprotocol/claude-agent-acp"], name="Claude Code")

The program works in a folder by itself: it reads, writes and runs what it wants there, with tools of its own. It is
started at the first request, without a shell, and ends with the model, or when it has been idle for a while. Each
conversation is a session of it. What was said, not a name, tells which one: the digest of the conversation and of the
last answer, because few hosts name a conversation. A session outlives the program where the program can resume or load
it; of a conversation that is new to it, it gets the words so far.

A question for permission stops the answer, not the turn: the program waits with its request, and the person's next
message answers it (:mod:`partstream_agents.answer` has the words). What is not answered ends with the program.
"""

from __future__ import annotations
import asyncio
import difflib
import logging
import os
import re
import shutil
from base64 import b64encode
from collections import OrderedDict, deque
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Unpack, cast

import acp
from acp import schema

from partstream._version import __version__
from partstream.codec.checks import dataclass, field
from partstream.codec.json_codec import JSONDecodeError, dumps, loads
from partstream.codec.limits import MOST_ANSWER_TEXT, MOST_ITEMS
from partstream.codec.redaction import Redactor, names_a_secret
from partstream.codec.system import DATA
from partstream.codec.text import code_lines, visible
from partstream.config.table import Permissions
from partstream.errors import AnswerTooLargeError, LanguageModelError
from partstream.lm.inner_activity import InnerCall, InnerResult
from partstream.lm.messages import ChatMessage, Role
from partstream.lm.outputs import Finish, Outcome, Unmapped
from partstream.lm.parts import DataPart, FinishReason, TextPart, ThinkingPart, UnifiedFinishReason, Usage
from partstream.lm.provider import ModelFields
from partstream.runtime.answer_files import BoundedFolder, FileLimits
from partstream.runtime.client_failures import FailureKind
from partstream.runtime.simple import text_of, user_request
from partstream_agents import adapter
from partstream_agents.acp import MOST_LINE, SHORTEST_KEY, Lines, end_program, program_lines
from partstream_agents.agent_model import AgentModel, as_model
from partstream_agents.answer import question_of, read_reply
from partstream_agents.run import spoken_digest

if TYPE_CHECKING:
    from acp.interfaces import Client


_logger = logging.getLogger("partstream.acp")

_START_SECONDS: Final = 60.0
_END_SECONDS: Final = 3.0
_CANCEL_SECONDS: Final = 10.0
_IDLE_SECONDS: Final = 1800.0
_MOST_CONVERSATIONS: Final = 32
_MOST_WAITING: Final = 16 * 2**20
"""Bytes that a program may write while the updates of a turn have no reader."""
_MOST_CHANGED: Final = 2_000
"""Lines between the first and the last change of a file, in which single changes are looked for: that takes their
square."""
_MOST_ERRORS: Final = 3
"""Lines of the program's standard error that an error shows."""


_READS: Final = frozenset({"read", "search", "think"})
_STOPS: Final[Mapping[str, UnifiedFinishReason]] = {
    "end_turn": UnifiedFinishReason.STOP,
    "max_tokens": UnifiedFinishReason.LENGTH,
    "max_turn_requests": UnifiedFinishReason.LENGTH,
    "refusal": UnifiedFinishReason.CONTENT_FILTER,
}


class AcpAgentError(Exception):
    """The program cannot be started or asked; the message says what a person can do."""


def acp_agent(
    command: Sequence[str],
    *,
    folder: str | Path | None = None,
    permissions: Permissions | str = Permissions.ASK,
    environment: Mapping[str, str] | None = None,
    options: Mapping[str, str] | None = None,
    name: str | None = None,
    **fields: Unpack[ModelFields],
) -> AgentModel:
    """Makes a model of a program that is an agent.

    Args:
        command: The program and its arguments, such as `["gemini", "--acp"]`; no shell is involved.
        folder: The folder that it works in; by default, that of this process, unless that is the home folder: the
            sidecar is there in a window without a folder that the person trusts.
        permissions: Who answers its questions: `ask`, `allow-reads`, `allow` or `refuse`.
        environment: Variables beside those of this process.
        options: Options of its sessions by their ids, such as `{"mode": "plan"}`.
        name: The name in the picker; by default, that of the program.
        fields: Further fields of the model, see :func:`partstream_agents.as_model`.

    Raises:
        InvalidArgumentError: A keyword has a wrong value.
        ValueError: There is no command, or no such kind of permissions.
    """
    if isinstance(command, str) or not all(command) or not command:
        raise ValueError(f"acp_agent.command: got {command!r}, expected a list of a program and its arguments")
    program = AcpProgram(command, folder, Permissions(permissions), environment or {}, options or {})
    more: Any = {"image_input": True, "tooltip": f"{Path(command[0]).name} works in the folder by itself.", **fields}
    shown = name or Path(command[0]).name
    return as_model(adapter.AgentPairing(program, program), name=shown, host_tools=False, **more)


# ---- What the program says, as outputs ----


@dataclass(slots=True)
class _Call:
    """A call of the program's own tools, as far as it is known."""

    name: str = "tool"
    title: str = ""
    arguments: Any = None
    is_shown: bool = False
    is_over: bool = False
    kind: str = "other"
    content: list[Any] = field(default_factory=list)
    places: list[Any] = field(default_factory=list)

    def take(self, update: Any) -> None:
        """Takes the fields of an update; those that it leaves out stay."""
        meta = next((one for one in (update.field_meta or {}).values() if isinstance(one, dict)), {})
        self.kind = update.kind or self.kind
        self.title = update.title or self.title
        named = meta.get("toolName")  # as Claude Code says it, in some of the updates
        self.name = str(named or (self.kind if self.name == "tool" and self.kind != "other" else self.name))
        self.arguments = update.raw_input or self.arguments
        self.content = update.content or self.content
        self.places = update.locations or self.places

    def shown(self, call_id: str) -> InnerCall:
        """The call for people and programs; Codex tells no arguments of an edit, so its title and files are shown."""
        files = [one.path for one in self.places] or [one.path for one in self.edits()]
        return InnerCall(
            call_id, self.name, self.arguments or {"title": self.title, **({"files": files} if files else {})}
        )

    def edits(self) -> Sequence[schema.FileEditToolCallContent]:
        """The changes of files that it holds."""
        return [one for one in self.content if isinstance(one, schema.FileEditToolCallContent)]

    @property
    def reason(self) -> str:
        """What a person reads below a question: its title, and the changes that no argument shows, in Markdown."""
        changes = [line for one in self.edits() for line in _diff(one)] if not self.arguments else []
        return "\n\n".join([self.title, *([code_lines(visible("\n".join(changes)), "diff")] if changes else [])])


class _TurnOutputs:
    """The outputs of one turn, from its updates."""

    def __init__(self, calls: dict[str, _Call]) -> None:
        self.calls = calls
        self._pieces: list[str] = []
        self._length = 0
        self._plan = ""
        self._context: int | None = None

    def of(self, update: Any) -> Iterator[adapter.AgentOutput]:
        """The outputs of an update, in order."""
        match update:
            case schema.AgentMessageChunk():
                yield from self._shown_calls()
                yield from self._said(update.content)
            case schema.AgentThoughtChunk():
                if isinstance(update.content, schema.TextContentBlock):
                    yield ThinkingPart(update.content.text)
            case schema.ToolCallStart() | schema.ToolCallProgress():
                yield from self._of_call(update)
            case schema.AgentPlanUpdate():
                marks = {"completed": "x", "in_progress": "~"}
                plan = "\n".join(f"- [{marks.get(one.status, ' ')}] {one.content}" for one in update.entries)
                if plan != self._plan:
                    self._plan = plan
                    yield ThinkingPart(f"\n\n{plan}\n\n")
            case schema.UsageUpdate():
                self._context = update.used

    def end(self, response: schema.PromptResponse) -> Iterator[adapter.AgentOutput]:
        """The outputs of the end of the turn."""
        yield from self._shown_calls()
        if (usage := response.usage) is not None:
            given = max(usage.input_tokens, usage.total_tokens - usage.output_tokens)  # some leave out the cached ones
            yield adapter.StepUsage(
                Usage(
                    input_tokens=given,
                    output_tokens=usage.output_tokens,
                    cached_tokens=usage.cached_read_tokens,
                    reasoning_tokens=usage.thought_tokens,
                    cache_write_tokens=usage.cached_write_tokens,
                    context_tokens=self._context,
                )
            )
        elif self._context is not None:
            yield adapter.StepUsage(Usage(input_tokens=self._context, context_tokens=self._context))
        if not self.text.strip() and response.stop_reason == "end_turn":
            yield self._kept("The agent ended its turn without an answer.")
        reason = _STOPS.get(response.stop_reason, UnifiedFinishReason.OTHER)
        outcome = Outcome.COMPLETED if response.stop_reason in _STOPS else Outcome.INCOMPLETE
        yield Finish(outcome, FinishReason(reason, response.stop_reason))

    @property
    def text(self) -> str:
        """The answer so far."""
        return "".join(self._pieces)

    def call_of(self, update: Any) -> _Call:
        """The call of an update or a question, with what it says.

        Raises:
            AnswerTooLargeError: There are too many.
        """
        if len(self.calls) > MOST_ITEMS:
            raise AnswerTooLargeError("calls of one answer", MOST_ITEMS)
        call = self.calls.setdefault(update.tool_call_id, _Call())
        call.take(update)
        return call

    def _said(self, block: Any) -> Iterator[adapter.AgentOutput]:
        match block:
            case schema.TextContentBlock():
                yield self._kept(block.text)
            case schema.ResourceContentBlock():
                yield self._kept(f"[{block.name}]({block.uri})")
            case schema.ImageContentBlock() | schema.AudioContentBlock():
                from base64 import b64decode  # noqa: PLC0415 - of few answers

                with suppress(ValueError):
                    yield adapter.AgentFile(b64decode(block.data), block.mime_type)
            case _:
                yield Unmapped(f"agent_message_chunk {block.type}", {})

    def _kept(self, text: str) -> TextPart:
        self._length += len(text)
        if self._length > MOST_ANSWER_TEXT:
            raise AnswerTooLargeError("characters of one answer", MOST_ANSWER_TEXT)
        self._pieces.append(text)
        return TextPart(text)

    def _of_call(self, update: Any) -> Iterator[adapter.AgentOutput]:
        call = self.call_of(update)
        is_over = update.status in {"completed", "failed"}
        if not call.is_shown and (is_over or update.status == "in_progress"):
            call.is_shown = True
            yield call.shown(update.tool_call_id)
        if is_over and not call.is_over:
            call.is_over = True
            yield from self._result(update, call)
            call.arguments, call.content = None, []

    def _result(self, update: Any, call: _Call) -> Iterator[adapter.AgentOutput]:
        texts, changes = [], []
        for one in call.content:
            if isinstance(one, schema.FileEditToolCallContent):
                diff = _diff(one)
                texts.append("\n".join(diff))
                added, removed = (sum(line.startswith(mark) for line in diff[2:]) for mark in "+-")
                changes.append(f"Edited {one.path} (+{added} -{removed})")
            elif isinstance(one, schema.ContentToolCallContent) and isinstance(one.content, schema.TextContentBlock):
                texts.append(one.content.text)
        content = "\n".join(texts) if texts else update.raw_output
        yield InnerResult(update.tool_call_id, call.name, content, is_error=update.status == "failed")
        if changes and update.status == "completed":
            yield ThinkingPart("".join(f"{one}\n\n" for one in changes))

    def _shown_calls(self) -> Iterator[adapter.AgentOutput]:
        """The calls that have begun and of which the program has said no more."""
        for call_id, call in self.calls.items():
            if not call.is_shown:
                call.is_shown = True
                yield call.shown(call_id)


def _diff(change: schema.FileEditToolCallContent) -> list[str]:
    before, after = (change.old_text or "").splitlines(), change.new_text.splitlines()
    least = min(len(before), len(after))
    same = next((at for at in range(least) if before[at] != after[at]), least)
    left = least - same
    same_end = next((at for at in range(left) if before[-1 - at] != after[-1 - at]), left)
    if max(len(before), len(after)) - same - same_end > _MOST_CHANGED:
        return [f"{change.path} is changed in too many lines to show them"]
    begin = max(0, same - _LINES_AROUND)
    cut = slice(begin, -max(0, same_end - _LINES_AROUND) or None)
    lines = difflib.unified_diff(before[cut], after[cut], change.path, change.path, lineterm="", n=_LINES_AROUND)
    return [_HUNK.sub(lambda at: f"{at[1]}{int(at[2]) + begin}", line) if line[:2] == "@@" else line for line in lines]


_LINES_AROUND: Final = 2
_HUNK: Final = re.compile(r"( [-+])(\d+)")


# ---- Conversations ----


@dataclass(slots=True)
class _Asked:
    """A question of the program for permission, which waits for its answer."""

    call: schema.ToolCallUpdate
    options: Sequence[schema.PermissionOption]
    answer: asyncio.Future[schema.RequestPermissionResponse]

    def decide(self, *, approved: bool) -> None:
        """Answers it, by the mildest option that there is; without one, as cancelled."""
        kinds = ("allow_once", "allow_always") if approved else ("reject_once", "reject_always")
        chosen = next((one for kind in kinds for one in self.options if one.kind == kind), None)
        outcome: Any = schema.DeniedOutcome(outcome="cancelled")
        if chosen is not None:
            outcome = schema.AllowedOutcome(outcome="selected", option_id=chosen.option_id)
        if not self.answer.done():
            self.answer.set_result(schema.RequestPermissionResponse(outcome=outcome))

    def cancel(self) -> None:
        """Answers it as cancelled."""
        self.options = ()
        self.decide(approved=False)


@dataclass(slots=True)
class _Conversation:
    """A session of the program that this process has open."""

    session: str
    lines: Lines  # where its program writes
    # what comes of the turn that runs: updates, questions, and its response or error at the end
    events: asyncio.Queue[Any] = field(default_factory=asyncio.Queue)
    turn: asyncio.Task[None] | None = None  # the turn that runs, also while a question waits; None between turns
    asked: _Asked | None = None  # the question that the person has been asked; further ones wait among the events
    key: str = ""  # by what its next request is known; empty before the first answer
    calls: dict[str, _Call] = field(default_factory=dict)
    is_read: bool = False  # whether an answer reads the events now
    is_replayed: bool = False  # whether the program repeats what was said before
    waits_from: int = 0  # how many bytes had come of the program when the first of the waiting events came
    is_full: bool = False  # whether so many wait that no further one is taken

    def put(self, event: Any) -> None:
        """Takes an event of the session."""
        if self.is_replayed or self.turn is None:
            return  # what was said before, or commands and titles between two turns
        if self.events.empty():
            self.waits_from, self.is_full = self.lines.received, False
        if not self.is_full and self.lines.received - self.waits_from > _MOST_WAITING:
            self.is_full = True
            self.events.put_nowait(AcpAgentError("the program said more than is kept while its question waited"))
        if not self.is_full:
            self.events.put_nowait(event)
        elif isinstance(event, _Asked):
            event.cancel()

    def drop_questions(self) -> None:
        """Answers all questions as cancelled, and drops what waits."""
        waiting, self.asked = [self.asked], None
        while not self.events.empty():
            waiting.append(self.events.get_nowait())
        for one in waiting:
            if isinstance(one, _Asked):
                one.cancel()


class _Host:
    """What the program may ask of us: to be heard, and to be allowed. Files and terminals are its own."""

    def __init__(self, conversations: Mapping[str, _Conversation]) -> None:
        self._conversations = conversations

    async def session_update(self, session_id: str, update: Any, **_kwargs: Any) -> None:
        """Takes an update of a session."""
        if (found := self._conversations.get(session_id)) is not None:
            found.put(update)

    async def request_permission(
        self, session_id: str, tool_call: schema.ToolCallUpdate, options: Sequence[Any], **_kwargs: Any
    ) -> schema.RequestPermissionResponse:
        """Waits for the answer of a person or a rule."""
        found = self._conversations.get(session_id)
        if found is None or found.turn is None or found.is_replayed:
            return schema.RequestPermissionResponse(outcome=schema.DeniedOutcome(outcome="cancelled"))
        asked = _Asked(tool_call, options, asyncio.get_running_loop().create_future())
        found.put(asked)
        return await asked.answer


# ---- The program ----


class AcpProgram:
    """A program that is an agent, and the adapter that asks it; started when it is needed. Serves any number of runs.

    Args:
        command: The program and its arguments.
        folder: The folder that it works in; None for that of this process.
        permissions: Who answers its questions.
        environment: Variables beside those of this process.
        options: Options of its sessions by their ids.
        idle_seconds: After how many seconds without a request it is ended.
    """

    framework = "ACP"
    tested = "0.12"
    errors: Mapping[str, FailureKind] = MappingProxyType(
        {"AcpAgentError": FailureKind.USAGE, "ConnectionError": FailureKind.CONNECTION}
    )

    def __init__(
        self,
        command: Sequence[str],
        folder: str | Path | None,
        permissions: Permissions,
        environment: Mapping[str, str],
        options: Mapping[str, str],
        idle_seconds: float = _IDLE_SECONDS,
    ) -> None:
        self._command = tuple(command)
        self._folder = folder
        self._permissions = permissions
        self._environment = dict(environment)
        self._options = dict(options)
        self._idle_seconds = idle_seconds
        self._sessions = _KeptSessions()
        self._starting = asyncio.Lock()
        self._process: asyncio.subprocess.Process | None = None
        self._connection: Any = None
        self._lines: Any = None  # of the program that runs
        self._can = schema.AgentCapabilities()
        self._said: deque[str] = deque(maxlen=_MOST_ERRORS)
        self._listening: asyncio.Task[None] | None = None
        self._conversations: OrderedDict[str, _Conversation] = OrderedDict()
        self._running = 0
        self._idle: asyncio.TimerHandle | None = None
        self._ending: asyncio.Task[None] | None = None

    async def run(self, agent: Any, request: adapter.AgentRequest) -> AsyncGenerator[adapter.AgentOutput, None]:
        """Answers a request, see :class:`partstream_agents.adapter.AgentAdapter`."""
        del agent
        folder = self._place()
        self._running += 1
        if self._idle is not None:
            self._idle.cancel()
        try:
            await self._start(folder)
            conversation, blocks = await self._conversation_of(request, folder)
            conversation.is_read = True
            try:
                async for output in self._turn(conversation, blocks, request, folder):
                    yield output
            finally:
                conversation.is_read = False
                if conversation.turn is not None and not conversation.asked:
                    await asyncio.shield(asyncio.ensure_future(self._cancel(conversation)))
        finally:
            self._running -= 1
            if not self._running:
                loop = asyncio.get_running_loop()
                self._idle = loop.call_later(self._idle_seconds, self._end_soon)

    async def aclose(self) -> None:
        """Ends the program, and what waits for it."""
        if self._idle is not None:
            self._idle.cancel()
        process, self._process = self._process, None
        connection, self._connection = self._connection, None
        listening, conversations = self._listening, [*self._conversations.values()]
        self._conversations.clear()
        for one in conversations:
            if not one.is_read:
                one.drop_questions()
        if connection is not None:
            await connection.close()  # the reader of a turn gets the error of that
        if process is not None:
            await end_program(process)
        if listening is not None:
            await asyncio.wait([listening], timeout=_END_SECONDS)
            listening.cancel()

    # ---- One turn ----

    async def _turn(
        self, conversation: _Conversation, blocks: Sequence[Any], request: adapter.AgentRequest, folder: Path
    ) -> AsyncGenerator[adapter.AgentOutput, None]:
        outputs = _TurnOutputs(conversation.calls)
        if conversation.turn is None:
            self._prompt(conversation, blocks)
            blocks = ()
        while True:
            event = await conversation.events.get()
            if isinstance(event, _Asked):
                call = outputs.call_of(event.call)
                if (allowed := self._by_rule(call)) is not None:
                    event.decide(approved=allowed)
                    continue
                call.is_shown = True  # by the question
                conversation.asked = event
                shown = call.shown(event.call.tool_call_id)
                approval = adapter.Approval(shown.call_id, shown.name, shown.arguments, call.reason)
                self._keep(request, outputs.text + question_of([approval]), folder, conversation)
                yield adapter.ApprovalAsked((approval,))
                yield adapter.KeptState({"session": conversation.session})
                return
            if isinstance(event, BaseException):
                conversation.turn = None
                if isinstance(event, ConnectionError):
                    await self.aclose()
                raise self._explained(event)
            if isinstance(event, schema.PromptResponse) and blocks:  # the words beside a *no* are the next prompt
                self._prompt(conversation, blocks)
                blocks = ()
                continue
            is_end = isinstance(event, schema.PromptResponse)
            for output in outputs.end(event) if is_end else outputs.of(event):
                yield output
            if is_end:
                conversation.turn = None
                self._keep(request, outputs.text, folder, conversation)
                return

    def _prompt(self, conversation: _Conversation, blocks: Sequence[Any]) -> None:
        connection = self._connection

        async def prompt() -> None:
            try:
                event: Any = await connection.prompt(session_id=conversation.session, prompt=list(blocks))
            except Exception as error:
                event = error
            conversation.events.put_nowait(event)

        self._sessions.forget(conversation.key, conversation.session)  # what it was known by is the past now
        conversation.calls.clear()
        conversation.turn = asyncio.create_task(prompt(), name=f"acp turn {conversation.session}")

    def _by_rule(self, call: _Call) -> bool | None:
        """The answer of the rule to a question; None where the person is asked."""
        if self._permissions in {Permissions.ALLOW, Permissions.REFUSE}:
            return self._permissions is Permissions.ALLOW
        return True if self._permissions is Permissions.ALLOW_READS and call.kind in _READS else None

    async def _cancel(self, conversation: _Conversation) -> None:
        """Ends a turn that has lost its reader; a program that does not end the turn is ended itself."""
        turn = conversation.turn
        conversation.drop_questions()
        try:
            async with asyncio.timeout(_CANCEL_SECONDS):
                await self._connection.cancel(session_id=conversation.session)
                if turn is not None:
                    await turn
        except (TimeoutError, ConnectionError, AttributeError):
            _logger.warning("%s did not end its turn and was ended", self._name)
            await self.aclose()
        conversation.turn = None
        conversation.drop_questions()

    # ---- Which session ----

    def _keep(self, request: adapter.AgentRequest, answer: str, folder: Path, conversation: _Conversation) -> None:
        """Remembers by what the next request is known that goes on with this answer."""
        said = [*request.messages, ChatMessage.assistant(answer)]
        conversation.key = self._key(said, folder)
        self._sessions.keep(conversation.key, conversation.session)

    def _key(self, said: Sequence[ChatMessage], folder: Path) -> str:
        facts = dumps([self._command, str(folder), spoken_digest(said)])
        return blake2b(facts, digest_size=16).hexdigest()

    async def _conversation_of(self, request: adapter.AgentRequest, folder: Path) -> tuple[_Conversation, list[Any]]:
        """The session that a request goes on with, and its prompt; no prompt where it answers a question alone."""
        messages = request.messages
        last = max((at for at, one in enumerate(messages) if one.role is Role.ASSISTANT), default=-1)
        before, later = messages[: last + 1], messages[last + 1 :]
        resumed = (request.resumed or {}).get("session")
        session = resumed or (self._sessions.find(self._key(before, folder)) if before else None)
        found = self._conversations.get(session or "")
        if found is not None and not found.is_read:
            asked, found.asked = found.asked, None
            self._sessions.forget(found.key, found.session)
            if asked is None:
                return found, self._blocks(later)
            reply, call_id = user_request(later).strip(), asked.call.tool_call_id
            decided = (
                request.decisions.get(call_id) or read_reply(reply, [adapter.Approval(call_id, "", None)])[call_id]
            )
            asked.decide(approved=decided.approved)
            # What a policy decides, it decides within an answer, where no later word is.
            return found, [] if decided.approved or not _SAYS_MORE.search(decided.reason) else self._blocks(later)
        if resumed:
            raise AcpAgentError("the program that asked has ended; try again")
        conversation = await self._opened(session if found is None else None, folder)
        return conversation, self._blocks(later, () if conversation.session == session else before)

    async def _opened(self, session: str | None, folder: Path) -> _Conversation:
        """A session that was kept, if the program still has it; else a new one."""
        while len(self._conversations) >= _MOST_CONVERSATIONS:
            old = next((one for one in self._conversations.values() if one.turn is None), None)
            if old is None:
                raise AcpAgentError(f"{_MOST_CONVERSATIONS} conversations are being answered or wait for a *yes*")
            del self._conversations[old.session]
        capabilities = self._can.session_capabilities
        if session is not None:
            conversation = self._conversations[session] = _Conversation(session, self._lines, is_replayed=True)
            try:
                if capabilities is not None and capabilities.resume is not None:
                    await self._connection.resume_session(session_id=session, cwd=str(folder))
                    return conversation
                if self._can.load_session:
                    await self._connection.load_session(session_id=session, cwd=str(folder))
                    return conversation
            except acp.RequestError as error:
                _logger.info("%s has the session no more: %s", self._name, error)
            finally:
                conversation.is_replayed = False
            del self._conversations[session]
        try:
            opened = await self._connection.new_session(cwd=str(folder), mcp_servers=[])
            for name, value in self._options.items():
                if name == "mode" and opened.modes is not None:
                    await self._connection.set_session_mode(mode_id=value, session_id=opened.session_id)
                else:
                    await self._connection.set_config_option(config_id=name, session_id=opened.session_id, value=value)
        except acp.RequestError as error:
            raise self._explained(error) from error
        conversation = self._conversations[opened.session_id] = _Conversation(opened.session_id, self._lines)
        return conversation

    def _blocks(self, later: Sequence[ChatMessage], before: Sequence[ChatMessage] = ()) -> list[Any]:
        """The prompt: the words of the person, what they attached, and the conversation that is new to the program.

        The host's instructions are for models without tools of their own, so they stay out.
        """
        said = [(one.role, user_request([one]) if one.role is Role.USER else text_of(one)) for one in before]
        lines = [f"{role.name.capitalize()}: {text}" for role, text in said if text and role is not Role.SYSTEM]
        blocks: list[Any] = [acp.text_block("The conversation so far:\n\n" + "\n\n".join(lines))] if lines else []
        attached = "\n".join(
            match[0]
            for one in later
            if one.role is Role.USER
            for match in _ATTACHMENTS.finditer("".join(text_of(one).rpartition(_ATTACHED)[:2]))  # to the last end alone
        )
        blocks += [acp.text_block(text) for text in (user_request(later), attached) if text]
        takes = self._can.prompt_capabilities
        if takes is not None and takes.image:
            parts = [part for one in later for part in one.content if isinstance(part, DataPart)]
            images = [part for part in parts if part.mime_type.startswith("image/")]
            blocks += [acp.image_block(b64encode(part.data).decode(), part.mime_type) for part in images]
        return blocks

    # ---- The process ----

    @property
    def _name(self) -> str:
        return Path(self._command[0]).name

    def _place(self) -> Path:
        folder = Path(self._folder).expanduser().absolute() if self._folder is not None else Path.cwd()
        if self._folder is None and folder.resolve() in {Path.home().resolve(), Path(folder.anchor)}:
            raise AcpAgentError(
                f"{self._name} works in a folder by itself, and there is none: open a folder that you trust, or name "
                "one with folder="
            )
        if not folder.is_dir():
            raise AcpAgentError(f"{folder} is no folder")
        return folder

    async def _start(self, folder: Path) -> None:
        async with self._starting:
            if self._process is not None and self._process.returncode is None and self._connection is not None:
                return
            await self.aclose()
            program = shutil.which(os.path.expanduser(self._command[0]))
            # A relative path would depend on the present folder, which may be untrusted.
            if program is None or not os.path.isabs(program):
                raise AcpAgentError(f"there is no program {self._command[0]} on the PATH")
            pipe = asyncio.subprocess.PIPE
            inherited = {name: value for name, value in os.environ.items() if not name.startswith("PARTSTREAM_")}
            process = await asyncio.create_subprocess_exec(
                program, *self._command[1:], stdin=pipe, stdout=pipe, stderr=pipe, cwd=folder, limit=MOST_LINE,
                env={**inherited, **self._environment}, start_new_session=True,
            )  # fmt: skip
            self._process = process
            self._said.clear()
            self._listening = asyncio.create_task(self._listen(process), name=f"standard error of {self._name}")
            host = cast("Client", _Host(self._conversations))
            self._lines = program_lines(process, self._name)
            self._connection = acp.connect_to_agent(host, self._lines, use_unstable_protocol=True)
            try:
                async with asyncio.timeout(_START_SECONDS):
                    said = await self._connection.initialize(
                        protocol_version=acp.PROTOCOL_VERSION,
                        client_capabilities=schema.ClientCapabilities(),
                        client_info=schema.Implementation(name="partstream", version=__version__),
                    )
            except (acp.RequestError, ConnectionError, TimeoutError) as error:
                await self.aclose()
                raise self._explained(error) from error
            self._can = said.agent_capabilities or schema.AgentCapabilities()

    async def _listen(self, process: asyncio.subprocess.Process) -> None:
        """Reads what the program says beside the protocol, for the log and for errors, without the keys that it got."""
        given = (os.environ | self._environment).items()
        redactor = Redactor(value for name, value in given if names_a_secret(name) and len(value) >= SHORTEST_KEY)
        assert process.stderr is not None  # noqa: S101 - for the type checker: it is a pipe
        while data := await process.stderr.read(65_536):
            for line in redactor.redact(data.decode(errors="replace")).splitlines():
                self._said.append(line[:500])
                _logger.debug("%s: %s", self._name, line[:500])

    def _explained(self, error: BaseException) -> BaseException:
        """The error of a turn, with what a person can do."""
        if isinstance(error, acp.RequestError) and error.code == acp.RequestError.auth_required().code:
            return AcpAgentError(f"{self._name} wants you to log in: start it in a terminal once")
        if isinstance(error, acp.RequestError):
            details = error.data.get("details") if isinstance(error.data, dict) else None
            return LanguageModelError(f"{self._name} failed: {details or error}")
        if isinstance(error, ConnectionError | TimeoutError):
            last = "; it said: " + " / ".join(self._said) if self._said else ""
            did = "ended" if isinstance(error, ConnectionError) else "says nothing"
            return ConnectionError(f"{self._name} {did}{last}")
        return error

    def _end_soon(self) -> None:
        self._ending = asyncio.ensure_future(self.aclose())


_SAYS_MORE: Final = re.compile("They said:")
"""What the reason of a refusal holds where a person has said more than *no*."""
_ATTACHED: Final = "</attachments>"
_ATTACHMENTS: Final = re.compile(f"<attachments>.*?{_ATTACHED}", re.DOTALL)
"""What a person has attached, as Copilot writes it into a message."""


# ---- Kept sessions ----

_FOLDER: Final = "acp-agents"
_NAMES: Final = re.compile(r"[0-9a-f]{32}\.json")
_LIMITS: Final = FileLimits(file_bytes=4096, all_bytes=2**20, files=500, seconds=30 * 86_400.0)


class _KeptSessions:
    """Which session a conversation belongs to, in the user's data folder: ids alone, no words."""

    def __init__(self) -> None:
        self._folder: Callable[[], BoundedFolder] = lambda: BoundedFolder(DATA.path() / _FOLDER, _NAMES, _LIMITS)

    def keep(self, key: str, session: str) -> None:
        """Remembers the session of a conversation. Where another has the same words, neither is known by them: a
        request may be that of another person."""
        other = self.find(key)
        shown = session if other in {None, session} else ""
        self._folder().keep(f"{key}.json", dumps({"session": shown}), "a session")

    def forget(self, key: str, session: str) -> None:
        """Forgets by what a session was known."""
        if key and self.find(key) == session:
            (self._folder().path / f"{key}.json").unlink(missing_ok=True)

    def find(self, key: str) -> str | None:
        """The session of a conversation; None where it is not known, empty where two are known by the same words."""
        try:
            session = loads(self._folder().read(f"{key}.json") or b"{}")["session"]
        except (JSONDecodeError, KeyError, TypeError):
            return None
        return session if isinstance(session, str) else None
