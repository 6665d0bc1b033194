"""Server example: a language model for VS Code.

Ask it with `partstream chat --provider server_example.py`.
"""

from collections.abc import AsyncIterator, Sequence
from os import environ

from partstream import ChatMessage, Finish, RequestOptions, ResponsePart, chat_model, connect

# The base URL of your server; `partstream upstream` is one to try. Its protocol is detected.
DEFAULT_SERVER = "http://localhost:11434/v1"


@chat_model(name="Server example", id="server_example")
async def provider(messages: Sequence[ChatMessage], options: RequestOptions) -> AsyncIterator[ResponsePart | Finish]:
    """Called once for each message, with the whole conversation; hands on what the server answers."""
    async with connect(environ.get("MODEL_SERVER", DEFAULT_SERVER), api_key=environ.get("MODEL_SERVER_KEY")) as model:
        response = model.stream(messages, options)
        async for part in response:
            yield part
        if response.finish is not None:
            yield response.finish
