"""What a provider counts, for a server and for VS Code."""

from __future__ import annotations
import asyncio
from itertools import pairwise
from typing import TYPE_CHECKING

from partstream import CancellationTokenSource, ChatMessage, TextPart, TokenCount, chat_model
from partstream.tokens import counting

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import pytest

MANY = ChatMessage.user([TextPart("a" * 20_000) for _ in range(100)])


def test_others_have_their_turn_while_a_provider_counts_a_message_of_many_parts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(counting, "TURN_SECONDS", 0.0)
    happened: list[str] = []

    def count_tokens(text: str | ChatMessage) -> int:
        happened.append("counted")
        return (
            len(text)
            if isinstance(text, str)
            else sum(len(part.value) for part in text.content if isinstance(part, TextPart))
        )

    @chat_model(id="own", name="Own", count_tokens=count_tokens)
    async def own(messages: object, options: object) -> AsyncIterator[str]:
        yield "never asked"

    async def main() -> tuple[list[TokenCount], BaseException | None]:
        async def others() -> None:
            while True:
                happened.append("others")
                await asyncio.sleep(0)

        beside = asyncio.create_task(others())
        token = CancellationTokenSource().token
        try:
            return await counting.count_all(own, own.information, [MANY], token, lambda *_: True)
        finally:
            beside.cancel()

    counts, failure = asyncio.run(main())
    assert ([one.tokens for one in counts], failure) == ([2_000_000], None)
    at = [place for place, what in enumerate(happened) if what == "counted"]
    assert len(at) > 20
    assert all("others" in happened[before:after] for before, after in pairwise(at))
