"""Text in a terminal is broken between words: streamed text, whatever its fragments, and what commands say."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from commands import call, run, terminal
from partstream.cli.console import WordWrap, broken_command

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


NARROW = {
    "doctor": ("doctor", "--base-url", "http://127.0.0.1:9/v1"),
    "add --list": ("add", "--list"),
    "config show": ("config", "show", "--base-url", "http://127.0.0.1:9/v1"),
    "demo": ("demo", "--fast"),
}


@pytest.mark.parametrize("arguments", NARROW.values(), ids=NARROW)
def test_a_narrow_terminal_gets_lines_that_fit_and_whole_words(arguments: tuple[str, ...]):
    async def test() -> None:
        whole = await call(*arguments, PARTSTREAM_RETRY='{"attempts": 1}')
        async with terminal(*arguments, COLUMNS="60", PARTSTREAM_RETRY='{"attempts": 1}') as shown:
            await shown.ended()
            await shown.all_shown()
            lines = shown.plain.splitlines()
        assert [line for line in lines if cell_len(line) > 60 and len(line.split()) > 1] == []
        if arguments[0] != "demo":  # which tells the time that it took, and shows the address of its server
            shown_words = {word.strip("()") for word in " ".join(lines).split()}
            words = {word.strip("()") for word in whole.output.split()}
            assert words - shown_words <= {"Setting", "Value", "Source"}
        else:
            assert "partstream serve --demo --no-token" in " ".join(" ".join(lines).split())

    run(test())


COMMANDS = {
    60: "partstream chat --base-url http://127.0.0.1:8421/v1 \\\n    --model thinking",
    40: "partstream chat \\\n    --base-url http://127.0.0.1:8421/v1 \\\n    --model thinking",
    100: "partstream chat --base-url http://127.0.0.1:8421/v1 --model thinking",
}


@pytest.mark.parametrize(("width", "shown"), COMMANDS.items())
def test_a_command_is_broken_before_an_option_so_that_a_shell_reads_all_of_it(width: int, shown: str):
    assert broken_command("partstream chat --base-url http://127.0.0.1:8421/v1 --model thinking", width) == shown
