"""Halves of characters: joined where both are there, replaced where one is missing."""

from hypothesis import given
from hypothesis import strategies as st

from partstream.conversation.turns import joined_texts, well_formed
from rows import one_test_for


@one_test_for(
    ("text", "mended"),
    [("a", "a"), ("é👋", "é👋"), ("\ud83d\udc4b", "👋"), ("a\ud83d", "a\ufffd"), ("\udc4bé", "\ufffdé")],
)
def test_mending(text: str, mended: str):
    assert well_formed(text) == mended


@given(st.text(alphabet=st.characters()))
def test_any_text_can_be_written_afterwards_and_good_text_is_kept(text: str):
    mended = well_formed(text)
    assert mended.encode().decode() == mended
    if not any("\ud800" <= character <= "\udfff" for character in text):
        assert mended == text


@one_test_for(
    ("texts", "joined"),
    [
        ([], ""),
        (["a"], "a"),
        (["a", "b"], "a\nb"),
        (["a\n", "b"], "a\nb"),
        (["a", " b"], "a b"),
        (["", "a", "", "b", ""], "a\nb"),
        (["The tool failed: ", "no file"], "The tool failed: no file"),
    ],
)
def test_texts_of_one_result_never_run_into_each_other(texts: list[str], joined: str):
    assert joined_texts(texts) == joined
