"""Agents of the OpenAI Agents SDK."""

from __future__ import annotations

from typing import Final

from partstream.agents.openai_agents.adapter import OpenAIAgents

__all__ = ["ADAPTER", "OpenAIAgents"]

ADAPTER: Final = OpenAIAgents()
"""Runs agents with the SDK's defaults."""
