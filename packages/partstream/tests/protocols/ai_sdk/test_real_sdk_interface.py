"""The published AI SDK reads streams for pages: our reader says what its reader says, and it reads what we write."""

import asyncio
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from ai_sdk import FIXTURES, MAJORS, needs_ai_sdk, perform
from conversation.samples import PNG
from partstream.conversation.citations import CITATION_MIME_TYPE
from partstream.errors import UpstreamFailureError
from partstream.lm.messages import ChatMessage, RequestOptions
from partstream.lm.outputs import CitationMode, FileMode, Finish, InboundRequest, Outcome, Reply, StreamOptions
from partstream.lm.parts import DataPart, FinishReason, TextPart, ThinkingPart, ToolCallPart, UnifiedFinishReason, Usage
from partstream.protocols.protocol import PROTOCOLS
from partstream.runtime.translation import frame_answer, write_answer
from partstream_devtools.recorded_stream import read_recording

pytestmark = needs_ai_sdk

# Where the stream is only an error, there is no message.
NO_MESSAGE = {"error_thrown", "error_text"}
STREAMS = [
    path
    for major in MAJORS
    for path in sorted(FIXTURES.glob(f"{major}.*/*.uimessage.sse"))
    if path.name.partition(".")[0] not in NO_MESSAGE
]


def _chunks(path: Path) -> list[dict[str, Any]]:
    lines = [line.removeprefix("data: ") for line in path.read_text(encoding="utf-8").split("\n\n") if line]
    return [json.loads(line) for line in lines if line != "[DONE]"]


@cache
def _put_together() -> dict[Path, dict[str, Any]]:
    jobs = [{"kind": "interface", "major": int(path.parent.name[0]), "chunks": _chunks(path)} for path in STREAMS]
    return dict(zip(STREAMS, asyncio.run(perform(jobs)), strict=True))


@pytest.mark.parametrize("path", [pytest.param(path, id=f"{path.parent.name}-{path.name}") for path in STREAMS])
def test_text_and_thinking_are_those_of_the_sdk_s_own_reader(path: Path) -> None:
    result = _put_together()[path]
    assert "error" not in result, result
    assert result["warnings"] == []
    parts = result["message"]["parts"]
    options = StreamOptions(citations=CitationMode.OFF, files=FileMode.ADDRESS)
    outputs = list(read_recording(path.read_bytes(), path.name, "ai-sdk-ui", options))
    for kind, part_type in (("text", TextPart), ("reasoning", ThinkingPart)):
        said = "".join(part["text"] for part in parts if part["type"] == kind)
        assert "".join(str(one.value) for one in outputs if isinstance(one, part_type)) == said
    assert isinstance(result["messages"], list)


SIGNED = {"type": "reasoning", "text": "hm", "providerOptions": {"anthropic": {"signature": "s"}}}
SOURCE = {"type": "url_citation", "url": "https://example.com/a", "title": "A", "start_index": 0, "end_index": 2}
ANSWER = [
    ThinkingPart("hm", "r1", {"reasoning_items": [SIGNED]}),
    TextPart("It is größer."),
    DataPart.json(SOURCE, CITATION_MIME_TYPE),
    DataPart.json({"type": "file_citation", "file_id": "f1"}, CITATION_MIME_TYPE),
    DataPart(PNG, "image/png"),
    DataPart.json({"tide": "high"}, "application/vnd.vercel.tide+json"),
    ToolCallPart("call_1", "look_up", {"city": "Lisbon"}),
]
ENDS = {
    "whole": Finish(Outcome.COMPLETED, FinishReason(UnifiedFinishReason.TOOL_CALLS), Usage(7, 3, 10, 2, 1)),
    "failed": Finish(Outcome.FAILED, FinishReason(UnifiedFinishReason.ERROR), error=UpstreamFailureError("It broke.")),
}
PAGES = [(4, "ai-sdk-data"), *((major, "ai-sdk-ui") for major in MAJORS)]


def _written(protocol: str, finish: Finish) -> str:
    asked = InboundRequest("m", (ChatMessage.user("Hi"),), RequestOptions())
    events = write_answer(PROTOCOLS[protocol], asked, [*ANSWER, finish], Reply("r", 0, 5))
    return frame_answer(PROTOCOLS[protocol], events).decode()


@cache
def _read_by_pages() -> dict[tuple[int, str], dict[str, Any]]:
    keys = [(major, protocol, end) for major, protocol in PAGES for end in ENDS]
    jobs = [{"kind": "browser", "major": major, "body": _written(protocol, ENDS[end])} for major, protocol, end in keys]
    results = asyncio.run(perform(jobs))
    return {(major, end): result for (major, _, end), result in zip(keys, results, strict=True)}


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("major", [major for major, _ in PAGES])
def test_a_page_reads_what_we_write(major: int, end: str) -> None:
    result = _read_by_pages()[major, end]
    assert "error" not in result, result
    assert (result["text"], result["reasoning"], result["signature"]) == ("It is größer.", "hm", "s")
    assert result["calls"] == [{"name": "look_up", "input": {"city": "Lisbon"}}]
    assert "https://example.com/a" in result["sources"]
    assert result["files"][0] == "image/png"
    assert result["finish"] == ENDS[end].reason.unified  # type: ignore[union-attr]
    assert result["errors"] == ([] if end == "whole" else ["It broke."])
    if end == "whole":
        assert 7 in result["usage"].values()
