"""A chat keeps its answers to be looked at: --trace, --record, /inspect, and the capture socket."""

import asyncio
import stat
import sys
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory

import httpx2
import pytest

from commands import call, end, run, start
from extent import IS_WHOLE
from partstream.lm.parts import TextPart
from partstream.protocols.protocol import asked_protocols
from partstream_devtools.bundles.exchange import RedactionLevel
from partstream_devtools.bundles.forms import read_any
from partstream_devtools.capturing.capture_socket import HAS_SOCKETS, newest_answer
from partstream_devtools.testing.admission import BASE_PATHS
from partstream_devtools.testing.upstream import ReplayUpstream

HELLO = "Hello from Partstream! Grüße, 你好, 👋: this answer came over real HTTP, one word at a time."
KEY = f"sk-{token_hex(12)}"


def chat(upstream: ReplayUpstream, *arguments: str) -> tuple[str, ...]:
    return ("chat", "--base-url", upstream.base_url, "--model", "text", *arguments)


def test_the_trace_is_a_line_an_event_and_the_answer_stays_alone_in_the_output():
    async def test() -> None:
        async with ReplayUpstream() as upstream:
            ended = await call(*chat(upstream, "--trace", "Hi"))
        assert (ended.code, ended.output) == (0, f"{HELLO}\n")
        lines = [line for line in ended.errors.splitlines() if line.startswith("TRACE partstream.upstreams.trace: ")]
        assert len(lines) > 10
        assert "response.completed" in "".join(lines)
        assert "Grüße" not in "".join(lines)

    run(test())


def test_a_recording_has_every_answer_of_the_chat_and_no_key(tmp_path: Path):
    file = tmp_path / "chat.partstream.zip"

    async def test() -> None:
        async with ReplayUpstream(token=KEY) as upstream:
            command = chat(upstream, "--api-key-env", "SECRET", "--record", str(file))
            ended = await call(*command, typed="One\nTwo\n", SECRET=KEY)
            assert ended.code == 0
            assert f"The recording is in {file}" in ended.errors
            assert "partstream share" in ended.errors
        data = file.read_bytes()
        bundle = read_any(data, file.name)
        assert [answer.outcome for answer in bundle.answers] == ["completed", "completed"]
        assert [answer.host for answer in bundle.answers] == ["chat", "chat"]
        for answer in bundle.answers:
            said = "".join(one.part.value for one in answer.reported if isinstance(one.part, TextPart))
            assert said == HELLO
        assert bundle.redaction is not None
        assert bundle.redaction.level is RedactionLevel.KEYS
        assert all(exchange.has_clock for exchange in bundle.exchanges)
        assert KEY not in repr(bundle)
        assert KEY.encode() not in data
        if sys.platform != "win32":
            assert stat.S_IMODE(file.stat().st_mode) == 0o600

    run(test())


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limits of files")
def test_of_a_recording_that_the_disk_does_not_take_nothing_is_left_in_the_way_of_the_next(tmp_path: Path):
    import resource

    file = tmp_path / "chat.partstream.zip"

    async def test() -> None:
        async with ReplayUpstream() as upstream:
            limits = resource.getrlimit(resource.RLIMIT_FSIZE)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
            try:
                process = await start(
                    *chat(upstream, "--record", str(file), "Hi"),
                    PYTHONDONTWRITEBYTECODE="1",  # it would be cut too
                    PARTSTREAM_DATA=str(tmp_path / "data"),
                )
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, limits)
            ended = await end(process)
            assert "The recording could not be written: File too large." in ended.errors
            assert [one.name for one in tmp_path.iterdir() if one.name != "data"] == []
            assert (await call(*chat(upstream, "--record", str(file), "Hi"))).code == 0
        assert read_any(file.read_bytes(), file.name).answers

    run(test())


def test_a_file_that_has_come_in_the_place_of_a_recording_meanwhile_stays(tmp_path: Path):
    file = tmp_path / "chat.partstream.zip"

    async def test() -> None:
        async with ReplayUpstream() as upstream:
            process = await start(*chat(upstream, "--record", str(file)))
            process.stdin.write(b"Hi\n")
            async with asyncio.timeout(30):
                await process.stdout.readuntil(b"time.")
            file.symlink_to(tmp_path / "elsewhere")
            ended = await end(process)
        assert "The recording could not be written: another file has come there meanwhile." in ended.errors
        assert list(tmp_path.iterdir()) == [file]

    run(test())


# What a host can be asked to show, and the scenario of the replay upstream whose answer it changes.
SHOWN = {
    "thinking by default, which is off in a pipe": ("thinking", ()),
    "thinking as parts": ("thinking", ("--thinking", "part")),
    "thinking as text": ("thinking", ("--thinking", "text")),
    "no thinking": ("thinking", ("--thinking", "off")),
    "citations in the text": ("citations", ("--citations", "inline")),
    "citations as data": ("citations", ("--citations", "data")),
    "citations at the end": ("citations", ("--citations", "end")),
    "no citations": ("citations", ("--citations", "off", "--thinking", "text")),
    "files as addresses": ("text", ("--files", "address")),
    "errors as text": ("failed", ("--errors", "text")),
}


# A host changes answers alike, whatever wire they came over: the settings that show most are tried over each.
ON_EVERY_WIRE = {"thinking as text", "citations in the text", "errors as text"}


@pytest.mark.parametrize("protocol", [name for name in BASE_PATHS if name in asked_protocols()])
def test_what_a_setting_of_the_host_did_is_nobody_s_fault_on_any_wire(protocol: str, tmp_path: Path):
    async def test() -> None:
        async with ReplayUpstream() as upstream:
            url = upstream.base_url_of(protocol)
            tried = SHOWN if IS_WHOLE or protocol == "openresponses" else ON_EVERY_WIRE
            for number, setting in enumerate(tried):
                model, options = SHOWN[setting]
                file = str(tmp_path / f"{number}.partstream.zip")
                where = ("--base-url", url, "--protocol", protocol, "--model", model)
                await call("chat", *where, *options, "--record", file, "Hi")
                inspected = await call("inspect", "--text", file)
                assert "The provider's fault" not in inspected.output, f"{setting}: {inspected.output}"
                assert "The host got" not in inspected.output, f"{setting}: {inspected.output}"
                assert ("No fault" in inspected.output) is (model != "failed"), f"{setting}: {inspected.output}"

    run(test())


def test_a_provider_that_drops_what_the_server_sent_is_still_at_fault(tmp_path: Path):
    file = tmp_path / "chat.partstream.zip"
    source = tmp_path / "half.py"

    async def test() -> None:
        async with ReplayUpstream() as upstream:
            source.write_text(DROPPING.format(url=upstream.base_url), encoding="utf-8")
            ended = await call("chat", "--provider", str(source), "--record", str(file), "Hi")
            assert (ended.code, ended.output) == (0, "Hello\n")
        inspected = await call("inspect", "--text", str(file))
        assert "The provider's fault: The bytes of the server are whole, but the host got another text" in " ".join(
            inspected.output.split()
        )

    run(test())


DROPPING = """
from partstream import chat_model, connect

@chat_model(name="Half")
async def provider(messages, options):
    async with connect("{url}", model="text") as model:
        async for part in model.stream(messages):
            pass
    yield "Hello"
"""


def test_a_failure_is_recorded_with_its_attempts_and_inspect_says_whose_fault_it_is(tmp_path: Path):
    file = tmp_path / "chat.partstream.zip"

    async def test() -> None:
        async with ReplayUpstream(fault="malformed") as upstream:
            ended = await call(*chat(upstream, "--record", str(file), "Hi"))
            assert ended.code == 3
        (answer,) = read_any(file.read_bytes(), file.name).answers
        assert answer.outcome == "failed"
        assert answer.error is not None
        inspected = await call("inspect", "--text", str(file))
        assert inspected.code == 3

    run(test())


def test_a_recording_without_a_name_is_kept_in_the_data_folder(tmp_path: Path):
    async def test() -> None:
        async with ReplayUpstream() as upstream:
            ended = await call(*chat(upstream, "Hi", "--record"), PARTSTREAM_DATA=str(tmp_path))
            assert ended.code == 0
        (file,) = (tmp_path / "recordings").iterdir()
        assert str(file) in ended.errors
        assert read_any(file.read_bytes(), file.name).exchanges

    run(test())


REFUSED = {
    "a name of no form": ("answer.docx", "expected a name that ends with"),
    "a file that exists": ("taken.partstream.zip", "is there already"),
    "a folder that is not there": ("nowhere/answer.partstream.zip", "there is no folder"),
}


@pytest.mark.parametrize(("name", "says"), REFUSED.values(), ids=REFUSED)
def test_a_file_that_cannot_be_written_is_refused_before_anything_is_asked(tmp_path: Path, name: str, says: str):
    (tmp_path / "taken.partstream.zip").write_bytes(b"mine")

    async def test() -> None:
        async with ReplayUpstream() as upstream:
            ended = await call(*chat(upstream, "--record", str(tmp_path / name), "Hi"))
            assert ended.code == 2
            assert says in ended.errors.replace("\n", " ").replace("│", "")
            assert not upstream.requests

    run(test())


def test_inspect_in_a_chat_without_a_browser_prints_what_came():
    async def test() -> None:
        async with ReplayUpstream() as upstream:
            ended = await call(
                *chat(upstream), typed="/inspect\nHi\n/inspect\n", SSH_CONNECTION="1", DISPLAY="", WAYLAND_DISPLAY=""
            )
        assert "No answer is kept yet." in ended.errors
        assert "OpenResponses" in ended.output

    run(test())


@pytest.mark.skipif(sys.platform == "win32", reason="its browser is no script")
def test_inspect_in_a_chat_serves_the_page_while_the_chat_goes_on(tmp_path: Path):
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {tmp_path}/opened\n')
    browser.chmod(0o755)

    async def test() -> None:
        async with ReplayUpstream() as upstream:
            process = await start(*chat(upstream), BROWSER=f"{browser} %s", PARTSTREAM_CACHE=str(tmp_path))
            assert process.stdin is not None
            assert process.stderr is not None
            process.stdin.write(b"Hi\n/inspect\n")
            async with asyncio.timeout(30):
                while b"The page is at" not in (line := await process.stderr.readline()):
                    assert line
            url = line.decode().split("The page is at ")[1].split()[0]
            async with httpx2.AsyncClient(trust_env=False) as client:
                page = await client.get(url)
            assert page.status_code == 200
            process.stdin.write(b"Again\n")
            ended = await end(process)
            assert ended.output.count(HELLO) == 2
        link = tmp_path / "inspector-link.html"
        assert (tmp_path / "opened").read_text().strip() == link.as_uri(), "others can read the browser's arguments"
        assert f'content="0;url={url}"' in link.read_text(encoding="utf-8")
        assert stat.S_IMODE(link.stat().st_mode) == 0o600

    run(test())


@pytest.mark.skipif(not HAS_SOCKETS, reason="Windows has no Unix sockets in its event loops")
def test_another_program_gets_the_last_answer_while_the_chat_waits_for_the_next_line():
    async def test(data: Path) -> None:
        async with ReplayUpstream() as upstream:
            process = await start(*chat(upstream), PARTSTREAM_DATA=str(data))
            assert process.stdin is not None
            assert process.stderr is not None
            process.stdin.write(b"Hi\n")
            async with asyncio.timeout(30):
                while b"tokens" not in (line := await process.stderr.readline()):
                    assert line
                while (newest := await newest_answer(data / "doors")) is None or not newest.is_over:
                    await asyncio.sleep(0)
            assert newest.bundle.answers[0].outcome == "completed"
            assert (await end(process)).code == 0
        assert list((data / "doors").iterdir()) == []

    with TemporaryDirectory() as folder:  # sockets have short paths
        run(test(Path(folder)))


def test_a_setting_keeps_no_answer_in_memory():
    async def test() -> None:
        async with ReplayUpstream() as upstream:
            ended = await call(*chat(upstream, "--capture", "off"), typed="Hi\n/inspect\n")
        assert "No answer is kept yet." in ended.errors

    run(test())
