"""The forms of files that hold recorded exchanges, as a table: how each is recognized, read and written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from partstream.bundles.streams import STREAM_ENDINGS, read_stream, write_stream
from partstream.devtools.bundles.archive import BUNDLE_ENDING, looks_like_a_bundle, read_bundle, write_bundle
from partstream.devtools.bundles.documents import UnknownFormError
from partstream.devtools.bundles.har import looks_like_har, read_har, write_har
from partstream.devtools.bundles.mitmproxy import MITMPROXY_ENDINGS, looks_like_flows, read_flows
from partstream.devtools.bundles.partial import PARTIAL_ENDING, looks_partial, read_partial

if TYPE_CHECKING:
    from collections.abc import Callable

    from partstream.devtools.bundles.exchange import Bundle

__all__ = ["FORMS", "RecordingFormat", "form_of", "read_any", "write_as"]


@dataclass(frozen=True, slots=True)
class RecordingFormat:
    """One form of files.

    Attributes:
        name: What it is called.
        endings: The endings of its names, with the dot; the first is used for new files.
        looks: Whether bytes are of this form, by their beginning; None for a form that everything may look like.
        read: Reads a file of the bytes and its name, or None where it is only written.
        write: Writes a bundle, or None where it is only read.
        says: What a file of the form keeps, in a few words for a person.
    """

    name: str
    endings: tuple[str, ...]
    looks: Callable[[bytes], bool] | None
    read: Callable[[bytes, str], Bundle] | None
    write: Callable[[Bundle], bytes] | None
    says: str


FORMS: Final = (
    RecordingFormat(
        "bundle",
        (BUNDLE_ENDING, ".zip"),
        looks_like_a_bundle,
        lambda data, _: read_bundle(data),
        write_bundle,
        "everything: requests, answers read by read with their times, parts",
    ),
    RecordingFormat(
        "partial recording",
        (PARTIAL_ENDING,),
        looks_partial,
        lambda data, _: read_partial(data),
        None,
        "a recording that still grows, or was interrupted",
    ),
    RecordingFormat(
        "HAR",
        (".har",),
        looks_like_har,
        lambda data, _: read_har(data),
        write_har,
        "requests and bodies for browsers and other tools; times of events, no parts",
    ),
    RecordingFormat(
        "mitmproxy flows",
        MITMPROXY_ENDINGS,
        looks_like_flows,
        lambda data, _: read_flows(data),
        None,
        "requests and whole bodies, without times of reads",
    ),
    RecordingFormat(
        "stream",
        STREAM_ENDINGS,
        None,
        read_stream,
        write_stream,
        "the body of one answer, without times",
    ),
)
"""In the order in which they are tried: a form that everything may look like stands last."""


def form_of(data: bytes) -> RecordingFormat | None:
    """The form that bytes are of, by their beginning; None for bytes that show none."""
    return next((form for form in FORMS if form.looks is not None and form.looks(data)), None)


def read_any(data: bytes, name: str) -> Bundle:
    """What a file holds, in whichever form.

    What the bytes show counts before the ending of the name. A form whose bytes show nothing is read as a stream.

    Args:
        data: The whole file.
        name: Its name.

    Raises:
        BundleError: It cannot be read; the error says what was got and expected, and where.
    """
    shown = form_of(data)
    readable = [shown] if shown is not None else [form for form in FORMS if form.looks is None]
    for form in readable:
        if form.read is not None:
            return form.read(data, name)
    raise UnknownFormError(name, f"a file of the form {readable[0].name}", "a form that is read")


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
