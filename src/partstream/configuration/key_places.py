"""Reads a key from its place: a variable, a file, the keyring, or the output of a command. Keeps no key."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import signal
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

from partstream.config.table import is_readable_by_all
from partstream.settings.kinds import shown_name
from partstream.settings.row import shown_variable
from partstream.upstream.endpoint import CredentialError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["read_command", "read_file", "read_keyring", "read_variable"]

_logger = logging.getLogger("partstream.configuration")

_MAX_BYTES: Final = 64 * 1024
_KEYRING_SECONDS: Final = 60.0
"""A keyring may ask a person for its password."""


def read_variable(name: str, environment: Mapping[str, str]) -> str:
    """The value of an environment variable.

    Raises:
        CredentialError: It has none.
    """
    text = environment.get(name, "")
    if not text.strip():
        raise CredentialError(f"the environment variable {shown_variable(name)}", "no value", "a key in it")
    return text


def read_file(path: Path) -> str:
    """The content of a file; warns about a file that everybody can read.

    Raises:
        CredentialError: It cannot be read, or is too long for a key.
    """
    source = f"the file {path}"
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_BYTES + 1)
        if is_readable_by_all(path):
            _logger.warning("the key in %s can be read by everyone on this machine: chmod 600 it", path)
    except OSError as error:
        raise CredentialError(source, error.strerror or type(error).__name__, "a file that can be read") from None
    return _text(content, source)


async def read_keyring(service: str, user: str) -> str:
    """An entry of the system's keyring.

    Raises:
        CredentialError: The package `keyring` is not installed, the keyring refuses, or there is no such entry.
    """
    source = f"the keyring's entry {shown_name(service)}/{shown_name(user)}"
    try:
        keyring = import_module("keyring")
    except ImportError:
        raise CredentialError(
            source, "no package `keyring` in this Python", "`pip install keyring`, or another source of the key"
        ) from None
    text, failure = None, ""
    try:
        async with asyncio.timeout(_KEYRING_SECONDS):
            text = await asyncio.to_thread(keyring.get_password, service, user)
    except TimeoutError:
        failure = f"no answer within {_KEYRING_SECONDS:g} s"
    except Exception as error:
        # Its backends raise errors of their own, which are not known to be free of secrets: none travels along.
        failure = type(error).__name__
    if failure:
        raise CredentialError(source, failure, "a keyring that is open")
    if not text:
        raise CredentialError(source, "no such entry", f"one; `keyring set {service} {user}` makes it")
    return str(text)


async def read_command(command: Sequence[str], seconds: float = 30.0) -> str:
    """The standard output of a program; no error holds the output or the arguments.

    Raises:
        CredentialError: It is not there, fails, takes too long or writes too much.
    """
    source = f"the command {Path(command[0]).name}"
    # A relative path would depend on the present folder, which may be one that nobody trusts.
    program = shutil.which(os.path.expanduser(command[0]))
    if program is None or not os.path.isabs(program):
        raise CredentialError(source, "no such program", "one on the PATH, or its absolute path")
    try:
        process = await asyncio.create_subprocess_exec(
            program,
            *command[1:],
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            cwd=Path.home(),
            start_new_session=True,
        )
    except OSError as error:
        raise CredentialError(source, error.strerror or type(error).__name__, "a program that can be run") from None
    try:
        async with asyncio.timeout(seconds):
            output = await _output_of(process, source)
            status = await process.wait()
    except TimeoutError:
        raise CredentialError(source, f"no exit within {seconds:g} s", "a key") from None
    finally:
        await _end(process)
    if status != 0:
        raise CredentialError(source, f"the exit code {status}", "0; run it in a terminal to see why")
    return _text(output, source)


async def _output_of(process: asyncio.subprocess.Process, source: str) -> bytes:
    assert process.stdout is not None  # noqa: S101 - for the type checker: it is a pipe
    output = b""
    while chunk := await process.stdout.read(_MAX_BYTES):
        output += chunk
        if len(output) > _MAX_BYTES:
            raise CredentialError(source, f"more than {_MAX_BYTES} bytes", "the key and nothing else")
    return output


async def _end(process: asyncio.subprocess.Process) -> None:
    """Ends the process and its children, and waits for it."""
    if process.returncode is not None:
        return
    if os.name == "posix":
        with suppress(ProcessLookupError):  # it has ended, and nobody has told us yet
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    await process.wait()


def _text(content: bytes, source: str) -> str:
    if len(content) > _MAX_BYTES:
        raise CredentialError(source, f"more than {_MAX_BYTES} bytes", "the key and nothing else")
    # Not decode() with its error: that holds the bytes, and would travel along as the context of ours.
    if not content.isascii():
        raise CredentialError(source, "characters beyond ASCII", "a key in ASCII")
    return content.decode()
