"""The forms of files that hold recorded exchanges, as a table: how each is recognized, read and written.

A recorded stream without its exchange is a form too: the bytes of a body, or its events, as a bundle without a clock.
:mod:`partstream_devtools.recorded_stream` unpacks them: `.sse` and `.ndjson` (bytes), `.jsonl` (one event a line), and
arrays of events, each also packed with gzip or after the heads of `curl -i`.
"""

from __future__ import annotations
import re
from collections.abc import Callable
from typing import Final

from partstream._version import __version__
from partstream.codec.checks import dataclass
from partstream.protocols.protocol import JSON_LINES, SSE, Framing
from partstream_devtools.bundles.archive import ARCHIVE_BEGINS, BUNDLE_ENDING, read_bundle, write_bundle
from partstream_devtools.bundles.documents import BundleContentError, UnknownFormError
from partstream_devtools.bundles.exchange import Bundle, Chunk, ExchangeEnd, HowEnded, RecordedExchange
from partstream_devtools.bundles.har import HAR_BEGINS, read_har, write_har
from partstream_devtools.bundles.mitmproxy import FLOWS_BEGIN, MITMPROXY_ENDINGS, read_flows
from partstream_devtools.bundles.partial import PARTIAL_BEGINS, PARTIAL_ENDING, read_partial
from partstream_devtools.recorded_stream import RecordingError, as_stream

# ---- Streams ----

_FRAMINGS: Final[dict[str, Framing]] = {"sse": SSE, "jsonl": JSON_LINES, "ndjson": JSON_LINES}

STREAM_ENDINGS: Final = (".sse", ".jsonl", ".ndjson", ".json", ".txt")


def read_stream(data: bytes, name: str) -> Bundle:
    """The exchange that a recorded stream is of, as far as it is known: the bytes of a body in one read without a time.

    The ending of the name says how its events are separated.

    Raises:
        BundleContentError: It is empty, or packed and broken.
    """
    try:
        body, name = as_stream(data, name)
    except RecordingError as error:
        raise BundleContentError(name, error.reason, "a whole file") from error
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


# ---- The table ----


@dataclass(frozen=True, slots=True)
class RecordingFormat:
    """One form of files.

    Attributes:
        name: What it is called.
        endings: The endings of its names, with the dot; the first is used for new files.
        looks: What bytes of this form begin with; None for a form that everything may look like.
        read: Reads a file of the bytes and its name.
        write: Writes a bundle, or None where it is only read.
    """

    name: str
    endings: tuple[str, ...]
    looks: re.Pattern[bytes] | None
    read: Callable[[bytes, str], Bundle]
    write: Callable[[Bundle], bytes] | None


FORMS: Final = (
    RecordingFormat(
        "bundle",
        (BUNDLE_ENDING, ".zip"),
        re.compile(re.escape(ARCHIVE_BEGINS)),
        lambda data, _: read_bundle(data),
        write_bundle,
    ),
    RecordingFormat(
        "partial recording",
        (PARTIAL_ENDING,),
        re.compile(re.escape(PARTIAL_BEGINS)),
        lambda data, _: read_partial(data),
        None,
    ),
    RecordingFormat("HAR", (".har",), HAR_BEGINS, lambda data, _: read_har(data), write_har),
    RecordingFormat("mitmproxy flows", MITMPROXY_ENDINGS, FLOWS_BEGIN, lambda data, _: read_flows(data), None),
    RecordingFormat("stream", STREAM_ENDINGS, None, read_stream, write_stream),
)
"""In the order in which they are tried: a form that everything may look like is the last."""


def form_of(data: bytes) -> RecordingFormat | None:
    """The form that bytes are of, by their beginning; None for bytes that show none."""
    return next((form for form in FORMS if form.looks is not None and form.looks.match(data)), None)


def read_any(data: bytes, name: str) -> Bundle:
    """What a file holds, in whichever form.

    What the bytes show counts before the ending of the name. A form whose bytes show nothing is read as a stream.

    Raises:
        BundleError: It cannot be read; the error says what was got and expected, and where.
    """
    return (form_of(data) or FORMS[-1]).read(data, name)


def write_as(bundle: Bundle, name: str) -> bytes:
    """The bytes of a file in the form that the ending of its name says.

    Raises:
        UnknownFormError: No form that is written has this ending.
        BundleError: The form cannot hold the bundle.
    """
    for form in FORMS:
        if form.write is not None and name.lower().endswith(form.endings):
            return form.write(bundle)
    known = ", ".join(form.endings[0] for form in FORMS if form.write is not None)
    raise UnknownFormError("the file", f"the name {name[-60:]!r}", f"a name that ends with one of {known}")
