"""The table of protocols: every row is whole."""

import json

import pytest

from partstream import ChatMessage, RequestOptions
from partstream.conversation.preparation import RequestSettings, prepare
from partstream.conversation.provider_state import Carried, Origin
from partstream.errors import UpstreamError
from partstream.lm.outputs import StreamOptions
from partstream.protocols.protocol import (
    DEFAULT_CHUNK_PROTOCOL,
    DEFAULT_PROTOCOL,
    PROTOCOLS,
    KeyKind,
    OwnSettings,
    Protocol,
    RequestWriter,
    ServerProtocol,
    asked_protocols,
    asking,
    chunk_protocols,
    loadable_protocols,
)
from partstream.protocols.read_response import MatchConfidence, ResponseReader
from partstream.protocols.reader import StreamReader
from partstream.protocols.serve import MODEL, RequestReader, ResponseWriter, path_for_model
from rows import one_test_for


@one_test_for("row", PROTOCOLS.values(), ids=PROTOCOLS)
def test_every_row_can_be_read(row: Protocol) -> None:
    corner = row.read_response()
    assert not corner(StreamOptions()).finished
    assert not corner(StreamOptions()).failing
    for framing in row.framings:
        assert not StreamReader(row, framing=framing).finished
    assert corner.claim("no such type", {"type": "no such type"}) <= MatchConfidence.POSSIBLE


LOADED = {
    "read_response": ResponseReader,
    "write_request": RequestWriter,
    "read_request": RequestReader,
    "write_response": ResponseWriter,
    "own_settings": OwnSettings,
}


@one_test_for("row", PROTOCOLS.values(), ids=PROTOCOLS)
def test_every_row_loads_objects_of_the_classes_that_it_promises(row: Protocol) -> None:
    for name, kind in LOADED.items():
        load = getattr(row, name)
        found = None if load is None else load()
        made_for_each = kind in (ResponseReader, ResponseWriter)  # each response has an object of its own
        assert found is None or (issubclass(found, kind) if made_for_each else isinstance(found, kind)), name
    assert row.spoken_at is None or all(isinstance(one, ServerProtocol) for one in row.spoken_at())


@one_test_for("name", asked_protocols())
def test_every_protocol_that_can_be_asked_writes_requests(name: str) -> None:
    corner = asking(name)
    whole = prepare(Origin("u", "m"), [ChatMessage.user("Hi")], RequestOptions(), RequestSettings()).request()
    request = corner.write(whole)
    names_model = MODEL in corner.path
    said = json.dumps(dict(request.body))
    assert names_model or '"model": "m"' in said or "m" in request.headers.values()
    assert request.path == path_for_model(corner.path, "m")
    assert request.path.startswith("/") or corner.path == "", "an agent is an address of its own"
    assert "a-key" in " ".join(corner.authorize("a-key", KeyKind.API_KEY).values())
    assert corner.errors.refused(UpstreamError("The server is busy.")) is Carried.NOTHING


def test_the_defaults_are_among_them_and_every_row_has_its_name() -> None:
    assert DEFAULT_PROTOCOL in asked_protocols()
    assert chunk_protocols()[0] == DEFAULT_CHUNK_PROTOCOL
    assert all(name == row.name for name, row in PROTOCOLS.items())
    assert loadable_protocols() == (dict(PROTOCOLS), ())
    assert len(PROTOCOLS) == len(set(PROTOCOLS))


@pytest.mark.parametrize("name", ["no such protocol", "ai-sdk"])
def test_what_nobody_is_asked_in_has_no_corner_that_asks(name: str) -> None:
    with pytest.raises(KeyError):
        asking(name)


def test_two_streams_of_one_row_share_nothing() -> None:
    corner = PROTOCOLS[DEFAULT_PROTOCOL].read_response()
    assert corner(StreamOptions()) is not corner(StreamOptions())
