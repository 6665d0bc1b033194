"""The tools that a model may call in an editor: the editor's own files and terminals, and those of MCP servers.

An editor says at the beginning what it can do. It reads and writes files with what is unsaved in them, and runs
programs where the person sees them. Each call is shown from its begin to its end, with the change that it makes or its
terminal. The person is asked before a file is written or read outside of the session's folders, before a program runs,
and before a tool of an MCP server runs; what they allow for the whole session is remembered for the session alone.
Programs, and the writing of hidden files, are never allowed for longer than once. The session's mode (:data:`MODES`)
takes tools away, or questions about edits. Nothing here touches the disk or starts a program but the MCP servers, which
the person has put into the editor's settings; the official SDK speaks to them, if it is installed.
"""

from __future__ import annotations
import asyncio
import logging
import os
import re
import shlex
from base64 import b64decode
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from importlib.util import find_spec
from secrets import token_hex
from shutil import which
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from acp import RequestError, helpers, schema

from partstream.codec.checks import dataclass, field
from partstream.codec.json_codec import MOST_LEVELS, dumps
from partstream.codec.limits import LARGE_BYTES, MOST_ARGUMENT_BYTES, measure
from partstream.codec.redaction import Redactor, secrets_in_header
from partstream.codec.text import visible
from partstream.conversation.media import type_of_file
from partstream.lm.inner_activity import InnerCall, plain_value, shown_call
from partstream.lm.messages import Tool
from partstream.lm.parts import DataPart, TextPart
from partstream.runtime.tool_loop import ToolFunction, tool_result_content
from partstream_agents.acp import MOST_LINE, SHORTEST_KEY, end_program, program_lines
from partstream_agents.acp.content import Update, shown_result

if TYPE_CHECKING:
    from acp.interfaces import Client

_logger = logging.getLogger("partstream.acp")

_SECONDS: Final = 120.0
_MOST_SECONDS: Final = 3600.0
_MOST_OUTPUT: Final = 65_536
"""Bytes of a terminal that a model gets to read."""
_MOST_READ: Final = 400_000
"""Characters of a file that a model gets to read at once."""
_RELEASE_SECONDS: Final = 5.0

_ONCE: Final = (
    schema.PermissionOption(option_id="allow", name="Allow", kind="allow_once"),
    schema.PermissionOption(option_id="reject", name="Reject", kind="reject_once"),
)
_HIDDEN: Final = re.compile(r"(?:^|[\\/])\.[^\\/]")
_WRITE: Final = "write"
"""The name under which writing files of the session's folders is allowed."""
_ALWAYS: Final = schema.PermissionOption(option_id="allow-always", name="Allow for this session", kind="allow_always")


class Mode(NamedTuple):
    """How a session works, as the person has chosen it in the editor."""

    name: str
    description: str
    is_reading: bool = False  # whether the model gets the tools that only read
    edits: bool = False  # whether files of the session's folders are written without a question


ASK: Final = "ask"
MODES: Final[dict[str, Mode]] = {
    ASK: Mode("Ask", "Asks before it writes or runs anything"),
    "accept-edits": Mode("Accept edits", "Writes files of the folder without asking; asks before it runs", edits=True),
    "read-only": Mode("Read only", "Gets no tool that writes or runs anything", is_reading=True),
}


class NotAllowedError(Exception):
    """The person, or the folder of the session, does not allow a call; the model reads the message."""


class ToolFailedError(Exception):
    """A tool said that it failed; the model reads the message."""


@dataclass(frozen=True, slots=True)
class _Step:
    """One call of a tool, as the editor shows it."""

    title: str
    kind: schema.ToolKind
    arguments: Mapping[str, Any]
    path: str | None = None
    content: tuple[Any, ...] = ()
    # under which name the person may allow it for the session; None where each call is asked for
    always: str | None = None
    asks: bool = True  # whether the person has to allow it


@dataclass(slots=True)
class SessionTools:
    """The tools of one session."""

    client: Client  # the editor
    session_id: str
    folders: Sequence[str]  # the session's folder, and the further ones that the editor has named
    capabilities: schema.ClientCapabilities  # what the editor can do
    mode: Mode = MODES[ASK]  # how the session works now
    _allowed: set[str] = field(default_factory=set)

    def functions(self) -> list[ToolFunction]:
        """The tools that the editor can serve, and the mode has."""
        files = self.capabilities.fs or schema.FileSystemCapabilities()
        wanted = {
            "read_text_file": files.read_text_file,
            "write_text_file": files.write_text_file,
            "edit_text_file": files.read_text_file and files.write_text_file,
            "run_command": self.capabilities.terminal,
        }
        return [
            ToolFunction(Tool(name, says, _schema(properties, required)), getattr(self, f"_{name}"))
            for name, (says, properties, required) in _TOOLS.items()
            if wanted[name] and (name == "read_text_file" or not self.mode.is_reading)
        ]

    async def run(self, step: _Step, work: Callable[[str], Awaitable[tuple[Any, Sequence[Any]]]]) -> Any:
        """Shows a call, asks for it if it has to be allowed, and runs it.

        Args:
            work: Takes the id of the call, and returns the result for the model and what the editor shows at the end.

        Raises:
            NotAllowedError: The person does not allow it.
            Exception: That of `work`.
        """
        call_id = f"call-{token_hex(8)}"
        await self.show(
            helpers.start_tool_call(
                call_id,
                visible(step.title),
                kind=step.kind,
                status="pending",
                content=step.content or None,
                locations=None if step.path is None else [schema.ToolCallLocation(path=step.path)],
                raw_input=plain_value(step.arguments),
            )
        )
        said = "The call was cancelled."
        try:
            allowed = {*self._allowed, _WRITE} if self.mode.edits else self._allowed
            if step.asks and (step.always is None or step.always not in allowed):
                await self._ask(call_id, step)
            await self.show(helpers.update_tool_call(call_id, status="in_progress"))
            result, shown = await work(call_id)
        except Exception as error:
            said = str(error) or type(error).__name__
            raise
        else:
            await self.show(helpers.update_tool_call(call_id, status="completed", content=shown or None))
            said = ""
            return result
        finally:
            if said:
                with suppress(ConnectionError):  # the editor has gone
                    failed = helpers.update_tool_call(call_id, status="failed", content=shown_result(said))
                    await asyncio.shield(asyncio.ensure_future(self.show(failed)))

    async def show(self, update: Update) -> None:
        """Shows an update of the session."""
        await self.client.session_update(self.session_id, update)

    async def _ask(self, call_id: str, step: _Step) -> None:
        options = [*_ONCE] if step.always is None else [_ONCE[0], _ALWAYS, _ONCE[1]]
        asked = schema.ToolCallUpdate(
            tool_call_id=call_id, title=visible(step.title), kind=step.kind, status="pending",
            content=list(step.content) or None, raw_input=plain_value(step.arguments),
        )  # fmt: skip
        outcome = (await self.client.request_permission(self.session_id, asked, options)).outcome
        chosen = outcome.option_id if isinstance(outcome, schema.AllowedOutcome) else ""
        if chosen == _ALWAYS.option_id and step.always is not None:
            self._allowed.add(step.always)
        elif chosen != _ONCE[0].option_id:
            raise NotAllowedError("The person did not allow this call.")

    # ---- Files ----

    async def _read_text_file(self, given: Mapping[str, Any]) -> str:
        path, line, limit = self._path(given), _count(given, "line"), _count(given, "limit")

        async def work(_call_id: str) -> tuple[str, Sequence[Any]]:
            text = (await self.client.read_text_file(self.session_id, path, line, limit)).content
            if len(text) > _MOST_READ:
                text = f"{text[:_MOST_READ]}\n(The rest is cut off: `line` and `limit` read it.)"
            return text, shown_result(text)

        step = _Step(f"Read {self._shown(path)}", "read", given, path, asks=not self._is_inside(path))
        result: str = await self.run(step, work)
        return result

    async def _write_text_file(self, given: Mapping[str, Any]) -> str:
        path, text = self._path(given), _text(given, "content")
        return await self._write(path, await self._present(path), text, given)

    async def _edit_text_file(self, given: Mapping[str, Any]) -> str:
        path, old, new = self._path(given), _text(given, "old_text"), _text(given, "new_text")
        before = await self._present(path)
        count = 0 if before is None or not old else before.count(old)
        if before is None or count != 1:
            raise ToolFailedError(f"old_text occurs {count} times in {path}, expected once")
        return await self._write(path, before, before.replace(old, new, 1), given)

    async def _write(self, path: str, before: str | None, after: str, given: Mapping[str, Any]) -> str:
        diff = helpers.tool_diff_content(path, after, before)

        async def work(_call_id: str) -> tuple[str, Sequence[Any]]:
            await self.client.write_text_file(self.session_id, path, after)
            return f"{path} was written.", [diff]

        # Programs run what is in hidden files, such as hooks of git and tasks of editors: each is asked for.
        below = self._below(path)
        always = None if below is None or _HIDDEN.search(below) else _WRITE
        verb = "Write" if before is None else "Edit"
        result: str = await self.run(_Step(f"{verb} {self._shown(path)}", "edit", given, path, (diff,), always), work)
        return result

    async def _present(self, path: str) -> str | None:
        """The present text of a file inside of the session's folders; None for a new one, and one outside."""
        files = self.capabilities.fs
        if not self._is_inside(path) or files is None or not files.read_text_file:
            return None
        try:
            return (await self.client.read_text_file(self.session_id, path)).content
        except RequestError:  # editors have several errors for a file that is not there
            return None

    def _path(self, given: Mapping[str, Any]) -> str:
        return os.path.normpath(os.path.join(self.folders[0], os.path.expanduser(_text(given, "path"))))

    def _is_inside(self, path: str) -> bool:
        """Whether a file is in a folder of the session, wherever links lead to."""
        return self._below(path) is not None

    def _below(self, path: str) -> str | None:
        """The path of a file below its folder of the session, wherever links lead to; None outside of them."""
        real = os.path.realpath(path)
        roots = (os.path.realpath(folder) for folder in self.folders)
        found = (root for root in roots if real == root or real.startswith(os.path.join(root, "")))
        return next((os.path.relpath(real, root) for root in found), None)

    def _shown(self, path: str) -> str:
        inside = os.path.join(self.folders[0], "")
        return path.removeprefix(inside)

    # ---- Terminals ----

    async def _run_command(self, given: Mapping[str, Any]) -> str:
        program = _text(given, "command")
        arguments = given.get("args") or []
        if not isinstance(arguments, list) or not all(isinstance(one, str) for one in arguments):
            raise ToolFailedError("args: expected a list of texts")
        folder = self._path({"path": given.get("cwd") or "."})
        seconds = min(float(_count(given, "seconds") or _SECONDS), _MOST_SECONDS)

        async def work(call_id: str) -> tuple[str, Sequence[Any]]:
            created = await self.client.create_terminal(
                self.session_id, program, arguments, cwd=folder, output_byte_limit=_MOST_OUTPUT
            )
            terminal = created.terminal_id
            shown = [helpers.tool_terminal_ref(terminal)]
            is_over = False
            try:
                await self.show(helpers.update_tool_call(call_id, content=shown))
                with suppress(TimeoutError):
                    async with asyncio.timeout(seconds):
                        await self.client.wait_for_terminal_exit(self.session_id, terminal)
                        is_over = True
                if not is_over:
                    await self.client.kill_terminal(self.session_id, terminal)
                output = await self.client.terminal_output(self.session_id, terminal)
            finally:
                await asyncio.shield(asyncio.ensure_future(self._release(terminal, is_over=is_over)))
            return _shown_output(output, None if is_over else seconds), shown

        title = shlex.join([program, *arguments])
        if folder != os.path.normpath(self.folders[0]):
            title += f" in {self._shown(folder)}"
        result: str = await self.run(_Step(f"Run {title}", "execute", given), work)
        return result

    async def _release(self, terminal: str, *, is_over: bool) -> None:
        try:
            async with asyncio.timeout(_RELEASE_SECONDS):
                if not is_over:
                    await self.client.kill_terminal(self.session_id, terminal)
                await self.client.release_terminal(self.session_id, terminal)
        except (ConnectionError, RequestError, TimeoutError) as error:
            _logger.warning("a terminal could not be released: %s", str(error) or type(error).__name__)


def _shown_output(output: schema.TerminalOutputResponse, ended_after: float | None) -> str:
    status = output.exit_status
    if ended_after is not None:
        end = f"It did not end within {ended_after:g} s and was killed."
    elif status is not None and status.signal:
        end = f"It was ended by {status.signal}."
    else:
        end = f"Exit code {'unknown' if status is None or status.exit_code is None else status.exit_code}."
    cut = "(The beginning is cut off.)\n" if output.truncated else ""
    return f"{cut}{output.output}\n{end}"


def _text(given: Mapping[str, Any], name: str) -> str:
    value = given.get(name)
    if not isinstance(value, str):
        raise ToolFailedError(f"{name}: expected a text")
    return value


def _count(given: Mapping[str, Any], name: str) -> int | None:
    value = given.get(name)
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
        raise ToolFailedError(f"{name}: expected a number from 1")
    return value


def _schema(properties: Mapping[str, Any], required: Sequence[str]) -> dict[str, Any]:
    return {"type": "object", "properties": dict(properties), "required": list(required)}


_PATH: Final = {"type": "string", "description": "The path of the file, absolute or relative to the folder."}
_STRING: Final = {"type": "string"}
_NUMBER: Final = {"type": "integer", "minimum": 1}
_TOOLS: Final[dict[str, tuple[str, dict[str, Any], tuple[str, ...]]]] = {
    "read_text_file": (
        "Reads a text file, with what is unsaved in the editor. `line` is the first line, from 1; `limit` the most.",
        {"path": _PATH, "line": _NUMBER, "limit": _NUMBER},
        ("path",),
    ),
    "write_text_file": (
        "Writes a whole text file, a new one or over the old one.",
        {"path": _PATH, "content": _STRING},
        ("path", "content"),
    ),
    "edit_text_file": (
        "Replaces a text that occurs exactly once in a file.",
        {"path": _PATH, "old_text": _STRING, "new_text": _STRING},
        ("path", "old_text", "new_text"),
    ),
    "run_command": (
        (
            "Runs a program in a terminal of the editor and returns its output. `args` are its arguments. It is killed "
            f"after `seconds`, by default {_SECONDS:g}."
        ),
        {
            "command": _STRING,
            "args": {"type": "array", "items": _STRING},
            "cwd": {"type": "string", "description": "The folder that it runs in."},
            "seconds": _NUMBER,
        },
        ("command",),
    ),
}
"""What the model learns of each tool: its description, the properties of its input, and which are required."""


# ---- MCP servers ----

McpServer = schema.McpServerStdio | schema.HttpMcpServer | schema.SseMcpServer | schema.AcpMcpServer

_START_SECONDS: Final = 30.0
_CALL_SECONDS: Final = 600.0
_MOST_SERVERS: Final = 32
_MOST_TOOLS: Final = 512
"""The most tools of a server; a request to a model holds all of them."""
_MOST_ANSWER: Final = 16 * 2**20
"""Bytes of an answer of a server over HTTP, and of a stream of its events."""
_MOST_ANSWER_VALUES: Final = 50_000
"""Values of an answer over HTTP. The SDK makes them at once on the event loop: 240,000 take 0.15 s, these 0.03 s."""
_LONGEST_REASON: Final = 500
_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST_NAME: Final = 64


def has_mcp() -> bool:
    """Whether the official SDK of the Model Context Protocol is installed."""
    return find_spec("mcp") is not None


class McpTools:
    """The tools of the MCP servers that the editor hands over with a session.

    The servers start together with the first prompt, and end with the session. One that cannot be reached is left out
    and said. What a server sends is bounded before the SDK reads it: the lines of a program, and the bytes and values
    of an answer over HTTP.
    """

    def __init__(self, servers: Sequence[McpServer], tools: SessionTools) -> None:
        self.left_out: dict[str, str] = {}  # the servers whose tools cannot be called, each with the reason
        self._servers = servers
        self._tools = tools
        self._functions: list[ToolFunction] | None = None
        self._opened: list[tuple[McpServer, asyncio.Future[list[tuple[Any, Any]]]]] = []
        self._ended = asyncio.Event()
        self._holding: list[asyncio.Task[None]] = []

    async def functions(self) -> list[ToolFunction]:
        """The tools; the servers start with the first call."""
        if self._functions is None:
            can, reason = (_MOST_SERVERS, f"more than {_MOST_SERVERS} servers")
            if not has_mcp():
                can, reason = (0, "`pip install mcp` is missing")
            self.left_out |= dict.fromkeys((one.name for one in self._servers[can:]), reason)
            if not self._opened:
                loop = asyncio.get_running_loop()
                self._opened = [(server, loop.create_future()) for server in self._servers[:can]]
                # A task for each: the SDK's connections have to be left in the task that opened them.
                self._holding = [asyncio.create_task(self._hold(*one), name="an MCP server") for one in self._opened]
            taken: set[str] = set()
            functions: list[ToolFunction] = []
            for server, ready in self._opened:
                functions += [
                    self._function(server, tool, session, taken) for tool, session in await asyncio.shield(ready)
                ]
            self._functions = functions
        return self._functions

    async def aclose(self) -> None:
        """Ends the servers."""
        self._ended.set()
        if self._holding:
            await asyncio.wait(self._holding, timeout=_RELEASE_SECONDS)
            for one in self._holding:
                one.cancel()

    async def _hold(self, server: McpServer, ready: asyncio.Future[list[tuple[Any, Any]]]) -> None:
        """Keeps a server open until the session ends; the result of `ready` is its tools, each with its session."""
        from mcp import ClientSession  # noqa: PLC0415 - takes half a second

        try:
            async with AsyncExitStack() as stack:
                async with asyncio.timeout(_START_SECONDS):
                    session: Any = ClientSession(*await stack.enter_async_context(self._streams(server)))
                    # The schema of a result is the server's own, and a pattern in it may take for ever.
                    session.validate_tool_result = _believe
                    await stack.enter_async_context(session)
                    await session.initialize()
                    tools = (await session.list_tools()).tools
                size = count = 0
                for tool in tools:
                    size += len(tool.model_dump_json())
                    count += size <= MOST_ARGUMENT_BYTES and count < _MOST_TOOLS
                if count < len(tools):
                    self.left_out[server.name] = f"{len(tools) - count} of its {len(tools)} tools are too much"
                ready.set_result([(tool, session) for tool in tools[:count]])
                await self._ended.wait()
        except Exception as error:
            reason: BaseException = error
            while isinstance(reason, BaseExceptionGroup):
                reason = reason.exceptions[0]
            words = f"it did not answer within {_START_SECONDS:g} s" if isinstance(reason, TimeoutError) else reason
            said = _secrets_of(server).redact(f"{type(reason).__name__}: {words}")[:_LONGEST_REASON]
            if ready.done():
                _logger.warning("the MCP server %s has ended: %s", server.name, visible(said))
            else:
                self.left_out[server.name] = visible(said)
        finally:
            if not ready.done():
                ready.set_result([])

    @asynccontextmanager
    async def _streams(self, server: McpServer) -> AsyncIterator[tuple[Any, Any]]:
        """What a server sends, and what is sent to it."""
        if isinstance(server, schema.AcpMcpServer):
            raise ToolFailedError("it is reached through the editor, which this agent does not do")
        if isinstance(server, schema.McpServerStdio):
            async with _program_streams(server, self._tools.folders[0]) as streams:
                yield streams
            return
        from mcp.client.sse import sse_client  # noqa: PLC0415 - as above
        from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415

        headers = {one.name: one.value for one in server.headers}
        if isinstance(server, schema.SseMcpServer):
            async with sse_client(server.url, headers, httpx_client_factory=_bounded_client) as streams:
                yield streams
        else:
            async with (
                _bounded_client(headers) as client,
                streamable_http_client(server.url, http_client=client) as streams,
            ):
                yield streams

    def _function(self, server: McpServer, tool: Any, session: Any, taken: set[str]) -> ToolFunction:
        name = _NOT_IN_NAMES.sub("_", f"{server.name}_{tool.name}")[:_LONGEST_NAME]
        while name in taken:
            name = f"{name[: _LONGEST_NAME - 5]}_{token_hex(2)}"
        taken.add(name)
        described = Tool(name, tool.description or tool.name, tool.model_dump(by_alias=True)["inputSchema"])
        return ToolFunction(described, self._caller(name, f"{server.name}: {tool.name}", tool.name, session))

    def _caller(self, name: str, shown: str, tool: str, session: Any) -> Callable[[Mapping[str, Any]], Awaitable[Any]]:
        async def call(given: Mapping[str, Any]) -> Any:
            async def work(_call_id: str) -> tuple[Any, Sequence[Any]]:
                async with asyncio.timeout(_CALL_SECONDS):
                    result = (await session.call_tool(tool, dict(given))).model_dump(mode="json", by_alias=True)
                content = _mcp_parts(result["content"])
                text = "\n".join(part.value for part in content if isinstance(part, TextPart))
                if result.get("isError"):
                    raise ToolFailedError(text or "the tool failed")
                return tool_result_content(content or text), shown_result(text)

            title = shown_call(InnerCall("", shown, given))
            return await self._tools.run(_Step(title, "other", given, always=f"mcp {name}"), work)

        return call


def _mcp_parts(blocks: Sequence[Mapping[str, Any]]) -> list[TextPart | DataPart]:
    """The blocks of a result of an MCP server; one that is neither text nor image becomes its JSON."""
    parts: list[TextPart | DataPart] = []
    left = _MOST_READ
    for block in blocks:
        if block["type"] == "image":
            data = b64decode(block["data"])
            parts.append(DataPart(data, type_of_file(data, block["mimeType"])))
            continue
        text = block["text"] if block["type"] == "text" else dumps(block).decode()
        if len(text) > left:
            return [*parts, TextPart(f"{text[:left]}\n(The rest is cut off.)")]
        left -= len(text)
        parts.append(TextPart(text))
    return parts


async def _believe(_tool: str, _result: Any) -> None:
    """Takes each result of a tool."""


def _secrets_of(server: McpServer) -> Redactor:
    """Hides what the person has put into the settings of a server, but words."""
    given: list[str] = []
    if isinstance(server, schema.McpServerStdio):
        given = [one.value for one in server.env]
    elif not isinstance(server, schema.AcpMcpServer):
        given = [value for _, value in parse_qsl(urlsplit(server.url).query)]
        given += (secret for one in server.headers for secret in secrets_in_header(one.value))
    return Redactor(one for one in given if len(one) >= SHORTEST_KEY)


@asynccontextmanager
async def _program_streams(server: schema.McpServerStdio, folder: str) -> AsyncIterator[tuple[Any, Any]]:
    """The streams of a program."""
    from anyio import (  # noqa: PLC0415 - of the SDK
        BrokenResourceError,
        CancelScope,
        ClosedResourceError,
        create_memory_object_stream,
        create_task_group,
    )
    from mcp.client.stdio import get_default_environment  # noqa: PLC0415
    from mcp.shared.message import SessionMessage  # noqa: PLC0415
    from mcp.types import jsonrpc_message_adapter  # noqa: PLC0415

    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        which(server.command) or server.command, *server.args, stdin=pipe, stdout=pipe, cwd=folder, limit=MOST_LINE,
        env=get_default_environment() | {one.name: one.value for one in server.env}, start_new_session=True,
    )  # fmt: skip
    lines = program_lines(process, server.name)
    into, read = create_memory_object_stream[Any](0)
    write, out_of = create_memory_object_stream[Any](0)

    async def receive() -> None:
        with suppress(BrokenResourceError, ClosedResourceError):
            async with into:
                while (message := await lines.receive()) is not None:
                    try:
                        one: Any = SessionMessage(jsonrpc_message_adapter.validate_python(message, by_name=False))
                    except ValueError as error:
                        one = error
                    await into.send(one)

    async def send() -> None:
        with suppress(ConnectionError):
            async with out_of:
                async for one in out_of:
                    await lines.send(one.message.model_dump(mode="json", by_alias=True, exclude_unset=True))

    async with create_task_group() as group:
        group.start_soon(receive)
        group.start_soon(send)
        try:
            yield read, write
        finally:
            group.cancel_scope.cancel()
            with CancelScope(shield=True):
                await end_program(process)


def _bounded_client(headers: dict[str, str] | None = None, timeout: Any = None, auth: Any = None) -> Any:
    """A client of HTTP whose answers are bounded: those that are no events are read here, packed ones are refused."""
    import httpx2  # noqa: PLC0415 - of the SDK

    class Bounded(httpx2.AsyncByteStream):
        def __init__(self, stream: Any) -> None:
            self._stream = stream

        async def __aiter__(self) -> AsyncIterator[bytes]:
            size = 0
            async for piece in self._stream:
                size += len(piece)
                if size > _MOST_ANSWER:
                    raise httpx2.ReadError(f"the answer has more than {_MOST_ANSWER:,} bytes")
                yield piece

        async def aclose(self) -> None:
            await self._stream.aclose()

    async def bound(response: Any) -> None:
        response.stream = Bounded(response.stream)
        if response.headers.get("content-encoding", "identity") != "identity":
            raise httpx2.DecodingError("the answer is packed")
        if "event-stream" not in response.headers.get("content-type", ""):
            data = await response.aread()
            counting = partial(measure, data, _MOST_ANSWER_VALUES)
            held = await asyncio.to_thread(counting) if len(data) > LARGE_BYTES else counting()
            if held.values > _MOST_ANSWER_VALUES or held.levels > MOST_LEVELS:
                most = f"{_MOST_ANSWER_VALUES:,} values or {MOST_LEVELS} levels"
                raise httpx2.DecodingError(f"the answer has more than {most}")

    return httpx2.AsyncClient(
        headers={**(headers or {}), "accept-encoding": "identity"},
        timeout=timeout or httpx2.Timeout(_START_SECONDS, read=_CALL_SECONDS),
        auth=auth,
        event_hooks={"response": [bound]},
    )
