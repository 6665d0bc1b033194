"""Any conversation that a host could send, as hypothesis makes them up."""

from hypothesis import strategies as st

from conversation.samples import JPEG, ORIGIN, PDF, PNG
from partstream import ChatMessage, DataPart, Role, TextPart, ThinkingPart, ToolCallPart, ToolResultPart
from partstream.lm.parts import unchecked_part

WORDS = st.text(max_size=12)
CALL_IDS = st.sampled_from(["gw-1", "gw-2", "1", "gw-" + "x" * 70, "", "toolu_1"]) | st.text(max_size=70)
TEXTS = st.builds(TextPart, WORDS)
FILES = [
    DataPart(PNG, "image/png"),
    DataPart(PNG, "image/jpeg"),
    DataPart(JPEG, "image/jpeg"),
    DataPart(PDF, "application/pdf"),
    DataPart(b"\x00\x01", "application/octet-stream"),
]
LINKED = [
    DataPart(b"https://example.org/a.png?size=1", "text/uri-list"),
    DataPart(b"https://example.org/a.pdf", "text/uri-list"),
]
DOCUMENTS = st.sampled_from([*FILES, *LINKED])
PRINTABLE = st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=12)
SAID = st.builds(DataPart.text, PRINTABLE) | st.builds(DataPart.json, st.dictionaries(WORDS, WORDS, max_size=2))
MARKS = st.builds(
    DataPart, st.binary(max_size=8), st.sampled_from(["cache_control", "stateful_marker", "usage", "acme"])
)
THINKING = st.builds(
    ThinkingPart,
    WORDS,
    st.none() | WORDS,
    st.sampled_from(
        [
            None,
            {"signature": "s"},
            {"origin": ORIGIN.key, "reasoning_items": [{"encrypted_content": "e"}]},
        ]
    ),
)
# As a host gives them: what it takes from a history is not checked.
CALLS = st.builds(
    unchecked_part, st.just(ToolCallPart), CALL_IDS, WORDS, st.dictionaries(WORDS, st.integers() | WORDS, max_size=2)
)
RESULTS = st.builds(
    unchecked_part,
    st.just(ToolResultPart),
    CALL_IDS,
    st.lists(TEXTS | DOCUMENTS | SAID | MARKS, max_size=3).map(tuple),
    st.booleans(),
)
PARTS = TEXTS | DOCUMENTS | SAID | MARKS | CALLS | RESULTS


def conversations(thinking: st.SearchStrategy[ThinkingPart]) -> st.SearchStrategy[list[ChatMessage]]:
    """Conversations with thinking of this kind: what its metadata lists depends on the protocol."""
    contents = st.lists(PARTS | thinking, max_size=4).map(tuple)
    return st.lists(st.builds(ChatMessage, st.sampled_from(Role), contents), max_size=6)


MESSAGES = conversations(THINKING)
