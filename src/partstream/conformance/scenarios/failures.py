"""The scenarios of failures: of the model, of the connection, and of patience."""

from __future__ import annotations

from typing import Final

from partstream.conformance.scenarios.judged import CANCELLED, FAILED, STREAM, TOOLS, has_parts, has_text, said
from partstream.devtools.conformance.checks import PLAYED, SANDWICH_ONLY, Scenario
from partstream.devtools.conformance.driving import Capability, Request
from partstream.devtools.conformance.scripts import Call, Ending, Say, Script, ScriptedAnswer, read_moves

__all__ = ["FAILURES"]

_SEND: Final = read_moves("send")
_BEGUN: Final = Say("This answer begins well, and then it goes on and on, until something breaks.")
_LONG: Final = Say("".join(f"word{number} " for number in range(200)) + "and the end.")
_LONG_CALL: Final = Call("get_weather", {"city": "Llanfairpwllgwyngyllgogerychwyrndrobwllllantysiliogogogoch " * 5})

FAILURES: Final = (
    Scenario(
        "error-before-parts",
        "The model server refuses the request",
        said(_BEGUN, fault="status=400"),
        Request("Ask for something that the server refuses."),
        _SEND,
        (*FAILED, "failure.logged"),
        ways=SANDWICH_ONLY,
    ),
    Scenario(
        "error-after-parts",
        "The model fails behind two hundred words",
        said(_LONG, ending=Ending.FAILED),
        Request("Begin, and then fail."),
        _SEND,
        (*FAILED, "failure.keeps-parts", "failure.logged"),
        ways=PLAYED,
    ),
    Scenario(
        "cut-in-an-event",
        "The connection is reset in the middle of the answer",
        said(_BEGUN, fault="split=100,cut"),
        Request("Begin, and then lose the line."),
        _SEND,
        (*FAILED, "failure.keeps-parts", "failure.logged"),
        ways=SANDWICH_ONLY,
    ),
    Scenario(
        "truncated",
        "The stream ends properly in the middle of the answer",
        said(_BEGUN, fault="truncate"),
        Request("Begin, and then stop."),
        _SEND,
        (*FAILED, "failure.keeps-parts", "failure.logged"),
        ways=SANDWICH_ONLY,
    ),
    Scenario(
        "stall",
        "The model server says nothing more in the middle of a text, and then the person cancels",
        said(_BEGUN, fault="stall"),
        Request("Begin, and then wait."),
        read_moves("send", "cancel_after 1"),
        ("text.as-received", "cancellation.stops-upstream", *CANCELLED),
        ways=SANDWICH_ONLY,
    ),
    Scenario(
        "cancel-before-start",
        "Cancelled before it begins",
        said(_LONG),
        Request("Write a long story about Oslo."),
        read_moves("send_cancelled"),
        CANCELLED,
        directive="scenario:long",
        asks_upstream=False,
    ),
    Scenario(
        "cancel-in-text",
        "Cancelled in the middle of a text, which the model server goes on to send",
        Script((ScriptedAnswer((_LONG,), pace=0.01),)),
        Request("Write a long story about Oslo."),
        read_moves("send", "cancel_after 2"),
        (*CANCELLED, "cancellation.stops-upstream"),
        directive="scenario:long=200 pace:20",
        provoked=has_parts,
    ),
    Scenario(
        "cancel-in-arguments",
        "Cancelled while the arguments of a call arrive",
        said(_LONG_CALL, fault="stall"),
        Request("What is the weather in the city with the longest name?", tools=TOOLS),
        read_moves("send", "cancel_quiet 150"),
        (*CANCELLED, "cancellation.stops-upstream"),
        needs=frozenset({Capability.TOOLS}),
        ways=SANDWICH_ONLY,
    ),
    Scenario(
        "cancel-after-end",
        "The token is cancelled when the answer is complete",
        said(Say("This is all.")),
        Request("Say something short."),
        read_moves("send", "cancel_ended"),
        STREAM,
        directive="scenario:text",
        provoked=has_text,
    ),
)
"""The scenarios of failures and of cancellation."""
