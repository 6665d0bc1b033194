"""Images: their size by their headers, and what that costs by each provider's formula."""

import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partstream.tokens.files import IMAGE_COSTS, Dimensions, image_cost_of, read_dimensions
from rows import one_test_for


def png(width, height):
    header = struct.pack(">II5B", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + header + struct.pack(">I", zlib.crc32(b"IHDR" + header))


def gif(width, height):
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\xf7\x00\x00"


def jpeg(width, height, frame=0xC0, before=b""):
    exif = b"\xff\xe1" + struct.pack(">H", 2 + 600) + bytes(600)
    tables = b"\xff\xc4\x00\x05\x00\x01\x02"  # Huffman tables: of the frames' range, but no frame
    start = bytes([0xFF, frame]) + struct.pack(">HBHHB", 17, 8, height, width, 3) + bytes(9)
    return b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01" + bytes(7) + exif + tables + before + start + b"\xff\xda\x00\x08"


def _riff(chunk):
    return b"RIFF" + struct.pack("<I", len(chunk) + 4) + b"WEBP" + chunk


def webp_lossy(width, height):
    frame = b"\x30\x01\x00\x9d\x01\x2a" + struct.pack("<HH", width | 0x4000, height | 0x8000)  # with their scales
    return _riff(b"VP8 " + struct.pack("<I", len(frame)) + frame)


def webp_lossless(width, height):
    bits = (width - 1) | (height - 1) << 14 | 1 << 28
    return _riff(b"VP8L" + struct.pack("<IBI", 5, 0x2F, bits))


def webp_extended(width, height):
    size = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    return _riff(b"VP8X" + struct.pack("<I", 10) + b"\x10\x00\x00\x00" + size)


FORMATS = (png, gif, jpeg, webp_lossy, webp_lossless, webp_extended)


@one_test_for("write", FORMATS)
@one_test_for("size", [(1, 1), (640, 480), (480, 640), (16383, 9)])
def test_the_size_of_an_image_is_read_from_its_header(write, size):
    assert read_dimensions(write(*size)) == Dimensions(*size)
    assert read_dimensions(write(*size) + bytes(5000)) == Dimensions(*size)


@one_test_for("frame", [0xC0, 0xC1, 0xC2, 0xC3, 0xC5, 0xCF])
def test_every_kind_of_frame_of_a_jpeg_has_the_size(frame):
    assert read_dimensions(jpeg(800, 600, frame, before=b"\xff\xff\xff\xd0")) == Dimensions(800, 600)


@one_test_for("write", FORMATS)
def test_a_header_that_is_cut_off_gives_no_size_and_no_error(write):
    whole = write(640, 480)
    found = {read_dimensions(whole[:length]) for length in range(len(whole))}
    assert found <= {None, Dimensions(640, 480)}
    assert read_dimensions(whole[:12]) in {None, Dimensions(640, 480)}


@one_test_for("data", [b"", b"%PDF-1.7", b"BM" + bytes(40), png(0, 5), png(7, 0), gif(0, 0), b"\xff\xd8\xff\xda"])
def test_what_is_no_image_of_these_formats_or_has_no_pixels_has_no_size(data):
    assert read_dimensions(data) is None


@given(st.sampled_from(FORMATS), st.data())
def test_a_damaged_header_gives_a_size_or_none(write, data):
    damaged = bytearray(write(640, 480))
    for _ in range(data.draw(st.integers(1, 8))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    found = read_dimensions(bytes(damaged))
    assert found is None or min(found) > 0


# ---- costs ----


@one_test_for(
    ("family", "size", "tokens"),
    [
        # OpenAI's own examples, guide "Images and vision"
        ("gpt-4o", (1024, 1024), 765),
        ("gpt-4o", (2048, 4096), 1105),
        ("gpt-4.1-mini", (1024, 1024), 1659),  # 1,024 patches
        ("o4-mini", (1800, 2400), 2498),  # 1,452 patches after scaling
        ("gpt-4.1-mini", (4000, 1474), 2348),
        # small images are not made larger
        ("gpt-4o", (512, 512), 255),
        ("gpt-4o", (513, 512), 425),
        ("gpt-5", (1024, 1024), 630),
        ("o3", (1024, 1024), 675),
        ("openai/o1", (128, 64), 225),
        ("gpt-4o-mini", (1024, 1024), 25501),
        ("gpt-5-mini", (768, 1024), 922),
        ("gpt-5-mini", (2048, 768), 1844),
        ("gpt-5-nano", (1024, 1024), 1536),
        # Anthropic, page "Vision": 28 by 28 pixels
        ("claude-sonnet-4.5", (1000, 1000), 1296),
        ("claude-sonnet-4.5", (200, 200), 64),
        ("anthropic/claude-opus-4.7", (2000, 1500), 3888),
        # Google, page "Image understanding"
        ("gemini-2.5-pro", (384, 384), 258),
        ("gemini-2.5-pro", (960, 540), 1548),
        ("google/gemini-3-pro", (4000, 3000), 1120),
        ("never-heard-of", (1024, 1024), 765),
    ],
)
def test_an_image_costs_what_the_providers_formula_says(family, size, tokens):
    assert image_cost_of(family)(Dimensions(*size)) == tokens


@pytest.mark.parametrize(
    ("family", "most"), [("claude-sonnet-4", 1568), ("claude-opus-4-7", 4784), ("gpt-4.1-mini", 2489)]
)
def test_the_largest_image_stays_just_under_the_limit(family, most):
    for size in ((8000, 8000), (3000, 2000), (2000, 3100)):
        assert 0.9 * most <= image_cost_of(family)(Dimensions(*size)) <= most


@given(st.sampled_from(sorted(IMAGE_COSTS)), st.integers(1, 60_000), st.integers(1, 60_000))
def test_every_image_costs_something_and_no_image_costs_a_context(family, width, height):
    assert 1 <= image_cost_of(family)(Dimensions(width, height)) < 3_000_000
