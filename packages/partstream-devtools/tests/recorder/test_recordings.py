"""The files of a run: what a disk cannot take waits, and a file that is full is followed by the next."""

import asyncio
import json
import threading
from contextlib import asynccontextmanager

import pytest

from partstream.upstream.configuration import GatewayConfiguration
from partstream_devtools.bundles.exchange import HowEnded
from partstream_devtools.bundles.forms import read_any
from partstream_devtools.recorder.files import BackgroundFile, RecordingFile, Recordings, model_asked
from partstream_devtools.recorder.proxy import ForwardedRequest, RecordingProxy
from partstream_devtools.recorder.session import SeenAnswers
from partstream_devtools.testing.upstream import ReplayUpstream
from recorder.proxied import receive
from serving.waits import in_short_waits
from testing.clients import body


def test_a_disk_that_does_not_answer_holds_no_answer_up(tmp_path):
    async def check():
        disk = threading.Event()
        async with asyncio.timeout(30), ReplayUpstream() as upstream:
            recording = RecordingFile(tmp_path / "x.partstream.part")
            recording.do(disk.wait, 0)
            async with RecordingProxy(GatewayConfiguration(base_url=upstream.base_url), recording.watch) as proxy:
                received = await receive(f"{proxy.base_url}/responses", json=body("Hi"))
                assert received.body.endswith(b"data: [DONE]\n\n")
                kept = read_any(recording.path.read_bytes(), "x.partstream.part")
                assert not kept.exchanges
            disk.set()
            await recording.close()
        (exchange,) = read_any(recording.path.read_bytes(), "x.partstream.part").exchanges
        assert exchange.body == received.body

    asyncio.run(check())


KEY = "sk-planted-0123456789abcdef"
LARGE = b"%b %b" % (b"hello big\\n" * 2_000_000, KEY.encode())


@asynccontextmanager
async def _taking():
    """A server that reads a request to its end, and answers; gives its address."""

    async def answer(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        left = len(LARGE)
        while left:
            left -= len(await reader.read(65536))
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


def test_others_have_their_turn_while_a_large_request_is_recorded(tmp_path):
    paths = []

    async def use():
        async with asyncio.timeout(30), _taking() as url:
            paths.append(tmp_path / f"{len(paths)}.partstream.part")
            recording = RecordingFile(paths[-1])
            async with RecordingProxy(GatewayConfiguration(base_url=url), recording.watch) as proxy:
                reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
                own = f"host: 127.0.0.1\r\nauthorization: Bearer {KEY}\r\ncontent-length: {len(LARGE)}"
                writer.write(f"POST / HTTP/1.1\r\n{own}\r\n\r\n".encode())
                for place in range(0, len(LARGE), 65536):
                    writer.write(LARGE[place : place + 65536])
                    await writer.drain()
                assert (await reader.readexactly(15)).startswith(b"HTTP/1.1 200 OK")
                writer.close()
                await writer.wait_closed()
            await recording.close()

    in_short_waits(use)
    (exchange,) = read_any(paths[0].read_bytes(), "x.partstream.part").exchanges
    assert exchange.request.body == LARGE.replace(KEY.encode(), b"R" * len(KEY))


def test_what_waits_for_the_disk_is_bounded(tmp_path):
    async def check():
        disk = threading.Event()
        file = BackgroundFile(tmp_path / "x")
        file.do(disk.wait, 100 * 1024 * 1024)
        assert file.is_behind
        waiting = asyncio.create_task(file.caught_up())
        await asyncio.sleep(0)
        assert not waiting.done()
        disk.set()
        async with asyncio.timeout(10):
            await waiting
            await file.close()

    asyncio.run(check())


def test_a_recording_that_is_full_is_followed_by_the_next_and_finished_beside(tmp_path):
    async def check():
        failures = []
        recordings = Recordings(tmp_path / "x.partstream.zip", failures.append, most_exchanges=2)
        async with asyncio.timeout(40), ReplayUpstream() as upstream:
            configuration = GatewayConfiguration(base_url=upstream.base_url)
            async with RecordingProxy(configuration, recordings.watch) as proxy:
                for number in range(5):
                    await receive(f"{proxy.base_url}/responses", json=body(f"question {number}"))
                    while recordings._growing.open_exchanges:
                        await asyncio.sleep(0)
            await recordings.close()
        assert failures == []
        names = ["x-2.partstream.zip", "x-3.partstream.zip", "x.partstream.zip"]
        assert sorted(path.name for path in tmp_path.iterdir()) == names
        assert sorted(path.name for path in recordings.files) == names
        kept = [read_any((tmp_path / name).read_bytes(), name) for name in (names[2], *names[:2])]
        asked = [exchange.request.body for bundle in kept for exchange in bundle.exchanges]
        assert [f"question {number}".encode() in one for number, one in enumerate(asked)] == [True] * 5
        assert all(exchange.end.how is HowEnded.WHOLE for bundle in kept for exchange in bundle.exchanges)

    asyncio.run(check())


KEY = "8f1e02ab77c94d5d9b6a30c2e4f71d58"
SPREAD = {
    "events": lambda pieces: [
        {"id": "c", "choices": [{"index": 0, "delta": {"content": piece}, "finish_reason": None}]} for piece in pieces
    ],
    "parts of an event": lambda pieces: [
        {"candidates": [{"content": {"role": "model", "parts": [{"text": piece} for piece in pieces]}}]}
    ],
}


@pytest.mark.parametrize("most", [1, 2], ids=["finished on the way", "finished at the end"])
@pytest.mark.parametrize("spread", SPREAD.values(), ids=SPREAD)
def test_no_file_holds_the_key_that_a_model_repeats_in_several_events(tmp_path, most, spread):
    async def check():
        recordings = Recordings(tmp_path / "x.partstream.zip", print, most_exchanges=most)
        pieces = [KEY[at : at + 4] for at in range(0, len(KEY), 4)]
        said = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in spread(pieces))
        (tmp_path / "said.sse").write_bytes(said + b"data: [DONE]\n\n")
        async with asyncio.timeout(40), ReplayUpstream(replay=tmp_path / "said.sse") as upstream:
            async with RecordingProxy(GatewayConfiguration(base_url=upstream.base_url), recordings.watch) as proxy:
                for _ in range(2):
                    url = f"{proxy.base_url}/chat/completions"
                    asked = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "Hi"}]}
                    received = await receive(url, json=asked, headers={"authorization": f"Bearer {KEY}"})
                    assert received.body == said + b"data: [DONE]\n\n"
                    while recordings._growing.open_exchanges:
                        await asyncio.sleep(0)
            await recordings.close()
        assert recordings.left == {}
        for file in recordings.files:
            for exchange in read_any(file.read_bytes(), file.name).exchanges:
                assert len(exchange.body) == len(said + b"data: [DONE]\n\n")
                assert not [piece for piece in pieces if f'"{piece}"'.encode() in exchange.body]

    asyncio.run(check())


def test_a_har_is_written_where_the_name_says_so(tmp_path):
    async def check():
        recordings = Recordings(tmp_path / "x.har", print)
        async with asyncio.timeout(40), ReplayUpstream() as upstream:
            async with RecordingProxy(GatewayConfiguration(base_url=upstream.base_url), recordings.watch) as proxy:
                await receive(f"{proxy.base_url}/responses", json=body("Hi"))
            await recordings.close()
        log = json.loads((tmp_path / "x.har").read_bytes())["log"]
        assert len(log["entries"][0]["_eventSourceMessages"]) > 5
        assert [path.name for path in tmp_path.iterdir()] == ["x.har"]

    asyncio.run(check())


def test_what_went_by_is_judged_in_a_process_of_its_own_and_told_without_the_key(tmp_path):
    async def check():
        told = []
        recording = RecordingFile(tmp_path / "x.partstream.part")
        seen = SeenAnswers(told.append, recording.watch)
        await seen.open()
        async with (
            asyncio.timeout(40),
            ReplayUpstream() as upstream,
            RecordingProxy(GatewayConfiguration(base_url=upstream.base_url), seen.watch) as proxy,
        ):
            url, key = f"{proxy.base_url}/responses", "sk-0123456789abcdef"
            await receive(url, json=body("Hi"))
            await receive(url, json=body("Hi fault:cut"))
            await receive(f"{proxy.base_url}/nothing", "GET")
            await receive(url, json=body("Hi scenario:failed"), headers={"authorization": f"Bearer {KEY}"})
            while len(told) < 4:
                await asyncio.sleep(0)
        await seen.close()
        await recording.close()
        by_number = {facts.number: facts for facts in told}
        assert (by_number[1].outcome, by_number[1].broken) == ("completed", 0)
        assert by_number[1].events > 5
        assert by_number[2].outcome == "failed"
        assert by_number[3].outcome is None
        assert by_number[4].error
        assert key not in repr(told)
        # Only what asks a model is an answer that a page shows: the request of `GET` is none.
        assert [answer.outcome for answer in seen.answers.answers] == ["completed", "failed", "failed"]

    asyncio.run(check())


def test_the_model_is_found_where_wires_name_it():
    def asked(path, content):
        return model_asked(ForwardedRequest(1, "POST", path, "", [], content))

    assert asked("/v1/responses", b'{"input": [], "model" : "gpt-x/1"}') == "gpt-x/1"
    assert asked("/v1beta/models/gemini-x:streamGenerateContent", b"{}") == "gemini-x"
    assert asked("/v1/models", b"") is None
