"""Flows of mitmproxy: a file that it wrote becomes exchanges, and a broken one says at which byte."""

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partstream_devtools.bundles.documents import BrokenFlowError, BundleError
from partstream_devtools.bundles.exchange import HowEnded
from partstream_devtools.bundles.forms import form_of, read_any
from partstream_devtools.bundles.mitmproxy import read_flows, read_value
from partstream_devtools.recorded_stream import read_recording
from rows import one_test_for

FLOWS = (Path(__file__).parent / "fixtures" / "flows.mitm").read_bytes()
"""Five requests to the replay upstream through mitmproxy 11.0.2: a stream, a document, a refusal, one that was closed
in the middle and one that was reset before its head."""


def test_the_flows_of_a_real_mitmproxy_are_exchanges():
    bundle = read_any(FLOWS, "flows.mitm")
    assert bundle.source == "mitmproxy"
    assert [exchange.head and exchange.head.status for exchange in bundle.exchanges] == [200, 200, 429, 200, None]
    ends = [exchange.end.how for exchange in bundle.exchanges]
    assert ends == [HowEnded.WHOLE] * 3 + [HowEnded.CUT, HowEnded.NO_RESPONSE]
    assert "incomplete chunked read" in bundle.exchanges[3].end.error.message
    assert bundle.notes == ("exchange 4: mitmproxy kept no body",)
    first = bundle.exchanges[0]
    assert (first.request.method, first.request.path) == ("POST", "/v1/responses")
    assert first.request.body == b'{"model":"any","input":"Hi","stream":true}'
    assert "host" not in {name.lower() for name, _ in first.request.headers}
    assert 0 < first.request.sent_at < first.head.at < first.end.at
    assert first.started_at.startswith("2026-11-23T0")
    assert not first.has_clock  # a flow does not say when a piece of the body came
    outputs = list(read_recording(first.body, "flows"))
    assert outputs[-1].error is None
    assert [answer.offset for answer in bundle.answers] == sorted(answer.offset for answer in bundle.answers)


@pytest.mark.parametrize("size", [1, 10, 100, len(FLOWS) - 1])
def test_flows_that_break_off_say_where(size):
    with pytest.raises(BrokenFlowError, match="byte "):
        read_flows(FLOWS[:size])


@one_test_for(
    ("data", "value"),
    [
        (b"3:abc,", b"abc"), (b"2:\xc3\xa9;", "é"), (b"2:10#", 10), (b"3:1.5^", 1.5), (b"4:true!", True),
        (b"0:~", None), (b"8:1:1#1:2#]", [1, 2]), (b"8:1:a,1:1#}", {"a": 1}), (b"0:}", {}),
    ],
)  # fmt: skip
def test_values(data, value):
    assert read_value(data) == (value, len(data))


@one_test_for(
    "data",
    [
        b"", b"x", b"3:ab,", b"03:abc,", b"99999999999:a,", b"1:a?", b"2:xx#", b"3:maybe!", b"1:x~", b"1:\xff;",
        b"41:" + b"1" * 41 + b"#", b"6:1:1#1:}", b"8:1:1#1:2#}",
    ],
)  # fmt: skip
def test_what_is_no_value_is_refused(data):
    with pytest.raises(BrokenFlowError):
        read_value(data)


def test_values_inside_each_other_have_a_limit():
    data = b"0:]"
    for _ in range(100):
        data = b"%d:%b]" % (len(data), data)
    with pytest.raises(BrokenFlowError, match="at most 32 levels"):
        read_value(data)


def test_other_flows_are_counted():
    flow = b"20:4:type;3:tcp;1:a,1:b,}"
    bundle = read_flows(flow.replace(b"20:", b"%d:" % (len(flow) - 4)) + FLOWS)
    assert len(bundle.exchanges) == 5
    assert "left out 1 flows" in bundle.notes[-1]


@given(st.integers(0, len(FLOWS) - 1), st.binary(max_size=4))
def test_a_damaged_file_is_read_or_refused(place, instead):
    damaged = FLOWS[:place] + instead + FLOWS[place + len(instead) :]
    with suppress(BundleError):
        read_flows(damaged)


@one_test_for("data", [b'{"log":{}}', b"data: x\n\n", b"PK\x03\x04", b"[1]", b"12:34:56"])
def test_other_files_look_like_no_flows(data):
    assert shown_form(data) != "mitmproxy flows"
    assert shown_form(FLOWS) == "mitmproxy flows"


def shown_form(data):
    form = form_of(data)
    return None if form is None else form.name
