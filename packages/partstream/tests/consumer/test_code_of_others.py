"""Tools, providers and files of other people: what they raise is said, and hangs nothing; names can be looked at."""

import asyncio
import enum
import importlib
import inspect
import typing
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path, PurePosixPath
from typing import Any
from uuid import UUID

import pytest

from partstream import (
    LanguageModelError,
    Tool,
    ToolCallPart,
    ToolFunction,
    ToolResultPart,
    ToolRoundLimitError,
    chat_model,
    connect,
    run_tool_loop,
)
from partstream.config.examination import examine_provider
from partstream.errors import UpstreamHTTPError
from partstream.lm.inner_activity import plain_value
from partstream.runtime.progress import cause_of, fault_of, told
from partstream.runtime.provider_files import ReloadedProvider, SourceLoader

WAIT_SECONDS = 10


def refused() -> None:
    raise ConnectionError("refused")


async def in_a_group(*failing: Any) -> None:
    async def fail(error: BaseException) -> None:
        raise error

    async with asyncio.TaskGroup() as tasks:
        for error in failing:
            tasks.create_task(fail(error))


def stopping(_given: Any = None) -> str:
    return next(iter(()))


def exiting(_given: Any) -> None:
    raise SystemExit(2)


TOOLS: dict[str, tuple[Any, str]] = {
    "a group of errors": (
        lambda _: in_a_group(ConnectionError("refused")),
        "The tool 'find' failed with ConnectionError: refused",
    ),
    "a group of several errors": (
        lambda _: in_a_group(ConnectionError("refused"), ValueError("b"), ValueError("c")),
        "The tool 'find' failed with ConnectionError: refused (and 2 more errors)",
    ),
    "a group in a group": (
        lambda _: in_a_group(ExceptionGroup("inner", [KeyError("x")])),
        "The tool 'find' failed with KeyError: 'x'",
    ),
    "StopIteration in a thread": (stopping, "The tool 'find' failed with StopIteration"),
    "the end of the program": (exiting, "The tool 'find' failed with SystemExit: 2"),
}


@chat_model(name="Caller")
async def caller(messages: Any, options: Any):
    results = [part for part in messages[-1].content if isinstance(part, ToolResultPart)]
    yield results[0].content[0] if results else ToolCallPart("1", "find", {})


@pytest.mark.parametrize(("call", "told_to_the_model"), TOOLS.values(), ids=TOOLS)
def test_a_model_reads_why_a_tool_failed(call: Any, told_to_the_model: str):
    async def run() -> str:
        async with connect(caller) as model, asyncio.timeout(WAIT_SECONDS):
            return (await run_tool_loop(model, "q", [ToolFunction(Tool("find", "Finds."), call)])).text

    assert asyncio.run(run()) == told_to_the_model


PROVIDERS: dict[str, tuple[Any, str]] = {
    "a group of errors": (lambda: in_a_group(ConnectionError("refused")), "ConnectionError: refused"),
    "StopIteration": (stopping, "StopIteration"),
}


@pytest.mark.parametrize(("fail", "reason"), PROVIDERS.values(), ids=PROVIDERS)
def test_a_person_reads_why_a_provider_failed_and_in_which_line(fail: Any, reason: str):
    @chat_model(name="Failing")
    async def failing(messages: Any, options: Any):
        yield "half"
        await fail()

    async def run() -> None:
        async with connect(failing) as model:
            await model.ask("q")

    with pytest.raises(LanguageModelError) as raised:
        asyncio.run(run())
    assert f"failed with {reason} (" in str(raised.value)
    assert "test_code_of_others.py:" in str(raised.value)


def test_an_error_of_ours_in_a_group_keeps_its_facts():
    @chat_model(name="Failing")
    async def failing(messages: Any, options: Any):
        yield "half"
        await in_a_group(UpstreamHTTPError(429, provider_message="slow down"))

    async def run() -> None:
        async with connect(failing) as model:
            await model.ask("q")

    with pytest.raises(UpstreamHTTPError) as raised:
        asyncio.run(run())
    assert raised.value.http_status == 429


def test_the_cause_of_an_error_that_is_no_group_is_itself():
    error = RuntimeError("x")
    assert cause_of(error) is error
    assert told(error) == "RuntimeError: x"
    assert str(fault_of(error)) == "RuntimeError: x"


FILE = (
    "from partstream import chat_model\n{}\n@chat_model(name='A')\nasync def provider(messages, options): yield 'x'\n"
)


def test_a_file_that_raises_stopiteration_is_a_finding_with_its_line(tmp_path: Path):
    file = tmp_path / "provider.py"
    file.write_text(FILE.format("first = next(iter(()))"), encoding="utf-8")

    async def examine() -> Any:
        async with asyncio.timeout(WAIT_SECONDS):
            return await examine_provider(str(file))

    [finding] = asyncio.run(examine())
    assert "line 2: StopIteration" in finding.says


def test_a_file_that_raised_stopiteration_is_loaded_again_once_it_is_mended(tmp_path: Path):
    file = tmp_path / "provider.py"
    file.write_text(FILE.format(""), encoding="utf-8")

    async def edit() -> list[Any]:
        seen: list[Any] = []
        provider = ReloadedProvider(SourceLoader(str(file)), seen.append)
        for line in ("first = next(iter(()))", "# mended, and longer"):
            file.write_text(FILE.format(line), encoding="utf-8")
            async with asyncio.timeout(WAIT_SECONDS):
                await provider.look()
        await provider.aclose()
        return seen

    failed, loaded = asyncio.run(edit())
    assert isinstance(cause_of(failed), StopIteration)
    assert loaded is None


def test_a_connection_at_the_top_of_a_module_serves_any_number_of_requests():
    @chat_model(name="Echo")
    async def echo(messages: Any, options: Any):
        yield "hi"

    opened = connect(echo)

    async def ask() -> str:
        async with opened as model:
            await asyncio.sleep(0)
            return await model.ask("q")

    async def run() -> list[str]:
        return [await ask(), await ask(), *await asyncio.gather(ask(), ask())]

    assert asyncio.run(run()) == ["hi"] * 4


def test_the_limit_of_rounds_keeps_what_was_said_and_returned():
    @chat_model(name="Caller")
    async def always_calling(messages: Any, options: Any):
        yield "I look. "
        yield ToolCallPart(str(len(messages)), "find", {})

    async def run() -> None:
        async with connect(always_calling) as model:
            await run_tool_loop(model, "q", [ToolFunction(Tool("find", "Finds."), lambda _: "found")], max_rounds=2)

    with pytest.raises(ToolRoundLimitError) as raised:
        asyncio.run(run())
    assert [message.role.name for message in raised.value.messages] == ["USER", "ASSISTANT", "USER", "ASSISTANT"]


def test_a_provider_that_yields_in_a_task_group_leaves_nothing_in_the_log():
    @chat_model(name="Grouped")
    async def grouped(messages: Any, options: Any):
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(asyncio.Event().wait())
            while True:
                yield "x "
                await asyncio.sleep(0)

    problems: list[Any] = []

    async def run() -> None:
        from partstream import CancellationTokenSource

        asyncio.get_running_loop().set_exception_handler(lambda _loop, context: problems.append(context))
        async with connect(grouped) as model:
            source = CancellationTokenSource()
            async for _ in model.stream("q", token=source.token).text:
                source.cancel()

    asyncio.run(run())
    assert not problems


class Colour(enum.Enum):
    RED = "red"


VALUES: dict[str, tuple[Any, Any]] = {
    "a member of an enumeration": (Colour.RED, "red"),
    "a date": (date(2026, 1, 2), "2026-01-02"),
    "a moment": (datetime(2026, 1, 2, 3, 4, tzinfo=UTC), "2026-01-02T03:04:00+00:00"),
    "a time": (time(3, 4), "03:04:00"),
    "a span": (timedelta(minutes=1), "PT60S"),
    "bytes of a text": (b"YQ==", "YQ=="),
    "other bytes": (b"\xff", "/w=="),
    "a number that is none": (float("nan"), None),
    "names that are no texts": ({Colour.RED: 1, 2: [b"a"], (1, 2): {3}}, {"red": 1, "2": ["a"], "[1, 2]": [3]}),
    "others": ([UUID(int=1), PurePosixPath("a/b")], ["00000000-0000-0000-0000-000000000001", "a/b"]),
}


@pytest.mark.parametrize(("value", "shown"), VALUES.values(), ids=VALUES)
def test_a_value_of_an_agent_is_shown_in_the_types_of_json(value: Any, shown: Any):
    assert plain_value({"in": [value]}) == {"in": [shown]}


PUBLIC = ["partstream", "partstream_agents", "partstream_devtools.conformance", "partstream_devtools.testing"]


@pytest.mark.parametrize("package", PUBLIC)
def test_the_types_of_all_public_names_can_be_looked_up(package: str):
    module = importlib.import_module(package)
    found = [getattr(module, name) for name in module.__all__]
    ours = [one for one in found if inspect.isclass(one) or inspect.isfunction(one)]
    methods = [method for one in ours if inspect.isclass(one) for name, method in vars(one).items() if name[0] != "_"]
    unknown: list[str] = []
    for one in [*ours, *filter(inspect.isfunction, methods)]:
        try:
            typing.get_type_hints(one)
        except Exception as error:
            unknown.append(f"{one.__qualname__}: {error}")
    assert not unknown
