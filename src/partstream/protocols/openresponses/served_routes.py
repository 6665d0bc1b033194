"""The routes of stored responses: retrieve and resume, delete, cancel, and the items of their input.

The specification has none of them; they are those of OpenAI's API, as its clients ask them (openai 3.54, `responses`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs

from partstream.errors import InvalidRequestError
from partstream.protocols.failures import RefusedRequestError
from partstream.protocols.openresponses.output_items import Identifiers
from partstream.protocols.openresponses.served_requests import input_list
from partstream.protocols.serve import Effect, StoredRoute

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from partstream.protocols.serve import StoredAnswer, WireRequest

__all__ = ["ROUTES", "items_of", "unknown", "unstreamed"]

_MOST_ITEMS: Final = 100
_USUAL_ITEMS: Final = 20
_PREFIXES: Final = {"message": "msg", "function_call": "fc", "function_call_output": "fco", "reasoning": "rs"}


def unknown(answer_id: str) -> RefusedRequestError:
    """The error for a response that is not known: the same, whether there is none or it belongs to somebody else."""
    return RefusedRequestError(f"Response with id '{answer_id}' not found.", "response_id", "not_found", status=404)


def unstreamed(answer_id: str) -> RefusedRequestError:
    """The error for a response whose events were not kept."""
    message = f"Response with id '{answer_id}' has no stream: it was not asked for as one, or is too long to be kept."
    return RefusedRequestError(message, "stream")


def _retrieve(_request: WireRequest, chain: Sequence[StoredAnswer]) -> Mapping[str, Any]:
    return chain[-1].response


def _resumes(request: WireRequest) -> int | None:
    """The number of the first event that a request wants.

    Raises:
        InvalidRequestError: `stream` or `starting_after` is none of what they may be.
    """
    query = parse_qs(request.query)
    stream = query.get("stream", ["false"])[-1].lower()
    if stream not in ("true", "false", "1", "0", ""):
        raise InvalidRequestError("stream", repr(stream[:40]), "true or false")
    if stream not in ("true", "1"):
        return None
    return _number(query, "starting_after", -1, 0, 2**53) + 1


def _deleted(_request: WireRequest, chain: Sequence[StoredAnswer]) -> Mapping[str, Any]:
    return {"id": chain[-1].id, "object": "response", "deleted": True}


def _input_items(request: WireRequest, chain: Sequence[StoredAnswer]) -> Mapping[str, Any]:
    """A page of the items that the model was given, those of earlier responses too; the newest first, unless asked.

    Raises:
        InvalidRequestError: `limit` or `order` is none of what they may be.
        RefusedRequestError: `after` is no item.
    """
    query = parse_qs(request.query)
    limit = _number(query, "limit", _USUAL_ITEMS, 1, _MOST_ITEMS)
    order = query.get("order", ["desc"])[-1]
    if order not in ("asc", "desc"):
        raise InvalidRequestError("order", repr(order[:40]), "asc or desc")
    items = list(_given(chain))
    if order == "desc":
        items.reverse()
    start = 0
    if after := query.get("after", [""])[-1]:
        places = [place for place, item in enumerate(items) if item["id"] == after]
        if not places:
            raise RefusedRequestError(f"Item with id '{after}' not found.", "after", status=404)
        start = places[0] + 1
    page = items[start : start + limit]
    return {
        "object": "list",
        "data": page,
        "first_id": page[0]["id"] if page else "",
        "last_id": page[-1]["id"] if page else "",
        "has_more": start + limit < len(items),
    }


def _given(chain: Sequence[StoredAnswer]) -> Iterator[dict[str, Any]]:
    for answer in chain:
        yield from _input_of(answer)
        if answer is not chain[-1]:
            yield from (dict(item) for item in answer.response.get("output") or ())


def _input_of(answer: StoredAnswer) -> Iterator[dict[str, Any]]:
    """The items of the request's own input, in the form of a stored item: each has an id, a type and, as a message, a
    list of content."""
    identifiers = Identifiers(answer.id)
    for place, item in enumerate(input_list(answer.request)):
        if not isinstance(item, Mapping):
            continue
        kind = item.get("type") or "message"
        made = identifiers.make(_PREFIXES.get(kind, "item"), f"input/{place}")
        stored = {**item, "type": kind, "id": item.get("id") or made}
        if kind == "message":
            stored = {"status": "completed", **stored}
            if isinstance(item.get("content"), str):
                spoken = item.get("role") == "assistant"
                text = {"type": "output_text", "annotations": []} if spoken else {"type": "input_text"}
                stored["content"] = [{**text, "text": item["content"]}]
        yield stored


def items_of(answer: StoredAnswer) -> dict[str, Mapping[str, Any]]:
    """The items of a response and of its own input, by their ids."""
    said = [item for item in answer.response.get("output") or () if isinstance(item, Mapping)]
    return {item["id"]: item for item in (*_input_of(answer), *said) if isinstance(item.get("id"), str)}


def _number(query: Mapping[str, Sequence[str]], name: str, default: int, least: int, most: int) -> int:
    """A whole number of the query.

    Raises:
        InvalidRequestError: It is none, or outside the limits.
    """
    values = query.get(name)
    if not values:
        return default
    text = values[-1]
    if not (text.isascii() and text.isdigit() and len(text) <= 16 and least <= int(text) <= most):
        raise InvalidRequestError(name, repr(text[:40]), f"a whole number from {least} to {most}")
    return int(text)


ROUTES: Final = (
    StoredRoute("GET", "/responses/{id}", _retrieve, resumes=_resumes),
    StoredRoute("DELETE", "/responses/{id}", _deleted, Effect.DELETE),
    StoredRoute("POST", "/responses/{id}/cancel", _retrieve, Effect.CANCEL),
    StoredRoute("GET", "/responses/{id}/input_items", _input_items),
)
