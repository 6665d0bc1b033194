import pytest
from hypothesis import given
from hypothesis import strategies as st

from partstream.vscode.rpc import (
    BACKLOG_LIMIT,
    BATCH_SIZE,
    HIGH_WATER,
    LOW_WATER,
    MINOR_LIMIT,
    SHARE,
    BacklogError,
    Connection,
    Outbox,
    encode_notification,
    encode_result,
)


def _open(outbox, token):
    return outbox.open(b'{"jsonrpc":"2.0","method":"%d","params":[' % token, b"]}")


def _drain(outbox):
    """All that waits, decoded: (method, params) of notifications, the result of replies."""
    connection, received = Connection(), []
    while data := outbox.take():
        received += connection.receive(data)
    return [(m.method, m.params) if hasattr(m, "method") else m.result for m in received]


def test_items_that_wait_go_out_together_and_the_last_message_after_them():
    outbox = Outbox()
    stream = _open(outbox, 1)
    for number in range(3):
        stream.put(b"%d" % number)
    stream.finish(encode_result(9, "done"))
    assert _drain(outbox) == [("1", [0, 1, 2]), "done"]
    assert not outbox.is_waiting


def test_messages_go_before_items():
    outbox = Outbox()
    stream = _open(outbox, 1)
    stream.put(b"0")
    outbox.post(encode_result(1, "first"))
    assert _drain(outbox) == ["first", ("1", [0])]


def test_streams_take_turns():
    outbox = Outbox()
    long, short = _open(outbox, 1), _open(outbox, 2)
    item = b'"%s"' % (b"x" * SHARE)
    for _ in range(5):
        long.put(item)
    short.put(b"0")
    assert [method for method, _ in _drain(outbox)] == ["1", "2", "1", "1", "1", "1"]


def test_a_batch_is_about_as_large_as_it_may_be():
    outbox = Outbox()
    stream = _open(outbox, 1)
    for _ in range(1000):
        stream.put(b'"%s"' % (b"x" * 1000))
    assert len(outbox.take()) < BATCH_SIZE + 2 * SHARE


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9) | st.none()), max_size=60))
def test_nothing_is_lost_or_reordered_within_a_stream(steps):
    outbox = Outbox()
    streams = [_open(outbox, token) for token in range(3)]
    put, got, connection = [[], [], []], [[], [], []], Connection()

    def take():
        for message in connection.receive(outbox.take()):
            got[int(message.method)] += message.params

    for token, item in steps:
        if item is None:
            take()
        else:
            streams[token].put(b"%d" % item)
            put[token].append(item)
    while outbox.is_waiting:
        take()
    assert got == put


def test_who_writes_is_woken_once_for_whatever_begins_to_wait():
    outbox = Outbox()
    woken = []
    outbox.on_waiting = lambda: woken.append(1)
    stream = _open(outbox, 1)
    stream.put(b"0")
    stream.put(b"1")
    outbox.post(encode_result(1, None))
    assert len(woken) == 1
    _drain(outbox)
    stream.put(b"2")
    assert len(woken) == 2


def test_a_full_stream_tells_when_it_is_low_again():
    outbox = Outbox()
    stream = _open(outbox, 1)
    item = b'"%s"' % (b"x" * 998)
    while not stream.is_full:
        stream.put(item)
    assert HIGH_WATER < stream.size <= HIGH_WATER + len(item)
    low = []
    stream.when_low(lambda: low.append(stream.size))
    while not low:
        assert outbox.take()
    assert low[0] <= LOW_WATER


def test_who_waits_on_a_stream_that_is_discarded_is_told():
    outbox = Outbox()
    stream = _open(outbox, 1)
    stream.put(b'"%s"' % (b"x" * HIGH_WATER))
    low = []
    stream.when_low(lambda: low.append(1))
    stream.discard(encode_result(1, "cancelled"))
    assert low == [1]
    assert stream.closed
    assert _drain(outbox) == ["cancelled"]


def test_a_stream_takes_nothing_more_when_far_too_much_waits():
    stream = _open(Outbox(), 1)
    stream.put(b"1" * (BACKLOG_LIMIT + 1))  # one item of any size is taken: an image is large
    with pytest.raises(BacklogError) as caught:
        stream.put(b"1")
    assert (caught.value.size, caught.value.limit) == (BACKLOG_LIMIT + 1, BACKLOG_LIMIT)


def test_minor_messages_take_turns_with_streams_and_are_dropped_when_too_many_wait():
    outbox = Outbox()
    minor = outbox.open_minor()
    frame = encode_notification("log", "x" * 1000)
    taken = 0
    while minor.put(frame):
        taken += 1
    assert MINOR_LIMIT - len(frame) < taken * len(frame) <= MINOR_LIMIT
    stream = _open(outbox, 1)
    stream.put(b"0")
    first = _drain(outbox)
    assert [method for method, _ in first[:30]].count("1") == 1
    assert len(first) == taken + 1
    assert minor.put(frame)
