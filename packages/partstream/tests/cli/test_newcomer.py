"""A newcomer's first commands: what is missing is named, nothing is hidden, and every command ends alike."""

import asyncio
import json
import os
import re
import signal
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from commands import Ended, call, call_process, end, run, start
from models.server import ModelServer, serving
from partstream.cli import COMMANDS, main
from partstream.cli.console import saying_that_it_waits
from partstream.cli.terminal import ExitCode
from partstream.settings.row import shown_variable
from partstream_devtools.testing.upstream import ReplayUpstream
from questions import EMPTY, questions
from rows import one_test_for

HELLO = "Hello from Partstream! Grüße, 你好, 👋: this answer came over real HTTP, one word at a time."
LONG_ID = "accounts/fireworks/models/qwen3-coder-480b-a35b-instruct-with-a-very-long-name"
MODELS = {"object": "list", "data": [{"id": one, "object": "model"} for one in ("qwen3:8b", LONG_ID, "模型-7b")]}
TERMINAL = {"FORCE_COLOR": "1"}
"""Has a command take its output for a terminal."""
DOCTOR_OF = {"/v1/models": MODELS}


def _plain(text: str) -> str:
    """What was shown, without colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


# ---- chat ----


@pytest.mark.parametrize("place", ["file", "environment"])
def test_chat_takes_the_default_model_where_none_is_named(place: str, tmp_path: Path):
    async def test() -> None:
        async with ReplayUpstream() as upstream:
            file = tmp_path / "partstream.toml"
            file.write_text(f'baseUrl = "{upstream.base_url}"\n')
            variables = {"PARTSTREAM_CONFIG": str(file)}
            if place == "file":
                file.write_text(f'{file.read_text()}defaultModel = "mine"\n')
            else:
                variables["PARTSTREAM_DEFAULT_MODEL"] = "mine"
            chat = await call("chat", "Hi", **variables)
            named = await call("chat", "--model", "other", "Hi", **variables)
            assert (chat.code, named.code) == (0, 0), chat.errors
            assert [request.body["model"] for request in questions(upstream)] == ["mine", "other"]

    run(test())


@pytest.mark.parametrize("form", ["", "/", "/v1/", "/v1/responses", "/v1/models", "/api"])
def test_an_address_is_enough(form: str):
    async def test() -> None:
        async with ReplayUpstream() as upstream:
            chat = await call("chat", "--base-url", upstream.base_url.removesuffix("/v1") + form, "--model", "m", "Hi")
            assert (chat.code, chat.output) == (0, f"{HELLO}\n"), chat.errors

    run(test())


def test_help_of_a_command_is_its_help():
    async def test() -> None:
        for arguments, asked in ((("chat",), ("chat",)), (("hub", "add"), ("hub", "add")), ((), ())):
            assert (await call("help", *arguments)).output == (await call(*asked, "--help")).output

    run(test())


def test_a_line_that_is_a_command_never_goes_to_the_model():
    async def test() -> None:
        async with ReplayUpstream() as upstream:
            arguments = ("chat", "--base-url", upstream.base_url, "--model", "m")
            typed = "/help\n/unknown\n/quit now\n/usr/bin is what?\n//slash\n"
            chat = await call(*arguments, typed=typed)
            alone = await call(*arguments, typed="/unknown\n")
            said = [request.body["input"][-1]["content"][0]["text"] for request in questions(upstream)]
        assert said == ["/usr/bin is what?", "/slash"]
        assert "There is no command /unknown." in chat.errors
        assert "There is no command /quit." in chat.errors
        assert chat.errors.count("/exit or Ctrl-D ends the chat") == 3
        assert (chat.code, alone.code) == (0, 2)

    run(test())


def test_an_answer_without_text_is_no_success():
    async def test() -> None:
        async with ReplayUpstream(scenario="thinking_only") as upstream:
            chat = await call("chat", "--base-url", upstream.base_url, "--model", "m", "Hi")
        assert chat.code == 3
        assert "15 output tokens of which 15 for thinking" in chat.errors

    run(test())


@pytest.mark.parametrize("scenario", ["empty", "thinking_only"])
def test_an_answer_without_text_is_said_to_a_person_and_not_to_the_author_of_a_provider(scenario: str):
    async def test() -> None:
        async with ReplayUpstream(scenario=scenario) as upstream:
            chat = await call("chat", "--base-url", upstream.base_url, "--model", "m", "Hi")
        said = " ".join(chat.errors.split())
        assert said.startswith("the server ended its answer without text and without a tool call (finish reason: comp")

    run(test())


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_terminal_shows_that_a_model_is_waited_for_and_a_pipe_does_not(
    is_terminal: bool, monkeypatch: pytest.MonkeyPatch
):
    """A local server loads a model in some seconds to minutes."""
    monkeypatch.setattr("partstream.cli.chat.MOMENTS", (0.0,))

    async def test() -> None:
        async with ReplayUpstream(fault="stall_before_events") as upstream:
            to = ("--base-url", upstream.base_url, "--model", "m", "--timeout-first-event", "0.3")
            chat = await call("chat", *to, "Hi", **(TERMINAL if is_terminal else {}))
        said = " ".join(_plain(chat.errors).split())
        assert chat.code == 3
        assert ("No answer yet after 0 s, 0.3 s is the limit" in said) is is_terminal
        assert ("Ctrl-C stops." in said) is is_terminal

    run(test())


@pytest.mark.parametrize("is_terminal", [True, False])
@pytest.mark.parametrize(("command", "what"), [("models", "list of models"), ("doctor", "answer of the server")])
def test_a_terminal_shows_that_a_server_is_waited_for_and_a_pipe_does_not(
    command: str, what: str, is_terminal: bool, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("partstream.cli.console.MOMENTS", (0.0,))

    async def test() -> None:
        async with ReplayUpstream() as upstream:
            ended = await call(command, "--base-url", upstream.base_url, **(TERMINAL if is_terminal else {}))
        assert ended.code == 0
        assert (f"No {what} yet after 0 s. Ctrl-C stops." in _plain(ended.errors)) is is_terminal

    run(test())


def test_waiting_is_said_at_its_moments_and_never_again_once_something_has_come():
    async def test() -> None:
        said: list[float] = []
        twice = asyncio.Event()

        def say(seconds: float) -> None:
            said.append(seconds)
            if len(said) == 2:
                twice.set()

        async with saying_that_it_waits(say, (0.0, 0.01, 60.0)):
            await twice.wait()
        assert said == [0.0, 0.01]
        async with saying_that_it_waits(say, (0.0,)) as stop:
            stop()
            await asyncio.sleep(0)
        assert said == [0.0, 0.01]

    run(test())


# ---- models ----


async def _models(**environment: str) -> Ended:
    server = ModelServer(DOCTOR_OF)
    server.gate.set()
    async with serving(server):
        return await call("models", "--base-url", server.url, **environment)


@pytest.mark.parametrize("columns", ["20", "40", "60", "80", "200"])
def test_the_id_of_every_model_is_whole_in_a_line_of_a_pipe(columns: str):
    async def test() -> None:
        models = await _models(COLUMNS=columns)
        assert models.code == 0, models.errors
        lines = models.output.splitlines()
        assert [line.split("  ")[0].strip() for line in lines[1:4]] == ["qwen3:8b", LONG_ID, "模型-7b"]
        assert lines[0].split() == ["id", "name", "family", "version", "input", "output", "tools", "images"]
        assert all("128,000 ?" in line or "?" in line for line in lines[1:4])

    run(test())


@pytest.mark.parametrize("columns", ["30", "40", "250"])
def test_the_id_of_every_model_is_whole_in_a_terminal(columns: str):
    async def test() -> None:
        models = await _models(COLUMNS=columns, **TERMINAL)
        lines = _plain(models.output).splitlines()
        for model_id in ("qwen3:8b", LONG_ID, "模型-7b"):
            assert any(line.split("  ")[0].strip() == model_id for line in lines), models.output
        assert "input 128,000 ?" in " ".join(_plain(models.output).split()) or columns == "250"

    run(test())


# ---- doctor ----


def test_doctor_looks_for_the_model_that_is_meant():
    async def test() -> None:
        server = ModelServer(DOCTOR_OF, {"/v1/chat/completions": 400})
        server.gate.set()
        async with serving(server):
            there = await call("doctor", "--base-url", server.url, "--model", "qwen3:8b")
            missing = await call("doctor", "--base-url", server.url, "--model", "qwen4")
            # The protocol is detected by empty requests, which no model sees.
            assert {request.body for request in server.requests if request.method == "POST"} == set(EMPTY)
        assert (there.code, missing.code) == (0, 0)
        assert "no model was asked" in there.output
        assert "does not list" not in there.output
        assert "the server does not list qwen4" in missing.output

    run(test())


def test_doctor_shows_a_setting_of_no_use_as_a_finding(tmp_path: Path):
    file = tmp_path / "partstream.toml"
    file.write_text('base_url = "http://h/v1"\n')

    async def test() -> None:
        plain = await call("doctor", PARTSTREAM_CONFIG=str(file))
        as_json = await call("doctor", "--json", PARTSTREAM_CONFIG=str(file))
        assert (plain.code, as_json.code) == (2, 2)
        assert "did you mean 'baseUrl'?" in plain.output
        (finding,) = json.loads(as_json.output)
        assert (finding["subject"], finding["verdict"]) == ("settings", "problem")

    run(test())


ODD_VALUES = [
    "", " ", "x", "/nowhere", "http://", "http://[::1", "http://h:99999", "garbage://x", "socks5://127.0.0.1:9", "ü",
    "{}", "[", "true", "-1", "1e999", '{"connect": 0}', '{"attempts": 1}', "http://127.0.0.1:9", "\x7f", "a" * 300,
]  # fmt: skip
ODD_VARIABLES = [
    "SSL_CERT_FILE", "SSL_CERT_DIR", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "PARTSTREAM_PROXY",
    "PARTSTREAM_API_KEY", "PARTSTREAM_API_KEY_FILE", "PARTSTREAM_TIMEOUTS", "PARTSTREAM_RETRY", "PARTSTREAM_MODELS",
    "PARTSTREAM_HEADERS", "PARTSTREAM_PROTOCOL", "PARTSTREAM_DISCOVER", "PARTSTREAM_CONFIG",
]  # fmt: skip
ODD_URLS = [
    "http://127.0.0.1:9/v1",
    "https://127.0.0.1:9",
    "https://127.0.0.1:9/v1?key=x",
    "http://[::1",
    "ftp://h",
    "x",
]


@settings(max_examples=40)
@given(
    variables=st.dictionaries(st.sampled_from(ODD_VARIABLES), st.sampled_from(ODD_VALUES), max_size=4),
    url=st.sampled_from(ODD_URLS),
)
def test_whatever_the_environment_holds_doctor_ends_with_findings(variables: dict[str, str], url: str):
    environment = {"XDG_CONFIG_HOME": "/nowhere", "APPDATA": "/nowhere", **variables}
    run_of = CliRunner(env={name: None for name in os.environ if name.startswith("PARTSTREAM_")} | environment)
    result = run_of.invoke(main, ["doctor", "--json", "--base-url", url], catch_exceptions=False)
    findings = json.loads(result.stdout)
    assert result.exit_code in {1, 2}
    assert any(finding["verdict"] == "problem" for finding in findings)
    assert not any("fault of Partstream" in finding["advice"] for finding in findings)


# ---- settings ----

SLIPS = ["base_url", "baseURL", "BASE-URL", "baseurl", "base_Url"]


@pytest.mark.parametrize("name", SLIPS)
def test_a_slip_in_the_name_of_a_setting_is_answered_with_the_name(name: str, tmp_path: Path):
    file = tmp_path / "partstream.toml"
    file.write_text(f'"{name}" = "http://h/v1"\n')

    async def test() -> None:
        shown = await call("config", "show", PARTSTREAM_CONFIG=str(file))
        assert shown.code == 2
        assert f"unknown setting '{name}' in {file}; did you mean 'baseUrl'?" in shown.errors

    run(test())


@pytest.mark.parametrize("command", [("models",), ("chat", "--model", "m", "Hi"), ("doctor",), ("config", "show")])
def test_a_slip_in_the_name_of_a_variable_is_said_by_every_command(command: tuple[str, ...]):
    async def test() -> None:
        ended = await call(*command, PARTSTREAM_BASEURL="http://h/v1")
        said = ended.output + ended.errors
        assert "unknown setting PARTSTREAM_BASEURL in the environment; did you mean PARTSTREAM_BASE_URL?" in said

    run(test())


def test_a_variable_that_nobody_knows_is_said_also_where_all_else_is_well():
    async def test() -> None:
        async with ReplayUpstream() as upstream:
            arguments = ("--base-url", upstream.base_url, "--model", "m")
            chat = await call("chat", *arguments, "Hi", PARTSTREAM_MAXOUTPUTTOKENS="5")
        assert chat.code == 0
        assert "did you mean PARTSTREAM_MAX_OUTPUT_TOKENS?" in chat.errors

    run(test())


def test_config_show_has_no_markup_and_tells_a_value_from_a_sentence():
    async def test() -> None:
        shown = await call("config", "show")
        rows = {row["name"]: row for row in json.loads((await call("config", "show", "--json")).output)["settings"]}
        assert "`" not in shown.output
        assert rows["protocol"]["default"] == "auto"
        assert rows["proxy"]["default"] == "(HTTPS_PROXY, HTTP_PROXY, ALL_PROXY)"
        assert rows["apiKeyLifetime"]["default"].startswith("(until the exp of")

    run(test())


# ---- keys in the wrong place ----

KEYS = [
    "sk-proj-abcdefghijklmnop0123",
    "gsk_abcdefghijklmnopqrstuvwxyz",
    "hf_AbCdEfGhIjKlMnOp",
    "AKIAIOSFODNN7EXAMPLE",
    "AIzaSyA-1234567890abcdef",
    "0123456789abcdef0123456789abcdef",
]
WHERE: dict[str, tuple[tuple[str, ...], str]] = {
    "--api-key-env": (("chat", "--base-url", "http://127.0.0.1:9/v1", "--model", "m", "--api-key-env", "{}", "Hi"), ""),
    "--header-env": (("models", "--base-url", "http://127.0.0.1:9/v1", "--header-env", "x-key={}"), ""),
    "--header-env alone": (("models", "--base-url", "http://127.0.0.1:9/v1", "--header-env", "{}"), ""),
    "--token-env": (("upstream", "--token-env", "{}"), ""),
    "PARTSTREAM_API_KEY_ENV, chat": (("chat", "--base-url", "http://127.0.0.1:9/v1", "--model", "m", "Hi"), "{}"),
    "PARTSTREAM_API_KEY_ENV, config show": (("config", "show", "--json", "--base-url", "http://127.0.0.1:9/v1"), "{}"),
    "PARTSTREAM_API_KEY_ENV, doctor": (("doctor", "--base-url", "http://127.0.0.1:9/v1"), "{}"),
}


@pytest.mark.parametrize("where", WHERE)
def test_a_key_in_the_place_of_a_variable_s_name_is_not_repeated(where: str):
    arguments, variable = WHERE[where]

    async def test() -> None:
        for key in KEYS:
            variables = {"PARTSTREAM_API_KEY_ENV": key} if variable else {}
            ended = await call(*(one.format(key) for one in arguments), **variables)
            assert ended.code != 0 or arguments[0] == "config"
            assert key not in ended.output + ended.errors

    run(test())


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "MYKEY", "KEY_2", "A_B_C"])
def test_the_name_of_a_variable_is_shown(name: str):
    assert shown_variable(name) == name


# ---- how commands end ----


def test_the_exit_codes_are_those_of_the_page_that_documents_them():
    page = (Path(__file__).resolve().parents[4] / "docs" / "command-line.md").read_text()
    shown = CliRunner().invoke(main, ["--help"]).output
    for code in ExitCode:
        assert f"\n| {code.value} |" in page
        assert f" {code.value} " in " ".join(shown.split())


EXITS: dict[str, tuple[tuple[str, ...], int]] = {
    "an unknown option of chat": (("chat", "--nonsense"), 2),
    "an unknown option of replay": (("replay", "--nonsense"), 2),
    "an unknown command": (("nonsense",), 2),
    "no server, models": (("models", "--base-url", "http://127.0.0.1:9/v1"), 3),
    "no server, doctor": (("doctor", "--base-url", "http://127.0.0.1:9/v1"), 1),
    "no base URL": (("models",), 2),
    "no file, check": (("check", "/nowhere"), 2),
    "no file, replay": (("replay", "/nowhere"), 2),
    "help": (("--help",), 0),
}


@pytest.mark.parametrize(("arguments", "code"), EXITS.values(), ids=EXITS)
def test_a_command_ends_as_the_table_says(arguments: tuple[str, ...], code: int):
    async def test() -> None:
        assert (await call(*arguments)).code == code

    run(test())


def test_ctrl_c_is_130_and_leaves_no_traceback():
    async def test() -> None:
        process = await start("demo")
        await process.stdout.readuntil(b"Round 1")
        ended = await _interrupted(process)
        assert (ended.code, ended.errors.strip()) == (130, "")

    run(test())


@pytest.mark.parametrize("command", ["check", "replay"])
def test_ctrl_c_is_130_also_where_a_command_waits_for_its_input(command: str, monkeypatch: pytest.MonkeyPatch):
    def interrupted(_: int) -> bytes:
        raise KeyboardInterrupt

    stdin = SimpleNamespace(buffer=SimpleNamespace(read=interrupted))
    monkeypatch.setattr("partstream_devtools.recordings.sys", SimpleNamespace(stdin=stdin))

    async def test() -> None:
        ended = await call(command, "-")
        assert (ended.code, ended.output, ended.errors) == (130, "", "\n")

    run(test())


async def _interrupted(process: asyncio.subprocess.Process) -> Ended:
    """Ctrl-C, until it is noticed: CPython misses one that comes just before it waits."""
    ending = asyncio.create_task(end(process, None))
    while not ending.done():
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGINT)
        await asyncio.wait([ending], timeout=1.5)
    return ending.result()


def test_a_sidecar_that_is_started_by_hand_says_what_it_waits_for():
    async def test() -> None:
        wrong = await call_process("sidecar", typed="hello\n")
        assert wrong.code == 1
        assert "is not what the VS Code extension sends" in wrong.errors

    run(test())


@one_test_for("command", COMMANDS)
def test_the_help_of_every_command_fits_and_names_no_markup(command: str):
    result = CliRunner().invoke(main, [command, "--help"])
    assert result.exit_code == 0
    assert "``" not in result.output


def test_each_command_is_one_row_of_the_table_of_commands():
    page = (Path(__file__).resolve().parents[4] / "docs/command-line.md").read_text()
    rows: list[Any] = [line for line in page.splitlines() if line.startswith("| `partstream ")]
    commands = [row.split("`")[1].split()[1] for row in rows]
    assert len(commands) == len(set(commands))


@pytest.mark.parametrize(
    ("toml", "says"),
    [
        ("", "or add a server by `partstream add`"),
        ("[profiles.work]\nthinking = 'off'\n", "name a profile by --profile (work)"),
    ],
)
def test_chat_without_any_server_says_how_to_get_one(toml: str, says: str, tmp_path: Path):
    (tmp_path / "partstream.toml").write_text(toml)

    async def test() -> None:
        chat = await call("chat", "--model", "m", "Hi", PARTSTREAM_CONFIG=str(tmp_path / "partstream.toml"))
        assert chat.code == ExitCode.UNUSABLE
        assert says in " ".join(chat.errors.split())

    run(test())
