"""Streamed text is broken between words, whatever the fragments in which it comes."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from partstream.cli.wrapping import WordWrap

TEXT = "The quick brown fox jumps over the lazy dog.\n\n- naïve 東京 🚀\n    indented"


def _wrapped(pieces: list[str], width: int) -> str:
    wrap = WordWrap(width)
    return "".join(wrap.feed(piece) for piece in pieces) + wrap.flush()


def test_lines_break_between_words():
    assert _wrapped([TEXT], 20).splitlines() == [
        "The quick brown fox",
        "jumps over the lazy",
        "dog.",
        "",
        "- naïve 東京 🚀",
        "    indented",
    ]


@given(st.lists(st.integers(0, len(TEXT)), max_size=10), st.integers(12, 60))
def test_fragments_change_nothing(cuts: list[int], width: int):
    places = [0, *sorted(cuts), len(TEXT)]
    pieces = [TEXT[start:end] for start, end in pairwise(places)]
    assert _wrapped(pieces, width) == _wrapped([TEXT], width)
    assert max(map(cell_len, _wrapped(pieces, width).splitlines())) <= width


@given(st.text(st.sampled_from("ab \n東"), max_size=80))
def test_nothing_but_blanks_at_the_ends_of_lines_is_lost(text: str):
    assert _wrapped([text], 10).split() == text.split() or max(map(cell_len, text.split())) >= 10


def test_a_word_longer_than_a_line_is_not_held_back_for_ever():
    wrap = WordWrap(10)
    assert wrap.feed("https://example.com/") == "https://example.com/"


@pytest.mark.parametrize(("text", "at_start"), [("", True), ("a", False), ("a\n", True)])
def test_without_a_width_text_passes_as_it_is(text: str, at_start: bool):
    wrap = WordWrap(0)
    assert wrap.feed(text) == text
    assert wrap.at_line_start is at_start
