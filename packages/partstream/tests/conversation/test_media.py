"""Media types: the bytes are believed before the label, and bytes never become text."""

from hypothesis import given
from hypothesis import strategies as st

from conversation.samples import JPEG, PDF, PNG
from partstream import DataPart
from partstream.conversation.media import Media, MediaKind, data_url, file_name, read_media, sniff
from partstream.lm.parts import unchecked_part
from rows import one_test_for

BITMAP = b"BM" + (20).to_bytes(4, "little") + bytes(14)

SNIFFED = {
    "image/png": PNG,
    "image/jpeg": JPEG,
    "image/gif": b"GIF89a\x01\x00",
    "image/webp": b"RIFF\x10\x00\x00\x00WEBPVP8 ",
    "image/bmp": BITMAP,
    "image/tiff": b"II*\x00\x08\x00",
    "image/avif": b"\x00\x00\x00\x1cftypavif",
    "application/pdf": PDF,
    "audio/wav": b"RIFF\x10\x00\x00\x00WAVEfmt ",
    "application/zip": b"PK\x03\x04\x14\x00",
}


@one_test_for(("media_type", "data"), SNIFFED.items())
def test_first_bytes_tell_the_type(media_type: str, data: bytes):
    assert sniff(data) == media_type
    assert read_media(DataPart(data, "application/octet-stream")).media_type == media_type


@one_test_for("data", [b"", b"BMW is a car", b"plain", b"\x89PN", b"RIFF"])
def test_other_bytes_tell_nothing(data: bytes):
    assert sniff(data) is None


@one_test_for("label", ["image/jpeg", "image/*", "image/gif", "application/octet-stream", "", "IMAGE/JPG"])
def test_an_image_has_the_type_of_its_bytes_under_any_label(label: str):
    assert read_media(unchecked_part(DataPart, PNG, label)) == Media(MediaKind.IMAGE, "image/png")


LABELLED = {
    "text": (b"Hi", "text/plain", (MediaKind.TEXT, "text/plain", "Hi")),
    "text with a parameter": (b"Hi", "Text/Plain; charset=utf-8", (MediaKind.TEXT, "text/plain", "Hi")),
    "text that begins like a bitmap": (b"BM", "text/plain", (MediaKind.TEXT, "text/plain", "BM")),
    "coloured text of a terminal": (b"\x1b[1mHi", "text/plain", (MediaKind.TEXT, "text/plain", "\x1b[1mHi")),
    "XML": (b"<a/>", "application/xml", (MediaKind.TEXT, "application/xml", "<a/>")),
    "a PDF that is called text": (PDF, "text/plain", (MediaKind.FILE, "application/pdf", "")),
    "an image that is called JSON": (PNG, "application/json", (MediaKind.IMAGE, "image/png", "")),
    "broken UTF-8": (b"\xff\xfe", "text/plain", (MediaKind.FILE, "application/octet-stream", "")),
    "a document in a zip file": (b"PK\x03\x04", "application/epub", (MediaKind.FILE, "application/epub", "")),
    "an image of no known kind": (b"?", "image/x-odd", (MediaKind.IMAGE, "image/x-odd", "")),
    "an image of no kind at all": (b"?", "image/*", (MediaKind.FILE, "application/octet-stream", "")),
    "another name of a type": (b"?", "image/jpg", (MediaKind.IMAGE, "image/jpeg", "")),
}


@one_test_for(("data", "label", "media"), LABELLED.values(), ids=LABELLED)
def test_bytes_and_label_together(data: bytes, label: str, media: tuple[MediaKind, str, str]):
    assert read_media(DataPart(data, label)) == Media(*media)


@given(st.binary(max_size=40), st.sampled_from(["text/plain", "application/json", "image/png", "x/y", ""]))
def test_what_becomes_text_is_the_bytes_and_no_bytes_raise(data: bytes, label: str):
    media = read_media(unchecked_part(DataPart, data, label))
    assert (media.kind is MediaKind.TEXT) or not media.text
    if media.kind is MediaKind.TEXT:
        assert media.text.encode() == data
        assert "\0" not in media.text


def test_a_url_of_data_and_a_name_for_a_file():
    assert data_url(b"\x01\x02", "image/png") == "data:image/png;base64,AQI="
    assert [file_name(kind) for kind in ("application/pdf", "audio/ogg", "x/y")] == ["file.pdf", "file.ogg", "file.bin"]
