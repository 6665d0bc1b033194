"""What the clients are asked to do, and what they have to see: what the upstream said to the requests that they sent.

A job reaches a client as one line of JSON, `{"messages": [...], "body": {...}}`: the messages of the first round and
the other fields of the request, in the words of Chat Completions. It runs rounds until the model calls no tool; a tool
called NAME says "NAME says yes". Its result is one line::

    {"rounds": [{"text", "thinking", "calls": [{"id", "name", "input"}], "finish", "tokens": [in, out], "sources"}],
     "error": null | {"kind", "status", "message", "code"}}
"""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from partstream.outputs import Finish
from partstream.parts import TextPart, ThinkingPart, ToolCallPart
from partstream.protocols.citations import read_citation

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from partstream.outputs import StreamOutput

__all__ = ["JOBS", "Job", "Shown", "judge", "said_in_round"]


@dataclass(frozen=True, slots=True)
class Job:
    """Something that a client is asked to do.

    Attributes:
        name: What it is called.
        messages: The messages of the first round.
        tools: The tools that the client offers.
        fails: Whether the answer fails: then the client has to raise.
        breaks: Whether the stream breaks off: then the client has to raise, or to see no finish reason.
        of_streams: Whether it means nothing for an answer in one document.
    """

    name: str
    messages: tuple[Mapping[str, Any], ...]
    tools: tuple[Mapping[str, Any], ...] = ()
    fails: bool = False
    breaks: bool = False
    of_streams: bool = False

    def line(self, model: str) -> dict[str, Any]:
        """The job as it reaches a client."""
        tools = {"tools": list(self.tools)} if self.tools else {}
        return {"messages": list(self.messages), "body": {"model": model, **tools}}


def _user(content: Any) -> tuple[Mapping[str, Any], ...]:
    return ({"role": "user", "content": content},)


def _tool(name: str, parameter: str) -> Mapping[str, Any]:
    schema = {
        "type": "object",
        "properties": {parameter: {"type": "string"}},
        "required": [parameter],
        "additionalProperties": False,
    }
    # The helper of the Python package takes tools only with `strict`.
    return {
        "type": "function",
        "function": {"name": name, "description": f"The {name}.", "parameters": schema, "strict": True},
    }


_PICTURE: Final = b64encode(b"\x89PNG\r\n\x1a\n" + bytes(8)).decode()
_LOOK: Final = (
    {"type": "text", "text": "scenario:image_echo"},
    {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{_PICTURE}"}},
)
_TOOLS: Final = (_tool("weather", "place"), _tool("time", "city"))

JOBS: Final = (
    Job("text", _user("scenario:text")),
    Job("thinking", _user("scenario:thinking")),
    Job("two calls, then text", _user("scenario:tools The weather in Lisbon, the time in Porto?"), _TOOLS),
    Job("picture in", _user(list(_LOOK))),
    Job("sources", _user("scenario:citations")),
    Job("refusal", _user("scenario:refusal")),
    Job("nothing", _user("scenario:empty")),
    Job("cut at a length", _user("scenario:incomplete=max_output_tokens")),
    Job("cut by a filter", _user("scenario:incomplete=content_filter")),
    Job("fails while it answers", _user("scenario:failed"), fails=True),
    Job("breaks off", _user("scenario:text fault:truncate=5"), breaks=True, of_streams=True),
    Job("connection lost", _user("scenario:text fault:cut=5"), breaks=True),
    Job("400", _user("fault:status=400"), fails=True),
    Job("429", _user("fault:status=429:7"), fails=True),
    Job("503", _user("fault:status=503"), fails=True),
)


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
        expected: What the upstream said, a round each; of answers that fail, nothing is expected.
    """
    error, rounds = result["error"], result["rounds"]
    raised = None if error is None else f"{error['kind']}: {error['message']}"
    if job.fails or job.breaks:
        ended = bool(rounds) and rounds[-1]["finish"] is not None
        if raised is None and (job.fails or ended):
            return Shown(works=False, says="it raises nothing")
        return Shown(works=True, says=raised or "no finish reason")
    if raised is not None:
        return Shown(works=False, says=raised)
    if len(rounds) != len(expected):
        return Shown(works=False, says=f"{len(rounds)} rounds instead of {len(expected)}")
    other = _differences(rounds, expected)
    return Shown(not other, "; ".join(other) or "as it was said")


def _differences(rounds: list[dict[str, Any]], expected: list[dict[str, Any]]) -> list[str]:
    return [
        f"{name} of round {number}: {told[name]!r:.80} instead of {said[name]!r:.80}"
        for number, (told, said) in enumerate(zip(rounds, expected, strict=True), 1)
        for name in said
        if told[name] != said[name]
    ]
