"""What is done beside the proxy, so that it holds up no exchange: files are finished, and exchanges judged.

`python -m partstream_devtools.recorder.beside PART FILE` makes the file that people use of a recording that has grown:
without keys, cookies and ids of people. It reads the keys of the exchanges, an array in JSON, from its standard input:
other users of the machine read arguments and environments.

Without arguments, it judges exchanges that are over: it reads recordings from its input, each after its length in 4
bytes and with one exchange, and writes a line of JSON for each. It ends with its input. A thread would not do: on a
busy machine, one that is put to sleep while it holds the interpreter's lock stops all others for as long.
"""

from __future__ import annotations
import asyncio
import os
import struct
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, Final

from partstream.codec.json_codec import dumps, loads
from partstream.codec.system import replace_file
from partstream_devtools.bundles.documents import BundleError
from partstream_devtools.bundles.exchange import (
    Chunk,
    ExchangeEnd,
    HowEnded,
    RecordedExchange,
    RedactionLevel,
    ResponseHead,
)
from partstream_devtools.bundles.forms import write_as
from partstream_devtools.bundles.partial import PartialRecording, read_partial
from partstream_devtools.inspector.answer_view import view_of_exchange
from partstream_devtools.redaction.redacting import redact

_MODULE: Final = "partstream_devtools.recorder.beside"
_LOWER_PRIORITY: Final = 10
"""What is added to the niceness of a process that works beside the proxy."""


# ---- Finishing ----


async def finish_in_a_process(part: Path, file: Path, secrets: Iterable[str]) -> None:
    """Writes the file, whose ending says the form, and removes the recording that has grown; a process does both.

    Args:
        part: The recording that has grown. Its reads are masked one by one, so a key whose pieces a model repeats in
            several events is still in it.
        file: The file to write.
        secrets: The keys that the exchanges were sent with; they are found across events too.

    Raises:
        OSError: It failed, and the recording stays as it has grown; the message is what the process said last.
    """
    command = (sys.executable, "-P", "-m", _MODULE, str(part), str(file))
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,  # a second Ctrl-C would end it
    )
    _, said = await process.communicate(dumps([*secrets]))
    if process.returncode:
        lines = said.decode(errors="replace").strip().splitlines()
        raise OSError(0, lines[-1] if lines else f"the process ended with {process.returncode}")


# ---- Judging ----

_LENGTH: Final = struct.Struct(">I")
_MOST_WAITING: Final = 50
_LONGEST_ERROR: Final = 2_000  # characters
_SECONDS: Final = 30.0  # how long one judgement may take


class JudgingProcess:
    """The process; belongs to one event loop."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None
        self._one_at_a_time = asyncio.Lock()
        self._waiting = 0

    async def start(self) -> None:
        """Starts it, and returns when it has loaded what it needs."""
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", _MODULE),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for the recorder, which ends it
        )
        chunk = Chunk(0, b'data: {"type": "response.created", "response": {}}\n\n')
        head = ResponseHead(0, 200, "", (("content-type", "text/event-stream"),))
        end = ExchangeEnd(0, HowEnded.WHOLE)
        await self.judge(RecordedExchange(1, 1, None, None, None, head, (chunk,), end))

    async def judge(self, exchange: RecordedExchange) -> dict[str, Any] | None:
        """The judgement on an exchange, as :class:`~partstream_devtools.recorder.session.AnswerFacts` has it.

        None where too many wait, or the process is gone. `error` is what a host would have got; it may repeat a key.
        """
        if self._waiting >= _MOST_WAITING:
            return None
        self._waiting += 1
        try:
            data = await asyncio.to_thread(_written, exchange)
            async with self._one_at_a_time, asyncio.timeout(_SECONDS):
                return await self._asked(data)
        except TimeoutError:
            await self.close()  # what it still writes would be taken for the next answer
            return None
        except OSError:
            return None
        finally:
            self._waiting -= 1

    async def close(self) -> None:
        """Ends it."""
        process, self._process = self._process, None
        if process is not None and process.stdin is not None:
            process.stdin.close()
            with suppress(TimeoutError):
                async with asyncio.timeout(1):
                    await process.wait()
            if process.returncode is None:
                process.kill()
                await process.wait()

    async def _asked(self, data: bytes) -> dict[str, Any] | None:
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            return None
        process.stdin.write(_LENGTH.pack(len(data)) + data)
        await process.stdin.drain()
        line = await process.stdout.readline()
        said: dict[str, Any] | None = loads(line) if line else None
        return said


def _written(exchange: RecordedExchange) -> bytes:
    written: list[bytes] = []
    recording = PartialRecording(written.append, "record", "partstream")
    recording.begin(exchange)
    if exchange.head is not None:
        recording.head(exchange.number, exchange.head)
    for chunk in exchange.chunks:
        recording.chunk(exchange.number, chunk)
    recording.end(exchange.number, exchange.end)
    return b"".join(written)


# ---- In the process ----


def _serve(asked: BinaryIO, answered: BinaryIO) -> None:
    while len(length := asked.read(_LENGTH.size)) == _LENGTH.size:
        (exchange,) = read_partial(asked.read(_LENGTH.unpack(length)[0])).exchanges
        view = view_of_exchange(exchange, None, "")
        protocol, error = view["protocol"], view["error"]
        is_answer = protocol is not None and bool(view["events"])
        facts: Any = {
            "outcome": view["outcome"] if is_answer else None,
            "protocol": None if protocol is None else protocol["name"],
            "events": sum(event["count"] for event in view["events"]) if is_answer else 0,
            "broken": view["verdict"]["broken"] if is_answer else None,
            "error": None if error is None or not is_answer else error["message"][:_LONGEST_ERROR],
        }
        answered.write(dumps(facts) + b"\n")
        answered.flush()


if __name__ == "__main__":
    if hasattr(os, "nice"):  # not on Windows; exchanges of the proxy do not wait for this process
        os.nice(_LOWER_PRIORITY)
    if sys.argv[1:]:
        grown, made = map(Path, sys.argv[1:])
        try:
            kept = read_partial(grown.read_bytes())
            kept, _ = redact(kept, RedactionLevel.KEYS, secrets=loads(sys.stdin.buffer.read()))
            replace_file(made, write_as(kept, made.name))
            grown.unlink()
        except (OSError, BundleError) as error:
            sys.exit(getattr(error, "strerror", None) or str(error))
    else:
        _serve(sys.stdin.buffer, sys.stdout.buffer)
