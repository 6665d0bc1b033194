"""The run against servers of other projects: it can fail, it ends what it starts, and it forgets nothing."""

import asyncio
import json
import os
import sys
import time
from pathlib import Path

import pytest

from interop.servers.environments import ROOT, NotInstalledError, PythonEnvironment
from interop.servers.foreign import FOREIGN_SERVERS, Fault
from interop.servers.processes import NotStartedError, free_port, running
from interop.servers.results import Seen, ServerResult, Verdict, judged, merged
from interop.servers.trials import TRIALS, Target, UnexpectedError, prove
from partstream.protocols.protocol import spoken_at
from partstream.settings.known_servers import KNOWN_SERVERS
from partstream_devtools.testing.upstream import ReplayUpstream

FAULT = Fault("usage", "no usage", "it never says what an answer took")
OF_NAME = {trial.name: trial for trial in TRIALS}

PARENT = """
import http.server, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print(child.pid, flush=True)
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), http.server.BaseHTTPRequestHandler).serve_forever()
"""
"""A server that starts another process."""


@pytest.mark.parametrize(
    ("said", "works", "fault", "verdict"),
    [
        ("the whole text", True, None, Verdict.WORKS),
        ("no usage", False, None, Verdict.FAILS),
        ("no usage", False, FAULT, Verdict.FAULT),
        ("3 in, 6 out", True, FAULT, Verdict.FAILS),
        ("it did not end in time", False, FAULT, Verdict.FAILS),
    ],
)
def test_only_a_fault_that_shows_as_its_row_says_is_no_failure(
    said: str, works: bool, fault: Fault | None, verdict: Verdict
):
    assert judged(said, works=works, fault=fault).verdict is verdict


def test_the_file_keeps_what_it_says_of_servers_that_did_not_run(tmp_path: Path):
    path = tmp_path / "results.json"
    path.write_text(json.dumps({"b": {"package": "b 1"}, "c": {"package": "c 1"}, "gone": {}}), encoding="utf-8")
    seen = {"openresponses": {"chat": Seen(Verdict.WORKS, "the whole text")}}
    results = {
        "a": ServerResult("a 2", "2026-11-22", "", seen),
        "b": ServerResult("b 2", "2026-11-22", "no npm", {}),
    }
    content = merged(path, results, ["a", "b", "c"])
    assert [*content] == ["a", "b", "c"]
    assert content["a"]["seen"]["openresponses"]["chat"] == {"verdict": "works", "says": "the whole text"}
    assert content["b"]["package"] == "b 1"


def test_a_server_and_what_it_starts_are_ended(tmp_path: Path):
    port, log = free_port(), tmp_path / "log"
    with running([sys.executable, "-c", PARENT, str(port)], port, "/", tmp_path, log, dict(os.environ)):
        child = int(log.read_text().split()[0])
        assert Path(f"/proc/{child}").exists() or not Path("/proc").exists()
    deadline = time.monotonic() + 10
    while _lives(child):
        assert time.monotonic() < deadline, "the child of the server is still there"


def _lives(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"  # what has no parent any more is reaped by others


def test_a_server_that_does_not_run_is_told_with_the_last_line_of_its_log(tmp_path: Path):
    port = free_port()
    command = [sys.executable, "-c", "print('starting'); print('no configuration'); raise SystemExit(3)"]
    with (
        pytest.raises(NotStartedError, match=r"ended with code 3: no configuration"),
        running(command, port, "/", tmp_path, tmp_path / "log", dict(os.environ)),
    ):
        pass


def test_what_cannot_be_installed_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("interop.servers.environments.ENVIRONMENTS", tmp_path)
    lock = tmp_path / "requirements.lock"
    lock.write_text("no-version-and-no-hash\n")
    environment = PythonEnvironment("broken", lock)
    with pytest.raises(NotInstalledError, match="uv failed"):
        environment.install()
    assert not environment.is_installed()


def _prove(trial: str, target: Target) -> str:
    return asyncio.run(prove(OF_NAME[trial], target))


def test_trials_tell_what_they_saw_and_fail_on_anything_else(tmp_path: Path):
    places = ("PARTSTREAM_DATA", "PARTSTREAM_CACHE", "XDG_CONFIG_HOME", "HOME")

    async def ask() -> None:
        async with ReplayUpstream() as upstream:
            target = Target(
                upstream.base_url, "openresponses", "text", environment=dict.fromkeys(places, str(tmp_path))
            )
            assert "listed" in await prove(OF_NAME["models"], target)
            assert await prove(OF_NAME["usage"], target) == "3 in, 25 out"
            with pytest.raises(UnexpectedError, match="the text: got 'Hello from Partstream"):
                await prove(OF_NAME["chat"], target)
            with pytest.raises(UnexpectedError, match="it answered"):
                await prove(OF_NAME["wrong key"], target)

    asyncio.run(ask())


def test_an_error_of_the_gateway_fails_a_trial():
    target = Target(f"http://127.0.0.1:{free_port()}/v1", "openresponses", "text")
    with pytest.raises(UnexpectedError, match="UpstreamConnectionError"):
        _prove("stream", target)


def test_every_row_of_the_table_of_servers_fits():
    for server in FOREIGN_SERVERS:
        assert {*server.not_tried, *server.models, *(fault.trial for fault in server.faults)} <= {*OF_NAME}
        assert server.folder.is_relative_to(ROOT / "interop" / "servers")
        name, _, version = server.package.rpartition(" ")
        locks = (*server.folder.glob("*.lock"), *server.folder.glob("package-lock.json"))
        pinned = "".join(lock.read_text(encoding="utf-8") for lock in locks)
        assert f"{name.partition('[')[0]}" in pinned
        assert version in pinned


def test_the_page_on_servers_has_every_known_one_and_names_no_notes_of_the_project():
    page = (ROOT / "docs" / "servers.md").read_text(encoding="utf-8")
    spoken = [server.title for server in KNOWN_SERVERS if spoken_at(server.name)]
    assert [title for title in spoken if f"**{title}**" not in page] == []
    assert "facts " not in page
    assert "✗" not in page
