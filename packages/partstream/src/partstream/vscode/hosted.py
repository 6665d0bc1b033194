"""One provider that the sidecar hosts: loaded when first needed, and loaded again when its source changes.

Each load makes a :class:`Generation`. After a broken edit, the generation before keeps working; a replaced one is
closed when its last request has ended. A provider is other people's code: whatever it raises becomes a
:class:`~partstream.vscode.failures.ProviderFailedError` in the log and in the response.

Every answer gets a usage, with the provider's numbers or with counts made here. Without a usage, Copilot's context
widget shows zeros, and its compaction of long conversations has no numbers (`ExtensionContributedChatEndpoint` in
Copilot 0.67 reads the data part `usage`). Counting never fails: an estimate replaces a count that fails. The debug
information gets the rules of the contract that a provider broke and how the last answers ended, and no text of them.
Knows no connection.
"""

from __future__ import annotations
import asyncio
import inspect
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.checks import MOST_DOLLARS, as_amount, as_count, dataclass, sequence_of
from partstream.codec.json_codec import JSONDecodeError, loads
from partstream.conversation.turns import short_digest
from partstream.errors import CallerError, KeyNeededError, UnknownModelError, with_facts
from partstream.lm.parts import (
    COST_KEY,
    EDITS_KEY,
    SOURCE_KEY,
    USAGE_MIME_TYPE,
    DataPart,
    FinishReason,
    ResponsePart,
    TextPart,
    ToolCallPart,
    is_mark,
)
from partstream.lm.provider import LanguageModelChatInformation, WaitingProgress
from partstream.runtime.answer_files import is_file
from partstream.runtime.progress import AnswerExcerpt, logged_error, said_by
from partstream.runtime.provider_files import LoadedVersion
from partstream.tokens import CountSource, TokenCount, estimate_tokens
from partstream.tokens.counting import CorrectsTokenCounts, FactoredTokenCounts, SourcedTokenCounts
from partstream.upstream.context import run_in_thread
from partstream.vscode import failures
from partstream.vscode import rpc_types as wire

if TYPE_CHECKING:
    from pathlib import Path

    from partstream.lm.cancellation import CancellationToken
    from partstream.lm.contract import Violation
    from partstream.lm.messages import ChatMessage, RequestOptions
    from partstream.lm.outputs import Finish
    from partstream.lm.provider import DrainingProgress, LanguageModelChatProvider
    from partstream.runtime.provider_files import ProviderLoader, Stamp
    from partstream.tokens.usage import AnswerUsage

# By the value of a level: the contract itself is not loaded before the first answer.
_LOG_LEVELS = {"MUST": logging.WARNING, "SHOULD": logging.INFO}


@dataclass(slots=True)
class _Broken:
    first: Violation
    count: int = 0


class BrokenRules:
    """The rules that one version of a provider has broken so far, in all its answers."""

    def __init__(self, provider: str) -> None:
        self._provider = provider
        self._broken: dict[str, _Broken] = {}

    def note(self, violation: Violation) -> None:
        """Counts a violation; logs it if it is the first one of its rule."""
        known = self._broken.get(violation.rule.id)
        if known is None:
            known = self._broken[violation.rule.id] = _Broken(violation)
            level = violation.rule.level.value
            is_dropped = level == "MUST" and violation.index is not None
            _logger.log(
                _LOG_LEVELS[level],
                "the provider %s broke the rule %s%s This rule is logged only once; the debug information counts it.",
                self._provider,
                violation,
                " The part was dropped." if is_dropped else "",
            )
        known.count += 1

    def result(self) -> list[wire.BrokenRule]:
        """All broken rules, in the order of their first violations; without the content of parts."""
        return [
            {
                "provider": self._provider,
                "rule": broken.first.rule.id,
                "level": broken.first.rule.level.value,
                "sentence": broken.first.rule.text,
                "count": broken.count,
                "place": None if broken.first.place is None else str(broken.first.place),
            }
            for broken in self._broken.values()
        ]


# ---- Hosted ----

MOST_MODELS: Final = 10_000
"""The most models of a provider; the largest servers list about a thousand."""

_CONFIGURATION: Final = "configuration"
"""The parameter of the method that lists models, for those that want what their group says."""
NO_CONFIGURATION: Final[Mapping[str, Any]] = MappingProxyType({})
"""What a provider gets that no group and no key of the settings configures."""

_logger = logging.getLogger("partstream.hosts.vscode")


class Generation(LoadedVersion):
    """The provider from one load of the source, and the models that it last listed."""

    def __init__(
        self,
        name: str,
        provider: LanguageModelChatProvider,
        on_did_change: Callable[[], None],
        on_did_correct: Callable[[list[str]], None],
    ) -> None:
        super().__init__(provider, on_did_change)
        # the provider's models by their own ids; empty until it was first asked
        self.models: Mapping[str, LanguageModelChatInformation] = {}
        self.broken_rules = BrokenRules(name)
        if isinstance(provider, CorrectsTokenCounts):
            corrected = provider.on_did_correct_token_counts
            self._subscriptions.append(
                corrected(
                    lambda family: on_did_correct([one.id for one in self.models.values() if one.family == family])
                )
            )


class HostedProvider:
    """One provider of the configuration or of a group.

    Args:
        on_did_change: Called when the list of models may have changed, but not while the models are being listed.
        on_did_correct: Called with the ids of models whose counts of texts have changed.
        on_did_load: Called after each load, with the problem if the source could not be loaded.
        configuration: The keys and values of the group, for a provider whose list depends on them.
    """

    def __init__(
        self,
        name: str,
        loader: ProviderLoader,
        on_did_change: Callable[[], None],
        on_did_correct: Callable[[list[str]], None] = lambda ids: None,
        on_did_load: Callable[[wire.LoadProblem | None], None] = lambda problem: None,
        configuration: Mapping[str, Any] = NO_CONFIGURATION,
        source: str = "",
    ) -> None:
        self.name = name
        self._source = source
        self._loader = loader
        self._on_did_load = on_did_load
        # the keys and values of the group; for a provider of the settings the key alone, if it has one
        self.configuration = configuration
        self._logged_list = ""  # the last line of the log about the list, which says nothing twice in a row
        self._on_did_change = on_did_change
        self._on_did_correct = on_did_correct
        self._loading: asyncio.Task[None] | None = None
        self._listing = 0
        self.loaded: Generation | None = None  # the generation that was loaded last, or None
        self._stamp: Stamp = None
        self.failure: failures.ProviderFailedError | None = None  # the error of loading the current source, or None
        self._closing: set[asyncio.Task[None]] = set()

    @property
    def is_own(self) -> bool:
        """Whether it is the person's own code."""
        return self._loader.is_own

    @property
    def file(self) -> Path | None:
        """The person's own file that holds the provider, or None."""
        return self._loader.file

    async def list_models(self, silent: bool, token: CancellationToken) -> Sequence[LanguageModelChatInformation]:
        """Asks the provider for its models.

        Raises:
            ProviderFailedError: The provider could not be loaded, or raised.
        """
        self._listing += 1
        try:
            generation = await self.current(retry=not silent)
            return await self._list(generation, silent, token)
        finally:
            self._listing -= 1

    async def find_model(
        self, model_id: str, token: CancellationToken
    ) -> tuple[Generation, LanguageModelChatInformation]:
        """The model and the generation that has it. A generation that does not know the model is asked for its list.

        Raises:
            ProviderFailedError: The provider could not be loaded, raised, or does not have the model.
        """
        generation = await self.current()
        if model_id not in generation.models:
            await self._list(generation, True, token)
        model = generation.models.get(model_id)
        if model is None:
            raise self.failed(UnknownModelError(model_id, tuple(generation.models)), "got a request for another model")
        return generation, model

    async def current(self, *, retry: bool = False) -> Generation:
        """The generation of the current source, or the one before if the current source is broken.

        Args:
            retry: Whether to load an unchanged source again that failed before: the things that it needs may exist
                now.

        Raises:
            ProviderFailedError: No version of the source has been loaded so far.
        """
        if self._loading is None and self._must_load(retry):
            self._loading = asyncio.create_task(self._load())
        if self._loading is not None:
            # Shielded: a caller that stops waiting must not stop the load that others wait for.
            await asyncio.shield(self._loading)
        if self.loaded is None:
            assert self.failure is not None  # noqa: S101 - for the type checker: one of the two is there
            raise self.failure.with_traceback(None)  # else it would collect the frames of all who met it
        return self.loaded

    @asynccontextmanager
    async def using(self, generation: Generation) -> AsyncIterator[None]:
        """Keeps a generation open while a request runs on it, even if the generation is replaced meanwhile."""
        try:
            with generation.in_use():
                yield
        finally:
            self._close_if_finished(generation)

    def failed(self, error: BaseException, what: str) -> failures.ProviderFailedError:
        """Logs an error with this provider's name, and returns it as a ProviderFailedError."""
        self._log_failure(error, what)
        return self._as_failure(error)

    def _log_failure(self, error: BaseException, what: str) -> None:
        traceback = None if failures.says_all(error) else logged_error(error)
        said = with_facts(said_by(error), error) if traceback is None else said_by(error)
        _logger.error("the provider %s %s: %s", self.name, what, said, exc_info=traceback)

    def _as_failure(
        self, error: BaseException, kind: type[failures.ProviderFailedError] = failures.ProviderFailedError
    ) -> failures.ProviderFailedError:
        need: wire.KeyNeed | None = None
        if isinstance(error, KeyNeededError):
            need = {"source": self._source, "hadKey": bool(self.configuration.get("apiKey"))}
        failure = kind(self.name, error, need)
        failure.__cause__ = error
        return failure

    async def aclose(self) -> None:
        """Closes the provider; the next use loads it again."""
        generation, self.loaded = self.loaded, None
        if generation is not None:
            self._retire(generation)
        await asyncio.gather(*self._closing)

    def _retire(self, generation: Generation) -> None:
        try:
            generation.retire()
        except BaseException as error:
            self.failed(error, "failed to end the subscriptions to its events")
        self._close_if_finished(generation)

    def _close_if_finished(self, generation: Generation) -> None:
        """Closes a replaced generation once no request runs on it; only the end of the process waits for that."""
        if generation.is_finished:
            task = asyncio.create_task(self._close(generation))
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    async def _close(self, generation: Generation) -> None:
        try:
            await generation.aclose()
        except BaseException as error:
            if not failures.is_providers_own(error):
                raise
            self.failed(error, "failed to close")

    def _must_load(self, retry: bool) -> bool:
        untried = self.loaded is None and self.failure is None
        return untried or self._loader.stamp() != self._stamp or (retry and self.failure is not None)

    async def _load(self) -> None:
        old = self.loaded
        # Taken before the load: the next request notices an edit during the load.
        self._stamp = self._loader.stamp()
        try:
            # In a thread: the imports of a user's file may take seconds, and other requests must not wait.
            provider = await run_in_thread(self._loader.load, f"partstream-load-{self.name}")
            self.loaded = Generation(self.name, provider, self._changed, self._on_did_correct)
        except BaseException as error:
            # A script that ends with `sys.exit(main())` must not end the other providers.
            if not failures.is_providers_own(error):
                raise
            keeps_old = self.loaded is not None
            consequence = "the previous version is still used" if keeps_old else "it is left out"
            problem = failures.load_problem(error, self._loader.file, keeps_old=keeps_old)
            where = f"{problem['file']}, line {problem['line']}, " if problem["file"] is not None else ""
            self._log_failure(error, f"could not be loaded ({where}{consequence})")
            self.failure = self._as_failure(error, failures.ProviderLoadError)
            self._on_did_load(problem)
            return
        finally:
            self._loading = None
        had_failed, self.failure = self.failure is not None, None
        if self._stamp is None:
            self._stamp = self._loader.stamp()  # a module's file is known only after the load
        self._on_did_load(None)
        if old is not None or had_failed:
            _logger.info("the provider %s was loaded again: its source changed", self.name)
            self._changed()
        if old is not None:
            self._on_did_correct([*old.models])  # the new code may count differently
            self._retire(old)

    async def _list(
        self, generation: Generation, silent: bool, token: CancellationToken
    ) -> Sequence[LanguageModelChatInformation]:
        self._listing += 1
        try:
            list_models: Any = generation.provider.provide_language_model_chat_information
            takes_it = _CONFIGURATION in inspect.signature(list_models).parameters
            given_beside = {_CONFIGURATION: self.configuration} if takes_it else {}
            listed: Any = await list_models(silent, token, **given_beside)
            given = islice(listed, MOST_MODELS + 1) if isinstance(listed, Iterable) else listed
            what = "a LanguageModelChatInformation"
            models = sequence_of("the list of models", given, LanguageModelChatInformation, what)
            if len(models) > MOST_MODELS:
                raise CallerError(f"got more than {MOST_MODELS:,} models from {self.name}")  # noqa: TRY301
            generation.models = {model.id: model for model in models}
        except BaseException as error:
            if not failures.is_providers_own(error):
                raise
            if (said := failures.reason(error)) != self._logged_list:
                self._logged_list = said
                self._log_failure(error, "could not list its models")
            raise self._as_failure(error) from error
        finally:
            self._listing -= 1
        found = "1 model" if len(generation.models) == 1 else f"{len(generation.models)} models"
        if found != self._logged_list:
            self._logged_list = found
            _logger.info("%s of %s %s", found, self.name, self._loader.place)
        return tuple(generation.models.values())

    def _changed(self) -> None:
        if not self._listing:
            self._on_did_change()


# ---- Usage report ----

_MOST_EDITS: Final = 20
_MOST_EDIT: Final = 500
"""The most cuts of an answer that are kept, and the most characters of each."""


class OuterProgress:
    """The base of a progress that passes parts to another one."""

    def __init__(self, progress: DrainingProgress) -> None:
        self._progress = progress

    async def drain(self) -> None:
        """Waits for a slow reader."""
        await self._progress.drain()

    def wait(self, reason: str, seconds: float) -> None:
        """Passes on why the answer does not begin yet."""
        if isinstance(self._progress, WaitingProgress):
            self._progress.wait(reason, seconds)


class UsageWatch(OuterProgress):
    """A progress that passes on everything, notices a usage part, and knows what a person sees of the answer: also
    files, where each is shown as a line of text."""

    def __init__(self, progress: DrainingProgress, *, shows_files: bool = False) -> None:
        super().__init__(progress)
        self._shows_files = shows_files
        self.usage: dict[str, Any] | None = None  # the content of the last usage part, or None
        self.is_visible = False  # whether there is a text, a call or a file that is shown
        self.data: dict[str, None] = {}  # the media types of what is neither shown nor a mark for the host
        self._kept = AnswerExcerpt()

    def report(self, part: ResponsePart) -> None:  # noqa: D102
        self._progress.report(part)
        if not isinstance(part, DataPart) or part.mime_type != USAGE_MIME_TYPE:
            self._kept.keep(part)
            if not self.is_visible:
                self._look_at(part)
            return
        with suppress(JSONDecodeError):  # VS Code would not read that either
            usage = loads(part.data)
            self.usage = usage if usage and isinstance(usage, dict) else self.usage

    def _look_at(self, part: ResponsePart) -> None:
        if isinstance(part, DataPart):
            self.is_visible = self._shows_files and is_file(part)
            if not is_mark(part.mime_type):
                self.data[part.mime_type] = None
        else:
            is_said = isinstance(part, TextPart) and bool(part.value.strip())
            self.is_visible = is_said or isinstance(part, ToolCallPart)

    def answer(self) -> ChatMessage:
        """The answer so far, as the message in the next request; only the beginning of a long answer."""
        return self._kept.message()

    @property
    def length(self) -> float:
        """The ratio of the whole answer's text length to that of :meth:`answer`; 1 except for a long answer."""
        return self._kept.length


def answer_usage(usage: Mapping[str, Any], model: LanguageModelChatInformation, now: float) -> AnswerUsage | None:
    """The usage of an answer that ended now; None if `usage` lacks the input or the output."""
    prompt, completion = as_count(usage.get("prompt_tokens")), as_count(usage.get("completion_tokens"))
    if prompt is None or completion is None:
        return None
    details, edits = usage.get("prompt_tokens_details"), usage.get(EDITS_KEY)
    return {
        "model": model.name,
        "endedAt": now,
        "inputTokens": prompt,
        "outputTokens": completion,
        "cachedTokens": as_count(details.get("cached_tokens")) if isinstance(details, dict) else None,
        "cost": as_amount(usage.get(COST_KEY), MOST_DOLLARS),
        "source": "estimated" if usage.get(SOURCE_KEY) == CountSource.ESTIMATED else "reported",
        "maxInputTokens": model.max_input_tokens,
        "edits": [edit[:_MOST_EDIT] for edit in edits[:_MOST_EDITS] if isinstance(edit, str)]
        if isinstance(edits, list)
        else [],
    }


def conversation_of(options: RequestOptions) -> str | None:
    """The digest of a request's conversation; None for Copilot's own requests, such as the one for a title.

    Copilot names the conversation only in requests of the chat (observed in Copilot 0.67). All requests of another
    extension form one conversation.
    """
    named = _conversation_id(options)
    if named is not None:
        return short_digest(named)
    initiator = options.request_initiator
    return None if not initiator or initiator.lower() == failures.COPILOT else short_digest(f"initiator {initiator}")


def is_copilots_own(options: RequestOptions) -> bool:
    """Whether Copilot asks by itself, such as for a title, and not for a person who waits for the answer."""
    return (options.request_initiator or "").lower() == failures.COPILOT and _conversation_id(options) is None


def _conversation_id(options: RequestOptions) -> str | None:
    named = options.model_options.get("_conversationId")
    return named if isinstance(named, str) and named else None


# ---- Counting ----

_MOST_FACTOR: Final = 1000.0


def estimate(item: str | ChatMessage) -> TokenCount:
    """An estimate for an unknown model."""
    return TokenCount(estimate_tokens(item), CountSource.ESTIMATED)


def counting_of(
    provider: LanguageModelChatProvider, models: Iterable[LanguageModelChatInformation]
) -> list[wire.Counting]:
    """How a provider counts texts, for each of its models; does not use anybody's texts."""
    return [
        {
            "group": None,
            "model": model.id,
            "family": model.family,
            "maxInputTokens": model.max_input_tokens,
            "source": _source(provider, model).value,
            "factor": _factor(provider, model),
        }
        for model in models
    ]


def _source(provider: LanguageModelChatProvider, model: LanguageModelChatInformation) -> CountSource:
    """The source of a provider's counts: `counted` if it does not tell, `estimated` if it fails."""
    try:
        if not isinstance(provider, SourcedTokenCounts):
            return CountSource.COUNTED
        return CountSource(provider.token_count(model, "a few words").source)
    except BaseException as error:
        _logger.warning("a provider did not tell the source of its token counts: %s", said_by(error))
        return CountSource.ESTIMATED


def _factor(provider: LanguageModelChatProvider, model: LanguageModelChatInformation) -> float | None:
    """The factor of a provider's estimates; None if it has none or fails."""
    try:
        if isinstance(provider, FactoredTokenCounts):
            return as_amount(provider.token_count_factor(model), _MOST_FACTOR)
    except BaseException as error:
        _logger.warning("a provider did not tell the factor of its token counts: %s", said_by(error))
    return None


# ---- Answer ends ----


def answer_end(
    provider: str, model_id: str, finish: Finish | None, error: BaseException | None, *, cancelled: bool, now: float
) -> wire.AnswerEnd:
    """How an answer ended.

    Args:
        finish: The end that the provider reported, or None.
        error: The error that the provider raised, or None.
        cancelled: Whether the request had been cancelled when the answer ended.
    """
    outcome: wire.AnswerOutcome = "completed" if finish is None else finish.outcome.value
    if error is not None and outcome != "truncated":
        outcome = "failed"
    # The facts may be of any type: a provider of a person's own may have made them.
    said = None if finish is None else finish.reason
    reason = said if isinstance(said, FinishReason) else None
    names = (None, None, None) if finish is None else (reason and reason.raw, finish.response_id, finish.model)
    raw, response_id, answered_by = (name if isinstance(name, str) else None for name in names)
    upstream = failures.upstream_facts(error)
    return {
        "endedAt": now,
        "provider": provider,
        "model": model_id,
        "outcome": "cancelled" if cancelled else outcome,
        "finishReason": None if reason is None else reason.unified.value,
        "providerFinishReason": raw,
        "responseId": response_id,
        "answeredBy": answered_by,
        "error": None if error is None else type(error).__name__,
        "providerCode": upstream.provider_code,
        "httpStatus": upstream.http_status,
    }
