"""Providers that would end or block the whole process, in the real process; and the log that says so."""

import asyncio
import logging
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from partstream.vscode.failures import GroupSecrets
from partstream.vscode.methods import Announcements
from partstream.vscode.process import ChannelHandler, StallWatch
from partstream.vscode.rpc import Connection, Outbox

from .in_process import run, serving
from .sidecar import PATIENCE, Sidecar, running_process

Write = Callable[..., Path]

ENDERS = """
    async def task(error):
        raise error

    def callback(error):
        raise error

    class Own(Base):
        async def provide_language_model_chat_response(self, model, messages, options, progress, token):
            loop = asyncio.get_running_loop()
            for error in (SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError(), GeneratorExit()):
                own = loop.create_task(task(error))
                await asyncio.wait([own])
                loop.call_soon(callback, error)
                await asyncio.sleep(0)
                threading.Thread(target=callback, args=(error,)).start()
            loop.stop()
            await asyncio.sleep(0)
            if hasattr(os, "fork"):
                if (child := os.fork()) == 0:
                    raise SystemExit(7)  # ends the child alone
                assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
            progress.report(TextPart("still here"))
"""

WAITS = """
    @chat_model(name="Waits")
    async def provider(messages, options):
        yield "begun"
        await asyncio.Event().wait()
"""


def test_code_of_a_provider_that_leaves_the_event_loop_ends_nobody(write: Write):
    with running_process(write(ENDERS), write(WAITS, "waits.py")) as sidecar:
        waiting = sidecar.respond("waits/provider", "Hi")
        sidecar.until(lambda _: sidecar.text(waiting) == "begun")
        assert sidecar.ask("own/m", "Hi") == "still here"
        sidecar.notify("$/cancelRequest", {"id": waiting})
        assert sidecar.wait(waiting).error["code"] == -32800
        sidecar.until_logged("code of a provider tried to end the sidecar, which goes on")
        sidecar.call("shutdown")
        sidecar.notify("exit")
        assert sidecar.end() == 0


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
def test_a_persons_interrupt_ends_the_process(write: Write):
    with running_process(write(ENDERS)) as sidecar:
        assert sidecar.ask("own/m", "Hi") == "still here"
        sidecar.process.send_signal(signal.SIGINT)
        assert sidecar.end() == 130


CANCELS = """
    class Own(Base):
        async def provide_language_model_chat_response(self, model, messages, options, progress, token):
            progress.report(TextPart("begun"))
            for task in asyncio.all_tasks():
                task.cancel()
            await asyncio.sleep(0)

    class Cancelling(Base):
        async def provide_language_model_chat_information(self, silent, token):
            asyncio.current_task().cancel()
            await asyncio.sleep(0)

    provider, cancelling = Own(), Cancelling()
"""


def test_a_provider_that_cancels_all_tasks_ends_no_process_and_every_request_is_answered(write: Write):
    path = write(CANCELS)
    with running_process(f"{path}:provider", write(WAITS, "waits.py"), f"{path}:cancelling") as sidecar:
        waiting = sidecar.respond("waits/provider", "Hi")
        sidecar.until(lambda _: sidecar.text(waiting) == "begun")
        cancelling = sidecar.respond("own/m", "Hi")
        for request_id in (waiting, cancelling):
            assert "CancelledError" in sidecar.wait(request_id).error["message"]
        again = sidecar.respond("waits/provider", "Hi")
        sidecar.until(lambda _: sidecar.text(again) == "begun")
        result = sidecar.information()
        assert [model["id"] for model in result["models"]] == ["own/m", "waits/provider"]
        assert ["CancelledError" in error["message"] for error in result["errors"]] == [True]
        sidecar.call("shutdown")
        sidecar.notify("exit")
        assert sidecar.end() == 0


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such descriptors")
def test_a_provider_that_closes_every_descriptor_ends_the_process_instead_of_leaving_it_mute(write: Write):
    path = write("""
        @chat_model(name="Closes")
        async def provider(messages, options):
            os.closerange(3, 256)
            yield "closed"
    """)
    with running_process(path) as sidecar:
        sidecar.respond("own/provider", "Hi")
        assert sidecar.end() != 0


BLOCKS = """
    import time
    from pathlib import Path

    def helper():
        while not (Path(__file__).parent / "go").exists():
            time.sleep(0.01)

    @chat_model(name="Blocks")
    async def provider(messages, options):
        helper()  # the line
        yield "done"
"""


def test_a_provider_that_blocks_is_named_with_its_line_while_it_does_and_in_the_log_afterwards(write: Write):
    path = write(BLOCKS)
    line = next(n for n, text in enumerate(path.read_text().splitlines(), 1) if "# the line" in text)
    code = "from partstream.vscode import process; process.STALL_SECONDS = 0.2; raise SystemExit(process.run())"
    sidecar = Sidecar(sys.executable, "-c", code)
    try:
        sidecar.initialize(path)
        request_id = sidecar.respond("own/provider", "Hi")
        said = sidecar.until_errors(lambda errors: next((s for s in errors.splitlines() if "blocks" in s), None))
        assert f"languageModels/response of own/provider at {path}:{line} blocks the event loop" in said
        (path.parent / "go").touch()
        assert sidecar.wait(request_id).error is None
        sidecar.until_logged("own/provider")
        assert f"languageModels/response of own/provider at {path}:{line} has blocked the event loop" in sidecar.logs()
    finally:
        sidecar.close()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
def test_a_second_interrupt_ends_a_process_whose_event_loop_is_blocked(write: Write):
    says = "print('blocked', file=sys.stderr, flush=True); helper()  # the line"
    with running_process(write(BLOCKS.replace("helper()  # the line", says))) as sidecar:
        sidecar.respond("own/provider", "Hi")
        sidecar.until_errors(lambda errors: "blocked" in errors)
        for _ in range(2):
            sidecar.process.send_signal(signal.SIGINT)
        sidecar.until_true(lambda: sidecar.process.poll() is not None or sidecar.process.send_signal(signal.SIGINT))
        assert sidecar.end() == 130


def test_a_loop_that_runs_is_not_said_to_be_blocked():
    said: list[str] = []

    async def main() -> None:
        StallWatch(asyncio.get_running_loop(), seconds=PATIENCE, say=said.append).start()
        for _ in range(200):
            await asyncio.sleep(0)

    run(main())
    assert said == []


def test_a_change_that_is_announced_ten_thousand_times_in_one_turn_is_told_once_for_each_group():
    async def main() -> None:
        outbox = Outbox()
        announcements = Announcements(asyncio.get_running_loop(), outbox, GroupSecrets())

        def announce() -> None:
            for _ in range(5_000):
                announcements.models_did_change(None)
                announcements.models_did_change("group")

        announce()
        await asyncio.sleep(0)
        assert len(Connection().receive(outbox.take())) == 2
        assert not outbox.is_waiting
        thread = threading.Thread(target=announce)
        thread.start()
        thread.join(PATIENCE)
        await asyncio.sleep(0)
        assert len(Connection().receive(outbox.take())) == 2

    run(main())


def test_a_log_without_end_waits_in_bounded_memory_and_the_gap_is_told():
    async def main() -> None:
        outbox = Outbox()
        handler = ChannelHandler(asyncio.get_running_loop(), outbox.open_minor(), GroupSecrets())
        handler.open_channel()
        for _ in range(20_000):
            handler.emit(logging.LogRecord("own", logging.INFO, "own.py", 1, "again and again", (), None))
        handler.emit(logging.LogRecord("own", logging.INFO, "own.py", 1, "x" * 10_000_000, (), None))
        await asyncio.sleep(0)
        handler.emit(logging.LogRecord("own", logging.INFO, "own.py", 1, "x" * 10_000_000 + "the end", (), None))
        await asyncio.sleep(0)
        frames = bytearray()
        while piece := outbox.take():
            frames += piece
        lines = [message.params["message"] for message in Connection().receive(bytes(frames))]
        assert len(lines) < 1_100
        assert any("left out 19001 lines" in line for line in lines)
        assert "9,900,007 characters left out" in lines[-1]
        assert lines[-1].endswith("the end")

    run(main())


def test_an_answer_of_one_part_over_the_limit_of_the_backlog_ends_with_its_usage(write: Write):
    path = write("""
        @chat_model(name="Large")
        async def provider(messages, options):
            yield "x" * 17_000_000
    """)

    async def main() -> None:
        async with serving(path) as peer:
            request_id = peer.respond("own/provider")
            assert (await peer.reply(request_id)).error is None
            assert len(peer.text(request_id)) == 17_000_000
            assert peer.parts(request_id)[-1]["mimeType"] == "usage"

    run(main())
