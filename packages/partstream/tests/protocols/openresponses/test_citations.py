"""What a citation becomes in each mode: once each, and nothing that is no link."""

import json
from typing import Any

import pytest

from partstream.lm.outputs import CitationMode, Outcome
from partstream.lm.parts import DataPart, TextPart
from protocols.openresponses.wire import (
    OMIT,
    Event,
    added,
    annotation,
    delta,
    done,
    event,
    message,
    part_done,
    read,
    spread,
    terminal,
    text_done,
)
from rows import one_test_for

URL = "https://example.org/a"
LINK = f" [Title]({URL})"
ONE = [added(message(content=[])), delta("Hello"), annotation(URL), text_done("Hello")]


def _annotated(text: str, *annotations: Event) -> Event:
    return message(content=[{"type": "output_text", "text": text, "annotations": list(annotations)}])


def _citation(url: Any = URL, **fields: Any) -> Event:
    cited: Event = annotation(url, **fields)["annotation"]
    return cited


def test_inline_is_a_link_in_the_text_where_the_citation_came() -> None:
    result = read(spread(ONE[:3], delta(" there")))
    assert result.outputs[:-1] == [TextPart("Hello"), TextPart(LINK), TextPart(" there")]


def test_data_is_a_part_of_its_own_in_the_form_of_all_protocols() -> None:
    result = read(spread(ONE), citations=CitationMode.DATA)
    assert result.text == "Hello"
    (part,) = result.data
    assert part.mime_type == "application/vnd.vscode.citation+json"
    assert json.loads(part.data) == {
        "type": "citation", "sourceType": "url", "sourceId": URL, "url": URL, "title": "Title",
        "startIndex": 0, "endIndex": 1,
    }  # fmt: skip
    assert isinstance(part, DataPart)


def test_end_is_a_numbered_list_after_the_answer_each_address_once() -> None:
    more = [annotation("https://example.org/b", "Other"), annotation(URL, "Again", start_index=5)]
    result = read(spread(ONE, more, done(message("Hello"))), citations=CitationMode.END)
    assert result.text == f"Hello\n\nSources:\n\n1. [Title]({URL})\n2. [Other](https://example.org/b)\n"


def test_end_without_citations_adds_nothing() -> None:
    assert read(spread(delta("Hello")), citations=CitationMode.END).text == "Hello"


@pytest.mark.parametrize(("ending", "shown"), [("incomplete", True), ("failed", False)])
def test_end_is_shown_when_the_answer_stands(ending: str, shown: bool) -> None:
    assert ("Sources" in read([*ONE, terminal(ending)], citations=CitationMode.END).text) == shown


def test_off_is_nothing_at_all() -> None:
    result = read(spread(ONE), citations=CitationMode.OFF)
    assert result.outputs[:-1] == [TextPart("Hello")]


@pytest.mark.parametrize("mode", CitationMode)
def test_a_citation_comes_once_however_often_it_is_said(mode: CitationMode) -> None:
    events = spread(
        *(ONE, ONE[2], part_done("Hello", annotations=[]), done(_annotated("Hello", _citation()))),
        terminal(output=(_annotated("Hello", _citation()),)),
    )
    once, again = read(spread(ONE), citations=mode), read(events, citations=mode)
    assert (again.text, again.data) == (once.text, once.data)


@pytest.mark.parametrize("mode", [CitationMode.INLINE, CitationMode.DATA])
def test_citations_that_only_closing_events_say_come_once(mode: CitationMode) -> None:
    closing = _annotated("Hello", _citation(), _citation("https://example.org/b"))
    result = read([delta("Hello"), done(closing), terminal(output=(closing,))], citations=mode)
    assert result.text.count("](") + len(result.data) == 2


def test_one_source_cited_at_two_places_is_two_citations() -> None:
    result = read(spread(ONE, annotation(URL, start_index=3, end_index=4)), citations=CitationMode.DATA)
    assert len(result.data) == 2


def test_a_link_that_the_model_wrote_itself_is_not_written_again() -> None:
    text = f"See [Title]({URL}) there"
    assert read(spread(delta(text), annotation(URL))).text == text


@one_test_for(
    ("cited", "link"),
    [
        (_citation(title="A [b] \\ c"), f"[A \\[b\\] \\\\ c]({URL})"),
        (_citation(title=" two\nlines\r\n"), f"[two lines]({URL})"),
        (_citation(title=OMIT), f"[example.org]({URL})"),
        (_citation(title=""), f"[example.org]({URL})"),
        (_citation(title=None), f"[example.org]({URL})"),
        (_citation('http://e.org/a b(c)<d>"e"\n'), "[Title](http://e.org/a%20b%28c%29%3Cd%3E%22e%22%0A)"),
        (_citation("http://e.org/é?q=1&r=%20#x"), "[Title](http://e.org/%C3%A9?q=1&r=%20#x)"),
    ],
)
def test_a_link_is_markdown_that_nothing_can_break_out_of(cited: Event, link: str) -> None:
    result = read(spread(delta("Hi"), {**annotation(URL), "annotation": cited}))
    assert result.text == "Hi " + link


@one_test_for(
    ("cited", "counted"),
    [
        ({"type": "file_citation", "file_id": "f", "filename": "a.txt", "index": 4}, "annotation:file_citation"),
        (_citation("javascript:alert(1)"), "annotation:url_citation"),
        (_citation("file:///etc/passwd"), "annotation:url_citation"),
        (_citation("not a url"), "annotation:url_citation"),
        (_citation("http://[broken"), "annotation:url_citation"),
        (_citation("https://e.org/\ud83d"), "annotation:url_citation"),
        (_citation(7), "annotation:url_citation"),
        ({"index": 3}, "annotation:unknown"),
    ],
)
@one_test_for("mode", [CitationMode.INLINE, CitationMode.END])
def test_a_citation_without_an_address_to_link_to_is_counted(cited: Event, counted: str, mode: CitationMode) -> None:
    result = read(spread(delta("Hi"), {**annotation(URL), "annotation": cited}), citations=mode)
    assert result.text == "Hi"
    assert result.unmapped == {counted: 1}
    assert result.finish.outcome is Outcome.COMPLETED


@pytest.mark.parametrize("nothing", [None, {}])
def test_an_annotation_that_is_null_is_nothing(nothing: Any) -> None:
    result = read(spread(delta("Hi"), {**annotation(URL), "annotation": nothing}))
    assert result.outputs[:-1] == [TextPart("Hi")]


def test_a_citation_of_a_refusal_or_of_no_text_is_no_crash() -> None:
    assert read(spread(annotation(URL))).text == LINK
    refused = message(content=[{"type": "refusal", "refusal": "No", "annotations": [_citation()]}])
    assert read(spread(done(refused))).text == "No"
    assert read(spread(event("output_text.annotation.added"))).outputs[:-1] == []
