"""A command that speaks the sidecar's protocol over standard input and output as a target.

The base URL of the kit's model server is in the environment variable `PARTSTREAM_CONFORMANCE_UPSTREAM`, and takes the
place of `{upstream}` in the command.
"""

from __future__ import annotations

import asyncio
import os
import shlex
from asyncio.subprocess import DEVNULL, PIPE
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from partstream.conformance.targets.remote import PipedProvider, RemoteFailedError
from partstream.devtools.conformance.driving import Capabilities, Provocation, TargetDescription, UnusableTargetError
from partstream.devtools.testing.upstream import ReplayUpstream
from partstream.vscode.methods import PROTOCOL_VERSION

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from partstream.devtools.conformance.scripts import Script
    from partstream.lm.provider import LanguageModelChatProvider

__all__ = ["UPSTREAM_VARIABLE", "StdioTarget", "words_of"]

UPSTREAM_VARIABLE: Final = "PARTSTREAM_CONFORMANCE_UPSTREAM"
"""The environment variable that holds the base URL of the kit's model server."""

_START_SECONDS: Final = 20.0
_STOP_SECONDS: Final = 3.0
_VSCODE_VERSION: Final = "1.140.0"


@dataclass(frozen=True, slots=True)
class _Session:
    upstream: ReplayUpstream | None
    remote: PipedProvider
    declared: Capabilities = field(default_factory=Capabilities)
    note: str = ""

    def provider(self, script: Script | None) -> LanguageModelChatProvider:
        if self.upstream is not None:
            self.upstream.perform(None if script is None else script.perform)
        return self.remote


class StdioTarget:
    """A command.

    Args:
        command: The command line, as a shell reads it; no shell runs it.
        protocol: The name of the protocol that the command asks its upstream in; None for the default.
        providers: The sources of the providers that the command is to load, as the extension tells the sidecar.
        has_upstream: Whether the command asks the kit's model server; otherwise the prompt says what to do.

    Raises:
        UnusableTargetError: A quotation in the command does not end.
    """

    def __init__(
        self, command: str, protocol: str | None = None, *, providers: Sequence[str] = (), has_upstream: bool = True
    ) -> None:
        self._words = words_of(command)
        self._protocol = protocol
        self._providers = tuple(providers)
        self._has_upstream = has_upstream

    @property
    def description(self) -> TargetDescription:
        """What a report says of it: the program, without its arguments, which may hold a key."""
        return TargetDescription(next(iter(self._words), ""), "stdio", protocol=self._protocol)

    @property
    def ways(self) -> frozenset[Provocation]:
        """A sandwich, or by the prompt where the command has a model of its own."""
        return frozenset({Provocation.SANDWICH if self._has_upstream else Provocation.DIRECTED})

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[_Session, None]:
        """Starts the command and ends it with the block.

        Raises:
            UnusableTargetError: It cannot be started, or does not answer `initialize`.
        """
        async with AsyncExitStack() as stack:
            upstream, url = None, ""
            if self._has_upstream:
                upstream = await stack.enter_async_context(ReplayUpstream())
                url = upstream.base_url if self._protocol is None else upstream.base_url_of(self._protocol)
            process = await self._start(url)
            stack.push_async_callback(_stop, process)
            assert process.stdin is not None and process.stdout is not None  # noqa: S101, PT018 - both are pipes
            remote = PipedProvider(process.stdout, process.stdin)
            stack.push_async_callback(remote.aclose)
            await self._initialize(remote)
            yield _Session(upstream, remote)

    async def _start(self, url: str) -> asyncio.subprocess.Process:
        name = self.description.name
        arguments = [one.replace("{upstream}", url) for one in self._words]
        if not arguments:
            raise UnusableTargetError(name, "the command is empty")
        environment = {**os.environ, UPSTREAM_VARIABLE: url}
        try:
            return await asyncio.create_subprocess_exec(
                *arguments, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=environment
            )
        except OSError as error:
            raise UnusableTargetError(name, f"cannot be started: {error}") from error

    async def _initialize(self, remote: PipedProvider) -> None:
        params = {
            "protocolVersion": PROTOCOL_VERSION,
            "clientInfo": {"name": "partstream conformance", "version": "1"},
            "vscodeVersion": _VSCODE_VERSION,
            "configuration": {"providers": [{"source": source} for source in self._providers]},
        }
        try:
            async with asyncio.timeout(_START_SECONDS):
                await remote.request("initialize", params)
        except TimeoutError as error:
            what = f"did not answer `initialize` within {_START_SECONDS:g} seconds"
            raise UnusableTargetError(self.description.name, what) from error
        except (RemoteFailedError, ConnectionError) as error:
            raise UnusableTargetError(self.description.name, f"refused `initialize`: {error}") from error


def words_of(command: str, *, is_windows: bool = os.name == "nt") -> list[str]:
    """The words of a command line; on Windows a backslash stands in paths, and quotes nothing.

    Raises:
        UnusableTargetError: A quotation does not end.
    """
    try:
        words = shlex.split(command, posix=not is_windows)
    except ValueError as error:
        raise UnusableTargetError("--stdio", f"the command cannot be read: {error}") from error
    return [word.strip('"') for word in words] if is_windows else words


async def _stop(process: asyncio.subprocess.Process) -> None:
    """Ends the process: by the end of its input, then by force."""
    if process.stdin is not None:
        process.stdin.close()
    with suppress(TimeoutError):
        await asyncio.wait_for(process.wait(), _STOP_SECONDS)
        return
    with suppress(ProcessLookupError):
        process.kill()
    await process.wait()
