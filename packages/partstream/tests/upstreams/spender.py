"""A program that asks until its budget is used up; run as a script: `spender.py BASE_URL SETTINGS [WAITS]`.

It says `ready`, begins with a line on standard input, and says how many answers it got and the error that ended it.
With WAITS it stops in the middle of the first answer, until it is killed.
"""

import asyncio
import json
import sys

from partstream import CancellationTokenSource, ChatMessage, GatewayProvider, RequestOptions
from partstream.errors import LanguageModelError
from partstream.lm.provider import LanguageModelChatInformation
from partstream.upstream.configuration import GatewayConfiguration, upstream_rows

MODEL = LanguageModelChatInformation("text", "Text", "replay", "1", 1000, 100)


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


class Parts:
    def __init__(self, *, waits: bool) -> None:
        self._waits = waits

    def report(self, _part: object) -> None:
        if self._waits:
            say("in the middle")
            sys.stdin.readline()


async def spend(base_url: str, settings: dict[str, object], *, waits: bool) -> None:
    shared = {"baseUrl": base_url, "protocol": "chat-completions", "models": ["text"], "discover": False}
    rows = upstream_rows("chat-completions")
    given = {name: rows[name].read(value, name) for name, value in {**shared, **settings}.items()}
    provider = GatewayProvider(GatewayConfiguration.from_values(given))
    answers = 0
    say("ready")
    sys.stdin.readline()
    try:
        while True:
            await provider.provide_language_model_chat_response(
                MODEL, [ChatMessage.user("Hi")], RequestOptions(), Parts(waits=waits), CancellationTokenSource().token
            )
            answers += 1
    except LanguageModelError as error:
        say(json.dumps([answers, type(error).__name__, str(error)]))
    finally:
        await provider.aclose()


if __name__ == "__main__":
    asyncio.run(spend(sys.argv[1], json.loads(sys.argv[2]), waits=len(sys.argv) > 3))
