"""A command that speaks the sidecar's protocol over standard input and output, as a target.

The base URL of the kit's model server is in the environment variable `PARTSTREAM_CONFORMANCE_UPSTREAM`, and replaces
`{upstream}` in the command. :class:`PipedProvider` is the provider on the other side of the pipe. What that side sends
is judged, so nothing is refused here: a value of the wrong type becomes a part that holds it. A part that was under way
when the other side had not read a cancellation is no fault of it: each cancellation is followed by a request, and parts
that come before its response are left out.
"""

from __future__ import annotations
import asyncio
import os
import shlex
from asyncio.subprocess import DEVNULL, PIPE
from base64 import b64decode
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from itertools import count
from typing import Any, Final

from partstream.codec.json_codec import dumps
from partstream.errors import LanguageModelError
from partstream.lm.cancellation import CancellationToken
from partstream.lm.messages import ChatMessage, RequestOptions
from partstream.lm.parts import Audience, DataPart, TextPart, ThinkingPart, ToolCallPart, unchecked_part
from partstream.lm.provider import (
    LanguageModelChatCapabilities,
    LanguageModelChatInformation,
    LanguageModelChatProvider,
    Progress,
)
from partstream.vscode.methods import PROTOCOL_VERSION, encode_part
from partstream.vscode.rpc import Connection, ErrorCode, Notification, Response, encode_frame
from partstream_devtools.conformance.driver import Provocation, Session, TargetDescription, UnusableTargetError, playing
from partstream_devtools.testing.upstream import ReplayUpstream

# ---- The provider ----

_READ_SIZE: Final = 65536


class RemoteFailedError(Exception):
    """The other side answered a request with an error that is none of a model."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(f"{message} (code {code})")
        self.code = code


class PipedProvider(LanguageModelChatProvider):
    """A provider on the other side of a pipe."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._ids = count(1)
        self._waiting: dict[int, asyncio.Future[Response]] = {}
        self._progress: dict[int, Progress] = {}
        self._under_way: dict[int, int] = {}
        """By the number of a response that answers after a cancellation was read: the answer that was cancelled."""
        self._reading = asyncio.create_task(self._read())

    async def provide_language_model_chat_information(
        self, silent: bool, token: CancellationToken
    ) -> Sequence[LanguageModelChatInformation]:
        """The models of the other side."""
        del token
        result = await self.request("languageModels/information", {"group": None, "silent": silent})
        return [_information(model) for model in result["models"]]

    async def provide_language_model_chat_response(
        self,
        model: LanguageModelChatInformation,
        messages: Sequence[ChatMessage],
        options: RequestOptions,
        progress: Progress,
        token: CancellationToken,
    ) -> None:
        """Asks for an answer.

        Raises:
            LanguageModelError: The model failed.
            RemoteFailedError: The other side failed otherwise.
        """
        if token.is_cancellation_requested:
            return
        number = next(self._ids)
        self._progress[number] = progress
        was_cancelled: list[bool] = []

        def cancel() -> None:
            was_cancelled.append(True)
            self._notify("$/cancelRequest", {"id": number})
            # What was under way when the other side had not read the cancellation is no fault of it.
            barrier = next(self._ids)
            self._under_way[barrier] = number
            self._send({"id": barrier, "method": "$/afterCancellation", "params": None})

        cancelling = token.on_cancellation_requested(cancel)
        tools = [
            {"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema or {"type": "object"}}
            for tool in options.tools
        ]
        params = {
            "group": None,
            "model": model.id,
            "messages": [_message(message) for message in messages],
            "options": {
                "tools": tools,
                "toolMode": int(options.tool_mode),
                "modelOptions": dict(options.model_options),
            },
            "progressToken": number,
        }
        try:
            await self.request("languageModels/response", params, number)
        except RemoteFailedError as error:
            if error.code == ErrorCode.REQUEST_CANCELLED and was_cancelled:
                return
            if error.code == ErrorCode.LANGUAGE_MODEL_FAILED:
                raise LanguageModelError(str(error)) from error
            raise
        finally:
            cancelling.dispose()

    async def provide_token_count(
        self, model: LanguageModelChatInformation, text: str | ChatMessage, token: CancellationToken
    ) -> int:
        """Counts the tokens of a text or a message."""
        del token
        item = (
            {"text": text.encode(errors="replace").decode()} if isinstance(text, str) else {"message": _message(text)}
        )
        params = {"group": None, "model": model.id, "items": [item]}
        result = await self.request("languageModels/tokenCount", params)
        counted: int = result["counts"][0]["count"]
        return counted

    async def request(self, method: str, params: Any, number: int | None = None) -> Any:
        """Sends a request, with its number if that is known already, and returns its result.

        Raises:
            RemoteFailedError: The other side answered with an error.
            ConnectionError: It has closed the connection.
        """
        if self._reading.done():
            raise ConnectionError("the process has ended")
        number = next(self._ids) if number is None else number
        answered = self._waiting[number] = asyncio.get_running_loop().create_future()
        self._send({"id": number, "method": method, "params": params})
        response = await answered
        if response.error is not None:
            raise RemoteFailedError(int(response.error.get("code", 0)), str(response.error.get("message", "")))
        return response.result

    async def aclose(self) -> None:
        """Says goodbye and reads no more."""
        with suppress(RemoteFailedError, ConnectionError, TimeoutError):
            await asyncio.wait_for(self.request("shutdown", None), 2.0)
            self._notify("exit", None)
        self._reading.cancel()
        await asyncio.gather(self._reading, return_exceptions=True)

    def _notify(self, method: str, params: Any) -> None:
        self._send({"method": method, "params": params})

    def _send(self, message: Mapping[str, Any]) -> None:
        with suppress(OSError, RuntimeError):  # it has gone: reading ends, and says so
            self._writer.write(encode_frame(dumps({"jsonrpc": "2.0", **message})))

    async def _read(self) -> None:
        connection = Connection()
        try:
            while data := await self._reader.read(_READ_SIZE):
                for message in connection.receive(data):
                    match message:
                        case Response(id=int() as number):
                            self._under_way.pop(number, None)
                            answered = self._waiting.get(number)
                            if answered is not None and not answered.done():
                                answered.set_result(message)
                        case Notification(method="$/progress"):
                            self._came(message.params)
        finally:
            for answered in self._waiting.values():
                if not answered.done():
                    answered.set_exception(ConnectionError("the process has ended, or closed its output"))

    def _came(self, params: Any) -> None:
        token = params.get("token")
        progress = self._progress.get(token)
        if progress is not None and token not in self._under_way.values():
            for part in params["value"].get("parts", ()):
                progress.report(_part(part))


def _part(value: Any) -> Any:
    """A part as the other side sent it, with whatever it holds; the value itself where it is no part at all."""
    match value:
        case {"type": "text"}:
            return unchecked_part(TextPart, value.get("value"), _audience(value.get("audience")))
        case {"type": "thinking"}:
            return unchecked_part(ThinkingPart, value.get("value"), value.get("id"), value.get("metadata"))
        case {"type": "tool_call"}:
            return unchecked_part(ToolCallPart, value.get("callId"), value.get("name"), value.get("input"))
        case {"type": "data"}:
            data, audience = _bytes(value.get("data")), _audience(value.get("audience"))
            return unchecked_part(DataPart, data, value.get("mimeType"), audience)
    return value


def _audience(value: Any) -> Any:
    try:
        return value if value is None else tuple(map(Audience, value))
    except (ValueError, TypeError):
        return value


def _bytes(value: Any) -> Any:
    try:
        return b64decode(value, validate=True)
    except (ValueError, TypeError):
        return value


def _message(message: ChatMessage) -> Mapping[str, Any]:
    return {"role": int(message.role), "content": [encode_part(part) for part in message.content]}


def _information(model: Mapping[str, Any]) -> LanguageModelChatInformation:
    capabilities = model.get("capabilities", {})
    return LanguageModelChatInformation(
        id=model["id"],
        name=model["name"],
        family=model["family"],
        version=model["version"],
        max_input_tokens=model["maxInputTokens"],
        max_output_tokens=model["maxOutputTokens"],
        capabilities=LanguageModelChatCapabilities(
            bool(capabilities.get("imageInput")), capabilities.get("toolCalling", False)
        ),
    )


# ---- The target ----

UPSTREAM_VARIABLE: Final = "PARTSTREAM_CONFORMANCE_UPSTREAM"
"""The environment variable that holds the base URL of the kit's model server."""

_START_SECONDS: Final = 20.0
_STOP_SECONDS: Final = 3.0
_VSCODE_VERSION: Final = "1.140.0"


class StdioTarget:
    """A command line, as a shell reads it; no shell runs it.

    Args:
        protocol: The name of the protocol that the command asks its upstream in; None for the default.
        providers: The sources of the providers that the command is to load, as the extension tells the sidecar.
        has_upstream: Whether the command asks the kit's model server; otherwise it only gets the prompt.

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
        # The program without its arguments, which may hold a key.
        self.description = TargetDescription(next(iter(self._words), ""), "stdio", protocol=protocol)
        self.ways = frozenset({Provocation.SANDWICH if has_upstream else Provocation.DIRECTED})

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[Session, None]:
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
            yield Session(partial(playing, upstream, remote), upstream)

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
    """The words of a command line; on Windows a backslash belongs to a path, and quotes nothing.

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
