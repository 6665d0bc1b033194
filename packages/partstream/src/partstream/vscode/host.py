"""Answers the requests of the wire with the hosted providers; knows no connection and no bytes.

A request without a group is for the user's own providers; a model's id is then `name/id`, which stays unique and the
same whatever the other providers offer. A group has one provider, whose ids do not change.
"""

from __future__ import annotations
import asyncio
import gc
import logging
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from itertools import chain, count
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.checks import dataclass, replace
from partstream.conversation.provider_state import ThinkingMemory
from partstream.errors import LanguageModelError, UnknownModelError
from partstream.runtime.answer_files import AnswerFiles
from partstream.runtime.provider_files import ProviderLoader, SourceLoader, default_name
from partstream.settings.kinds import ConfigurationError
from partstream.settings.row import hidden_url
from partstream.tokens.counting import count_all
from partstream.tokens.usage import DAYS, AnswerUsage, UsageBook
from partstream.upstream.context import run_in_thread
from partstream.vscode import hosted as hosting
from partstream.vscode import methods
from partstream.vscode import rpc_types as wire
from partstream.vscode.failures import (
    Asker,
    ProviderFailedError,
    Repetitions,
    asker_of,
    hint_on,
    is_providers_own,
    provider_error,
)
from partstream.vscode.gateway import PROVIDER_KEY, GatewayLoader, GatewaySurroundings

if TYPE_CHECKING:
    from pathlib import Path

    from partstream.config.examination import Finding
    from partstream.lm.cancellation import CancellationToken
    from partstream.lm.completions import CompletionRequest
    from partstream.lm.messages import RequestOptions
    from partstream.lm.provider import DrainingProgress, LanguageModelChatInformation
    from partstream.pages.document import ContentPolicy
    from partstream.tokens import TokenCount
    from partstream.upstream.configuration import GatewayConfiguration
    from partstream.vscode.budgets import HubBudgets, Standing
    from partstream.vscode.completing import Completer
    from partstream.vscode.hosted_answer import HostedAnswer
    from partstream.vscode.recordings import Recordings

COLLECT_SECONDS: Final = 0.1
"""The seconds after a load in which further loads need no collection of their own."""

LIST_SECONDS: Final = 20.0
"""The seconds that a provider may take to list its models; after that, the other providers' models are shown."""

_MOST_ENDS: Final = 20
"""The number of answers whose ends are kept for the debug information."""
_MOST_ERRORS: Final = 3
"""The most errors of one provider that a list of models names; the log has all."""
_MOST_STATE: Final = 8 * 1024 * 1024
"""The most bytes of the state of answers that is kept for the agent host."""

_logger = logging.getLogger("partstream.hosts.vscode")


@dataclass(frozen=True, slots=True)
class _HostedGroup:
    """A group as it last came, and its provider; a changed configuration makes a new provider."""

    configuration: Mapping[str, Any]
    provider: hosting.HostedProvider

    def __repr__(self) -> str:
        return f"<group served by {self.provider.name}>"  # never the configuration: it holds keys


class ProviderHost:
    """Hosts the providers of one connection; `surroundings` are the things that the built-in gateway needs beside a
    group."""

    def __init__(
        self,
        sources: Sequence[wire.ProviderSource],
        announcements: methods.Announcements,
        recordings: Callable[[], Recordings],
        surroundings: GatewaySurroundings | None = None,
    ) -> None:
        self._announcements = announcements
        self._recordings = recordings
        self._book = UsageBook()
        self._ends: deque[wire.AnswerEnd] = deque(maxlen=_MOST_ENDS)  # newest first
        self._files = AnswerFiles()
        self._thinking = ThinkingMemory(_MOST_STATE).of("agent host")
        self._repetitions = Repetitions()
        self._completer: Completer | None = None
        self._collects_soon = False
        self.surroundings = surroundings or GatewaySurroundings()
        self._own: dict[str, hosting.HostedProvider] = {}
        for name, one in _named(sources):
            given, source = {"apiKey": one["apiKey"]} if one.get("apiKey") else hosting.NO_CONFIGURATION, one["source"]
            self._own[name] = self._host(None, name, name, self._loader_of(source), given, source)
        self._groups: dict[str, _HostedGroup] = {}
        self._budgets: HubBudgets | None = None  # there from the first hub on
        self._is_focused = False
        self._shown_usage: wire.DidAnswerParams | None = None  # of the last answer of a conversation
        self._closing: set[asyncio.Task[None]] = set()
        self._telling: set[asyncio.Task[None]] = set()

    async def information(self, params: wire.InformationParams, token: CancellationToken) -> wire.InformationResult:
        """Lists the models of a group or of the user's own providers, beside the errors of providers that fail."""
        group = params["group"]
        hosted = {"": self._of_group(group)} if group is not None else self._own
        lists = await asyncio.gather(*(self._list(one, params["silent"], token) for one in hosted.values()))
        result: wire.InformationResult = {"models": [], "errors": []}
        for prefix, (models, errors) in zip(hosted, lists, strict=True):
            result["models"] += [{**model, "id": _qualified(prefix, model["id"])} for model in models]
            result["errors"] += errors
        if group is not None and result["models"]:
            is_hub = await hub_of(hosted[""]) is not None
            if self._budgets is None and is_hub:
                from partstream.vscode.budgets import HubBudgets  # noqa: PLC0415 - not before the first hub

                self._budgets = HubBudgets(self._standing, partial(self._announcements.post, "ui/budgetsDidChange"))
                self._budgets.focused(self._is_focused)
            if self._budgets is not None:
                self._budgets.listed(group, is_hub=is_hub)
        return result

    def focused(self, is_focused: bool) -> None:
        """The window has got or lost the focus."""
        self._is_focused = is_focused
        if self._budgets is not None:
            self._budgets.focused(is_focused)

    async def _standing(self, group: wire.Group) -> Standing | None:
        """The report of a group's hub on the person whose key the group has, or why it is unknown."""
        hosted = self._of_group(group)
        await hosted.current()
        hub = await hub_of(hosted)
        if hub is None:
            return None
        from partstream.upstream.hub import fetch_standing  # noqa: PLC0415 - with httpx2
        from partstream.vscode.budgets import Standing  # noqa: PLC0415 - as above

        address = hidden_url(hub.base_url).partition("?")[0].rstrip("/").removesuffix("/v1")
        try:
            standing = await fetch_standing(hub)
        except (LanguageModelError, ConfigurationError) as error:
            _logger.info("nothing is known of the budgets at %s: %s", address, error)
            return Standing(address, problem=str(error))
        return Standing(address, standing.person, standing.budgets)

    async def load_of(self, file: Path) -> None:
        """Waits until one of the user's own providers is loaded from a file; for ever where none has that file.

        Raises:
            ProviderFailedError: It cannot be loaded.
        """
        hosted = next((one for one in self._own.values() if one.file is not None and one.file == file), None)
        if hosted is None:
            await asyncio.get_running_loop().create_future()
        else:
            await hosted.current()

    async def examine(self, group: wire.Group | None, name: str | None, model: str | None) -> Sequence[Finding]:
        """What keeps the models of a group, or of the user's own provider of a name, from answering.

        The model of the id `model` is asked for a short answer, which may cost something; None asks none.

        Raises:
            InvalidParamsError: There is no such provider.
        """
        from partstream.vscode.examining import examine_hosted, examine_server  # noqa: PLC0415 - rare

        hosted = self._own.get(name or "") if group is None else self._of_group(group)
        if hosted is None:
            raise methods.InvalidParamsError("params.provider", repr(name), f"one of {', '.join(self._own) or 'none'}")
        if group is not None and not hosted.is_own:
            return await examine_server(group["configuration"], self.surroundings, model)
        return await examine_hosted(hosted, None if model is None else model.removeprefix(f"{name}/"))

    async def respond(self, params: wire.ResponseParams, progress: DrainingProgress, token: CancellationToken) -> None:
        """Answers a conversation, with a usage as the last part.

        Raises:
            ProviderFailedError: The provider failed, or the model is unknown, or the answer has nothing in it.
            InvalidParamsError: A part of a message has the wrong shape.
        """
        asker = asker_of(params["options"])
        key = self._repetitions.begin(params) if asker is Asker.AGENT_HOST else None
        try:
            await self._answer(params, asker, progress, token)
        except ProviderFailedError as failure:
            failure.hint = hint_on(failure, params, asker)
            if key is not None:
                self._repetitions.remember(key, failure)
            raise

    async def _answer(
        self, params: wire.ResponseParams, asker: Asker, progress: DrainingProgress, token: CancellationToken
    ) -> None:
        from partstream.vscode.hosted_answer import (  # noqa: PLC0415 - not before the first answer
            CapturedProgress,
            HostedAnswer,
            OpaqueStateProgress,
            restored,
            with_decoded_state,
        )

        messages = [
            methods.decode_message(one, f"params.messages[{index}]") for index, one in enumerate(params["messages"])
        ]
        carries_state = params["options"].get("includeEncryptedThinking", False)
        if carries_state:
            messages = with_decoded_state(messages, self._thinking)
        options = methods.decode_options(params["options"])
        hosted, generation, model = await self._find(params["group"], params["model"], token)
        options = replace(options, configuration=hosted.configuration)
        messages = restored(messages, self._files, takes_images=bool(model.capabilities.image_input))
        opaque = OpaqueStateProgress(progress, self._thinking) if carries_state else None
        async with hosted.using(generation):
            with self._recordings().capture(model.id, is_of_chat=not hosting.is_copilots_own(options)) as tap:
                own = opaque or progress
                shown = own if tap is None else CapturedProgress(own, tap)
                files = self._files if asker is not Asker.PROGRAM else None
                answer = HostedAnswer(hosted, generation, model, messages, options, shown, token, files)
                try:
                    await answer.run()
                    if opaque is not None:
                        opaque.complete()
                finally:
                    end = answer.end(time.time())
                    self._ends.appendleft(end)
                    if tap is not None:
                        tap.end(end["outcome"], answer.error)
                    if self._budgets is not None and params["group"] is not None:
                        self._budgets.answered(params["group"]["id"])
            self._count(answer, generation.provider, hosting.conversation_of(options))
        if not token.is_cancellation_requested:
            answer.check(end)

    async def complete(self, params: wire.CompleteParams, token: CancellationToken) -> wire.CompleteResult:
        """Completes the text at a cursor, see :class:`partstream.vscode.completing.Completer`.

        Raises:
            ProviderFailedError: The provider failed, or the model is unknown.
        """
        if self._completer is None:
            from partstream.vscode.completing import Completer  # noqa: PLC0415 - many windows have no completions

            self._completer = Completer(self._model_of, self._ask_for_completion)
        return await self._completer.complete(params, token)

    async def count_completions(self, new: wire.CompletionCounts) -> wire.CompletionCounts:
        """Counts completions; returns the counts of today in all windows."""
        from partstream.tokens.records import Completions  # noqa: PLC0415 - many windows have no completions

        days = await self.surroundings.tokens.completions(1, Completions(new["shown"], new["accepted"]))
        today = days.get(datetime.now(UTC).astimezone().date().isoformat(), Completions())
        return {"shown": today.shown, "accepted": today.accepted}

    async def _model_of(self, params: wire.CompleteParams, token: CancellationToken) -> LanguageModelChatInformation:
        return (await self._find(params["group"], params["model"], token))[2]

    async def _ask_for_completion(
        self,
        params: wire.CompleteParams,
        asked: CompletionRequest,
        options: RequestOptions,
        progress: DrainingProgress,
        token: CancellationToken,
    ) -> None:
        """Asks once; neither the last answers nor their ends are about completions, which are many."""
        from partstream.vscode.hosted_answer import HostedAnswer  # noqa: PLC0415 - not before the first answer

        hosted, generation, model = await self._find(params["group"], params["model"], token)
        options = replace(options, configuration=hosted.configuration)
        async with hosted.using(generation):
            answer = HostedAnswer(hosted, generation, model, asked.messages, options, progress, token, None)
            await answer.run()
        self._count(answer, generation.provider, None)

    def _count(self, answer: HostedAnswer, provider: object, conversation: str | None) -> None:
        used = hosting.answer_usage(answer.usage, answer.model, time.time())
        if used is not None:
            self._book.add(used, conversation)
            telling = asyncio.create_task(self._tell_usage(used, conversation, provider))  # the answer goes on
            self._telling.add(telling)
            telling.add_done_callback(self._telling.discard)

    async def count(self, params: wire.TokenCountParams, token: CancellationToken) -> wire.TokenCountResult:
        """Counts tokens; an estimate replaces a count that fails."""
        items = [
            item.get("text", "")
            if (message := item.get("message")) is None
            else methods.decode_message(message, f"params.items[{index}].message")
            for index, item in enumerate(params["items"])
        ]
        try:
            hosted, generation, model = await self._find(params["group"], params["model"], token)
        except ProviderFailedError:
            return {"counts": [_encoded(hosting.estimate(item)) for item in items]}
        async with hosted.using(generation):
            counts, failure = await count_all(generation.provider, model, items, token, is_providers_own)
        if failure is not None:  # logged once for all texts
            hosted.failed(failure, "could not count tokens: they are estimated")
        return {"counts": [_encoded(count) for count in counts]}

    async def usage_page(self, policy: ContentPolicy) -> str:
        """The page of the token usage, with the answers of other processes, for a webview with this policy."""
        from partstream.pages.usage import completions_text, usage_html  # noqa: PLC0415 - few see the page

        await self._learn_of_others()
        now, completions = datetime.now(UTC).astimezone(), await self.surroundings.tokens.completions(DAYS)
        note = completions_text(completions, now.date(), DAYS)
        return usage_html(self._book.view(), now, policy, follows=True, note=note)

    def counting(self) -> wire.CountingResult:
        """How texts are counted for the models listed so far."""
        hosted = [(None, name, one) for name, one in self._own.items()]
        groups = [(group_id, "", group.provider) for group_id, group in self._groups.items()]
        models: list[wire.Counting] = []
        for group_id, prefix, one in [*hosted, *groups]:
            if (generation := one.loaded) is not None:
                models += [
                    {**how, "group": group_id, "model": _qualified(prefix, how["model"])}
                    for how in hosting.counting_of(generation.provider, generation.models.values())
                ]
        return {"models": models}

    def forget_group(self, group_id: str) -> None:
        """Closes the provider of a group that is gone, once its running answers have ended; a later use loads it again.

        A group that is not known is no error: no request may have named it so far.
        """
        group = self._groups.pop(group_id, None)
        if self._budgets is not None:
            self._budgets.forgotten(group_id)
        if group is not None:
            self._close_in_background(group.provider)

    def diagnostics(self) -> wire.DiagnosticsResult:
        """How the last answers ended, and the rules of the contract that the loaded providers broke."""
        loaded = [one.loaded for one in self._hosted()]
        broken = [generation.broken_rules.result() for generation in loaded if generation is not None]
        return {"answers": list(self._ends), "brokenRules": list(chain.from_iterable(broken))}

    async def aclose(self, seconds: float = 1.0) -> None:
        """Closes all providers, then the memory of tokens, which does not wait for a provider that does not end."""
        if self._budgets is not None:
            self._budgets.close()
        closing = {asyncio.create_task(hosted.aclose()) for hosted in self._hosted()} | self._closing | self._telling
        if closing and (await asyncio.wait(closing, timeout=seconds / 2))[1]:
            _logger.warning("a provider was not closed within %g s", seconds / 2)
        writing = asyncio.create_task(run_in_thread(self.surroundings.tokens.close, "partstream-close"))
        if (await asyncio.wait([writing], timeout=seconds / 2))[1]:
            _logger.warning("the token ledger was not written within %g s", seconds / 2)

    def _hosted(self) -> list[hosting.HostedProvider]:
        return [*self._own.values(), *(group.provider for group in self._groups.values())]

    def _loader_of(self, source: str) -> SourceLoader:
        return SourceLoader(source, lambda: self.surroundings.tokens.open()[0])

    def _host_group(self, group: wire.Group) -> hosting.HostedProvider:
        configuration = group["configuration"]
        source = configuration.get(PROVIDER_KEY)
        if isinstance(source, str) and source:
            name = group.get("name") or default_name(source)
            said = {key: value for key, value in configuration.items() if key != PROVIDER_KEY}
            return self._host(group["id"], "", name, self._loader_of(source), said, source)
        gateway = GatewayLoader(configuration, self.surroundings, group.get("name"))
        return self._host(group["id"], "", gateway.name, gateway)

    def _host(
        self,
        group: str | None,
        prefix: str,
        name: str,
        loader: ProviderLoader,
        configuration: Mapping[str, Any] = hosting.NO_CONFIGURATION,
        source: str = "",
    ) -> hosting.HostedProvider:
        loads = count()

        def did_load(problem: wire.LoadProblem | None) -> None:
            if next(loads) and not self._collects_soon:
                self._collects_soon = True
                asyncio.get_running_loop().call_later(COLLECT_SECONDS, self._collect_modules)
            if not loader.is_own:
                return  # its settings are wrong, which the list of its group says
            file = None if loader.file is None else str(loader.file)
            load: wire.ProviderDidLoadParams = {"group": group, "provider": name, "file": file, "problem": problem}
            self._announcements.post("languageModels/providerDidLoad", load)

        return hosting.HostedProvider(
            name,
            loader,
            lambda: self._announcements.models_did_change(group),
            lambda ids: self._announcements.token_counts_did_change(group, [_qualified(prefix, one) for one in ids]),
            did_load,
            configuration,
            source,
        )

    def _collect_modules(self) -> None:
        """Frees the modules that edits have replaced, which takes about 20 milliseconds.

        A module and its functions refer to each other, so only the collector of cycles frees them. It counts objects
        and not bytes, and by itself would let dozens of large modules pile up.
        """
        self._collects_soon = False
        gc.collect()

    def _of_group(self, group: wire.Group) -> hosting.HostedProvider:
        group_id, configuration = group["id"], group["configuration"]
        known = self._groups.get(group_id)
        if known is not None and known.configuration == configuration:
            known.provider.name = group.get("name") or known.provider.name
            return known.provider
        hosted = self._host_group(group)
        self._groups[group_id] = _HostedGroup(configuration, hosted)
        if known is not None:
            self._close_in_background(known.provider)
        return hosted

    def _close_in_background(self, hosted: hosting.HostedProvider) -> None:
        task = asyncio.create_task(hosted.aclose())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def _tell_usage(self, answer: AnswerUsage, conversation: str | None, provider: object) -> None:
        await self._learn_of_others()
        of_conversation, of_day = self._book.sums_of(answer, conversation)
        usage: wire.DidAnswerParams = {"answer": answer, "conversation": of_conversation, "day": of_day}
        standing = getattr(provider, "budget_standing", None)  # of a gateway
        if standing is not None and (said := await standing()) is not None:
            usage["budget"] = said
        # VS Code asks for a title by itself: it counts for the day, and the item goes on with the conversation.
        if of_conversation is not None:
            self._shown_usage = usage
        if self._shown_usage is not None:
            from partstream.vscode.status import usage_item  # noqa: PLC0415 - not before the first answer

            shown = self._shown_usage = {**self._shown_usage, "day": of_day}
            usage["item"] = usage_item(shown["answer"], shown)
        self._announcements.post("languageModels/didAnswer", usage)

    async def _learn_of_others(self) -> None:
        """Adds the answers of other windows, which belong to the sums of a day too."""
        self._book.remember(await self.surroundings.tokens.usage_of_others(DAYS))

    async def _list(
        self, hosted: hosting.HostedProvider, silent: bool, token: CancellationToken
    ) -> tuple[list[wire.LanguageModelChatInformation], list[wire.ProviderError]]:
        models: list[wire.LanguageModelChatInformation] = []
        failures: list[ProviderFailedError | None] = []
        try:
            async with asyncio.timeout(LIST_SECONDS):
                listed = await hosted.list_models(silent, token)
            failures.append(hosted.failure)
        except ProviderFailedError as error:
            listed, failures = (), [error]
        except asyncio.CancelledError as error:
            if token.is_cancellation_requested:
                raise
            listed, failures = (), [hosted.failed(error, "could not list its models")]  # it has cancelled the task
        except TimeoutError:
            late = LanguageModelError(f"{hosted.name} did not list its models within {LIST_SECONDS:g} s")
            listed, failures = (), [hosted.failed(late, "is late")]
        for model in listed:
            try:
                models.append(methods.encode_information(model))
            except Exception as error:
                failures.append(hosted.failed(error, "described a model that cannot be shown; the others are listed"))
        told = [failure for failure in failures if failure is not None][:_MOST_ERRORS]
        return models, [provider_error(failure) for failure in told]

    async def _find(
        self, group: wire.Group | None, model_id: str, token: CancellationToken
    ) -> tuple[hosting.HostedProvider, hosting.Generation, LanguageModelChatInformation]:
        if group is not None:
            hosted, own_id = self._of_group(group), model_id
        else:
            name, _, own_id = model_id.partition("/")
            found = self._own.get(name)
            if found is None:
                known = tuple(f"{name}/..." for name in self._own)
                raise ProviderFailedError(name, UnknownModelError(model_id, known))
            hosted = found
        generation, model = await hosted.find_model(own_id, token)
        return hosted, generation, model


def _named(sources: Sequence[wire.ProviderSource]) -> list[tuple[str, wire.ProviderSource]]:
    """The sources with unique names; a further source of the same name gets a number."""
    named: dict[str, wire.ProviderSource] = {}
    for source in sources:
        wanted = (source.get("name") or default_name(source["source"])).replace("/", "-")
        name, number = wanted, 1
        while name in named:
            number += 1
            name = f"{wanted}-{number}"
        named[name] = source
    return list(named.items())


def _qualified(prefix: str, model_id: str) -> str:
    return f"{prefix}/{model_id}" if prefix else model_id


def _encoded(count: TokenCount) -> wire.TokenCount:
    return {"count": count.tokens, "source": count.source.value}


# ---- Hubs ----
# Where no group has the key of a hub, no hub is asked.


async def hub_of(hosted: hosting.HostedProvider) -> GatewayConfiguration | None:
    """The hub that a group asks, if its provider is loaded and its key is one that a hub gave; None for all others."""
    from partstream.upstream.hub import is_of_hub  # noqa: PLC0415 - as above
    from partstream.upstream.provider import GatewayProvider  # noqa: PLC0415 - as above

    generation = hosted.loaded
    if generation is None or not isinstance(generation.provider, GatewayProvider):
        return None
    configuration = generation.provider.configuration
    with suppress(LanguageModelError):  # the list of its models says that there is no key
        return configuration if await is_of_hub(configuration) else None
    return None
