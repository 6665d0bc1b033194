"""The table of protocols: every row is whole."""

import pytest

from partstream import ChatMessage, RequestOptions
from partstream.conversation.carried import Carried
from partstream.conversation.preparation import prepare
from partstream.conversation.settings import RequestSettings
from partstream.conversation.state_marker import Origin
from partstream.errors import UpstreamError
from partstream.outputs import StreamOptions
from partstream.protocols.claims import Claim
from partstream.protocols.key_kind import KeyKind
from partstream.protocols.registry import (
    DEFAULT_PROTOCOL,
    PROTOCOLS,
    UPSTREAM_PROTOCOLS,
    Protocol,
    Upstream,
    make_decoder,
)


@pytest.mark.parametrize("row", PROTOCOLS.values(), ids=PROTOCOLS)
def test_every_row_names_what_exists(row: Protocol) -> None:
    stream = row.make_stream(StreamOptions())
    assert not stream.finished
    assert not stream.failing
    assert not row.make_reader(StreamOptions()).finished
    for framing in row.framings:
        assert not row.make_reader(StreamOptions(), make_decoder(framing)).finished
    assert row.claim("no such type", {"type": "no such type"}) <= Claim.POSSIBLE


@pytest.mark.parametrize("row", UPSTREAM_PROTOCOLS.values(), ids=UPSTREAM_PROTOCOLS)
def test_every_upstream_names_what_exists(row: Upstream) -> None:
    request = prepare(Origin("u", "m"), [ChatMessage.user("Hi")], RequestOptions(), RequestSettings()).request()
    body, headers = row.build_request(request), row.build_headers(request, KeyKind.API_KEY)
    assert "m" in (body.get("model"), *headers.values())
    assert row.refused(UpstreamError("The server is busy.")) is Carried.NOTHING
    assert row.path.startswith("/")


def test_the_default_is_one_of_them_and_names_are_unique() -> None:
    assert DEFAULT_PROTOCOL in UPSTREAM_PROTOCOLS
    assert all(name == row.name for name, row in PROTOCOLS.items())


def test_two_streams_of_one_row_share_nothing() -> None:
    row = PROTOCOLS[DEFAULT_PROTOCOL]
    assert row.make_stream(StreamOptions()) is not row.make_stream(StreamOptions())
