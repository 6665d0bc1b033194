"""What a run of a graph begins with, in each of the ways in which it may go on. Builds values only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from langgraph.types import Command

from partstream.agents.langchain.conversation import (
    INSTRUCTIONS_ID,
    messages_of,
    result_message,
    system_message,
    with_results,
)
from partstream.agents.langchain.host_run import CONFIG_KEY, HostRun
from partstream.agents.langchain.interrupts import resume_values
from partstream.agents.langchain.kept_messages import messages_from_json
from partstream.agents.langchain.placeholders import is_placeholder
from partstream.messages import ToolMode

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from partstream.agents.adapter import AgentRequest
    from partstream.agents.langchain import AnsweringGraph

__all__ = ["RunInput", "begun", "continued", "kept_thread", "resumed_from_messages", "thread_config"]

_THREAD: Final = "thread_id"
_CHECKPOINT: Final = "checkpoint_id"


@dataclass(frozen=True, slots=True)
class RunInput:
    """What a run begins with.

    Attributes:
        value: The graph's input: fields of its state, a `Command`, or None to go on where it stopped.
        update: The fields to write into the stopped graph before; None for nothing.
        config: The configuration of the run.
        is_new: Whether the thread of the run is its own; otherwise it is that of a stopped run.
    """

    value: Any
    config: dict[str, Any]
    update: dict[str, Any] | None = None
    is_new: bool = True


def begun(graph: AnsweringGraph, request: AgentRequest, *, takes_instructions: bool) -> RunInput:
    """A run that is rebuilt from the conversation alone, in a thread of its own.

    Args:
        graph: The graph.
        request: The request.
        takes_instructions: Whether the graph's middleware adds the host's instructions.
    """
    messages = [*([] if takes_instructions else system_message(request)), *messages_of(request.turns)]
    return RunInput(_input(graph, messages), thread_config(graph, request, uuid4().hex))


def resumed_from_messages(graph: AnsweringGraph, request: AgentRequest, *, takes_instructions: bool) -> RunInput | None:
    """A run that goes on with the kept messages of a graph without a checkpointer; None if they cannot be read.

    Args:
        graph: The graph.
        request: The request.
        takes_instructions: Whether the graph's middleware adds the host's instructions.
    """
    messages = messages_from_json((request.resumed or {}).get("messages"))
    if messages is None:
        return None
    own = [message for message in messages if message.id != INSTRUCTIONS_ID]
    placed = with_results(own, request.results, is_placeholder)
    placed = [*([] if takes_instructions else system_message(request)), *placed]
    return RunInput(_input(graph, placed), thread_config(graph, request, uuid4().hex))


def continued(graph: AnsweringGraph, request: AgentRequest, snapshot: Any) -> RunInput | None:
    """A run that goes on in its thread; None where the thread is no longer as the run has left it.

    Args:
        graph: The graph.
        request: The request.
        snapshot: The state of the thread (`StateSnapshot`).
    """
    kept = request.resumed or {}
    if not snapshot.values or _checkpoint_of(snapshot) != kept.get(_CHECKPOINT):
        return None
    config = thread_config(graph, request, kept[_THREAD])
    if "asked" in kept:
        answers = resume_values(kept["asked"], request.decisions, request.reply)
        return RunInput(Command(resume=answers) if answers else None, config, is_new=False)
    results = _results_in_thread(request, snapshot)
    if results is None:
        return None
    update = {"messages": results}
    if snapshot.next:
        return RunInput(None, config, update, is_new=False)
    return RunInput(update, config, is_new=False)


def kept_thread(config: Mapping[str, Any], snapshot: Any) -> dict[str, Any]:
    """Where a run has stopped, as JSON."""
    return {_THREAD: config["configurable"][_THREAD], _CHECKPOINT: _checkpoint_of(snapshot)}


def thread_config(graph: AnsweringGraph, request: AgentRequest, thread_id: str) -> dict[str, Any]:
    """The configuration of a run: the thread and the host's side of the run, beside what the person has set."""
    must_call = request.tool_mode is ToolMode.REQUIRED
    run = HostRun(request.tools, request.instructions, must_call, request.model_options)
    ours = {_THREAD: thread_id, CONFIG_KEY: run}
    given = (getattr(graph.graph, "config", None) or {}, graph.config)
    own = {name: value for config in given for name, value in (config.get("configurable") or {}).items()}
    return {"configurable": {**own, **ours}}


def _input(graph: AnsweringGraph, messages: list[Any]) -> Any:
    return {"messages": messages} if graph.input is None else graph.input(messages)


def _checkpoint_of(snapshot: Any) -> Any:
    return snapshot.config.get("configurable", {}).get(_CHECKPOINT)


def _results_in_thread(request: AgentRequest, snapshot: Any) -> Sequence[Any] | None:
    """The host's results under the ids of their placeholders, whose places they take; None if one has none."""
    messages = snapshot.values.get("messages") if isinstance(snapshot.values, dict) else None
    places = {one.tool_call_id: one.id for one in messages or () if is_placeholder(one) and one.type == "tool"}
    if not request.results or not places.keys() >= request.results.keys():
        return None
    return [result_message(result, places[call_id]) for call_id, result in request.results.items()]
