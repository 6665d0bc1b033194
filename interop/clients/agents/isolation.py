"""Runs the command once more where there is no network but loopback, if this system lets it."""

from __future__ import annotations
import fcntl
import os
import shutil
import socket
import struct
import subprocess
import sys
from typing import Final

__all__ = ["ISOLATED", "bring_up_loopback", "isolate"]

ISOLATED: Final = "PARTSTREAM_AGENTS_ISOLATED"
"""The environment variable that a run in a namespace of its own has."""

_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 0x1
"""SIOCGIFFLAGS, SIOCSIFFLAGS and IFF_UP of netdevice(7)."""


def isolate() -> None:
    """Runs this command instead of this process, in a network namespace of its own; returns if none can be had."""
    unshare = shutil.which("unshare")
    if os.environ.get(ISOLATED) or unshare is None or not sys.platform.startswith("linux"):
        return
    own = [unshare, "--user", "--map-root-user", "--net"]
    if subprocess.run([*own, "true"], capture_output=True, check=False).returncode:
        return
    os.environ[ISOLATED] = "1"
    os.execv(unshare, [*own, sys.executable, "-m", "interop.clients.agents", *sys.argv[1:]])  # noqa: S606


def bring_up_loopback() -> None:
    """Switches loopback on, which is off in a new namespace."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        request = struct.pack("16sh", b"lo", 0)
        (flags,) = struct.unpack("16xh", fcntl.ioctl(one, _GET_FLAGS, request)[:18])
        fcntl.ioctl(one, _SET_FLAGS, struct.pack("16sh", b"lo", flags | _UP))
