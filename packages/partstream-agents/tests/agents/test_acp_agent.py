"""Our models in an editor: the official package's client on the other end of a connection."""

import asyncio
import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import acp
import pytest
from acp import schema
from acp_editor import EVERYTHING, NOTHING, Editor, connected

from partstream import (
    ChatMessage,
    DataPart,
    Finish,
    FinishReason,
    GatewayProvider,
    LanguageModelError,
    Outcome,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
    UnifiedFinishReason,
    Usage,
    chat_model,
    user_request,
)
from partstream.lm.inner_activity import InnerCall, InnerResult, call_data, call_line, result_data, result_line
from partstream.lm.messages import Role
from partstream_agents.acp.agent import SessionFiles
from partstream_agents.acp.content import kind_of
from partstream_devtools.testing.upstream import ReplayUpstream
from rows import one_test_for
from upstream_settings import gateway_of

ROUNDS = [
    ("read_text_file", {"path": "a.txt"}, "read", "Read a.txt", []),
    ("read_text_file", {"path": "/etc/hosts"}, "read", "Read /etc/hosts", ["/etc/hosts"]),
    ("write_text_file", {"path": "b.txt", "content": "new"}, "edit", "Write b.txt", ["b.txt"]),
    ("edit_text_file", {"path": "a.txt", "old_text": "one", "new_text": "two"}, "edit", "Edit a.txt", ["a.txt"]),
    ("run_command", {"command": "make", "args": ["test"]}, "execute", "Run make test", ["make"]),
]


def model(*steps: Any, **fields: Any) -> Any:
    """A model whose answers are the steps, one for each request, and that keeps what it was asked."""
    asked: list[list[ChatMessage]] = []
    offered: list[list[str]] = []

    @chat_model(name="Own", tool_calling=True, image_input=True, **fields)
    async def own(messages, options):
        asked.append([*messages])
        offered.append([tool.name for tool in options.tools])
        step = steps[min(len(asked), len(steps)) - 1]
        for part in step:
            if isinstance(part, Exception):
                raise part
            if isinstance(part, asyncio.Event):
                await part.wait()
            else:
                yield part

    own.asked, own.offered = asked, offered
    return own


def call(name: str, given: dict[str, Any]) -> list[Any]:
    return [ToolCallPart("c1", name, given)]


def results(messages: list[ChatMessage]) -> list[str]:
    return [
        part.content[0].value
        for message in messages
        for part in message.content
        if isinstance(part, ToolResultPart) and isinstance(part.content[0], TextPart)
    ]


def run(test: Any) -> None:
    asyncio.run(test)


def test_text_and_thinking_leave_as_they_come_with_the_usage_and_the_reason():
    said = [
        ThinkingPart("Hm."),
        TextPart("Hel"),
        TextPart("lo"),
        Finish(Outcome.COMPLETED, FinishReason(UnifiedFinishReason.LENGTH), Usage(input_tokens=7, output_tokens=2)),
    ]

    async def test() -> None:
        async with connected(model(said, max_input_tokens=1000)) as one:
            answer = await one.say(await one.session(), "Hi")
            assert [type(update).__name__ for update in one.editor.updates] == [
                "AgentThoughtChunk",
                "AgentMessageChunk",
                "AgentMessageChunk",
                "UsageUpdate",
            ]
            assert (one.editor.text(schema.AgentThoughtChunk), one.editor.text()) == ("Hm.", "Hello")
            (usage,) = one.editor.of(schema.UsageUpdate)
            assert (usage.used, usage.size) == (9, 1000)
            assert answer.stop_reason == "max_tokens"
            assert answer.usage is not None
            assert (answer.usage.input_tokens, answer.usage.output_tokens) == (7, 2)

    run(test())


def test_a_budget_that_is_used_up_is_the_error_of_the_prompt(tmp_path, monkeypatch):
    monkeypatch.setenv("PARTSTREAM_DATA", str(tmp_path))

    async def test() -> None:
        async with ReplayUpstream() as upstream:
            own = {"baseUrl": upstream.base_url, "protocol": "openresponses", "models": ["text"], "discover": False}
            money = {"budget": "0.0005 USD/day", "prices": {"*": {"input": 10, "output": 20}}}
            provider = GatewayProvider(gateway_of({**own, **money}))
            async with connected(provider) as one:
                session = await one.session()
                await one.say(session, "Hi")
                said = r"our budget \(0.0005 USD/day\) is used up: .* USD spent; it begins anew on .* at 00:00"
                with pytest.raises(acp.RequestError, match=said):
                    await one.say(session, "Hi")
            await provider.aclose()
            assert len(upstream.requests) == 1

    run(test())


@one_test_for(
    ("finish", "stop"),
    [
        (UnifiedFinishReason.STOP, "end_turn"),
        (UnifiedFinishReason.CONTENT_FILTER, "refusal"),
        (UnifiedFinishReason.LENGTH, "max_tokens"),
    ],
)
def test_each_end_of_an_answer_has_its_stop_reason(finish, stop):
    async def test() -> None:
        async with connected(model([TextPart("x"), Finish(Outcome.COMPLETED, FinishReason(finish))])) as one:
            assert (await one.say(await one.session(), "Hi")).stop_reason == stop

    run(test())


def test_a_cancelled_prompt_cancels_the_model_and_the_next_one_goes_on():
    stopped = asyncio.Event()

    async def test() -> None:
        asked = []

        @chat_model(name="Own")
        async def own(messages, options):
            asked.append(messages)
            yield "until here"
            if len(asked) == 1:
                try:
                    await asyncio.Event().wait()
                finally:
                    stopped.set()

        async with connected(own) as one:
            session = await one.session()
            prompt = asyncio.ensure_future(one.say(session, "Hi"))
            await one.editor.seen.wait()
            with pytest.raises(acp.RequestError, match="Invalid request"):
                await one.say(session, "meanwhile")
            await one.agent.cancel(session_id=session)
            assert (await prompt).stop_reason == "cancelled"
            async with asyncio.timeout(10):
                await stopped.wait()
            assert (await one.say(session, "And on")).stop_reason == "end_turn"
            assert [message.role for message in asked[1]][1:] == [Role.USER, Role.ASSISTANT, Role.USER]

    run(test())


def test_an_error_of_the_model_is_said_and_what_came_before_stays():
    async def test() -> None:
        broken = model([TextPart("Half"), LanguageModelError("the server is away")], [TextPart("whole")])
        async with connected(broken, capabilities=NOTHING) as one:
            session = await one.session()
            with pytest.raises(acp.RequestError, match="the server is away"):
                await one.say(session, "Hi")
            await one.say(session, "Again")
            assert [user_request([message]) or message.role for message in broken.asked[1]] == [
                "Hi",
                Role.ASSISTANT,
                "Again",
            ]

    run(test())


def test_all_kinds_of_blocks_of_a_prompt_reach_the_model():
    async def test() -> None:
        asked = model([TextPart("ok")])
        async with connected(asked) as one:
            await one.say(
                await one.session(),
                "See",
                acp.image_block(b64encode(b"\x89PNG").decode(), "image/png"),
                acp.resource_link_block("notes.md", "file:///work/notes.md"),
                acp.resource_block(acp.embedded_text_resource("file:///a.py", "print()")),
                acp.resource_block(acp.embedded_blob_resource("file:///a.pdf", b64encode(b"%PDF").decode())),
            )
            (said,) = [message for message in asked.asked[0] if message.role is Role.USER]
            text, image, link, embedded, blob = said.content
            assert (text.value, link.value) == ("See", "[notes.md](file:///work/notes.md)")
            assert image == DataPart(b"\x89PNG", "image/png")
            assert embedded.value == '<context uri="file:///a.py">\nprint()\n</context>\n'
            assert blob == DataPart(b"%PDF", "application/octet-stream")
            with pytest.raises(acp.RequestError, match="Invalid params"):
                await one.say(await one.session(), acp.image_block("no base64!", "image/png"))

    run(test())


@pytest.mark.parametrize(("name", "given", "kind", "title", "asks"), ROUNDS, ids=[f"{r[0]} {r[3]}" for r in ROUNDS])
def test_a_call_of_an_editors_tool_is_asked_for_shown_and_run_there(name, given, kind, title, asks, tmp_path):
    async def test() -> None:
        editor = Editor({f"{tmp_path}/a.txt": "one\n", "/etc/hosts": "localhost\n"})
        calling = model(call(name, given), [TextPart("done")])
        async with connected(calling, editor=editor) as one:
            answer = await one.say(await one.session(str(tmp_path)), "Do it")
            assert (answer.stop_reason, editor.text()) == ("end_turn", "done")
            first, *_, last = editor.calls()
            assert first == (kind, title, "pending")
            assert last[2] == "completed"
            assert bool(editor.asked) is bool(asks)
            assert len(results(calling.asked[1])) == 1
            assert "failed" not in results(calling.asked[1])[0]

    run(test())


def test_a_change_of_a_file_is_asked_for_with_its_diff_and_refused_by_a_person(tmp_path):
    async def test() -> None:
        path = f"{tmp_path}/a.txt"
        edit = {"path": "a.txt", "old_text": "one", "new_text": "two"}
        for allows, after in (("reject", "one\n"), ("never heard of", "one\n"), ("allow", "two\n")):
            editor = Editor({path: "one\n"}, allows=allows)
            calling = model(call("edit_text_file", edit), [TextPart("done")])
            async with connected(calling, editor=editor) as one:
                await one.say(await one.session(str(tmp_path)), "Do it")
                ((diff,),) = [asked.content for asked in editor.asked]
                assert (diff.path, diff.old_text, diff.new_text) == (path, "one\n", "two\n")
                assert editor.files[path] == after
                assert ("did not allow" in results(calling.asked[1])[0]) is (allows != "allow")

    run(test())


def test_what_is_allowed_for_the_session_is_not_asked_again_but_programs_and_files_outside_are(tmp_path):
    write = ("write_text_file", {"path": "a.txt", "content": "x"})
    outside = ("write_text_file", {"path": "/elsewhere/a.txt", "content": "x"})
    command = ("run_command", {"command": "make"})

    async def test() -> None:
        for (name, given), times in ((write, 1), (outside, 2), (command, 2)):
            editor = Editor(allows="allow-always" if times == 1 else "allow")
            calling = model(call(name, given), call(name, given), [TextPart("done")])
            async with connected(calling, editor=editor) as one:
                await one.say(await one.session(str(tmp_path)), "Do it")
                assert len(editor.asked) == times

    run(test())


MODES = {
    "ask": (["read_text_file", "write_text_file", "edit_text_file", "run_command"], ["Write a.txt", "Run make"]),
    "accept-edits": (["read_text_file", "write_text_file", "edit_text_file", "run_command"], ["Run make"]),
    "read-only": (["read_text_file"], []),
}
"""By the mode of a session: the tools that the model gets, and the calls that are asked for."""


@pytest.mark.parametrize("mode", MODES)
def test_the_mode_of_a_session_takes_tools_or_questions_away_and_is_kept_with_it(mode, tmp_path):
    tools, asked = MODES[mode]
    write, command = (
        call("write_text_file", {"path": "a.txt", "content": "x"}),
        call("run_command", {"command": "make"}),
    )

    async def test() -> None:
        calling, files = model(write, command, [TextPart("done")]), SessionFiles(tmp_path / "kept")
        async with connected(calling, files=files) as one:
            opened = await one.agent.new_session(cwd=str(tmp_path))
            assert (opened.modes.current_mode_id, [each.id for each in opened.modes.available_modes]) == (
                "ask",
                [*MODES],
            )
            await one.agent.set_session_mode(session_id=opened.session_id, mode_id=mode)
            await one.say(opened.session_id, "Do it")
            assert calling.offered[0] == tools
            assert [each.title for each in one.editor.asked] == asked
            with pytest.raises(acp.RequestError, match="Invalid params"):
                await one.agent.set_session_mode(session_id=opened.session_id, mode_id="yolo")
        async with connected(calling, files=files) as one:
            again = await one.agent.resume_session(cwd=str(tmp_path), session_id=opened.session_id)
            assert again.modes.current_mode_id == mode

    run(test())


def test_a_link_out_of_the_folder_is_outside(tmp_path):
    (tmp_path / "inside").mkdir()
    (tmp_path / "secret").write_text("x")
    (tmp_path / "inside/link").symlink_to(tmp_path / "secret")

    async def test() -> None:
        editor = Editor({f"{tmp_path}/inside/link": "x"}, allows="reject")
        async with connected(model(call("read_text_file", {"path": "link"}), [TextPart("done")]), editor=editor) as one:
            await one.say(await one.session(f"{tmp_path}/inside"), "Read")
            assert [asked.title for asked in editor.asked] == ["Read link"]

    run(test())


def test_a_terminal_is_killed_and_released_when_the_prompt_is_cancelled(tmp_path):
    async def test() -> None:
        editor = Editor(hangs=True)
        async with connected(model(call("run_command", {"command": "sleep"})), editor=editor) as one:
            session = await one.session(str(tmp_path))
            prompt = asyncio.ensure_future(one.say(session, "Run"))
            while not editor.terminals:
                editor.seen.clear()
                await editor.seen.wait()
            await one.agent.cancel(session_id=session)
            assert (await prompt).stop_reason == "cancelled"
            assert editor.terminals == [f"create sleep in {tmp_path}", "kill", "release"]
            assert editor.calls()[-1][2] == "failed"

    run(test())


def test_an_editor_that_can_do_nothing_offers_no_tools():
    async def test() -> None:
        names: list[str] = []

        @chat_model(name="Own", tool_calling=True)
        async def own(messages, options):
            names.extend(tool.name for tool in options.tools)
            yield "ok"

        async with connected(own, capabilities=NOTHING) as one:
            await one.say(await one.session(), "Hi")
            assert names == []
        async with connected(own, capabilities=EVERYTHING) as one:
            await one.say(await one.session(), "Hi")
            assert names == ["read_text_file", "write_text_file", "edit_text_file", "run_command"]

    run(test())


def test_the_inner_work_of_an_agent_is_shown_as_calls_once_and_its_todos_as_a_plan():
    edit = InnerCall("i1", "Edit", {"file_path": "a.py", "old_string": "x", "new_string": "y"})
    done = InnerResult("i1", "Edit", "changed")
    todo = InnerCall("i2", "write_todos", {"todos": [{"content": "Test it", "status": "in_progress"}]})
    failed = InnerResult("i2", "write_todos", "no", is_error=True)
    said = [
        ThinkingPart(f"{call_line(edit)}\n\n"),
        call_data(edit),
        ThinkingPart(f"{result_line(done)}\n\n"),
        result_data(done),
        ThinkingPart("Called for help, I think."),
        call_data(todo),
        result_data(failed),
        TextPart("done"),
    ]

    async def test() -> None:
        async with connected(model(said)) as one:
            await one.say(await one.session("/repo"), "Go")
            assert one.editor.text(schema.AgentThoughtChunk) == "Called for help, I think."
            assert [status for _, _, status in one.editor.calls()] == [
                "in_progress",
                "completed",
                "in_progress",
                "failed",
            ]
            start = one.editor.of(schema.ToolCallStart)[0]
            assert (start.kind, start.locations[0].path) == ("edit", "/repo/a.py")
            assert (start.content[0].old_text, start.content[0].new_text) == ("x", "y")
            (plan,) = one.editor.of(schema.AgentPlanUpdate)
            assert [(entry.content, entry.status) for entry in plan.entries] == [("Test it", "in_progress")]

    run(test())


@one_test_for(
    ("name", "kind"),
    [
        ("read_file", "read"),
        ("Edit", "edit"),
        ("multi_replace_string", "edit"),
        ("grepSearch", "search"),
        ("bash", "execute"),
        ("WebFetch", "fetch"),
        ("delete_file", "delete"),
        ("rename_symbol", "move"),
        ("weather", "other"),
        ("already", "other"),
    ],
)
def test_what_a_tool_does_is_read_off_the_words_of_its_name(name, kind):
    assert kind_of(name) == kind


def test_a_kept_session_is_listed_loaded_with_its_conversation_and_resumed_without(tmp_path):
    files = SessionFiles(tmp_path / "kept")

    async def test() -> None:
        first = model(call("read_text_file", {"path": "a.txt"}), [ThinkingPart("Hm"), TextPart("It says one.")])
        editor = Editor({f"{tmp_path}/a.txt": "one\n"})
        async with connected(first, files=files, editor=editor) as one:
            session = await one.session(str(tmp_path))
            await one.say(session, "Read it", acp.image_block(b64encode(b"png").decode(), "image/png"))
        async with connected(model([TextPart("more")]), files=files) as one:
            (listed,) = (await one.agent.list_sessions(cwd=str(tmp_path))).sessions
            assert (listed.session_id, listed.title) == (session, "Read it")
            assert (await one.agent.list_sessions(cwd="/elsewhere")).sessions == []
            await one.agent.load_session(cwd=str(tmp_path), session_id=session, mcp_servers=[])
            assert [type(update).__name__ for update in one.editor.updates] == [
                "UserMessageChunk",
                "UserMessageChunk",
                "ToolCallStart",
                "ToolCallProgress",
                "AgentThoughtChunk",
                "AgentMessageChunk",
            ]
            assert one.editor.text() == "It says one."
        resumed = model([TextPart("more")])
        async with connected(resumed, files=files) as one:
            await one.agent.resume_session(cwd=str(tmp_path), session_id=session)
            assert one.editor.updates == []
            await one.say(session, "And then?")
            assert [message.role for message in resumed.asked[0]][1:] == [
                Role.USER, Role.ASSISTANT, Role.USER, Role.ASSISTANT, Role.USER,
            ]  # fmt: skip
            with pytest.raises(acp.RequestError, match="not found"):
                await one.agent.load_session(cwd=str(tmp_path), session_id="0" * 32, mcp_servers=[])
            with pytest.raises(acp.RequestError, match="not found"):
                await one.agent.load_session(cwd=str(tmp_path), session_id="../../etc/passwd", mcp_servers=[])
        kept = list((tmp_path / "kept").iterdir())
        assert [path.stat().st_mode & 0o777 for path in kept] == [0o600]
        assert (tmp_path / "kept").stat().st_mode & 0o777 == 0o700

    run(test())


def test_without_a_store_nothing_can_be_loaded_and_nothing_is_promised():
    async def test() -> None:
        async with connected(model([TextPart("x")])) as one:
            said = await one.agent.initialize(protocol_version=1)
            assert said.agent_capabilities.load_session is False
            assert said.agent_capabilities.session_capabilities.resume is None
            session = await one.session()
            await one.agent.close_session(session_id=session)
            with pytest.raises(acp.RequestError, match="not found"):
                await one.say(session, "Hi")

    run(test())


def test_several_models_are_a_choice_of_the_session(tmp_path):
    from partstream_devtools.testing.scripted_model import ScriptedProvider

    async def test() -> None:
        async with connected(ScriptedProvider(), model="thinking") as one:
            opened = await one.agent.new_session(cwd=str(tmp_path))
            (option,) = opened.config_options
            assert (option.category, option.current_value) == ("model", "thinking")
            changed = await one.agent.set_config_option(config_id="model", session_id=opened.session_id, value="text")
            assert changed.config_options[0].current_value == "text"
            await one.say(opened.session_id, "Hi")
            assert one.editor.text(schema.AgentThoughtChunk) == ""
            with pytest.raises(acp.RequestError, match="Invalid params"):
                await one.agent.set_config_option(config_id="model", session_id=opened.session_id, value="none")

    run(test())


MCP_SERVER = """
from mcp.server import MCPServer

server = MCPServer("numbers")


@server.tool()
def add(one: int, other: int) -> int:
    return one + other


server.run("stdio")
"""


def test_the_tools_of_mcp_servers_are_the_models_and_a_server_that_fails_is_named(tmp_path: Path):
    import sys

    (tmp_path / "server.py").write_text(MCP_SERVER)
    servers = [
        schema.McpServerStdio(name="numbers", command=sys.executable, args=[str(tmp_path / "server.py")], env=[]),
        schema.McpServerStdio(name="absent", command="/nowhere/program", args=[], env=[]),
    ]

    async def test() -> None:
        calling = model(call("numbers_add", {"one": 2, "other": 3}), [TextPart("5")])
        async with connected(calling, capabilities=NOTHING) as one:
            session = await one.session(str(tmp_path), mcp_servers=servers)
            await one.say(session, "Add")
            assert json.loads(results(calling.asked[1])[0]) == 5
            assert [asked.title for asked in one.editor.asked] == ["numbers: add(one=2, other=3)"]
            assert "1 MCP server is left out: absent" in one.editor.text(schema.AgentThoughtChunk)

    run(test())


NOISY = """
import sys
from partstream import chat_model

print("printed while it loads")


@chat_model(name="Noisy")
async def noisy(messages, options):
    print("printed while it answers")
    sys.stdout.write("and written")
    yield "Hello from a file"
"""


def test_the_command_answers_over_pipes_with_nothing_else_on_standard_output_and_ends_with_them(tmp_path: Path):
    import sys

    from acp.stdio import spawn_agent_process

    (tmp_path / "noisy.py").write_text(NOISY)
    place = {"PARTSTREAM_DATA": str(tmp_path / "data"), "PARTSTREAM_CONFIG": str(tmp_path / "none.toml")}
    (tmp_path / "none.toml").write_text("")

    async def test() -> None:
        editor = Editor()
        command = (sys.executable, "-m", "partstream", "acp", str(tmp_path / "noisy.py"))
        async with (
            asyncio.timeout(60),
            spawn_agent_process(editor, *command, env=place, use_unstable_protocol=True) as (agent, process),
        ):
            assert process.stderr is not None
            noise = asyncio.ensure_future(process.stderr.read())
            said = await agent.initialize(protocol_version=1)
            assert said.agent_info is not None
            assert said.agent_info.title == "noisy"
            session = (await agent.new_session(cwd=str(tmp_path))).session_id
            answer = await agent.prompt(session_id=session, prompt=[acp.text_block("Hi")])
            assert (answer.stop_reason, editor.text()) == ("end_turn", "Hello from a file")
            await agent.close()
            assert process.stdin is not None
            process.stdin.close()
            assert await process.wait() == 0
            assert b"printed while it answers" in await noise
        assert [path.suffix for path in (tmp_path / "data/acp-sessions").iterdir()] == [".jsonl"]

    run(test())


def test_without_the_official_package_the_line_that_installs_it_is_said(monkeypatch: pytest.MonkeyPatch):
    from click.testing import CliRunner

    from partstream_agents import acp as ours
    from partstream_agents.acp.command import command

    monkeypatch.setattr(ours, "find_spec", lambda name: None)
    ended = CliRunner().invoke(command, ["my_agent.py"])
    assert ended.exit_code == 2
    assert "pip install 'agent-client-protocol>=0.12'" in ended.output


@one_test_for(
    ("written", "read"),
    [
        (b'{"a": 1}\n', [{"a": 1}]),
        (b'\n \r\n{"a": 1}\r\n', [{"a": 1}]),
        (b'no json\n[1]\n"text"\n{"a": 1}\n', [{"a": 1}]),
        (b'{"a": 1}', [{"a": 1}]),
        (b"[" * 100_000 + b'\n{"a": 1}\n', [{"a": 1}]),
        (b"\xff\xfe\n" + b'{"a": 1}\n', [{"a": 1}]),
        (b"", []),
        (b'{"a": "' + b"x" * 5_000_000 + b'"}\n{"a": 1}\n', []),  # longer than the limit: the connection ends
    ],
)
def test_a_line_that_is_no_message_is_left_out_and_an_endless_one_ends_the_connection(written, read):
    from partstream_agents.acp import Lines

    async def test() -> None:
        reader = asyncio.StreamReader(limit=1_000_000)
        reader.feed_data(written)
        reader.feed_eof()
        lines = Lines(reader, lambda data: asyncio.sleep(0), "a test")
        found = []
        while (message := await lines.receive()) is not None:
            found.append(message)
        assert found == read

    run(test())


def test_sessions_that_are_damaged_or_linked_elsewhere_are_none(tmp_path: Path):
    files = SessionFiles(tmp_path)
    for number, content in enumerate((b"", b"{}\n[]\n", b"[1]\n[]", b'{"id": 1\n', b"\xff\n")):
        (tmp_path / f"{number:032x}.jsonl").write_bytes(content)
        assert files.find(f"{number:032x}") is None
    (tmp_path / f"{'f' * 32}.jsonl").symlink_to(tmp_path / f"{0:032x}.jsonl")
    assert files.find("f" * 32) is None
    assert files.heads(None) == []
