"""A scripted agent of the Agent Client Protocol, as a program; the words of a prompt say what it does."""

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import acp
from acp import helpers, schema

OPTIONS = [
    schema.PermissionOption(option_id="yes", name="Yes", kind="allow_once"),
    schema.PermissionOption(option_id="no", name="No", kind="reject_once"),
]


class Scripted:
    """Says what it was asked, and follows its prompt."""

    def __init__(self, log: Path, *, resumes: bool) -> None:
        self.log = log
        self.resumes = resumes
        self.sessions = 0
        self.cancelled = asyncio.Event()

    def on_connect(self, conn: Any) -> None:
        self.client = conn

    def note(self, line: str) -> None:
        with self.log.open("a") as file:
            file.write(f"{line}\n")

    async def initialize(self, protocol_version: int, **_kwargs: Any) -> schema.InitializeResponse:
        self.note(f"start in {os.getcwd()}")
        resume = schema.SessionResumeCapabilities() if self.resumes else None
        return schema.InitializeResponse(
            protocol_version=protocol_version,
            agent_capabilities=schema.AgentCapabilities(
                prompt_capabilities=schema.PromptCapabilities(image=True),
                session_capabilities=schema.SessionCapabilities(resume=resume),
            ),
        )

    async def new_session(self, cwd: str, **_kwargs: Any) -> schema.NewSessionResponse:
        self.sessions += 1
        self.note(f"new {os.getpid()}-{self.sessions}")
        return schema.NewSessionResponse(session_id=f"{os.getpid()}-{self.sessions}")

    async def resume_session(self, session_id: str, **_kwargs: Any) -> schema.ResumeSessionResponse:
        self.note(f"resume {session_id}")
        return schema.ResumeSessionResponse()

    async def set_config_option(self, config_id: str, session_id: str, value: Any, **_kwargs: Any) -> Any:
        self.note(f"{config_id}={value}")
        return schema.SetSessionConfigOptionResponse(config_options=[])

    async def cancel(self, session_id: str, **_kwargs: Any) -> None:
        self.note("cancel")
        self.cancelled.set()

    async def prompt(self, session_id: str, prompt: list[Any], **_kwargs: Any) -> schema.PromptResponse:
        said = "|".join(block.text if block.type == "text" else block.type for block in prompt)
        self.note(f"prompt {said!r}")

        async def show(update: Any) -> None:
            await self.client.session_update(session_id, update)

        if said.startswith("hang"):
            await show(helpers.update_agent_message_text("hanging"))
            await self.cancelled.wait()
            return schema.PromptResponse(stop_reason="cancelled")
        if said.startswith("die"):
            sys.stderr.write(f"out of memory {os.environ.get('SOME_API_KEY', '')}\n")
            sys.stderr.flush()
            os._exit(3)
        if said.startswith("log in"):
            raise acp.RequestError.auth_required()
        if said in HOSTILE:
            await HOSTILE[said](self, session_id, show)
        if said.startswith("silence"):
            return schema.PromptResponse(stop_reason="end_turn")
        if said.startswith(("write", "read")):
            kind: Any = "edit" if said.startswith("write") else "read"
            path = os.path.join(os.getcwd(), "made.txt")
            diff = helpers.tool_diff_content(path, "one\n", None)
            # As Claude Code tells of a call, with its arguments, or as Codex does, with the change alone.
            told: Any = {"content": [diff]} if said.startswith("write by patch") else {"raw_input": {"path": path}}
            await show(helpers.start_tool_call("t1", "Make it", kind=kind, status="pending", **told))
            call = schema.ToolCallUpdate(tool_call_id="t1", title="Make made.txt", kind=kind)
            outcome = (await self.client.request_permission(session_id, call, OPTIONS)).outcome
            answer = getattr(outcome, "option_id", "cancelled")
            self.note(f"permission {answer}")
            if answer == "yes":
                Path(path).write_text("one\n")
                await show(helpers.update_tool_call("t1", status="completed", content=[diff]))
            else:
                await show(helpers.update_tool_call("t1", status="failed"))
            await show(helpers.update_agent_message_text(f"permission: {answer}"))
            return schema.PromptResponse(stop_reason="end_turn")
        await show(helpers.update_agent_thought_text("thinking"))
        await show(helpers.update_plan([helpers.plan_entry("Look", status="completed"), helpers.plan_entry("Do")]))
        await show(helpers.start_tool_call("t2", "Look around", kind="search", raw_input={"query": "x"}))
        found = [helpers.tool_content(helpers.text_block("3 files"))]
        await show(helpers.update_tool_call("t2", status="completed", content=found))
        await show(helpers.update_agent_message_text("you said: "))
        await show(helpers.update_agent_message_text(said))
        await show(schema.UsageUpdate(session_update="usage_update", used=70, size=100))
        usage = schema.Usage(input_tokens=10, output_tokens=5, total_tokens=65, cached_read_tokens=50)
        return schema.PromptResponse(stop_reason="end_turn", usage=usage)


async def _say_without_end(_self: Scripted, _session_id: str, show: Any) -> None:
    for _ in range(100):
        await show(helpers.update_agent_message_text("hello big " * 1_000))


async def _call_without_end(_self: Scripted, _session_id: str, show: Any) -> None:
    for number in range(1_000):
        await show(helpers.start_tool_call(f"c{number}", "It", kind="read", status="in_progress"))


async def _write_a_line_without_end(_self: Scripted, _session_id: str, _show: Any) -> None:
    os.set_blocking(1, True)
    while True:
        os.write(1, b"x" * 100_000)


async def _ask_and_go_on(self: Scripted, session_id: str, show: Any) -> None:
    call = schema.ToolCallUpdate(tool_call_id="t1", title="Make made.txt", kind="edit")
    asking = asyncio.ensure_future(self.client.request_permission(session_id, call, OPTIONS))
    for _ in range(100):
        await show(helpers.update_agent_message_text("hello big " * 1_000))
    again = await self.client.request_permission(session_id, call, OPTIONS)
    self.note(f"permission {again.outcome.outcome}")
    await asking


HOSTILE = {
    "say without end": _say_without_end,
    "call without end": _call_without_end,
    "write a line without end": _write_a_line_without_end,
    "ask and go on": _ask_and_go_on,
}

if __name__ == "__main__":
    scripted = Scripted(Path(sys.argv[1]), resumes="resumes" in sys.argv)
    asyncio.run(acp.run_agent(scripted, use_unstable_protocol=True))
