"""A key that a server repeats is in no read that is kept, however it is cut; nothing else changes."""

import base64
import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partstream.codec.redaction import Redactor
from partstream_devtools.recorder.files import MaskedReads

KEY = "sk-proj-Ab/3+xy_Z9=%key"
FORMS = {
    "plain": KEY,
    "in JSON": json.dumps(KEY.replace("/", "\\/")),
    "in a URL": quote(KEY, safe=""),
    "in base64": base64.b64encode(b"user:" + KEY.encode()).decode(),
    "in hexadecimal digits": KEY.encode().hex(),
    "in small letters": KEY.lower(),
}


def _kept(pieces):
    reads = MaskedReads(Redactor([KEY]))
    chunks = [chunk for at, piece in enumerate(pieces) for chunk in reads.take(at, piece)]
    return [*chunks, *reads.end()]


def _cut(data, places):
    ends = sorted({*(place % len(data) for place in places), len(data)} - {0})
    return [data[start:end] for start, end in zip([0, *ends], ends, strict=False)]


@pytest.mark.parametrize("form", FORMS)
@given(st.lists(st.integers(0, 10_000), max_size=6))
def test_a_key_is_masked_however_it_is_cut(form, places):
    data = f'data: {{"error": "got {FORMS[form]} as the key"}}\n\n'.encode()
    pieces = _cut(data, places)
    chunks = _kept(pieces)
    assert [chunk.at for chunk in chunks] == list(range(len(pieces)))
    assert [len(chunk.data) for chunk in chunks] == list(map(len, pieces))
    kept = b"".join(chunk.data for chunk in chunks)
    secret = FORMS[form].strip('"').encode()
    assert not any(secret[start : start + 8] in kept for start in range(len(secret) - 7))
    assert kept.startswith(b'data: {"error": "got ')
    assert kept.endswith(b' as the key"}\n\n')


def test_a_read_is_held_back_only_where_a_key_may_begin_at_its_end():
    reads = MaskedReads(Redactor([KEY]))
    assert len(reads.take(1, b'data: {"a": "words"}\n\n')) == 1
    assert reads.take(2, b"the key s") == []
    assert [chunk.data for chunk in reads.take(3, b"omething\n\n")] == [b"the key s", b"omething\n\n"]
    assert reads.take(4, b"s") == []
    assert [chunk.data for chunk in reads.end()] == [b"s"]


def test_what_is_held_back_is_bounded():
    reads = MaskedReads(Redactor([KEY]))
    kept = [chunk for at in range(100) for chunk in reads.take(at, b"s" * 1000)]
    assert len(kept) > 50


@given(st.lists(st.binary(min_size=1, max_size=20), max_size=6))
def test_what_holds_no_key_stays_as_it_is(pieces):
    assert [chunk.data for chunk in _kept(pieces)] == pieces
