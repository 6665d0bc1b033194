"""The run with official clients: it compares whole answers, it can fail, and its pins are those of the lock files."""

import asyncio
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from interop.clients.__main__ import _result
from interop.clients.asking import BrokenClientError, ask, running
from interop.clients.chat_jobs import WIRE
from interop.clients.jobs import Job, judge
from interop.clients.official import CLIENTS, FOLDER, Client
from interop.servers.results import Seen, Verdict
from partstream_devtools.testing.upstream import ReplayUpstream

OF_NAME = {job.name: job for job in WIRE.jobs}
TEXT = {"text": "Hi", "thinking": "", "calls": [], "finish": "stop", "tokens": [3, 1], "sources": []}
ERROR = {"kind": "APIError", "status": 500, "message": "It broke.", "code": None}
ASKED_FOR = "The replay upstream was asked to answer with status 503."


class Installed:
    """An environment that is this one."""

    def install(self) -> None:
        """Installs nothing."""

    def program(self, name: str) -> Path:
        return Path(name)


HERE = Client(
    "here",
    "openai 3",
    replace(WIRE, jobs=(OF_NAME["two calls, then text"], OF_NAME["503"])),
    Installed(),
    lambda: [sys.executable, str(FOLDER / "python" / "openai_python.py")],
    {"chunks": "`create(stream=True)`"},
    frozenset(),
)
ENDED = "import sys; sys.exit('nothing of this is installed')"


@pytest.mark.parametrize(
    ("job", "rounds", "error", "works", "says"),
    [
        ("text", [TEXT], None, True, "as it was said"),
        ("text", [TEXT | {"text": "Ho"}], None, False, "text of round 1: 'Ho' instead of 'Hi'"),
        ("text", [TEXT | {"tokens": None}], None, False, "tokens of round 1: None instead of [3, 1]"),
        ("text", [TEXT, TEXT], None, False, "2 rounds instead of 1"),
        ("text", [], ERROR, False, "APIError: It broke."),
        ("503", [], ERROR, True, "APIError: It broke."),
        ("503", [TEXT], None, False, "it raises nothing"),
        ("breaks off", [TEXT | {"finish": None}], None, True, "no finish reason"),
        ("breaks off", [TEXT], None, False, "it raises nothing"),
    ],
)
def test_what_a_client_shows_is_compared_with_what_was_said(
    job: str, rounds: list[dict[str, Any]], error: dict[str, Any] | None, works: bool, says: str
):
    assert judge(OF_NAME[job], {"rounds": rounds, "error": error}, [TEXT]) == (works, says)


def test_a_result_names_the_package_and_what_each_way_of_asking_showed():
    result = _result(HERE, Console(quiet=True))
    assert (result.package, result.left_out, result.fails) == ("openai 3", "", False)
    assert [*result.seen["`create(stream=True)`"].values()] == [
        Seen(Verdict.WORKS, "as it was said"),
        Seen(Verdict.WORKS, f"InternalServerError: Error code: 503 - {ASKED_FOR}"),
    ]


def test_a_document_besides_answers_is_compared_with_what_it_has_to_say():
    job = Job("models", asks="models")
    assert judge(job, {"told": ["text"], "error": None}, [["text"]]) == (True, "as it was said")
    assert judge(job, {"told": [], "error": None}, [["text"]]) == (False, "[] instead of [['text']]")
    assert judge(job, {"told": None, "error": ERROR}, [["text"]]) == (False, "APIError: It broke.")


def _shown(job: Job, command: list[str], *arguments: str) -> tuple[bool, str]:
    async def run() -> tuple[bool, str]:
        async with ReplayUpstream() as upstream:
            base_url = upstream.base_url_of("chat-completions")
            async with running([*command, base_url, *arguments]) as client:
                return await ask(job, WIRE, client, upstream)

    return asyncio.run(run())


def test_a_client_that_ends_is_told_with_its_last_line():
    with pytest.raises(BrokenClientError, match="nothing of this is installed"):
        _shown(OF_NAME["text"], [sys.executable, "-c", ENDED])


def test_every_row_of_the_table_of_clients_fits():
    for client in CLIENTS:
        assert client.documents <= {*client.modes}
        for fault in client.faults:
            assert fault.trial in {job.name for job in client.wire.jobs}
            assert {*fault.protocols} <= {*client.modes}
        name, _, version = client.package.rpartition(" ")
        manifest = json.loads((FOLDER / "node" / "package.json").read_text(encoding="utf-8"))
        required = (FOLDER / "python" / "requirements.in").read_text(encoding="utf-8")
        assert manifest["dependencies"].get(name) == version or f"{name}=={version}" in required
