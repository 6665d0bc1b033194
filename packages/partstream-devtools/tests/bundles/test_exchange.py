"""The values of a recording: how they describe themselves."""

import pytest

from partstream_devtools.bundles.exchange import Bundle, Chunk, ExchangeEnd, HowEnded, RecordedExchange

WHOLE = ExchangeEnd(30, HowEnded.WHOLE)


def _exchange(*chunks: Chunk, number: int = 1, answer: int = 1, end: ExchangeEnd = WHOLE) -> RecordedExchange:
    return RecordedExchange(number, answer, None, None, None, None, chunks, end)


def test_the_body_is_what_the_reads_brought() -> None:
    assert _exchange(Chunk(10, b"data: {"), Chunk(20, b"}\n\n")).body == b"data: {}\n\n"
    assert _exchange().body == b""


@pytest.mark.parametrize(
    ("exchange", "has_clock"),
    [
        (_exchange(Chunk(10, b"a"), Chunk(20, b"b")), True),
        (_exchange(Chunk(10, b"a"), Chunk(None, b"b")), False),
        (_exchange(), True),
        (_exchange(end=ExchangeEnd(None, HowEnded.NO_RESPONSE)), False),
    ],
)
def test_an_exchange_has_a_clock_where_every_read_has_a_time(exchange: RecordedExchange, has_clock: bool) -> None:
    assert exchange.has_clock is has_clock


def test_an_answer_may_have_several_exchanges() -> None:
    first, second, other = _exchange(), _exchange(number=2), _exchange(number=3, answer=2)
    bundle = Bundle("chat", "partstream 0", exchanges=(first, second, other))
    assert bundle.exchanges_of(1) == (first, second)
    assert bundle.exchanges_of(2) == (other,)
