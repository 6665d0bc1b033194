"""What each client is asked to do with `partstream serve`, and when it has shown it.

A trial reaches a client as one line of JSON, `{"asks": "answer" | "tools" | "leave", "says": QUESTION, "model": ID}`,
and its result is one line::

    {"text": TEXT, "thinking": TEXT, "tools": [[NAME, ARGUMENTS], ...], "tokens": [INPUT, OUTPUT] | null,
     "error": null | {"kind": CLASS, "status": NUMBER | null, "message": TEXT}}

`tools` offers two tools and lets the client run its own loop; `leave` leaves an answer after its first text, as a
person who presses Escape. What the server saw of it comes from its own lines, one for each answer.

The results of all clients, also of the coding agents, have the shape of :class:`interop.servers.results.ServerResult`;
the names of trials are those of :data:`TRIALS`, so that one table has them all.
"""

from __future__ import annotations
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["MODEL", "TRIALS", "Shown", "Told", "Trial"]

MODEL: Final = "parrot"
"""The model that is asked, see `interop/clients/served/model.py`."""

_INPUT, _OUTPUT = 11, 7
"""The tokens of each answer of the model."""


class Told(NamedTuple):
    """What a client and the server tell of a trial.

    Attributes:
        result: The client's result.
        answers: What the server observed, an object for each answer, in order.
        was_left: Whether the model noticed that it was left.
    """

    result: Mapping[str, Any]
    answers: Sequence[Mapping[str, Any]]
    was_left: bool


class Shown(NamedTuple):
    """What a trial showed: whether it went as it has to, and what was seen."""

    works: bool
    says: str


@dataclass(frozen=True, slots=True)
class Trial:
    """Something that a client is asked to do.

    Attributes:
        name: What it is called.
        says: The question.
        judge: Judges what was told.
        asks: What is asked for.
        model: The model that is asked.
    """

    name: str
    says: str
    judge: Callable[[Told], Shown]
    asks: str = "answer"
    model: str = MODEL

    def line(self) -> dict[str, Any]:
        """The trial as it reaches a client."""
        return {"asks": self.asks, "says": self.says, "model": self.model}


def _expected(told: Told, **expected: Any) -> Shown:
    """Compares fields of the result with what they have to be."""
    if told.result["error"] is not None:
        return Shown(works=False, says=_raised(told))
    other = [
        f"{name}: {told.result[name]!r:.60} instead of {value!r:.60}"
        for name, value in expected.items()
        if told.result[name] != value
    ]
    return Shown(not other, "; ".join(other) or "as it was said")


def _raised(told: Told) -> str:
    error = told.result["error"]
    return "it raises nothing" if error is None else f"{error['kind']}: {error['message']:.200}"


def _understood(told: Told) -> list[Mapping[str, Any]]:
    """The answers, without refusals of a feature that the client then leaves out by itself."""
    return [one for one in told.answers if one["status"] != 400]


def _text(told: Told) -> Shown:
    return _expected(told, text="Hello from Partstream.", tools=[])


def _thinking(told: Told) -> Shown:
    return _expected(told, thinking="I was asked to think.", text="Thought.")


def _tools(told: Told) -> Shown:
    called = [["weather", {"place": "Lisbon"}], ["time", {"place": "Lisbon", "weather": "sunny"}]]
    shown = _expected(told, tools=called, text="It is sunny at noon.")
    count = len(_understood(told))
    if shown.works and count != 3:
        return Shown(works=False, says=f"{count} requests instead of 3")
    return Shown(shown.works, "two rounds" if shown.works else shown.says)


def _usage(told: Told) -> Shown:
    return _expected(told, tokens=[_INPUT, _OUTPUT])


def _left(told: Told) -> Shown:
    if told.result["error"] is not None:
        return Shown(works=False, says=_raised(told))
    if not told.was_left:
        return Shown(works=False, says="the model was not cancelled")
    is_seen = [one.get("ended") for one in _understood(told)] == ["cancelled"]
    return Shown(is_seen, "the model was cancelled" if is_seen else f"the server saw {told.answers!r:.80}")


def _once(told: Told) -> Shown:
    """An error that no second request can help."""
    shown = _raised(told)
    if told.result["error"] is None:
        return Shown(works=False, says=shown)
    count = len(_understood(told))
    return Shown(count == 1, f"{shown} (one request)" if count == 1 else f"{shown} ({count} requests instead of one)")


def _again(told: Told) -> Shown:
    """A fault that a second request helps: the client sends it by itself, or raises."""
    if told.result["error"] is not None:
        return Shown(works=True, says=f"{_raised(told)} (not asked again)")
    shown = _expected(told, text="Hello from Partstream.")
    retried = len(_understood(told)) == 2
    return Shown(shown.works and retried, "asked again" if shown.works and retried else shown.says)


def _broken(told: Told) -> Shown:
    return Shown(told.result["error"] is not None, _raised(told))


TRIALS: Final = (
    Trial("text", "Say hello.", _text),
    Trial("thinking", "Think first.", _thinking),
    Trial("two tool rounds", "What is the weather in Lisbon, and the time there?", _tools, "tools"),
    Trial("usage", "Say hello, and count.", _usage),
    Trial("cancel", "Wait until I leave.", _left, "leave"),
    Trial("spent budget", "Spend more than there is.", _once),
    Trial("unknown model", "Say hello.", _once, model="nobody"),
    Trial("busy at first", "Be busy at first.", _again),
    Trial("breaks while it answers", "Break in the middle.", _broken),
)
"""What every client is asked, in the order of the table."""
