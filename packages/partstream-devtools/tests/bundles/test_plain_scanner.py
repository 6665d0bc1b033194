"""A second reader, which knows nothing of the redaction, finds nothing in what it leaves; and much in what it gets."""

from __future__ import annotations
from typing import TYPE_CHECKING, Any

from hypothesis import given

from bundles.canaries import KEYS, unzipped
from bundles.plain_scanner import scan
from bundles.test_redacted_recordings import FIXTURES, files_of_recordings
from bundles.test_redaction_canaries import moderate, recorded_answers, recorded_requests
from partstream_devtools.bundles.archive import write_bundle
from partstream_devtools.bundles.exchange import Bundle, Chunk, ExchangeEnd, HowEnded, RecordedExchange
from partstream_devtools.redaction.redacting import redact
from rows import one_test_for

if TYPE_CHECKING:
    from pathlib import Path


def _redacted(data: bytes) -> bytes:
    chunks = (Chunk(None, data),)
    exchange = RecordedExchange(1, 1, None, None, None, None, chunks, ExchangeEnd(None, HowEnded.WHOLE))
    return redact(Bundle("sse", "x", exchanges=(exchange,)))[0].exchanges[0].body


@one_test_for("path", files_of_recordings())
def test_the_scanner_finds_nothing_in_a_redacted_recording(path: Path) -> None:
    assert scan(_redacted(path.read_bytes())) == []


def test_the_scanner_finds_random_ids_in_recordings_that_nobody_has_redacted() -> None:
    found = {name for path in sorted(FIXTURES.glob("*.jsonl")) for name, _ in scan(path.read_bytes())}
    assert found


@moderate
@given(made=recorded_answers(KEYS) | recorded_requests(KEYS))
def test_the_scanner_finds_nothing_in_what_was_made_up_and_redacted(made: tuple[str, Bundle]) -> None:
    redacted, _ = redact(made[1])
    found = [(name, one) for name, data in unzipped(write_bundle(redacted)) for one in scan(_of_answers(name, data))]
    assert found == []


def _of_answers(name: str, data: bytes) -> bytes:
    """The files with what was recorded: the manifest holds the checksums of the others, which are random."""
    return data if name.startswith(("exchanges/", "answers")) else b""


UNREDACTED: dict[str, Any] = {
    "key with a prefix": "the key sk-proj-aB3dE5gH7jK9mN1pQ3s",
    "token with a prefix": "ghp_aB3dE5gH7jK9mN1pQ3sT5vW7",
    "Google": "AIzaSyaB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC",
    "Amazon": "AKIAQ3EGRTZX7KLMNOPQ",
    "Slack": "xoxb-1234567890-abc",
    "token of JSON": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
    "private key": "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEF",
    "bearer": "Authorization: Bearer abcdef1234567890",
    "assignment": '{"api_key": "correct-horse"}',
    "password in a URL": "postgres://me:horse@db/x",
    "key in a URL": "https://h/v1?key=correcthorse",
    "mail": "ada@example.com",
    "home folder": "/home/ada/notes",
    "address": "10.11.12.13",
    "random base64": "Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MGFiY2RlZg8kQ",
    "random hexadecimal digits": "9f86d081884c7d659a2feaa0c55ad015",
}


@one_test_for("name", UNREDACTED)
def test_the_scanner_finds_what_it_is_for_and_no_more_after_the_redaction(name: str) -> None:
    said = UNREDACTED[name]
    event = f'{{"type":"response.output_text.done","item_id":"m","text":{_quoted(said)}}}'.encode()
    assert name in {kind for kind, _ in scan(event)}
    assert scan(_redacted(event)) == []


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
