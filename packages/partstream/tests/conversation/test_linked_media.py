"""Images and files of a conversation that are somewhere else: sent as addresses where a wire has a place for them."""

from typing import Any

import pytest

from partstream.conversation.media import Media, MediaKind, read_media
from partstream.conversation.preparation import RequestSettings, ToolImages
from partstream.conversation.turns import read_turns
from partstream.lm.messages import ChatMessage
from partstream.lm.parts import DataPart, TextPart, ToolCallPart, ToolResultPart
from partstream.protocols.ai_sdk.write_request import PROMPT_FORMS, prompt_messages
from partstream.protocols.openresponses.write_request import input_items
from partstream.runtime.translation import to_model_messages
from partstream.tokens.counting import MessageCounter
from rows import one_test_for

IMAGE, PAPER = "https://example.org/cat.png?size=1", "https://example.org/a.pdf"
SHOWN = [ChatMessage.user([TextPart("See"), *(DataPart.text(url, "text/uri-list") for url in (IMAGE, PAPER))])]
GIVEN = [
    ChatMessage.assistant([ToolCallPart("c", "look", {})]),
    ChatMessage.user([ToolResultPart("c", (DataPart.text(IMAGE, "text/uri-list"),))]),
]


@pytest.mark.parametrize(
    ("content", "kind", "media_type"),
    [
        (IMAGE, MediaKind.IMAGE, "image/png"),
        ("HTTP://example.org/A.JPG", MediaKind.IMAGE, "image/jpeg"),
        (f"{IMAGE}\r\n", MediaKind.IMAGE, "image/png"),
        (PAPER, MediaKind.FILE, "application/pdf"),
    ],
)
def test_what_is_at_an_address_is_known_by_its_name(content: str, kind: MediaKind, media_type: str) -> None:
    media = read_media(DataPart.text(content, "text/uri-list"))
    assert media == Media(kind, media_type, url=content.strip())


@one_test_for(
    "content",
    [
        "https://example.org/page",
        "https://example.org/a.html",
        f"{IMAGE}\n{PAPER}",
        "file:///etc/cat.png",
        "data:image/png;base64,AA==",
        "https://[broken/a.png",
        "a.png",
        "",
    ],
)
def test_any_other_list_of_addresses_is_text(content: str) -> None:
    media = read_media(DataPart.text(content, "text/uri-list"))
    assert (media.kind, media.text, media.url) == (MediaKind.TEXT, content, "")


def test_openresponses_takes_the_addresses_of_images_and_files() -> None:
    (item,) = input_items(read_turns(SHOWN)[0], RequestSettings())
    assert item["content"][1:] == [
        {"type": "input_image", "image_url": IMAGE, "detail": "auto"},
        {"type": "input_file", "file_url": PAPER},
    ]
    native = RequestSettings(tool_images=ToolImages.NATIVE)
    *_, result = input_items(read_turns(GIVEN)[0], native)
    assert result["output"] == [{"type": "input_image", "image_url": IMAGE, "detail": "auto"}]


FILES: dict[int, list[dict[str, Any]]] = {
    2: [{"type": "file", "mediaType": "image/png", "data": IMAGE},
        {"type": "file", "mediaType": "application/pdf", "data": PAPER}],
    3: [{"type": "file", "mediaType": "image/png", "data": IMAGE},
        {"type": "file", "mediaType": "application/pdf", "data": PAPER}],
    4: [{"type": "file", "mediaType": "image/png", "data": {"type": "url", "url": IMAGE}},
        {"type": "file", "mediaType": "application/pdf", "data": {"type": "url", "url": PAPER}}],
}  # fmt: skip
RESULTS: dict[int, dict[str, Any]] = {
    2: {"type": "text", "text": IMAGE},
    3: {"type": "image-url", "url": IMAGE},
    4: {"type": "file", "mediaType": "image/png", "data": {"type": "url", "url": IMAGE}},
}


@pytest.mark.parametrize("version", FILES)
def test_each_version_of_the_gateways_wire_takes_addresses_where_it_has_a_place_for_them(version: int) -> None:
    (message,) = prompt_messages(read_turns(SHOWN)[0], PROMPT_FORMS[version])
    assert message["content"][1:] == FILES[version]
    *_, result = prompt_messages(read_turns(GIVEN)[0], PROMPT_FORMS[version])
    assert result["content"][0]["output"]["value"] == [RESULTS[version]]


def test_model_messages_of_a_program_hold_addresses_too() -> None:
    (message,) = to_model_messages(SHOWN, 6).messages
    assert message["content"][1:] == [
        {"type": "image", "image": IMAGE, "mediaType": "image/png"},
        {"type": "file", "mediaType": "application/pdf", "data": PAPER},
    ]


def test_an_image_at_an_address_is_counted_as_an_image_of_unknown_size() -> None:
    counter = MessageCounter("gpt-4o")
    unknown = counter.count_part(DataPart(b"no image", "image/png"))
    assert counter.count_part(DataPart.text(IMAGE, "text/uri-list")) == unknown
    assert counter.count_part(DataPart.text(PAPER, "text/uri-list")).tokens == counter.count_text(PAPER).tokens
