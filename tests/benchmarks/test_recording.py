"""The measurement of the recorder: its server says when it sent, and its page says what the results say."""

import json
import sys
from pathlib import Path

from benchmarks.recording.measure import _READY, _Client
from benchmarks.recording.page import RESULTS, page
from benchmarks.serving.processes import started
from interop.servers.processes import free_port

ROOT = Path(__file__).resolve().parent.parent.parent


def test_events_are_read_behind_the_moment_in_which_they_were_sent(tmp_path: Path) -> None:
    port = free_port()
    command = [sys.executable, "-m", "benchmarks.recording.upstream", str(port)]
    with started(command, port, _READY, ROOT, tmp_path / "log", {}):
        with _Client(port) as client:
            times = client.timed("/paced?count=5&pause=1")
            assert client.whole("/flood?count=10") > 10_000
        assert len(times) == 5
        assert all(sent < read for sent, read in times)
        with _Client(port) as client:
            client.begun("/hold")
        with _Client(port) as client:
            while not int(client.document("/left")):
                pass


def test_the_page_says_what_the_results_say() -> None:
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    said = page(results)
    assert f"| added to each event, p95 | {results['each_event']['added']['p95']:.2f} ms |" in said
    results["each_event"]["added"]["p95"] = 7.0
    assert "| added to each event, p95 | 7.00 ms | ≤ 1 ms | not reached |" in page(results)
