"""Digests that are worked out once for each object, and are right all the same."""

import random
from collections.abc import Iterator
from typing import Any

from partstream import ChatMessage, LanguageModelChatInformation, ToolCallPart
from partstream.tokens.accounting import TokenAccounting
from partstream.tokens.records import KnownMessages, message_digest, prefix_digests

MODEL = LanguageModelChatInformation("m", "M", "made-up", "1", 100_000, 1000)


class Watched(dict[str, Any]):
    """An input of a tool call that knows how often it was read."""

    readings = 0

    def __iter__(self) -> Iterator[str]:
        self.readings += 1
        return super().__iter__()

    def keys(self) -> Any:
        self.readings += 1
        return super().keys()


def test_asked_again_with_one_message_edited_the_others_are_not_read_again():
    inputs = [Watched({"path": f"{number}.py"}) for number in range(50)]
    messages = [ChatMessage.assistant([ToolCallPart("1", "read", one)]) for one in inputs]
    accounting = TokenAccounting("upstream")
    accounting.estimate_request(MODEL, messages)
    before = [one.readings for one in inputs]
    edited = [*messages]
    edited[20] = ChatMessage.user("something else")
    accounting.estimate_request(MODEL, edited)
    assert [one.readings for one in inputs] == before
    assert all(before)


def test_a_message_at_the_place_of_one_that_is_gone_has_its_own_digest():
    known = KnownMessages()
    for number in range(1_000):  # each is gone before the next one is made, mostly at the same address
        message = ChatMessage.user(f"message {number}")
        assert known.digest(message) == message_digest(message)
    assert len(known._known) == 1


def test_prefixes_are_the_same_as_those_worked_out_anew_whatever_was_asked_before():
    known, chance, digests = KnownMessages(), random.Random(1), [bytes([number]) for number in range(30)]  # noqa: S311
    for _ in range(200):
        cut = chance.randint(0, len(digests))
        digests = [*digests[:cut], *(bytes([chance.randint(0, 3)]) for _ in range(chance.randint(0, 5)))]
        found = known.prefixes(digests)
        assert found == prefix_digests(digests)
        found.clear()  # the caller's own


def test_no_more_messages_are_known_than_so_many():
    known = KnownMessages()
    messages = [ChatMessage.user(str(number)) for number in range(20_001)]
    digests = [known.digest(message) for message in messages]
    assert len(known._known) <= 20_000
    assert [known.digest(message) for message in messages[-5:]] == digests[-5:]
