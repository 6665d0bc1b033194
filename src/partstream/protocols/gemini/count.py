"""The endpoint that counts a request; source: docs/wires/gemini.md#models-and-counting."""

from __future__ import annotations

from dataclasses import replace
from typing import Final
from urllib.parse import unquote

from partstream.protocols.protocol import CountEndpoint
from partstream.protocols.serve import WireRequest

__all__ = ["COUNT", "COUNT_METHOD"]

COUNT_METHOD: Final = ":countTokens"
_COUNTED: Final = frozenset({"contents", "systemInstruction", "tools", "toolConfig", "generationConfig"})
_MODELS: Final = "/models/"


def _question(request: WireRequest) -> WireRequest:
    """The same request within `generateContentRequest`: so the tokens of tools and system count too."""
    path = request.path.rpartition(":")[0]
    counted = {name: value for name, value in request.body.items() if name in _COUNTED}
    model = f"models/{unquote(path.removeprefix(_MODELS))}"
    body = {"generateContentRequest": {"model": model, **counted}}
    return replace(request, path=path + COUNT_METHOD, body=body, query="")


COUNT: Final = CountEndpoint(_question, "totalTokens")
