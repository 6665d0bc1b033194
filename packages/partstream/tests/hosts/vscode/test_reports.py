"""Answers in files: a report with the last answer beside it, and what is said of a recording."""

from typing import Any

import pytest

from partstream_devtools.bundles.archive import read_bundle
from partstream_devtools.testing.upstream import ReplayUpstream

from .in_process import Peer, run, serving
from .person import Person

KEY = "sk-test-0123456789"


def reported(
    *answers: Any, is_asked: bool = True, dialog: str = "reportIssue", given: Any = None, **facts: Any
) -> Person:
    """The person after a dialog in a window whose last answer was asked for."""
    got: list[Person] = []

    async def test() -> None:
        async with ReplayUpstream(token=KEY) as upstream, serving() as peer:
            if is_asked:
                await answered(peer, upstream)
            got.append(Person(peer, *answers, **facts))
            await peer.run(dialog, **(given or {}))

    run(test())
    return got[0]


async def answered(peer: Peer, upstream: ReplayUpstream) -> None:
    group = {"id": "g", "configuration": {"baseUrl": upstream.base_url, "apiKey": KEY}}
    reply = await peer.reply(peer.respond("text", "scenario:text", group=group))
    assert reply.error is None


def test_the_last_answer_is_saved_with_a_report_beside_it_and_without_keys_and_texts():
    person = reported("With the Last Answer", "Save…", "/chosen/lamp.partstream.zip", "Open Report")
    _, answer, report, reporter, opened = ((), *person.done)
    assert answer[:2] == ("write", "lamp.partstream.zip")
    assert "Hello" not in repr(read_bundle(answer[2]))
    text = report[2].decode()
    assert report[1] == "partstream-issue.md"
    assert text.startswith("# An issue of Partstream\n\n## What happened\n\n")
    assert "The file `lamp.partstream.zip` beside this one holds it.\n\n    1 answer, 1 request" in text
    assert text.endswith("## Debug information\n\nthe versions\n")
    assert reporter[0] == "workbench.action.openIssueReporter"
    assert reporter[1]["extensionId"] == "partstream.partstream"
    assert opened == ("open", "/chosen/partstream-issue.md")
    assert KEY not in text
    assert person.pages[1]["text"] == "What the file to share holds"


WITHOUT = {
    "who wants none": (("Without an Answer", "/chosen/issue.md", None), {}, True),
    "a window without an answer": (("/chosen/issue.md", None), {}, False),
    "a folder that is not trusted": (("/chosen/issue.md", None), {"isTrusted": False}, True),
}


@pytest.mark.parametrize(("answers", "facts", "is_asked"), WITHOUT.values(), ids=WITHOUT)
def test_a_report_without_an_answer_for(answers: Any, facts: Any, is_asked: bool):
    person = reported(*answers, is_asked=is_asked, **facts)
    written = [one for one in person.done if one[0] == "write"]
    assert [one[1] for one in written] == ["issue.md"]
    assert "It is not part of this report." in written[0][2].decode()


@pytest.mark.parametrize("answers", [("With the Last Answer", None), ("With the Last Answer", "Save…", None)])
def test_who_leaves_a_question_writes_nothing(answers: Any):
    assert reported(*answers).done == []


RECORDED = {"path": "/data/a.partstream.zip", "model": "echo", "outcome": "failed", "answers": 1}
BUTTONS = {
    "Inspect": ("page", "inspector", "/data/a.partstream.zip"),
    "Show File": ("revealFileInOS", {"uri": "file:///data/a.partstream.zip"}),
}


@pytest.mark.parametrize(("button", "done"), BUTTONS.items())
def test_a_recording_is_announced_with_what_can_be_done_with_it(button: str, done: Any):
    given = {"recording": RECORDED, "problem": None}
    person = reported(button, dialog="recorded", given=given, is_asked=False)
    assert person.done == [done]
    assert person.texts()[0] == (
        "Partstream recorded the answer of echo: failed. The file holds its texts, but no keys."
    )


SAID = {
    "several": ({**RECORDED, "answers": 3}, None, "recorded 3 answers, the last of echo: failed"),
    "one that goes on": ({**RECORDED, "model": None, "outcome": None}, None, "of a model: not over yet"),
    "none": (None, "the disk is full", "could not record the answer: the disk is full."),
}


@pytest.mark.parametrize(("recording", "problem", "says"), SAID.values(), ids=SAID)
def test_what_became_of_a_recording_is_said(recording: Any, problem: Any, says: str):
    given = {"recording": recording, "problem": problem}
    assert says in reported(dialog="recorded", given=given, is_asked=False).texts()[0]


def test_a_recording_that_is_gone_is_said_when_it_shall_be_shared():
    given = {"recording": RECORDED, "problem": None}
    person = reported("Save to Share…", dialog="recorded", given=given, is_asked=False)
    assert "No such file or directory" in person.texts()[-1]
