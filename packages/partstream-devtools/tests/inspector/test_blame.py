"""Whose fault it is, by everything that an answer can end with."""

from __future__ import annotations
import inspect
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from inspector import sample_streams as streams
from inspector.sample_streams import answer, bundle, exchange, paced
from partstream import errors
from partstream.lm.parts import TextPart, ThinkingPart, ToolCallPart
from partstream_devtools.bundles.exchange import HowEnded, LeftOut, RecordedError
from partstream_devtools.inspector.answer_view import EndFacts, blame
from partstream_devtools.inspector.view import ViewedFile, view_of
from rows import one_test_for

if TYPE_CHECKING:
    from partstream_devtools.bundles.exchange import Bundle
    from partstream_devtools.inspector.shapes import BlameView

LOST = RecordedError("UpstreamConnectionError", "the connection broke")
SILENT = RecordedError(
    "UpstreamTimeoutError", "the server sent nothing for 60 s", (("phase", "idle"), ("seconds", "60"))
)
UNREACHED = RecordedError("UpstreamTimeoutError", "no connection within 10 s", (("phase", "connect"),))
SOME = paced([streams.created(), streams.text("a"), streams.text("b")])
WHOLE = [*SOME, (500.0, streams.completed())]


def _refused(status: int, **error: str) -> Bundle:
    body = json.dumps({"error": {"message": "No.", **error}}).encode()
    return bundle(exchange([(5.0, body)], status=status, content_type="application/json"))


def _failing(event: dict[str, Any]) -> Bundle:
    return bundle(exchange([*SOME, (400.0, streams.sse(event))]))


def _call(arguments: str) -> list[bytes]:
    return [streams.created(), *streams.call("c1", "read_file", arguments), streams.completed()]


ENDS: dict[str, tuple[Bundle, str, str]] = {
    "whole": (bundle(exchange(WHOLE)), "nobody", "The answer is whole."),
    "left": (bundle(exchange(SOME, how=HowEnded.CANCELLED)), "client", "The client stopped the answer after event 3."),
    "lost": (
        bundle(exchange(SOME, how=HowEnded.CUT, error=LOST)),
        "network",
        "The connection broke after event 3, before the body was whole.",
    ),
    "never there": (
        bundle(exchange([], end=9, how=HowEnded.NO_RESPONSE, error=LOST, has_head=False)),
        "network",
        "No response came: the connection broke",
    ),
    "not reached in time": (
        bundle(exchange([], end=9, how=HowEnded.NO_RESPONSE, error=UNREACHED, has_head=False)),
        "network",
        "No connection came about in time: no connection within 10 s",
    ),
    "silent": (
        bundle(exchange(SOME, how=HowEnded.CUT, error=SILENT)),
        "server",
        "The server was silent for too long after event 3: the server sent nothing for 60 s",
    ),
    "no end": (
        bundle(exchange(SOME)),
        "server",
        "The server closed the stream after event 3 without the closing event of its protocol.",
    ),
    "an old recording without an end": (
        bundle(exchange([(None, b"".join(data for _, data in SOME))])),
        "nobody",
        "The recording ends after event 3, before the answer does.",
    ),
    "key": (_refused(401), "client", "The server refused the key (HTTP 401): the server answered HTTP 401: No."),
    "limit": (_refused(429), "client", "The account is at its limit (HTTP 429)"),
    "request": (_refused(400), "client", "The server refused the request (HTTP 400)"),
    "moved": (_refused(308), "client", "The address is wrong (HTTP 308)"),
    "overloaded": (_refused(529), "server", "The server failed (HTTP 529)"),
    "slow to take the request": (_refused(408), "server", "The server failed (HTTP 408)"),
    "error in the stream": (
        _failing({"type": "error", "code": "server_error", "message": "Broken."}),
        "server",
        "The server itself ended the answer with an error: the server failed: Broken.",
    ),
    "not JSON": (
        bundle(exchange([*SOME, (400.0, b"data: {oh\n\n")])),
        "server",
        "The server sent what its protocol does not allow",
    ),
    "half a call": (bundle(exchange(paced(_call('{"path":')))), "server", "The server sent what its protocol"),
    "too long": (
        _failing({"type": "error", "code": "context_length_exceeded", "message": "Too long."}),
        "client",
        "The conversation is too long for the model",
    ),
    "a limit of tokens": (
        bundle(
            exchange(
                [
                    *SOME,
                    (
                        400.0,
                        streams.sse(
                            {
                                "type": "response.incomplete",
                                "response": {
                                    "status": "incomplete",
                                    "incomplete_details": {"reason": "max_output_tokens"},
                                },
                            }
                        ),
                    ),
                ]
            )
        ),
        "nobody",
        "A limit or a filter stopped the model (max_output_tokens).",
    ),
    "empty": (
        bundle(exchange(paced([streams.created(), streams.completed()]))),
        "server",
        "The bytes of the server already break stream.visible-part.",
    ),
    "the provider loses text": (
        bundle(exchange(WHOLE), answers=[answer([(340.0, TextPart("a"))])]),
        "provider",
        "The bytes of the server are whole, but the host got another text: 1 characters, the bytes hold 2.",
    ),
    "the provider loses text, or a setting that was not recorded": (
        bundle(exchange(WHOLE, shown=None), answers=[answer([(340.0, TextPart("a"))])]),
        "nobody",
        "The answer is whole.",
    ),
    "the provider loses text, or the recording does": (
        bundle(exchange(WHOLE, left_out=LeftOut(request_bytes=9)), answers=[answer([(340.0, TextPart("a"))])]),
        "nobody",
        "The answer is whole.",
    ),
    "the provider makes a call that a setting cannot make": (
        bundle(
            exchange(WHOLE, shown=None),
            answers=[answer([(340.0, TextPart("ab")), (341.0, ToolCallPart("c9", "read_file", {}))])],
        ),
        "provider",
        "The bytes of the server are whole, but the host got other calls: 1, the bytes hold 0.",
    ),
    "the provider breaks the contract": (
        bundle(exchange(WHOLE), answers=[answer([(340.0, ThinkingPart("ab"))])]),
        "provider",
        "The bytes of the server keep the contract; what the host got breaks stream.visible-part.",
    ),
    "an agent breaks the contract": (
        bundle(answers=[answer([(340.0, ThinkingPart("ab"))])]),
        "provider",
        "What the host got breaks stream.visible-part.",
    ),
    "an agent fails": (
        bundle(answers=[answer([], outcome="failed", error=RecordedError("KeyError", "'x'"))]),
        "provider",
        "The provider failed with KeyError: 'x'",
    ),
    "no known protocol": (
        bundle(exchange(paced([b'data: {"x":1}\n\n']), protocol=None, asked=streams.request("/elsewhere"))),
        "nobody",
        "The bytes match no known protocol.",
    ),
}


def _blame(made: Bundle) -> BlameView:
    (shown,) = view_of([ViewedFile("answer", "bundle", made)])["answers"]
    return shown["blame"]


@one_test_for(("made", "who", "sentence"), ENDS.values(), ids=ENDS)
def test_every_end_has_somebody_and_a_sentence(made: Bundle, who: str, sentence: str):
    said = _blame(made)
    assert (said["who"], said["sentence"][: len(sentence)]) == (who, sentence)


def test_a_server_is_not_blamed_for_what_the_recording_leaves_out():
    whole = exchange([*SOME, (400.0, b'tent":"x"}\n\n'), (500.0, streams.completed())])
    broken = exchange([*SOME, (400.0, b"data: {oh\n\n")])
    assert _blame(bundle(replace(broken, left_out=LeftOut(reads=3, bytes=900, after=3))))["who"] == "nobody"
    assert _blame(bundle(replace(whole, left_out=LeftOut(reads=3, bytes=900, after=3))))["sentence"] == (
        "The answer is whole."
    )


def test_what_a_connection_broke_with_is_no_error_of_a_provider():
    """A proxy records the error of its own client."""
    reset = RecordedError("ReadError", "[Errno 104] Connection reset by peer")
    (shown,) = view_of([ViewedFile("f", "bundle", bundle(exchange(SOME, how=HowEnded.CUT, error=reset)))])["answers"]
    assert shown["violations"] == []
    assert shown["blame"]["who"] == "network"
    agent = bundle(answers=[answer([(1.0, TextPart("a"))], outcome="failed", error=RecordedError("KeyError", "'x'"))])
    (shown,) = view_of([ViewedFile("f", "bundle", agent)])["answers"]
    assert [one["rule"] for one in shown["violations"]] == ["failure.language-model-error"]


UPSTREAM_ERRORS = [
    name
    for name, value in vars(errors).items()
    if inspect.isclass(value) and issubclass(value, errors.UpstreamError) and name != "UpstreamError"
]


@one_test_for("name", UPSTREAM_ERRORS)
def test_no_error_of_an_upstream_is_blamed_on_the_provider(name: str):
    assert blame(EndFacts("failed", "whole", name, "It broke."))["who"] in {"server", "network", "client"}
