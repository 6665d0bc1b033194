"""Runs recorded from agents: pydantic-ai 2.68 behind its adapter, LangGraph 1.2 behind ag-ui-langgraph 0.0.47.

Left out of the recordings are what a framework says beside the protocol (`RAW`, `rawEvent`), states and times.
"""

from pathlib import Path

import pytest

from partstream import TextPart, ThinkingPart, ToolCallPart
from partstream.lm.outputs import Finish, StreamOptions
from partstream.protocols.reader import StreamReader
from partstream_devtools.recorded_stream import read_recording
from rows import one_test_for

FOLDER = Path(__file__).resolve().parents[5] / "tests" / "fixtures" / "ag_ui"
SIGNED = "Let me see."
SEARCHED = 'Called search(query="agents")\n-> 3 results, 49 bytes\n'
APPROVE = (
    'Approve delete_file({"path":"a.py"})?\n\nThe agent wants to run `delete_file(path="a.py")`.\n\n'
    "Reply *yes* to allow it. Any other reply refuses it."
)
RECORDED: dict[str, tuple[str, str, list[str], str | None]] = {
    "pydantic-ai-thinking": ("Hello", SIGNED, [], "success"),
    "pydantic-ai-own-tool": ("Found it.", SEARCHED, [], "success"),
    "pydantic-ai-mixed-batch": ("Both. ", SEARCHED, ["read_file"], "success"),
    "pydantic-ai-object": (
        '```json\n{"city":"Paris","people":2}\n```',
        'Called final_result(city="Paris", people=2)\n-> 23 bytes\n',
        [],
        "success",
    ),
    "pydantic-ai-approval": (
        f"I clean up. \n\n{APPROVE}",
        "",
        [],
        "interrupt",
    ),
    "pydantic-ai-error": ("Hel", "", [], None),
    "langgraph-own-tool": (
        'I search. \n\nResult: ["one","two"] ',
        'Called search(query="x")\n-> 2 results, 14 bytes\n',
        [],
        None,
    ),
    "langgraph-external-call": ("I read. ", "", ["read_file"], None),
    "langgraph-interrupt": ("I delete. \n\nDelete a?", "", [], None),
}


def test_every_recording_is_in_the_table() -> None:
    assert {path.stem for path in FOLDER.glob("*.jsonl")} == set(RECORDED)


@one_test_for("name", RECORDED)
def test_a_recorded_run_is_found_out_and_read(name: str) -> None:
    text, thinking, calls, word = RECORDED[name]
    path = FOLDER / f"{name}.jsonl"
    outputs = [*read_recording(path.read_bytes(), str(path), None, StreamOptions())]
    assert "".join(one.value for one in outputs if isinstance(one, TextPart)) == text
    assert "".join(one.value for one in outputs if isinstance(one, ThinkingPart)) == thinking
    assert [one.name for one in outputs if isinstance(one, ToolCallPart)] == calls
    finish = outputs[-1]
    assert isinstance(finish, Finish)
    assert (finish.error is not None) is name.endswith("error")
    assert finish.error is not None or (finish.reason is not None and finish.reason.raw == word)


@pytest.mark.parametrize("name", RECORDED)
def test_a_recorded_run_says_the_same_wherever_its_bytes_are_cut(name: str) -> None:
    lines = (FOLDER / f"{name}.jsonl").read_bytes().splitlines()
    data = b"".join(b"data: " + line + b"\n\n" for line in lines)

    def read(*pieces: bytes) -> list[str]:
        reader = StreamReader("ag-ui", StreamOptions())
        return [repr(one) for one in [*(one for piece in pieces for one in reader.feed(piece)), *reader.end()]]

    whole = read(data)
    for place in range(0, len(data), 7):
        assert read(data[:place], data[place:]) == whole


@one_test_for("name", [name for name in RECORDED if not name.endswith("error")])
def test_a_recorded_run_that_breaks_off_anywhere_hands_out_no_call(name: str) -> None:
    lines = (FOLDER / f"{name}.jsonl").read_bytes().splitlines()
    for count in range(1, len(lines)):
        outputs = [*read_recording(b"\n".join(lines[:count]), "cut", "ag-ui", StreamOptions())]
        assert not any(isinstance(one, ToolCallPart) for one in outputs)
        assert outputs[-1].error is not None
