"""The log that the extension shows: what other people's text in it does."""

import asyncio
import logging
from typing import Any

from partstream.vscode.failures import GroupSecrets
from partstream.vscode.process import ChannelHandler
from partstream.vscode.rpc import Connection, Notification, Outbox

from .in_process import run


def logged(*messages: str, redactor: GroupSecrets | None = None) -> list[dict[str, Any]]:
    """What the extension gets of messages of a logger."""
    got: list[dict[str, Any]] = []

    async def test() -> None:
        outbox, reader = Outbox(), Connection()
        outbox.on_waiting = lambda: None
        handler = ChannelHandler(asyncio.get_running_loop(), outbox.open_minor(), redactor or GroupSecrets())
        handler.open_channel()
        for message in messages:
            handler.emit(logging.LogRecord("partstream.test", logging.INFO, "", 0, "%s", (message,), None))
        await asyncio.sleep(0)  # the handler may be called on any thread
        sent = b""
        while data := outbox.take():
            sent += data
        for notification in reader.receive(sent):
            assert isinstance(notification, Notification)
            got.append(notification.params)

    run(test())
    return got


def test_what_acts_on_a_terminal_is_shown_as_escapes():
    [record] = logged("the upstream said \x1b]0;PWNED\x07 \u202egpj.exe \x9b2J")
    assert record["message"] == "the upstream said \\u001b]0;PWNED\\u0007 \\u202egpj.exe \\u009b2J"


def test_a_line_in_a_message_does_not_look_like_another_record():
    [record] = logged("no\n2026-11-22 12:00:00.000 [error] all is lost")
    assert record["message"] == "no\n    2026-11-22 12:00:00.000 [error] all is lost"


def test_a_key_is_left_out_in_every_form():
    redactor = GroupSecrets()
    redactor.learn_secret("sk-planted/0123456789")
    records = logged("a sk-planted\\/0123456789", "b c2stcGxhbnRlZC8wMTIzNDU2Nzg5", redactor=redactor)
    assert [record["message"] for record in records] == ["a [redacted]", "b [redacted]"]
