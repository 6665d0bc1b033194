"""The items that carry the state of an answer: each form is read, and what is none says nothing."""

import pytest

from partstream.protocols.gemini.provider_state import (
    ITEM_TYPE,
    CarriedPart,
    SignedFile,
    SignedText,
    StateOfCall,
    read_item,
)
from rows import one_test_for

ITEMS = [
    ({"toolCallId": "c1", "given": True, "thoughtSignature": "s"}, StateOfCall("c1", True, "s")),
    ({"toolCallId": "c1", "given": False, "thoughtSignature": "s"}, StateOfCall("c1", False, "s")),
    ({"toolCallId": "c1", "given": True}, StateOfCall("c1", True, None)),
    ({"textLength": 0, "thoughtSignature": "s"}, SignedText(0, "s")),
    ({"textLength": 3, "checksum": 5, "thoughtSignature": "s"}, SignedText(3, "s", 5)),
    ({"file": 1, "thoughtSignature": "s"}, SignedFile(1, "s")),
    ({"part": {"toolCall": {"id": "t"}}}, CarriedPart({"toolCall": {"id": "t"}})),
    ({"part": {"executableCode": {}}, "textLength": 9, "checksum": 5}, CarriedPart({"executableCode": {}}, 9, 5)),
]


@one_test_for(("item", "expected"), ITEMS)
def test_an_item_of_each_form_is_read(item, expected):
    assert read_item({"type": ITEM_TYPE, **item}) == expected


@pytest.mark.parametrize("signature", ["", None, 7, ["s"]])
def test_an_empty_signature_or_one_that_is_no_text_is_none(signature):
    for item, _ in ITEMS[3:6]:
        assert read_item({"type": ITEM_TYPE, **item, "thoughtSignature": signature}) is None
    call = {"type": ITEM_TYPE, "toolCallId": "c1", "given": True, "thoughtSignature": signature}
    assert read_item(call) == StateOfCall("c1", True, None)


@one_test_for(
    "item",
    [
        {"type": "reasoning", "encrypted_content": "x"},
        {"toolCallId": "c1", "thoughtSignature": "s"},
        {"type": ITEM_TYPE},
        {"type": ITEM_TYPE, "part": {}},
        {"type": ITEM_TYPE, "part": "text"},
        {"type": ITEM_TYPE, "textLength": -1, "thoughtSignature": "s"},
        {"type": ITEM_TYPE, "textLength": True, "thoughtSignature": "s"},
    ],
)
def test_what_is_no_item_of_this_protocol_says_nothing(item):
    assert read_item(item) is None
