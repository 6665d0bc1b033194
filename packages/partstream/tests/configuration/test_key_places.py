"""Where keys are kept: variables, files, the keyring, commands; each failure names the place and shows no key."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import pytest

from partstream.config.loading import _end, read_command, read_file, read_keyring, read_variable
from partstream.upstream.endpoint import CredentialError
from upstreams.upstreams import run

KEY = "sk-planted-0123456789"
POSIX = pytest.mark.skipif(os.name != "posix", reason="modes and groups of processes of POSIX")


def python(code: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", code]


def failure(read: Callable[[], Awaitable[str]]) -> CredentialError:
    errors: list[CredentialError] = []

    async def test() -> None:
        with pytest.raises(CredentialError) as raised:
            await read()
        errors.append(raised.value)

    run(test())
    (error,) = errors
    assert KEY not in str(error)
    assert KEY not in repr(error.__cause__) + repr(error.__context__)
    return error


def test_a_variable_holds_the_key():
    async def test() -> None:
        assert await read_variable("MY_KEY", {"MY_KEY": KEY}) == KEY

    run(test())


@pytest.mark.parametrize("environment", [{}, {"MY_KEY": " "}])
def test_a_variable_without_a_value_is_named(environment: dict[str, str]):
    assert "the environment variable MY_KEY: got no value" in str(failure(lambda: read_variable("MY_KEY", environment)))


@POSIX
@pytest.mark.parametrize(("mode", "warned"), [(0o600, False), (0o604, True)])
def test_a_file_holds_the_key_and_is_warned_about_when_everyone_can_read_it(
    tmp_path: Path, mode: int, warned: bool, caplog: pytest.LogCaptureFixture
):
    path = tmp_path / "key"
    path.write_text(KEY)
    path.chmod(mode)
    assert read_file(path) == KEY
    assert ("can be read by every user" in caplog.text) is warned
    assert KEY not in caplog.text


@pytest.mark.parametrize("content", [KEY.encode() * 10_000, b"\xff" + KEY.encode(), None])
def test_a_file_that_holds_no_key_is_named(tmp_path: Path, content: bytes | None):
    path = tmp_path / "key"
    if content is not None:
        path.write_bytes(content)

    async def read() -> str:
        return read_file(path)

    assert str(path) in failure(read).source


def test_without_the_package_of_the_keyring_it_is_said_how_to_get_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "keyring", None)  # how Python marks what cannot be imported
    error = failure(lambda: read_keyring("partstream", "me"))
    assert "no package `keyring`" in str(error)
    assert "pip install keyring" in error.expected


KEYRING = """
def get_password(service, user):
    if service == "locked":
        raise RuntimeError("sk-planted-0123456789")
    return {("partstream", "me"): "sk-planted-0123456789"}.get((service, user))
"""


def test_an_entry_of_the_keyring_is_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    # Any module of that name serves: this one keeps its entries in its source.
    (tmp_path / "keyring.py").write_text(KEYRING)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "keyring", raising=False)

    async def test() -> None:
        assert await read_keyring("partstream", "me") == KEY

    try:
        run(test())
        assert "no such entry" in str(failure(lambda: read_keyring("partstream", "you")))
        assert "RuntimeError" in str(failure(lambda: read_keyring("locked", "me")))
    finally:
        sys.modules.pop("keyring", None)


def test_the_output_of_a_command_is_the_key_and_no_shell_reads_its_arguments():
    async def test() -> None:
        assert await read_command([*python("import sys; print(sys.argv[1])"), "$HOME;`id` 'a' \"b\""]) == (
            "$HOME;`id` 'a' \"b\"" + os.linesep
        )

    run(test())


def test_a_command_reads_nothing_and_stands_in_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)

    async def test() -> None:
        code = "import os, sys; print(repr(sys.stdin.read()), os.getcwd())"
        assert await read_command(python(code)) == f"'' {Path.home()}{os.linesep}"

    run(test())


FAILING = {
    "an exit code": (python(f"print('{KEY}'); raise SystemExit(3)"), "the exit code 3"),
    "no such program": (["partstream-no-such-program", KEY], "no such program"),
    "a program that cannot be run": ([os.path.realpath(__file__), KEY], "no such program"),
    "far too much": (python(f"print('{KEY}' * 10000)"), "more than 65536 bytes"),
    "no text": (python("import os; os.write(1, bytes([255]))"), "characters beyond ASCII"),
}


@pytest.mark.parametrize(("command", "got"), FAILING.values(), ids=FAILING)
def test_a_command_that_fails_is_named_without_its_output_and_its_arguments(command: list[str], got: str):
    assert got in str(failure(lambda: read_command(command)))


@POSIX
def test_a_program_of_the_present_folder_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    program = tmp_path / "key-helper"
    program.write_text(f"#!/bin/sh\necho {KEY}\n")
    program.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", ".")
    for name in ("key-helper", "./key-helper"):
        assert "no such program" in str(failure(lambda name=name: read_command([name])))


@POSIX
def test_a_command_that_takes_too_long_is_ended_with_all_that_it_started(tmp_path: Path):
    started = tmp_path / "started"
    shell = ["/bin/sh", "-c", f"sleep 3600 & echo $! > '{started}'; wait"]
    assert "no exit within 1 s" in str(failure(lambda: read_command(shell, 1.0)))
    process = int(started.read_text())

    async def gone() -> None:
        async with asyncio.timeout(30):
            while _is_running(process):
                await asyncio.sleep(0.02)

    run(gone())


@POSIX
def test_a_command_that_has_ended_by_itself_needs_no_end():
    async def test() -> None:
        process = await asyncio.create_subprocess_exec(*python(""), start_new_session=True)
        with suppress(ChildProcessError):  # the event loop's own watcher was faster
            os.waitpid(process.pid, 0)
        assert process.returncode is None  # as long as the event loop has not run
        await _end(process)
        assert process.returncode is not None

    run(test())


def _is_running(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state.rpartition(")")[2].split()[0] != "Z"
