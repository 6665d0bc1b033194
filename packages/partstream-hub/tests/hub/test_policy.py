"""A policy of the owner's own: what it may do, and that nothing it gives back does more."""

from __future__ import annotations
import asyncio
import gc
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from partstream import ChatMessage, LanguageModelChatInformation
from partstream.errors import UnexpectedValueError, UnknownModelError
from partstream.lm.messages import RequestOptions, Role
from partstream.lm.outputs import InboundRequest
from partstream.lm.parts import DataPart, TextPart, ToolCallPart, ToolResultPart
from partstream.server.clients import Caller, RequestClient
from partstream.server.models import CataloguedModel
from partstream.server.requests import RequestFailedError
from partstream.server.settings import AnswerRequest
from partstream_hub.directory import Directory, Key, Person
from partstream_hub.hub import DirectoryCaller
from partstream_hub.policy import (
    Changed,
    HubPolicy,
    PolicyBusyError,
    PolicyFunctions,
    PolicyThreads,
    PolicyUnusableError,
    Refusal,
    checked_result,
    loaded_policy,
)
from partstream_hub.store.values import LedgerRow
from serving.asgi import WAIT

if TYPE_CHECKING:
    from pathlib import Path

ASKING = DirectoryCaller(Directory(), Key("k", bytes(32), "ana"), Person("ana", "red"))
HEADERS = {"authorization": "Bearer psk_x", "x-api-key": "psk_x", "cookie": "a=b", "x-team": "red"}


def model(name: str) -> CataloguedModel:
    return CataloguedModel(name, "p", None, LanguageModelChatInformation(name, name, "f", "1", 1000, 100))  # type: ignore[arg-type]


async def find_model(name: str, caller: Caller) -> CataloguedModel:
    if name != "small":
        raise UnknownModelError(name, ("small",))
    return model(name)


def request(*, limit: int | None = 500) -> AnswerRequest:
    call = ToolCallPart("c", "t", {"deep": {"list": [1]}})
    messages = (ChatMessage.user("Hello"), ChatMessage.assistant([call]))
    options = RequestOptions(model_options={} if limit is None else {"max_tokens": limit})
    return AnswerRequest(
        Caller("ana"),
        model("large"),
        InboundRequest("large", messages, options),
        "w",
        RequestClient("codex"),
        "req_1",
        HEADERS,
    )


def decided(function, *, seconds: float = WAIT, asked: AnswerRequest | None = None) -> AnswerRequest:
    async def run() -> AnswerRequest:
        policy = HubPolicy(PolicyFunctions(function, None), seconds, 10_000, ["x-api-key"], find_model)
        try:
            async with asyncio.timeout(WAIT):
                return await policy.before_request(ASKING, asked or request())
        finally:
            await policy.stop()

    return asyncio.run(run())


def refused(function, **more) -> RequestFailedError:
    with pytest.raises(RequestFailedError) as caught:
        decided(function, **more)
    return caught.value


def test_a_policy_sees_who_asks_for_what_and_no_key():
    seen = []
    asked = request()
    assert decided(seen.append, asked=asked) is asked
    (one,) = seen
    assert (one.person, one.team, one.key_id, one.model, one.client) == ("ana", "red", "k", "large", "codex")
    assert (one.max_output_tokens, one.messages, one.is_count) == (500, asked.asked.messages, False)
    assert dict(one.headers) == {"x-team": "red"}
    assert "psk_x" not in repr(one)


def test_a_policy_may_refuse():
    error = refused(lambda _: Refusal("Not on Sundays."))
    assert (error.failure.kind, error.failure.message) == ("forbidden", "Not on Sundays.")


@pytest.mark.parametrize("is_async", [False, True])
def test_a_policy_may_change_the_conversation_the_model_and_the_longest_answer(is_async: bool):
    def change(one):
        hidden = [ChatMessage(message.role, [TextPart("***")]) for message in one.messages]
        return Changed(hidden, "small", 100)

    async def change_later(one):
        await asyncio.sleep(0)
        return change(one)

    changed = decided(change_later if is_async else change)
    assert [part.value for message in changed.asked.messages for part in message.content] == ["***", "***"]
    assert (changed.model.id, changed.asked.options.model_options) == ("small", {"max_output_tokens": 100})


@pytest.mark.parametrize(("limit", "sent"), [(None, 100), (50, 50), (500, 100)])
def test_a_policy_never_makes_an_answer_longer(limit: int | None, sent: int):
    changed = decided(lambda _: Changed(max_output_tokens=100), asked=request(limit=limit))
    assert list(changed.asked.options.model_options.values()) == [sent]


def test_a_policy_cannot_give_a_model_that_the_person_may_not_use():
    assert refused(lambda _: Changed(model="secret")).failure.code == "policy_failed"


def test_what_a_policy_does_to_its_copy_changes_nothing():
    def meddle(one):
        object.__setattr__(one, "model", "secret")
        call = one.messages[1].content[0]
        call.input["deep"]["list"].append("more")
        object.__setattr__(one.messages[0].content[0], "value", "changed")
        with pytest.raises(TypeError):
            one.headers["authorization"] = "Bearer psk_other"

    asked = request()
    found = decided(meddle, asked=asked)
    assert found.model.id == "large"
    assert found.asked.messages[1].content[0].input == {"deep": {"list": [1]}}
    assert found.asked.messages[0].content[0].value == "Hello"


class Liar(str):
    """A text that says something else each time that it is looked at."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = str.__hash__


class Endless(list):
    def __iter__(self):
        while True:
            yield ChatMessage.user("more")


class Wider(Changed):
    pass


class BrokenError(Exception):
    def __str__(self) -> str:
        raise SystemExit


def _raises(error: BaseException):
    def function(_):
        raise error

    return function


async def _exits(_):
    raise SystemExit(1)


async def _ends_its_loop(_):
    asyncio.get_running_loop().stop()
    await asyncio.sleep(0)


GIVEN = [
    True,
    "pass",
    {"message": "no"},
    Refusal,
    Changed,
    Refusal(""),
    Refusal("a" * 1001),
    Refusal("two\nlines"),
    Refusal("\x1b[2J"),
    Refusal(None),  # type: ignore[arg-type]
    Refusal(Liar("no")),
    Wider(),
    Changed(model=""),
    Changed(model=Liar("small")),
    Changed(model=3),  # type: ignore[arg-type]
    Changed(max_output_tokens=0),
    Changed(max_output_tokens=-1),
    Changed(max_output_tokens=True),
    Changed(max_output_tokens=1.5),  # type: ignore[arg-type]
    Changed(max_output_tokens=10**12),
    Changed(messages=[]),
    Changed(messages="text"),  # type: ignore[arg-type]
    Changed(messages=Endless([ChatMessage.user("Hi")])),
    Changed(messages=(one for one in ())),  # type: ignore[arg-type]
    Changed(messages=[ChatMessage.user("Hi"), "Hi"]),  # type: ignore[list-item]
    Changed(messages=[ChatMessage.user("long" * 10_000)]),
    Changed(messages=[ChatMessage.user([DataPart(b"a" * 10_000, "image/png")])]),
    Changed(messages=[ChatMessage.assistant([ToolCallPart("c", "t", {"a": object()})])]),
    Changed(messages=[ChatMessage.assistant([ToolCallPart("c", "t", {"a": float("nan")})])]),
]


@pytest.mark.parametrize("given", GIVEN, ids=[f"{place}" for place in range(len(GIVEN))])
def test_a_result_that_is_none_refuses_the_request_and_its_content_is_not_said(given, caplog):
    with pytest.raises(UnexpectedValueError) as caught:
        checked_result(given, 10_000)
    assert "long" not in str(caught.value)
    error = refused(lambda _: given)
    assert (error.failure.kind, error.failure.code) == ("forbidden", "policy_failed")
    assert "the policy of the hub failed" in caplog.text


def test_messages_are_made_anew_of_plain_values():
    class Name(str):
        pass

    kept = ChatMessage(Role.ASSISTANT, [TextPart("a"), ToolCallPart("c", "t", {"x": [1]})], "bob")
    result = ChatMessage.user([ToolResultPart("c", (TextPart("r"),), True)])
    found = checked_result(Changed([kept, result]), 10_000).messages
    assert found == (kept, result)
    assert found is not None
    assert found[0] is not kept
    odd = ChatMessage.user("Hi")
    object.__setattr__(odd, "name", Name("bob"))
    with pytest.raises(UnexpectedValueError):
        checked_result(Changed([odd]), 10_000)


@pytest.mark.parametrize(
    "function",
    [
        _raises(ValueError("a prompt")),
        _raises(SystemExit(3)),
        _raises(KeyboardInterrupt()),
        _raises(StopIteration()),
        _raises(asyncio.CancelledError()),
        _raises(GeneratorExit()),
        _raises(TimeoutError()),
        _raises(BrokenError()),
        _exits,
        lambda: None,
    ],
    ids=[
        "error",
        "exit",
        "interrupt",
        "stop",
        "cancelled",
        "generator",
        "timeout",
        "broken",
        "async exit",
        "arguments",
    ],
)
def test_whatever_a_policy_raises_refuses_the_request(function, caplog):
    assert refused(function).failure.code == "policy_failed"
    assert "a prompt" not in caplog.text


def test_a_policy_that_hangs_refuses_the_request_and_holds_up_nothing():
    release = threading.Event()

    def hang(_):
        release.wait(WAIT)

    async def run():
        policy = HubPolicy(PolicyFunctions(hang, None), 0.05, 10_000, [], find_model)
        ticks = 0

        async def tick():
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0)

        ticking = asyncio.create_task(tick())
        asked = [policy.before_request(ASKING, request()) for _ in range(40)]
        found = await asyncio.gather(*asked, return_exceptions=True)
        ticking.cancel()
        await policy.stop()
        return found, ticks

    found, ticks = asyncio.run(run())
    release.set()
    assert {one.failure.kind for one in found} == {"overloaded"}
    assert {one.failure.retry_after for one in found} == {5.0}
    assert ticks > 40


@pytest.mark.parametrize("hanging", [lambda: asyncio.sleep(WAIT), lambda: asyncio.Event().wait()])
def test_a_policy_with_async_that_hangs_is_cancelled(hanging):
    async def hang(_):
        await hanging()

    assert refused(hang, seconds=0.05).failure.kind in {"overloaded", "forbidden"}


def test_a_policy_that_stops_its_own_event_loop_is_asked_again():
    assert decided(_ends_its_loop).model.id == "large"


def test_a_policy_is_told_of_the_end_and_its_failure_changes_nothing(caplog):
    told = threading.Event()
    seen = []

    def at_end(answer):
        seen.append(answer)
        told.set()
        raise ValueError("no")

    async def run():
        policy = HubPolicy(PolicyFunctions(None, at_end), WAIT, 10_000, [], find_model)
        asked = request()
        assert await policy.before_request(ASKING, asked) is asked
        policy.at_end(
            LedgerRow("req_1", 1.0, "k", "ana", "red", "large", input_tokens=3, nanodollars=7, outcome="completed")
        )
        assert await asyncio.to_thread(told.wait, WAIT)
        await policy.stop()

    asyncio.run(run())
    assert (seen[0].person, seen[0].input_tokens, seen[0].nanodollars) == ("ana", 3, 7)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("def before_request(r): ...", ""),
        ("def at_end(a): ...", ""),
        ("async def check(r): ...", ":check"),
        ("class P:\n    def before_request(self, r): ...\npolicy = P()", ":policy"),
    ],
)
def test_a_policy_is_loaded_from_a_file(tmp_path: Path, text: str, name: str):
    (tmp_path / "policy.py").write_text(text)
    functions = loaded_policy(f"{tmp_path / 'policy.py'}{name}")
    assert (functions.before_request or functions.at_end) is not None


def test_a_policy_imports_files_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "rules_of_the_house.py").write_text("def before_request(request): ...")
    (tmp_path / "policy.py").write_text("from rules_of_the_house import before_request")
    assert loaded_policy(f"{tmp_path / 'policy.py'}").before_request is not None


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("x = 1", ""),
        ("x = 1", ":y"),
        ("x = 1", ":x"),
        ("before_request = 3", ""),
        ("1 / 0", ""),
        ("raise SystemExit", ""),
        ("def (", ""),
        (None, ""),
    ],
)
def test_a_hub_does_not_start_without_the_policy_that_it_should_have(tmp_path: Path, text: str | None, name: str):
    if text is not None:
        (tmp_path / "policy.py").write_text(text)
    with pytest.raises(PolicyUnusableError, match="expected a"):
        loaded_policy(f"{tmp_path / 'policy.py'}{name}")
    gc.collect()


def test_a_policy_that_waits_for_one_person_still_decides_for_others() -> None:
    threads, goes_on = PolicyThreads(30), threading.Event()

    async def slow(_: object) -> str:
        await asyncio.to_thread(goes_on.wait, 30)
        return "done"

    waiting = [threads.call("zoe", slow, lambda: None, str)]
    with pytest.raises(PolicyBusyError):
        waiting.extend(threads.call("zoe", slow, lambda: None, str) for _ in range(1000))
    others = threads.call("ana", slow, lambda: None, str)
    goes_on.set()
    assert {one.result(30) for one in (*waiting, others)} == {"done"}
    assert threads.call("zoe", slow, lambda: None, str).result(30) == "done"
    threads.close()
