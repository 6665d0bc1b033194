"""The sidecar keeps its last answers in memory, and writes those that are asked for."""

import io
import zipfile
from pathlib import Path
from typing import Any

import pytest

from partstream import TextPart
from partstream.vscode.methods import InvalidParamsError
from partstream.vscode.recordings import Recordings
from partstream.vscode.rpc import Notification
from partstream_devtools.bundles.archive import read_bundle
from partstream_devtools.bundles.exchange import Bundle, HowEnded, RedactionLevel
from partstream_devtools.capturing.capture_socket import HAS_SOCKETS, newest_answer
from partstream_devtools.testing.upstream import ReplayUpstream

from .in_process import Peer, run, serving

KEY = "sk-test-0123456789"
NONCE = "0123456789abcdef"
COPILOT = {"requestInitiator": "github.copilot-chat", "modelOptions": {}}


def group_of(upstream: ReplayUpstream, **configuration: Any) -> dict[str, Any]:
    models = [{"id": "text", "name": "Text", "family": "test", "maxInputTokens": 1000}]
    settings = {
        "baseUrl": upstream.base_url,
        "apiKey": KEY,
        "models": models,
        "discover": False,
        "protocol": "openresponses",
    }
    return {"id": "g", "configuration": {**settings, **configuration}}


async def asked(peer: Peer, upstream: ReplayUpstream, **configuration: Any) -> int:
    request_id = peer.respond("text", "Hello", group=group_of(upstream, **configuration))
    await peer.reply(request_id)
    return request_id


def opened(recording: Any) -> Bundle:
    return read_bundle(Path(recording["path"]).read_bytes())


def kept(peer: Peer) -> Recordings:
    """The recordings of a connection, as its dialogs have them."""
    return peer.session._recordings


async def inspected(peer: Peer, path: str | None = None) -> str:
    """The page of the inspector, or why there is none."""
    params = {"page": "inspector", "nonce": NONCE, "source": "", **({} if path is None else {"path": path})}
    reply = await peer.reply(peer.send("languageModels/page", params))
    return reply.result["html"] if reply.error is None else reply.error["message"]


async def recorded(peer: Peer) -> Any:
    said = await peer.until(
        lambda message: isinstance(message, Notification) and message.method == "languageModels/didRecord"
    )
    return said.params


def test_a_recorded_answer_has_what_the_server_sent_and_what_the_host_got_and_no_key():
    async def test() -> None:
        async with ReplayUpstream(token=KEY) as upstream, serving() as peer:
            await peer.call("languageModels/recordNext", {"isOn": True})
            request_id = await asked(peer, upstream)
            recording = (await recorded(peer))["recording"]
            assert (recording["model"], recording["outcome"], recording["answers"]) == ("text", "completed", 1)
            bundle = opened(recording)
            (exchange,) = bundle.exchanges
            (answer,) = bundle.answers
            assert (bundle.source, answer.host) == ("vscode", "vscode")
            assert "vscode" in bundle.versions
            assert bundle.redaction is not None
            assert bundle.redaction.level is RedactionLevel.KEYS
            assert exchange.end.how is HowEnded.WHOLE
            assert exchange.request is not None
            assert KEY.encode() not in Path(recording["path"]).read_bytes()
            assert KEY not in repr(bundle)
            reported = [one.part for one in answer.reported]
            shown = "".join(part.value for part in reported if isinstance(part, TextPart))
            assert shown == peer.text(request_id)
            assert len(reported) == len(peer.parts(request_id)), "the usage, too"
            times = [one.at for one in answer.reported]
            assert times == sorted(times)  # type: ignore[type-var]

    run(test())


def test_a_failing_answer_has_its_error_and_each_attempt():
    async def test() -> None:
        async with ReplayUpstream(fault="status=500") as upstream, serving() as peer:
            await peer.call("languageModels/recordNext", {"isOn": True})
            await asked(peer, upstream, retry={"attempts": 3, "firstWait": 0.01})
            bundle = opened((await recorded(peer))["recording"])
            (answer,) = bundle.answers
            assert answer.outcome == "failed"
            assert answer.error is not None
            assert dict(answer.error.fields)["http_status"] == "500"
            assert {exchange.head and exchange.head.status for exchange in bundle.exchanges} == {500}
            assert len(bundle.exchanges) == len(upstream.requests)

    run(test())


def test_the_next_answer_is_recorded_and_the_extension_hears_where():
    async def test() -> None:
        async with ReplayUpstream(fault="cut") as upstream, serving() as peer:
            assert await peer.call("languageModels/recordNext", {"isOn": True}) is None
            await asked(peer, upstream)
            said = await recorded(peer)
            assert said["problem"] is None
            bundle = opened(said["recording"])
            assert [exchange.end.how for exchange in bundle.exchanges][-1] is HowEnded.CUT

    run(test())


def test_a_setting_keeps_nothing_and_what_is_asked_for_all_the_same():
    async def test() -> None:
        async with ReplayUpstream() as upstream, serving() as peer:
            await asked(peer, upstream, capture="off")
            assert "There is no answer to inspect yet" in await inspected(peer)
            await peer.call("languageModels/recordNext", {"isOn": True})
            await asked(peer, upstream, capture="off")
            assert opened((await recorded(peer))["recording"]).exchanges

    run(test())


def test_the_environment_switches_it_off_for_every_provider(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PARTSTREAM_CAPTURE", "off")

    async def test() -> None:
        async with ReplayUpstream() as upstream, serving() as peer:
            await asked(peer, upstream)
            assert 'Partstream keeps no answers, because the setting "capture" is off' in await inspected(peer)

    run(test())


@pytest.mark.skipif(not HAS_SOCKETS, reason="Windows has no Unix sockets in its event loops")
def test_other_programs_of_the_user_get_the_answer():
    async def test() -> None:
        async with ReplayUpstream(token=KEY) as upstream, serving() as peer:
            await asked(peer, upstream)
            newest = await newest_answer()
            assert newest is not None
            assert newest.bundle.source == "vscode"
            assert KEY not in repr(newest.bundle)
        assert await newest_answer() is None

    run(test())


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "recordings").write_text("no folder")
    monkeypatch.setenv("PARTSTREAM_DATA", str(tmp_path))

    async def test() -> None:
        async with ReplayUpstream() as upstream, serving() as peer:
            await peer.call("languageModels/recordNext", {"isOn": True})
            await asked(peer, upstream, ledger=False)
            said = await recorded(peer)
            assert said["recording"] is None
            assert "could not be written" in said["problem"]

    run(test())


def test_the_last_answer_of_a_chat_is_a_page_for_a_webview():
    async def test() -> None:
        async with ReplayUpstream(token=KEY) as upstream, serving() as peer:
            assert "There is no answer to inspect yet" in await inspected(peer)
            await asked(peer, upstream)
            title = peer.respond("text", "scenario:text title", group=group_of(upstream), **COPILOT)
            await peer.reply(title)
            page = await inspected(peer)
            assert f"script-src 'nonce-{NONCE}'" in page
            assert "Hello" in page
            assert KEY not in page
            assert "scenario:text title" not in page, "a title is not waited for"

    run(test())


def test_a_recording_can_be_shown_and_shared_after_it_was_made():
    async def test() -> None:
        async with ReplayUpstream(token=KEY) as upstream, serving() as peer:
            await peer.call("languageModels/recordNext", {"isOn": True})
            await asked(peer, upstream)
            path = (await recorded(peer))["recording"]["path"]
            assert "Hello" in await inspected(peer, path)
            told = await kept(peer).preview(path)
            assert told.text.startswith("1 answer, 1 request, ")
            assert "lengths, order and times stay" in told.text
            assert "partstream.zip" in told.forms[0]["endings"]
            for form in told.forms:
                name = f"answer.{form['endings'][0]}"
                assert await kept(peer).shared(path, name), name
            shared = await kept(peer).shared(path, "answer.partstream.zip")
            bundle = read_bundle(shared)
            assert bundle.redaction is not None
            assert bundle.redaction.level is RedactionLevel.STRUCTURE
            assert "Hello" not in repr(bundle)
            assert opened({"path": path}).exchanges[0].body != bundle.exchanges[0].body
            with zipfile.ZipFile(io.BytesIO(shared)) as archive:
                page = archive.read("report.html").decode()
            assert "Content-Security-Policy" in page
            assert "Hello" not in page

    run(test())


def test_the_inspected_answer_is_shared_even_if_another_one_has_come_since():
    async def test() -> None:
        async with ReplayUpstream(token=KEY) as upstream, serving() as peer:
            await asked(peer, upstream)
            await inspected(peer)
            await peer.reply(peer.respond("text", "scenario:tools", group=group_of(upstream)))
            shared = await kept(peer).shared(None, "answer.partstream.zip")
            (exchange,) = read_bundle(shared).exchanges
            assert exchange.request is not None
            assert len(exchange.request.body) < 400

    run(test())


@pytest.mark.parametrize(
    ("nonce", "path", "said"),
    [(NONCE, "/no/such.partstream.zip", "No such file or directory"), ("1", None, "params.nonce")],
)
def test_what_cannot_be_shown_is_said(nonce: str, path: str | None, said: str):
    async def test() -> None:
        async with serving() as peer:
            params = {"page": "inspector", "nonce": nonce, "source": "", **({} if path is None else {"path": path})}
            assert said in (await peer.reply(peer.send("languageModels/page", params))).error["message"]

    run(test())


def test_what_cannot_be_shared_is_said():
    async def test() -> None:
        async with serving() as peer:
            with pytest.raises(InvalidParamsError, match="no answer was inspected"):
                await kept(peer).preview(None)
            with pytest.raises(InvalidParamsError, match="no answer was inspected"):
                await kept(peer).shared(None, "a.partstream.zip")
            with pytest.raises(InvalidParamsError, match="no answer was previewed"):
                await kept(peer).shared(None, "a.partstream.zip", is_last=True)

    run(test())


def test_the_last_answer_is_shared_as_it_was_previewed_whatever_is_inspected():
    async def test() -> None:
        async with ReplayUpstream(token=KEY) as upstream, serving() as peer:
            assert await kept(peer).preview(None, is_last=True) is None
            await asked(peer, upstream)
            assert (await kept(peer).preview(None, is_last=True)).text.startswith("1 answer, 1 request, ")
            await asked(peer, upstream)
            shared = await kept(peer).shared(None, "answer.partstream.zip", is_last=True)
            bundle = read_bundle(shared)
            assert len(bundle.answers) == 1
            assert KEY not in repr(bundle)
            assert "Hello" not in repr(bundle)

    run(test())


def test_a_form_that_nothing_is_written_in_is_said():
    async def test() -> None:
        async with ReplayUpstream(token=KEY) as upstream, serving() as peer:
            await asked(peer, upstream)
            await inspected(peer)
            with pytest.raises(InvalidParamsError, match=r"params.name: got answer\.docx"):
                await kept(peer).shared(None, "answer.docx")

    run(test())
