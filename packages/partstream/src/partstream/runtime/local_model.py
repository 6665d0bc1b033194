"""A model inside this process, for a person without a server and without a key.

The package `xllamacpp` holds llama.cpp (docs/decisions/0039-a-model-in-the-process.md). It loads a GGUF file into this
process and answers at an address of loopback that the system chooses, which is how llama.cpp's own answers are read
here: streaming, cancellation and the calls of tools are those of every llama.cpp. The address has a key that is made
for each load, so that no other program of this machine asks the model.

The model is loaded by the first question or count, in a thread, and stays until `aclose`. Two limits hold: the context,
which costs memory, and the length of an answer, since a small model may repeat itself for ever. A prompt beyond the
context is a `ContextLengthExceededError` with both numbers; an answer at the limit ends with the reason `length`.
"""

from __future__ import annotations
import asyncio
import ctypes
import os
import re
import secrets
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from http.client import HTTPConnection
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from partstream.codec.checks import dataclass
from partstream.codec.json_codec import dumps, loads
from partstream.codec.system import CACHE
from partstream.errors import LanguageModelError, LanguageModelErrorCode
from partstream.lm.provider import (  # by name: a source of a provider has none that is called so
    LanguageModelChatCapabilities,
    LanguageModelChatInformation,
    LanguageModelChatProvider,
    Progress,
)
from partstream.protocols.protocol import PLAIN_MESSAGES
from partstream.tokens.counting import Counters, MessageCounter
from partstream.upstream.configuration import GatewayConfiguration, Timeouts
from partstream.upstream.context import run_in_thread
from partstream.upstream.endpoint import Secret
from partstream.upstream.provider import GatewayProvider

if TYPE_CHECKING:
    from partstream.lm.cancellation import CancellationToken
    from partstream.lm.messages import ChatMessage, RequestOptions

SOURCE: Final = "partstream.runtime.local_model"
"""What `--provider` and the setting `partstream.providers` call the model of this module."""
PACKAGE: Final = "xllamacpp"
CONTEXT: Final = 8192
"""Tokens; what SmolLM2 was trained with. They take 200 MB."""
LONGEST_ANSWER: Final = 1024  # tokens; about 700 English words
_MODEL: Final = "SmolLM2-135M-Instruct.Q4_1.gguf"
TITLE: Final = "SmolLM2 135M"
_ITS_LINE: Final = re.compile(rb"[\d.]+ ([IWED]) (.*)\n")
_ERRORS: Final = 1
"""The level of llama.cpp's lines that are written: errors alone."""
_AT_ONCE: Final = 2
"""Answers at once; VS Code asks for a title beside the answer."""


class LocalModelError(LanguageModelError):
    """The model cannot be loaded into this process."""

    def __init__(self, what: str, reason: str, advice: str = "") -> None:
        super().__init__(f"{what}: {reason}{advice and f'; {advice}'}", LanguageModelErrorCode.NOT_FOUND)
        self.reason = reason


def model_file() -> Path:
    """Where the model is that `partstream demo --real` installs."""
    return CACHE.path() / "models" / _MODEL


def is_installed() -> bool:
    """Whether the package and the model are there."""
    return find_spec(PACKAGE) is not None and model_file().is_file()


class LocalModel(LanguageModelChatProvider):
    """Offers one model that runs in this process.

    Args:
        file: A GGUF file; None for the model that `partstream demo --real` installs.
        name: What people call the model; the name of the file where None.
        context: The most tokens of a conversation, its answer among them.
        longest_answer: The most tokens of an answer.
        calls_tools: Whether tools are offered to it. The small model of the demo was not trained for tools.

    Example:
        >>> from partstream.runtime.local_model import LocalModel
        >>> model = LocalModel("Qwen3-4B.gguf", context=32_768, calls_tools=True)
        >>> model.information.id, model.information.max_input_tokens
        ('Qwen3-4B', 31744)
    """

    hosts_tools = True

    def __init__(
        self,
        file: str | Path | None = None,
        *,
        name: str | None = None,
        context: int = CONTEXT,
        longest_answer: int = LONGEST_ANSWER,
        calls_tools: bool = False,
    ) -> None:
        self._file = model_file() if file is None else Path(file)
        self._lock = threading.Lock()
        self._running: _Running | None = None
        self.information = LanguageModelChatInformation(
            id=self._file.stem.partition(".Q")[0],
            name=name or (TITLE if file is None else self._file.stem),
            family=self._file.stem.partition(".Q")[0].lower(),
            version="1",
            max_input_tokens=context - longest_answer,
            max_output_tokens=longest_answer,
            detail="in this process",
            tooltip=f"Runs in Partstream's own process: no server, no key, nothing leaves this machine. {self._file}",
            capabilities=LanguageModelChatCapabilities(image_input=False, tool_calling=calls_tools),
        )

    async def provide_language_model_chat_information(
        self, silent: bool, token: CancellationToken
    ) -> Sequence[LanguageModelChatInformation]:
        """The one model, which need not be loaded for this."""
        return [self.information]

    async def provide_language_model_chat_response(
        self,
        model: LanguageModelChatInformation,
        messages: Sequence[ChatMessage],
        options: RequestOptions,
        progress: Progress,
        token: CancellationToken,
    ) -> None:
        """Loads the model if this is the first question, and reports its answer as it streams.

        Raises:
            LocalModelError: The model cannot be loaded.
            LanguageModelError: What else went wrong, such as a prompt that is longer than the context.
        """
        gateway = (await self.loaded()).gateway
        await gateway.provide_language_model_chat_response(model, messages, options, progress, token)

    async def provide_token_count(
        self, model: LanguageModelChatInformation, text: str | ChatMessage, token: CancellationToken
    ) -> int:
        """The tokens of a text or a message, counted by the model's own tokenizer.

        Raises:
            LocalModelError: The model cannot be loaded.
        """
        counter = (await self.loaded()).counter
        count = counter.count_text if isinstance(text, str) else counter.count_message
        return (await run_in_thread(lambda: count(text), "partstream-count")).tokens  # type: ignore[arg-type]

    async def loaded(self) -> _Running:
        """The model, loaded if it was not yet. The package holds Python's lock for that long: half a second of a
        processor, in which nothing else of this process runs.

        Raises:
            LocalModelError: The model cannot be loaded.
        """
        running = self._running
        return await run_in_thread(self._load, "partstream-local-model") if running is None else running

    def _load(self) -> _Running:
        with self._lock:
            if self._running is None:
                self._running = _start(self._file, self.information)
            return self._running

    async def aclose(self) -> None:
        """Ends the answers that are still coming, and gives the memory back."""
        running, self._running = self._running, None
        if running is not None:
            await running.gateway.aclose()
            # The package has no other way to end: its object goes, and waits for the model's loop.
            await asyncio.to_thread(running.engine.clear)


@dataclass(frozen=True, slots=True)
class _Running:
    """A model that is loaded."""

    engine: list[Any]  # the one object of xllamacpp; empty once it has ended
    gateway: GatewayProvider
    counter: MessageCounter


@dataclass(frozen=True, slots=True)
class _Tokenizer:
    """Counts with the vocabulary of the loaded model, at its own address; waits for no answer that streams."""

    host: str  # with the port
    key: str

    def count(self, text: str) -> int:
        """The number of tokens; special tokens in the text count as plain text."""
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        with closing(HTTPConnection(self.host, timeout=30)) as connection:
            connection.request("POST", "/tokenize", dumps({"content": text, "parse_special": False}), headers)
            return len(loads(connection.getresponse().read())["tokens"])


def _start(file: Path, information: LanguageModelChatInformation) -> _Running:
    """Loads a model; takes seconds."""
    for is_missing, what in (
        (find_spec(PACKAGE) is None, f"the package {PACKAGE} is not installed"),
        (not file.is_file(), f"there is no file {file}"),
    ):
        if is_missing:
            raise LocalModelError(information.name, what, "`partstream demo --real` installs what is missing")
    engine, key = import_module(PACKAGE), secrets.token_urlsafe(24)
    settings = engine.CommonParams()
    settings.model.path = str(file)
    settings.n_ctx = information.max_input_tokens + information.max_output_tokens
    settings.n_parallel, settings.kv_unified = _AT_ONCE, True  # they share the context
    settings.cache_ram_mib = 0  # by default, prompts of the past take up to 8 GB
    settings.api_keys = [key]
    settings.endpoint_slots = False
    settings.model_alias = {information.id}  # else answers name the whole path
    settings.verbosity = _ERRORS  # a thread of its own writes the rest when it likes, perhaps after the load
    settings.warmup = False  # it would hold up this process for longer than the load itself
    # Its threads wait in loops: with one for every processor, they and the rest of the machine hold each other up.
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = max(1, (os.cpu_count() or 1) // 2)
    failure: RuntimeError | None = None
    with _kept_errors() as errors:
        try:
            server = engine.Server(settings)
        except RuntimeError as error:  # it says that something failed; llama.cpp has written what
            failure = error
    if failure is not None:
        raise LocalModelError(information.name, (errors or [str(failure)])[0][:300]) from failure
    # Its errors come with the answers. Where its library does not allow this call (Windows), they are written, too.
    with suppress(OSError, AttributeError):
        ctypes.CDLL(engine.xllamacpp.__file__)["_Z30common_log_set_verbosity_tholdi"](0)
    counters = Counters(())
    counters.register_counter("*", _Tokenizer(urlsplit(server.listening_address).netloc, key))
    gateway = GatewayConfiguration(
        f"{server.listening_address}/v1",
        models=(information,),
        protocol=PLAIN_MESSAGES,
        api_key=Secret(key),
        max_output_tokens=information.max_output_tokens,
        timeouts=Timeouts().while_loading,  # a processor reads a long prompt for minutes
        ledger=False,
    )
    return _Running([server], GatewayProvider(gateway), MessageCounter(information.family, counters))


@contextmanager
def _kept_errors() -> Iterator[list[str]]:
    """Keeps llama.cpp's words off standard error while it loads; gives its errors, after the block.

    It writes to the descriptor itself. What others write there meanwhile follows after the block.
    """
    errors: list[str] = []
    with tempfile.TemporaryFile() as kept:
        before = os.dup(2)
        os.dup2(kept.fileno(), 2)
        try:
            yield errors
            seen = -1
            while seen != (seen := os.fstat(kept.fileno()).st_size):
                time.sleep(0.02)  # a thread of its own writes what it says
        finally:
            os.dup2(before, 2)
            os.close(before)
            kept.seek(0)
            for line in kept:
                its_own = _ITS_LINE.fullmatch(line)
                if its_own is None:
                    os.write(2, line)
                elif its_own[1] == b"E":
                    errors.append(its_own[2].decode(errors="replace"))
