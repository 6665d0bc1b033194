"""Places outside of texts, and forms of bodies, in which a secret was found by attacking: none of it is left there."""

from __future__ import annotations
import gzip
import json
from base64 import b64encode
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import pytest

from bundles.canaries import unzipped
from partstream import DataPart
from partstream.pages.document import Hashes
from partstream_devtools.bundles.archive import write_bundle
from partstream_devtools.bundles.exchange import (
    Bundle,
    Chunk,
    ExchangeEnd,
    HowEnded,
    RecordedAnswer,
    RecordedError,
    RecordedExchange,
    RecordedRequest,
    RedactionLevel,
    ReportedPart,
    ResponseHead,
)
from partstream_devtools.inspector.page.assembly import page_html
from partstream_devtools.inspector.view import ViewedFile, view_of
from partstream_devtools.redaction.redacting import redact
from rows import one_test_for

if TYPE_CHECKING:
    from collections.abc import Callable

KEY: Final = "sk-ant-api03-BqZ7kWv3HcXpT9mNfLd2RgYj"
MAIL: Final = "bozuka.dimelo@tarivo.com"
FOLDER: Final = "/home/bozukadimelo/tarivo/x.py"
HOST: Final = "bozuka.corp.internal"
ADDRESS: Final = "172.29.183.241"
SECRETS: Final = (KEY, MAIL, FOLDER, HOST, ADDRESS)


def exchange(body: bytes = b"data: {}\n\n", request: RecordedRequest | None = None, **values: object) -> Bundle:
    head = ResponseHead(1, 200, "OK", (("content-type", "text/event-stream"),))
    one = RecordedExchange(1, 1, None, None, request, head, (Chunk(2, body),), ExchangeEnd(9, HowEnded.WHOLE))
    return Bundle("record", "partstream 0.12.0", exchanges=(replace(one, **values),))


def answer(**values: object) -> Bundle:
    return replace(exchange(), answers=(replace(RecordedAnswer(1), **values),))


def request(**values: object) -> Bundle:
    return exchange(request=replace(RecordedRequest("POST", "/v1/responses"), **values))


def head(name: str, value: str) -> Bundle:
    return exchange(head=ResponseHead(1, 200, "OK", ((name, value),)))


def event(value: object) -> Bundle:
    return exchange(f"data: {json.dumps(value)}\n\n".encode())


PLACES: Final[dict[str, Callable[[str], Bundle]]] = {
    "source": lambda said: replace(exchange(), source=said),
    "program": lambda said: replace(exchange(), made_by=said),
    "version": lambda said: replace(exchange(), versions={"os": said}),
    "name of a version": lambda said: replace(exchange(), versions={said: "1"}),
    "note": lambda said: replace(exchange(), notes=(f"exchange 1: {said}",)),
    "protocol": lambda said: exchange(protocol=said),
    "method": lambda said: request(method=said),
    "start of an exchange": lambda said: exchange(started_at=said),
    "host": lambda said: answer(host=said),
    "model": lambda said: answer(model=said),
    "outcome": lambda said: answer(outcome=said),
    "start of an answer": lambda said: answer(started_at=said),
    "class of an error": lambda said: answer(error=RecordedError(said, "it broke")),
    "error": lambda said: answer(error=RecordedError("E", f"the connection to {said} failed")),
    "moment of an error": lambda said: answer(error=RecordedError("E", "", (("date", said),))),
    "fact of an error": lambda said: answer(error=RecordedError("E", "", ((said, "1"),))),
    "kind of a file": lambda said: answer(reported=(ReportedPart(1, DataPart(b"x", f"image/png;name={said}")),)),
    "JSON in UTF-16": lambda said: answer(
        reported=(ReportedPart(1, DataPart(json.dumps({"x": said}).encode("utf-16-le"), "application/json")),)
    ),
    "query without a name": lambda said: request(query=said),
    "name in a query": lambda said: request(query=f"{said}=1"),
    "version in a query": lambda said: request(query=f"api-version={said}"),
    "behind a colon of a path": lambda said: request(path="/v1/models:" + said.replace("/", "_")),
    "name of a header field": lambda said: head(said, "1"),
    "date of a header": lambda said: head("date", said),
    "expiry of a header": lambda said: head("expires", said),
    "reset of a limit": lambda said: head("x-ratelimit-reset-tokens", said),
    "program of a client": lambda said: head("user-agent", f"Tool/1.2 ({said})"),
    "program of a server": lambda said: head("server", said),
    "name of an event": lambda said: exchange(f"event: {said}\ndata: {{}}\n\n".encode()),
    "status": lambda said: event({"status": said}),
    "model of an event": lambda said: event({"model": said}),
    "trained model": lambda said: event({"model": f"ft:{said}:x:y"}),
    "moment": lambda said: event({"created_at": said, "timestamp": said, "date": said}),
    "name of a field": lambda said: event({said: 1, "choices": [{"delta": {said: "x"}}]}),
    "required": lambda said: event({"required": [said]}),
    "no JSON": lambda said: exchange(f'{{"a": {said}}}'.encode()),
    "what Python prints": lambda said: exchange(repr({"error": {"message": f"wrong: {said}"}}).encode()),
    "what Python prints, in an event": lambda said: exchange(f"data: { ({'error': said}) }\n\n".encode()),
    "behind JSON": lambda said: exchange(f'{{"a": 1}} {said}'.encode()),
    "file name of a data URL": lambda said: event({"url": f"data:image/png;name={said.replace('/', '_')};base64,AAAA"}),
    "file name of gzip": lambda said: event({"data": b64encode(b"\x1f\x8b\x08\x08" + said.encode()).decode()}),
}


@pytest.mark.parametrize("place", PLACES)
def test_nothing_of_a_secret_is_left_at_any_place(place: str) -> None:
    for secret in SECRETS:
        redacted, _ = redact(PLACES[place](secret))
        _assert_gone(secret, redacted)
        assert redact(redacted)[0].exchanges == redacted.exchanges


@one_test_for("place", set(PLACES) - {"JSON in UTF-16", "file name of gzip"})
def test_no_key_is_left_at_any_place_where_texts_stay(place: str) -> None:
    _assert_gone(KEY, redact(PLACES[place](KEY), RedactionLevel.KEYS)[0])


@pytest.mark.parametrize("level", [RedactionLevel.KEYS, RedactionLevel.STRUCTURE])
def test_a_body_that_is_compressed_without_saying_so_is_zeros(level: RedactionLevel) -> None:
    packed = gzip.compress(KEY.encode())
    redacted, _ = redact(exchange(packed, RecordedRequest("POST", "/", body=packed)), level)
    assert redacted.exchanges[0].body == bytes(len(packed))
    assert redacted.exchanges[0].request is not None
    assert redacted.exchanges[0].request.body == bytes(len(packed))


def test_a_text_in_another_encoding_is_gone_and_breaks_decoders_at_the_same_bytes() -> None:
    said = "привет, Мюллер".encode("cp1251") + b"\xe2\x82 \xf0\x9f\x98 \xed\xa0\x80 \xc0\xaf"
    body = b'data: {"x": "' + said + b'"}\n\n'
    after = redact(exchange(body))[0].exchanges[0].body
    text, told = body.decode(errors="backslashreplace"), after.decode(errors="backslashreplace")
    assert [len(one) for one in told.split("\\x")] == [len(one) for one in text.split("\\x")]
    assert len(after.decode(errors="replace")) == len(body.decode(errors="replace"))
    assert "привет".encode("cp1251") not in after


def test_what_programs_say_of_themselves_stays() -> None:
    versions = {"python": "3.13.1", "partstream": "0.12.0", "os": "linux", "vscode": "1.130.0"}
    made = replace(answer(host="vscode", model="gpt-5.1-mini", outcome="completed"), versions=versions)
    redacted, _ = redact(made)
    assert (redacted.source, redacted.made_by, redacted.versions) == (made.source, made.made_by, versions)
    assert replace(redacted.answers[0], reported=()) == made.answers[0]


@one_test_for("name", ["user-agent", "x-user-id", "x-xai-beta", "X-Stainless-Retry-Count", "org-id"])
def test_the_names_of_header_fields_stay(name: str) -> None:
    for level in (RedactionLevel.KEYS, RedactionLevel.STRUCTURE):
        made, _ = redact(request(headers=((name, "1"),), query=f"{name}=1"), level)
        asked = made.exchanges[0].request
        assert asked is not None
        assert (asked.headers[0][0], asked.query.partition("=")[0]) == (name, name)


def test_why_an_answer_is_incomplete_stays() -> None:
    value = {"type": "response.incomplete", "response": {"incomplete_details": {"reason": "content_filter"}}}
    assert b'"reason": "content_filter"' in redact(event(value))[0].exchanges[0].body


def test_the_file_of_a_model_keeps_its_name_without_its_folders() -> None:
    body = redact(event({"model": "/home/bozukadimelo/models/Qwen3-1.7B-Q4_K_M.gguf"}))[0].exchanges[0].body
    assert b"/Qwen3-1.7B-Q4_K_M.gguf" in body
    assert b"bozuka" not in body


def _assert_gone(secret: str, bundle: Bundle) -> None:
    page = page_html(view_of([ViewedFile("a", "bundle", bundle)]), Hashes())
    windows = {secret[at : at + 6] for at in range(len(secret) - 5)} - _COMMON
    for name, data in unzipped(write_bundle(bundle, page)):
        text = data.decode("latin-1") + data.replace(b"\0", b"").decode("latin-1")
        left = {window for window in windows if window in text}
        assert not left, (name, left)


_COMMON: Final = {
    word[at : at + 6] for word in ("sk-ant-api03-", "/home/", ".corp.internal") for at in range(len(word))
}
"""What makes a secret one says nothing of it."""
