"""Runs a server on a free port of loopback, from `with` to its end; asks it nothing but whether it is there."""

from __future__ import annotations
import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

__all__ = ["NotStartedError", "end_group", "free_port", "running"]

_LONGEST_START: Final = 300
"""Seconds; LiteLLM's proxy takes about fifteen on two cores."""
_LONGEST_END: Final = 10
_BETWEEN_LOOKS: Final = 0.1


class NotStartedError(Exception):
    """A server ended, or did not answer in time; the message has the last line of its log."""


def free_port() -> int:
    """A port of loopback that is not open."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


@contextmanager
def running(
    command: Sequence[str], port: int, ready_path: str, folder: Path, log: Path, environment: Mapping[str, str]
) -> Iterator[None]:
    """Starts a server, waits until it answers, and ends it and every process that it started.

    Args:
        command: Starts it in the foreground.
        port: Where it is going to listen.
        ready_path: The path that answers, with any status, once it is ready.
        folder: Its working folder.
        log: Where everything that it prints goes.
        environment: What it finds in its environment.

    Raises:
        NotStartedError: It does not run.
    """
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # so that what it starts itself can be ended with it
        )
        try:
            _wait_until_ready(process, f"http://127.0.0.1:{port}{ready_path}", log)
            yield
        finally:
            end_group(process)


def _wait_until_ready(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    deadline = time.monotonic() + _LONGEST_START
    while not _answers(url):
        if process.poll() is not None:
            raise NotStartedError(f"it ended with code {process.returncode}: {_last_line(log)}")
        if time.monotonic() > deadline:
            raise NotStartedError(f"it did not answer within {_LONGEST_START} s: {_last_line(log)}")
        time.sleep(_BETWEEN_LOOKS)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2):
            return True
    except urllib.error.HTTPError as answer:
        answer.close()
        return True
    except OSError:
        return False


def _last_line(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return lines[-1] if lines else "it printed nothing"


def end_group(process: subprocess.Popen[Any]) -> None:
    """Ends the whole group: first asks, then kills."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_LONGEST_END)
