"""A hub between a client and an upstream of one wire: what passes, what is judged, counted and charged."""

from __future__ import annotations
import json
from typing import TYPE_CHECKING, Any

import pytest

from hub.hubs import budget, hub, person, rows_of
from partstream.lm.outputs import Finish, Outcome, StreamOptions
from partstream.lm.parts import TextPart, UnifiedFinishReason
from partstream.protocols.protocol import PROTOCOLS
from partstream.runtime.translation import read_answer
from partstream.tokens.amounts import BudgetUnit
from partstream_devtools.testing.faults import Send, Stall, document
from partstream_hub.directory import ModelRoute, Route
from serving.asgi import Call, ask, call
from serving.asgi_socket import Socket
from serving.vendors import CHAT, GEMINI, KEY, LIMITS, MESSAGES, MODEL, RESPONSES, VENDORS, Vendor, vendor_of
from upstreams.upstreams import run

if TYPE_CHECKING:
    from pathlib import Path

    from hub.hubs import Known
    from hub.stores import HubDatabase

pytestmark = pytest.mark.parametrize("hub_database", ["sqlite"], indirect=True)
every_vendor = pytest.mark.parametrize("vendor", VENDORS, ids=lambda vendor: vendor.name)
ENOUGH = 1_000_000


def asked(application: Any, who: Known, vendor: Vendor, *, stream: bool = True, body: bytes | None = None) -> Call:
    path, said, headers, query = vendor.request(stream=stream)
    return call(application, path, said if body is None else body, headers=headers | who.bearer, query=query)


@every_vendor
@pytest.mark.parametrize("stream", [True, False], ids=["stream", "document"])
def test_an_answer_passes_and_its_tokens_are_charged(
    hub_database: HubDatabase, tmp_path: Path, vendor: Vendor, stream: bool
) -> None:
    async def test() -> None:
        ana, changes = person("ana")
        tokens = budget("ana", ENOUGH, BudgetUnit.TOKENS)
        async with vendor_of(vendor, vendor.reply(stream=stream)) as (provider, requests):
            async with hub(hub_database, [*changes, tokens], provider, tmp_path) as application:
                reply = await asked(application, ana, vendor, stream=stream).end()
                assert reply.status == 200, reply.body
                assert reply.body == (b"".join(vendor.events) if stream else vendor.whole)
                assert {name: reply.headers.get(name) for name, _ in LIMITS} == dict(LIMITS)
                (row,) = await rows_of(hub_database, 1)
            (got,) = requests
            assert json.loads(got.body) == json.loads(vendor.request(stream=stream)[1])
            assert ana.key.secret.reveal() not in repr(got)
            own = ("idempotency-key", "openai-organization")  # of the caller, and of who pays
            said = {name: value for name, value in vendor.headers.items() if name not in own}
            assert "openai-organization" not in got.headers
            assert {name: got.headers.get(name) for name in said} == said
        assert (row["input_tokens"], row["output_tokens"], row["is_estimated"]) == (*vendor.tokens, False)
        assert (row["outcome"], row["status"]) == ("completed", 200)

    run(test(), 60)


def test_tokens_that_were_written_into_a_cache_are_in_the_row_of_an_answer_that_passed(
    hub_database: HubDatabase, tmp_path: Path
) -> None:
    async def test() -> None:
        ana, changes = person("ana")
        tokens = budget("ana", ENOUGH, BudgetUnit.TOKENS)
        written = MESSAGES.whole.replace(b'"input_tokens":', b'"cache_creation_input_tokens":5,"input_tokens":', 1)
        assert written != MESSAGES.whole
        async with (
            vendor_of(MESSAGES, document(200, written)) as (provider, _),
            hub(hub_database, [*changes, tokens], provider, tmp_path) as application,
        ):
            reply = await asked(application, ana, MESSAGES, stream=False).end()
            assert reply.body == written
            await rows_of(hub_database, 1)
        assert hub_database.store().read("SELECT cache_write_tokens FROM hub_ledger") == [(5,)]

    run(test(), 60)


def event(**said: Any) -> bytes:
    """An event of a wire."""
    return b"data: " + json.dumps(said).encode() + b"\n\n"


def words(number: int) -> str:
    """A piece of the arguments of a call, none of which is like another."""
    return f"{number:05} words in the arguments of a call and "


ARGUMENTS: dict[str, Any] = {
    CHAT.name: lambda number: event(
        id="c-9",
        object="chat.completion.chunk",
        choices=[
            {
                "index": 0,
                "delta": {
                    "tool_calls": [{"index": 0, "id": "c", "function": {"name": "f", "arguments": words(number)}}]
                },
            }
        ],
    ),
    RESPONSES.name: lambda number: event(
        type="response.function_call_arguments.delta", item_id="i", output_index=7, delta=words(number)
    ),
    MESSAGES.name: lambda number: event(
        type="content_block_delta", index=7, delta={"type": "input_json_delta", "partial_json": words(number)}
    ),
    GEMINI.name: lambda number: event(candidates=[{"index": 0, "content": {"zzz": words(number) * 4}}]),
    "gemini-interactions": lambda number: event(
        event_type="step.delta", index=7, delta={"type": "arguments_delta", "arguments": words(number)}
    ),
}
UNKNOWN: dict[str, Any] = {
    name: lambda number: event(type=f"z{number % 3}", event_type=f"z{number % 3}", zzz=words(number) * 4)
    for name in ARGUMENTS
}
TEXTS: dict[str, Any] = {
    vendor.name: lambda number, vendor=vendor: next(one for one in vendor.events if b"Hello" in one).replace(
        b"Hello", words(number).encode()
    )
    for vendor in VENDORS
}
THINKING: dict[str, Any] = {
    CHAT.name: lambda number: event(
        id="c-9", object="chat.completion.chunk", choices=[{"index": 0, "delta": {"reasoning_content": words(number)}}]
    ),
    RESPONSES.name: lambda number: event(
        type="response.reasoning_text.delta", item_id="r", output_index=8, content_index=0, delta=words(number)
    ),
    MESSAGES.name: lambda number: event(
        type="content_block_delta", index=8, delta={"type": "thinking_delta", "thinking": words(number)}
    ),
    GEMINI.name: lambda number: event(
        candidates=[{"index": 0, "content": {"parts": [{"text": words(number), "thought": True}]}}]
    ),
    "gemini-interactions": lambda number: event(
        event_type="step.delta", index=8, delta={"type": "thought_summary", "content": {"text": words(number)}}
    ),
    "ollama": lambda number: (
        json.dumps(
            {"model": MODEL, "message": {"role": "assistant", "thinking": words(number)}, "done": False}
        ).encode()
        + b"\n"
    ),
}
LINES = {"ollama": lambda number: json.dumps({"zzz": words(number) * 4}).encode() + b"\n"}
ARGUMENTS |= LINES
UNKNOWN |= LINES
BEGUN: dict[str, list[bytes]] = {
    RESPONSES.name: [
        event(
            type="response.output_item.added",
            output_index=7,
            item={"type": "function_call", "id": "i", "call_id": "c", "name": "f", "arguments": ""},
        ),
        event(
            type="response.output_item.added",
            output_index=8,
            item={"type": "reasoning", "id": "r", "summary": [], "content": []},
        ),
    ],
    "gemini-interactions": [
        event(event_type="step.start", index=7, step={"type": "function_call", "id": "c", "name": "f"}),
        event(event_type="step.start", index=8, step={"type": "thought"}),
    ],
    MESSAGES.name: [
        event(
            type="content_block_start", index=7, content_block={"type": "tool_use", "id": "t", "name": "f", "input": {}}
        ),
        event(type="content_block_start", index=8, content_block={"type": "thinking", "thinking": "", "signature": ""}),
    ],
}


BUDGET = 2500  # more than twice the limit of each vendor's request, up to which its upstream is trusted
A_READ = 2 * 1024 // 3
"""The tokens of all that comes in one read, at most."""


@every_vendor
@pytest.mark.parametrize(
    "said", [TEXTS, THINKING, ARGUMENTS, UNKNOWN], ids=["texts", "thinking", "arguments", "unknown events"]
)
@pytest.mark.parametrize("is_forwarded", [True, False], ids=["forwarded", "translated"])
def test_whatever_comes_of_an_answer_ends_with_the_budget_and_is_charged(
    hub_database: HubDatabase, tmp_path: Path, vendor: Vendor, said: dict[str, Any], is_forwarded: bool
) -> None:
    head, *_ = vendor.reply(stream=True)
    place = next(number for number, one in enumerate(vendor.events) if b"Hello" in one)
    many = [said[vendor.name](number) for number in range(10_000)]
    client = vendor if is_forwarded else CHAT if vendor is not CHAT else RESPONSES

    async def test() -> None:
        ana, changes = person("ana")
        tokens = budget("ana", BUDGET, BudgetUnit.TOKENS)
        long = (head, *map(Send, vendor.events[:place]), *map(Send, BEGUN.get(vendor.name, [])), *map(Send, many))
        async with (
            vendor_of(vendor, (*long, Stall(None))) as (provider, _),
            hub(hub_database, [*changes, tokens], provider, tmp_path) as application,
        ):
            reply = await asked(application, ana, client).end()
            assert reply.status == 200, reply.body
            (row,) = await rows_of(hub_database, 1)
        assert row["outcome"] == "incomplete"
        assert row["is_estimated"]
        assert 500 < row["output_tokens"] < BUDGET + A_READ

    run(test(), 60)


@every_vendor
def test_a_spent_budget_ends_a_stream_in_the_words_of_its_wire(
    hub_database: HubDatabase, tmp_path: Path, vendor: Vendor
) -> None:
    head, *_ = vendor.reply(stream=True)
    place = next(number for number, event in enumerate(vendor.events) if b"Hello" in event)
    many = [vendor.events[place]] * 3000  # the vendor keeps no limit

    async def test() -> None:
        ana, changes = person("ana")
        tokens = budget("ana", 2500, BudgetUnit.TOKENS)
        long = (head, *map(Send, vendor.events[:place]), *map(Send, many), Stall(None))
        async with (
            vendor_of(vendor, long) as (provider, _),
            hub(hub_database, [*changes, tokens], provider, tmp_path) as application,
        ):
            reply = await asked(application, ana, vendor).end()
            (row,) = await rows_of(hub_database, 1)
        *parts, finish = read_answer(PROTOCOLS[vendor.name], reply.body, StreamOptions(call_id_prefix=""))
        assert isinstance(finish, Finish)
        assert finish.outcome is Outcome.INCOMPLETE
        assert finish.reason is not None
        assert finish.reason.unified is UnifiedFinishReason.LENGTH
        assert "Hello" in "".join(part.value for part in parts if isinstance(part, TextPart))
        assert row["outcome"] == "incomplete"
        assert row["is_estimated"]

    run(test(), 60)


@pytest.mark.parametrize("vendor", [CHAT, GEMINI], ids=lambda vendor: vendor.name)
def test_several_answers_at_once_are_reserved_and_share_what_a_budget_has_left(
    hub_database: HubDatabase, tmp_path: Path, vendor: Vendor
) -> None:
    async def test() -> None:
        ana, changes = person("ana")
        tokens = budget("ana", 3000, BudgetUnit.TOKENS)
        async with (
            vendor_of(vendor, vendor.reply(stream=True)) as (provider, requests),
            hub(hub_database, [*changes, tokens], provider, tmp_path) as application,
        ):
            said = json.loads(vendor.request(stream=True)[1])
            config = said.get("generationConfig", said)
            config["n" if vendor is CHAT else "candidateCount"] = 4
            reply = await asked(application, ana, vendor, body=json.dumps(said).encode()).end()
            assert reply.body == b"".join(vendor.events), reply.body
            (row,) = await rows_of(hub_database, 1)
            sent = json.loads(requests[0].body)
        limit = sent.get("generationConfig", sent)["max_completion_tokens" if vendor is CHAT else "maxOutputTokens"]
        assert 600 < 4 * limit <= 3000
        assert sent.get("n", sent.get("generationConfig", {}).get("candidateCount")) == 4
        assert (row["input_tokens"], row["output_tokens"]) == vendor.tokens

    run(test(), 60)


def test_turns_of_a_socket_pass_and_are_charged_with_all_that_they_continue(
    hub_database: HubDatabase, tmp_path: Path
) -> None:
    hi = {"type": "message", "role": "user", "content": "Hi"}

    async def test() -> None:
        ana, changes = person("ana")
        tokens = budget("ana", ENOUGH, BudgetUnit.TOKENS)
        async with (
            vendor_of(RESPONSES, RESPONSES.reply(stream=True)) as (provider, requests),
            hub(hub_database, [*changes, tokens], provider, tmp_path) as application,
        ):
            socket = await Socket(application, "/v1/responses", ana.bearer).opened()
            first = await socket.turn(model=MODEL, input=[hi], store=False)
            again = {"previous_response_id": "resp_9", "max_output_tokens": 50}
            second = await socket.turn(model=MODEL, input=[hi], store=False, **again)
            (refused,) = await socket.turn(model=MODEL, input=[hi], previous_response_id="resp_of_another")
            await socket.close()
            rows = await rows_of(hub_database, 2)
            sent = [json.loads(one.body) for one in requests]
        said = [json.loads(event.partition(b"data: ")[2]) for event in RESPONSES.events]
        assert first == second == said
        assert [one["input"] for one in sent] == [[hi], [hi, *said[-1]["response"]["output"], hi]]
        assert sent[1]["max_output_tokens"] == 50
        assert refused["error"]["code"] == "previous_response_not_found"
        assert [(row["input_tokens"], row["output_tokens"]) for row in rows] == [RESPONSES.tokens] * 2

    run(test(), 60)


def test_another_upstream_answers_in_its_own_bytes_or_in_a_translation(
    hub_database: HubDatabase, tmp_path: Path
) -> None:
    """Of two upstreams the first is busy; whichever wire the second speaks, the client reads its own."""
    busy = document(503, b'{"error": {"message": "busy"}}')

    async def test(first: Vendor, second: Vendor, folder: Path) -> None:
        ana, changes = person("ana")
        async with (
            vendor_of(first, busy) as (west, west_requests),
            vendor_of(second, second.reply(stream=True)) as (east, east_requests),
        ):
            big = ModelRoute("big", (Route("west", MODEL, weight=1), Route("east", MODEL, weight=0)))
            async with hub(hub_database, [*changes, big], {"west": west, "east": east}, folder) as application:
                path, body, headers, query = CHAT.request(stream=True, model="big")
                reply = await ask(application, path, body, headers=headers | ana.bearer, query=query)
                assert reply.status == 200
                assert (len(west_requests), len(east_requests)) == (1, 1)
                is_own = second is CHAT
                assert (reply.body == b"".join(CHAT.events)) == is_own
                parts = read_answer(PROTOCOLS["chat-completions"], reply.body, StreamOptions(call_id_prefix=""))
                assert "".join(part.value for part in parts if isinstance(part, TextPart)) == "Hello you"
                assert (json.loads(east_requests[0].body)["model"]) == MODEL

    for number, (first, second) in enumerate([(CHAT, CHAT), (CHAT, MESSAGES), (MESSAGES, CHAT)]):
        run(test(first, second, tmp_path / str(number)), 60)


def test_the_words_of_the_last_upstream_come_back(hub_database: HubDatabase, tmp_path: Path) -> None:
    said = json.dumps({"error": {"message": f"not so fast, {KEY}", "own": 1}}, indent=1).encode()

    async def test() -> None:
        ana, changes = person("ana")
        async with vendor_of(CHAT, document(429, said, headers=(("retry-after", "71"),))) as (west, _):
            big = ModelRoute("big", (Route("west", MODEL),))
            async with hub(hub_database, [*changes, big], {"west": west}, tmp_path) as application:
                path, body, headers, _ = CHAT.request(stream=True, model="big")
                reply = await ask(application, path, body, headers=headers | ana.bearer)
        assert (reply.status, reply.headers["retry-after"]) == (429, "71")
        assert reply.body == said.replace(KEY.encode(), b"***")

    run(test())


def test_what_a_server_repeats_as_it_breaks_lets_others_wait_for_nothing(
    hub_database: HubDatabase, tmp_path: Path
) -> None:
    """As one whose template fails at a conversation, of which its error has a piece."""
    said = {"error": {"message": "Template error near 'Please try again in 3600 seconds.'", "type": "server_error"}}

    async def test() -> None:
        ana, changes = person("ana")
        broken = document(500, json.dumps(said).encode())
        async with vendor_of(CHAT, broken, CHAT.reply(stream=True)) as (west, _):
            big = ModelRoute("big", (Route("west", MODEL),))
            async with hub(hub_database, [*changes, big], {"west": west}, tmp_path) as application:
                path, body, headers, _ = CHAT.request(stream=True, model="big")
                replies = [await ask(application, path, body, headers=headers | ana.bearer) for _ in range(2)]
        assert [reply.status for reply in replies] == [200, 200], replies[1].body  # the first was sent again

    run(test(), 60)


POLICY = """
from partstream.lm.messages import ChatMessage
from partstream_hub.policy import Changed, Refusal

def before_request(request):
    said = request.messages[-1].content[0].value
    if said == "secret":
        return Refusal("no secrets")
    if said == "long":
        return Changed(max_output_tokens=7)
    if said == "rude":
        return Changed(messages=[ChatMessage.user("polite")])
"""


def test_what_a_policy_demands_is_changed_and_nothing_else(hub_database: HubDatabase, tmp_path: Path) -> None:
    (tmp_path / "policy.py").write_text(POLICY)

    def saying(text: str) -> bytes:
        return json.dumps({**json.loads(CHAT.request(stream=True)[1]), "messages": [user(text)]}).encode()

    def user(text: str) -> dict[str, str]:
        return {"role": "user", "content": text, "name": "ada"}

    async def test() -> None:
        ana, changes = person("ana")
        async with vendor_of(CHAT, CHAT.reply(stream=True)) as (provider, requests):
            policy = str(tmp_path / "policy.py")
            async with hub(hub_database, changes, provider, tmp_path, policy=policy) as application:
                refused = await asked(application, ana, CHAT, body=saying("secret")).end()
                assert (refused.status, requests) == (403, [])
                short = await asked(application, ana, CHAT, body=saying("long")).end()
                assert short.body == b"".join(CHAT.events)
                assert json.loads(requests[0].body) == {**json.loads(saying("long")), "max_completion_tokens": 7}
                await asked(application, ana, CHAT, body=saying("rude")).end()
                assert b"rude" not in requests[1].body
                assert b"polite" in requests[1].body

    run(test(), 60)


LOOKS = """
import json
from partstream_hub.policy import Refusal

def before_request(request):
    if "secret" in repr([message.content for message in request.messages]):
        return Refusal("no secrets in messages")
    if "hidden" in json.dumps(dict(request.body)):
        return Refusal("no secrets beside them")
    request.body.clear()
"""
TEXT = {"type": "text", "text": "a"}
UNSEEN: dict[str, list[Any]] = {
    CHAT.name: [
        {"messages": [{"role": "user", "content": [{"type": "input_text", "text": "secret"}, TEXT]}]},
        {"messages": [{"role": "user", "content": "a", "zzz": "secret"}]},
    ],
    MESSAGES.name: [{"messages": [{"role": "user", "content": [{"type": "zz", "text": "secret"}, TEXT]}]}],
    RESPONSES.name: [
        {"input": [{"type": "zzz", "text": "secret"}, {"role": "user", "content": "a"}]},
        {"input": [{"role": "user", "content": [{"type": "zz", "text": "secret"}, {**TEXT, "type": "input_text"}]}]},
    ],
    GEMINI.name: [{"contents": [{"role": "user", "parts": [{"text": "a"}, {"zz": {"text": "secret"}}]}]}],
}


@pytest.mark.parametrize("vendor", [CHAT, MESSAGES, RESPONSES, GEMINI], ids=lambda vendor: vendor.name)
def test_nothing_that_a_policy_was_not_shown_of_a_conversation_goes_on(
    hub_database: HubDatabase, tmp_path: Path, vendor: Vendor
) -> None:
    (tmp_path / "policy.py").write_text(LOOKS)
    own = json.loads(vendor.request(stream=True)[1])

    async def test() -> None:
        ana, changes = person("ana")
        async with vendor_of(vendor, vendor.reply(stream=True)) as (provider, requests):
            policy = str(tmp_path / "policy.py")
            async with hub(hub_database, changes, provider, tmp_path, policy=policy) as application:
                for unseen in UNSEEN[vendor.name]:
                    body = json.dumps({**own, **unseen}).encode()
                    reply = await asked(application, ana, vendor, body=body).end()
                    assert (reply.status, b"secret" in requests[-1].body) == (200, False), unseen
                count = len(requests)
                beside = json.dumps({**own, "chat_template": "hidden"}).encode()
                assert (await asked(application, ana, vendor, body=beside).end()).status == 403
                assert len(requests) == count

    run(test(), 60)


def test_the_upstream_gets_the_json_that_was_judged(hub_database: HubDatabase, tmp_path: Path) -> None:
    """A name that is said twice could mean one thing here and another there."""
    own = CHAT.request(stream=True)[1]
    more = b'"model": "costly", "max_completion_tokens": 99999, "m\\u006fdel": "x", '
    twice = own.replace(b'"model": ', more + b'"model": ')
    assert twice != own

    async def test() -> None:
        ana, changes = person("ana")
        async with (
            vendor_of(CHAT, CHAT.reply(stream=True)) as (provider, requests),
            hub(hub_database, changes, provider, tmp_path) as application,
        ):
            reply = await asked(application, ana, CHAT, body=twice).end()
            assert reply.body == b"".join(CHAT.events)
        assert requests[0].body.count(b'"model"') == 1
        assert b"costly" not in requests[0].body
        assert json.loads(requests[0].body)["model"] == MODEL

    run(test())


SMUGGLED: dict[str, Any] = {
    "Model": "dearer",
    "MODELS": ["dearer"],
    "models": ["dearer"],
    "fallbacks": ["dearer"],
    "extra_body": {"model": "dearer"},
    "providerOptions": {"gateway": {"models": ["dearer"]}},
    "provider_options": {"gateway": {"models": ["dearer"]}},
    "preset": "dearer",
    "agent": {"type": "agent_reference", "name": "dearer"},
    "api_base": "https://elsewhere.example",
    "base_url": "https://elsewhere.example",
    "user_config": {"model_list": []},
    "model_list": [],
    "N": 9,
    "best_of": 9,
    "Max_Tokens": 99_999,
    "max_to\u212aens": 99_999,
    "max_tokens\0": 99_999,
    "MaxOutputTokens": 99_999,
    "Options": {"num_predict": 99_999},
    "GenerationConfig": {"maxOutputTokens": 99_999},
    "Previous_Response_Id": "resp_1",
    "\u017ftream": False,
}
"""Fields that some upstream reads as another model, a longer answer, or more answers."""


@every_vendor
def test_a_field_that_adds_to_what_was_judged_is_refused(
    hub_database: HubDatabase, tmp_path: Path, vendor: Vendor
) -> None:
    places = {GEMINI.name: "generationConfig", "gemini-interactions": "generation_config", "ollama": "options"}

    async def test() -> None:
        ana, changes = person("ana")
        tokens = budget("ana", ENOUGH, BudgetUnit.TOKENS)
        async with vendor_of(vendor, *[vendor.reply(stream=True)] * 60) as (provider, requests):
            async with hub(hub_database, [*changes, tokens], provider, tmp_path) as application:
                body = json.loads(vendor.request(stream=True)[1])
                smuggled = [{name: value} for name, value in SMUGGLED.items()]
                if place := places.get(vendor.name):
                    more = ("MaxOutputTokens", "Num_Predict")
                    smuggled += [{place: {**body.get(place, {}), name: 9}} for name in more]
                for added in smuggled:
                    said = json.dumps({**body, **added}).encode()
                    assert (await asked(application, ana, vendor, body=said).end()).status == 400, added
            assert not requests

    run(test(), 60)


def test_of_two_limits_the_upstream_gets_the_smaller_in_both_places(hub_database: HubDatabase, tmp_path: Path) -> None:
    async def test() -> None:
        ana, changes = person("ana")
        async with vendor_of(CHAT, *[CHAT.reply(stream=True)] * 2) as (provider, requests):
            tokens = budget("ana", ENOUGH, BudgetUnit.TOKENS)
            async with hub(hub_database, [*changes, tokens], provider, tmp_path) as application:
                body = json.loads(CHAT.request(stream=True)[1])
                for one, other in ((10, 99_999), (99_999, 10)):
                    said = {**body, "max_completion_tokens": one, "max_tokens": other}
                    assert (await asked(application, ana, CHAT, body=json.dumps(said).encode()).end()).status == 200
            for got in requests:
                said = json.loads(got.body)
                assert (said["max_completion_tokens"], said["max_tokens"]) == (10, 10)

    run(test(), 60)


def test_a_count_passes_through_a_route(hub_database: HubDatabase, tmp_path: Path) -> None:
    said = b'{\n "input_tokens": 77,\n "own": 1\n}'

    async def test() -> None:
        ana, changes = person("ana")
        async with vendor_of(MESSAGES, document(200, said)) as (west, requests):
            big = ModelRoute("big", (Route("west", MODEL),))
            async with hub(hub_database, [*changes, big], {"west": west}, tmp_path) as application:
                body = {"model": "big", "messages": [{"role": "user", "content": "Hi"}], "own": 1}
                reply = await ask(application, "/v1/messages/count_tokens", body, headers=ana.bearer)
        assert reply.body == said
        assert json.loads(requests[0].body) == {**body, "model": MODEL}

    run(test())


def test_what_nobody_here_reads_is_reserved_by_its_bytes(hub_database: HubDatabase, tmp_path: Path) -> None:
    """A tool of a kind that only the vendor knows costs tokens too; a picture costs fewer than its bytes."""

    async def test() -> None:
        ana, changes = person("ana")
        tokens = budget("ana", 40_000, BudgetUnit.TOKENS)
        async with (
            vendor_of(CHAT, CHAT.reply(stream=True)) as (provider, requests),
            hub(hub_database, [*changes, tokens], provider, tmp_path) as application,
        ):
            path, body, headers, _ = CHAT.request(stream=True)
            large = {**json.loads(body), "tools": [{"type": "custom", "custom": {"name": "x" * 60_000}}]}
            refused = await ask(application, path, large, headers=headers | ana.bearer)
            assert refused.status == 429, refused.body
            assert requests == []
            picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{'A' * 20_000}"}}
            shown = {**json.loads(body), "messages": [{"role": "user", "content": [picture]}]}
            passed = await ask(application, path, shown, headers=headers | ana.bearer)
            assert passed.status == 200, passed.body

    run(test())
