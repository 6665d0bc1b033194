"""What is tried of a server that runs: each check says what it saw, or raises with what it saw instead."""

from __future__ import annotations
import os
import re
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Final

from interop.ray_serve.asking import KEY, SECONDS, asked, request_bytes, whole
from interop.ray_serve.far import FAR_MODEL
from interop.ray_serve.near import SCRIPT_VARIABLE
from interop.ray_serve.through import KEY_VARIABLE, URL_VARIABLE
from interop.servers.environments import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

__all__ = ["CHECKS", "DRAIN", "KILLS", "NotSeenError", "drain"]

_CANCEL_SECONDS: Final = 0.1
"""Decision 4: a provider is cancelled so soon after its client has left."""
_SUITE: Final = "packages/partstream/tests/serving/test_openresponses_server.py"
_SUITE_SECONDS: Final = 120
DRAIN: Final = "SIGTERM: answers end, or with their terminal event"


class NotSeenError(Exception):
    """A check saw something else than it looks for."""


def _need(is_so: object, what: str) -> None:
    if not is_so:
        raise NotSeenError(what)


def _noted(note: Path, since: float) -> float:
    """How many seconds after `since` a note was written."""
    until = time.monotonic() + SECONDS
    while not (note.exists() and note.read_text(encoding="utf-8")):
        _need(time.monotonic() < until, f"nothing was noted in {SECONDS:g} s")
        time.sleep(0.002)
    return float(note.read_text(encoding="utf-8")) - since


def _suite(port: int, folder: Path) -> str:
    """The tests that are written from the specification, over HTTP and WebSocket: more than the 17 of the suite."""
    environment = os.environ | {
        URL_VARIABLE: f"http://127.0.0.1:{port}",
        KEY_VARIABLE: KEY,
        SCRIPT_VARIABLE: str(folder / "script"),
    }
    plugins = ("-p", "interop.ray_serve.through", "-p", "no:randomly")
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", *plugins, _SUITE]
    run = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=_SUITE_SECONDS, check=False
    )
    (folder / "script").unlink(missing_ok=True)
    passed = re.search(r"(\d+) passed", run.stdout)
    _need(run.returncode == 0 and passed, " ".join(run.stdout.strip().splitlines()[-4:]))
    return f"{passed[1] if passed else 0} tests passed"


def _streams(port: int, folder: Path, model: str = "told") -> str:
    gate = folder / f"gate-{model}"
    with asked(port, request_bytes(model, f"gate {gate}", stream=True)) as one:
        one.until(b"pid=")
        _need(b"and on" not in one.received, "the end came with the beginning")
        gate.touch()
        one.until(b"\r\n0\r\n\r\n")
        _need(b"and on" in one.received and one.is_whole, "the stream did not end")
    return "the first words come while the provider still waits"


def _left(port: int, folder: Path, what: str, *, model: str = "told", stream: bool = True) -> str:
    note = folder / f"left-{model}-{what}-{stream}"
    with asked(port, request_bytes(model, f"{what} {note}", stream=stream)) as one:
        if what == "waits" and stream:
            one.until(b"pid=")
        else:
            time.sleep(1.0)  # nothing comes by which a client could tell that the provider was asked
        seconds = _noted(note, one.leave())
    _need(seconds < _CANCEL_SECONDS, f"the provider was cancelled after {seconds * 1000:.0f} ms")
    return f"the provider was cancelled {max(seconds, 0) * 1000:.0f} ms after the client had left"


def _killed_near(port: int, folder: Path) -> str:
    with asked(port, request_bytes("told", f"gate {folder / 'never'}", stream=True)) as one:
        os.kill(one.process, signal.SIGKILL)
        began = time.monotonic()
        while not one.is_closed:
            one.until(b"\0 of nothing")
        ended = time.monotonic() - began
        _need(not one.is_whole and b"[DONE]" not in one.received, "the stream looks whole")
    return f"its client sees the end without the last chunk after {ended * 1000:.0f} ms; {_next(port, 'told')}"


def _killed_far(port: int, folder: Path) -> str:
    with asked(port, request_bytes(FAR_MODEL, f"gate {folder / 'never'}", stream=True)) as one:
        os.kill(one.process, signal.SIGKILL)
        began = time.monotonic()
        one.until(b"\r\n0\r\n\r\n")
        ended = time.monotonic() - began
        _need(b'"error"' in one.received and one.is_whole, "the stream has no error")
    return f"its client reads an error and the end of the stream after {ended * 1000:.0f} ms; {_next(port, FAR_MODEL)}"


def _next(port: int, model: str) -> str:
    """How soon a further question is answered."""
    began, tries = time.monotonic(), 1
    while whole(port, model, "words 1")[0] != 200:
        _need(time.monotonic() - began < SECONDS, "nothing answered any more")
        tries += 1
        time.sleep(0.05)
    return f"the next question is answered after {time.monotonic() - began:.1f} s" + (
        "" if tries == 1 else f", at try {tries}"
    )


def drain(port: int, stop: Callable[[], object], seconds: float) -> str:
    """Stops the server while one answer has less to say than it may, and one more."""
    with (
        asked(port, request_bytes("told", "ticks 300", stream=True)) as short,
        asked(port, request_bytes("told", "ticks 100000", stream=True)) as long,
    ):
        short.until(b'"content"')
        long.until(b'"content"')
        stop()
        began = time.monotonic()
        short.until(b"\r\n0\r\n\r\n")
        _need(short.is_whole and b'"finish_reason":"stop"' in short.received, "the short answer was cut")
        long.until(b"\r\n0\r\n\r\n")
        took = time.monotonic() - began
        _need(long.is_whole and b"[DONE]" in long.received, "the long answer was cut without its terminal event")
    return f"the short answer was whole; the long one had its terminal event after {took:.1f} s of {seconds:g}"


CHECKS: Final[Mapping[str, Callable[[int, Path], str]]] = {
    "the suite of OpenResponses": _suite,
    "streams": _streams,
    "a client leaves in the middle of a stream": lambda port, folder: _left(port, folder, "waits"),
    "a client leaves a silent provider": lambda port, folder: _left(port, folder, "silent"),
    "a client leaves a request that is no stream": lambda port, folder: _left(port, folder, "silent", stream=False),
    "a provider elsewhere streams": lambda port, folder: _streams(port, folder, FAR_MODEL),
    "a client leaves a provider elsewhere": lambda port, folder: _left(port, folder, "waits", model=FAR_MODEL),
}
KILLS: Final[Mapping[str, Callable[[int, Path], str]]] = {
    "the replica of an answer is killed": _killed_near,
    "a provider elsewhere is killed": _killed_far,
}
"""What only a server shows that goes on without one of its processes."""
