"""Agents of pydantic-ai: their runs as outputs, and conversations as runs.

The framework itself returns the calls of its caller's tools (`ExternalToolset`, `DeferredToolRequests`); see
docs/wires/agents.md#external-tools-of-pydantic-ai. Nothing here imports it before an agent of it exists.
"""

from __future__ import annotations

from partstream.agents.pydantic_ai.adapter import ADAPTER, PydanticAI

__all__ = ["ADAPTER", "PydanticAI"]
