"""How to request the details of one model and how to read them: a row for each kind of details."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.json_codec import dumps
from partstream.models.endpoints import endpoints_path, read_endpoints
from partstream.models.local_shapes import read_props
from partstream.models.ollama import read_show
from partstream.models.shape import DetailKind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from partstream.upstream.model_facts import ModelRecord, Problem

__all__ = ["RUNNING_PATHS", "DetailRequest", "detail_request", "read_detail"]


@dataclass(frozen=True, slots=True)
class DetailRequest:
    """A request for the details of one model.

    Attributes:
        path: The path of the request.
        is_native: Whether the path replaces the base URL's `/v1` instead of following it.
        body: The body of a POST, or None for a GET.
    """

    path: str
    is_native: bool = False
    body: bytes | None = None


def detail_request(kind: DetailKind, model_id: str) -> DetailRequest | None:
    """The request for a model's details; None if this id allows no request."""
    return _REQUESTS[kind](model_id)


def read_detail(kind: DetailKind, model_id: str, document: Any) -> tuple[ModelRecord | None, tuple[Problem, ...]]:
    """The record in an answer, and its problems; the record is None if the model is not a language model.

    Raises:
        UpstreamProtocolError: `document` is not an answer of this kind.
    """
    return _READERS[kind](model_id, document)


def _endpoints(model_id: str) -> DetailRequest | None:
    path = endpoints_path(model_id)
    return None if path is None else DetailRequest(path)


def _ollama_show(model_id: str) -> DetailRequest | None:
    return DetailRequest("/api/show", True, dumps({"model": model_id}))


_REQUESTS: Final[Mapping[DetailKind, Callable[[str], DetailRequest | None]]] = {
    DetailKind.ENDPOINTS: _endpoints,
    DetailKind.OLLAMA_SHOW: _ollama_show,
    DetailKind.LLAMA_CPP_PROPS: lambda _model_id: DetailRequest("/props", is_native=True),
}
RUNNING_PATHS: Final[Mapping[DetailKind, str]] = {DetailKind.OLLAMA_SHOW: "/api/ps"}
"""The paths of the list of loaded models, at servers with these details."""
_READERS: Final[Mapping[DetailKind, Callable[[str, Any], tuple[ModelRecord | None, tuple[Problem, ...]]]]] = {
    DetailKind.ENDPOINTS: read_endpoints,
    DetailKind.OLLAMA_SHOW: read_show,
    DetailKind.LLAMA_CPP_PROPS: read_props,
}
