"""The scenarios of whole answers: texts, thinking, ways to end, and several at the same time."""

from __future__ import annotations

from typing import Final

from partstream.conformance.scenarios.judged import (
    CALLS,
    DATA,
    ENDED,
    OSLO,
    STREAM,
    TEXT,
    THINKING,
    TOOLS,
    called,
    has_calls,
    has_text,
    has_thinking,
    said,
)
from partstream.devtools.conformance.checks import PLAYED, Scenario
from partstream.devtools.conformance.driving import Capability, Request
from partstream.devtools.conformance.scripts import PIXEL, Echo, Ending, Say, Think, read_moves

__all__ = ["ANSWERS"]

_SEND: Final = read_moves("send")
_LONG: Final = Say("".join(f"word{number} " for number in range(600)) + "and the end.")

ANSWERS: Final = (
    Scenario(
        "text",
        "A short text, in characters of one to four bytes",
        said(Say("The weather in Oslo is fine. Grüße, 你好, 👋 and good bye.")),
        Request("Say something kind about Oslo."),
        _SEND,
        (*STREAM, *TEXT, *DATA, "request.text-arrives"),
        directive="scenario:text",
        provoked=has_text,
    ),
    Scenario(
        "long-text",
        "A text of several hundred pieces",
        said(_LONG),
        Request("Write a long story about Oslo."),
        _SEND,
        (*STREAM, *TEXT),
        directive="scenario:long",
        provoked=has_text,
    ),
    Scenario(
        "thinking-then-text",
        "Thinking, then a text",
        said(Think("Six times seven, step by step."), Say("It makes forty-two.")),
        Request("How much is six times seven? Think first."),
        _SEND,
        ("stream.generation-order", *STREAM, *THINKING, *TEXT),
        needs=frozenset({Capability.THINKING}),
        directive="scenario:thinking",
        provoked=has_thinking,
    ),
    Scenario(
        "thinking-only",
        "Thinking and nothing else: the provider has to say so",
        said(Think("I think, and find nothing to say.")),
        Request("Think, and say nothing."),
        _SEND,
        ("stream.visible-part", "failure.language-model-error", "stream.ends"),
        needs=frozenset({Capability.THINKING}),
        ways=PLAYED,
    ),
    Scenario(
        "empty-text-then-call",
        "An empty text, then a call",
        said(Say(""), OSLO),
        Request("What is the weather in Oslo? Call the tool at once.", tools=TOOLS),
        _SEND,
        (*STREAM, *CALLS),
        needs=frozenset({Capability.TOOLS}),
        ways=PLAYED,
        directive=called(OSLO),
        provoked=has_calls(1),
    ),
    Scenario(
        "length-stop",
        "A limit of tokens stops the model in a sentence",
        said(Say("This answer stops in the middle of"), ending=Ending.LENGTH),
        Request("Write a text that is too long."),
        _SEND,
        (*ENDED, *TEXT),
        ways=PLAYED,
    ),
    Scenario(
        "refusal",
        "A filter stops the model behind a text",
        said(Say("I am sorry, but I can't help with that."), ending=Ending.FILTERED),
        Request("Ask for something that no model does."),
        _SEND,
        (*ENDED, *TEXT),
        ways=PLAYED,
    ),
    Scenario(
        "image-input",
        "A question with an image",
        said(Say("I see one pixel.")),
        Request("What do you see?", images=(PIXEL,)),
        _SEND,
        (*STREAM, "request.images-arrive"),
        needs=frozenset({Capability.IMAGES}),
        provoked=has_text,
    ),
    Scenario(
        "split-bytes",
        "The bytes of the stream arrive three at a time",
        said(Think("Every byte counts."), Say("Grüße, 你好, 👋 from a slow line."), fault="split=3"),
        Request("Say hello over a slow line."),
        _SEND,
        (*STREAM, "text.string-value", "text.utf-8", "text.complete"),
        ways=frozenset(PLAYED),
    ),
    Scenario(
        "two-at-once",
        "Two requests at the same time",
        said(Echo()),
        Request("Repeat this word:"),
        _SEND,
        ("concurrency.no-mixing", *STREAM),
        provoked=has_text,
        copies=2,
    ),
    Scenario(
        "fifty-at-once",
        "Fifty requests at the same time",
        said(Echo()),
        Request("Repeat this word:"),
        _SEND,
        ("concurrency.no-mixing", *STREAM),
        ways=PLAYED,
        provoked=has_text,
        copies=50,
    ),
)
"""The scenarios of whole answers."""
