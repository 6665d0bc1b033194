"""A text that is streamed and then said again: only what is missing is emitted, in constant memory."""

import sys

from hypothesis import given
from hypothesis import strategies as st

from partstream.protocols.openresponses.read_response import StreamedText
from rows import one_test_for


def _streamed(*deltas: str) -> tuple[StreamedText, str]:
    text = StreamedText()
    return text, "".join(text.push(delta) for delta in deltas)


@one_test_for(
    ("deltas", "whole", "emitted", "missing", "agrees"),
    [
        ([], "Hello", "", "Hello", True),
        (["Hel"], "Hello", "Hel", "lo", True),
        (["Hello"], "Hello", "Hello", "", True),
        (["Hello"], "", "Hello", "", True),
        (["Hello."], "", "Hello", ".", True),
        (["Hello."], "Hello.", "Hello", ".", True),
        (["Hello."], "Hello, you.", "Hello", ", you.", True),
        (["Hello!?"], "Hello!", "Hello", "!", True),
        (["Hello"], "Hell", "Hello", "", False),
        (["Hello"], "Goodbye", "Hello", "", False),
        (["Hello."], "Goodbye", "Hello", ".", False),
        (["..."], "...", "", "...", True),
        (["a", ".", "b"], "a.b", "a.b", "", True),
        (["é", "😀"], "é😀!", "é😀", "!", True),
        (["\ud83d"], "\ud83dx", "\ud83d", "x", True),
    ],
)
def test_a_closing_text_gives_what_is_missing(
    deltas: list[str], whole: str, emitted: str, missing: str, agrees: bool
) -> None:
    text, said = _streamed(*deltas)
    assert said == emitted
    assert text.close(whole) == (missing, agrees)
    assert text.closed
    assert text.close(whole)[0] == "", "and nothing when it is said once more"


def test_what_is_held_can_be_released_and_is_then_part_of_the_text() -> None:
    text, said = _streamed("Yes!")
    assert (said, text.held, text.length) == ("Yes", "!", 3)
    assert text.release() == "!"
    assert text.release() == ""
    assert text.length == 4
    assert text.close("Yes!?") == ("?", True)


def test_a_text_is_empty_until_something_is_emitted_or_held() -> None:
    assert StreamedText().is_empty
    assert not _streamed("a")[0].is_empty
    assert not _streamed("!")[0].is_empty


def test_only_the_last_few_thousand_characters_are_remembered_word_for_word() -> None:
    text, _ = _streamed("first ", "x" * 10_000, " last")
    assert text.recently_said("last")
    assert not text.recently_said("first")


@given(st.lists(st.text(alphabet=st.sampled_from("ab.!é\ud83d\n"), max_size=5), max_size=200), st.text(max_size=5))
def test_deltas_and_closing_text_together_are_the_whole_text_however_it_was_cut(deltas: list[str], more: str) -> None:
    text, said = _streamed(*deltas)
    whole = "".join(deltas)
    assert whole.startswith(said)
    missing, agrees = text.close(whole + more)
    assert agrees
    assert said + missing == whole + more
    assert text.length == len(whole + more)


def test_memory_does_not_grow_with_the_text() -> None:
    text = StreamedText()
    for _ in range(10_000):
        text.push("some words ")
    kept = sum(sys.getsizeof(getattr(text, name)) for name in StreamedText.__slots__)
    assert kept < 20_000
