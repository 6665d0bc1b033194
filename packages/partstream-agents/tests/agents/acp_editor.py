"""An editor for the tests: the official package's client, connected to our agent without a process."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import acp
from acp import schema
from acp._transport import memory_transport_pair

from partstream.runtime.consumer import LanguageModels
from partstream_agents.acp.agent import EditorAgent, SessionFiles

EVERYTHING = schema.ClientCapabilities(
    fs=schema.FileSystemCapabilities(read_text_file=True, write_text_file=True), terminal=True
)
NOTHING = schema.ClientCapabilities()


@dataclass
class Editor:
    """Keeps what the agent says, answers as a person would, and holds its files in memory."""

    files: dict[str, str] = field(default_factory=dict)
    allows: str = "allow"
    updates: list[Any] = field(default_factory=list)
    asked: list[schema.ToolCallUpdate] = field(default_factory=list)
    terminals: list[str] = field(default_factory=list)
    hangs: bool = False
    seen: asyncio.Event = field(default_factory=asyncio.Event)

    async def session_update(self, session_id: str, update: Any, **_kwargs: Any) -> None:
        self.updates.append(update)
        self.seen.set()

    async def request_permission(self, session_id: str, tool_call: Any, options: Any, **_kwargs: Any) -> Any:
        self.asked.append(tool_call)
        if self.allows not in {one.option_id for one in options}:
            return schema.RequestPermissionResponse(outcome=schema.DeniedOutcome(outcome="cancelled"))
        chosen = schema.AllowedOutcome(outcome="selected", option_id=self.allows)
        return schema.RequestPermissionResponse(outcome=chosen)

    async def read_text_file(
        self, session_id: str, path: str, line: int | None = None, limit: int | None = None, **_kwargs: Any
    ) -> Any:
        if path not in self.files:
            raise acp.RequestError.resource_not_found(path)
        lines = self.files[path].splitlines(keepends=True)[(line or 1) - 1 :]
        return schema.ReadTextFileResponse(content="".join(lines[:limit]))

    async def write_text_file(self, session_id: str, path: str, content: str, **_kwargs: Any) -> None:
        self.files[path] = content

    async def create_terminal(self, session_id: str, command: str, args: Any = None, **kwargs: Any) -> Any:
        self.terminals.append(f"create {' '.join([command, *(args or [])])} in {kwargs['cwd']}")
        self.seen.set()
        return schema.CreateTerminalResponse(terminal_id="t1")

    async def wait_for_terminal_exit(self, session_id: str, terminal_id: str, **_kwargs: Any) -> Any:
        if self.hangs:
            await asyncio.Event().wait()
        return schema.WaitForTerminalExitResponse(exit_code=3)

    async def terminal_output(self, session_id: str, terminal_id: str, **_kwargs: Any) -> Any:
        status = None if self.hangs else schema.TerminalExitStatus(exit_code=3)
        return schema.TerminalOutputResponse(output="some output\n", truncated=False, exit_status=status)

    async def kill_terminal(self, session_id: str, terminal_id: str, **_kwargs: Any) -> None:
        self.terminals.append("kill")

    async def release_terminal(self, session_id: str, terminal_id: str, **_kwargs: Any) -> None:
        self.terminals.append("release")

    # ---- What was seen ----

    def text(self, kind: type[Any] = schema.AgentMessageChunk) -> str:
        blocks = [one.content for one in self.updates if isinstance(one, kind)]
        return "".join(block.text for block in blocks if isinstance(block, schema.TextContentBlock))

    def calls(self) -> list[tuple[str | None, ...]]:
        """Kind, title and status of each update of a call."""
        of_calls = (schema.ToolCallStart, schema.ToolCallProgress)
        return [(one.kind, one.title, one.status) for one in self.updates if isinstance(one, of_calls)]

    def of(self, kind: type[Any]) -> list[Any]:
        return [one for one in self.updates if isinstance(one, kind)]


@dataclass
class Connected:
    """An editor and an agent that are connected."""

    editor: Editor
    agent: Any

    async def session(self, folder: str = "/work space", **more: Any) -> str:
        return (await self.agent.new_session(cwd=folder, **more)).session_id

    async def say(self, session: str, *blocks: Any) -> schema.PromptResponse:
        said = [acp.text_block(one) if isinstance(one, str) else one for one in blocks]
        return await self.agent.prompt(session_id=session, prompt=said)


@asynccontextmanager
async def connected(
    provider: Any,
    *,
    capabilities: schema.ClientCapabilities = EVERYTHING,
    files: SessionFiles | None = None,
    model: str | None = None,
    editor: Editor | None = None,
) -> AsyncIterator[Connected]:
    """An editor connected to the agent of a provider, after `initialize`."""
    editor = editor or Editor()
    ours, theirs = memory_transport_pair()
    async with asyncio.timeout(30), LanguageModels() as models:
        models.register_language_model_chat_provider("own", provider)
        agent = EditorAgent(models, "own", files, model)
        serving = asyncio.ensure_future(acp.run_agent(agent, ours, use_unstable_protocol=True))
        client = acp.connect_to_agent(editor, theirs, use_unstable_protocol=True)
        try:
            await client.initialize(protocol_version=acp.PROTOCOL_VERSION, client_capabilities=capabilities)
            yield Connected(editor, client)
        finally:
            await client.close()
            await agent.aclose()
            await serving
