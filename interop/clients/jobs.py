"""What the clients are asked to do, and what they have to see: what the upstream said to the requests that they sent.

A job reaches a client as one line of JSON, `{"asks": "answer", "messages": [...], "body": {...}}`: what is asked for,
the messages of the first round, and the model with the other fields of the request, in the words of the client's wire.
It runs rounds until the model calls no tool; a tool called NAME says "NAME says yes". Its result is one line::

    {"rounds": [{"text", "thinking", "calls": [{"id", "name", "input"}], "finish", "tokens": [in, out], "sources"}],
     "error": null | {"kind", "status", "message", "code"}}

Where a document besides answers is asked for, the result is `{"told": VALUE, "error": ...}`. The jobs of a wire are in
a module of their own, and a row of `interop/clients/wires.py`.
"""

from __future__ import annotations
from base64 import b64encode
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from partstream.conversation.citations import read_citation
from partstream.lm.outputs import Finish
from partstream.lm.parts import TextPart, ThinkingPart, ToolCallPart

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from partstream.lm.outputs import StreamOutput
    from partstream_devtools.testing.replaying import ReceivedRequest

__all__ = ["ANSWER", "PICTURE", "TOOLS", "Job", "Shown", "Words", "jobs_in", "judge", "said_in_round"]

ANSWER: Final = "answer"
"""What most jobs ask for."""


@dataclass(frozen=True, slots=True)
class Job:
    """Something that a client is asked to do.

    Attributes:
        name: What it is called.
        messages: The messages of the first round, in the words of the wire.
        fields: The other fields of the request but the model, in the words of the wire.
        fails: Whether the answer fails: then the client has to raise.
        breaks: Whether the stream breaks off: then the client has to raise, or to see no finish reason.
        of_streams: Whether it means nothing for an answer in one document.
        asks: What is asked for: `answer`, or a document besides answers, such as `models`.
        expects: Gives what a document besides answers has to say, from the request for it; None for answers.
    """

    name: str
    messages: tuple[Mapping[str, Any], ...] = ()
    fields: Mapping[str, Any] = field(default_factory=dict)
    fails: bool = False
    breaks: bool = False
    of_streams: bool = False
    asks: str = ANSWER
    expects: Callable[[ReceivedRequest], Any] | None = None

    def line(self, model: str) -> dict[str, Any]:
        """The job as it reaches a client."""
        return {"asks": self.asks, "messages": list(self.messages), "body": {"model": model, **self.fields}}


class Words(NamedTuple):
    """The first messages of every job, in the words of a wire.

    Attributes:
        user: The messages in which the user says a text.
        picture: The messages in which the user says `scenario:image_echo` and shows a picture of :data:`PICTURE`.
        tools: The fields of a request that offer two tools: `weather` with the text `place`, `time` with `city`.
        fields: The fields that every request has beside its messages.
    """

    user: Callable[[str], tuple[Mapping[str, Any], ...]]
    picture: tuple[Mapping[str, Any], ...]
    tools: Mapping[str, Any]
    fields: Mapping[str, Any] = MappingProxyType({})


PICTURE: Final = b64encode(b"\x89PNG\r\n\x1a\n" + bytes(8)).decode()
"""The bytes of a picture in base64; its media type is `image/png`."""


def schema_of(parameter: str) -> dict[str, Any]:
    """The JSON schema of a tool that takes one text."""
    return {
        "type": "object",
        "properties": {parameter: {"type": "string"}},
        "required": [parameter],
        "additionalProperties": False,
    }


TOOLS: Final = {"weather": schema_of("place"), "time": schema_of("city")}
"""The tools that are offered: name and schema; the description is "The NAME."."""


def jobs_in(words: Words) -> tuple[Job, ...]:
    """What every client is asked to do, in the words of its wire."""
    user = words.user
    calls = user("scenario:tools The weather in Lisbon, the time in Porto?")
    jobs = (
        Job("text", user("scenario:text")),
        Job("thinking", user("scenario:thinking")),
        Job("two calls, then text", calls, words.tools),
        Job("picture in", words.picture),
        Job("sources", user("scenario:citations")),
        Job("refusal", user("scenario:refusal")),
        Job("nothing", user("scenario:empty")),
        Job("cut at a length", user("scenario:incomplete=max_output_tokens")),
        Job("cut by a filter", user("scenario:incomplete=content_filter")),
        Job("fails while it answers", user("scenario:failed"), fails=True),
        Job("breaks off", user("scenario:text fault:truncate=5"), breaks=True, of_streams=True),
        Job("connection lost", user("scenario:text fault:cut=5"), breaks=True),
        Job("400", user("fault:status=400"), fails=True),
        Job("429", user("fault:status=429:7"), fails=True),
        Job("503", user("fault:status=503"), fails=True),
    )
    return tuple(replace(job, fields={**words.fields, **job.fields}) for job in jobs)


def said_in_round(outputs: Iterable[StreamOutput], finish_word: str) -> dict[str, Any]:
    """What an answer says, in the form of a client's result.

    Args:
        outputs: The answer.
        finish_word: The finish reason on the wire.
    """
    parts = list(outputs)
    finish = next(one for one in parts if isinstance(one, Finish))
    usage = finish.usage
    sources = (read_citation(one) for one in parts if not isinstance(one, Finish) and hasattr(one, "mime_type"))
    return {
        "text": "".join(one.value for one in parts if isinstance(one, TextPart)),
        "thinking": "".join(one.value for one in parts if isinstance(one, ThinkingPart)),
        "calls": [
            {"id": one.call_id, "name": one.name, "input": dict(one.input)}
            for one in parts
            if isinstance(one, ToolCallPart)
        ],
        "finish": finish_word,
        "tokens": None if usage is None else [usage.input_tokens, usage.output_tokens],
        "sources": [source.url for source in sources if source is not None],
    }


_AS_SAID: Final = "as it was said"


class Shown(NamedTuple):
    """What a client showed.

    Attributes:
        works: Whether it is what the upstream said.
        says: What was seen, or what is otherwise.
    """

    works: bool
    says: str


def judge(job: Job, result: Mapping[str, Any], expected: list[dict[str, Any]]) -> Shown:
    """Compares what a client showed with what the upstream said.

    Args:
        job: What the client was asked.
        result: Its result.
        expected: What the upstream said, a round each, or what the document says; of answers that fail, nothing.
    """
    error, rounds = result["error"], result.get("rounds", [])
    raised = None if error is None else f"{error['kind']}: {error['message']}"
    if job.fails or job.breaks:
        ended = bool(rounds) and rounds[-1]["finish"] is not None
        if raised is None and (job.fails or ended):
            return Shown(works=False, says="it raises nothing")
        return Shown(works=True, says=raised or "no finish reason")
    if raised is not None:
        return Shown(works=False, says=raised)
    if job.asks != ANSWER:
        return _compared(result["told"], expected)
    if len(rounds) != len(expected):
        return Shown(works=False, says=f"{len(rounds)} rounds instead of {len(expected)}")
    other = _differences(rounds, expected)
    return Shown(not other, "; ".join(other) or _AS_SAID)


def _compared(told: Any, expected: list[Any]) -> Shown:
    """Compares what a document says with what it has to say."""
    works = bool(expected) and all(told == one for one in expected)
    return Shown(works, _AS_SAID if works else f"{told!r:.80} instead of {expected[:1]!r:.80}")


def _differences(rounds: list[dict[str, Any]], expected: list[dict[str, Any]]) -> list[str]:
    return [
        f"{name} of round {number}: {told[name]!r:.80} instead of {said[name]!r:.80}"
        for number, (told, said) in enumerate(zip(rounds, expected, strict=True), 1)
        for name in said
        if told[name] != said[name]
    ]
