"""Agents of other frameworks as language models: an agent in VS Code's model picker, and in `partstream serve`.

::

    from pydantic_ai import Agent
    from partstream_agents import as_model

    provider = as_model(Agent("openai:gpt-5"), name="My agent")

The names below are the public API. Each is imported when it is first used; no framework ever is, because the file with
the agent has imported its framework.
"""

from __future__ import annotations
from importlib import import_module
from typing import TYPE_CHECKING, Any

import partstream.codec.silent_log  # noqa: F401 - for its effect

if TYPE_CHECKING:
    from partstream.lm.inner_activity import InnerCall, InnerResult
    from partstream.runtime.client_events import ClientEvents, from_events, in_thread
    from partstream.runtime.client_failures import AgentFailedError, AgentSaidNothingError, FailureKind
    from partstream_agents.acp.client import acp_agent
    from partstream_agents.adapter import (
        AgentAdapter,
        AgentFile,
        AgentOutput,
        AgentPairing,
        AgentRequest,
        Approval,
        ApprovalAsked,
        Decision,
        ExternalCalls,
        Handover,
        KeptState,
        Question,
        ResultObject,
        StepBegun,
        StepUsage,
        SubAgentText,
    )
    from partstream_agents.agent_model import AgentModel, as_model
    from partstream_agents.answer import ApprovalPolicy, ApproveFunction, HostTools, ToolActivity
    from partstream_agents.detection import UnknownAgentError, find_adapter
    from partstream_agents.run import RunStates

__all__ = [
    "AgentAdapter",
    "AgentFailedError",
    "AgentFile",
    "AgentModel",
    "AgentOutput",
    "AgentPairing",
    "AgentRequest",
    "AgentSaidNothingError",
    "Approval",
    "ApprovalAsked",
    "ApprovalPolicy",
    "ApproveFunction",
    "ClientEvents",
    "Decision",
    "ExternalCalls",
    "FailureKind",
    "Handover",
    "HostTools",
    "InnerCall",
    "InnerResult",
    "KeptState",
    "Question",
    "ResultObject",
    "RunStates",
    "StepBegun",
    "StepUsage",
    "SubAgentText",
    "ToolActivity",
    "UnknownAgentError",
    "acp_agent",
    "as_model",
    "find_adapter",
    "from_events",
    "in_thread",
]

_LAZY = dict.fromkeys(__all__, "partstream_agents.adapter") | {
    **dict.fromkeys(("AgentModel", "as_model"), "partstream_agents.agent_model"),
    **dict.fromkeys(("ApprovalPolicy", "ApproveFunction", "HostTools", "ToolActivity"), "partstream_agents.answer"),
    **dict.fromkeys(("UnknownAgentError", "find_adapter"), "partstream_agents.detection"),
    **dict.fromkeys(("InnerCall", "InnerResult"), "partstream.lm.inner_activity"),
    **dict.fromkeys(("ClientEvents", "from_events", "in_thread"), "partstream.runtime.client_events"),
    **dict.fromkeys(("AgentFailedError", "AgentSaidNothingError", "FailureKind"), "partstream.runtime.client_failures"),
    "RunStates": "partstream_agents.run",
    "acp_agent": "partstream_agents.acp.client",
}


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    module = _LAZY.get(name)
    if module is None:
        raise AttributeError(f"module 'partstream_agents' has no attribute {name!r}")
    if name == "acp_agent":
        import_module("partstream_agents.acp").require_acp(name)
    return getattr(import_module(module), name)
