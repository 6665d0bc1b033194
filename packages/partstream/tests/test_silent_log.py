"""The library writes nothing to the screen by itself, and says all that it logs to a program that asks."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import partstream
from rows import one_test_for

PACKAGE = Path(partstream.__file__).parent
PROGRAMS = ("cli", "vscode", "hub", "devtools")
"""What only runs as a program, which decides what becomes of the log."""

FAILURES = {
    "a question to a server": "partstream.ask_sync('http://127.0.0.1:1/v1', 'hi', model='m')",
    "a question to a provider": "partstream.ask_sync(failing, 'hi')",
    "a list of models": "partstream.ask_sync('http://127.0.0.1:1/v1', 'hi', protocol='openresponses')",
    "a stream of chunks": "asyncio.run(adapt())",
}
PROGRAM = """
import asyncio, sys
import partstream

@partstream.chat_model
async def failing(messages, options):
    raise OSError("cable")
    yield ""

async def adapt():
    chunks = [{{"type": "error", "error": "cable"}}]
    return [part async for part in partstream.StreamAdapter().adapt_stream(chunks)]

{configured}
try:
    {failing}
except partstream.LanguageModelError as error:
    sys.exit(0)
sys.exit("no error was raised")
"""


def _run(failing: str, configured: str = "") -> tuple[int, str]:
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(failing=failing, configured=configured)],
        capture_output=True,
        timeout=60,
        check=False,
    )
    return run.returncode, (run.stdout + run.stderr).decode()


@pytest.mark.parametrize("failing", FAILURES.values(), ids=FAILURES)
def test_a_failure_is_raised_and_nothing_is_written(failing: str) -> None:
    assert _run(failing) == (0, "")


def test_a_program_that_configures_logging_reads_of_the_failure() -> None:
    code, said = _run(FAILURES["a stream of chunks"], "import logging; logging.basicConfig()")
    assert (code, "partstream.stream_adapter" in said, "cable" in said) == (0, True, True)


def test_a_command_still_writes_warnings() -> None:
    command = [sys.executable, "-m", "partstream", "chat", "--base-url", "http://127.0.0.1:1/v1", "--model", "m", "hi"]
    run = subprocess.run(command, capture_output=True, timeout=60, check=False)
    assert "attempt 1 failed" in run.stderr.decode()


def _logs(path: Path) -> bool:
    return 'getLogger("partstream' in path.read_text()


def _imports_silence(path: Path) -> bool:
    return any(
        isinstance(node, ast.Import) and node.names[0].name == "partstream.codec.silent_log"
        for node in ast.parse(path.read_bytes()).body
    )


@one_test_for(
    "path",
    [
        path
        for path in PACKAGE.rglob("*.py")
        if _logs(path) and path.stem != "silent_log" and path.relative_to(PACKAGE).parts[0] not in PROGRAMS
    ],
    ids=lambda path: path.relative_to(PACKAGE).as_posix(),
)
def test_every_module_that_logs_is_silent_from_its_import_on(path: Path) -> None:
    packages = [folder / "__init__.py" for folder in path.relative_to(PACKAGE).parents if folder.name]
    assert any(_imports_silence(one) for one in (path, *(PACKAGE / package for package in packages)))
