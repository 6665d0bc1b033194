"""HTTP Archives: what browsers export becomes exchanges, what we export the same bundle, and hostile ones fail."""

import json
import re
from base64 import b64encode
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bundles.made_bundles import FULL, bundles
from partstream_devtools.bundles.documents import BundleContentError, BundleError, BundleTooLargeError
from partstream_devtools.bundles.exchange import Bundle, Chunk, ExchangeEnd, HowEnded, RecordedExchange, ResponseHead
from partstream_devtools.bundles.forms import form_of, read_any, write_as
from partstream_devtools.bundles.har import LOSSES, MOST_ENTRIES, event_blocks, read_har, write_har
from rows import one_test_for

FIXTURES = Path(__file__).parent / "fixtures"
EVENTS = ['{"a":1}', '{"b":"é"}', "two\nlines"]
BODY = 'data: {"a":1}\n\n: a comment\n\nevent: x\nid: 7\ndata: {"b":"é"}\n\ndata: two\ndata: lines\n\n'
BEGAN = 1_700_000_000.5


def _entry(**changed):
    """An entry as Chrome exports it; `__` in a name leads inside."""
    entry = {
        "startedDateTime": "2023-11-14T22:13:20.500Z",
        "time": 1500.0,
        "request": {
            "method": "POST",
            "url": "https://models.example/v1/chat/completions?beta=1",
            "httpVersion": "http/2.0",
            "headers": [
                {"name": ":authority", "value": "models.example"},
                {"name": "content-type", "value": "application/json"},
            ],
            "queryString": [{"name": "beta", "value": "1"}],
            "cookies": [],
            "headersSize": -1,
            "bodySize": 2,
            "postData": {"mimeType": "application/json", "text": "{}"},
        },
        "response": {
            "status": 200,
            "statusText": "",
            "headers": [
                {"name": "content-type", "value": "text/event-stream"},
                {"name": "content-encoding", "value": "br"},
            ],
            "content": {"size": len(BODY.encode()), "mimeType": "text/event-stream", "text": BODY},
            "_error": None,
        },
        "timings": {"blocked": 100.0, "dns": -1, "connect": 50, "ssl": 20, "send": 2, "wait": 300.5, "receive": 1000},
    }
    for name, value in changed.items():
        *steps, field = name.split("__")
        target = entry
        for step in steps:
            target = target[step]
        target[field] = value
    return entry


def _har(*entries, **log):
    return json.dumps({"log": {"version": "1.2", "creator": {"name": "x"}, "entries": list(entries), **log}}).encode()


def _messages(times):
    return [
        {"time": at, "eventName": "message", "eventId": "", "data": data}
        for at, data in zip(times, EVENTS, strict=True)
    ]


def test_an_entry_is_an_exchange_with_times_from_the_first_byte_of_the_request():
    bundle = read_har(_har(_entry()))
    (exchange,) = bundle.exchanges
    assert exchange.request.method == "POST"
    assert (exchange.request.path, exchange.request.query) == ("/v1/chat/completions", "beta=1")
    assert exchange.request.headers == (("content-type", "application/json"),)
    assert exchange.request.body == b"{}"
    assert exchange.request.sent_at == 2_000_000
    assert exchange.head == ResponseHead(302_500_000, 200, "", (("content-type", "text/event-stream"),))
    assert exchange.chunks == (Chunk(None, BODY.encode()),)
    assert exchange.end == ExchangeEnd(1_350_000_000, HowEnded.WHOLE)
    assert exchange.started_at == "2023-11-14T22:13:20.650000+00:00"
    assert "models.example" not in repr(bundle)


@pytest.mark.parametrize("unit", [1, 1000], ids=["seconds, as Chrome", "milliseconds, as Date.now()"])
def test_the_times_of_events_are_those_of_the_reads(unit):
    times = [(BEGAN + 0.15 + after) * unit for after in (0.5, 0.75, 1.25)]
    (exchange,) = read_har(_har(_entry(_eventSourceMessages=_messages(times)))).exchanges
    assert exchange.body == BODY.encode()
    assert [round(chunk.at / 1e7) for chunk in exchange.chunks] == [50, 75, 125]
    assert [list(event_blocks(chunk.data))[-1].data for chunk in exchange.chunks] == EVENTS
    assert exchange.has_clock


def test_a_body_that_was_not_saved_is_made_of_its_events():
    entry = _entry(response__content={"size": 0, "mimeType": "x-unknown"}, _eventSourceMessages=_messages([BEGAN] * 3))
    bundle = read_har(_har(entry))
    assert [block.data for block in event_blocks(bundle.exchanges[0].body)] == EVENTS
    assert "made of _eventSourceMessages" in bundle.notes[0]


@one_test_for(
    ("changed", "note"),
    [
        ({"_eventSourceMessages": [{"time": BEGAN, "data": "other"}]}, "do not fit the body"),
        ({"_eventSourceMessages": [{"time": "soon", "data": d} for d in EVENTS]}, "have no times that fit"),
        ({"_eventSourceMessages": [{"time": 5, "data": d} for d in EVENTS]}, "have no times that fit"),
        ({"response__content": {"size": 9, "mimeType": "text/event-stream"}}, "saved without the body"),
        ({"_webSocketMessages": [{"type": "send", "data": "x"}]}, "messages of its WebSocket are left out"),
    ],
)
def test_what_cannot_be_used_is_left_out_with_a_note(changed, note):
    bundle = read_har(_har(_entry(**changed)))
    assert note in " ".join(bundle.notes)
    assert not any(chunk.at for chunk in bundle.exchanges[0].chunks)


def test_a_body_in_base64_is_its_bytes():
    content = {
        "size": 3,
        "mimeType": "text/event-stream",
        "encoding": "base64",
        "text": b64encode(b"\xff\n\n").decode(),
    }
    assert read_har(_har(_entry(response__content=content))).exchanges[0].body == b"\xff\n\n"


def test_only_what_may_be_an_answer_is_taken_of_a_browser():
    page = _entry(response__content={"size": 1, "mimeType": "text/html", "text": "x"})
    document = _entry(response__content={"size": 2, "mimeType": "application/json; charset=utf-8", "text": "{}"})
    bundle = read_har(_har(page, _entry(), page, document))
    assert len(bundle.exchanges) == 2
    assert bundle.notes == ("left out 2 entries that look like no answers of a model",)
    assert [answer.number for answer in bundle.answers] == [1, 2]


@pytest.mark.parametrize(
    ("status", "error", "ends"),
    [
        (0, "net::ERR_FAILED", HowEnded.NO_RESPONSE),
        (200, "net::ERR_INCOMPLETE", HowEnded.CUT),
        (200, None, HowEnded.WHOLE),
    ],
)
def test_an_error_of_the_browser_is_how_it_ended(status, error, ends):
    (exchange,) = read_har(_har(_entry(response__status=status, response___error=error))).exchanges
    assert exchange.end.how is ends
    assert (exchange.end.error and exchange.end.error.message) == error
    assert (exchange.head is None) == (status == 0)


def test_the_har_of_a_real_chromium_is_the_answer_also_where_it_was_read_in_the_wrong_charset():
    bundle = read_any((FIXTURES / "chromium.har").read_bytes(), "chromium.har")
    (exchange,) = bundle.exchanges  # beside the page
    assert exchange.request.body == b'{"model":"m","messages":[],"stream":true}'
    said = [
        json.loads(block.data)["choices"][0]["delta"] for block in event_blocks(exchange.body) if block.data[0] == "{"
    ]
    assert "".join(delta.get("content", "") for delta in said) == "Helloé"
    assert any("Windows-1252" in note for note in bundle.notes)
    assert exchange.end.at == pytest.approx(153_556_000, abs=1_000_000)


# ---- our own ----


def _as_sent(bundle):
    """Paths and header names as HTTP has them: the strategy knows none of that."""

    def request(one):
        if one is None:
            return None
        path, query = ("".join(re.findall(r"\w", text, re.ASCII)) for text in (one.path, one.query))
        return replace(one, path=f"/{path}", query=query, headers=headers(one.headers))

    def headers(pairs):
        return tuple((f"x{''.join(re.findall('[a-z]', name))}", value) for name, value in pairs)

    return replace(
        bundle,
        exchanges=tuple(
            replace(
                one,
                request=request(one.request),
                head=None if one.head is None else replace(one.head, headers=headers(one.head.headers)),
            )
            for one in bundle.exchanges
        ),
    )


@given(bundles.map(_as_sent))
@settings(max_examples=60)
def test_what_was_written_is_read_again_but_for_what_the_losses_name(bundle):
    data = write_har(bundle)
    assert (form := form_of(data)) is not None
    assert form.name == "HAR"
    answers = tuple(replace(answer, reported=()) for answer in bundle.answers)
    assert read_har(data) == replace(bundle, answers=answers)


def test_the_losses_are_said_in_the_file():
    said = json.loads(write_as(FULL, "x.har"))["log"]["comment"]
    assert all(sentence in said for sentence in LOSSES)
    assert "recorded.invalid" in write_har(FULL).decode()


def test_chrome_takes_what_is_written():
    """What devtools-frontend demands of each object (front_end/models/har/HARFormat.ts), and what it has of events."""
    body = BODY.encode()
    exchange = RecordedExchange(
        1,
        1,
        None,
        "2023-11-14T22:13:20.500000+00:00",
        None,
        ResponseHead(1, 200, "OK", (("Content-Type", "text/event-stream; charset=utf-8"),)),
        (Chunk(10_000_000, body[:20]), Chunk(20_000_000, body[20:50]), Chunk(30_000_000, body[50:])),
        ExchangeEnd(40_000_000, HowEnded.WHOLE),
    )
    log = json.loads(write_har(Bundle("record", "partstream", exchanges=(exchange, *FULL.exchanges))))["log"]
    assert log["version"] == "1.2"
    assert log["creator"]["name"] == "partstream"
    for entry in log["entries"]:
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00", entry["startedDateTime"])
        numbers = [entry["time"], *(entry["timings"][name] for name in ("send", "wait", "receive"))]
        for side in (entry["request"], entry["response"]):
            numbers += [side["headersSize"], side["bodySize"]]
            assert all(type(field["name"]) is type(field["value"]) is str for field in side["headers"])
            assert side["cookies"] == []
        numbers += [entry["response"]["status"], entry["response"]["content"]["size"]]
        assert all(type(number) in {int, float} for number in numbers)
        assert {"method", "url", "httpVersion", "queryString"} <= entry["request"].keys()
        assert {"statusText", "httpVersion", "redirectURL"} <= entry["response"].keys()
        assert type(entry["response"]["content"]["mimeType"]) is str
        assert "_initiator" not in entry  # null there makes the import fail
    events = log["entries"][0]["_eventSourceMessages"]
    assert [(event["eventName"], event["eventId"], event["data"]) for event in events] == [
        ("message", "", EVENTS[0]),
        ("x", "7", EVENTS[1]),
        ("message", "", EVENTS[2]),
    ]
    assert [round((event["time"] - BEGAN) * 1000) for event in events] == [10, 30, 30]


def test_another_program_may_drop_or_change_our_own_fields():
    log = json.loads(write_har(FULL))
    for entry in log["log"]["entries"]:
        entry["_chunks"] = [["soon", 1]]
    bundle = read_har(json.dumps(log).encode())
    assert bundle.exchanges[1].chunks == (Chunk(None, FULL.exchanges[1].body),)
    assert "does not fit the body" in bundle.notes[-1]
    del log["log"]["_partstream"]
    for entry in log["log"]["entries"]:
        del entry["_partstream"], entry["_chunks"]
    (exchange,) = read_har(json.dumps(log).encode()).exchanges
    assert exchange.body == FULL.exchanges[1].body


# ---- files of strangers ----


@one_test_for(
    ("data", "error", "says"),
    [
        (b'{"log":{', BundleContentError, "no JSON"),
        (b'{"log":' + b"[" * 300 + b"]" * 300 + b"}", BundleContentError, "the HAR"),
        (b'{"log": []}', BundleContentError, "an object"),
        (_har(), None, ""),
        (b'{"log": {"entries": {}}}', BundleContentError, "expected a list of objects"),
        (b'{"log": {"entries": [1]}}', BundleContentError, "field 'entries'[0]: got 1"),
        (_har(*[{}] * (MOST_ENTRIES + 1)), BundleTooLargeError, "at most 20,000"),
        (_har({}), BundleContentError, "field 'request'"),
        (_har(_entry(request__url=7)), BundleContentError, "field 'url'"),
        (_har(_entry(request__url="http://[")), BundleContentError, "expected a URL"),
        (_har(_entry(request__headers={})), BundleContentError, "field 'headers'"),
        (_har(_entry(response__status="200")), BundleContentError, "field 'status'"),
        (_har(_entry(response__status=20000)), BundleContentError, "field 'status'"),
        (_har(_entry(response__content__encoding="base64")), BundleContentError, "expected base64"),
        (_har(_entry(_eventSourceMessages=[7])), BundleContentError, "_eventSourceMessages"),
        (_har(_entry(), _partstream={}), BundleContentError, "field 'notes'"),
    ],
)
def test_a_file_that_is_no_har_says_where_and_what_was_expected(data, error, says):
    if error is None:
        assert read_har(data).exchanges == ()
        return
    with pytest.raises(error) as raised:
        read_har(data)
    assert says in str(raised.value)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
_PLACES = [
    "request", "request__headers", "request__postData", "request__url", "response", "response__content", "timings",
    "response__content__text", "response__content__size", "_eventSourceMessages", "_chunks", "_partstream",
    "startedDateTime", "time", "timings__wait",
]  # fmt: skip


@given(st.sampled_from(_PLACES), _JSON)
def test_any_value_in_any_place_is_read_or_refused(place, value):
    data = json.dumps({"log": {"entries": [_entry(**{place: value})]}}).encode()
    try:
        bundle = read_har(data)
    except BundleError:
        return
    assert all(chunk.data for exchange in bundle.exchanges for chunk in exchange.chunks)
