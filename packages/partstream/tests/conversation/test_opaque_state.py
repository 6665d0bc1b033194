"""Values as text that others carry."""

import re

from hypothesis import given
from hypothesis import strategies as st

from partstream.conversation.provider_state import decode_state, encode_state
from rows import one_test_for

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(VALUES)
def test_what_was_sealed_comes_back(value):
    text = encode_state(value)
    assert re.fullmatch(r"[A-Za-z0-9._-]+", text)
    assert decode_state(text) == value


@one_test_for(
    "text", ["", "gAAAAABo", "partstream1.e30.0000000000000000", encode_state({"a": 1})[:-1], encode_state({}) + "0"]
)
def test_every_other_text_is_nothing(text):
    assert decode_state(text) is None
