"""The promises that only a driver can judge, as data beside the rules of the contract; knows no way to judge them.

`partstream.lm.contract.UNOBSERVABLE` says of some of them why no stream of parts shows them: the kit has both sides.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from partstream.lm.contract import RULES, Level

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["KIT_PROMISES", "PROMISES", "Promise"]


@dataclass(frozen=True, slots=True)
class Promise:
    """Something that a target promises: a rule of the contract, or a promise that the kit adds.

    Attributes:
        id: The stable name, `<subject>.<promise>`.
        section: The section of the document that states it; `kit` where the document says nothing.
        level: The requirement level.
        text: The promise as one sentence.
    """

    id: str
    section: str
    level: Level
    text: str


_TABLE: Final = (
    Promise("stream.ends", "5.1", Level.MUST, "A response ends within the limit of time."),
    Promise("stream.resolves", "5.1", Level.MUST, "A response resolves when the model has completed its answer."),
    Promise(
        "text.complete", "kit", Level.MUST, "The text of an answer is what the model said: nothing lost, nothing twice."
    ),
    Promise("text.as-received", "8.2", Level.SHOULD, "Text is emitted as it is received."),
    Promise(
        "tool-call.complete",
        "kit",
        Level.MUST,
        "Every call of the model arrives once, with its name and its arguments.",
    ),
    Promise("usage.as-reported", "kit", Level.MUST, "The usage of an answer is that of the model server."),
    Promise("failure.rejects", "5.3", Level.MUST, "An answer that failed or broke off is rejected."),
    Promise("failure.keeps-parts", "5.3", Level.SHOULD, "What came before a failure is not lost."),
    Promise("failure.logged", "8.2", Level.SHOULD, "Errors of the upstream are logged, or raised with what it said."),
    Promise("cancellation.stops-upstream", "5.2", Level.SHOULD, "A cancelled provider stops requesting data."),
    Promise("request.text-arrives", "kit", Level.MUST, "The text of the user reaches the model."),
    Promise("request.tools-arrive", "kit", Level.MUST, "The tools of the request reach the model."),
    Promise("request.images-arrive", "kit", Level.MUST, "An image of the user reaches the model."),
    Promise("request.results-arrive", "7.3", Level.MUST, "The results of tools reach the model."),
    Promise("concurrency.no-mixing", "kit", Level.MUST, "Answers to requests at the same time do not mix."),
    Promise("models.listed", "kit", Level.MUST, "The list of models comes, and each id stands in it once."),
    Promise("models.same-twice", "kit", Level.SHOULD, "Two lists of models right after each other are the same."),
    Promise("models.cancelled", "kit", Level.SHOULD, "A cancelled list of models ends."),
    Promise(
        "models.no-change-event", "kit", Level.MUST, "Listing the models does not announce that the list has changed."
    ),
    Promise("tokens.count", "kit", Level.MUST, "A token count is a whole number of 0 or more, for any text."),
    Promise("tokens.monotone", "kit", Level.SHOULD, "A longer text has no fewer tokens, but for a small bound."),
    Promise(
        "parser.same-parts", "kit", Level.MUST, "A parser makes the same of the same bytes, wherever they are cut."
    ),
    Promise("parser.whole-calls", "kit", Level.MUST, "A parser hands out no call that has not come whole."),
    Promise("parser.server-shape", "kit", Level.MUST, "A parser reads the streams that real servers send."),
    Promise("parser.recorded-text", "kit", Level.MUST, "The text of recorded streams is right."),
    Promise("parser.recorded-thinking", "kit", Level.MUST, "The thinking of recorded streams is right."),
    Promise("parser.recorded-calls", "kit", Level.MUST, "The calls of recorded streams are right."),
    Promise("parser.recorded-tokens", "kit", Level.MUST, "The tokens of recorded streams are right, if any are told."),
    Promise("parser.recorded-errors", "kit", Level.MUST, "Recorded streams that fail are failures, and no others."),
)

KIT_PROMISES: Final[Mapping[str, Promise]] = MappingProxyType({promise.id: promise for promise in _TABLE})
"""The promises that the kit adds, by id."""

PROMISES: Final[Mapping[str, Promise]] = MappingProxyType(
    {rule.id: Promise(rule.id, rule.section, rule.level, rule.text) for rule in RULES.values()} | dict(KIT_PROMISES)
)
"""All promises by id: first the rules of the contract."""
