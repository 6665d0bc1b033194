"""A provider behind a pipe: how its command is read, and what is judged of it when an answer is cancelled."""

import asyncio
import json

import pytest

from partstream.lm.cancellation import CancellationTokenSource
from partstream.lm.messages import ChatMessage, RequestOptions
from partstream.lm.parts import TextPart
from partstream.lm.provider import LanguageModelChatInformation
from partstream.vscode.rpc import Connection, encode_frame
from partstream_devtools.conformance.driver import UnusableTargetError
from partstream_devtools.conformance.stdio_target import PipedProvider, words_of

MODEL = LanguageModelChatInformation("m", "m", "m", "1", 1000, 1000)


class Collected:
    def __init__(self, on_part):
        self.texts = []
        self._on_part = on_part

    def report(self, part):
        assert isinstance(part, TextPart)
        self.texts.append(part.value)
        self._on_part()


async def peer(reader, writer):
    """Has sent a part when it reads the cancellation, and sends another one long after."""
    connection, answer = Connection(), None

    def send(**message):
        writer.write(encode_frame(json.dumps({"jsonrpc": "2.0", **message}).encode()))

    def say(text):
        parts = [{"type": "text", "value": text}]
        send(method="$/progress", params={"token": answer, "value": {"parts": parts}})

    while data := await reader.read(65536):
        for message in connection.receive(data):
            if message.method == "languageModels/response":
                answer = message.id
                say("before")
            elif message.method == "$/cancelRequest":
                say("under way")
            else:
                send(id=message.id, error={"code": -32601, "message": "unknown request"})
                say("after")
                send(id=answer, result={})
    writer.close()


def test_a_part_that_was_under_way_at_the_cancellation_is_not_blamed_on_the_other_side_and_a_later_one_is():
    async def asked():
        server = await asyncio.start_server(peer, "127.0.0.1", 0)
        host, port = server.sockets[0].getsockname()
        reader, writer = await asyncio.open_connection(host, port)
        remote, source = PipedProvider(reader, writer), CancellationTokenSource()
        progress = Collected(source.cancel)
        async with asyncio.timeout(10):
            await remote.provide_language_model_chat_response(
                MODEL, [ChatMessage.user("Hi")], RequestOptions(), progress, source.token
            )
        writer.close()
        await remote.aclose()
        server.close()
        return progress.texts

    assert asyncio.run(asked()) == ["before", "after"]


@pytest.mark.parametrize(
    ("command", "is_windows", "words"),
    [
        ("python 'my server.py' --port 1", False, ["python", "my server.py", "--port", "1"]),
        (r"C:\Python\python.exe C:\work\server.py", True, [r"C:\Python\python.exe", r"C:\work\server.py"]),
        (r'"C:\Program Files\py.exe" -m x', True, [r"C:\Program Files\py.exe", "-m", "x"]),
    ],
)
def test_a_command_is_read_as_its_system_writes_it(command, is_windows, words):
    assert words_of(command, is_windows=is_windows) == words


def test_a_quotation_that_does_not_end_is_said():
    with pytest.raises(UnusableTargetError, match="No closing quotation"):
        words_of("python 'server.py")
