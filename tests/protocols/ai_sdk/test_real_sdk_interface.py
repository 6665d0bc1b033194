"""The published AI SDK puts its own UI message streams together: our reader says what its reader says."""

import asyncio
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from ai_sdk import FIXTURES, MAJORS, needs_ai_sdk, perform
from partstream.outputs import CitationMode, StreamOptions
from partstream.parts import TextPart, ThinkingPart
from partstream.protocols.recording import read_recording

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
    options = StreamOptions(citations=CitationMode.OFF)
    outputs = list(read_recording(path.read_bytes(), path.name, "ai-sdk-ui", options))
    for kind, part_type in (("text", TextPart), ("reasoning", ThinkingPart)):
        said = "".join(part["text"] for part in parts if part["type"] == kind)
        assert "".join(str(one.value) for one in outputs if isinstance(one, part_type)) == said
    assert isinstance(result["messages"], list)
