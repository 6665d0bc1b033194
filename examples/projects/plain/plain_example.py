"""Plain example: a language model for VS Code.

Ask it with `partstream chat --provider plain_example.py`.
"""

from collections.abc import AsyncIterator, Sequence

from partstream import ChatMessage, RequestOptions, chat_model, user_request


@chat_model(name="Plain example", id="plain_example")
async def provider(messages: Sequence[ChatMessage], options: RequestOptions) -> AsyncIterator[str]:
    """Called once for each message, with the whole conversation; what it yields is the answer, in Markdown."""
    yield "You said: "
    yield user_request(messages)
