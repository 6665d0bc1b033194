"""Same wire in, same bytes out: a request goes on as it came, and the answer's bytes come as they are."""

from __future__ import annotations
import json
import logging
import re
from base64 import b64encode
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pytest

from partstream.codec.json_codec import dumps
from partstream.conversation.preparation import RequestSettings, SystemAs
from partstream.conversation.provider_state import Origin, encode_state, seal_state
from partstream.errors import AnswerTooLargeError, UpstreamFailureError
from partstream.lm.outputs import ErrorMode, Finish, Outcome, StreamOptions, ThinkingMode, Unmapped
from partstream.lm.parts import TextPart, UnifiedFinishReason
from partstream.lm.provider import LanguageModelChatProvider
from partstream.protocols.protocol import PROTOCOLS
from partstream.protocols.reader import StreamReader
from partstream.runtime.translation import read_answer, read_document
from partstream.server.application import app
from partstream.server.clients import Caller
from partstream.server.requests import DROPPED_HEADER
from partstream.server.settings import Admitted, AnswerRequest, EndedAnswer, HeldText, ServingSettings
from partstream.upstream.configuration import fingerprint_of
from partstream.upstream.endpoint import Secret
from partstream.upstream.forwarding import SEALING_HEADER, LookingReader
from partstream.upstream.provider import GatewayProvider
from partstream_devtools.capturing.bundling import bundle_of, snapshot_of
from partstream_devtools.capturing.capture import LastAnswers
from partstream_devtools.testing.faults import End, EndKind, Head, Send, Stall, document
from serving.asgi import Call, ask, call
from serving.vendors import CHAT, GEMINI, KEY, LIMITS, MODEL, VENDORS, Vendor, model, vendor_of
from upstreams.upstreams import configuration, run, server_of

if TYPE_CHECKING:
    from collections.abc import Mapping

every_vendor = pytest.mark.parametrize("vendor", VENDORS, ids=lambda vendor: vendor.name)
both_forms = pytest.mark.parametrize("stream", [True, False], ids=["stream", "document"])


@dataclass
class Keeper:
    """An admission that lets all pass: with a limit of output, or up to a number of words."""

    most: int | None = None
    limit: int | None = None
    is_ready: bool = True
    ended: list[EndedAnswer] = field(default_factory=list)
    seen: int = 0

    def models_of(self, _caller: Any, models: Mapping[str, Any]) -> Mapping[str, Any]:
        return models

    def enter(self, _caller: Any) -> None:
        return None

    async def afford(self, *_request: Any) -> None:
        return None

    async def admit(self, request: AnswerRequest) -> Admitted:
        asked = request.asked
        if self.limit is not None:
            names = {"max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens", "num_predict"}
            kept = {name: one for name, one in asked.options.model_options.items() if name not in names}
            options = {**kept, "max_output_tokens": self.limit}
            asked = replace(asked, options=replace(asked.options, model_options=options))
        return Admitted(asked, request.model, self)

    @property
    def reported(self) -> Any:
        return None if self.most is None else self.look

    def look(self, part: Any) -> str | None:
        if not isinstance(part, HeldText):
            self.seen += max(getattr(part, "value", "").count("Hello"), 1)  # texts that came at once are one part
        assert self.most is not None
        return "budget_spent" if self.seen >= self.most else None

    def settle(self, ended: EndedAnswer) -> None:
        self.ended.append(ended)


def asked(application: Any, vendor: Vendor, *, stream: bool, **more: Any) -> Call:
    path, body, headers, query = vendor.request(stream=stream)
    return call(application, path, more.pop("body", body), headers=headers | more.pop("headers", {}), query=query)


@every_vendor
@both_forms
def test_request_and_answer_go_through_as_they_are(vendor: Vendor, stream: bool) -> None:
    async def test() -> None:
        async with vendor_of(vendor, vendor.reply(stream=stream)) as (provider, requests):
            reply = await asked(app(provider), vendor, stream=stream).end()
            (got,) = requests
            path, body, _, query = vendor.request(stream=stream)
            assert reply.status == 200, reply.body
            assert got.body == body
            assert (got.path, got.query) == (path, query)
            assert {name: got.headers.get(name) for name in vendor.headers} == vendor.headers
            assert not {"cookie", "x-codex-turn-metadata"} & got.headers.keys()
            assert KEY in repr(dict(got.headers))
            assert reply.body == (b"".join(vendor.events) if stream else vendor.whole)
            assert {name: reply.headers.get(name) for name, _ in LIMITS} == dict(LIMITS)
            assert "set-cookie" not in reply.headers
            assert "x-internal" not in reply.headers
            assert reply.headers["x-upstream-request-id"] == "req_of_the_vendor"
            assert reply.headers["x-request-id"] != "req_of_the_vendor"

    run(test())


@every_vendor
@both_forms
def test_an_arbitrary_cut_of_the_bytes_changes_nothing(vendor: Vendor, stream: bool) -> None:
    whole = b"".join(vendor.events) if stream else vendor.whole
    head, *_ = vendor.reply(stream=stream)
    for size in (1, 7, 50):
        cut = (head, *(Send(whole[at : at + size]) for at in range(0, len(whole), size)), End())

        async def test(reply: Any = cut) -> None:
            async with vendor_of(vendor, reply) as (provider, _):
                got = await asked(app(provider), vendor, stream=stream).end()
                assert got.body == whole
                for piece in got.messages[1:-1]:  # each write ends with an event
                    assert not stream or piece["body"].endswith((b"\n\n", b"\r\n\r\n", b"}\n"))

        run(test())


@every_vendor
def test_another_name_of_the_model_is_all_that_changes_in_a_body(vendor: Vendor) -> None:
    async def test() -> None:
        async with vendor_of(vendor, vendor.reply(stream=True)) as (provider, requests):
            path, body, headers, query = vendor.request(stream=True, model="desk/" + MODEL)
            application = app({"first": provider, "desk": provider})
            path = path.replace("desk/", "desk%2F")
            reply = await ask(application, path, body, headers=headers, query=query)
            assert reply.body == b"".join(vendor.events)
            own_path, own_body, *_ = vendor.request(stream=True)
            assert requests[0].body == own_body
            assert requests[0].path == own_path

    run(test())


@every_vendor
def test_the_tokens_that_an_upstream_reports_are_counted(vendor: Vendor) -> None:
    async def test(stream: bool) -> None:
        async with vendor_of(vendor, vendor.reply(stream=stream)) as (provider, _):
            application, seen = app(provider), []
            application.on_did_finish_answer(seen.append)
            await asked(application, vendor, stream=stream).end()
            (answer,) = seen
            assert answer.outcome is Outcome.COMPLETED
            assert answer.usage is not None
            assert (answer.usage.input_tokens, answer.usage.output_tokens) == vendor.tokens
            assert answer.status == 200
            assert not answer.is_usage_counted
            assert answer.first_part_after is not None

    run(test(True))
    run(test(False))


ERRORS = {
    "chat-completions": {"error": {"message": f"slow down, {KEY}", "type": "requests", "code": "rate", "own": 1}},
    "openresponses": {"error": {"message": f"slow down, {KEY}", "type": "requests", "code": "rate", "own": 1}},
    "anthropic-messages": {"type": "error", "error": {"type": "rate_limit_error", "message": f"slow, {KEY}"}},
    "gemini": {"error": {"code": 429, "message": f"slow, {KEY}", "status": "RESOURCE_EXHAUSTED", "details": [{}]}},
    "ollama": {"error": f"slow, {KEY}"},
    "gemini-interactions": {"error": {"code": "too_many_requests", "message": f"slow, {KEY}", "own": 1}},
}


@every_vendor
@both_forms
def test_an_error_of_the_upstream_comes_back_as_it_is_and_without_a_key(vendor: Vendor, stream: bool) -> None:
    body = json.dumps(ERRORS[vendor.name], indent=2).encode()
    refusal = document(429, body, headers=(("retry-after", "77"), ("x-ratelimit-limit-tokens", "9")))

    async def test() -> None:
        async with vendor_of(vendor, refusal) as (provider, _):
            application, seen = app(provider), []
            application.on_did_finish_answer(seen.append)
            reply = await asked(application, vendor, stream=stream).end()
            assert reply.status == 429
            assert reply.body == body.replace(KEY.encode(), b"***")
            assert reply.headers["retry-after"] == "77"
            assert reply.headers["x-ratelimit-limit-tokens"] == "9"
            assert reply.headers["content-type"] == "application/json"
            assert [one.status for one in seen] == [429]

    run(test())


@every_vendor
@both_forms
def test_a_status_that_no_server_can_send_on_is_said_in_our_words(vendor: Vendor, stream: bool) -> None:
    body = json.dumps(ERRORS[vendor.name]).encode()

    async def test() -> None:
        async with vendor_of(vendor, document(999, body)) as (provider, _):
            reply = await asked(app(provider), vendor, stream=stream).end()
            assert (400 <= reply.status < 600, KEY in reply.body.decode()) == (True, False)

    run(test())


@every_vendor
def test_what_it_says_of_the_servers_own_key_is_said_in_our_words(vendor: Vendor) -> None:
    body = json.dumps({"error": {"message": "Incorrect API key provided: sk-pl*****cdef", "code": "invalid_api_key"}})

    async def test() -> None:
        async with vendor_of(vendor, document(401, body.encode())) as (provider, _):
            reply = await asked(app(provider), vendor, stream=True).end()
            assert reply.status == 403

    run(test())


@every_vendor
def test_a_busy_upstream_is_asked_again_before_the_first_byte(vendor: Vendor) -> None:
    busy = document(503, json.dumps(ERRORS[vendor.name]).encode())

    async def test(stream: bool) -> None:
        async with vendor_of(vendor, busy, vendor.reply(stream=stream)) as (provider, requests):
            reply = await asked(app(provider), vendor, stream=stream).end()
            assert len(requests) == 2
            assert reply.status == 200
            assert reply.body == (b"".join(vendor.events) if stream else vendor.whole)

    run(test(True))
    run(test(False))


def parsed(vendor: Vendor, body: bytes) -> tuple[str, Finish]:
    """The text of a stream, and its end, as a client of the wire reads it."""
    *parts, finish = read_answer(PROTOCOLS[vendor.name], body, StreamOptions(call_id_prefix=""))
    assert isinstance(finish, Finish)
    return "".join(part.value for part in parts if isinstance(part, TextPart)), finish


def first_text(vendor: Vendor) -> int:
    """The number of the event with the first text."""
    return next(number for number, event in enumerate(vendor.events) if b"Hello" in event) + 1


@every_vendor
def test_a_connection_that_breaks_in_the_middle_ends_the_stream_with_an_error_of_the_wire(vendor: Vendor) -> None:
    head, *_ = vendor.reply(stream=True)
    begun = vendor.events[: first_text(vendor)]
    half = vendor.events[first_text(vendor)][:-10]

    async def test() -> None:
        broken = (head, *map(Send, begun), Send(half), End(EndKind.CLOSED))
        async with vendor_of(vendor, broken) as (provider, _):
            reply = await asked(app(provider), vendor, stream=True).end()
            assert reply.body.startswith(b"".join(begun))
            assert b" you" not in reply.body
            text, finish = parsed(vendor, reply.body)
            assert text == "Hello"
            assert finish.outcome in {Outcome.FAILED, Outcome.TRUNCATED}
            assert isinstance(finish.error, UpstreamFailureError), finish

    run(test())


@every_vendor
def test_a_budget_ends_a_stream_as_one_that_is_too_long(vendor: Vendor) -> None:
    head, *_ = vendor.reply(stream=True)
    begun = vendor.events[: first_text(vendor)]

    async def test() -> None:
        waiting = (head, *map(Send, begun), Stall(None))
        keeper = Keeper(most=1 if vendor.name != "anthropic-messages" else 3)
        async with vendor_of(vendor, waiting) as (provider, _):
            reply = await asked(app(provider, ServingSettings(admission=keeper)), vendor, stream=True).end()
            assert reply.body.startswith(b"".join(begun))
            text, finish = parsed(vendor, reply.body)
            assert text == "Hello"
            assert finish.outcome is Outcome.INCOMPLETE, finish
            assert finish.reason is not None
            assert finish.reason.unified is UnifiedFinishReason.LENGTH
            (ended,) = keeper.ended
            assert ended.was_asked
            assert ended.observation.outcome is Outcome.INCOMPLETE

    run(test())


@every_vendor
def test_a_budget_cuts_a_document_which_is_written_anew(vendor: Vendor) -> None:
    async def test() -> None:
        keeper = Keeper(most=1)
        async with vendor_of(vendor, vendor.reply(stream=False)) as (provider, _):
            reply = await asked(app(provider, ServingSettings(admission=keeper)), vendor, stream=False).end()
            assert reply.status == 200
            assert reply.body != vendor.whole
            *_, finish = read_document(PROTOCOLS[vendor.name], reply.body, StreamOptions(call_id_prefix=""))
            assert isinstance(finish, Finish)
            assert finish.outcome is Outcome.INCOMPLETE

    run(test())


@every_vendor
def test_the_limit_of_a_setting_is_put_into_a_request_that_names_none_and_goes_on_as_it_came(vendor: Vendor) -> None:
    async def test() -> None:
        rules = PROTOCOLS[vendor.name].read_request().forwarding  # type: ignore[misc]
        if rules.new_limit is None:
            return  # servers differ in the name of the limit, so the request is translated
        async with vendor_of(vendor, vendor.reply(stream=True), max_output_tokens=44) as (provider, requests):
            limits = {place[0] for place in rules.output_limits}
            body = {
                name: value for name, value in json.loads(vendor.request(stream=True)[1]).items() if name not in limits
            }
            reply = await asked(app(provider), vendor, stream=True, body=json.dumps(body).encode()).end()
            assert reply.body == b"".join(vendor.events)
            *outer, inner = rules.new_limit
            sent = json.loads(requests[0].body)
            for name in outer:
                sent = sent[name]
            assert sent[inner] == 44

    run(test())


@every_vendor
def test_an_admission_gets_its_limit_sent_and_the_json_that_it_has_judged(vendor: Vendor) -> None:
    async def test() -> None:
        keeper = Keeper(limit=33)
        async with vendor_of(vendor, vendor.reply(stream=True)) as (provider, requests):
            path, body, headers, query = vendor.request(stream=True)
            twice = body.rstrip()[:-1] + b', "max_tokens": 5}' if vendor.name == "anthropic-messages" else body
            reply = await ask(
                app(provider, ServingSettings(admission=keeper)), path, twice, headers=headers, query=query
            )
            assert reply.body == b"".join(vendor.events)
            sent = json.loads(requests[0].body)
            expected = json.loads(body)
            place: Any = expected
            *outer, inner = PROTOCOLS[vendor.name].read_request().forwarding.output_limits[0]  # type: ignore[misc]
            for name in outer:
                place = place[name]
            place[inner] = 33
            assert sent == expected
            assert requests[0].body.count(b"max_tokens") == (1 if vendor.name == "anthropic-messages" else 0)

    run(test())


@every_vendor
def test_a_client_that_leaves_cancels_the_upstream(vendor: Vendor) -> None:
    head, *_ = vendor.reply(stream=True)

    async def test() -> None:
        waiting = (head, *map(Send, vendor.events[: first_text(vendor)]), Stall(None))
        async with vendor_of(vendor, waiting) as (provider, _):  # its end waits until the vendor's connection is closed
            application, seen = app(provider), []
            application.on_did_finish_answer(seen.append)
            reply = asked(application, vendor, stream=True)
            await reply.until(lambda: b"Hello" in reply.body)
            reply.leave()
            await reply.end()
            assert [one.is_cancelled for one in seen] == [True]

    run(test())


@every_vendor
def test_a_capture_has_the_exchange_and_the_parts_and_no_key(vendor: Vendor) -> None:
    async def test() -> None:
        async with vendor_of(vendor, vendor.reply(stream=True)) as (provider, _):
            application, answers = app(provider), LastAnswers()
            application.taps = answers
            await asked(application, vendor, stream=True).end()
            (kept,) = answers.answers
            assert kept.outcome == "completed"
            parts = [part for _, _, part in kept.entries]
            assert "".join(part.value for part in parts if isinstance(part, TextPart)) == "Hello you"
            (exchange,) = bundle_of(snapshot_of(answers.answers), "serve").exchanges
            assert exchange.protocol == vendor.name
            assert exchange.body == b"".join(vendor.events)
            assert KEY not in repr(kept)

    run(test())


@every_vendor
def test_a_slow_upstream_gets_its_head_and_its_comments_between_two_events(vendor: Vendor) -> None:
    head, *_ = vendor.reply(stream=True)
    place = first_text(vendor)
    half = len(vendor.events[place]) // 2

    async def test() -> None:
        slow = (
            head,
            *map(Send, vendor.events[:place]),
            Send(vendor.events[place][:half]),
            Stall(0.2),
            Send(vendor.events[place][half:]),
            *map(Send, vendor.events[place + 1 :]),
            End(),
        )
        settings = ServingSettings(head_seconds=0, keep_alive_seconds=0.02)
        async with vendor_of(vendor, slow) as (provider, _):
            reply = await asked(app(provider, settings), vendor, stream=True).end()
            comment = b": keep-alive\n\n"
            assert reply.body.replace(comment, b"") == b"".join(vendor.events)
            has_comments = vendor.name not in {"ollama", "gemini"}
            assert (reply.body.count(comment) > 1) == has_comments

    run(test())


@every_vendor
def test_a_provider_around_a_gateway_makes_its_own_answer(vendor: Vendor) -> None:
    class Shouting(LanguageModelChatProvider):
        def __init__(self, inner: Any) -> None:
            self.inner = inner

        async def provide_language_model_chat_information(self, silent: bool, token: Any) -> Any:
            return await self.inner.provide_language_model_chat_information(silent, token)

        async def provide_language_model_chat_response(
            self, model: Any, messages: Any, options: Any, progress: Any, token: Any
        ) -> None:
            class Loud:
                def report(self, part: Any) -> None:
                    progress.report(TextPart(part.value.upper()) if isinstance(part, TextPart) else part)

            await self.inner.provide_language_model_chat_response(model, messages, options, Loud(), token)

        async def provide_token_count(self, model: Any, text: Any, token: Any) -> int:
            return 1

        async def forward_count(self, model: Any, request: Any, token: Any) -> bytes | None:
            return None

    async def test() -> None:
        async with vendor_of(vendor, vendor.reply(stream=True)) as (provider, _):
            reply = await asked(app(Shouting(provider)), vendor, stream=True).end()
            assert parsed(vendor, reply.body)[0] == "HELLO YOU"

    run(test())


COUNTS = {
    "anthropic-messages": ("/v1/messages/count_tokens", {"input_tokens": 77, "own": 1}),
    "openresponses": ("/v1/responses/input_tokens", {"object": "response.input_tokens", "input_tokens": 77, "own": 1}),
    "gemini": (f"/v1beta/models/{MODEL}:countTokens", {"totalTokens": 77, "promptTokensDetails": [], "own": 1}),
}


@pytest.mark.parametrize("vendor", [one for one in VENDORS if one.name in COUNTS], ids=lambda vendor: vendor.name)
def test_a_count_is_asked_of_an_upstream_of_the_same_wire(vendor: Vendor) -> None:
    path, said = COUNTS[vendor.name]
    counted, missing = document(200, json.dumps(said, indent=1).encode()), document(404, b"{}")

    async def test() -> None:
        async with vendor_of(vendor, counted, missing) as (provider, requests):
            body = {name: value for name, value in vendor.body.items() if name not in {"max_tokens"}}
            body |= {} if vendor.name == "gemini" else {"model": MODEL}
            data = json.dumps(body, indent=3).encode()
            application = app(provider)
            reply = await ask(application, path, data, headers=dict(vendor.headers), query=vendor.query)
            assert reply.body == json.dumps(said, indent=1).encode()
            assert requests[0].path == path
            assert requests[0].body == data
            estimated = await ask(application, path, data, headers=dict(vendor.headers))
            assert estimated.status == 200
            assert 0 < next(value for value in estimated.json.values() if isinstance(value, int)) < 77

    run(test())


SEALED = "partstream1.eyJ9.0123456789abcdef"
WITH_STATE = {
    "chat-completions": {"messages": [{"role": "user", "content": SEALED}]},
    "openresponses": {"input": [{"type": "message", "role": "user", "content": SEALED}]},
    "anthropic-messages": {"messages": [{"role": "user", "content": SEALED}]},
    "gemini": {"contents": [{"role": "user", "parts": [{"text": SEALED}]}]},
    "ollama": {"messages": [{"role": "user", "content": SEALED}]},
    "gemini-interactions": {"input": SEALED},
}
SETTINGS: list[tuple[str, dict[str, Any]]] = [
    ("a setting of the upstream", {"request": RequestSettings(system_as=SystemAs.SYSTEM)}),
    ("a setting of the upstream", {"stream": StreamOptions(thinking=ThinkingMode.OFF)}),
    ("a setting of the upstream", {"errors": ErrorMode.TEXT}),
]


@every_vendor
@pytest.mark.parametrize(("reason", "changes"), SETTINGS, ids=["request", "stream", "errors"])
def test_a_setting_that_needs_a_translation_gets_one(
    vendor: Vendor, reason: str, changes: dict[str, Any], caplog: Any
) -> None:
    async def test() -> None:
        async with vendor_of(vendor, vendor.reply(stream=True), **changes) as (provider, requests):
            with caplog.at_level(logging.DEBUG, "partstream"):
                reply = await asked(app(provider), vendor, stream=True).end()
            assert reply.body != b"".join(vendor.events)
            assert parsed(vendor, reply.body)[0] == "Hello you"
            assert requests[0].body != vendor.request(stream=True)[1]
            assert reason in caplog.text

    run(test())


@every_vendor
def test_state_of_this_server_is_never_sent_on_as_it_is(vendor: Vendor, caplog: Any) -> None:
    async def test() -> None:
        async with vendor_of(vendor, vendor.reply(stream=True)) as (provider, _):
            path, body, headers, query = vendor.request(stream=True)
            said = json.dumps({**json.loads(body), **WITH_STATE[vendor.name]}).encode()
            with caplog.at_level(logging.DEBUG, "partstream"):
                reply = await ask(app(provider), path, said, headers=headers, query=query)
            assert reply.body != b"".join(vendor.events)
            assert "state that this server has sealed" in caplog.text

    run(test())


_REASONING = {"type": "reasoning", "id": "rs_9", "summary": [], "encrypted_content": "vendor=="}
_OUTPUT = [_REASONING, *json.loads(VENDORS[2].whole)["output"]]
THOUGHT: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "anthropic-messages": (
        {"thinking": {"type": "enabled", "budget_tokens": 1024}},
        {"content": [{"type": "thinking", "thinking": "Hm", "signature": "vendor=="}, {"type": "text", "text": "Hi"}]},
    ),
    "openresponses": ({"include": ["reasoning.encrypted_content"]}, {"output": _OUTPUT}),
}


@pytest.mark.parametrize("wire", THOUGHT)
def test_state_that_was_sealed_here_goes_back_as_the_upstream_has_given_it(wire: str) -> None:
    vendor = next(one for one in VENDORS if one.name == wire)
    asks, answer = THOUGHT[wire]
    (place,) = answer
    thought = document(200, json.dumps({**json.loads(vendor.whole), **answer}).encode())

    async def test() -> None:
        async with server_of(thought, vendor.reply(stream=True)) as (url, requests):
            usual = configuration(url, protocol=wire, models=(model(),), api_key=Secret(KEY))
            translating = GatewayProvider(replace(usual, request=RequestSettings(system_as=SystemAs.SYSTEM)))
            passing = GatewayProvider(usual)
            path, body, headers, query = vendor.request(stream=False)
            own = {**json.loads(body), "max_tokens": 5000, **asks}
            first = await ask(app(translating), path, json.dumps(own).encode(), headers=headers, query=query)
            said = first.json[place]
            assert "partstream1." in json.dumps(said)
            if wire == "openresponses":
                later = {**own, "input": [*own["input"], *said], "stream": True}
            else:
                turn = {"role": "assistant", "content": said}
                messages = [*own["messages"][:1], turn, {"role": "user", "content": "And?"}]
                later = {**own, "messages": messages, "stream": True}
            reply = await ask(app(passing), path, json.dumps(later).encode(), headers=headers, query=query)
            assert reply.body == b"".join(vendor.events)
            went = requests[1].body.decode()
            assert "partstream1." not in went
            expected = json.dumps(later).replace(_sealed(said), "vendor==")
            assert json.loads(went) == json.loads(expected)
            await translating.aclose()
            await passing.aclose()

    run(test())


def _sealed(said: Any) -> str:
    (found,) = re.findall(r"partstream1\.[\w-]+\.[0-9a-f]{16}", json.dumps(said))
    return str(found)


def test_state_of_another_upstream_and_in_another_form_is_translated() -> None:
    foreign = encode_state({"item": {"signature": "x"}, "beside": {"origin": "another/model"}})
    block = {"type": "thinking", "thinking": "Hm", "signature": foreign}
    hi = {"role": "user", "content": "Hi"}
    part = {"text": "Hm", "thoughtSignature": b64encode(foreign.encode()).decode()}
    histories: list[tuple[str, dict[str, Any]]] = [
        ("anthropic-messages", {"messages": [{"role": "assistant", "content": [block]}, hi]}),
        ("gemini", {"contents": [{"role": "model", "parts": [part]}, {"role": "user", "parts": [{"text": "Hi"}]}]}),
    ]

    async def test(vendor: Vendor, more: dict[str, Any]) -> None:
        async with vendor_of(vendor, vendor.reply(stream=True)) as (provider, requests):
            body = changed(vendor, stream=True, **more)
            reply = await asked(app(provider), vendor, stream=True, body=body).end()
            assert parsed(vendor, reply.body)[0] == "Hello you"
            assert foreign.encode() not in requests[0].body
            assert b64encode(foreign.encode()) not in requests[0].body

    for wire, more in histories:
        run(test(BY_NAME[wire], more))


@every_vendor
@both_forms
def test_a_client_gets_the_form_that_it_wants_of_a_server_that_gives_the_other_one(
    vendor: Vendor, stream: bool
) -> None:
    async def test() -> None:
        async with vendor_of(vendor, vendor.reply(stream=not stream)) as (provider, requests):
            reply = await asked(app(provider), vendor, stream=stream).end()
            assert reply.status == 200
            assert len(requests) == 1
            content_type = reply.headers["content-type"]
            assert content_type.startswith(vendor.content_type if stream else "application/json")
            if stream:
                assert parsed(vendor, reply.body)[0] == "Hello you"
            else:
                assert b'"Hello you"' in reply.body
                assert isinstance(reply.json, dict)

    run(test())


LIMITED = {
    "openresponses": (("max_output_tokens",), True),
    "gemini": (("generationConfig", "maxOutputTokens"), True),
    "gemini-interactions": (("generation_config", "max_output_tokens"), True),
    "ollama": (("options", "num_predict"), True),
    "chat-completions": (("max_completion_tokens",), False),
    "anthropic-messages": (("max_tokens",), True),
}
"""The limit of a request on each wire, and whether it is the same on all servers of the wire."""


@every_vendor
def test_the_limit_of_a_setting_is_added_to_a_request_that_names_none(vendor: Vendor) -> None:
    (*outer, name), is_forwarded = LIMITED[vendor.name]

    async def test() -> None:
        settings = RequestSettings(max_output_tokens=77)
        async with vendor_of(vendor, vendor.reply(stream=True), request=settings) as (provider, requests):
            path, body, headers, query = vendor.request(stream=True)
            whole = json.loads(body)
            assert (whole[outer[0]] if outer else whole).pop(name, None) is not None
            reply = await ask(app(provider), path, json.dumps(whole).encode(), headers=headers, query=query)
            assert (reply.body == b"".join(vendor.events)) is is_forwarded
            (whole[outer[0]] if outer else whole)[name] = 77
            assert (json.loads(requests[0].body) == whole) is is_forwarded
            assert b"77" in requests[0].body

    run(test())


@every_vendor
@pytest.mark.parametrize("in_base64", [False, True], ids=["as it is", "in base64"])
def test_state_goes_to_the_server_that_has_sealed_it(vendor: Vendor, in_base64: bool) -> None:
    """A server that seals says so in its replies; what this one has sealed for it is opened here all the same."""
    head, *events = vendor.reply(stream=True)
    assert isinstance(head, Head)
    sealing = replace(head, headers=(*head.headers, (SEALING_HEADER, "1")))

    async def test() -> None:
        async with vendor_of(vendor, (sealing, *events)) as (provider, requests):
            application = app(provider)
            path, body, headers, query = vendor.request(stream=True)
            own = fingerprint_of(vendor.name, provider.configuration.base_url)

            async def sent(origin: str) -> bool:
                seal = encode_state({"item": {"type": "x", "state": 1}, "beside": {"origin": f"{origin}/{MODEL}"}})
                sealed = b64encode(seal.encode()).decode() if in_base64 else seal
                more = json.loads(json.dumps(WITH_STATE[vendor.name]).replace(SEALED, sealed))
                said = json.dumps({**json.loads(body), **more}).encode()
                await ask(application, path, said, headers=headers, query=query)
                return requests[-1].body == said

            assert not await sent("another")  # nothing is known of the upstream yet
            assert await sent("another")
            assert not await sent(own)

    run(test())


@every_vendor
def test_settings_that_add_something_hold_for_a_request_as_it_came(vendor: Vendor) -> None:
    async def test() -> None:
        settings = RequestSettings(extra_body={"own": [1]}, extra_headers={"x-team": "blue"})
        async with vendor_of(vendor, vendor.reply(stream=True), request=settings) as (provider, requests):
            reply = await asked(app(provider), vendor, stream=True).end()
            assert reply.body == b"".join(vendor.events)
            assert json.loads(requests[0].body) == {**json.loads(vendor.request(stream=True)[1]), "own": [1]}
            assert requests[0].headers["x-team"] == "blue"

    run(test())


_LLAMA_CPP = {"data": [{"id": MODEL, "object": "model", "owned_by": "llamacpp", "meta": {"n_ctx": 8192}}]}
_CHOICES: Mapping[str, tuple[Any, Any, Any]] = {
    "chat-completions": ({"type": "function", "function": {"name": "clock"}}, "none", "required"),
    "openresponses": ({"type": "function", "name": "clock"}, "none", "required"),
    "anthropic-messages": ({"type": "tool", "name": "clock"}, {"type": "none"}, {"type": "any"}),
}
"""How a wire names one tool, how it forbids all, and how it demands any."""


@pytest.mark.parametrize("wire", _CHOICES)
def test_a_server_that_keeps_to_no_choice_of_tools_gets_the_tools_that_may_be_called(wire: str) -> None:
    """docs/wires/practice.md#choices-of-tools."""
    vendor = BY_NAME[wire]
    usual = document(200, json.dumps(_LLAMA_CPP).encode()), document(200, b"{}")

    async def sent(choice: Any, *lists: Any, **settings: Any) -> tuple[list[str], Any]:
        async with vendor_of(vendor, *lists, vendor.reply(stream=True), **settings) as (provider, requests):
            tools = [_tool(wire, name) for name in ("weather", "clock")]
            body = changed(vendor, stream=True, tools=tools, tool_choice=choice)
            reply = await asked(app(provider), vendor, stream=True, body=body).end()
            assert parsed(vendor, reply.body)[0] == "Hello you"
            said = json.loads(requests[-1].body)
            assert (requests[-1].body == body) is (not lists or choice == demand)
            return [one.get("function", one)["name"] for one in said.get("tools", ())], said.get("tool_choice")

    named, none, demand = _CHOICES[wire]
    for choice, names, goes_on in (
        (named, ["clock"], demand),
        (none, [], None),
        (demand, ["weather", "clock"], demand),
    ):
        run(_same(sent(choice, *usual, models=()), (names, goes_on)))
        run(_same(sent(choice), (["weather", "clock"], choice)))  # of any other server


def _tool(wire: str, name: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {}}
    if wire == "anthropic-messages":
        return {"name": name, "description": "", "input_schema": schema}
    function = {"name": name, "description": "", "parameters": schema}
    return (
        {"type": "function", "function": function} if wire == "chat-completions" else {"type": "function", **function}
    )


async def _same(got: Any, expected: object) -> None:
    assert await got == expected


@every_vendor
def test_another_wire_is_translated(vendor: Vendor) -> None:
    other = VENDORS[VENDORS.index(vendor) - 1]

    async def test() -> None:
        async with vendor_of(other, other.reply(stream=True)) as (provider, _):
            reply = await asked(app(provider), vendor, stream=True).end()
            assert parsed(vendor, reply.body)[0] == "Hello you"

    run(test())


def test_an_event_that_no_reader_understands_goes_on_with_what_follows() -> None:
    broken = b'data: {"id": "c-9", "choices": [{"index": 0, "delta": {"tool_calls": 7}, "finish_reason": null}]}\n\n'
    vendor = VENDORS[0]
    head, *_ = vendor.reply(stream=True)
    events = (*vendor.events[:3], broken, b"data: {nonsense\n\n", *vendor.events[3:])

    async def test() -> None:
        async with vendor_of(vendor, (head, *map(Send, events), End())) as (provider, _):
            reply = await asked(app(provider), vendor, stream=True).end()
            assert reply.body == b"".join(events)

    run(test())


def test_an_error_in_the_stream_goes_on_without_the_key() -> None:
    vendor = VENDORS[0]
    head, *_ = vendor.reply(stream=True)
    error = b'data: {"error": {"message": "no, %b", "code": 500}}\n\n' % KEY.encode()

    async def test() -> None:
        async with vendor_of(vendor, (head, *map(Send, vendor.events[:3]), Send(error), End())) as (provider, _):
            application, seen = app(provider), []
            application.on_did_finish_answer(seen.append)
            reply = await asked(application, vendor, stream=True).end()
            assert reply.body == b"".join(vendor.events[:3]) + error.replace(KEY.encode(), b"***")
            assert [one.outcome for one in seen] == [Outcome.FAILED]

    run(test())


def test_an_empty_answer_is_an_answer() -> None:
    vendor = VENDORS[0]
    said = json.loads(vendor.whole)
    said["choices"][0]["message"]["content"] = ""
    empty = json.dumps(said, indent=1).encode()
    stream = (vendor.reply(stream=True)[0], Send(vendor.events[0]), *map(Send, vendor.events[3:]), End())

    async def test() -> None:
        async with vendor_of(vendor, document(200, empty), stream) as (provider, _):
            application = app(provider)
            assert (await asked(application, vendor, stream=False).end()).body == empty
            events = b"".join((vendor.events[0], *vendor.events[3:]))
            assert (await asked(application, vendor, stream=True).end()).body == events

    run(test())


@every_vendor
def test_a_long_answer_that_stops_early_still_ends_as_its_wire_ends_it(vendor: Vendor) -> None:
    head, *_ = vendor.reply(stream=True)
    place = first_text(vendor)
    many = [vendor.events[place - 1]] * 3000

    async def test() -> None:
        keeper = Keeper(most=len(many))
        long = (head, *map(Send, vendor.events[: place - 1]), *map(Send, many), Stall(None))
        async with vendor_of(vendor, long) as (provider, _):
            reply = await asked(app(provider, ServingSettings(admission=keeper)), vendor, stream=True).end()
            text, finish = parsed(vendor, reply.body)
            assert text.startswith("Hello" * (len(many) - 3))
            assert finish.outcome is Outcome.INCOMPLETE, finish
            if vendor.name == "openresponses":
                done = json.loads(reply.body.rpartition(b"response.incomplete\ndata: ")[2].partition(b"\n")[0])
                assert done["response"]["output"][0]["content"][0]["text"] == text
                assert done["response"]["output"][0]["phase"] == "final"
                assert done["response"]["id"] == "resp_9"

    run(test())


@every_vendor
@pytest.mark.parametrize("why", ["time", "drain"])
def test_a_server_that_has_to_end_a_stream_ends_it_as_its_wire_does(vendor: Vendor, why: str) -> None:
    head, *_ = vendor.reply(stream=True)

    async def test() -> None:
        waiting = (head, *map(Send, vendor.events[: first_text(vendor)]), Stall(None))
        settings = ServingSettings(answer_seconds=0.3 if why == "time" else 60.0)
        async with vendor_of(vendor, waiting) as (provider, _):
            application = app(provider, settings)
            reply = asked(application, vendor, stream=True)
            await reply.until(lambda: b"Hello" in reply.body)
            if why == "drain":
                await application.drain(0)
            await reply.end()
            text, finish = parsed(vendor, reply.body)
            assert text == "Hello"
            assert finish.outcome is not Outcome.COMPLETED
            assert reply.body.startswith(b"".join(vendor.events[: first_text(vendor)]))

    run(test())


def test_an_upstream_that_leaves_its_connection_open_has_ended_all_the_same() -> None:
    vendor = VENDORS[0]
    head, *_ = vendor.reply(stream=True)

    async def test() -> None:
        async with vendor_of(vendor, (head, *map(Send, vendor.events), Stall(None))) as (provider, _):
            application, answers, seen = app(provider), LastAnswers(), []
            application.taps = answers
            application.on_did_finish_answer(seen.append)
            reply = await asked(application, vendor, stream=True).end()
            assert reply.body == b"".join(vendor.events)
            assert [one.outcome for one in seen] == [Outcome.COMPLETED]
            (exchange,) = bundle_of(snapshot_of(answers.answers), "serve").exchanges
            assert (exchange.end.how.value, exchange.end.error) == ("whole", None)

    run(test())


def without_usage(**more: Any) -> bytes:
    said = json.loads(VENDORS[0].request(stream=True)[1])
    del said["stream_options"]
    return json.dumps({**said, **more}, indent=1).encode()


@pytest.mark.parametrize("size", [1, 60, 100_000])
def test_the_usage_is_asked_for_and_a_client_that_has_not_asked_does_not_get_it(size: int) -> None:
    """Otherwise hidden thinking would cost nothing in the ledger."""
    vendor = VENDORS[0]
    whole = b"".join(vendor.events)
    head, *_ = vendor.reply(stream=True)

    async def test() -> None:
        cut = (head, *(Send(whole[at : at + size]) for at in range(0, len(whole), size)), End())
        async with vendor_of(vendor, cut) as (provider, requests):
            application, seen = app(provider), []
            application.on_did_finish_answer(seen.append)
            own = without_usage()
            reply = await asked(application, vendor, stream=True, body=own).end()
            assert reply.body == b"".join(one for one in vendor.events if b'"usage"' not in one)
            assert requests[0].body == own.replace(b"{", b'{"stream_options":{"include_usage":true},', 1)
            (answer,) = seen
            assert answer.usage is not None
            assert (answer.usage.input_tokens, answer.usage.output_tokens) == vendor.tokens
            with_another = without_usage(stream_options={"include_obfuscation": False})
            await asked(application, vendor, stream=True, body=with_another).end()
            options = json.loads(requests[1].body)["stream_options"]
            assert options == {"include_obfuscation": False, "include_usage": True}

    run(test())


def test_an_upstream_that_refuses_to_be_asked_for_usage_is_asked_without_it() -> None:
    vendor = VENDORS[0]
    refusal = document(400, b'{"error": {"message": "Unknown parameter: stream_options", "param": "stream_options"}}')

    async def test() -> None:
        async with vendor_of(vendor, refusal, vendor.reply(stream=True)) as (provider, requests):
            application, own = app(provider), without_usage()
            for _ in range(2):
                reply = await asked(application, vendor, stream=True, body=own).end()
                assert reply.body == b"".join(vendor.events)
            assert [one.body == own for one in requests] == [False, True, True]

    run(test())


def test_a_field_that_the_client_itself_has_sent_is_refused_in_the_words_of_the_upstream() -> None:
    vendor = VENDORS[0]
    said = b'{"error": {"message": "Unknown parameter: stream_options", "param": "stream_options"}}'

    async def test() -> None:
        async with vendor_of(vendor, document(400, said)) as (provider, requests):
            reply = await asked(app(provider), vendor, stream=True).end()
            assert (reply.status, reply.body) == (400, said)
            assert len(requests) == 1

    run(test())


LOSSY = [one for one in VENDORS if one.name in {"chat-completions", "openresponses", "anthropic-messages"}]


@pytest.mark.parametrize("vendor", LOSSY, ids=lambda vendor: vendor.name)
@pytest.mark.parametrize("strict", [False, True])
def test_what_goes_through_is_not_among_the_fields_that_reach_no_model(vendor: Vendor, strict: bool) -> None:
    said = json.loads(vendor.request(stream=True)[1])
    body = json.dumps({**said, "tools": [*said.get("tools", ()), {"type": "odd"}]}).encode()

    async def test() -> None:
        settings = ServingSettings(strict=strict)
        async with vendor_of(vendor, vendor.reply(stream=True)) as (provider, _):
            reply = await asked(app(provider, settings), vendor, stream=True, body=body).end()
            assert reply.status == 200
            assert DROPPED_HEADER not in reply.headers
        hidden = StreamOptions(thinking=ThinkingMode.OFF)
        async with vendor_of(vendor, vendor.reply(stream=True), stream=hidden) as (provider, requests):
            reply = await asked(app(provider, settings), vendor, stream=True, body=body).end()
            assert reply.status == (400 if strict else 200)
            assert len(requests) == (0 if strict else 1)
            assert strict or "tools[].odd" in reply.headers[DROPPED_HEADER]

    run(test())


@every_vendor
def test_no_event_of_this_server_begins_another_response_while_the_upstream_thinks(vendor: Vendor) -> None:
    head, *_ = vendor.reply(stream=True)

    async def test() -> None:
        settings = ServingSettings(head_seconds=0, keep_alive_seconds=0.01, idle_event_seconds=0.01)
        for slow in ((Stall(0.1), head), (head, Stall(0.1))):
            steps = (*slow, *map(Send, vendor.events), End())
            async with vendor_of(vendor, steps) as (provider, _):
                reply = await asked(app(provider, settings), vendor, stream=True).end()
                assert reply.body.replace(b": keep-alive\n\n", b"") == b"".join(vendor.events)

    run(test())


def test_a_header_that_http_cannot_send_on_is_left_out() -> None:
    vendor = VENDORS[0]

    async def test() -> None:
        async with vendor_of(vendor, vendor.reply(stream=True)) as (provider, requests):
            reply = await asked(app(provider), vendor, stream=True, headers={"openai-project": "gr\u00fcn"}).end()
            assert reply.body == b"".join(vendor.events)
            assert "openai-project" not in requests[0].headers

    run(test())


# ---- What nothing here can read or do ----


def changed(vendor: Vendor, *, stream: bool, **more: Any) -> bytes:
    """A request with other fields, in its vendor's JSON."""
    return json.dumps({**json.loads(vendor.request(stream=stream)[1]), **more}, indent=1).encode()


UNREAD: list[tuple[str, dict[str, Any]]] = [
    ("chat-completions", {"n": 2}),
    ("chat-completions", {"functions": [{"name": "f"}], "function_call": {"name": "f"}, "n": 3}),
    ("chat-completions", {"modalities": ["text", "audio"], "audio": {"voice": "ash", "format": "wav"}}),
    ("chat-completions", {"messages": [{"role": "narrator", "content": "Hi"}]}),
    ("chat-completions", {"messages": [{"role": "function", "name": "f", "content": "1"}]}),
    ("chat-completions", {"messages": [{"role": "user", "content": [{"type": "odd"}, 7]}]}),
    ("chat-completions", {"tool_choice": {"type": "custom", "custom": {"name": "gone"}}}),
    ("openresponses", {"prompt": {"id": "pmpt_1"}}),
    ("openresponses", {"conversation": "conv_1"}),
    ("openresponses", {"previous_response_id": "resp_of_the_vendor"}),
    ("openresponses", {"input": [{"type": "item_reference", "id": "msg_of_the_vendor"}]}),
    ("openresponses", {"input": [{"type": "message", "role": "narrator", "content": "Hi"}]}),
    ("anthropic-messages", {"thread": {"type": "create"}}),
    ("anthropic-messages", {"messages": [{"role": "narrator", "content": "Hi"}]}),
    ("gemini", {"generationConfig": {"candidateCount": 2}}),
    ("gemini", {"contents": [{"role": "narrator", "parts": [{"text": "Hi"}]}]}),
    ("ollama", {"messages": [{"role": "narrator", "content": "Hi"}]}),
    ("gemini-interactions", {"previous_interaction_id": "v1_8"}),
    ("gemini-interactions", {"input": [{"type": "user_input", "content": [7]}]}),
]
"""Requests of which nothing here can read or do all, by their wire."""
BY_NAME = {vendor.name: vendor for vendor in VENDORS}
unread = pytest.mark.parametrize(
    ("wire", "more"), UNREAD, ids=lambda one: one if isinstance(one, str) else str(one)[:40]
)


@unread
@both_forms
def test_what_is_refused_elsewhere_is_for_a_vendor_of_the_same_wire_to_understand(
    wire: str, more: dict[str, Any], stream: bool
) -> None:
    vendor = BY_NAME[wire]

    async def test() -> None:
        async with vendor_of(vendor, vendor.reply(stream=stream)) as (provider, requests):
            application, seen = app(provider, ServingSettings(strict=True)), []
            application.on_did_finish_answer(seen.append)
            body = changed(vendor, stream=stream, **more)
            reply = await asked(application, vendor, stream=stream, body=body).end()
            assert reply.body == (b"".join(vendor.events) if stream else vendor.whole)
            assert requests[0].body == body
            (answer,) = seen
            assert answer.usage is not None
            assert (answer.usage.input_tokens, answer.usage.output_tokens) == vendor.tokens

    run(test())


@unread
def test_what_is_refused_elsewhere_is_refused_in_the_same_words_by_each_way_to_translate(
    wire: str, more: dict[str, Any]
) -> None:
    vendor, other = BY_NAME[wire], VENDORS[[one.name for one in VENDORS].index(wire) - 1]
    hidden = StreamOptions(thinking=ThinkingMode.OFF)

    async def test() -> None:
        said = set()
        for upstream, changes in ((vendor, {"stream": hidden}), (other, {})):
            for settings in (ServingSettings(), ServingSettings(admission=Keeper())):
                async with vendor_of(upstream, upstream.reply(stream=True), **changes) as (provider, requests):
                    application, seen = app(provider, settings), []
                    application.on_did_finish_answer(seen.append)
                    body = changed(vendor, stream=True, **more)
                    reply = await asked(application, vendor, stream=True, body=body).end()
                    if "audio" in more:  # it is left out, and named
                        assert reply.status == 200
                        continue
                    assert reply.status in {400, 404}
                    assert not requests
                    assert [one.status for one in seen] == [reply.status]
                    reply.json.pop("request_id", None)
                    said.add(json.dumps({**reply.json, "request_id": None}))
        assert len(said) <= 1

    run(test())


@pytest.mark.parametrize(
    ("wire", "more", "is_admitted"),
    [
        ("chat-completions", {"n": 2}, True),
        ("gemini", {"generationConfig": {"candidateCount": 2}}, True),
        ("chat-completions", {"messages": [{"role": "narrator", "content": "Hi"}]}, False),
        ("gemini", {"contents": [{"role": "narrator", "parts": [{"text": "Hi"}]}]}, False),
        ("anthropic-messages", {"thread": {"type": "create"}}, False),
    ],
)
def test_nothing_is_admitted_that_was_not_read(wire: str, more: dict[str, Any], is_admitted: bool) -> None:
    vendor = BY_NAME[wire]

    async def test() -> None:
        async with vendor_of(vendor, vendor.reply(stream=True)) as (provider, requests):
            application = app(provider, ServingSettings(admission=Keeper()))
            body = changed(vendor, stream=True, **more)
            reply = await asked(application, vendor, stream=True, body=body).end()
            assert (reply.status == 200) is is_admitted
            assert [json.loads(one.body) for one in requests] == ([json.loads(body)] if is_admitted else [])

    run(test())


def said(*parts: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"role": "user", "content": [{"type": "text", "text": "Hi"}, *parts]}]


def answered(**answer: Any) -> list[dict[str, Any]]:
    return [*said(), {"role": "assistant", "content": "x", **answer}, *said()]


OF_ANOTHER = seal_state({"type": "message", "content": [{"type": "input_file", "file_id": "file-1"}]}, {}) or ""
IN_BASE64 = f" {b64encode(OF_ANOTHER.encode()).decode()}"
OF_THE_ACCOUNT: list[tuple[str, str, dict[str, Any]]] = [
    ("chat-completions", "file_id", {"messages": said({"type": "file", "file": {"file_id": "file-1"}})}),
    ("chat-completions", "FILE_ID", {"messages": said({"type": "file", "file": {"FILE_ID": "file-1"}})}),
    ("chat-completions", "url", {"messages": said({"type": "image_url", "image_url": {"url": "file:///etc/passwd"}})}),
    ("chat-completions", "previous_response_id", {"previous_response_id": "resp_1"}),
    ("chat-completions", "data_sources", {"data_sources": [{"type": "azure_search", "parameters": {}}]}),
    ("chat-completions", "cachedContent", {"cachedContent": "cachedContents/1"}),
    (
        "openresponses",
        "file_id",
        {"input": [{"role": "user", "content": [{"type": "input_file", "file_id": "file-1"}]}]},
    ),
    (
        "openresponses",
        "file_id",
        {
            "input": [
                {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_file", "file_id": "f"}]}
            ]
        },
    ),
    ("openresponses", "vector_store_ids", {"tools": [{"type": "file_search", "vector_store_ids": ["vs_1"]}]}),
    (
        "openresponses",
        "file_ids",
        {"tools": [{"type": "code_interpreter", "container": {"type": "auto", "file_ids": ["file-1"]}}]},
    ),
    ("openresponses", "skill_id", {"tools": [{"type": "shell", "environment": {"skills": [{"skill_id": "s"}]}}]}),
    ("anthropic-messages", "file_id", {"messages": said({"type": "document", "source": {"file_id": "file_1"}})}),
    ("anthropic-messages", "file_id", {"messages": said({"type": "container_upload", "file_id": "file_1"})}),
    ("anthropic-messages", "skill_id", {"container": {"skills": [{"type": "custom", "skill_id": "skill_1"}]}}),
    ("gemini", "cachedContent", {"cachedContent": "cachedContents/1"}),
    ("gemini", "cached_content", {"cached_content": "cachedContents/1"}),
    ("gemini", "fileUri", {"contents": [{"parts": [{"fileData": {"fileUri": "gs://bucket/file"}}]}]}),
    (
        "gemini",
        "file_uri",
        {"contents": [{"parts": [{"file_data": {"file_uri": "https://generativelanguage.googleapis.com/files/1"}}]}]},
    ),
    ("gemini", "fileSearchStoreNames", {"tools": [{"fileSearch": {"fileSearchStoreNames": ["fileSearchStores/1"]}}]}),
    ("gemini", "retrieval", {"tools": [{"retrieval": {"vertexAiSearch": {"datastore": "d"}}}]}),
    ("gemini-interactions", "uri", {"input": [{"type": "document", "uri": "gs://bucket/file"}]}),
    ("gemini-interactions", "uri", {"input": {"type": "document", "uri": "gs://bucket/file"}}),
    ("gemini-interactions", "cached_content", {"cached_content": "cachedContents/1"}),
    ("ollama", "cachedContent", {"cachedContent": "cachedContents/1"}),
    # What a client seals itself goes on as it is in the seal.
    (
        "chat-completions",
        "file_id",
        {"messages": answered(reasoning_details=[{"type": "reasoning.encrypted", "data": OF_ANOTHER}])},
    ),
    (
        "openresponses",
        "file_id",
        {"input": [{"type": "reasoning", "id": "r", "summary": [], "encrypted_content": OF_ANOTHER}, *said()]},
    ),
    (
        "anthropic-messages",
        "file_id",
        {"messages": answered(content=[{"type": "thinking", "thinking": "x", "signature": OF_ANOTHER}])},
    ),
    (
        "gemini",
        "file_id",
        {
            "contents": [
                {"role": "user", "parts": [{"text": "Hi"}]},
                {"role": "model", "parts": [{"text": "x", "thoughtSignature": IN_BASE64}]},
                {"role": "user", "parts": [{"text": "Hi"}]},
            ]
        },
    ),
]
"""Requests that name what an upstream keeps for its account, by their wire and the name of the field."""


@pytest.mark.parametrize(("wire", "name", "more"), OF_THE_ACCOUNT)
def test_callers_who_share_a_key_name_nothing_that_its_upstream_keeps(
    wire: str, name: str, more: dict[str, Any]
) -> None:
    vendor, other = BY_NAME[wire], VENDORS[[one.name for one in VENDORS].index(wire) - 1]

    async def test() -> None:
        for upstream in (vendor, other):
            async with vendor_of(upstream, upstream.reply(stream=True)) as (provider, requests):
                application = app(provider, ServingSettings(authenticate=lambda _headers: Caller("ann")))
                body = changed(vendor, stream=True, **more)
                reply = await asked(application, vendor, stream=True, body=body).end()
                assert reply.status == 400
                assert f"{name}: got what an upstream keeps" in reply.body.decode()
                assert not requests

    run(test())


def test_a_seal_outside_of_the_conversation_adds_no_field_to_what_was_judged() -> None:
    async def test() -> None:
        async with vendor_of(GEMINI, GEMINI.reply(stream=True)) as (provider, requests):
            origin = Origin(provider.configuration.fingerprint, MODEL).key
            more = seal_state({"x": "y", "candidateCount": 8, "maxOutputTokens": 99_999}, {"origin": origin})
            body = changed(GEMINI, stream=True, generationConfig={"maxOutputTokens": 9, "x": more})
            application = app(provider, ServingSettings(authenticate=lambda _headers: Caller("ann")))
            await asked(application, GEMINI, stream=True, body=body).end()
            assert b"99999" not in b"".join(one.body for one in requests)
            assert b"candidateCount" not in b"".join(one.body for one in requests)

    run(test())


def test_of_two_fields_of_a_name_the_upstream_of_a_shared_key_gets_the_one_that_was_looked_at() -> None:
    async def test() -> None:
        async with vendor_of(CHAT, CHAT.reply(stream=True)) as (provider, requests):
            application = app(provider, ServingSettings(authenticate=lambda _headers: Caller("ann")))
            body = CHAT.request(stream=True)[1].replace(b"{", b'{"file_id": "file-1", "file_id": null, ', 1)
            assert (await asked(application, CHAT, stream=True, body=body).end()).status == 200
            assert b"file-1" not in requests[0].body

    run(test())


UNSUSPICIOUS: list[tuple[str, dict[str, Any]]] = [
    (
        "chat-completions",
        {"tools": [{"type": "function", "function": {"name": "f", "parameters": {"properties": {"file_id": {}}}}}]},
    ),
    ("chat-completions", {"messages": said({"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}})}),
    ("chat-completions", {"metadata": {"file_id": "mine"}}),
    ("chat-completions", {"file_id": None, "retrieval": []}),
    (
        "anthropic-messages",
        {
            "messages": [
                *said(),
                {
                    "role": "assistant",
                    "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {"file_id": "1"}}],
                },
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "file_id"}]},
            ]
        },
    ),
    (
        "anthropic-messages",
        {"container": {"id": "container_1", "skills": [{"type": "anthropic", "skill_id": "pptx"}]}},
    ),
    (
        "gemini",
        {
            "contents": [
                {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {"file_id": "1"}}}]},
                {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"file_id": "1"}}}]},
            ]
        },
    ),
]
"""Requests whose names are their client's own, or those of an answer."""


@pytest.mark.parametrize(("wire", "more"), UNSUSPICIOUS)
def test_what_tools_and_answers_of_a_shared_key_have_named_goes_on(wire: str, more: dict[str, Any]) -> None:
    vendor = BY_NAME[wire]

    async def test() -> None:
        async with vendor_of(vendor, vendor.reply(stream=True)) as (provider, requests):
            application = app(provider, ServingSettings(authenticate=lambda _headers: Caller("ann")))
            body = changed(vendor, stream=True, **more)
            reply = await asked(application, vendor, stream=True, body=body).end()
            assert (reply.status, json.loads(requests[0].body)) == (200, json.loads(body))

    run(test())


def test_several_choices_come_as_they_are_and_their_tokens_count() -> None:
    vendor = BY_NAME["chat-completions"]
    head, *_ = vendor.reply(stream=True)
    *said, usage, done = vendor.events
    second = [event.replace(b'"index": 0', b'"index": 1').replace(b"Hello", b"Hullo") for event in said]
    events = [one for pair in zip(said, second, strict=True) for one in pair] + [usage, done]

    async def test() -> None:
        async with vendor_of(vendor, (head, *map(Send, events), End())) as (provider, _):
            application, seen = app(provider), []
            application.on_did_finish_answer(seen.append)
            reply = await asked(application, vendor, stream=True, body=changed(vendor, stream=True, n=2)).end()
            assert reply.body == b"".join(events)
            assert seen[0].usage.output_tokens == vendor.tokens[1]

    run(test())


def test_a_response_that_has_failed_is_the_vendors_own_document() -> None:
    vendor = BY_NAME["openresponses"]
    error = {"code": "server_error", "message": f"no, {KEY}", "own": 1}
    body = json.dumps({**json.loads(vendor.whole), "status": "failed", "error": error}, indent=1).encode()

    async def test() -> None:
        async with vendor_of(vendor, document(200, body)) as (provider, _):
            application, seen = app(provider), []
            application.on_did_finish_answer(seen.append)
            reply = await asked(application, vendor, stream=False).end()
            assert (reply.status, reply.body) == (200, body.replace(KEY.encode(), b"***"))
            assert [one.outcome for one in seen] == [Outcome.FAILED]

    run(test())


# ---- Arrays of Gemini ----


def array(vendor: Vendor) -> bytes:
    """The vendor's stream for a client that wants an array, as Google writes it."""
    events = [json.dumps(json.loads(event[6:]), indent=2) for event in vendor.events]
    return ("[" + "\n,\r\n".join(events) + "\n]\n").encode()


@pytest.mark.parametrize("size", [1, 3, 50, 100_000])
def test_an_array_comes_as_it_is_in_whole_values(size: int) -> None:
    vendor = BY_NAME["gemini"]
    vendor = replace(
        vendor, events=(*vendor.events[:1], vendor.events[0].replace(b"Hello", b'\\"]}\\\\'), *vendor.events[1:])
    )
    whole = array(vendor)

    async def test() -> None:
        head = replace(vendor.reply(stream=True)[0], headers=(("content-type", "application/json; charset=UTF-8"),))
        cut = (head, *(Send(whole[at : at + size]) for at in range(0, len(whole), size)), End())
        async with vendor_of(vendor, cut) as (provider, requests):
            application, seen = app(provider), []
            application.on_did_finish_answer(seen.append)
            path, body, headers, _ = vendor.request(stream=True)
            reply = await ask(application, path, body, headers=headers)
            assert reply.body == whole
            assert reply.headers["content-type"] == "application/json; charset=UTF-8"
            assert requests[0].query == ""
            assert requests[0].headers["accept"] == "application/json"
            sent = b""
            for piece in reply.messages[1:-1]:
                sent += piece["body"]
                assert json.loads(sent.strip().removesuffix(b"]") + b"]")
            assert (seen[0].usage.input_tokens, seen[0].usage.output_tokens) == vendor.tokens

    run(test())


@pytest.mark.parametrize("how", ["broken", "budget"])
def test_an_array_that_stops_early_is_an_array_still(how: str) -> None:
    vendor = BY_NAME["gemini"]
    whole = array(vendor)
    begun = whole[: whole.index(b"Hello") + 200]

    async def test() -> None:
        head = replace(vendor.reply(stream=True)[0], headers=(("content-type", "application/json"),))
        end = End(EndKind.CLOSED) if how == "broken" else Stall(None)
        keeper = Keeper(most=1) if how == "budget" else None
        async with vendor_of(vendor, (head, Send(begun), end)) as (provider, _):
            path, body, headers, _ = vendor.request(stream=True)
            reply = await ask(app(provider, ServingSettings(admission=keeper)), path, body, headers=headers)
            first, last = reply.json
            assert first == json.loads(vendor.events[0][6:])
            assert "error" in last if how == "broken" else last["candidates"][0]["finishReason"] == "MAX_TOKENS"

    run(test())


class Way:
    """The way of an answer's bytes, which notes what passes, and when it is let go."""

    has_begun = False

    def __init__(self) -> None:
        self.came: list[bytes] = []

    def data(self, data: bytes, *, is_last: bool = False) -> None:
        self.came.append(data)

    def commit(self) -> None:
        self.has_begun = True
        self.came.append(b"begun")

    def end(self, *, is_whole: bool) -> None:
        self.is_whole = is_whole


def test_an_answer_that_a_bound_of_ours_ends_is_over_and_nothing_after_it_goes_on() -> None:
    call = {"index": 0, "id": "c", "function": {"name": "f", "arguments": "a" * 1000}}
    event = b"data: %b\n\n" % dumps({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]})
    way = Way()
    reader = LookingReader(lambda: StreamReader("chat-completions"), way, (b"\n\n",))
    outputs = next(said for _ in range(200) if (said := reader.feed(event * 20)) and isinstance(said[-1], Finish))
    assert isinstance(outputs[-1].error, AnswerTooLargeError)
    assert (reader.finished, way.is_whole) == (True, False)
    assert sum(map(len, way.came)) < 2 * 2**20


@every_vendor
def test_the_first_part_goes_on_before_what_came_with_it_is_read(vendor: Vendor) -> None:
    way = Way()
    each = [*map(StreamReader(vendor.name).feed, vendor.events)]
    place = next(at for at, outputs in enumerate(each, 1) if any(not isinstance(one, Unmapped) for one in outputs))
    framing = PROTOCOLS[vendor.name].framings[0]
    LookingReader(lambda: StreamReader(vendor.name), way, framing.event_ends).feed(b"".join(vendor.events))
    first = way.came.index(b"begun")
    assert b"".join(way.came[:first]) == b"".join(vendor.events[:place])
    assert b"".join(way.came[first + 1 :]) == b"".join(vendor.events[place:])
