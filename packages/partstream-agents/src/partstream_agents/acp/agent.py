"""Our models as an agent of the Agent Client Protocol: one connection, its sessions, and the answer to each prompt.

An editor starts the program, says what it can do, and opens sessions. A session is a folder and a conversation. A
prompt is a turn: the model is asked, the tools that it calls run in the editor, and it is asked again, until it calls
none (:mod:`partstream.runtime.tool_loop`). A model that is itself an agent does its inner work meanwhile, and the
editor shows it as calls. A cancellation ends the turn at once and cancels the model; what was said until then stays.

Sessions outlive the process: each is a file in the user's data folder, for the user alone, written after every turn.
Its name is its id, 32 hexadecimal digits, so that an id from outside names no other file. The first line tells what a
list shows, the second holds the messages. Neither keys nor the settings of MCP servers are in it.
"""

from __future__ import annotations
import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from os.path import isabs
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Final

from acp import PROTOCOL_VERSION, RequestError, helpers, schema

from partstream._version import __version__
from partstream.codec.checks import dataclass, field
from partstream.codec.json_codec import JSONDecodeError, dumps, loads
from partstream.codec.system import DATA
from partstream.errors import PartstreamError, ToolRoundLimitError
from partstream.lm.cancellation import CancellationTokenSource
from partstream.lm.messages import ChatMessage, RequestOptions, Role
from partstream.lm.outputs import Finish
from partstream.lm.parts import (
    USAGE_MIME_TYPE,
    DataPart,
    ResponsePart,
    TextPart,
    UnifiedFinishReason,
    Usage,
    part_json,
    part_of_json,
    usage_in,
    usage_part,
)
from partstream.runtime.answer_files import AnswerFiles, BoundedFolder, FileLimits
from partstream.runtime.consumer import LanguageModelChat, LanguageModels, offered_models
from partstream.runtime.tool_loop import (
    LoopFinished,
    PartReceived,
    RoundStarted,
    ToolCallStarted,
    ToolFunction,
    assistant_content,
    stream_tool_loop,
)
from partstream_agents.acp.content import AnswerUpdates, read_prompt, replayed
from partstream_agents.acp.tools import ASK, MODES, McpTools, SessionTools, has_mcp

if TYPE_CHECKING:
    from acp.interfaces import Client

_logger = logging.getLogger("partstream.acp")

_MOST_ROUNDS: Final = 200
"""The most requests to the model in one turn."""
_MOST_SESSIONS: Final = 64
"""The most sessions of one process at once."""
_TITLE: Final = 80
_MODEL: Final = "model"
_STOPS: Final[dict[UnifiedFinishReason, schema.StopReason]] = {
    UnifiedFinishReason.LENGTH: "max_tokens",
    UnifiedFinishReason.CONTENT_FILTER: "refusal",
}
_INSTRUCTIONS: Final = (
    "You work in the folder {folder}, through the tools of the editor that the person has open. "
    "The person sees each call, and may not allow it."
)


# ---- Kept sessions ----

_FOLDER: Final = "acp-sessions"
_NAMES: Final = re.compile(r"[0-9a-f]{32}\.jsonl")
_LIMITS: Final = FileLimits(file_bytes=32 * 2**20, all_bytes=256 * 2**20, files=500, seconds=90 * 86_400.0)
_MOST_LISTED: Final = 100
_LONGEST_HEAD: Final = 16_384


@dataclass(slots=True)
class Session:
    """A conversation in a folder."""

    id: str
    folder: str
    folders: tuple[str, ...] = ()
    messages: tuple[ChatMessage, ...] = field(default=(), repr=False)  # the conversation, without instructions
    model_id: str | None = None  # the model that answers; None for the first one
    mode_id: str = ASK  # how it works, one of `MODES`
    title: str = ""  # the beginning of the first prompt; empty before it
    updated: str = ""
    answering: CancellationTokenSource | None = None  # cancels the turn that runs; None while none does
    tools: SessionTools | None = None
    mcp: McpTools | None = None

    def head(self) -> dict[str, Any]:
        """What a list of sessions shows."""
        names = ("id", "folder", "model_id", "mode_id", "title", "updated")
        return {name: getattr(self, name) for name in names}


class SessionFiles:
    """The kept sessions of a user, by default in the user's data folder; any number of processes may share it."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = BoundedFolder(folder or DATA.path() / _FOLDER, _NAMES, _LIMITS)

    def keep(self, session: Session) -> None:
        """Writes a session; one that is too large, or a full disk, is logged."""
        messages = [
            {"role": message.role.name.lower(), "content": [part_json(part) for part in message.content]}
            for message in session.messages
        ]
        data = dumps(session.head()) + b"\n" + dumps(messages) + b"\n"
        self._folder.keep(f"{session.id}.jsonl", data, "the session")

    def find(self, session_id: str) -> Session | None:
        """A kept session; None where there is none, and for a damaged one."""
        first, _, rest = (self._folder.read(f"{session_id}.jsonl") or b"").partition(b"\n")
        try:
            session = _session_of(loads(first))
            session.messages = tuple(
                ChatMessage(Role[one["role"].upper()], [part_of_json(part) for part in one["content"]])
                for one in loads(rest)
            )
        except (JSONDecodeError, KeyError, TypeError, AttributeError, PartstreamError):
            return None
        return session

    def heads(self, folder: str | None) -> list[Session]:
        """The newest sessions without their messages, of one folder or of all."""
        found: list[Session] = []
        for path in self._folder.newest_first():
            if len(found) == _MOST_LISTED:
                break
            try:
                with path.open("rb") as file:
                    session = _session_of(loads(file.readline(_LONGEST_HEAD)))
            except (OSError, JSONDecodeError, KeyError, TypeError):
                continue
            if folder is None or session.folder == folder:
                found.append(session)
        return found


def _session_of(head: Mapping[str, Any]) -> Session:
    texts: Any = {name: str(head[name]) for name in ("id", "folder", "title", "updated")}
    texts["mode_id"] = head["mode_id"] if head["mode_id"] in MODES else ASK
    return Session(**texts, model_id=None if head["model_id"] is None else str(head["model_id"]))


# ---- The agent ----


class EditorAgent:
    """The agent of one connection; `acp.interfaces.Agent` has the methods.

    Args:
        models: The models, registered under the vendor.
        vendor: The name of the provider or server.
        files: Where sessions are kept; None for sessions that end with the process.
        model_id: The model that answers at first; None for the first one that is listed.
        refresh: Called before each turn, such as to load an edited file again.
    """

    def __init__(
        self,
        models: LanguageModels,
        vendor: str,
        files: SessionFiles | None,
        model_id: str | None = None,
        refresh: Callable[[], Awaitable[object]] | None = None,
    ) -> None:
        self._models = models
        self._vendor = vendor
        self._files = files
        self._first = model_id
        self._refresh = refresh
        self._sessions: dict[str, Session] = {}
        self._capabilities = schema.ClientCapabilities()
        self._client: Client | None = None

    def on_connect(self, conn: Client) -> None:
        """Takes the editor."""
        self._client = conn

    async def aclose(self) -> None:
        """Cancels all turns, and ends the MCP servers of all sessions."""
        await asyncio.gather(*(self._end(session) for session in self._sessions.values()))

    async def initialize(
        self,
        protocol_version: int,
        client_capabilities: schema.ClientCapabilities | None = None,
        client_info: schema.Implementation | None = None,
        **_kwargs: Any,
    ) -> schema.InitializeResponse:
        """Tells what this agent can do; the editor ends the connection if it does not know the version."""
        self._capabilities = client_capabilities or schema.ClientCapabilities()
        if client_info is not None:
            _logger.info("the editor is %s %s", client_info.name, client_info.version)
        keeps = self._files is not None
        return schema.InitializeResponse(
            protocol_version=min(protocol_version, PROTOCOL_VERSION) or PROTOCOL_VERSION,
            agent_info=schema.Implementation(name="partstream", title=self._vendor, version=__version__),
            agent_capabilities=schema.AgentCapabilities(
                load_session=keeps,
                prompt_capabilities=schema.PromptCapabilities(image=True, audio=False, embedded_context=True),
                mcp_capabilities=schema.McpCapabilities(http=has_mcp(), sse=has_mcp()),
                session_capabilities=schema.SessionCapabilities(
                    list=schema.SessionListCapabilities() if keeps else None,
                    resume=schema.SessionResumeCapabilities() if keeps else None,
                    close=schema.SessionCloseCapabilities(),
                ),
            ),
            auth_methods=[],
        )

    # ---- Sessions ----

    async def new_session(self, cwd: str, **given: Any) -> schema.NewSessionResponse:
        """Opens a session."""
        session = Session(token_hex(16), cwd, model_id=self._first)
        self._open(session, cwd, given)
        options = await self._options(session)
        return schema.NewSessionResponse(session_id=session.id, modes=_modes(session), config_options=options)

    async def load_session(self, cwd: str, session_id: str, **given: Any) -> schema.LoadSessionResponse:
        """Opens a kept session, and shows its conversation again."""
        session = await self._kept(session_id)
        tools = self._open(session, cwd, given)
        for update in replayed(session.messages, AnswerUpdates(cwd, 0, AnswerFiles())):
            await tools.show(update)
        return schema.LoadSessionResponse(modes=_modes(session), config_options=await self._options(session))

    async def resume_session(self, cwd: str, session_id: str, **given: Any) -> schema.ResumeSessionResponse:
        """Opens a kept session without showing anything again."""
        session = await self._kept(session_id)
        self._open(session, cwd, given)
        return schema.ResumeSessionResponse(modes=_modes(session), config_options=await self._options(session))

    async def list_sessions(
        self, cwd: str | None = None, cursor: str | None = None, **_kwargs: Any
    ) -> schema.ListSessionsResponse:
        """The newest kept sessions; there is one page."""
        kept = [] if self._files is None or cursor else await asyncio.to_thread(self._files.heads, cwd)
        return schema.ListSessionsResponse(
            sessions=[
                schema.SessionInfo(session_id=one.id, cwd=one.folder, title=one.title, updated_at=one.updated)
                for one in kept
            ]
        )

    async def close_session(self, session_id: str, **_kwargs: Any) -> schema.CloseSessionResponse:
        """Ends a session of this process; a kept one can be loaded again."""
        session = self._session(session_id)
        del self._sessions[session_id]
        await self._end(session)
        return schema.CloseSessionResponse()

    async def set_config_option(
        self, config_id: str, session_id: str, value: str | bool, **_kwargs: Any
    ) -> schema.SetSessionConfigOptionResponse:
        """Chooses the model of the next turns."""
        session = self._session(session_id)
        ids = [model.id for model in await self._listed()]
        if config_id != _MODEL or value not in ids:
            raise RequestError.invalid_params({"details": f"expected the option {_MODEL} and one of {', '.join(ids)}"})
        session.model_id = str(value)
        return schema.SetSessionConfigOptionResponse(config_options=await self._options(session) or [])

    async def set_session_mode(self, session_id: str, mode_id: str, **_kwargs: Any) -> schema.SetSessionModeResponse:
        """Chooses how the session works: with or without questions at once, with which tools from the next prompt."""
        session = self._session(session_id)
        if mode_id not in MODES:
            raise RequestError.invalid_params({"details": f"expected one of the modes {', '.join(MODES)}"})
        session.mode_id = mode_id
        if session.tools is not None:
            session.tools.mode = MODES[mode_id]
        return schema.SetSessionModeResponse()

    def _open(self, session: Session, cwd: str, given: Mapping[str, Any]) -> SessionTools:
        if not isabs(cwd):
            raise RequestError.invalid_params({"details": "cwd: expected an absolute path"})
        if session.id not in self._sessions and len(self._sessions) >= _MOST_SESSIONS:
            raise RequestError.invalid_request({"details": f"more than {_MOST_SESSIONS} sessions are open: close one"})
        if self._client is None:
            raise AssertionError("a session before the connection")
        session.folder, session.folders = cwd, (cwd, *(given.get("additional_directories") or ()))
        session.tools = SessionTools(
            self._client, session.id, session.folders, self._capabilities, MODES[session.mode_id]
        )
        session.mcp = McpTools(given.get("mcp_servers") or (), session.tools)
        self._sessions[session.id] = session
        return session.tools

    async def _kept(self, session_id: str) -> Session:
        if (open_one := self._sessions.pop(session_id, None)) is not None:
            await self._end(open_one)
            return open_one
        found = None if self._files is None else await asyncio.to_thread(self._files.find, session_id)
        if found is None:
            raise RequestError.resource_not_found(session_id)
        return found

    async def _end(self, session: Session) -> None:
        if session.answering is not None:
            session.answering.cancel()
        if session.mcp is not None:
            await session.mcp.aclose()

    def _session(self, session_id: str) -> Session:
        session = self._sessions.get(session_id)
        if session is None:
            raise RequestError.resource_not_found(session_id)
        return session

    async def _listed(self) -> Sequence[LanguageModelChat]:
        try:
            return await offered_models(self._models, self._vendor)
        except PartstreamError as error:
            raise _failed(error) from error

    async def _options(self, session: Session) -> list[Any] | None:
        """The choice of a model, where there is one."""
        listed = await self._listed()
        if len(listed) < 2:
            return None
        ids = [model.id for model in listed]
        current = session.model_id if session.model_id in ids else ids[0]
        return [
            schema.SessionConfigOptionSelect(
                id=_MODEL,
                name="Model",
                category="model",
                type="select",
                current_value=current,
                options=[schema.SessionConfigSelectOption(value=model.id, name=model.name) for model in listed],
            )
        ]

    # ---- Turns ----

    async def cancel(self, session_id: str, **_kwargs: Any) -> None:
        """Cancels the turn that runs, if one does."""
        session = self._sessions.get(session_id)
        if session is not None and session.answering is not None:
            session.answering.cancel()

    async def prompt(self, session_id: str, prompt: list[Any], **_kwargs: Any) -> schema.PromptResponse:
        """Answers a prompt.

        Raises:
            RequestError: The model failed; what it said until then stays in the conversation.
        """
        session = self._session(session_id)
        if session.answering is not None:
            raise RequestError.invalid_request({"details": "a prompt of this session is being answered"})
        session.answering = CancellationTokenSource()
        try:
            return await _Turn(self, session, prompt).answer()
        finally:
            session.answering = None

    async def model_of(self, session: Session) -> LanguageModelChat:
        """The model that answers now.

        Raises:
            RequestError: There is none, or not the chosen one.
        """
        if self._refresh is not None:
            await self._refresh()
        listed = {model.id: model for model in await self._listed()}
        model = listed.get(session.model_id or next(iter(listed), ""))
        if model is None:
            got = f"no model {session.model_id}" if session.model_id else "no language models"
            raise RequestError(-32603, f"{self._vendor} lists {got}")
        return model

    async def keep(self, session: Session) -> None:
        """Keeps a session."""
        session.updated = datetime.now(UTC).isoformat(timespec="seconds")
        if self._files is not None:
            await asyncio.to_thread(self._files.keep, session)


class _Turn:
    """The answer to one prompt."""

    def __init__(self, agent: EditorAgent, session: Session, prompt: Sequence[Any]) -> None:
        if session.tools is None or session.mcp is None or session.answering is None:
            raise AssertionError("a turn of a session that is not open")
        self._agent = agent
        self._session = session
        self._prompt = prompt
        self._tools, self._mcp, self._token = session.tools, session.mcp, session.answering.token
        self._received: list[ResponsePart] = []

    async def answer(self) -> schema.PromptResponse:
        session = self._session
        asked = ChatMessage.user(read_prompt(self._prompt))
        model = await self._agent.model_of(session)
        if not model.capabilities.image_input and any(isinstance(part, DataPart) for part in asked.content):
            raise RequestError.invalid_params({"details": f"the model {model.name} takes no images and files"})
        if not session.title:
            words = " ".join("".join(part.value for part in asked.content if isinstance(part, TextPart)).split())
            session.title = words[:_TITLE]
        functions: list[ToolFunction] = []
        if model.capabilities.tool_calling:
            functions = self._tools.functions()
            if not self._tools.mode.is_reading:  # what a tool of a server does is unknown
                functions += await self._mcp.functions()
        await self._say_what_is_left_out()
        session.messages = (*session.messages, asked)
        try:
            finish, is_cancelled = await self._run(model, functions)
        except ToolRoundLimitError:
            return schema.PromptResponse(stop_reason="max_turn_requests", usage=self._usage())
        except PartstreamError as error:
            raise _failed(error) from error
        finally:
            await self._agent.keep(session)
        reason = None if finish is None or finish.reason is None else finish.reason.unified
        stop: schema.StopReason = "cancelled" if is_cancelled else _STOPS.get(reason, "end_turn")  # type: ignore[arg-type]
        return schema.PromptResponse(stop_reason=stop, usage=self._usage())

    async def _run(self, model: LanguageModelChat, functions: Sequence[ToolFunction]) -> tuple[Finish | None, bool]:
        session = self._session
        updates = AnswerUpdates(session.folder, model.max_input_tokens, AnswerFiles())
        before = [ChatMessage.system(_INSTRUCTIONS.format(folder=session.folder))] if functions else []
        options = RequestOptions(model_options={"_conversationId": session.id})
        known = {function.tool.name for function in functions}
        loop = stream_tool_loop(
            model, [*before, *session.messages], functions, options, self._token, max_rounds=_MOST_ROUNDS
        )
        this_round: list[ResponsePart] = []
        try:
            async with aclosing(loop) as events:
                async for event in events:
                    match event:
                        case RoundStarted():
                            this_round = []
                            session.messages = event.messages[len(before) :]
                        case PartReceived():
                            this_round.append(event.part)
                            self._received.append(event.part)
                            await self._show(updates.of(event.part))
                        case ToolCallStarted():
                            await self._show(updates.end())
                            if event.call.name not in known:
                                _logger.warning("the model called %s, which is no tool here", event.call.name)
                        case LoopFinished():
                            this_round = []
                            session.messages = event.result.messages[len(before) :]
                            await self._show(updates.end())
                            finish = event.result.finish
                            if not event.result.usage_parts and finish is not None and finish.usage is not None:
                                await self._show_usage(finish.usage, updates)
                            return finish, event.result.is_cancelled
        finally:
            if content := assistant_content(this_round, ()):  # it failed in the middle
                session.messages = (*session.messages, ChatMessage.assistant(content))
        raise AssertionError("a tool loop ends with LoopFinished or raises")

    async def _show_usage(self, usage: Usage, updates: AnswerUpdates) -> None:
        """Shows the usage of a provider that reports it at the end alone."""
        if (part := usage_part(usage)) is not None:
            self._received.append(part)
            await self._show(updates.of(part))

    async def _show(self, updates: Any) -> None:
        for update in updates:
            await self._tools.show(update)

    async def _say_what_is_left_out(self) -> None:
        left_out, self._mcp.left_out = self._mcp.left_out, {}
        if left_out:
            count = "1 MCP server is" if len(left_out) == 1 else f"{len(left_out)} MCP servers are"
            named = "; ".join(f"{name}: {reason}" for name, reason in left_out.items())
            _logger.warning("%s left out: %s", count, named)
            await self._tools.show(helpers.update_agent_thought_text(f"{count} left out: {named}\n\n"))

    def _usage(self) -> schema.Usage | None:
        """The tokens of all requests of the turn together; None where no request reported any."""
        parts = [one for one in self._received if isinstance(one, DataPart) and one.mime_type == USAGE_MIME_TYPE]
        counts = [usage for part in parts if (usage := usage_in(part)[0]) is not None]
        if not counts:
            return None
        given, made = sum(one.input_tokens or 0 for one in counts), sum(one.output_tokens or 0 for one in counts)
        known = ([getattr(one, name) for one in counts] for name in ("cached_tokens", "reasoning_tokens"))
        cached, thought = (sum(found) if None not in found else None for found in known)
        return schema.Usage(
            input_tokens=given,
            output_tokens=made,
            total_tokens=given + made,
            cached_read_tokens=cached,
            thought_tokens=thought,
        )


def _modes(session: Session) -> schema.SessionModeState:
    modes = [schema.SessionMode(id=name, name=mode.name, description=mode.description) for name, mode in MODES.items()]
    return schema.SessionModeState(current_mode_id=session.mode_id, available_modes=modes)


def _failed(error: PartstreamError) -> RequestError:
    """The error that the editor shows."""
    return RequestError(-32603, str(error), {"details": str(error)})
