"""Messages, tools and requests: everything in them is counted, once, and says where its number comes from."""

import struct
from importlib.util import find_spec

import pytest

from partstream import ChatMessage, DataPart, TextPart, ThinkingPart, Tool, ToolCallPart, ToolResultPart
from partstream.tokens import NO_TOKENS, Counters, CountSource, MessageCounter, TokenCount, estimate_text, vocabulary_of
from partstream.tokens.families import overheads_of
from partstream.tokens.files import estimate_file_tokens
from rows import one_test_for

PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + struct.pack(">II", 1024, 1024)
ESTIMATED, COUNTED = CountSource.ESTIMATED, CountSource.COUNTED


class Letters:
    """A tokenizer whose tokens are characters: sums can be worked out by hand."""

    def count(self, text):
        return len(text)


@pytest.fixture
def counter():
    counters = Counters([])
    counters.register_counter("letters", Letters())
    return MessageCounter("letters", counters)


@pytest.mark.parametrize(
    ("part", "tokens", "source"),
    [
        (TextPart("four"), 4, COUNTED),
        (TextPart(""), 0, COUNTED),
        (ThinkingPart("hm, hm"), 6, COUNTED),
        (ToolCallPart("id that is not counted", "find", {"a": [1]}), 4 + len('{"a":[1]}'), COUNTED),
        (ToolResultPart("c", (TextPart("12"), TextPart("345"))), 5, COUNTED),
        (ToolResultPart("c", ()), 0, CountSource.REPORTED),
        (DataPart.text("tést"), 4, COUNTED),
        (DataPart.json({"a": 1}), 7, COUNTED),
        (DataPart(PNG, "image/jpeg"), 765, ESTIMATED),
        (DataPart(PNG[:12], "image/png"), 765, ESTIMATED),
        (ToolResultPart("c", (TextPart("12"), DataPart(PNG, "image/png"))), 767, ESTIMATED),
        (DataPart(b"%PDF-1.7 /Type /Page /Type/Page /Type /Pages", "application/pdf"), 3000, ESTIMATED),
        (ThinkingPart("", None, {"reasoning_items": [{"encrypted_content": "x" * 1600}]}), 300, ESTIMATED),
        (ThinkingPart("", None, {"signature": "x" * 1600}), 0, CountSource.REPORTED),
    ],
)
def test_every_part_is_counted_with_everything_inside_it(counter, part, tokens, source):
    assert counter.count_part(part) == TokenCount(tokens, source)


@pytest.mark.parametrize("mark", ["cache_control", "stateful_marker", "usage", "thinking", "application/vnd.vscode.x"])
def test_marks_of_the_host_are_never_sent_and_take_nothing(counter, mark):
    assert counter.count_part(DataPart(b"ephemeral" * 100, mark)) == NO_TOKENS
    result = ToolResultPart("c", (TextPart("ab"), DataPart(b"ephemeral", mark)))
    assert counter.count_part(result) == TokenCount(2, COUNTED)


def test_a_message_has_its_parts_and_what_stands_around_them_and_nothing_for_a_name(counter):
    assert counter.count_message(ChatMessage.user("four")) == TokenCount(3 + 4, COUNTED)
    assert counter.count_message(ChatMessage.user("four", name="Ann")) == TokenCount(3 + 4, COUNTED)
    assert counter.count_message(ChatMessage.user([])) == TokenCount(3, COUNTED)


def test_tools_are_counted_with_names_descriptions_and_schemas(counter):
    bare, full = Tool("ab", "cde"), Tool("ab", "cde", {"type": "object"})
    assert counter.count_tools([]) == NO_TOKENS
    assert counter.count_tools([bare]) == TokenCount(16 + 8 + 5 + len("{}"), ESTIMATED)
    assert counter.count_tools([bare, full]).tokens == 16 + 15 + 8 + 5 + len('{"type":"object"}')


def test_a_request_is_its_messages_its_tools_and_three(counter):
    messages = [ChatMessage.system("be brief"), ChatMessage.user("hi")]
    total = sum((counter.count_message(message) for message in messages), NO_TOKENS)
    assert counter.count_request(messages) == total + TokenCount(3, COUNTED)
    tools = [Tool("t", "d")]
    assert counter.count_request(messages, tools).tokens == total.tokens + 3 + counter.count_tools(tools).tokens


def test_without_a_counter_text_is_estimated_by_the_vocabulary_of_the_family():
    for family in ("claude-sonnet-4.5", "gpt-4", "never heard of"):
        counter = MessageCounter(family)
        assert counter.source is ESTIMATED
        text = "Wie viele Token hat dieser Satz eigentlich?"
        assert counter.count_text(text) == TokenCount(estimate_text(text, vocabulary_of(family)), ESTIMATED)


@pytest.mark.skipif(find_spec("bpe_openai") is None, reason="bpe-openai is not installed")
def test_a_family_with_a_published_vocabulary_is_counted():
    counter = MessageCounter("openai/gpt-4o-mini", Counters())
    assert counter.source is COUNTED
    assert counter.count_text("hello world") == TokenCount(2, COUNTED)
    assert MessageCounter("claude-sonnet-4.5", Counters()).source is ESTIMATED


@pytest.mark.parametrize(
    ("family", "tools"), [("claude-opus-4.5", 346), ("anthropic/claude-3-haiku", 264), ("gpt-5", 16), ("", 16)]
)
def test_what_tools_bring_with_them_is_a_row_of_the_family(family, tools):
    assert overheads_of(family).tools == tools
    assert overheads_of(family).message == 3


@one_test_for(
    ("family", "media_type", "data", "tokens"),
    [
        ("gemini-2.5-pro", "application/pdf", b"%PDF /Type /Page", 258),
        ("gemini-3-pro", "application/pdf", b"%PDF", 560),
        ("claude-opus-4.5", "application/pdf", b"%PDF" + bytes(99_000), 2 * 3800),
        ("any", "audio/wav", bytes(48_000), 10),
        ("any", "audio/mpeg", bytes(16_000), 10),
        ("any", "application/zip", bytes(1600), 100),
        ("any", "application/octet-stream", b"", 1),
        ("any", "application/octet-stream", bytes(40_000_000), 200_000),
    ],
)
def test_files_are_estimated_by_their_pages_or_their_size(family, media_type, data, tokens):
    assert estimate_file_tokens(family, media_type, data) == tokens
