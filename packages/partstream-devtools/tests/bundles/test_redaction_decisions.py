"""What stays and what goes, decision by decision: each row is one of them."""

from __future__ import annotations
import json
import re
from base64 import b64decode, b64encode
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partstream_devtools.bundles.exchange import (
    Bundle,
    Chunk,
    ExchangeEnd,
    HowEnded,
    RecordedExchange,
    RecordedRequest,
    RedactionLevel,
    ResponseHead,
)
from partstream_devtools.redaction.redacting import RedactionReport, redact, what_is_in_it
from partstream_devtools.redaction.replacing import stand_in
from rows import one_test_for


def _redacted(
    data: bytes,
    *,
    cuts: tuple[int, ...] = (),
    status: int = 200,
    headers: Any = (),
    request: Any = None,
    **options: Any,
) -> tuple[RecordedExchange, RedactionReport]:
    pieces = [data[start:end] for start, end in zip((0, *cuts), (*cuts, len(data)), strict=True)]
    exchange = RecordedExchange(
        1,
        1,
        None,
        None,
        request,
        ResponseHead(1, status, "", headers),
        tuple(Chunk(at, piece) for at, piece in enumerate(pieces)),
        ExchangeEnd(9, HowEnded.WHOLE),
    )
    redacted, report = redact(Bundle("record", "x", exchanges=(exchange,)), **options)
    return redacted.exchanges[0], report


def _body(*events: Any, **options: Any) -> bytes:
    """The bytes of events after their redaction."""
    data = b"".join(json.dumps(event).encode() + b"\n" for event in events)
    return _redacted(data, **options)[0].body


def _events(*events: Any, **options: Any) -> list[Any]:
    return [json.loads(line) for line in _body(*events, **options).splitlines()]


@one_test_for(
    ("text", "expected"),
    [
        ("Max has 12 Keys", "Xxx xxx 00 Xxxx"),
        ("Ёлка, Ünïcödé", "Ééée, Éxéxéxé".replace("e,", "é,")),
        ("東京タワー", "字字字字字"),
        ("👩‍💻 ok 🇩🇪", "😀‍😀 xx 😀😀"),
        ("**bold**\n- `x`\t| a |", "**xxxx**\n- `x`\t| x |"),
        ("e\u0301 \u202e\u2028\ufeff\ufe0f", "x\u0301 \u202e\u2028\ufeff\ufe0f"),
        ("٣ ३ 𝟛", "٠ ० 𝟎"),  # noqa: RUF001
        ("\ud83d alone", "\ud83d xxxxx"),
        ("a\\nb \\u00e9", "x\\nx \\u0078"),
        ("\U000e0061\U000e0062", "\U000e0078\U000e0078"),  # tags: invisible text
    ],
)
def test_a_character_becomes_one_of_its_class(text: str, expected: str) -> None:
    assert stand_in(text) == expected


@given(st.text())
def test_a_stand_in_is_as_long_in_characters_and_in_bytes_and_stands_for_itself(text: str) -> None:
    stood = stand_in(text)
    lengths = [len(letter.encode()) for letter in text]
    assert [len(letter.encode()) for letter in stood] == lengths
    assert stand_in(stood) == stood


def test_escapes_keep_their_form_and_short_ones_stay() -> None:
    event = rb'{"type":"x","text":"a\n\u00e9\ud83d\ude80\ud83d \/ \"q\" \t\\ \u0041"}'
    expected = rb'{"type":"x","text":"x\n\u00e9\ud83d\ude00\ud83d \/ \"x\" \t\\ \u0058"}'
    assert _redacted(event)[0].body == expected


def _delta(raw: str) -> bytes:
    return (
        b'data: {"type":"response.output_text.delta","item_id":"m","content_index":0,"delta":"%s"}\n\n' % raw.encode()
    )


def test_a_pair_of_surrogates_in_two_events_is_one_character() -> None:
    body = _redacted(_delta(r"a\ud83d") + _delta(r"\udc80b"))[0].body
    assert re.findall(rb'"delta":"([^"]*)"', body) == [rb"x\ud83d", rb"\ude00x"]


def test_a_character_that_is_cut_over_two_reads_stays_cut() -> None:
    data = '{"type":"x","text":"漢"}'.encode()
    exchange, _ = _redacted(data, cuts=(data.index("漢".encode()) + 1,))
    assert [len(chunk.data) for chunk in exchange.chunks] == [21, 4]
    assert "字".encode() in exchange.body


def test_a_key_over_events_is_found_and_shows_no_classes() -> None:
    body = _redacted(_delta("my sk-an") + _delta("t-api03-aB3") + _delta("dE5gH7 end"), level=RedactionLevel.KEYS)[
        0
    ].body
    assert re.findall(rb'"delta":"([^"]*)"', body) == [b"my RRRRR", b"R" * 11, b"RRRRRR end"]


def test_the_closing_event_has_the_same_stand_ins() -> None:
    said = ["Look: sk-proj-aB3dE5", "gH7jK9mN1pQ3 é", "漢!"]
    done = {"type": "response.output_text.done", "item_id": "m", "content_index": 0, "text": "".join(said)}
    *deltas, whole = _events(
        *({"type": "response.output_text.delta", "item_id": "m", "content_index": 0, "delta": one} for one in said),
        done,
    )
    assert "".join(one["delta"] for one in deltas) == whole["text"]
    assert "R" * 20 in whole["text"]


def test_names_of_arguments_stay_and_values_go() -> None:
    arguments = '{"path": "/home/ada/x", "deep": {"on": true, "line": 42, "list": ["a", null]}}'
    event = {"type": "response.function_call_arguments.done", "item_id": "f", "arguments": arguments}
    (shown,) = _events(event)
    assert shown["arguments"] == '{"path": "/xxxx/xxx/x", "deep": {"on": true, "line": 10, "list": ["x", null]}}'
    (hidden,) = _events(event, hides_names=True)
    assert "path" not in hidden["arguments"]
    assert len(hidden["arguments"]) == len(arguments)


def test_items_of_a_request_keep_their_form_and_values_for_tools_do_not() -> None:
    said = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Call Ada"}]}
    output = {"type": "function_call_output", "call_id": "call_1", "output": "Ada"}
    used = {"type": "tool_use", "name": "read_file", "input": {"type": "Ada", "items": [{"role": "Ada"}]}}
    (event,) = _events({"model": "m1", "input": [said, output], "content": [used]})
    first, second = event["input"]
    assert (first["type"], first["role"], first["content"][0]["type"]) == ("message", "user", "input_text")
    assert second["type"] == "function_call_output"
    assert event["content"][0]["input"] == {"type": "Xxx", "items": [{"role": "Xxx"}]}
    assert "Ada" not in json.dumps(event)


def test_tools_of_vs_code_keep_their_names_and_others_get_one_of_the_same_length() -> None:
    names = ["read_file", "copilot_readFile", "acme_secret_tool", "acme_secret_tool", "other_tool", "x"]
    shown = [event["item"]["name"] for event in _events(*({"type": "y", "item": {"name": name}} for name in names))]
    assert shown[:2] == names[:2]
    assert shown[2] == shown[3] != shown[4]
    assert shown[2].startswith("tool_")
    assert [len(name) for name in shown] == [len(name) for name in names]


def test_ids_keep_their_prefix_length_and_equality() -> None:
    first, second = _events(
        {"type": "y", "id": "call_kq83hf73hf", "item_id": "call_zzzz83hf73"},
        {"type": "y", "call_id": "call_kq83hf73hf"},
    )
    assert first["id"] == second["call_id"] != first["item_id"]
    assert first["id"].startswith("call_")
    assert len(first["id"]) == len("call_kq83hf73hf")
    assert "kq83" not in str(first)


@pytest.mark.parametrize("name", ["encrypted_content", "signature", "thoughtSignature", "obfuscation"])
def test_opaque_state_keeps_its_length_and_is_still_base64(name: str) -> None:
    state = b64encode(bytes(range(200))).decode()
    (event,) = _events({"type": "y", "item": {name: state}})
    assert set(event["item"][name]) <= {"A", "="}
    assert b64decode(event["item"][name], validate=True) == bytes(200)


_PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x02\x80\x00\x00\x01\xe0" + b"secret picture" * 9


@pytest.mark.parametrize(
    ("content", "kept"),
    [(_PNG, 24), (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj secret", 16), (b"no file that is known", 0)],
)
def test_a_file_keeps_its_first_bytes_and_its_length(content: bytes, kept: int) -> None:
    encoded = b64encode(content).decode()
    first, second = _events(
        {"type": "y", "part": {"data": encoded}}, {"type": "y", "image_url": f"data:image/png;base64,{encoded}"}
    )
    for shown in (first["part"]["data"], second["image_url"].removeprefix("data:image/png;base64,")):
        assert b64decode(shown) == content[:kept] + bytes(len(content) - kept)


def test_numbers_that_no_wire_knows_go() -> None:
    phone, card = 491701234567, 4111111111111111
    schema = {"type": "integer", "default": card, "enum": [card], "minimum": 18}
    event = {
        "metadata": {"phone": phone, "index": phone},
        "n": phone,
        "seed": 778899,
        "zz": [{"a": card, "lat": 52.5163}],
        "error": {"code": card, "status": 429},
        "temperature": 0.35,
        "max_tokens": 4096,
        "tools": [{"parameters": {"properties": {"x": schema}}}],
    }
    (shown,) = _events(event)
    assert (shown["temperature"], shown["max_tokens"], shown["error"]["status"]) == (0.35, 4096, 429)
    assert shown["zz"] == [{"a": 10**15, "lat": 10.1}]
    assert shown["seed"] == 100_000
    assert not any(str(number) in json.dumps(shown) for number in (phone, card, 18))
    (kept,) = _events(event, keep=["text"])
    assert kept == event


def test_hidden_names_of_arguments_go_from_schemas_too_and_stay_the_same_name() -> None:
    properties = {"salaryOfAda": {"type": "integer"}, "age": {"type": "integer"}}
    parameters = {"type": "object", "properties": properties, "required": ["salaryOfAda"]}
    call = {"type": "tool_use", "name": "t", "input": {"salaryOfAda": 1, "age": 2}}
    (shown,) = _events({"tools": [{"name": "t", "parameters": parameters}], "content": [call]}, hides_names=True)
    new = shown["tools"][0]["parameters"]
    assert new["type"] == "object"
    assert [*new["properties"]] == [*shown["content"][0]["input"]]
    assert new["required"] == [next(iter(new["properties"]))]
    assert "salaryOfAda" not in json.dumps(shown)


def test_numbers_stay_and_moments_become_relative() -> None:
    (first, second) = _events(
        {"type": "y", "created_at": 1_770_803_606, "usage": {"input_tokens": 1234, "cost": 0.25}, "index": 3},
        {"type": "y", "completed_at": 1_770_803_609, "created": "2026-08-21T20:22:19.184Z"},
    )
    assert (first["created_at"], first["usage"], first["index"]) == (0, {"input_tokens": 1234, "cost": 0.25}, 3)
    assert (second["completed_at"], second["created"]) == (3, "1970-01-01T00:00:00.000Z")


def test_keys_of_the_servers_that_a_request_names_go_and_their_other_fields_stay() -> None:
    keys = [sha256(str(number).encode()).hexdigest()[:32] for number in range(10)]
    named = ("X-Figma-Token", "Private-Token", "Ocp-Apim-Subscription-Key", "Authorization", "Cookie")
    tool = {"type": "mcp", "server_url": "https://tools.example/mcp", "authorization": keys[0]}
    request = {
        "tools": [
            {**tool, "headers": {"X-Team": "birds", name: key}} for name, key in zip(named, keys[1:6], strict=True)
        ],
        "mcp_servers": [{"command": "git-tools", "env": {"GITHUB_TOKEN": keys[6], "LANG": "C.UTF-8"}}],
        "data_sources": [{"parameters": {"authentication": {"type": "api_key", "key": keys[7]}}}],
        "aws_session_token": keys[8],
        "messages": [{"role": "user", "content": "max_tokens: the key to my next_page_token"}],
    }
    repeated = {"type": "y", "delta": f"I was sent {keys[1]}."}
    asked = RecordedRequest("POST", "/v1/responses", f"code={keys[9]}&page=2", (), json.dumps(request).encode())
    data = json.dumps(repeated).encode()
    shown, _ = _redacted(data, request=asked, level=RedactionLevel.KEYS)
    assert shown.request is not None
    said = json.loads(shown.request.body)
    assert [key for key in keys if key in f"{said} {shown.body!r} {shown.request.query}"] == []
    assert said["messages"] == request["messages"]
    assert {one["headers"]["X-Team"] for one in said["tools"]} == {"birds"}
    assert (said["mcp_servers"][0]["env"]["LANG"], said["tools"][0]["server_url"]) == ("C.UTF-8", tool["server_url"])


def test_the_bytes_and_the_numbers_of_tokens_say_no_text() -> None:
    (event,) = _events({"logprobs": [{"token": "Hi", "bytes": [72, 105], "logprob": -0.5}], "context": [1234, 99]})
    assert event == {"logprobs": [{"token": "Xx", "bytes": [10, 100], "logprob": -0.5}], "context": [1000, 10]}


def test_names_of_models_stay_without_what_a_person_has_called_one() -> None:
    models = ["gpt-5.1", "meta-llama/Llama-3.3-70B-Instruct", "ft:gpt-4o-mini:acme:secretname:abc123"]
    shown = [event["model"] for event in _events(*({"model": name} for name in models))]
    assert shown == [*models[:2], "ft:gpt-4o-mini:xxxx:xxxxxxxxxx:xxx000"]


def test_known_sentences_of_servers_stay_and_what_they_quote_goes() -> None:
    said = (
        "This model's maximum context length is 8192 tokens. However, 'Aunt Agatha' was sent by org-aB3dE5gH7jK9mN1pQ3."
    )
    shown = _redacted(json.dumps({"error": {"message": said, "code": "context_length_exceeded"}}).encode(), status=400)[
        0
    ]
    error = json.loads(shown.body)["error"]
    assert error["message"].startswith("This model's maximum context length is 8192 tokens. However")
    assert "Aunt" not in error["message"]
    assert "aB3dE5" not in error["message"]
    assert len(error["message"]) == len(said)
    assert error["code"] == "context_length_exceeded"


def test_heads_keep_what_says_how_a_wire_is_spoken() -> None:
    headers = (
        ("Content-Type", "text/event-stream"),
        ("x-ratelimit-remaining-tokens", "149984"),
        ("retry-after", "3"),
        ("date", "Mon, 23 Nov 2026 02:00:00 GMT"),
        ("Set-Cookie", "sid=kq83hf73hf; Path=/"),
        ("x-request-id", "req_kq83hf73hf"),
        ("x-acme-department", "Secret Projects"),
    )
    shown = dict(_redacted(b"", headers=headers)[0].head.headers)  # type: ignore[union-attr]
    assert shown["Content-Type"] == "text/event-stream"
    assert (shown["x-ratelimit-remaining-tokens"], shown["retry-after"]) == ("149984", "3")
    assert shown["date"] == "Thu, 01 Jan 1970 00:00:00 GMT"
    assert "kq83" not in str(shown)
    assert shown["x-acme-department"] == "Xxxxxx Xxxxxxxx"


@pytest.mark.parametrize(
    ("path", "query", "expected"),
    [
        ("/v1/chat/completions", "", "/v1/chat/completions?"),
        ("/v1beta/models/gemini-2.5-flash:streamGenerateContent", "alt=sse&key=AIzaaa", None),
        ("/openai/deployments/my-secret-thing/x", "api-version=2024-10-21", None),
    ],
)
def test_paths_and_queries_keep_words_of_apis(path: str, query: str, expected: str | None) -> None:
    shown = _redacted(b"", request=RecordedRequest("POST", path, query))[0].request
    assert shown is not None
    assert (len(shown.path), len(shown.query)) == (len(path), len(query))
    if expected is not None:
        assert f"{shown.path}?{shown.query}" == expected
    assert "secret" not in shown.path
    assert "AIza" not in shown.query
    assert ("alt=sse" in shown.query) == ("alt=sse" in query)


def test_a_packed_body_is_not_kept_because_nobody_can_look_into_it() -> None:
    exchange, _ = _redacted(b"\x1f\x8bsecret", headers=(("content-encoding", "gzip"),))
    assert exchange.body == bytes(8)


@pytest.mark.parametrize(
    "data", [b'data: {"type":"x","text":"half a sec', b"data: not JSON, secret\n\n", b": secret\n", b"<h1>Secret</h1>"]
)
def test_what_is_cut_or_no_json_is_replaced_too(data: bytes) -> None:
    body = _redacted(data)[0].body
    assert len(body) == len(data)
    assert b"sec" not in body.lower()


def test_without_redaction_everything_stays_and_is_marked() -> None:
    bundle = Bundle("record", "x")
    redacted, report = redact(bundle, RedactionLevel.NONE)
    assert redacted.redaction is not None
    assert redacted.redaction.level is report.level is RedactionLevel.NONE


def test_the_report_counts_by_rule_shows_ten_samples_and_names_the_texts_that_stay() -> None:
    events = [{"type": "t", "text": f"Text {at} with sk-proj-aB3dE5gH7jK9mN1pQ3."} for at in range(20)]
    plain = {"type": "t", "other": "stays as it is"}
    data = b"".join(json.dumps(event).encode() + b"\n" for event in [*events, plain])
    _, report = _redacted(data, level=RedactionLevel.KEYS)
    assert report.counts == {"openai-key": 20}
    assert 0 < len(report.samples) <= 10
    assert all("aB3d" not in sample.text for sample in report.samples)
    assert report.kept == {"response 1: other": 1}


def test_the_texts_of_a_recording_are_listed_joined_and_once() -> None:
    chunk = Chunk(1, _delta("grand") + _delta("mother") + _delta(""))
    end = ExchangeEnd(9, HowEnded.WHOLE)
    bundle = Bundle("record", "x", exchanges=(RecordedExchange(1, 1, None, None, None, None, (chunk,), end),))
    listed = dict(what_is_in_it(bundle))
    assert listed["grandmother"] == 1
    assert listed["response.output_text.delta"] == 3
