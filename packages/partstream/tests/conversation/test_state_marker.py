"""The stateful marker: what is written can be read again, also after Copilot; nothing else is taken for one."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from partstream import DataPart
from partstream.conversation.provider_state import MAX_MARKER_LENGTH, Origin, StateMarker, marker_part, read_marker
from partstream.conversation.turns import short_digest
from rows import one_test_for

MARKER = StateMarker(
    Origin("0a1b", "creator/model:free"), "resp_1", "history", "answer", ({"id": "rs_1", "encrypted_content": "e"},)
)


def sent_back(part: DataPart, model_id: str) -> DataPart:
    """What Copilot keeps: the text between the first and the second backslash, under the model that is asked."""
    return DataPart(f"{model_id}\\{part.data.decode().split(chr(92))[1]}".encode(), part.mime_type)


@given(
    st.builds(
        StateMarker,
        st.builds(Origin, st.text(), st.text()),
        st.none() | st.text(min_size=1),
        st.text(),
        st.text(),
        st.lists(st.dictionaries(st.text(), st.text(), max_size=3), max_size=3).map(tuple),
    ),
    st.text(alphabet=st.characters(exclude_categories=["Cs"])),
)
def test_a_marker_comes_back_whole_through_copilot_and_whatever_the_model_is_called(marker: StateMarker, model_id: str):
    part = marker_part(model_id, marker)
    assert part.data.count(b"\\") == 1
    assert read_marker(part) == marker
    assert read_marker(sent_back(part, "second")) == marker


TEXT = MARKER.encode()

FOREIGN = {
    "an id of a response": b"gpt-5\\resp_1",
    "a response id that begins as ours do": b"gpt-5\\partstream1.resp_1",
    "nothing": b"",
    "no text": b"\xff\xfe",
    "a cut one": b"m\\" + TEXT[:-5].encode(),
    "one with a letter changed": b"m\\" + TEXT.replace(".eyJ1", ".eyJ2").encode(),
    "an older version": b"m\\" + TEXT.replace("partstream1", "partstream0").encode(),
    "a huge one": b"m\\" + b"x" * (3 * MAX_MARKER_LENGTH),
}


@one_test_for("data", FOREIGN.values(), ids=FOREIGN)
def test_what_is_not_ours_is_ignored(data: bytes):
    assert read_marker(DataPart(data, "stateful_marker")) is None


def test_another_kind_of_part_is_no_marker():
    assert read_marker(DataPart(f"m\\{TEXT}".encode(), "text/plain")) is None


@one_test_for("payload", ["bnVsbA", "W10", "e30", "eyJ1IjoxfQ", "_-8", "A"])
def test_a_payload_that_is_no_marker_is_ignored_even_under_a_good_checksum(payload: str):
    assert (
        read_marker(DataPart(f"m\\partstream1.{payload}.{short_digest(payload)}".encode(), "stateful_marker")) is None
    )


def test_a_marker_has_a_bound_and_keeps_the_response_before_the_reasoning():
    large = replace(MARKER, reasoning=({"encrypted_content": "e" * MAX_MARKER_LENGTH},))
    assert len(large.encode()) < 1000
    assert read_marker(marker_part("m", large)) == replace(MARKER, reasoning=())


def test_a_marker_keeps_the_signatures_of_calls_before_all_other_reasoning():
    signature = {"toolCallId": "1", "extra_content": {"google": {"thought_signature": "s"}}}
    text = {"field": "reasoning_content", "text": "e" * MAX_MARKER_LENGTH}
    large = replace(MARKER, reasoning=(text, signature))
    assert read_marker(marker_part("m", large)) == replace(MARKER, reasoning=(signature,))
    larger = replace(MARKER, reasoning=(signature | {"extra_content": text},))
    assert read_marker(marker_part("m", larger)) == replace(MARKER, reasoning=())
