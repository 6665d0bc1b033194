"""A program that is an agent of the Agent Client Protocol, as a model: a scripted one, in a process of its own."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import acp_scripted
import pytest

from partstream import (
    CancellationTokenSource,
    ChatMessage,
    DataPart,
    LanguageModelError,
    RequestOptions,
    TextPart,
    ThinkingPart,
    connect,
)
from partstream.lm.inner_activity import ACTIVITY_MIME_TYPE
from partstream.runtime.tool_loop import assistant_content
from partstream_agents.acp.client import acp_agent

SCRIPT = acp_scripted.__file__


@dataclass
class Talk:
    """A conversation with a model, as a host holds it."""

    model: Any
    log: Path
    keeps_markers: bool = True
    messages: list[ChatMessage] = field(default_factory=list)
    parts: list[Any] = field(default_factory=list)
    usage: Any = None

    async def say(self, *content: Any, token: Any = None) -> str:
        said = [TextPart(one) if isinstance(one, str) else one for one in content]
        self.messages.append(ChatMessage.user(said))
        response = self.model.stream(self.messages, RequestOptions(), token)
        async with response:
            self.parts = [part async for part in response]
        self.usage = response.usage
        kept = assistant_content(self.parts, ())
        if not self.keeps_markers:
            kept = tuple(part for part in kept if not isinstance(part, DataPart))
        self.messages.append(ChatMessage.assistant(kept))
        return self.text

    @property
    def text(self) -> str:
        return "".join(part.value for part in self.parts if isinstance(part, TextPart))

    @property
    def thinking(self) -> str:
        return "".join(part.value for part in self.parts if isinstance(part, ThinkingPart))

    @property
    def noted(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []


@asynccontextmanager
async def talking(folder: Path, *arguments: str, keeps_markers: bool = True, **options: Any) -> AsyncIterator[Talk]:
    """A conversation with the scripted program, which works in the folder."""
    log = folder.parent / f"{folder.name}.log"
    command = [sys.executable, SCRIPT, str(log), *arguments]
    provider = acp_agent(command, name="Scripted", folder=folder, **options)
    async with asyncio.timeout(60), connect(provider) as model:
        try:
            yield Talk(model, log, keeps_markers)
        finally:
            await provider.aclose()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PARTSTREAM_DATA", str(tmp_path / "data"))
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


def run(test: Any) -> None:
    asyncio.run(test)


def test_what_the_program_says_and_does_is_shown_and_its_session_goes_on(folder: Path):
    async def test() -> None:
        async with talking(folder, options={"model": "small"}) as talk:
            assert await talk.say("hello", DataPart(b"png", "image/png")) == "you said: hello|image"
            assert "thinking" in talk.thinking
            assert "- [x] Look\n- [ ] Do" in talk.thinking
            assert 'Called search(query="x")\n\n-> 7 bytes' in talk.thinking
            assert [one.mime_type for one in talk.parts if isinstance(one, DataPart)][:2] == [ACTIVITY_MIME_TYPE] * 2
            assert (talk.usage.input_tokens, talk.usage.output_tokens, talk.usage.context_tokens) == (60, 5, 70)
            assert await talk.say("and on") == "you said: and on"
            assert [line.partition(" ")[0] for line in talk.noted] == [
                "start", "new", "model=small", "prompt", "prompt",
            ]  # fmt: skip
            assert talk.noted[0] == f"start in {folder.resolve()}"

    run(test())


@pytest.mark.parametrize("keeps_markers", [True, False], ids=["in VS Code", "behind serve"])
@pytest.mark.parametrize(
    ("reply", "permission", "then"),
    [("yes", "yes", ""), ("no", "no", ""), ("No, look first", "no", "you said: No, look first")],
    ids=["yes", "no", "other words"],
)
def test_a_question_for_permission_is_asked_in_the_chat_and_the_turn_goes_on_with_the_reply(
    folder: Path, keeps_markers, reply, permission, then
):
    async def test() -> None:
        async with talking(folder, keeps_markers=keeps_markers) as talk:
            asked = await talk.say("write it")
            assert "The agent wants to run `edit(path=" in asked
            assert "Reply *yes*" in asked
            assert not (folder / "made.txt").exists()
            answer = await talk.say(reply)
            assert answer.replace("\n", "") == f"permission: {permission}{then}"
            assert (folder / "made.txt").exists() is (permission == "yes")
            assert [line for line in talk.noted if line.startswith(("new", "permission"))][1:] == [
                f"permission {permission}"
            ]
            if permission == "yes":
                assert f"Edited {folder.resolve() / 'made.txt'} (+1 -0)" in talk.thinking

    run(test())


def test_a_question_shows_the_change_where_the_program_tells_no_arguments(folder: Path):
    async def test() -> None:
        async with talking(folder) as talk:
            path = folder.resolve() / "made.txt"
            asked = await talk.say("write by patch")
            assert f'`edit(title="Make made.txt", files=["{path}"])`' in asked
            assert f"```diff\n--- {path}\n+++ {path}\n@@ -0,0 +1 @@\n+one\n```" in asked
            assert await talk.say("yes") == "permission: yes"

    run(test())


@pytest.mark.parametrize(
    ("permissions", "words", "permission"),
    [
        ("allow", "write it", "yes"),
        ("refuse", "write it", "no"),
        ("allow-reads", "read it", "yes"),
        ("allow-reads", "write it", None),
    ],
)
def test_a_rule_answers_questions_without_the_person(folder: Path, permissions, words, permission):
    async def test() -> None:
        async with talking(folder, permissions=permissions) as talk:
            said = await talk.say(words)
            assert said.startswith(f"permission: {permission}" if permission else "The agent wants to run")

    run(test())


def test_a_cancelled_answer_cancels_the_turn_and_the_session_goes_on(folder: Path):
    async def test() -> None:
        async with talking(folder) as talk:
            source = CancellationTokenSource()
            response = talk.model.stream("hang", RequestOptions(), source.token)
            async with response:
                async for part in response:
                    if isinstance(part, TextPart):
                        source.cancel()
            async with asyncio.timeout(20):
                while "cancel" not in talk.noted:
                    await asyncio.sleep(0.01)
            assert await talk.say("hello") == "you said: hello"
            assert sum(line.startswith("start") for line in talk.noted) == 1

    run(test())


def test_an_unanswered_question_ends_with_the_program_and_leaves_no_process(folder: Path):
    async def test() -> None:
        async with talking(folder) as talk:
            await talk.say("write it")
            (pid,) = {line.split()[1].partition("-")[0] for line in talk.noted if line.startswith("new")}
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid), 0)
        assert not (folder / "made.txt").exists()

    run(test())


@pytest.mark.parametrize(
    ("arguments", "second"),
    [(("resumes",), "resume"), ((), "new")],
    ids=["one that resumes", "one that cannot"],
)
def test_after_an_end_of_the_program_the_conversation_goes_on(folder: Path, arguments, second):
    async def test() -> None:
        async with talking(folder, *arguments) as talk:
            await talk.say("hello")
            said = talk.messages
        async with talking(folder, *arguments) as talk:
            talk.messages = said
            answer = await talk.say("again")
            opened = [line.split()[0] for line in talk.noted if line.startswith(("new", "resume"))]
            assert opened == ["new", second]
            if second == "new":
                assert "The conversation so far:\n\nUser: hello\n\nAssistant: you said: hello|again" in answer
            else:
                assert answer == "you said: again"

    run(test())


@pytest.mark.parametrize(
    ("words", "says"),
    [("die", "out of memory"), ("log in", "wants you to log in")],
)
def test_a_program_that_fails_is_an_error_that_says_why_and_the_next_request_starts_it_again(folder: Path, words, says):
    async def test() -> None:
        async with talking(folder) as talk:
            with pytest.raises(LanguageModelError, match=says):
                await talk.say(words)
            talk.messages.clear()
            assert await talk.say("hello") == "you said: hello"

    run(test())


def test_a_turn_without_a_word_says_so(folder: Path):
    async def test() -> None:
        async with talking(folder) as talk:
            assert await talk.say("silence") == "The agent ended its turn without an answer."

    run(test())


def test_nothing_is_started_without_a_folder_that_a_person_has_chosen(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.chdir(folder)  # as the sidecar is in a window whose folder is not trusted
    log = folder / "log"

    async def test() -> None:
        for options, says in (
            ({}, "open a folder that you trust"),
            ({"folder": folder / "absent"}, "is no folder"),
        ):
            async with connect(acp_agent([sys.executable, SCRIPT, str(log)], **options)) as model:
                with pytest.raises(LanguageModelError, match=says):
                    await model.ask("hello")
        async with connect(acp_agent(["no-such-program"], folder=folder)) as model:
            with pytest.raises(LanguageModelError, match="no program no-such-program"):
                await model.ask("hello")
        assert not log.exists()

    run(test())


@pytest.mark.parametrize("given", [{"command": "a shell line"}, {"command": []}, {"permissions": "all"}])
def test_a_wrong_argument_is_refused_at_once(given):
    with pytest.raises(ValueError, match=r"got|not a valid"):
        acp_agent(**{"command": ["program"], **given})


def test_a_profile_names_a_program_for_every_host(folder: Path, monkeypatch: pytest.MonkeyPatch):
    from partstream.cli.serve_plan import ServedProviders
    from partstream.errors import CallerError
    from partstream.runtime.provider_files import SourceLoader, default_name

    log, file = folder.parent / "log", folder.parent / "partstream.toml"
    command = [sys.executable, SCRIPT, str(log)]
    server = '[profiles.server]\nbaseUrl = "http://127.0.0.1:9/v1"\n'
    file.write_text(
        f'[profiles.claude-code]\ncommand = {command}\nfolder = "{folder}"\npermissions = "refuse"\n{server}'
    )
    monkeypatch.setenv("PARTSTREAM_CONFIG", str(file))
    assert default_name("profile:claude-code") == "claude-code"
    served = ServedProviders()
    served.add_upstreams(["claude-code"])

    async def test() -> None:
        provider = SourceLoader("profile:claude-code").load()
        for one in (provider, served.by_name["claude-code"]):
            async with asyncio.timeout(60), connect(one) as model:
                assert model.name == "claude-code"
                assert await model.ask("write it") == "permission: no"
            await one.aclose()
        await served.aclose()

    run(test())
    with pytest.raises(CallerError, match="names no `command`"):
        SourceLoader("profile:server").load()


@pytest.mark.parametrize("keeps_markers", [True, False], ids=["in VS Code", "behind serve"])
def test_conversations_of_the_same_words_never_share_a_session(folder: Path, keeps_markers):
    async def test() -> None:
        async with talking(folder, keeps_markers=keeps_markers) as one:
            other = Talk(one.model, one.log, keeps_markers)
            await one.say("hello")
            await one.say("a secret of one")
            await other.say("hello")
            again = Talk(one.model, one.log, keeps_markers)
            await again.say("hello")
            assert "The conversation so far" in await other.say("what do you know?")
            assert "The conversation so far" in await again.say("what do you know?")
            assert await one.say("and on") == "you said: and on"
            opened = [line for line in one.noted if line.startswith("new")]
            assert len(opened) == 5

    run(test())


def test_an_edited_message_begins_a_new_session(folder: Path):
    async def test() -> None:
        async with talking(folder) as talk:
            await talk.say("hello")
            before = [*talk.messages]
            await talk.say("the first way")
            talk.messages = before
            assert "The conversation so far" in await talk.say("another way")

    run(test())
