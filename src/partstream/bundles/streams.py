"""A recorded stream without its exchange: the bytes of a body, or its events, as a bundle without a clock.

Reads what :mod:`partstream.devtools.recorded_stream` unpacks: `.sse` and `.ndjson` (bytes), `.jsonl` (one event a line), and
arrays of events, each also packed with gzip or behind the heads of `curl -i`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from partstream._version import __version__
from partstream.devtools.bundles.documents import BundleContentError
from partstream.devtools.bundles.exchange import Bundle, Chunk, ExchangeEnd, HowEnded, RecordedExchange
from partstream.devtools.recorded_stream import CaptureError, as_stream
from partstream.protocols.protocol import JSON_LINES, SSE

if TYPE_CHECKING:
    from partstream.protocols.protocol import Framing

__all__ = ["STREAM_ENDINGS", "read_stream", "write_stream"]

_FRAMINGS: Final[dict[str, Framing]] = {"sse": SSE, "jsonl": JSON_LINES, "ndjson": JSON_LINES}

STREAM_ENDINGS: Final = (".sse", ".jsonl", ".ndjson", ".json", ".txt")


def read_stream(data: bytes, name: str) -> Bundle:
    """The exchange that a recorded stream is of, as far as it is known: the bytes of a body in one read without a time.

    Args:
        data: The whole file.
        name: Its name, whose ending tells how events are told apart.

    Raises:
        BundleContentError: It is empty, or packed and broken.
    """
    try:
        body, name = as_stream(data, name)
    except CaptureError as error:
        raise BundleContentError(name, str(error), "a whole file") from error
    if not body.strip():
        raise BundleContentError(name, "nothing", "one JSON event a line (.jsonl) or an event stream (.sse)")
    ending = name.rpartition(".")[2]
    framing = _FRAMINGS.get(ending)
    end = ExchangeEnd(None, HowEnded.WHOLE)
    exchange = RecordedExchange(1, 1, None, None, None, None, (Chunk(None, body),), end)
    return Bundle(ending if framing is not None else "stream", f"partstream {__version__}", exchanges=(exchange,))


def write_stream(bundle: Bundle) -> bytes:
    """The bytes of the body of the only exchange.

    Raises:
        BundleContentError: There are several exchanges, or none.
    """
    if len(bundle.exchanges) != 1:
        got = f"{len(bundle.exchanges)} exchanges"
        raise BundleContentError("the bundle", got, "one exchange: a file of this form holds one body")
    return bundle.exchanges[0].body
