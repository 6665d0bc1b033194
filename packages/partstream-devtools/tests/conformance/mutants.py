"""Mutants of the reference provider: each one breaks exactly one promise, and exactly its check has to catch it.

:data:`MUTANTS` holds a mutant under the id of its promise. A check without a mutant may not count.
"""

import asyncio
import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import count

from conformance.reference import NAMESPACE, ReferenceProvider
from partstream import GatewayConfiguration, GatewayProvider
from partstream.errors import LanguageModelError
from partstream.lm.cancellation import CancellationToken, EventEmitter
from partstream.lm.messages import ChatMessage, RequestOptions
from partstream.lm.outputs import Finish, Outcome
from partstream.lm.parts import DataPart, TextPart, ThinkingPart, ToolCallPart, ToolResultPart, unchecked_part

_NUMBERS = count(1)

MUTANTS: dict[str, type[ReferenceProvider]] = {}
"""The mutants by the promise that they break."""


def mutant(requirement: str) -> Callable[[type[ReferenceProvider]], type[ReferenceProvider]]:
    """Puts a class under the promise that it breaks."""

    def put(broken: type[ReferenceProvider]) -> type[ReferenceProvider]:
        MUTANTS[requirement] = broken
        return broken

    return put


class _Changing:
    """A progress that has another part, or more parts, instead of each one."""

    def __init__(self, progress, change):
        self._progress = progress
        self._change = change

    def report(self, part):
        for one in self._change(part):
            self._progress.report(one)

    def finish(self, finish):
        self._progress.finish(finish)


class _Changed(ReferenceProvider):
    """A provider whose parts are changed."""

    def __init__(self, script, change):
        super().__init__(script)
        self._change = change

    async def provide_language_model_chat_response(self, model, messages, options, progress, token):
        changing = _Changing(progress, self._change)
        await super().provide_language_model_chat_response(model, messages, options, changing, token)


def _changes(requirement: str, part_class: type, change: Callable[[object], Iterable[object]]) -> None:
    """A mutant that changes the parts of one class."""

    class Mutant(_Changed):
        def __init__(self, script):
            super().__init__(script, lambda part: change(part) if isinstance(part, part_class) else [part])

    MUTANTS[requirement] = Mutant


def _call(part, **other):
    values = {"call_id": part.call_id, "name": part.name, "input": part.input} | other
    return unchecked_part(ToolCallPart, values["call_id"], values["name"], values["input"])


# ---- one part at a time ----

_changes("part.known-class", TextPart, lambda part: [part, {"text": "a dict"}])
_changes("part.no-tool-result", TextPart, lambda part: [part, ToolResultPart("call", [TextPart("done")])])
_changes("part.known-audience", TextPart, lambda part: [unchecked_part(TextPart, part.value, ("user",))])
_changes("text.string-value", TextPart, lambda part: [part, unchecked_part(TextPart, None)])
_changes("text.utf-8", TextPart, lambda part: [unchecked_part(TextPart, part.value + "\ud83d")])
_changes("thinking.string-value", ThinkingPart, lambda part: [unchecked_part(ThinkingPart, {"text": "x"}, None, None)])
_changes("thinking.string-id", ThinkingPart, lambda part: [unchecked_part(ThinkingPart, part.value, 7, None)])
_changes(
    "thinking.json-metadata", ThinkingPart, lambda part: [unchecked_part(ThinkingPart, part.value, None, {"s": b"\0"})]
)
_changes("tool-call.non-empty-call-id", ToolCallPart, lambda part: [_call(part, call_id="")])
_changes("tool-call.non-empty-name", ToolCallPart, lambda part: [_call(part, name="")])
_changes("tool-call.known-tool", ToolCallPart, lambda part: [_call(part, name="web_search")])
_changes("tool-call.object-input", ToolCallPart, lambda part: [_call(part, input='{"city": "Oslo"}')])
_changes("tool-call.json-input", ToolCallPart, lambda part: [_call(part, input={"city": {"Oslo"}})])
_changes("tool-call.atomic", ToolCallPart, lambda part: [_call(part, input={"half": "of it"}), part])
_changes("tool-call.unique-call-id", ToolCallPart, lambda part: [part, part])
_changes(
    "tool-call.namespaced-call-id",
    ToolCallPart,
    lambda part: [_call(part, call_id=part.call_id.removeprefix(NAMESPACE))],
)
_changes("data.bytes", DataPart, lambda part: [unchecked_part(DataPart, part.data.decode(), part.mime_type)])
_changes("data.media-type", DataPart, lambda part: [part, unchecked_part(DataPart, part.data, "")])


# ---- the whole response ----


@mutant("stream.generation-order")
class OrdersByKind(ReferenceProvider):
    """Reports the texts before the thinking."""

    async def provide_language_model_chat_response(self, model, messages, options, progress, token):
        held = []
        later = _Changing(progress, lambda part: held.append(part) or [] if isinstance(part, ThinkingPart) else [part])
        later.finish = lambda finish: [progress.report(part) for part in held] and progress.finish(finish)
        await super().provide_language_model_chat_response(model, messages, options, later, token)


@mutant("stream.nothing-after-completion")
class ReportsLate(ReferenceProvider):
    """Leaves a task behind that reports."""

    async def provide_language_model_chat_response(self, model, messages, options, progress, token):
        await super().provide_language_model_chat_response(model, messages, options, progress, token)
        if not token.is_cancellation_requested:
            asyncio.get_running_loop().call_later(0.001, progress.report, TextPart("late"))


@mutant("stream.ends-once")
class EndsTwice(ReferenceProvider):
    """Says that its answer has failed, and then says that it is complete."""

    async def provide_language_model_chat_response(self, model, messages, options, progress, token):
        await super().provide_language_model_chat_response(model, messages, options, progress, token)
        if not token.is_cancellation_requested:
            error = self._script.answer_to(messages).error()
            progress.finish(Finish(Outcome.FAILED, error=error))


@mutant("stream.visible-part")
class OnlyThinks(ReferenceProvider):
    """Completes an answer in which nothing can be seen."""

    async def provide_language_model_chat_response(self, model, messages, options, progress, token):
        try:
            await super().provide_language_model_chat_response(model, messages, options, progress, token)
        except Exception as error:
            if "only thought" not in str(error):
                raise
            progress.finish(Finish(Outcome.COMPLETED))


@mutant("cancellation.nothing-after")
class FlushesAfterCancel(ReferenceProvider):
    """Reports what it has held back when it is cancelled."""

    async def provide_language_model_chat_response(self, model, messages, options, progress, token):
        flush = token.on_cancellation_requested(lambda: progress.report(TextPart("flushed")))
        await super().provide_language_model_chat_response(model, messages, options, progress, token)
        flush.dispose()


@mutant("cancellation.resolves")
class RaisesOnCancel(ReferenceProvider):
    """Is rejected when it is cancelled."""

    async def provide_language_model_chat_response(self, model, messages, options, progress, token):
        await super().provide_language_model_chat_response(model, messages, options, progress, token)
        if token.is_cancellation_requested:
            raise ConnectionError("the connection was closed")


@mutant("failure.language-model-error")
class RaisesAnything(ReferenceProvider):
    """Raises the error of a library as it is."""

    async def provide_language_model_chat_response(self, model, messages, options, progress, token):
        try:
            await super().provide_language_model_chat_response(model, messages, options, progress, token)
        except Exception as error:
            raise RuntimeError(str(error)) from error


# ---- what the kit adds ----

_changes("text.complete", TextPart, lambda part: [part, part] if "e" in part.value else [part])
_changes("tool-call.complete", ToolCallPart, lambda part: [part] if part.name != "list_files" else [])
_changes("usage.as-reported", DataPart, lambda part: [DataPart.json({"prompt_tokens": 0}, part.mime_type)])


@mutant("stream.ends")
class NeverEnds(ReferenceProvider):
    """Waits for an end that does not come; each answer takes the whole limit of time."""

    select = (
        "/text",
        "/one-call",
        "/cancel-in-text",
        "/error-after-parts",
        "/token-count",
    )

    async def provide_language_model_chat_response(self, model, messages, options, progress, token):
        await super().provide_language_model_chat_response(model, messages, options, progress, token)
        if not token.is_cancellation_requested:
            await asyncio.Event().wait()


@mutant("stream.resolves")
class RaisesAtTheEnd(ReferenceProvider):
    """Is rejected although the answer is complete."""

    async def provide_language_model_chat_response(self, model, messages, options, progress, token):
        await super().provide_language_model_chat_response(model, messages, options, progress, token)
        if not token.is_cancellation_requested:
            raise self._script.answer_to(messages).error()


@mutant("failure.rejects")
class SwallowsErrors(ReferenceProvider):
    """Completes an answer that has failed."""

    async def provide_language_model_chat_response(self, model, messages, options, progress, token):
        quiet = _Changing(progress, lambda part: [part])
        quiet.finish = lambda finish: None
        try:
            await super().provide_language_model_chat_response(model, messages, options, quiet, token)
        except Exception as error:
            if "broke" not in str(error):
                raise


@mutant("failure.keeps-parts")
class DropsOnFailure(ReferenceProvider):
    """Collects an answer, and drops it when it fails."""

    async def provide_language_model_chat_response(self, model, messages, options, progress, token):
        failing = self._script.answer_to(messages).finish().error is not None
        changing = _Changing(progress, lambda part: [] if failing else [part])
        await super().provide_language_model_chat_response(model, messages, options, changing, token)


@mutant("failure.logged")
class SaysNothing(ReferenceProvider):
    """Fails without a word."""

    async def provide_language_model_chat_response(self, model, messages, options, progress, token):
        try:
            await super().provide_language_model_chat_response(model, messages, options, progress, token)
        except LanguageModelError:
            raise LanguageModelError("") from None


@mutant("concurrency.no-mixing")
class SharesItsState(ReferenceProvider):
    """Keeps the last question on the object."""

    async def provide_language_model_chat_response(self, model, messages, options, progress, token):
        self._messages = messages
        await asyncio.sleep(0)
        await super().provide_language_model_chat_response(model, self._messages, options, progress, token)


@mutant("models.listed")
class ListsTwice(ReferenceProvider):
    """Lists a model twice."""

    async def provide_language_model_chat_information(self, silent, token):
        return 2 * list(await super().provide_language_model_chat_information(silent, token))


@mutant("tokens.count")
class CountsNothing(ReferenceProvider):
    """Raises for a text that the tokenizer does not take."""

    async def provide_token_count(self, model, text, token):
        if not isinstance(text, str) or text.isprintable():
            return await super().provide_token_count(model, text, token)
        raise ValueError("cannot encode this")


@mutant("tokens.monotone")
class CountsAnything(ReferenceProvider):
    """Counts fewer tokens in longer texts."""

    async def provide_token_count(self, model, text, token):
        return 100_000 - await super().provide_token_count(model, text, token)


@mutant("models.same-twice")
class ListsAnew(ReferenceProvider):
    """Lists a model under another id each time."""

    async def provide_language_model_chat_information(self, silent, token):
        (model,) = await super().provide_language_model_chat_information(silent, token)
        return [replace(model, id=f"model-{next(_NUMBERS)}")]


@mutant("models.cancelled")
class HangsWhenCancelled(ReferenceProvider):
    """Waits for ever with a list that is no longer wanted."""

    async def provide_language_model_chat_information(self, silent, token):
        if token.is_cancellation_requested:
            await asyncio.Event().wait()
        return await super().provide_language_model_chat_information(silent, token)


@mutant("models.no-change-event")
class AnnouncesWhileListing(ReferenceProvider):
    """Fires the event of changes inside the listing."""

    def __init__(self, script):
        super().__init__(script)
        self._changes = EventEmitter()
        self.on_did_change_language_model_chat_information = self._changes.event

    async def provide_language_model_chat_information(self, silent, token):
        self._changes.fire(None)
        return await super().provide_language_model_chat_information(silent, token)


# ---- what only a target with the kit behind it shows ----

SANDWICHED: dict[str, type[GatewayProvider]] = {}
"""Mutants of the provider of model servers, by the promise that they break."""


def sandwiched(requirement):
    """Puts a class under the promise that it breaks."""

    def put(broken):
        SANDWICHED[requirement] = broken
        return broken

    return put


class _Asking(GatewayProvider):
    """A provider of model servers that changes what it is asked."""

    def __init__(self, upstream):
        super().__init__(GatewayConfiguration(base_url=upstream, protocol="openresponses"))

    def changed(self, part):
        return part

    def offered(self, options):
        return options

    async def provide_language_model_chat_response(self, model, messages, options, progress, token):
        asked = [ChatMessage(one.role, [self.changed(part) for part in one.content]) for one in messages]
        await super().provide_language_model_chat_response(model, asked, self.offered(options), progress, token)


@sandwiched("request.text-arrives")
class SaysSomethingElse(_Asking):
    """Sends another text."""

    def changed(self, part):
        return TextPart("Hello?") if isinstance(part, TextPart) else part


@sandwiched("request.tools-arrive")
class OffersNoTools(_Asking):
    """Sends no tools."""

    def offered(self, options):
        return RequestOptions()


@sandwiched("request.images-arrive")
class SendsNoImages(_Asking):
    """Sends a text instead of an image."""

    def changed(self, part):
        return TextPart("[image]") if isinstance(part, DataPart) else part


@sandwiched("request.results-arrive")
class SendsEmptyResults(_Asking):
    """Sends the results of tools without their content."""

    def changed(self, part):
        return ToolResultPart(part.call_id, ()) if isinstance(part, ToolResultPart) else part


@sandwiched("usage.as-reported")
class CountsTwice(_Asking):
    """Adds the usage up twice."""

    async def provide_language_model_chat_response(self, model, messages, options, progress, token):
        def doubled(part):
            if not isinstance(part, DataPart):
                return [part]
            counts = json.loads(part.data)
            doubled_counts = {name: 2 * count for name, count in counts.items() if isinstance(count, int)}
            return [DataPart.json(doubled_counts, part.mime_type)]

        twice = _Changing(progress, doubled)
        await super().provide_language_model_chat_response(model, messages, options, twice, token)


@sandwiched("text.as-received")
class Collects(_Asking):
    """Reports the answer when it is whole."""

    async def provide_language_model_chat_response(self, model, messages, options, progress, token):
        held = []
        later = _Changing(progress, lambda part: held.append(part) or [])
        try:
            await super().provide_language_model_chat_response(model, messages, options, later, token)
        finally:
            for part in held if not token.is_cancellation_requested else ():
                progress.report(part)


@sandwiched("cancellation.stops-upstream")
class ReadsOn(_Asking):
    """Goes on with a request whose caller has gone."""

    def __init__(self, upstream):
        super().__init__(upstream)
        self._running = set()

    async def provide_language_model_chat_response(self, model, messages, options, progress, token):
        until = _Changing(progress, lambda part: [] if token.is_cancellation_requested else [part])
        until.finish = lambda finish: None
        asked = super().provide_language_model_chat_response(model, messages, options, until, CancellationToken())
        running = asyncio.create_task(asked)
        self._running.add(running)
        stopped = asyncio.Event()
        token.on_cancellation_requested(stopped.set)
        waiting = asyncio.create_task(stopped.wait())
        await asyncio.wait({running, waiting}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        if running.done() and not token.is_cancellation_requested:
            running.result()

    async def aclose(self):
        for running in self._running:
            running.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
        await super().aclose()
