"""`partstream chat --provider`: a person's own file answers, as it is at each message; a bug has its file and line."""

import importlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from commands import call, run, terminal
from partstream.plugins import _installed, added

PARROT = """
from partstream import DataPart, TextPart, ThinkingPart, ToolCallPart, chat_model, user_request

@chat_model(name="Parrot")
async def provider(messages, options):
    said = user_request(messages)
    yield ThinkingPart("hm ")
    yield f"GREETING {said} ({len(messages)})"
    if said == "bug":
        {}["seed"]
    if said == "rule":
        yield ToolCallPart("a", "call", {})
        yield ToolCallPart("a", "call", {})
"""


def _file(folder: Path, greeting: str = "You said:", name: str = "parrot.py") -> Path:
    file = folder / name
    file.write_text(PARROT.replace("GREETING", greeting))
    return file


def test_a_prompt_gets_the_answer_of_the_file_and_a_pipe_gets_no_thinking(tmp_path: Path):
    async def test() -> None:
        chat = await call("chat", "--provider", str(_file(tmp_path)), "--system", "Be brief.", "Hi")
        assert (chat.code, chat.output, chat.errors) == (0, "You said: Hi (2)\n", "")

    run(test())


def test_a_conversation_in_a_pipe_remembers_and_starts_over(tmp_path: Path):
    async def test() -> None:
        chat = await call("chat", "--provider", str(_file(tmp_path)), typed="a\nb\n/clear\n//c\n/what\n")
        assert chat.output.splitlines() == ["You said: a (1)", "You said: b (3)", "You said: /c (1)"]
        assert chat.code == 2
        assert "There is no command /what" in chat.errors

    run(test())


def test_an_attribute_and_a_model_can_be_named(tmp_path: Path):
    file = tmp_path / "two.py"
    file.write_text(
        PARROT.replace("GREETING", "One:") + PARROT.replace("provider(", "other(").replace("GREETING", "Two:")
    )

    async def test() -> None:
        chat = await call("chat", "--provider", f"{file}:other", "--model", "other", "Hi")
        assert (chat.code, chat.output) == (0, "Two: Hi (1)\n")
        unknown = await call("chat", "--provider", f"{file}:other", "--model", "third", "Hi")
        assert (unknown.code, unknown.errors) == (3, "unknown model 'third'; known models: other\n")

    run(test())


def test_a_bug_is_named_with_its_file_and_line_and_what_came_before_stays(tmp_path: Path):
    file = _file(tmp_path)

    async def test() -> None:
        chat = await call("chat", "--provider", str(file), "bug")
        assert (chat.code, chat.output) == (3, "You said: bug (1)\n")
        assert chat.errors == f"the provider of parrot failed with KeyError: 'seed' ({file}:10)\n"

    run(test())


def test_a_broken_rule_is_named_with_the_line_that_broke_it(tmp_path: Path):
    file = _file(tmp_path)

    async def test() -> None:
        chat = await call("chat", "--provider", str(file), "rule")
        assert chat.code == 0
        assert f"The answer broke the rule tool-call.unique-call-id at {file}:13." in chat.errors

    run(test())


UNUSABLE = {
    "a syntax error": ("x = = 1", "{file}, line 1: SyntaxError: invalid syntax"),
    "an error while it runs": ("\nimport nothing_of_that_name", "{file}, line 2: ModuleNotFoundError: No module"),
    "no provider": ("x = 1", "{file}: got no provider"),
    "a plain function": (
        "def answer(messages):\n    return 'hello'",
        "{file}: got no provider, only the function `answer`, expected one",
    ),
    "a wrong keyword": (
        PARROT.replace("name=", "nmae="),
        "{file}, line 4: chat_model: unknown keyword 'nmae'; did",
    ),
    "a wrong value": (PARROT.replace('"Parrot"', "7"), "{file}, line 4: chat_model.name: got 7"),
    "a wrong function": (
        PARROT.replace("messages, options)", "messages)"),
        "{file}, line 4: chat_model: got provider (",
    ),
    "an end of the process": ("\n\nraise SystemExit(0)", "{file}, line 3: the file ends the process"),
}


@pytest.mark.parametrize(("source", "says"), UNUSABLE.values(), ids=UNUSABLE)
@pytest.mark.parametrize("command", ["chat", "serve"])
def test_a_file_that_cannot_be_loaded_is_named_with_the_line(command: str, source: str, says: str, tmp_path: Path):
    file = tmp_path / "broken.py"
    file.write_text(source)

    async def test() -> None:
        named = {"chat": ("--provider", str(file), "Hi"), "serve": (str(file), "--port", "0")}[command]
        ended = await call(command, *named)
        assert (ended.code, ended.output) == (2, "")
        assert ended.errors.startswith(f"Error: {says.format(file=file)}")

    run(test())


@pytest.fixture
def looks_anew() -> Iterator[None]:
    """What installed packages add is kept for the whole process, also that they add nothing while they are hidden."""
    yield
    added.cache_clear()
    _installed.cache_clear()


@pytest.mark.usefixtures("looks_anew")
@pytest.mark.parametrize(
    ("module", "installs"),
    [
        ("langchain_core.messages", "; install it: python -m pip install 'langgraph>=1.2'"),
        ("pydantic_ai", "; install it: python -m pip install 'pydantic-ai-slim>=2.60'"),
        ("partstream_agents", "; partstream_agents needs the package partstream-agents, which is not installed: "),
        ("nothing_of_that_name", ""),
    ],
)
def test_a_framework_that_is_missing_is_named_with_what_installs_it(
    module: str, installs: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    top = module.partition(".")[0]
    for name in [one for one in sys.modules if one.partition(".")[0] == top]:
        monkeypatch.delitem(sys.modules, name)
    importlib.import_module("partstream.cli.chat")  # with what it needs from the folders that are hidden now
    # The folders of tests hold packages that are called like the frameworks.
    hidden = {"site-packages", "src", "tests"}
    monkeypatch.setattr("sys.path", [one for one in sys.path if not hidden & set(Path(one).parts)])
    file = tmp_path / "graph.py"
    file.write_text(f"import {module}\n")

    async def test() -> None:
        ended = await call("chat", "--provider", str(file), "Hi")
        assert ended.code == 2
        assert f"No module named {top!r}{installs or chr(10)}" in ended.errors

    run(test())


def test_options_of_a_server_are_refused_beside_a_provider(tmp_path: Path):
    async def test() -> None:
        options = ("--base-url", "http://localhost:1/v1", "--timeout-first-event", "3")
        chat = await call("chat", "--provider", str(_file(tmp_path)), *options, "Hi")
        assert chat.code == 2
        assert "--provider: got --base-url, --timeout-first-event beside it" in chat.errors

    run(test())


def test_each_message_is_answered_by_the_file_as_it_is_then(tmp_path: Path):
    file = _file(tmp_path)
    os.utime(file, (1, 1))

    async def test() -> None:
        async with terminal("chat", "--provider", str(file)) as shown:
            await shown.asks()
            assert f"provider from {file}".replace("\n", "") in shown.plain.replace("\n", "")
            shown.type("Hi\n")
            await shown.until("hm You said: Hi (1)")  # a terminal shows thinking
            await shown.asks()
            _file(tmp_path, "Now:")
            shown.type("again\n")
            await shown.until("was loaded again.")
            await shown.until("Now: again (3)")
            await shown.asks()
            file.write_text("x = = 1\n")
            shown.type("broken\n")
            await shown.until("line 1: SyntaxError: invalid syntax")
            await shown.until("Now: broken (5)")
            await shown.asks()
            shown.type("/exit\n")
            assert await shown.ended() == 0

    run(test())


def test_the_state_that_a_provider_gives_comes_back_with_the_next_message(tmp_path: Path):
    file = tmp_path / "keeper.py"
    file.write_text(
        "from partstream import DataPart, chat_model\n"
        "@chat_model\n"
        "async def keeper(messages, options):\n"
        "    kept = [p.data.decode() for m in messages for p in m.content if isinstance(p, DataPart)]\n"
        "    yield f'{kept}'\n"
        "    yield DataPart(b'state', 'stateful_marker')\n"
    )

    async def test() -> None:
        chat = await call("chat", "--provider", str(file), typed="a\nb\n")
        assert chat.output.splitlines() == ["[]", "['state']"]

    run(test())


def test_a_pipe_gets_the_answer_of_an_agent_without_its_activity(tmp_path: Path):
    file = tmp_path / "agent.py"
    file.write_text(
        "from partstream import DataPart, TextPart, chat_model\n"
        "@chat_model\n"
        "async def agent(messages, options):\n"
        "    yield DataPart.json({}, 'application/vnd.partstream.activity+json')\n"
        "    yield 'done'\n"
    )

    async def test() -> None:
        chat = await call("chat", "--provider", str(file), "Hi")
        assert (chat.code, chat.output, chat.errors) == (0, "done\n", "")

    run(test())
