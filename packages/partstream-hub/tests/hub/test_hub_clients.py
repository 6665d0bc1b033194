"""The official clients on a hub: a spent budget is asked of once, and what a hub refuses is said as they read it."""

from __future__ import annotations
import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from hub.hubs import QUICK, Seller, budget, person
from partstream.tokens.amounts import DOLLAR, BudgetUnit, Period
from partstream_hub.app import hub_app
from partstream_hub.hub import HubSettings
from serving.served import served
from serving.test_official_clients_and_failures import ASKING

if TYPE_CHECKING:
    from pathlib import Path

    from hub.stores import HubDatabase

pytestmark = pytest.mark.parametrize("hub_database", ["sqlite"], indirect=True)


async def _asked(database: HubDatabase, folder: Path, wire: str, stream: bool, *changes: Any) -> Any:
    """The error that the official client raises, and what the hub has observed."""
    from anthropic import APIStatusError as AnthropicError
    from anthropic import AsyncAnthropic
    from openai import APIError, AsyncOpenAI

    ana, known = person("ana")
    database.migrated().change([*known, *changes], "test")
    application = hub_app(Seller(), database.store(), HubSettings(worker=QUICK, locks=folder / "locks"))
    seen: list[int] = []
    application.on_did_finish_answer(lambda answer: seen.append(answer.status))
    async with served(application) as url:
        kind, base_url = (AsyncAnthropic, url) if wire == "messages" else (AsyncOpenAI, f"{url}/v1")
        async with kind(base_url=base_url, api_key=ana.key.secret.reveal(), max_retries=2) as client:
            with pytest.raises((AnthropicError, APIError)) as caught:
                await ASKING[wire](client, stream)
    return caught.value, seen


@pytest.mark.parametrize("stream", [False, True], ids=["document", "stream"])
@pytest.mark.parametrize("unit", list(BudgetUnit))
@pytest.mark.parametrize(
    ("wire", "status", "kind"),
    [
        ("responses", 429, "insufficient_quota"),
        ("chat", 429, "insufficient_quota"),
        ("messages", 402, "billing_error"),
    ],
)
def test_a_client_sends_one_request_to_a_spent_budget(hub_database, tmp_path: Path, wire, status, kind, unit, stream):
    limit = budget("ana", DOLLAR // 100 if unit is BudgetUnit.MONEY else 3, unit, period=Period.MONTH)
    error, seen = asyncio.run(_asked(hub_database, tmp_path, wire, stream, limit))
    assert seen == [status]
    assert error.status_code == status
    assert kind in str(error.body)
    assert "the budget of person ana does not cover this request" in str(error)
    assert "resets 20" in str(error)
