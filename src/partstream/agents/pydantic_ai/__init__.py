"""Agents of pydantic-ai: their runs as outputs, and conversations as runs.

The framework gives the tools of its caller back by itself (`ExternalToolset`, `DeferredToolRequests`); see
facts on agents, section 2.1. It is imported by nothing here before there is an agent of it.
"""

from __future__ import annotations

from partstream.agents.pydantic_ai.adapter import ADAPTER, PydanticAI

__all__ = ["ADAPTER", "PydanticAI"]
