"""`partstream record`: a client's answers in a file, however the recorder ends, and no key in it."""

import asyncio
import json
import os
import signal
import stat
import sys
import zipfile
from contextlib import asynccontextmanager

import httpx2
import openai
import pytest

from commands import call, call_process, end, kill, start
from partstream_devtools.bundles.exchange import HowEnded, RedactionLevel
from partstream_devtools.bundles.forms import read_any
from partstream_devtools.testing.upstream import ReplayUpstream
from testing.clients import body
from testing.clients import run as run_upstream

KEY = "sk-proj-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKL"


@asynccontextmanager
async def recording(to, *options):
    """A running recorder, and what it says when it listens."""
    process = await start("record", "--to", to, "--port", "0", "--json", *options)
    try:
        async with asyncio.timeout(30):
            yield process, json.loads(await process.stdout.readline())
    finally:
        await kill(process)


async def _said(process):
    async with asyncio.timeout(30):
        return json.loads(await process.stdout.readline())


def _client(base_url):
    return openai.AsyncOpenAI(base_url=base_url, api_key=KEY, max_retries=0)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
def test_the_file_is_written_when_it_is_stopped_and_holds_no_key(tmp_path):
    file = tmp_path / "answers.partstream.zip"

    async def check(upstream, _):
        async with recording(upstream.base_url, "-o", str(file)) as (process, listening):
            part = tmp_path / "answers.partstream.part"
            assert listening["part"] == str(part)
            assert stat.S_IMODE(part.stat().st_mode) == 0o600
            async with _client(listening["base_url"]) as asker:
                await asker.responses.create(model="any", input=f"Say {KEY[::-1]} twice, in plain words")
                stream = await asker.responses.create(model="any", input=f"Hi fault:close=4 {KEY}", stream=True)
                with pytest.raises(openai.APIError):
                    _ = [one async for one in stream]
                await asker.get("/models", cast_to=httpx2.Response, options={"params": {"key": KEY}})
            lines = [await _said(process) for _ in range(3)]
            process.send_signal(signal.SIGTERM)
            ended = await end(process, None)
        assert ended.code == 0
        assert json.loads(ended.output.splitlines()[-1]) == {"type": "written", "files": [str(file)], "left": {}}
        assert KEY not in ended.output + ended.errors + json.dumps(lines)
        whole, cut, models = lines
        assert (whole["status"], whole["outcome"], whole["protocol"], whole["broken"]) == (
            200,
            "completed",
            "openresponses",
            0,
        )
        assert (cut["ending"], cut["outcome"]) == ("cut", "failed")
        assert (models["path"], models["outcome"]) == ("/v1/models", None)
        assert not part.exists()
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        with zipfile.ZipFile(file) as archive:
            content = b"".join(archive.read(name) for name in archive.namelist())
        assert not any(KEY[at : at + 12].encode() in content for at in range(len(KEY) - 11))
        bundle = read_any(file.read_bytes(), file.name)
        assert bundle.redaction.level is RedactionLevel.KEYS
        assert [one.end.how for one in bundle.exchanges] == [HowEnded.WHOLE, HowEnded.CUT, HowEnded.WHOLE]
        assert b"twice, in plain words" in bundle.exchanges[0].request.body
        for exchange in bundle.exchanges:
            times = [
                exchange.request.sent_at,
                exchange.head.at,
                *(chunk.at for chunk in exchange.chunks),
                exchange.end.at,
            ]
            assert times == sorted(times)
            assert exchange.has_clock
        assert [answer.model for answer in bundle.answers] == ["any", "any", None]

    run_upstream(check)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
def test_what_came_is_readable_after_the_recorder_was_killed(tmp_path):
    file = tmp_path / "answers.partstream.zip"

    async def check(upstream, client):
        async with recording(upstream.base_url, "-o", str(file)) as (process, listening):
            request = client.build_request(
                "POST",
                f"{listening['base_url']}/responses",
                json=body("Hi fault:stall=4"),
                headers={"authorization": f"Bearer {KEY}"},
            )
            response = await client.send(request, stream=True)
            received, pieces = b"", response.aiter_raw()
            while received.count(b"\n\n") < 4:
                received += await anext(pieces)
            part = tmp_path / "answers.partstream.part"
            async with asyncio.timeout(30):  # the disk is written behind the client, and may hold no exchange yet
                while not any(received in one.body for one in read_any(part.read_bytes(), part.name).exchanges):
                    await asyncio.sleep(0)
            await kill(process)
            await response.aclose()
        assert not file.exists()
        data = part.read_bytes()
        assert KEY.encode() not in data
        (exchange,) = read_any(data, part.name).exchanges
        assert exchange.end.how is HowEnded.CUT
        assert exchange.body == received
        shown = await call("replay", str(part))
        assert shown.code == 3
        assert "the recording ends here" in shown.output

    run_upstream(check)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limits of files")
def test_a_disk_that_is_full_holds_no_answer_up(tmp_path):
    import resource

    async def check(upstream, client):
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (3000, limits[1]))
        options = ("--to", upstream.base_url, "--port", "0", "-o", str(tmp_path / "x.har"))
        try:
            # It would keep cut bytecode of what it is the first to import, and every later process would fail on that.
            process = await start("record", *options, PYTHONDONTWRITEBYTECODE="1")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        try:
            async with asyncio.timeout(30):
                await process.stdout.readline()
                base_url = (await process.stdout.readline()).decode().split(" to ")[1].split(";")[0]
                await process.stdout.readline()
                for _ in range(3):
                    response = await client.post(f"{base_url}/responses", json=body("Hi"))
                    assert response.content.endswith(b"data: [DONE]\n\n")
                    assert b"completed" in await process.stdout.readline()
            process.send_signal(signal.SIGINT)
            ended = await end(process, None)
        finally:
            await kill(process)
        assert ended.code == 0
        assert ended.errors.count("the recording cannot be written: File too large; requests are still forwarded") == 1
        # A file of what the disk took may fit on it or not.
        assert "Written:" in ended.output or "cannot be made: File too large. What was recorded is in" in ended.errors

    run_upstream(check)


def test_lines_for_people_say_how_each_answer_went_and_where_the_file_is(tmp_path):
    async def check(upstream, client):
        page = ("--inspect", "--no-browser")
        process = await start("record", "--to", upstream.base_url, "--port", "0", *page, PARTSTREAM_DATA=str(tmp_path))
        async with asyncio.timeout(30):
            said = [(await process.stdout.readline()).decode() for _ in range(3)]
            assert (await process.stdout.readline()).startswith(b"The page is at http://127.0.0.1:")
            base_url = said[1].split(" to ")[1].split(";")[0]
            await client.post(f"{base_url}/responses", json=body("Hi"))
            said.append((await process.stdout.readline()).decode())
            last = await call("inspect", "--last", "--json", PARTSTREAM_DATA=str(tmp_path))
            assert json.loads(last.output)["answers"][0]["outcome"] == "completed"
            await client.post(f"{base_url}/responses", json=body("Hi fault:status=429"))
            said.append((await process.stdout.readline()).decode())
        process.send_signal(signal.SIGINT)
        ended = await end(process, None)
        assert said[0].startswith(f"Recording {upstream.base_url} (Ctrl-C")
        assert "its key stays as it is" in said[1]
        assert said[3].startswith("#1 POST /v1/responses 200 completed ")
        assert said[3].endswith(" events, contract kept\n")
        assert said[4].startswith("#2 POST /v1/responses 429 ")
        assert "partstream share" in ended.output
        (file,) = (tmp_path / "recordings").iterdir()
        assert [*(tmp_path / "doors").iterdir()] == []
        assert f"Written: {file}" in ended.output
        assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
        assert len(read_any(file.read_bytes(), file.name).exchanges) == 2

    run_upstream(check)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--to", "ftp://x"], "--to: "),
        (["--to", "http://models.example/v1"], "refusing plain HTTP to models.example"),
        (["--to", "http://127.0.0.1:9", "-o", "{folder}/there.har"], "is there already"),
        (["--to", "http://127.0.0.1:9", "-o", "{folder}/x.txt2"], "expected a name that ends with one of"),
        (["--to", "http://127.0.0.1:9", "-o", "{folder}/no/x.har"], "there is no folder"),
        ([], "--to"),
    ],
)
def test_what_cannot_be_begun_says_what_was_expected(tmp_path, options, says):
    (tmp_path / "there.har").touch()

    async def check():
        ended = await call("record", *(option.format(folder=tmp_path) for option in options))
        assert ended.code == 2
        assert says in " ".join(ended.errors.split())

    asyncio.run(check())


def test_a_port_that_is_taken_is_named_and_no_file_is_left(tmp_path):
    async def check():
        async with ReplayUpstream() as upstream:
            port, file = str(upstream.port), str(tmp_path / "x.har")
            ended = await call_process("record", "--to", upstream.base_url, "--port", port, "-o", file)
        assert ended.code == 1
        assert f"cannot listen on 127.0.0.1:{port}" in ended.errors
        assert os.listdir(tmp_path) == []

    asyncio.run(check())
