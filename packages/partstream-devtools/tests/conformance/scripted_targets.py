"""Targets to find faults in: providers that play a script, whole or with one fault, and ones that ask a server."""

import asyncio
import json
import re
from contextlib import suppress
from typing import ClassVar
from urllib.parse import urlsplit

from partstream import GatewayConfiguration, GatewayProvider, TextPart, ToolCallPart
from partstream.lm.provider import (
    LanguageModelChatCapabilities,
    LanguageModelChatInformation,
    LanguageModelChatProvider,
)
from partstream_devtools.conformance.fuzzing import VirtualTimeLoop
from partstream_devtools.conformance.targets import open_target, target_of

MODEL = LanguageModelChatInformation(
    id="small",
    name="Small",
    family="small",
    version="1",
    max_input_tokens=1000,
    max_output_tokens=1000,
    capabilities=LanguageModelChatCapabilities(tool_calling=True),
)


class Plays(LanguageModelChatProvider):
    """Plays a script and keeps every promise."""

    def __init__(self, script):
        self.script = script

    async def provide_language_model_chat_information(self, silent, token):
        return [MODEL]

    async def provide_language_model_chat_response(self, model, messages, options, progress, token):
        answer = self.script.answer_to(messages)
        is_visible = False
        for part in self.changed(list(answer.parts(messages)), messages):
            await asyncio.sleep(0)
            if token.is_cancellation_requested:
                return
            is_visible |= isinstance(part, ToolCallPart) or (isinstance(part, TextPart) and bool(part.value))
            progress.report(part)
        is_failed = answer.finish().error is not None or not is_visible
        if is_failed and not token.is_cancellation_requested:
            raise answer.error()

    async def provide_token_count(self, model, text, token):
        return 1

    def changed(self, parts, messages):
        """The parts that are reported."""
        return parts


class CallsTwice(Plays):
    """Returns the last of several calls again."""

    def changed(self, parts, messages):
        calls = [part for part in parts if isinstance(part, ToolCallPart)]
        return [*parts, calls[-1]] if len(calls) > 1 else parts


class Remembers(Plays):
    """Begins an answer with the end of the one before it."""

    said: ClassVar[dict[str, str]] = {}

    def changed(self, parts, messages):
        texts = [part.value for part in parts if isinstance(part, TextPart)]
        before, Remembers.said["last"] = Remembers.said.get("last", ""), "".join(texts)
        return [TextPart(before), *parts] if texts and before else parts


class CallsTwiceNowAndThen(Plays):
    """Has the fault of :class:`CallsTwice` in every other answer."""

    asked: ClassVar[list[int]] = [0]

    def changed(self, parts, messages):
        calls = [part for part in parts if isinstance(part, ToolCallPart)]
        self.asked[0] += 1
        return [*parts, calls[-1]] if calls and self.asked[0] % 2 else parts


def gateway(upstream, protocol=None):
    """Our own provider before a server."""
    return GatewayProvider(GatewayConfiguration(base_url=upstream))


class ReadsPiecesAlone(Plays):
    """Asks a server, and looks for text in each piece of bytes by itself."""

    def __init__(self, upstream):
        self.address = urlsplit(upstream)

    async def provide_language_model_chat_response(self, model, messages, options, progress, token):
        body = json.dumps({"model": "text", "stream": True, "messages": [{"role": "user", "content": "Hi"}]}).encode()
        reader, writer = await asyncio.open_connection(self.address.hostname, self.address.port)
        head = f"POST {self.address.path}/chat/completions HTTP/1.1\r\nhost: localhost\r\n"
        head += f"content-type: application/json\r\nconnection: close\r\ncontent-length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        with suppress(ConnectionError):
            while piece := await reader.read(65536):
                for value in re.findall(rb'"content":("(?:[^"\\]|\\.)+")', piece):
                    progress.report(TextPart(json.loads(value)))
        writer.close()


def plays(provider_class):
    """The hook of a target whose provider plays a script."""

    def conformance(script):
        return provider_class(script)

    return conformance


def asks(provider_class):
    """A target that is put before the server of the kit."""

    def make(upstream):
        return provider_class(upstream)

    return make


def at_once(coroutine):
    """What a coroutine returns; its pauses take no time."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(coroutine)


def within(target, use, protocol=None):
    """Opens a target, and gives what `use` makes of it; pauses take no time."""

    async def opened():
        async with open_target(target_of(target, protocol)) as tested:
            return await use(tested)

    return at_once(opened())
