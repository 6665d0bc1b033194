"""The server of the page as a person starts it: in a terminal."""

from __future__ import annotations
import os
import re
import select
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from inspector import sample_streams as streams
from inspector.sample_streams import bundle, exchange, paced
from partstream_devtools.bundles.archive import write_bundle

if TYPE_CHECKING:
    from pathlib import Path

SECONDS = 30
# What a terminal program does for its shell: makes it the owner of the terminal, which hangs up on it at its end.
# The tests themselves may run where that has no effect, as under nohup.
IN_A_TERMINAL = """
import fcntl, os, signal, sys, termios
signal.signal(signal.SIGHUP, signal.SIG_DFL)
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.executable, [sys.executable, "-m", "partstream", "inspect", "--no-browser", sys.argv[1]])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no terminals that hang up")
def test_it_ends_with_its_terminal(tmp_path: Path):
    file = tmp_path / "answer.partstream.zip"
    file.write_bytes(write_bundle(bundle(exchange(paced(streams.usual())))))
    terminal, its_end = os.openpty()
    command = [sys.executable, "-c", IN_A_TERMINAL, str(file)]
    with subprocess.Popen(command, stdin=its_end, stdout=its_end, stderr=its_end, start_new_session=True) as process:
        try:
            os.close(its_end)
            read_until(terminal, rb"http://127\.0\.0\.1:\d+/#[\w-]{43}")
            os.close(terminal)
            assert process.wait(SECONDS) == -signal.SIGHUP
        finally:
            process.kill()


def read_until(terminal: int, pattern: bytes) -> None:
    """Reads what a process writes until a pattern is in it."""
    said = b""
    deadline = time.monotonic() + SECONDS
    while not re.search(pattern, said):
        ready, _, _ = select.select([terminal], [], [], max(0.0, deadline - time.monotonic()))
        assert ready, f"it said only {said!r}"
        said += os.read(terminal, 4096)
