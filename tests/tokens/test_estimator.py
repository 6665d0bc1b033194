import pytest

from partstream import ChatMessage, DataPart, TextPart, ThinkingPart, ToolCallPart, ToolResultPart
from partstream.tokens import estimate_tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("a", 1),
        ("a" * 8, 2),
        (ChatMessage.user("a" * 8), 5),
        (ChatMessage.user([DataPart(b"x" * 1000, "image/png")]), 3),
        (ChatMessage.assistant([ThinkingPart("1234"), ToolCallPart("c", "name", {"a": 1})]), 7),
        (ChatMessage.user([ToolResultPart("c", (TextPart("12345678"),))]), 5),
    ],
)
def test_tokens_are_estimated_by_the_characters_that_a_model_reads(text, tokens):
    assert estimate_tokens(text) == tokens
