"""What the models of one upstream refuse of a request, and what a request holds without it."""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Final

from partstream.tokens.accounting import LIMIT_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from partstream.conversation.preparation import ChatRequest, RequestSettings
    from partstream.errors import UpstreamError
    from partstream.protocols.protocol import RequestWriterSpec
    from partstream.protocols.serve import WireRequest
    from partstream.tokens.ledger import Ledger
    from partstream.upstreams.retry import Sending

__all__ = ["RefusedFields", "less_of", "set_by_a_person", "written"]

_logger = logging.getLogger("partstream.upstreams")


_IDENTITY_SIZE: Final = 12
"""The bytes of the identity of a request, on wires where each has one."""

_MOST_OF_A_MODEL: Final = 100
"""A person may try any number of values; those that were refused first are tried again first."""


class RefusedFields:
    """Remembers which optional fields each model of one upstream refused; serves any number of requests at once.

    A field is tried again after as long as a learned limit is valid: servers are replaced. Where only a value was
    refused, that is remembered as long as this object lives: the value may be a person's own.

    Args:
        upstream: The identity of the upstream: a digest, never an address.
        ledger: Remembers longer than this object; None for a memory of this object alone.
        clock: Returns the seconds since 1970.
    """

    def __init__(
        self, upstream: str = "", ledger: Ledger | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        self._upstream = upstream
        self._ledger = ledger
        self._clock = clock
        self._is_read = ledger is None
        self._taken = 0
        self._learned: dict[str, dict[str, float]] = {}
        self._said: set[tuple[str, str]] = set()

    def of(self, model_id: str) -> frozenset[str]:
        """The names of the fields that a model refuses."""
        self._read()
        since = self._clock() - LIMIT_SECONDS
        return frozenset(name for name, learned in self._learned.get(model_id, {}).items() if learned >= since)

    def keep(self, model_id: str, names: frozenset[str]) -> None:
        """Remembers the fields without which a model answered."""
        new, now = names - self.of(model_id), self._clock()
        learned = self._learned.setdefault(model_id, {})
        for name in new:
            if len(learned) >= _MOST_OF_A_MODEL:
                del learned[min(learned, key=learned.__getitem__)]
            learned[name] = now
            self._said.add((model_id, name))
            if self._ledger is not None and "=" not in name:
                self._ledger.keep_refusal(self._upstream, model_id, name, now)
        if self._ledger is not None and new:
            self._ledger.flush()

    def say_what_is_left_out(self, upstream: RequestWriterSpec, asked: ChatRequest, ours: RequestSettings) -> None:
        """Logs once which fields a request goes without because they were refused before this object was made.

        Args:
            upstream: Writes the request.
            asked: The request.
            ours: The settings as they are where a person has set none.
        """
        model_id = asked.model_id
        unsaid = {name for name in self.of(model_id) if (model_id, name) not in self._said}
        if not unsaid:
            return
        whole = upstream.write(asked)
        missing = frozenset(name for name in unsaid if upstream.leave_out(whole, {name}).body != whole.body)
        if not missing:
            return
        self._said |= {(model_id, name) for name in missing}
        chosen = set_by_a_person(upstream, asked, ours, missing)
        whose = f" (you set {_shown(chosen)})" if chosen else ""
        level = logging.WARNING if chosen else logging.INFO
        _logger.log(level, "%s refused %s before%s: left out", model_id, _shown(missing), whose)

    def _read(self) -> None:
        """Reads once what was learned before this object, and again when another ledger has told of a refusal."""
        if self._ledger is None or (self._is_read and self._taken == self._ledger.taken_refusals):
            return
        self._taken = self._ledger.taken_refusals
        known = self._ledger.refusals(self._upstream)
        self._is_read = known is not None  # not in time: read again with the next request
        for model_id, learned in (known or {}).items():
            self._learned[model_id] = {**learned, **self._learned.get(model_id, {})}


def written(upstream: RequestWriterSpec, asked: ChatRequest, left_out: frozenset[str]) -> WireRequest:
    """A request on its wire, without the optional fields that are left out.

    Raises:
        RequestNotExpressibleError: The protocol has no form for something in the request.
    """
    request = upstream.write(asked)
    if upstream.identify is not None:
        request = upstream.identify(request, token_hex(_IDENTITY_SIZE))
    return upstream.leave_out(request, left_out) if left_out else request


def less_of(
    upstream: RequestWriterSpec, asked: ChatRequest, ours: RequestSettings, error: UpstreamError, sending: Sending
) -> Sending:
    """How a request is sent without what an error refuses; as before where it refuses nothing that was sent.

    Args:
        upstream: Writes the request.
        asked: The request that was refused.
        ours: The settings as they are where a person has set none.
        error: The refusal.
        sending: How the request was sent.
    """
    carried = sending.carried.without_first(upstream.errors.refused(error))
    if carried != sending.carried:
        _logger.info("sending the whole request again: the upstream refused what it carried (%s)", error)
        return replace(sending, carried=carried)
    sent = written(upstream, asked, sending.left_out)
    fields = upstream.errors.refused_fields(error, sent.body) - sending.left_out
    less = upstream.leave_out(sent, fields)
    if not fields or less.body == sent.body:
        return sending
    _say(asked.model_id, fields, set_by_a_person(upstream, asked, ours, fields), _in_its_place(sent, less), error)
    return replace(sending, left_out=sending.left_out | fields)


def _say(
    model_id: str, fields: frozenset[str], chosen: frozenset[str], in_its_place: Mapping[str, Any], error: UpstreamError
) -> None:
    """Logs what is left out and why: as a warning where the answer may be another one than a person asked for."""
    whose = f" (you set {_shown(chosen)})" if chosen else ""
    how = ", ".join(f"with {name} {value!r:.40}" for name, value in in_its_place.items()) or "without it"
    is_other = any(not name.startswith("max_") for name in in_its_place)
    level = logging.WARNING if chosen or is_other else logging.INFO
    _logger.log(level, "%s refuses %s%s: sent again %s; %s", model_id, _shown(fields), whose, how, error)


def _shown(names: Collection[str]) -> str:
    """The fields without their values, which may be nobody's business."""
    return ", ".join(sorted({name.partition("=")[0] for name in names}))


def _in_its_place(sent: WireRequest, less: WireRequest) -> Mapping[str, Any]:
    """The plain values that the second request has and the first had not: twins, and other values."""
    return {
        name: value
        for name, value in less.body.items()
        if isinstance(value, str | int | float) and sent.body.get(name) != value
    }


def set_by_a_person(
    upstream: RequestWriterSpec, asked: ChatRequest, ours: RequestSettings, names: frozenset[str]
) -> frozenset[str]:
    """Which of the fields a request has because a person chose them: by an option, in the picker, or in a setting.

    Args:
        upstream: Writes the request.
        asked: The request.
        ours: The settings as they are where a person has set none.
        names: The fields.
    """
    plain = upstream.write(replace(asked, options={}, reasoning_effort=None, context_size=None, settings=ours))
    return frozenset(name for name in names if upstream.leave_out(plain, {name}).body == plain.body)
