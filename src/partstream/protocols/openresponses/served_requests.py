"""Requests that refer to earlier responses: what they refer to, and the request with it.

The server samples over the input and output of the responses before, then the new input (specification 2026-04-24,
`previous_response_id`). Instructions and tools are those of the new request alone.

An item of the input may name an item of an earlier response (`item_reference`), as the AI SDK does where responses are
stored; the item stands there then.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from partstream.errors import InvalidRequestError
from partstream.protocols.failures import RefusedRequestError
from partstream.protocols.openresponses.errors import ENCRYPTED_REASONING
from partstream.protocols.openresponses.sealed_summary import open_compactions
from partstream.protocols.read_request import described, optional_text
from partstream.protocols.serve import RequestReferences, ResolvedRequest

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from partstream.protocols.serve import ResolvedReferences, StoredAnswer, WireRequest

__all__ = ["NOT_FOUND_CODE", "input_list", "join", "keeps", "refuse", "unkept", "wanted", "whole"]

NOT_FOUND_CODE: Final = "previous_response_not_found"

_REFERENCE: Final = "item_reference"

_NOT_OFFERED: Final[dict[str, str]] = {
    "conversation": "this server keeps no conversations; send previous_response_id, or the whole input",
    "background": "this server has no jobs in the background; leave it out and read the stream",
    "prompt": "this server keeps no prompts; send instructions and input",
}
"""What would change the meaning of an answer if it were ignored, and what to do in its place."""


def refuse(request: WireRequest) -> None:
    """Refuses what this server does not offer, by the name of the field.

    Raises:
        RefusedRequestError: The request asks for it.
    """
    for name, advice in _NOT_OFFERED.items():
        if request.body.get(name):
            raise RefusedRequestError(f"got {name}: {advice}", name, "unsupported_parameter")


def wanted(request: WireRequest) -> RequestReferences:
    """What of earlier responses a request refers to.

    Raises:
        InvalidRequestError: `previous_response_id` or `input` has the wrong type.
    """
    previous = optional_text(request.body, "previous_response_id")
    items = input_list(request.body)
    return RequestReferences(previous or None, tuple(item["id"] for item in items if _is_reference(item)))


def join(request: WireRequest, earlier: ResolvedReferences, secret: bytes) -> ResolvedRequest:
    """A request with everything that it refers to.

    Raises:
        RefusedRequestError: A response or an item is not known, an output has no call, or a summary is not one of this
            installation.
        InvalidRequestError: `previous_response_id` or `input` has the wrong type.
    """
    asked = wanted(request)
    items = [_resolved(item, place, earlier) for place, item in enumerate(input_list(request.body))]
    own = replace(request, body={**request.body, "input": items})
    if asked.answer_id is not None:
        if not earlier.chain:
            raise RefusedRequestError(
                f"Previous response with id '{asked.answer_id}' not found.", "previous_response_id", NOT_FOUND_CODE
            )
        before = _said(earlier.chain)
        _refuse_lonely_outputs(items, before)
        items = before + items
    body = {**request.body, "input": open_compactions(items, secret)}
    if keeps(request):  # the next request brings the state of reasoning back through what is kept
        body["include"] = _with_state(body.get("include"))
    return ResolvedRequest(replace(request, body=body), own)


def keeps(request: WireRequest) -> bool:
    """Whether the client wants the response to be kept, as it does unless it says otherwise."""
    return request.body.get("store") is not False


def unkept(request: WireRequest) -> WireRequest:
    """The request for a response that is not kept, and says so."""
    return replace(request, body={**request.body, "store": False})


def whole(chain: Sequence[StoredAnswer], answer: StoredAnswer) -> StoredAnswer:
    """A response with the conversation before it as the input of its own request."""
    return replace(answer, previous_id=None, request={"input": [*_said(chain), *input_list(answer.request)]})


def input_list(body: Mapping[str, Any]) -> list[Any]:
    """The items of an input; a text is one message of the user.

    Raises:
        InvalidRequestError: It is neither.
    """
    value = body.get("input")
    if value is None:
        return []
    if isinstance(value, str):
        return [{"type": "message", "role": "user", "content": value}]
    if not isinstance(value, list):
        raise InvalidRequestError("input", described(value), "a string or a list of items")
    return value


def _is_reference(item: object) -> bool:
    """The specification lets the type be left out."""
    if not isinstance(item, Mapping) or not isinstance(item.get("id"), str):
        return False
    return item.get("type") == _REFERENCE or (item.get("type") is None and "role" not in item)


def _resolved(item: Any, place: int, earlier: ResolvedReferences) -> Any:
    if not _is_reference(item):
        return item
    found = earlier.items.get(item["id"])
    if found is None:
        raise RefusedRequestError(f"Item with id '{item['id']}' not found.", f"input[{place}].id", status=404)
    return found


def _said(chain: Iterable[StoredAnswer]) -> list[Any]:
    """All input and output of responses."""
    return [item for one in chain for item in (*input_list(one.request), *(one.response.get("output") or ()))]


def _refuse_lonely_outputs(items: Iterable[Any], before: Iterable[Any]) -> None:
    """Refuses outputs of calls that neither the responses before nor the request hold.

    An id that is no text is left to the reader of items, which says so.
    """
    calls = [item.get("call_id") for item in (*before, *items) if _is(item, "function_call")]
    known = {one for one in calls if isinstance(one, str)}
    for place, item in enumerate(items):
        call_id = item.get("call_id") if _is(item, "function_call_output") else None
        if isinstance(call_id, str) and call_id not in known:
            raise RefusedRequestError(
                f"No tool call found for function call output with call_id {call_id}.",
                f"input[{place}].call_id",
            )


def _is(item: object, kind: str) -> bool:
    return isinstance(item, Mapping) and item.get("type") == kind


def _with_state(include: Any) -> Any:
    if include is None:
        return [ENCRYPTED_REASONING]
    if not isinstance(include, list) or ENCRYPTED_REASONING in include:
        return include
    return [*include, ENCRYPTED_REASONING]
