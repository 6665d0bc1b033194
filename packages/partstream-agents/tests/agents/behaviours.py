"""The matrix of frameworks: what an agent shows in cases in which frameworks differ, as one table.

A row of :data:`BEHAVIOURS` says what a person says and what they then get to see. The tests of a framework have a table
of their own, `CASES`: for each row an agent in the framework's own terms, or the reason why its agents have no such
case. `make interop TRY=frameworks` runs them at the oldest and the newest version of each framework.
"""

import asyncio
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

import pytest
from scenarios import Chat

from partstream import TextPart
from partstream.runtime.progress import told
from partstream_agents import as_model
from partstream_agents.run import RunStates

__all__ = ["BEHAVIOURS", "MCP_SERVER", "PYTHON", "Behaviour", "Case", "Cases", "rows_of", "show"]

PYTHON: Final = sys.executable
MCP_SERVER: Final = str(Path(__file__).with_name("mcp_server.py"))
"""A server of tools with the official SDK of MCP, which speaks over its standard input and output."""


@dataclass(frozen=True)
class Behaviour:
    """One row.

    Attributes:
        name: What it is about.
        text: The text of each answer.
        says: What the person says for each answer.
        thinking: Lines of the thinking of the last answer, in their order.
        never: What no answer shows anywhere: neither as text nor in the thinking.
        error: What the error of the only answer says; empty for an answer.
        finish: Why the last answer ended; empty where models need not say it.
        pieces: The fewest parts in which the text comes.
    """

    name: str
    text: tuple[str, ...] = ("Done.",)
    says: tuple[str, ...] = ("Hi",)
    thinking: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    error: str = ""
    finish: str = ""
    pieces: int = 1


Case: TypeAlias = Callable[[], Any] | str
"""Makes what `as_model` is given; or the reason why there is no such case, or how a framework shows it otherwise."""
Cases: TypeAlias = Mapping[str, Case]

_TWO: Final = (
    "The agent wants to run 2 tools:\n\n"
    '1. `delete_file(path="a.py")`\n2. `delete_file(path="b.py")`\n\n'
    "Reply *yes* to run them all, *no* to run none, or the numbers of those to run."
)

BEHAVIOURS: Final = (
    Behaviour("what a factory makes for a request is for it alone", ("user 2", "user 3"), ("Who am I?", "And I?")),
    Behaviour("messages at the same time", ("About cats: first, second.\n\nAbout dogs: first, second.",)),
    Behaviour(
        "agents below at the same time",
        thinking=("About cats: first, second.", "About dogs: first, second."),
    ),
    Behaviour("a text that a validator changes", ("It's done.",), never=("It\u2019s",)),
    Behaviour("a text that a function makes", ("DONE.",), never=("Done.",)),
    Behaviour("a draft that a validator refuses", never=("Draft",)),
    Behaviour("private data that a middleware replaces", ("Mail [REDACTED_EMAIL] now.",), never=("ann@example.org",)),
    Behaviour("a judge that is asked before the agent"),
    Behaviour("a judge that is asked beside the agent's model"),
    Behaviour("other fields of a state", (), never=("sk-private",), error="without text"),
    Behaviour("an answer without text", (), error="without text"),
    Behaviour("two agents one after the other", ("I am A.\n\nI am B.",)),
    Behaviour("two messages of one response", ("First.\n\nSecond.",)),
    Behaviour("an agent that is a node", ("Hello you.",), pieces=2, never=("Hello you.Hello",)),
    Behaviour(
        "a call that the person refuses",
        (_TWO, "Done."),
        ("Clean up", "2"),
        thinking=('Not allowed: delete_file(path="a.py")', "-> "),
        never=('Called delete_file(path="a.py")',),
    ),
    Behaviour("an id of a call that came before", thinking=("Called search", "-> ", "Called search", "-> ")),
    Behaviour("a tool that fails with a group of errors", (), error="ConnectionError: refused"),
    Behaviour("a tool that raises StopIteration", (), error="StopIteration"),
    Behaviour(
        "an output with a date, bytes and a member of an enumeration",
        ('```json\n{\n  "when": "2026-01-01",\n  "raw": "YQ==",\n  "colour": "red"\n}\n```',),
    ),
    Behaviour("a tool that ends the run", ("3 results",), thinking=("Called search",), finish="stop"),
    Behaviour("a tool of a server of MCP", thinking=('Called add(first=1, second=2)', "-> ")),
    Behaviour("a model with a retry", ("Hello you.",), pieces=2),
    Behaviour("a chain", ("Hello you.",), pieces=2),
)  # fmt: skip


def rows_of(cases: Cases) -> list[Any]:
    """The rows of the table for a framework, as parameters of its test; a case that is missing fails there."""
    return [
        pytest.param(behaviour, cases.get(behaviour.name, "missing"), id=behaviour.name) for behaviour in BEHAVIOURS
    ]


def show(behaviour: Behaviour, case: Case, folder: Path) -> None:
    """Asserts that an agent shows a row."""
    if isinstance(case, str):
        assert case != "missing", "neither an agent nor a reason"
        pytest.skip(case)
    asyncio.run(_show(behaviour, case(), folder))


async def _show(behaviour: Behaviour, agent: Any, folder: Path) -> None:
    chat = Chat(as_model(agent, name="Agent", states=RunStates(folder)), ())
    answers = [await chat.say(said, fails=bool(behaviour.error)) for said in behaviour.says]
    last = answers[-1]
    if behaviour.error:
        assert last.error is not None
        assert behaviour.error in told(last.error)
    else:
        assert tuple(answer.text for answer in answers) == behaviour.text
    assert sum(isinstance(part, TextPart) and part.value.strip() != "" for part in last.parts) >= (
        0 if behaviour.error else behaviour.pieces
    )
    place = 0
    for line in behaviour.thinking:
        assert line in last.thinking[place:], last.thinking
        place = last.thinking.index(line, place) + len(line)
    shown = last.thinking + last.text
    assert not [one for one in behaviour.never if one in shown], shown
    reason = None if last.finish is None else last.finish.reason
    assert reason is None or not behaviour.finish or reason.unified.value == behaviour.finish
