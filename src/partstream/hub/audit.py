"""What is kept of an answer: the row with which it is charged; its texts only where the policy of a team says so."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from partstream.codec.json_codec import dumps
from partstream.hub.directory import AuditLevel
from partstream.hub.store.values import AnswerContent, LedgerRow
from partstream.part_json import part_json

if TYPE_CHECKING:
    from collections.abc import Iterable

    from partstream.hub.charging import Taken
    from partstream.hub.hub import DirectoryCaller
    from partstream.messages import ChatMessage
    from partstream.serving.admission import AnswerRequest, EndedAnswer

__all__ = ["begun_row", "content_of", "ended_row", "keeps_content"]


def keeps_content(asking: DirectoryCaller) -> bool:
    """Whether the request and the answer of somebody are kept."""
    return _level(asking) is AuditLevel.CONTENT


def _level(asking: DirectoryCaller) -> AuditLevel:
    team = asking.directory.team_of(asking.person)
    return AuditLevel.METADATA if team is None else team.policy.audit


def content_of(row: LedgerRow, ended: EndedAnswer) -> AnswerContent:
    """A request and its answer as JSON; of a long answer the beginning."""
    request = _messages(ended.asked.messages)
    return AnswerContent(row.answer_id, row.time, row.person, request, _messages([ended.answer()]))


def _messages(messages: Iterable[ChatMessage]) -> str:
    said: list[dict[str, Any]] = [
        {"role": one.role.name.lower(), "content": [part_json(part) for part in one.content]} for one in messages
    ]
    return bytes(dumps(said)).decode(errors="replace")


def begun_row(asking: DirectoryCaller, request: AnswerRequest, time: float) -> LedgerRow:
    """The row of an answer as it begins: who asks for what."""
    is_audited = _level(asking) is not AuditLevel.NONE
    client = request.client
    return LedgerRow(
        answer_id=request.request_id,
        time=time,
        key_id=asking.key.id,
        person=asking.person.name,
        team=asking.person.team,
        model=request.model.id,
        provider=request.model.provider_name,
        upstream_model=request.model.information.id,
        client=client.name if is_audited else "",
        session=client.session if is_audited else None,
        wire=request.wire,
    )


def ended_row(begun: LedgerRow, ended: EndedAnswer, taken: Taken) -> LedgerRow:
    """The row of an answer that is over.

    Args:
        begun: Its row as it began.
        ended: The answer.
        taken: What it took.
    """
    observation, usage = ended.observation, taken.usage
    outcome = "" if observation.outcome is None else observation.outcome.value
    return replace(
        begun,
        provider=observation.provider or begun.provider,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cached_tokens=usage.cached_tokens,
        cache_write_tokens=usage.cache_write_tokens,
        reasoning_tokens=usage.reasoning_tokens,
        nanodollars=taken.nanodollars,
        is_estimated=taken.is_estimated,
        status=observation.status,
        outcome="cancelled" if observation.is_cancelled else outcome,
        error=observation.error,
        seconds=observation.duration,
        first_part_after=observation.first_part_after,
    )
