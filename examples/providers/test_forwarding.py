import asyncio

import pytest
from forwarding import provider

from partstream import CheckMode, LanguageModelErrorCode, UpstreamHTTPError, connect
from partstream_devtools.testing.upstream import ReplayUpstream


def test_an_answer_passes_and_a_refusal_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    async def ask() -> None:
        async with ReplayUpstream() as server, connect(provider, contract_mode=CheckMode.STRICT) as model:
            monkeypatch.setenv("MODEL_SERVER", server.base_url)
            assert "42" in await model.ask("scenario:thinking")
            assert server.requests[-1].body["stream"] is True
            with pytest.raises(UpstreamHTTPError) as refused:
                await model.ask("fault:status=401")
            assert refused.value.code is LanguageModelErrorCode.NO_PERMISSIONS

    asyncio.run(ask())
