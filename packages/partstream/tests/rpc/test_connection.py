from hypothesis import given
from hypothesis import strategies as st

from partstream.vscode.rpc import (
    Connection,
    Malformed,
    Notification,
    Request,
    Response,
    encode_error,
    encode_frame,
    encode_notification,
    encode_result,
)
from rows import one_test_for

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text(), values, max_size=3),
    max_leaves=5,
)
IDS = st.integers(0, 2**31) | st.text()


@given(IDS, JSON, JSON, st.lists(st.integers(0, 500), max_size=10))
def test_messages_come_out_as_they_were_encoded_wherever_the_bytes_are_cut(request_id, result, params, cuts):
    data = encode_result(request_id, result) + encode_notification("n", params) + encode_error(request_id, -1, "no")
    connection, received, start = Connection(), [], 0
    for cut in [*sorted(cuts), len(data)]:
        received += connection.receive(data[start:cut])
        start = max(start, cut)
    assert received == [
        Response(request_id, result),
        Notification("n", params),
        Response(request_id, None, {"code": -1, "message": "no"}),
    ]


@one_test_for(
    ("body", "message"),
    [
        (b'{"jsonrpc":"2.0","id":7,"method":"m","params":{"a":1}}', Request(7, "m", {"a": 1})),
        (b'{"jsonrpc":"2.0","id":"s","method":"m"}', Request("s", "m")),
        (b'{"jsonrpc":"2.0","method":"m"}', Notification("m")),
        (b'{"jsonrpc":"2.0","id":null,"error":{"code":1}}', Response(None, None, {"code": 1})),
        (b'{"jsonrpc":"2.0","id":7,"result":null}', Response(7)),
    ],
)
def test_each_kind_of_message_is_told_apart(body, message):
    assert Connection().receive(encode_frame(body)) == [message]


@one_test_for(
    ("body", "request_id", "code", "text"),
    [
        (b"{", None, -32700, "got b'{', expected JSON"),
        (b"\xff", None, -32700, "expected JSON"),
        (b"", None, -32700, "expected JSON"),
        (b"[" * 100_000, None, -32700, "expected JSON"),
        (b"[]", None, -32600, "got list, expected an object"),
        (b"1", None, -32600, "got int, expected an object"),
        (b"{}", None, -32600, "got jsonrpc None, expected '2.0'"),
        (b'{"jsonrpc":"2.0"}', None, -32600, "got the method None, expected a string"),
        (b'{"jsonrpc":"2.0","id":3,"method":4}', 3, -32600, "got the method 4, expected a string"),
        (b'{"jsonrpc":"2.0","id":null,"method":"m"}', None, -32600, "got the id null"),
        (b'{"jsonrpc":"2.0","id":true,"method":"m"}', None, -32600, "got the id True"),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"m"}', None, -32600, "got the id 1.5"),
        (b'{"jsonrpc":"2.0","id":[],"method":"m"}', None, -32600, "got the id []"),
        (
            b'{"jsonrpc":"2.0","id":5,"method":"m","params":[' + b"[]," * 260_000 + b"1]}",
            5,
            -32600,
            "got a message of more than 250,000 values",
        ),
    ],
)
def test_what_is_no_message_is_malformed_with_the_code_of_json_rpc(body, request_id, code, text):
    connection = Connection()
    [malformed] = connection.receive(encode_frame(body))
    assert isinstance(malformed, Malformed)
    assert (malformed.id, malformed.code, malformed.is_fatal) == (request_id, code, False)
    assert text in malformed.message
    assert connection.receive(encode_notification("next", None)) == [Notification("next")]


def test_a_message_over_the_limit_is_malformed_and_the_next_one_is_read():
    connection = Connection(max_body_size=60)
    received = connection.receive(encode_notification("n", "x" * 100) + encode_notification("n", None))
    assert received == [
        Malformed(None, -32600, "got a message of 142 bytes, expected at most 60"),
        Notification("n"),
    ]


READABLE_IDS = {
    b'{"jsonrpc":"2.0","id":7,"method":"m","params":': 7,
    b'{"jsonrpc":"2.0","id":-7,"method":"m","params":': -7,
    b' { "jsonrpc" : "2.0" , "id" : "a b" , "method" : "m" , "params" : ': "a b",
    b'{"method":"m","id":7,"params":': 7,
    b'{"jsonrpc":"2.0","method":"m","params":{"id":7,"a":': None,
    b'{"jsonrpc":"2.0","id":7.5,"method":"m","params":': None,
    b'{"jsonrpc":"2.0","id":null,"method":"m","params":': None,
    b'{"jsonrpc":"2.0","id":"a\\u0041","method":"m","params":': None,
    b'{"jsonrpc":"2.0","id":%s,"params":' % (b"9" * 1000): None,
    b"[7, ": None,
}


@one_test_for(("beginning", "request_id"), READABLE_IDS.items(), ids=range(len(READABLE_IDS)))
@one_test_for("cut", [1, 7, 64, 100_000])
def test_a_request_that_cannot_be_read_is_answered_by_the_id_at_its_beginning(beginning, request_id, cut):
    too_large = encode_frame(beginning + b'"' + b"x" * 3_000 + b'"}')
    no_json = encode_frame(beginning + b"[" * 2_000)
    for frame, connection in ((too_large, Connection(max_body_size=2_500)), (no_json, Connection())):
        received = [one for at in range(0, len(frame), cut) for one in connection.receive(frame[at : at + cut])]
        assert [type(one) for one in received] == [Malformed]
        assert received[0].id == request_id
        assert connection.receive(encode_notification("n", None)) == [Notification("n")]


def test_a_header_that_cannot_be_read_is_fatal():
    [malformed] = Connection().receive(b"Hello\r\n\r\n")
    assert malformed.is_fatal
    assert malformed.code == -32700
