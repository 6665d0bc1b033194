"""The seam to JSON reads and writes what real servers send, with either library behind it."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partstream.codec.json_codec import (
    DECODE_ERRORS,
    FAST,
    JSONDecodeError,
    dumps,
    is_json,
    loads,
    make_decoder,
)
from partstream.lm.parts import DataPart
from rows import one_test_for

values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(), inner, max_size=4)),
    max_leaves=10,
)


@given(values)
def test_what_is_written_reads_back_the_same(value: Any) -> None:
    assert loads(dumps(value)) == value
    assert loads(dumps(value).decode()) == value
    assert is_json(value)


@one_test_for(
    ("text", "value"),
    [
        (b'{"a":1}', {"a": 1}),
        (' {"a" : 1}\n', {"a": 1}),
        (b'"\\ud83d"', "\ud83d"),
        ('"\\ud83d\\ude00"', "😀"),
        ("18446744073709551616", 2**64),
        ("1e999", float("inf")),
        ('{"a":1,"a":2}', {"a": 2}),
        (b"[]", []),
        ("null", None),
    ],
)
def test_what_real_servers_send_is_read(text: bytes | str, value: object) -> None:
    assert loads(text) == value


@one_test_for(
    "text",
    [b"", b" ", b"{", b"{]", b"nonsense", b'"\xff"', b"{}{}", "9" * 5000, "[" * 100_000, "{'a':1}", "[1,]", b"\0"],
    ids=lambda text: repr(text[:8]),
)
def test_what_is_no_json_is_one_kind_of_error(text: bytes | str) -> None:
    with pytest.raises(JSONDecodeError):
        loads(text)


@one_test_for(
    "text", [b"", b"{", b"nonsense", b'"\xff"', b"9" * 5000, b"[" * 100_000, b"{}{}"], ids=lambda text: repr(text[:8])
)
def test_a_quick_decoder_refuses_with_one_of_the_listed_errors(text: bytes) -> None:
    with pytest.raises(DECODE_ERRORS):
        make_decoder()(text)


@pytest.mark.parametrize(
    "value", [float("nan"), {"a": [float("inf")]}, -float("inf"), loads("[" * 900 + "1e999" + "]" * 900)]
)
def test_what_json_has_no_form_for_is_told_and_never_written(value: object) -> None:
    assert not is_json(value)
    with pytest.raises(TypeError, match="JSON cannot represent"):
        dumps(value)
    with pytest.raises(TypeError, match="JSON cannot represent"):
        dumps(["\ud83d", value])
    with pytest.raises(TypeError, match="JSON cannot represent"):
        DataPart.json(value)


def test_nesting_without_end_is_told_and_never_written() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    endless: list[Any] = []
    endless.append(endless)
    for value in (deep, endless):
        assert not is_json(value)
        with pytest.raises(TypeError, match="JSON cannot represent"):
            dumps(value)


@one_test_for("value", [object(), {1, 2}, b"bytes", 10**5000, {"a": {3: object()}}], ids=range(5))
def test_an_object_that_json_has_no_form_for_is_refused(value: object) -> None:
    with pytest.raises(TypeError):
        dumps(value)


def test_writing_is_short_and_in_utf_8() -> None:
    assert dumps({"a": [1, "é😀\u2028"]}) == '{"a":[1,"é😀\u2028"]}'.encode()
    assert dumps("a\ud83d") == b'"a\\ud83d"'


def test_without_the_optional_library_everything_above_holds() -> None:
    if not FAST:
        pytest.skip("msgspec is not installed: everything above ran without it")
    code = "import sys; sys.modules['msgspec'] = None; import pytest; sys.exit(pytest.main(sys.argv[1:]))"
    # The hub's stores need the library.
    command = [sys.executable, "-c", code, "-q", "-p", "no:cacheprovider", "-p", "no:hub.stores", str(Path(__file__))]
    run = subprocess.run(
        command, capture_output=True, text=True, timeout=50, check=False, cwd=Path(__file__).resolve().parents[3]
    )
    assert run.returncode == 0, run.stdout
    assert "1 skipped" in run.stdout
