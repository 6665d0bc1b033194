"""What every coding agent is asked to do, and how its run is judged: by what it showed and by what the server saw."""

from __future__ import annotations
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from interop.clients.agents.scripted_model import FAILURE, INPUT_TOKENS, OUTPUT_TOKENS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from interop.clients.agents.agent import Agent

__all__ = ["FILES", "TRIALS", "Run", "Trial"]

FILES: Final = {"one.txt": "apple\n", "two.txt": "pear\n"}
"""The files in the folder of each run."""


@dataclass(frozen=True, slots=True)
class Run:
    """How an agent's turn went.

    Attributes:
        code: The code with which it ended.
        output: What it wrote to standard output.
        errors: What it wrote to standard error.
        log: What the model wrote down, see `scripted_model`.
        in_time: Whether it ended by itself, or after the interrupt, within the time.
    """

    code: int
    output: str
    errors: str
    log: Sequence[Mapping[str, Any]]
    in_time: bool

    @property
    def asked(self) -> list[Mapping[str, Any]]:
        """The requests with tools: those of the turn. A title is asked for without any."""
        return [one for one in self.log if one["event"] == "asked" and one["tools"]]

    @property
    def ends(self) -> list[str]:
        """How the answers of the turn ended."""
        numbers = {one["number"] for one in self.asked}
        return [one["event"] for one in self.log if one["event"] != "asked" and one["number"] in numbers]


@dataclass(frozen=True, slots=True)
class Trial:
    """Something that an agent is asked to do.

    Attributes:
        name: What it is called.
        plan: What the model shall do, for an agent and a folder. Trials of one plan are judged by one run.
        judge: Whether a run did it, and what was seen.
        interrupts: Whether the agent is interrupted as soon as the model has begun.
    """

    name: str
    plan: Callable[[Agent, Path], dict[str, Any]]
    judge: Callable[[Run], tuple[bool, str]]
    interrupts: bool = False


_TEXT: Final = "These words are the whole answer."
_THOUGHT: Final = "Pondering about quinces."


def _saying(_agent: Agent, _folder: Path) -> dict[str, Any]:
    return {"text": _TEXT}


def _reading(agent: Agent, folder: Path) -> dict[str, Any]:
    return {"calls": [agent.reads(str(folder / name)) for name in FILES], "text": "I have read {results}."}


def _text(run: Run) -> tuple[bool, str]:
    shown = _TEXT in run.output
    is_answered = {*run.ends} == {"answered"} and run.code == 0  # some send more than the person did, which is reported
    return shown and is_answered, _said(run, "shown" if shown else "not shown")


def _usage(run: Run) -> tuple[bool, str]:
    given, made = (
        bool(re.search(rf"(?<![\w-]){number}(?![\w-])", run.output)) for number in (INPUT_TOKENS, OUTPUT_TOKENS)
    )
    names = {(True, True): "input and output", (True, False): "input only", (False, True): "output only"}
    return given and made, names.get((given, made), "no tokens shown")


def _thinking(run: Run) -> tuple[bool, str]:
    shown = _THOUGHT in run.output
    return shown and run.code == 0, _said(run, "shown" if shown else "not shown")


def _tools(run: Run) -> tuple[bool, str]:
    rounds = [len(one["results"]) for one in run.asked]
    return "I have read apple and pear." in run.output and rounds == [0, 1, 2], _said(run, f"results {rounds}")


def _cancel(run: Run) -> tuple[bool, str]:
    is_cancelled = run.ends == ["cancelled"]
    return is_cancelled and run.in_time, _said(run, "the provider was cancelled" if is_cancelled else "it goes on")


def _error(run: Run) -> tuple[bool, str]:
    shown = FAILURE in run.output + run.errors
    return shown and {*run.ends} == {"failed"} and run.in_time, _said(run, "shown" if shown else "not shown")


def _spent(run: Run) -> tuple[bool, str]:
    """Asking again cannot succeed, so an agent asks once."""
    return run.ends == ["failed"] and run.in_time, _error(run)[1]


def _said(run: Run, what: str) -> str:
    requests = "1 request" if len(run.asked) == 1 else f"{len(run.asked)} requests"
    late = "" if run.in_time else ", and it did not end"
    return f"{what}; {requests}, {', '.join(dict.fromkeys(run.ends)) or 'none over'}, code {run.code}{late}"


TRIALS: Final = (
    Trial("text", _saying, _text),
    Trial("usage", _saying, _usage),
    Trial("thinking", lambda _agent, _folder: {"thinking": _THOUGHT, "text": _TEXT}, _thinking),
    Trial("two rounds of a tool", _reading, _tools),
    Trial("cancelled", lambda _agent, _folder: {"waits": True}, _cancel, interrupts=True),
    Trial("error", lambda _agent, _folder: {"fails": 400}, _error),
    Trial("spent budget", lambda _agent, _folder: {"fails": 402}, _spent),
)
"""What is asked, in the order of the page."""
