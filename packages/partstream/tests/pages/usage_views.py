"""What a page of token usage may be given."""

from datetime import UTC, datetime

from partstream.tokens.records import UsageRow
from partstream.tokens.usage import AnswerUsage, UsageBook, UsageView

NOW = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)
DAY = 24 * 3600.0


def answer(**changes: object) -> AnswerUsage:
    """An answer of which everything is known."""
    known: AnswerUsage = {
        "model": "Claude Sonnet 4.5",
        "endedAt": NOW.timestamp() - 60,
        "inputTokens": 42_100,
        "outputTokens": 1_200,
        "cachedTokens": 36_627,
        "cost": 0.0132,
        "source": "reported",
        "maxInputTokens": 200_000,
        "edits": [],
    }
    return known | changes  # type: ignore[return-value, operator] - the names are those of the fields


def row(days: float, **changes: object) -> UsageRow:
    """The usage of an answer so many days ago, as the ledger has it."""
    known = {"input_tokens": 1_000, "output_tokens": 20, "cached_tokens": 600, "reasoning_tokens": None, "cost": 0.25}
    known |= {"model": "gpt-5", "upstream": "u", "conversation": "old"} | changes
    return UsageRow(time=NOW.timestamp() - days * DAY, **known)  # type: ignore[arg-type] - as above


def view(*answers: AnswerUsage, rows: tuple[UsageRow, ...] = (), asked_by: str | None = None) -> UsageView:
    """What a page shows of these answers, all of one conversation, and of rows of the ledger."""
    book = UsageBook()
    book.remember(rows, asked_by)
    for one in answers:
        book.add(one, "new")
    return book.view()
