"""The list for the AI Gateway's own client, which accepts only models of its version of the specification.

Source: `gateway-config.json` of the recordings. The base path of a client says its version: `/v1/ai` speaks version 2.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from partstream.protocols.serve import ServedDocument

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from partstream.protocols.serve import ServedModel, WireRequest

__all__ = ["DOCUMENTS"]

_VERSIONS: Final[Mapping[str, str]] = MappingProxyType({"/v3/ai": "3", "/v1/ai": "2", "/v4/ai": "4"})
"""The version of the specification, by the base path of each major version of the published client."""

_NEWEST: Final = "4"


def _configuration(request: WireRequest, models: Sequence[ServedModel], _tokens: int) -> tuple[int, dict[str, Any]]:
    version = _VERSIONS.get(request.base_path, _NEWEST)
    return 200, {"models": [_entry(model, version) for model in models]}


def _entry(model: ServedModel, version: str) -> dict[str, Any]:
    return {
        "id": model.id,
        "name": model.name,
        "description": None,
        "pricing": {"input": model.input_price, "output": model.output_price},
        "specification": {"specificationVersion": f"v{version}", "provider": "partstream", "modelId": model.id},
        "modelType": "language",
    }


DOCUMENTS: Final = (ServedDocument("GET", "/config", _configuration),)
