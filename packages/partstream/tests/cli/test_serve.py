"""`partstream serve`: a process of its own, asked over HTTP and ended with signals."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import replace
from tempfile import TemporaryDirectory

import httpx2
import pytest

from commands import call, terminal
from partstream.cli.serve_plan import JsonScreen, Start, TextScreen
from partstream.runtime.demo_provider import DemoProvider
from partstream.server.clients import machine_token
from serving.hosted import hosted

TOKEN = "a-token-of-the-tests"  # noqa: S105 - of no server but these
MODEL = """
import asyncio
from pathlib import Path
from partstream.runtime.simple import chat_model

@chat_model(name="Parrot", id="parrot")
async def parrot(messages, options):
    yield "You said: "
    while "wait" in str(messages[-1]) and not Path(__file__).with_name("gate").exists():
        await asyncio.sleep(0.01)
    if "for ever" in str(messages[-1]):
        await asyncio.sleep(3600)
    yield "hello"
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "parrot.py"
    path.write_text(MODEL)
    return path


class Running:
    """A running command and the lines that it prints."""

    def __init__(self, process):
        self.process = process
        self.lines = []
        self.started = self.until("listening") if "--json" in process.args else self.next_line()
        self.url = self.started["url"] if "--json" in process.args else None

    def next_line(self):
        self.lines.append(self.process.stdout.readline())
        assert self.lines[-1], self.process.stderr.read()
        return self.lines[-1]

    def until(self, kind):
        """The next object of a kind."""
        while (line := json.loads(self.next_line()))["type"] != kind:
            pass
        return line

    def ask(self, text="Hi", token=TOKEN, stream=False):
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        body = {"model": "parrot", "messages": [{"role": "user", "content": text}], "stream": stream}
        return httpx2.post(f"{self.url}/v1/chat/completions", json=body, headers=headers, trust_env=False, timeout=30)

    @contextmanager
    def stream(self, text):
        """A stream whose first words have come."""
        body = {"model": "parrot", "messages": [{"role": "user", "content": text}], "stream": True}
        headers = {"Authorization": f"Bearer {TOKEN}"}
        with (
            httpx2.Client(trust_env=False, timeout=30) as client,
            client.stream("POST", f"{self.url}/v1/chat/completions", json=body, headers=headers) as response,
        ):
            assert response.status_code == 200
            pieces = response.iter_bytes()
            received = b""
            while b"You said" not in received:
                received += next(pieces)
            yield pieces

    def end(self, number):
        self.process.send_signal(number)
        # Not by `communicate`, which knows nothing of what `readline` has read ahead.
        output, errors = self.process.stdout.read(), self.process.stderr.read()
        return self.process.wait(timeout=30), "".join(self.lines) + output, errors


_DATA = TemporaryDirectory(prefix="partstream-tests-", ignore_cleanup_errors=True)


@contextmanager
def running(*arguments, **environment):
    command = [sys.executable, "-m", "partstream", "serve", "--port", "0", *map(str, arguments)]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PARTSTREAM_")}
    nowhere = {
        "XDG_CONFIG_HOME": os.devnull,
        "PARTSTREAM_DATA": _DATA.name,
        "PARTSTREAM_CACHE": _DATA.name,
        "PARTSTREAM_SERVE_TOKEN": TOKEN,
        "PARTSTREAM_LEDGER": "false",
    }
    env = {name: value for name, value in (kept | nowhere | environment).items() if value is not None}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env) as process:
        try:
            yield Running(process)
        finally:
            process.kill()


def test_a_file_is_served_until_ctrl_c(file):
    with running(file, "--json") as served:
        answer = served.ask()
        assert answer.json()["choices"][0]["message"]["content"] == "You said: hello"
        assert served.until("models")["models"] == ["parrot"]
        assert [served.ask(token=token).status_code for token in (None, TOKEN + "x")] == [401, 401]
        assert httpx2.get(f"{served.url}/healthz", trust_env=False).status_code == 200
        code, output, errors = served.end(signal.SIGINT)
    assert (code, errors) == (0, "")
    assert TOKEN not in output


@pytest.mark.skipif(os.name != "posix", reason="this system sends no such signal")
def test_an_answer_that_is_open_at_sigterm_goes_on_to_its_end_while_new_ones_are_refused(file):
    with running(file, "--json") as served, served.stream("wait, please") as pieces:
        served.process.send_signal(signal.SIGTERM)
        assert served.until("draining") == {"type": "draining", "answers": 1, "seconds": 30.0}
        assert served.ask().status_code == 503
        assert httpx2.get(f"{served.url}/readyz", trust_env=False).status_code == 503
        file.with_name("gate").touch()
        received = b"".join(pieces)
        assert b"hello" in received
        assert received.endswith(b"data: [DONE]\n\n")
        assert served.process.wait(30) == 0


@pytest.mark.skipif(os.name != "posix", reason="this system sends no such signal")
def test_an_answer_that_does_not_end_in_time_gets_the_terminal_event_of_its_wire(file):
    with running(file, "--json", "--drain-seconds", "0.1") as served, served.stream("for ever") as pieces:
        served.process.send_signal(signal.SIGTERM)
        assert b"".join(pieces).endswith(b"data: [DONE]\n\n")
        assert served.process.wait(30) == 0


@pytest.mark.skipif(os.name != "posix", reason="this system sends no such signal")
def test_a_second_ctrl_c_ends_at_once(file):
    with running(file, "--json") as served, served.stream("for ever"):
        served.process.send_signal(signal.SIGINT)
        served.until("draining")
        code, _, errors = served.end(signal.SIGINT)
    assert (code, errors) == (130, "")


def test_a_person_reads_where_each_client_finds_it_and_which_models_there_are(file):
    with running(file) as served:
        while "models: " not in served.next_line():
            pass
        code, output, errors = served.end(signal.SIGINT)
    url = served.started.split()[2]
    assert f"{url}/v1  " in output
    assert "anthropic-messages" in output
    assert f"{url}/v1beta  gemini" in output
    assert "token: in the environment variable PARTSTREAM_SERVE_TOKEN" in output
    assert "partstream connect" in output
    assert "models: parrot" in output
    assert TOKEN not in output + errors
    assert code == 0


def test_a_token_is_made_once_and_shown_once_to_a_person(file, tmp_path, capsys):
    data = tmp_path / "data"

    async def test():
        async with terminal("serve", str(file), "--port", "0", PARTSTREAM_DATA=str(data)) as shown:
            await shown.until("connect CLIENT")
            await shown.interrupted()
            return shown.plain

    first = asyncio.run(test())
    kept = machine_token(data / "serve-token")
    assert not kept.is_new
    assert kept.secret.reveal() in first.replace("\n", "")
    for token in (kept, replace(kept, is_new=True)):
        for screen in (TextScreen(), JsonScreen()):  # what is no terminal may be a log
            screen.started(Start("127.0.0.1", 1, token, is_public=False), {"chat-completions": "/v1"})
            printed = capsys.readouterr().out
            assert str(data) in printed
            assert kept.secret.reveal() not in printed


@pytest.mark.parametrize(("port", "says"), [(8642, "CLIENT` sets"), (9000, "CLIENT --url http://127.0.0.1:9000` sets")])
def test_the_command_that_sets_a_client_up_names_the_address_where_it_is_not_the_usual_one(port, says, capsys):
    TextScreen().started(Start("127.0.0.1", port, None, is_public=False), {"chat-completions": "/v1"})
    assert says in capsys.readouterr().out


def test_it_goes_on_when_nobody_reads_its_output_any_more(file):
    with running(file, "--json") as served:
        served.until("models")
        served.process.stdout.close()
        assert [served.ask().status_code for _ in range(3)] == [200] * 3
        served.process.send_signal(signal.SIGTERM)
        assert served.process.wait(30) == 0
        assert served.process.stderr.read() == ""


def test_without_a_token_a_program_may_ask_and_a_page_of_a_site_may_not(file):
    with running(file, "--json", "--no-token", PARTSTREAM_SERVE_TOKEN=None) as served:
        assert served.ask(token=None).status_code == 200
        for headers in ({"Origin": "https://evil.example"}, {"Host": "evil.example"}):
            assert httpx2.get(f"{served.url}/v1/models", headers=headers, trust_env=False).status_code == 401


def test_pages_of_the_origins_that_are_named_may_read_and_a_strict_server_refuses_what_reaches_no_model(file):
    allowed = {"PARTSTREAM_SERVE_ALLOW_ORIGIN": "app://* http://localhost:3000"}
    with running(file, "--json", "--no-token", "--strict", PARTSTREAM_SERVE_TOKEN=None, **allowed) as served:
        for origin in ("app://obsidian.md", "http://localhost:3000"):
            listed = httpx2.get(f"{served.url}/v1/models", headers={"Origin": origin}, trust_env=False)
            assert (listed.status_code, listed.headers["access-control-allow-origin"]) == (200, origin)
        body = {"model": "parrot", "input": "Hi", "tools": [{"type": "web_search"}]}
        refused = httpx2.post(f"{served.url}/v1/responses", json=body, trust_env=False)
        assert (refused.status_code, refused.json()["error"]["param"]) == (400, "tools[].web_search")


def test_an_edited_file_is_loaded_again(file):
    with running(file, "--json", "--reload") as served:
        file.write_text(MODEL.replace("hello", "good bye"))
        assert served.until("reloaded") == {"type": "reloaded", "source": str(file), "error": None}
        assert "good bye" in served.ask().text
        file.write_text("broken(")
        assert "SyntaxError" in served.until("reloaded")["error"]
        assert "good bye" in served.ask().text


def test_several_sources_are_served_together_under_names_that_differ(file, tmp_path):
    (tmp_path / "again").mkdir()
    other = tmp_path / "again" / "parrot.py"
    other.write_text(MODEL)
    with running(file, other, "--demo", "--json") as served:
        models = served.until("models")["models"]
    assert models[:2] == ["parrot", "parrot-2/parrot"]
    assert len(models) > 2


def test_the_server_of_a_profile_is_served_over_every_wire(tmp_path):
    settings = tmp_path / "partstream.toml"
    with hosted(DemoProvider()) as upstream:
        url = f"http://127.0.0.1:{upstream.port}/v1"
        settings.write_text(
            f"""[profiles.work]\nbaseUrl = "{url}"\nprotocol = "openresponses"\napiKeyEnv = "WORK_KEY"\n"""
        )
        with running("--profile", "work", "--json", PARTSTREAM_CONFIG=str(settings), WORK_KEY=TOKEN) as served:
            body = {"model": "demo", "max_tokens": 100, "messages": [{"role": "user", "content": "Hi"}]}
            headers = {"x-api-key": TOKEN}
            answer = httpx2.post(f"{served.url}/v1/messages", json=body, headers=headers, trust_env=False, timeout=30)
            code, output, errors = served.end(signal.SIGINT)
    assert "Hi" in answer.json()["content"][-1]["text"]
    assert (code, errors) == (0, "")
    assert TOKEN not in output


REFUSED = {
    "no such file": (("missing.py",), {}, "missing.py: got no such file, expected a Python file"),
    "no such module": (("no_such_module_here",), {}, "got no such module"),
    "a public address without a token": (("FILE", "--host", "0.0.0.0"), {}, "clients need a token"),  # noqa: S104
    "a public address with --no-token": (("FILE", "--host", "0.0.0.0", "--no-token"), {}, "clients need a token"),  # noqa: S104
    "a public address with a short token": (
        ("FILE", "--host", "0.0.0.0"),  # noqa: S104
        {"PARTSTREAM_SERVE_TOKEN": "short-one"},
        "got 9 characters, expected at least 16",
    ),
    "a short token": (
        ("FILE",),
        {"PARTSTREAM_SERVE_TOKEN": "short"},
        "got 5 characters, expected a token of at least 8",
    ),
    "a number out of bounds": (("FILE", "--drain-seconds", "-1"), {}, "--drain-seconds"),
    "a number of the environment out of bounds": (("FILE",), {"PARTSTREAM_SERVE_BODY_BYTES": "1"}, "--body-bytes"),
    "what is no origin": (("FILE", "--allow-origin", "app.example"), {}, "allow_origins"),
    "pages of a site without a token": (
        ("FILE", "--no-token", "--allow-origin", "local", "--allow-origin", "https://app.example"),
        {},
        "--allow-origin: pages of a site need a token",
    ),
    "every page without a token": (("FILE", "--no-token"), {"PARTSTREAM_SERVE_ALLOW_ORIGIN": "*"}, "need a token"),
    "nothing to serve": (
        (),
        {},
        "nothing to serve: give a file such as my_model.py, or --demo, or name a model server (no base URL: set",
    ),
    "a name that the file has not": (
        ("FILE:budgie",),
        {},
        "no attribute 'budgie', expected a LanguageModelChatProvider, such as",
    ),
    "an unknown profile": (("--profile", "nobody"), {}, "nobody"),
    "an unknown address": (("FILE", "--host", "no.such.host.invalid"), {}, "cannot listen on no.such.host.invalid"),
    "a port in use": (("FILE", "--port", "TAKEN"), {}, "--port names another, and 0 any free one"),
}


async def _refused(arguments, environment):
    return await call("serve", *arguments, **environment)


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_served_is_said_before_anything_listens(case, file):
    arguments, environment, expected = REFUSED[case]
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        names = {"FILE": str(file), "FILE:budgie": f"{file}:budgie", "TAKEN": str(taken.getsockname()[1])}
        ended = asyncio.run(_refused([names.get(one, one) for one in arguments], environment))
    assert ended.code == 2
    assert expected in ended.errors.replace("\n", " ")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("broken(", ", line 1: SyntaxError"),
        ("x = 1\nraise ValueError('no')", ", line 2: ValueError: no"),
        ("", "no provider"),
    ],
)
def test_a_file_that_cannot_be_loaded_is_shown_with_its_line(file, text, expected):
    file.write_text(text)
    ended = asyncio.run(_refused([str(file)], {}))
    assert ended.code == 2
    assert expected in ended.errors
