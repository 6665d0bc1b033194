"""Agents of the Microsoft Agent Framework."""

from __future__ import annotations

from typing import Final

from partstream.agents.agent_framework.adapter import AgentFramework

__all__ = ["ADAPTER", "AgentFramework"]

ADAPTER: Final = AgentFramework()
"""Runs agents with the framework's defaults."""
