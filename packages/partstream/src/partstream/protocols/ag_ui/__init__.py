"""AG-UI: `RunAgentInput` to the address of an agent, server-sent events back."""

from __future__ import annotations
from typing import Final

from partstream.protocols.protocol import Protocol, loaded

OF_MODEL: Final = "/{model}"

PROTOCOL: Final = Protocol(
    name="ag-ui",
    read_response=loaded("partstream.protocols.ag_ui.read_response", "AGUIReader"),
    write_request=loaded("partstream.protocols.ag_ui.write_request", "WRITE_REQUEST"),
    own_settings=loaded("partstream.protocols.ag_ui.write_request", "OWN_SETTINGS"),
    read_request=loaded("partstream.protocols.ag_ui.serve", "READ_REQUEST"),
    write_response=loaded("partstream.protocols.ag_ui.serve", "AGUIWriter"),
    title="AG-UI",
    says="An agent of pydantic-ai, LangGraph, ADK, CrewAI, Mastra or another framework, at its own address",
    paths=(OF_MODEL, ""),
    base_paths=("/ag-ui",),
)
