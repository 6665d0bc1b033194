"""An agent of pydantic-ai behind its own AG-UI adapter on loopback, and a provider that asks it."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

from pydantic_ai.ui.ag_ui import AGUIAdapter
from scenarios import Chat, ModelScript
from scripted_pydantic_ai import ScriptedPydanticAI
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from listening import listening
from partstream import LanguageModelChatInformation
from partstream.conversation.preparation import RequestSettings
from partstream.server.loopback import ServerConnection
from partstream.upstream.configuration import GatewayConfiguration
from partstream.upstream.provider import GatewayProvider

__all__ = ["Served", "served"]

MODEL = LanguageModelChatInformation("agent", "Agent", "ag-ui", "1", 100_000, 10_000)


class Served:
    """The agent on its server, and who asks it.

    Attributes:
        url: The agent's address.
        script: What its model says.
        bodies: The body of each request.
    """

    def __init__(self, script: ModelScript, **settings: Any) -> None:
        self.url = ""
        self.script = script
        self.bodies: list[dict[str, Any]] = []
        self._agent = ScriptedPydanticAI().agent(script, **settings)

    def chat(self, request: RequestSettings = RequestSettings(), **settings: Any) -> tuple[GatewayProvider, Chat]:  # noqa: B008 - immutable
        """A provider and a conversation with its model; `settings` are those of the chat."""
        provider = GatewayProvider(GatewayConfiguration(self.url, models=(MODEL,), protocol="ag-ui", request=request))
        return provider, Chat(provider, **settings)

    async def answer(self, request: Request) -> Response:
        """Runs the agent, as pydantic-ai's documents say."""
        self.bodies.append(await request.json())
        return await AGUIAdapter.dispatch_request(
            request, agent=self._agent, include_usage=True, manage_system_prompt="client"
        )


@asynccontextmanager
async def served(script: ModelScript, chats: Iterable[dict[str, Any]] = ({},), **settings: Any) -> AsyncIterator[Any]:
    """The server and one conversation with each of some settings; `settings` are those of the agent."""
    one = Served(script, **settings)
    application = Starlette(routes=[Route("/agent", one.answer, methods=["POST"])])

    async def as_uvicorn(scope: Any, receive: Any, send: Any) -> None:
        """From 2.4 on, starlette looks for a client that has left only when it sends something."""
        await application({**scope, "asgi": {"version": "3.0", "spec_version": "2.3"}}, receive, send)

    async def serve(connection: ServerConnection) -> None:
        while (request := await connection.next_request()) is not None:
            await connection.answer(request, as_uvicorn)

    async with listening(serve) as url:
        one.url = f"{url}/agent"
        asking = [one.chat(**each) for each in chats]
        try:
            yield one, *(chat for _, chat in asking)
        finally:
            for provider, _ in asking:
                await provider.aclose()
