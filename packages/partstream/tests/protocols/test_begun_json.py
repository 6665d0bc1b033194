"""What a JSON text says before it breaks off."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from partstream.codec.json_codec import begun_object
from rows import one_test_for

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@one_test_for(
    ("text", "begun"),
    [
        ('{"type":"message_start","message":{"model":"cl', {"type": "message_start", "message": {"model": "cl"}}),
        ('{"type":"response.crea', {"type": "response.crea"}),
        ('{"candidates": [\n {"content": {"pa', {"candidates": [{"content": {}}]}),
        ('{"model":"m","done":fal', {"model": "m"}),
        ('{"model":"m","done"', {"model": "m"}),
        ('{"model":"m\\"', {"model": 'm"'}),
        ('{"a":[1,2', {"a": [1, 2]}),
        ('{"a":1}', {"a": 1}),
        ("{", None),
        ('{"a', None),
        ("[1", None),
        ("", None),
        ('{"a":' * 20_000, None),
        ('{"a":1' + ',"b":2' * 20_000, {"a": 1, "b": 2}),
    ],
)
def test_what_is_there_is_read(text, begun):
    assert begun_object(text.encode()) == begun


@settings(max_examples=50)
@given(st.dictionaries(st.text(max_size=3), VALUES, min_size=1, max_size=4), st.integers(0, 200))
def test_a_cut_text_says_no_member_that_the_whole_text_has_not(value, cut):
    begun = begun_object(json.dumps(value, ensure_ascii=False).encode()[:cut])
    assert begun is None or begun.keys() <= value.keys()
