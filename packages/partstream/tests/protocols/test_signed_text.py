"""Signed texts: read again with the same secret alone, whatever is changed in them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partstream.conversation.provider_state import WrongSignatureError, open_signed, sign

SECRET = bytes(range(16))
VALUES = st.recursive(st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=9), st.lists, max_leaves=5)


@given(VALUES, st.binary(min_size=16, max_size=100))
def test_what_is_signed_is_read_again(value: object, secret: bytes) -> None:
    text = sign(value, secret)
    assert open_signed(text, secret) == value


@given(st.data())
def test_a_text_with_another_character_is_refused(data: st.DataObject) -> None:
    text = sign({"summary": "text"}, SECRET)
    place = data.draw(st.integers(0, len(text) - 1))
    changed = (
        text[:place]
        + data.draw(st.characters(codec="ascii").filter(lambda one: one != text[place]))
        + text[place + 1 :]
    )
    with pytest.raises(WrongSignatureError):
        open_signed(changed, SECRET)


def test_another_secret_does_not_read_it() -> None:
    with pytest.raises(WrongSignatureError):
        open_signed(sign("x", SECRET), bytes(16))


def test_a_short_secret_is_a_mistake_of_the_program() -> None:
    with pytest.raises(ValueError, match="got a secret of 0 bytes, expected 16 or more"):
        sign("x", b"")
