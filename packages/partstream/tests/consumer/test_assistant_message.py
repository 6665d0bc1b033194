"""What of a response goes back to the model."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from partstream import DataPart, TextPart, ThinkingPart, ToolCallPart
from partstream.runtime.tool_loop import assistant_content
from rows import one_test_for

CALL = ToolCallPart("c1", "look", {"at": "sky"})
MARKER = DataPart.text("small\\state", "stateful_marker")

CASES = {
    "nothing": ([], []),
    "text is joined": ([TextPart("a"), TextPart("b")], [TextPart("ab")]),
    "empty text is left out": ([TextPart(""), CALL, TextPart("")], [CALL]),
    "text around a call stays where it was": (
        [TextPart("a"), CALL, TextPart("b")],
        [TextPart("a"), CALL, TextPart("b")],
    ),
    "a call without a result is left out": (
        [TextPart("a"), ToolCallPart("c2", "look", {}), TextPart("b")],
        [TextPart("ab")],
    ),
    "thinking of one item is joined and keeps the metadata of its last part": (
        [ThinkingPart("a", "r1"), ThinkingPart("b", "r1"), ThinkingPart("", "r1", {"signature": "s"})],
        [ThinkingPart("ab", "r1", {"signature": "s"})],
    ),
    "thinking of two items stays two": (
        [ThinkingPart("a", "r1"), ThinkingPart("b", "r2")],
        [ThinkingPart("a", "r1"), ThinkingPart("b", "r2")],
    ),
    "metadata ends an item that has no id": (
        [ThinkingPart("a"), ThinkingPart("", None, {"signature": "1"}), ThinkingPart("b", None, {"signature": "2"})],
        [ThinkingPart("a", None, {"signature": "1"}), ThinkingPart("b", None, {"signature": "2"})],
    ),
    "an id that comes late is the item's id": (
        [ThinkingPart("a"), ThinkingPart("b", "r1"), ThinkingPart("c"), ThinkingPart("d", "r2")],
        [ThinkingPart("abc", "r1"), ThinkingPart("d", "r2")],
    ),
    "of the data only the provider's own marker goes back": (
        [DataPart.json({}, "usage"), TextPart("a"), MARKER, DataPart.image(b"x", "image/png")],
        [TextPart("a"), MARKER],
    ),
}


@one_test_for("name", CASES)
def test_the_assistant_message_is_made_of(name: str) -> None:
    parts, expected = CASES[name]
    assert list(assistant_content(parts, {"c1"})) == expected


@given(
    st.lists(
        st.one_of(
            st.builds(TextPart, st.text(max_size=2)),
            st.builds(ThinkingPart, st.text(max_size=2), st.sampled_from([None, "r1"]), st.none()),
            st.just(CALL),
        )
    )
)
def test_joining_loses_no_text_and_leaves_no_two_texts_side_by_side(parts) -> None:
    content = assistant_content(parts, {"c1"})
    for kind in (TextPart, ThinkingPart):
        before = "".join(part.value for part in parts if isinstance(part, kind))
        assert "".join(part.value for part in content if isinstance(part, kind)) == before
    assert not any(isinstance(one, TextPart) and isinstance(two, TextPart) for one, two in pairwise(content))
