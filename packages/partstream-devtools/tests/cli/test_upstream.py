"""`partstream upstream`: a process of its own, spoken to over HTTP and ended with a signal."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from secrets import token_hex

import httpx2
import pytest
from click.testing import CliRunner

from partstream.cli import main
from partstream.protocols.protocol import asked_protocols
from testing.clients import body, free_port

TOKEN = token_hex(8)


class _Running:
    """A running command, the URL that it printed, and the lines that it prints."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.first_line = process.stdout.readline()
        self.base_url = re.search(r"http://127\.0\.0\.1:\d+/v1", self.first_line)[0]

    def post(self, text: str = "Hi", **headers: str) -> httpx2.Response:
        return httpx2.post(f"{self.base_url}/responses", json=body(text), headers=headers, trust_env=False)

    def next_line(self) -> str:
        """The next line that it prints: of an exchange, once the reply has ended for the server too."""
        return self.process.stdout.readline()

    def stop(self, number: signal.Signals = signal.SIGINT) -> tuple[int, str, str]:
        self.process.send_signal(number)
        output, errors = self.process.communicate(timeout=30)
        return self.process.returncode, output, errors


@contextmanager
def _running(*arguments: str, **environment: str) -> Iterator[_Running]:
    command = [sys.executable, "-m", "partstream", "upstream", *arguments]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | environment
    ) as process:
        try:
            yield _Running(process)
        finally:
            process.kill()


def test_it_says_where_it_serves_and_one_line_for_each_request():
    with _running("--scenario", "refusal", "--fault", "no_done") as running:
        assert "can't help" in running.post().text
        first = running.next_line().strip()
        assert running.post("fault:status=429").status_code == 429
        second = running.next_line().strip()
        code, output, errors = running.stop()
    assert (code, output, errors) == (0, "", "")
    assert re.fullmatch(r"#1 POST /v1/responses 200 refusal fault:no_done 1\d events, \d+ ms whole", first)
    assert re.fullmatch(r"#2 POST /v1/responses 429 refusal fault:status=429 0 events, \d+ ms whole", second)


BASE_PATHS = {
    **dict.fromkeys(("openresponses", "chat-completions", "anthropic-messages"), "/v1"),
    **dict.fromkeys(("gemini", "gemini-interactions"), "/v1beta"),
    "ollama": "/api",
    "ai-gateway": "/v3/ai",
    "ag-ui": "/ag-ui",
}


def test_with_json_every_line_is_an_object():
    with _running("--json") as running:
        running.post()
        line = running.next_line()
        code, output, errors = running.stop()
    assert (code, output, errors) == (0, "", "")
    assert json.loads(running.first_line) == {
        "type": "listening",
        "base_url": running.base_url,
        "base_urls": {name: running.base_url.removesuffix("/v1") + BASE_PATHS[name] for name in asked_protocols()},
    }
    exchange = json.loads(line)
    assert exchange.pop("milliseconds") >= 0
    assert exchange == {
        "type": "exchange",
        "number": 1,
        "method": "POST",
        "path": "/v1/responses",
        "status": 200,
        "scenario": "text",
        "faults": [],
        "events": 25,
        "outcome": "whole",
    }


def test_a_recording_is_served(tmp_path):
    recording = tmp_path / "stream.sse"
    recording.write_bytes(b'data: {"type":"response.created","response":{"id":"r"}}\n\n')
    with _running("--replay", str(recording)) as running:
        assert running.post().content == recording.read_bytes()


def test_a_recording_is_served_in_the_protocol_that_it_is_of_where_none_is_named(tmp_path):
    recording = tmp_path / "stream.jsonl"
    recording.write_bytes(b'{"type":"message_start","message":{"id":"m","role":"assistant","content":[]}}\n')
    with _running("--json", "--replay", str(recording)) as running:
        assert list(json.loads(running.first_line)["base_urls"]) == ["anthropic-messages"]


def test_it_speaks_only_the_protocol_that_is_named_as_most_servers_do():
    with _running("--json", "--protocol", "chat-completions") as running:
        assert json.loads(running.first_line)["base_urls"] == {"chat-completions": running.base_url}
        assert running.post().status_code == 404
        url = f"{running.base_url}/chat/completions"
        asked = {"model": "text", "messages": [{"role": "user", "content": "Hi"}]}
        assert httpx2.post(url, json=asked, trust_env=False).status_code == 200


def test_the_token_comes_from_the_environment_and_is_never_shown():
    with _running("--token-env", "PARTSTREAM_TEST_TOKEN", PARTSTREAM_TEST_TOKEN=TOKEN) as running:
        assert running.post().status_code == 401
        assert running.post(authorization=f"Bearer {TOKEN}").status_code == 200
        code, output, errors = running.stop()
    assert code == 0
    assert TOKEN not in running.first_line + output + errors


@pytest.mark.parametrize(("option", "events"), [(("--fault", "stall=7"), 7), (("--pace-ms", "60000"), 5)])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
def test_ctrl_c_and_sigterm_end_it_also_while_an_answer_is_under_way(option, events, number):
    with (
        _running(*option) as running,
        httpx2.Client(trust_env=False, timeout=30) as client,
        client.stream("POST", f"{running.base_url}/responses", json=body()) as response,
    ):
        received, pieces = b"", response.iter_raw()
        while received.count(b"event: ") < events:
            received += next(pieces)
        code, output, errors = running.stop(number)
    assert (code, errors) == (0, "")
    line = rf"#1 POST /v1/responses 200 text( fault:\S+)? {events} events, \d+ ms stopped\n"
    assert re.fullmatch(line, output)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--scenario", "nonsense"], "unknown scenario 'nonsense'"),
        (["--fault", "status=9"], "status=CODE"),
        (["--replay", "nowhere.sse"], "nowhere.sse"),
        (["--replay", __file__], ".jsonl or .sse"),
        (["--pace-ms", "-1"], "--pace-ms"),
        (["--pace", "2"], "expected --replay FILE with times"),
        (["--replay", "-"], "expected a file"),
        (["--port", "65536"], "--port"),
        (["--token-env", "PARTSTREAM_TEST_NO_SUCH"], "PARTSTREAM_TEST_NO_SUCH"),
    ],
)
def test_a_wrong_option_is_refused_with_what_is_expected(arguments, expected):
    result = CliRunner().invoke(main, ["upstream", *arguments])
    assert result.exit_code == 2
    assert expected in result.output


def test_a_port_that_is_taken_is_told():
    with _running("--port", str(free_port())) as running:
        port = running.base_url.rpartition(":")[2].removesuffix("/v1")
        result = CliRunner().invoke(main, ["upstream", "--port", port])
    assert result.exit_code == 1
    assert f"127.0.0.1:{port}" in result.output


def test_the_help_names_every_scenario_and_every_fault():
    help_text = CliRunner().invoke(main, ["upstream", "--help"]).output
    for name in ("thinking_only", "image_echo", "status_then_ok=N", "stall[=N[:SECONDS]]", "missing=TYPE"):
        assert name in help_text
