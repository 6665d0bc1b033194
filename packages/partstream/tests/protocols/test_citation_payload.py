"""A source is the same data part, whichever protocol named it; docs/contract.md describes the form."""

import json
from pathlib import Path
from typing import Any

import pytest

from partstream.conversation.citations import CITATION_MIME_TYPE, Citation, read_citation
from partstream.lm.outputs import CitationMode, StreamOptions
from partstream.lm.parts import DataPart
from partstream.protocols.protocol import PROTOCOLS
from rows import one_test_for

PAGE = Path(__file__).resolve().parents[4] / "docs" / "contract.md"
URL = "https://example.org/a"
EVENTS: dict[str, list[dict[str, Any]]] = {
    "openresponses": [
        {"type": "response.output_text.delta", "item_id": "m", "output_index": 0, "content_index": 0, "delta": "Hello"},
        {
            "type": "response.output_text.annotation.added", "item_id": "m", "output_index": 0, "content_index": 0,
            "annotation_index": 0,
            "annotation": {"type": "url_citation", "url": URL, "title": "A", "start_index": 0, "end_index": 5},
        },
    ],
    "ai-gateway": [
        {"type": "text-start", "id": "t"},
        {"type": "text-delta", "id": "t", "delta": "Hello"},
        {
            "type": "text-end", "id": "t",
            "citations": [
                {"source": {"sourceType": "url", "id": URL, "url": URL, "title": "A"}, "startIndex": 0, "endIndex": 5}
            ],
        },
    ],
    "ai-sdk": [
        {"type": "text-delta", "id": "t", "text": "Hello"},
        {
            "type": "source", "sourceType": "url", "id": URL, "url": URL, "title": "A",
            "providerMetadata": {"partstream": {"startIndex": 0, "endIndex": 5}},
        },
    ],
}  # fmt: skip


@pytest.mark.parametrize("protocol", EVENTS)
def test_every_protocol_gives_one_payload(protocol: str) -> None:
    stream = PROTOCOLS[protocol].read_response()(StreamOptions(citations=CitationMode.DATA))
    outputs = [output for event in EVENTS[protocol] for output in stream.feed(event)]
    (part,) = (output for output in outputs if isinstance(output, DataPart))
    assert part.mime_type == CITATION_MIME_TYPE
    assert json.loads(part.data) == {
        "type": "citation", "sourceType": "url", "sourceId": URL, "url": URL, "title": "A", "startIndex": 0,
        "endIndex": 5,
    }  # fmt: skip


WHOLE = Citation(URL, "A", "citation", {}, "s", "a.pdf", "application/pdf", 0, 5, "Hello")


def test_the_page_describes_every_field_and_its_example_is_one() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert WHOLE.payload is not None
    for name in WHOLE.payload:
        assert f"| `{name}` |" in page
    example = json.loads(page.split("```json")[1].split("```")[0])
    read = read_citation(DataPart.json(example, CITATION_MIME_TYPE))
    assert read is not None
    assert read.payload == example


@pytest.mark.parametrize(
    "said",
    [
        WHOLE.payload,
        {"type": "url_citation", "url": URL, "title": "A", "start_index": 0, "end_index": 5},
        {"type": "source", "sourceType": "url", "id": "s", "url": URL},
        {"type": "file_citation", "file_id": "f", "filename": "a.pdf"},
    ],
)
def test_writers_read_our_form_and_those_of_the_protocols(said: Any) -> None:
    citation = read_citation(DataPart.json(said, CITATION_MIME_TYPE))
    assert citation is not None
    assert citation.url == said.get("url")
    assert citation.source_id == (said.get("sourceId") or said.get("id") or said.get("file_id"))
    assert citation.start == (0 if said.get("url") == URL and "title" in said else None)


@one_test_for(
    "part",
    [
        DataPart.json({"url": URL}, "application/json"),
        DataPart(b"{", CITATION_MIME_TYPE),
        DataPart(b"[]", CITATION_MIME_TYPE),
        DataPart.json({"type": "citation", "title": "A"}, CITATION_MIME_TYPE),
        DataPart.json({"type": "citation", "url": 7, "sourceId": ""}, CITATION_MIME_TYPE),
    ],
)
def test_what_names_no_source_is_no_citation(part: DataPart) -> None:
    assert read_citation(part) is None
