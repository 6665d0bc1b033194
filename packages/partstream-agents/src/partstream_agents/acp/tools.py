"""The tools that a model may call in an editor: the editor's own files and terminals, and those of MCP servers.

An editor says at the beginning what it can do. It reads and writes files with what is unsaved in them, and runs
programs where the person sees them. Each call is shown from its begin to its end, with the change that it makes or its
terminal. The person is asked before a file is written or read outside of the session's folders, before a program runs,
and before a tool of an MCP server runs; what they allow for the whole session is remembered for the session alone, and
programs are never allowed for longer than once. The session's mode (:data:`MODES`) takes tools away, or questions about
edits. Nothing here touches the disk or starts a program but the MCP servers,
which the person has put into the editor's settings; the official SDK speaks to them, if it is installed.
"""

from __future__ import annotations
import asyncio
import logging
import os
import re
from base64 import b64decode
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from acp import RequestError, helpers, schema

from partstream.codec.checks import dataclass, field
from partstream.codec.json_codec import dumps
from partstream.codec.text import visible
from partstream.lm.inner_activity import InnerCall, plain_value, shown_call
from partstream.lm.messages import Tool
from partstream.lm.parts import DataPart, TextPart
from partstream.runtime.tool_loop import ToolFunction, tool_result_content
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

        always = _WRITE if self._is_inside(path) else None
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
        real = os.path.realpath(path)
        roots = [os.path.realpath(folder) for folder in self.folders]
        return any(real == root or real.startswith(os.path.join(root, "")) for root in roots)

    def _shown(self, path: str) -> str:
        inside = os.path.join(self.folders[0], "")
        return path.removeprefix(inside)

    # ---- Terminals ----

    async def _run_command(self, given: Mapping[str, Any]) -> str:
        program = _text(given, "command")
        arguments = given.get("args") or []
        if not isinstance(arguments, list) or not all(isinstance(one, str) for one in arguments):
            raise ToolFailedError("args: expected a list of texts")
        folder = os.path.normpath(os.path.join(self.folders[0], given.get("cwd") or "."))
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

        title = " ".join([program, *arguments])
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
_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST_NAME: Final = 64


def has_mcp() -> bool:
    """Whether the official SDK of the Model Context Protocol is installed."""
    return find_spec("mcp") is not None


class McpTools:
    """The tools of the MCP servers that the editor hands over with a session.

    The servers start with the first prompt, and end with the session. One that cannot be reached is left out and said.
    """

    def __init__(self, servers: Sequence[McpServer], tools: SessionTools) -> None:
        self.left_out: dict[str, str] = {}  # the servers whose tools cannot be called, each with the reason
        self._servers = servers
        self._tools = tools
        self._functions: list[ToolFunction] | None = None
        self._ended = asyncio.Event()
        self._holding: asyncio.Task[None] | None = None

    async def functions(self) -> list[ToolFunction]:
        """The tools; the servers start with the first call."""
        if self._functions is None:
            self._functions = []
            if self._servers and has_mcp():
                ready = asyncio.Event()
                # A task of its own: the SDK's connections have to be left in the task that opened them.
                self._holding = asyncio.create_task(self._hold(self._functions, ready), name="MCP servers")
                await ready.wait()
            elif self._servers:
                self.left_out = dict.fromkeys((one.name for one in self._servers), "`pip install mcp` is missing")
        return self._functions

    async def aclose(self) -> None:
        """Ends the servers."""
        self._ended.set()
        if self._holding is not None:
            await asyncio.wait([self._holding], timeout=_RELEASE_SECONDS)
            self._holding.cancel()

    async def _hold(self, functions: list[ToolFunction], ready: asyncio.Event) -> None:
        """Keeps the servers open until the session ends."""
        from mcp import ClientSessionGroup  # noqa: PLC0415 - takes half a second

        taken: dict[str, str] = {}  # the names of tools with those that people know

        def named(tool: str, _server: Any) -> str:
            name = _NOT_IN_NAMES.sub("_", f"{server.name}_{tool}")[:_LONGEST_NAME]
            while name in taken:
                name = f"{name[: _LONGEST_NAME - 5]}_{token_hex(2)}"
            taken[name] = f"{server.name}: {tool}"
            return name

        try:
            async with ClientSessionGroup(component_name_hook=named) as group:
                for server in self._servers[:_MOST_SERVERS]:
                    try:
                        async with asyncio.timeout(_START_SECONDS):
                            await group.connect_to_server(self._place(server))
                    except Exception as error:
                        reason = error.exceptions[0] if isinstance(error, ExceptionGroup) else error
                        self.left_out[server.name] = f"{type(reason).__name__}: {reason}"
                for server in self._servers[_MOST_SERVERS:]:
                    self.left_out[server.name] = f"more than {_MOST_SERVERS} servers"
                for name, tool in group.tools.items():
                    described = Tool(name, tool.description or tool.name, tool.model_dump(by_alias=True)["inputSchema"])
                    functions.append(ToolFunction(described, self._caller(name, taken[name], group)))
                ready.set()
                await self._ended.wait()
        except Exception:
            _logger.exception("the MCP servers of a session failed")
        finally:
            ready.set()

    def _place(self, server: McpServer) -> Any:
        from mcp import StdioServerParameters  # noqa: PLC0415 - as above
        from mcp.client.session_group import SseServerParameters, StreamableHttpParameters  # noqa: PLC0415

        if isinstance(server, schema.AcpMcpServer):
            raise ToolFailedError("it is reached through the editor, which this agent does not do")
        if isinstance(server, schema.McpServerStdio):
            environment = {one.name: one.value for one in server.env}
            folder = self._tools.folders[0]
            return StdioServerParameters(command=server.command, args=server.args, env=environment, cwd=folder)
        headers = {one.name: one.value for one in server.headers}
        is_sse = isinstance(server, schema.SseMcpServer)
        return (SseServerParameters if is_sse else StreamableHttpParameters)(url=server.url, headers=headers)

    def _caller(self, name: str, shown: str, group: Any) -> Callable[[Mapping[str, Any]], Awaitable[Any]]:
        async def call(given: Mapping[str, Any]) -> Any:
            async def work(_call_id: str) -> tuple[Any, Sequence[Any]]:
                async with asyncio.timeout(_CALL_SECONDS):
                    result = (await group.call_tool(name, dict(given))).model_dump(mode="json", by_alias=True)
                content = [_mcp_part(one) for one in result["content"]]
                text = "\n".join(part.value for part in content if isinstance(part, TextPart))
                if result.get("isError"):
                    raise ToolFailedError(text or "the tool failed")
                return tool_result_content(content or text), shown_result(text)

            title = shown_call(InnerCall("", shown, given))
            return await self._tools.run(_Step(title, "other", given, always=f"mcp {name}"), work)

        return call


def _mcp_part(block: Mapping[str, Any]) -> TextPart | DataPart:
    """A block of a result of an MCP server; one that is neither text nor image becomes its JSON."""
    if block["type"] == "text":
        return TextPart(block["text"])
    if block["type"] == "image":
        return DataPart(b64decode(block["data"]), block["mimeType"])
    return TextPart(dumps(block).decode())
