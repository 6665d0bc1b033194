"""A clock that a test sets, and answers that are captured by it."""

from datetime import UTC, datetime
from typing import Any

from partstream.upstream.context import CapturedRequest
from partstream_devtools.capturing.capture import AnswerCapture, ExchangeCapture

MOMENT = datetime(2026, 11, 23, 10, 0, tzinfo=UTC)


class Clock:
    """Nanoseconds that go on by one at each look."""

    def __init__(self) -> None:
        self.at = 0

    def __call__(self) -> int:
        self.at += 1
        return self.at


def request(body: bytes = b"", **changes: Any) -> CapturedRequest:
    return CapturedRequest(**({"method": "POST", "path": "/v1/x", "query": "", "headers": (), "body": body} | changes))


def answer(**changes: Any) -> AnswerCapture:
    usual: dict[str, Any] = {"clock": Clock(), "now": lambda: MOMENT}
    return AnswerCapture("chat", "m", **(usual | changes))


def reads_of(captured: AnswerCapture, exchange: ExchangeCapture) -> list[bytes]:
    index = captured.exchanges.index(exchange)
    return [content for one, _, content in captured.entries if one == index and isinstance(content, bytes)]
