"""Data parts for programs of the host reach no client of a served wire: neither as a file nor as anything else."""

from base64 import b64encode

import pytest

from partstream import DataPart, Finish, Outcome, RequestOptions, TextPart
from partstream.codec.json_codec import dumps
from partstream.lm.inner_activity import InnerCall, InnerResult, call_data, result_data
from partstream.lm.outputs import InboundRequest, Reply
from partstream.lm.parts import STATEFUL_MARKER_MIME_TYPE
from partstream.protocols.protocol import loadable_protocols
from partstream.runtime.translation import write_answer
from rows import one_test_for

MARKS = {
    "a call of an agent": call_data(InnerCall("call-1", "search", {"query": "agents"})),
    "a result of an agent": result_data(InnerResult("call-1", "search", ["first"])),
    "state": DataPart(b"model\\state", STATEFUL_MARKER_MIME_TYPE),
}
SERVED = [name for name, one in loadable_protocols()[0].items() if one.write_response is not None]


def _written(name: str, *parts: TextPart | DataPart) -> bytes:
    asked = InboundRequest("m", (), RequestOptions())
    outputs = [TextPart("Hello"), *parts, TextPart(" there"), Finish(Outcome.COMPLETED)]
    return dumps(list(write_answer(loadable_protocols()[0][name], asked, outputs, Reply("i", 1, 9))))


@one_test_for("name", SERVED)
@one_test_for("mark", MARKS.values(), ids=MARKS)
def test_a_wire_writes_an_answer_with_a_mark_as_one_without_it(name: str, mark: DataPart) -> None:
    written = _written(name, mark)
    assert written == _written(name)
    assert b64encode(mark.data) not in written


@pytest.mark.parametrize("name", ["ai-sdk-ui", "ai-gateway", "gemini"])
def test_a_file_is_no_mark(name: str) -> None:
    data = b'{"a": 1}'
    assert b64encode(data) in _written(name, DataPart(data, "application/vnd.api+json"))
