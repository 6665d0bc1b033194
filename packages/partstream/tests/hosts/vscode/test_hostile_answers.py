"""Any mixture of hostile providers, and any headers and numbers of an upstream: each request is answered exactly once,
the others go on, and no file is poisoned.
"""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from listening import deliver, listening
from partstream.codec.checks import MOST_DOLLARS, MOST_TOKENS
from partstream.codec.json_codec import dumps
from partstream.server.loopback import ServerConnection
from partstream.tokens.ledger import LEDGER_NAME
from partstream.tokens.ledger_file import LedgerFile
from partstream_devtools.testing.faults import Send, document, event_stream

from .in_process import Peer, run, serving

USAGE = {"page": "usage", "nonce": "0123456789abcdef", "source": ""}

Write = Callable[..., Path]

# ---- providers ----

CHAOS = """
    import math, time
    from dataclasses import replace
    from partstream import DataPart, LanguageModelChatInformation, ThinkingPart, ToolCallPart
    from partstream.lm.outputs import Finish, Outcome
    from partstream.lm.parts import Usage

    class Panic(BaseException):
        pass

    def forged(part, **fields):
        for name, value in fields.items():
            object.__setattr__(part, name, value)  # past the checks of the class
        return part

    def endless():
        value = {}
        value["self"] = value
        return value

    async def behave(name, progress, token):
        text, call = lambda said: progress.report(TextPart(said)), lambda: ToolCallPart("c", "t", {})
        text("<")
        if name == "whole": pass
        elif name == "exit": raise SystemExit(3)
        elif name == "interrupt": raise KeyboardInterrupt
        elif name == "panic": raise Panic("panicked")
        elif name == "cancelled": raise asyncio.CancelledError
        elif name == "task": await asyncio.create_task(behave("cancelled", progress, token))
        elif name == "nan": progress.report(forged(call(), input={"a": math.nan}))
        elif name == "thinking": progress.report(forged(ThinkingPart("x"), metadata={"a": math.inf}))
        elif name == "endless": progress.report(forged(call(), input=endless()))
        elif name == "no_text": progress.report(forged(TextPart("x"), value=7))
        elif name == "no_bytes": progress.report(forged(DataPart(b"", "a/b"), data="text"))
        elif name == "surrogates": text("\\ud83d")
        elif name == "usage": progress.report(DataPart(b'{"prompt_tokens":1e999,"completion_tokens":-1}', "usage"))
        elif name == "huge_usage": progress.report(DataPart(HUGE_USAGE, "usage"))
        elif name == "finish": progress.finish(forged(Finish(Outcome.COMPLETED), usage=Usage(10**400, math.inf)))
        elif name == "huge": text("x" * 300_000)
        elif name == "many": [text("x") for _ in range(2_000)]
        elif name == "blocks": time.sleep(0.005)
        elif name == "stubborn":
            while not token.is_cancellation_requested:
                try: await asyncio.sleep(0.001)
                except BaseException: pass
            raise Panic("after the cancellation")
        elif name == "late":
            loop = asyncio.get_running_loop()
            loop.call_soon(loop.call_soon, text, "too late")  # what comes a turn later still counts, as from a thread
        text(">")

    HUGE_USAGE = b'{"prompt_tokens":%s,"completion_tokens":1,"partstream_cost":1e999}' % (b"9" * 400)
    NAMES = ["whole", "exit", "interrupt", "panic", "cancelled", "task", "nan", "thinking", "endless", "no_text",
        "no_bytes", "surrogates", "usage", "huge_usage", "finish", "huge", "many", "blocks", "stubborn", "late"]

    class Own(Base):
        async def provide_language_model_chat_information(self, silent, token):
            return [LanguageModelChatInformation(name, name, "m", "1", 1000, 100) for name in NAMES]
        async def provide_language_model_chat_response(self, model, messages, options, progress, token):
            await behave(model.id, progress, token)
"""
BEHAVIOURS = (
    CHAOS.split("NAMES = [")[1].split("]", maxsplit=1)[0].replace('"', "").replace(" ", "").replace("\n", "").split(",")
)
RAISING = {"exit", "interrupt", "panic", "cancelled", "task", "stubborn"}
Steps = list[tuple[str, bool]]


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example([(name, False) for name in BEHAVIOURS if name != "stubborn"])
@example([(name, True) for name in BEHAVIOURS])
@given(st.lists(st.tuples(st.sampled_from(BEHAVIOURS), st.booleans()), min_size=1, max_size=12))
def test_each_request_to_hostile_providers_is_answered_once_and_the_others_go_on(write: Write, steps: Steps):
    path = write(CHAOS)

    async def main() -> None:
        async with serving(path) as peer:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr("partstream.vscode.session.GRACE_SECONDS", 0.01)
                await _all(peer, [(name, cancel or name == "stubborn") for name, cancel in steps])
                last = peer.respond("own/whole")
                assert (await peer.reply(last)).error is None
                assert peer.text(last) == "<>"
                await peer.call("languageModels/page", USAGE)
                await peer.call("languageModels/diagnostics")

    run(main())


async def _all(peer: Peer, steps: Steps) -> None:
    """Asks for all answers at once, cancels some, and waits for the rest."""
    asked = [(name, cancel, peer.respond(f"own/{name}")) for name, cancel in steps]
    for _, cancel, request_id in asked:
        if cancel:
            peer.notify("$/cancelRequest", {"id": request_id})
    for name, cancel, request_id in asked:
        error = (await peer.reply(request_id)).error
        if cancel:
            assert error["code"] == -32800
        else:
            assert (error is not None) == (name in RAISING), (name, error)
            assert peer.text(request_id).startswith("<"), name
            assert peer.text(request_id).endswith(">") == (name not in RAISING), name


# ---- upstreams ----


class Raw(str):
    """A number as the JSON of the upstream has it."""

    __slots__ = ()


EXTREMES = [
    "1e999",
    "-1e999",
    "1e400",
    "9" * 400,
    "9223372036854775808",
    "-1",
    "0",
    "7",
    "1.5",
    '"1e400"',
    '"x"',
    "null",
]
EXTREMES += ["true", "[]", "{}", "1e-400", "1000000001"]
raw = st.sampled_from(EXTREMES).map(Raw)
headers = st.sampled_from(
    ["inf", "nan", "1e999", "-1", "0", "9" * 400, "soon", "Mon, 01 Jan 99999999999 00:00:00 GMT", "", "7 s", "1,2"]
)
names = st.sampled_from(["m", "m\ud83d", "", "x" * 10_000, "a\u202eb", "m\x00"])


def _json(value: Any) -> bytes:
    """JSON with the raw numbers as they are."""
    numbers: list[str] = []

    def mark(inner: Any) -> Any:
        if isinstance(inner, Raw):
            numbers.append(inner)
            return f"raw number {len(numbers) - 1}."
        if isinstance(inner, dict):
            return {name: mark(one) for name, one in inner.items()}
        return inner

    text = dumps(mark(value)).decode()
    for at, number in enumerate(numbers):
        text = text.replace(f'"raw number {at}."', number)
    return text.encode()


def _answer(usage: dict[str, Any], model: str, response_id: str, arguments: str) -> list[dict[str, Any]]:
    item = {"type": "message", "id": "i", "role": "assistant", "status": "completed"}
    item["content"] = [{"type": "output_text", "text": "fine", "annotations": []}]
    call = {"type": "function_call", "id": "f", "call_id": "c", "name": "t", "status": "completed"}
    call["arguments"] = arguments
    response = {"id": response_id, "model": model, "status": "completed", "output": [item, call], "usage": usage}
    return [
        {"type": "response.created", "response": {**response, "status": "in_progress", "output": []}},
        {"type": "response.completed", "response": response},
    ]


def _usage(inputs: str, outputs: str, **more: Raw) -> list[dict[str, Any]]:
    return _answer({"input_tokens": Raw(inputs), "output_tokens": Raw(outputs), **more}, "m", "r", "{}")


usages = st.fixed_dictionaries(
    {"input_tokens": raw, "output_tokens": raw},
    optional={
        "total_tokens": raw,
        "cost": raw,
        "input_tokens_details": st.fixed_dictionaries({"cached_tokens": raw}),
        "output_tokens_details": st.fixed_dictionaries({"reasoning_tokens": raw}),
    },
)
bodies = st.builds(_answer, usages, names, names, st.sampled_from(['{"a":1}', '{"a":1e999}', '{"a":NaN}', "[" * 5_000]))


@asynccontextmanager
async def _upstream(status: int, retry_after: str, events: list[dict[str, Any]]) -> AsyncIterator[str]:
    """The first answer is hostile, all others are harmless."""
    harmless = _answer({"input_tokens": 3, "output_tokens": 4}, "m", "r", "{}")
    answers = iter([events])

    async def serve(connection: ServerConnection) -> None:
        while (request := await connection.next_request()) is not None:
            said = next(answers, None)
            if said is None or status == 200:
                sends = [Send(b"data: " + _json(event) + b"\n\n") for event in said or harmless]
                await deliver(connection, request, event_stream(sends))
            else:
                body = _json({"error": {"message": "no", "code": said[1]["response"]["model"]}})
                reply = document(status, body, headers=(("retry-after", retry_after),))
                await deliver(connection, request, reply)

    async with listening(serve) as url:
        yield f"{url}/v1"


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from([200, 200, 429, 500]), headers, bodies)
@example(429, "inf", _answer({}, "m", "r", "{}"))
@example(200, "", _answer({"input_tokens": Raw("9" * 400), "output_tokens": Raw("1")}, "m", "r", "{}"))
@example(
    200, "", _answer({"input_tokens": Raw("1"), "output_tokens": Raw("1"), "cost": Raw('"1e400"')}, "m", "r", "{}")
)
@example(200, "", _answer({"input_tokens": Raw("9223372036854775808"), "output_tokens": Raw("1")}, "m", "r", "{}"))
def test_whatever_an_upstream_says_requests_are_answered_and_the_ledger_goes_on(
    tmp_path_factory: pytest.TempPathFactory, status: int, retry_after: str, events: list[dict[str, Any]]
):
    folder = tmp_path_factory.mktemp("data")

    async def main() -> None:
        async with _upstream(status, retry_after, events) as url, serving() as peer:
            configuration = {"baseUrl": url, "models": [{"id": "m"}], "retry": {"attempts": 1}}
            group = {"id": "g", "configuration": configuration}
            assert [model["id"] for model in (await peer.information(group))["models"]] == ["m"]
            hostile = await peer.reply(peer.respond("m", group=group))
            assert hostile.error is None or hostile.error["code"] == -32010
            for _ in range(2):
                assert (await peer.reply(peer.respond("m", group=group))).error is None
            await peer.until(lambda _: len(_told(peer)) >= 2)
            await peer.call("languageModels/page", USAGE)
            json.dumps(_told(peer), allow_nan=False)
            await peer.call("shutdown")

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PARTSTREAM_DATA", str(folder))
        run(main())
    _check_ledger(folder)


def _told(peer: Peer) -> list[Any]:
    return [one.params for one in peer.messages if getattr(one, "method", "") == "languageModels/didAnswer"]


def _check_ledger(folder: Path) -> None:
    file = LedgerFile(folder / LEDGER_NAME)
    rows = file.read("SELECT input, output, cached, reasoning, cost FROM usage")
    limits = file.read("SELECT tokens FROM limits")
    file.close()
    assert [row[:2] for row in rows][-2:] == [(3, 4), (3, 4)]
    for *counts, cost in rows:
        assert all(count is None or (type(count) is int and 0 <= count <= MOST_TOKENS) for count in counts)
        assert cost is None or 0 <= cost <= MOST_DOLLARS
    assert all(0 <= tokens <= MOST_TOKENS for (tokens,) in limits)
