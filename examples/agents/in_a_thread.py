import threading
from collections.abc import AsyncIterator, Iterator, Sequence

from partstream import ChatMessage, RequestOptions, chat_model, in_thread, user_request

ONE_AT_A_TIME = threading.Lock()


def generate(prompt: str, stop: threading.Event) -> Iterator[str]:
    """Plays a model: blocks while it works, and runs in a thread."""
    with ONE_AT_A_TIME:
        for word in prompt.split():
            if stop.is_set():
                break
            yield f"{word} "


@chat_model(name="Local")
async def provider(messages: Sequence[ChatMessage], options: RequestOptions) -> AsyncIterator[str]:
    stop = threading.Event()
    async for text in in_thread(generate(user_request(messages), stop), stop):
        yield text
