"""Discovers the models of one upstream: returns the last known list at once, and fetches a new one in the background.

`ModelList` decides when to ask and which answers to keep. A refresh asks for the list, then, if the list has only
OpenAI's fields, for the server's native list, then for the details of each model that is offered. `Composition` has
the records of all answers together, and the further questions that these answers raise; the same answers give the same
records. :mod:`partstream.upstream.model_shapes` reads the entries. `DiskCache` keeps answers between starts.

Servers deviate. Many answer any path with some document, so one that is no list counts as none. Anthropic (`has_more`,
`last_id`) and Google (`nextPageToken`; docs/wires/gemini.md#models-and-counting) give their lists page by page.
"""

from __future__ import annotations
import asyncio
import hmac
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias
from urllib.parse import urlencode, urlsplit

from partstream import errors
from partstream.codec.checks import LAST_TIME, as_amount, dataclass, replace
from partstream.codec.json_codec import JSONDecodeError, dumps, loads
from partstream.codec.system import make_private_folder, replace_file
from partstream.conversation.preparation import UNKNOWN_CAPABILITIES, Fact, ModelCapabilities, Source
from partstream.protocols.protocol import asking
from partstream.upstream import endpoint, http_errors, model_shapes
from partstream.upstream import model_information as facts
from partstream.upstream.context import shared_task
from partstream.upstream.model_information import ModelRecord, is_allowed, merged
from partstream.upstream.model_shapes import Fields, note_problem

if TYPE_CHECKING:
    from partstream.lm.provider import LanguageModelChatInformation
    from partstream.upstream.configuration import GatewayConfiguration

_logger = logging.getLogger("partstream.models")
_MAX_QUESTIONS: Final = 1000
_ROUNDS: Final = 3
"""The list, the native list, the models: after these, no answer leads to further questions."""
_LONGEST_AWAITED: Final = 2.0
"""Seconds that the first list waits for details; they are asked for again beside it."""
_NOTHING_THERE: Final = frozenset({404, 405, 410, 501})
_MAX_FAILURES: Final = 5


class FetchResponse(NamedTuple):
    """A response over HTTP, with its headers by lower-case name and its whole body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


Fetch: TypeAlias = "Callable[[str, Mapping[str, str], bytes | None], Awaitable[FetchResponse]]"
"""Gets a document at a path, from the root of the host and with its query if it has one, or posts a body to it, with
the keys of the upstream; an UpstreamError says that there is no response."""

_LIST_SECONDS: Final = 300.0
"""How long a list is fresh."""
_DETAILS_SECONDS: Final = 24 * 3600.0
"""The same for details, also for their absence."""
_RETRY_SECONDS: Final = 30.0
"""After a failure, if a list is known."""
REQUEST_SECONDS: Final = 15.0
CONCURRENCY: Final = 4
"""Requests about single models at the same time."""


class ModelList:
    """The models of one upstream; serves any number of callers on one event loop.

    Args:
        on_change: Called when the records differ from those that were known; the first ones are waited for.
    """

    def __init__(
        self,
        configuration: GatewayConfiguration,
        fetch: Fetch,
        on_change: Callable[[], object] = lambda: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._configuration = configuration
        self._fetch = fetch
        self._writer = writer = asking(configuration.protocol)
        self._base_path, further_lists = writer.find_model_lists(urlsplit(configuration.base_url).path)
        self._lists = list_questions(self._base_path, further_lists, writer.models_path)
        self._on_change = on_change
        self._said_failure: str | None = None
        self._said_windows: dict[str, Fact[int]] = {}
        self._cache: DiskCache | None = None
        if configuration.cache_folder is not None:
            # The identity of the caller for the upstream: the key or its source, and the headers.
            key = configuration.api_key.reveal() if configuration.api_key is not None else ""
            headers = sorted((name.lower(), value) for name, value in configuration.headers.items())
            account = dumps([key, configuration.key_place, headers])
            self._cache = DiskCache(configuration.cache_folder, configuration.base_url, account)
        self._clock = clock
        self._known: Answers | None = None  # not read from the disk yet
        self._records: tuple[ModelRecord, ...] | None = None
        self._pricing: Mapping[str, facts.Pricing] = {}
        self._capabilities: Mapping[str, ModelCapabilities] = {
            model.id: ModelCapabilities(max_output_tokens=model.max_output_tokens) for model in configuration.models
        }
        self._next_refresh = 0.0
        self._listing: asyncio.Task[None] | None = None
        self._asking: asyncio.Task[None] | None = None

    async def information(self) -> Sequence[LanguageModelChatInformation]:
        """The models as VS Code gets them."""
        if self._configuration.models:
            return self._configuration.models
        limits = self._configuration.selection.limits
        models = await self.offered()
        self._pricing = {
            model.record.id: model.record.pricing.value for model in models if model.record.pricing is not None
        }
        self._capabilities = {model.record.id: facts.known_capabilities(model.record) for model in models}
        return tuple(facts.information_of(model, limits) for model in models)

    async def offered(self) -> Sequence[facts.OfferedModel]:
        """The models with the source of every fact; details of each model arrive after the list."""
        selection = self._configuration.selection
        records: tuple[facts.ModelRecord, ...] = ()
        if self._configuration.discovers:
            try:
                listed = await self.records()
                records = tuple(record for record in listed if record.is_served_at(self._writer.path))
            except errors.LanguageModelError as error:
                if not selection.overrides:
                    raise
                _logger.warning("only the configured models are offered: %s", error)
        return [self._with_window(model) for model in facts.offered_models(records, selection)]

    def _with_window(self, model: facts.OfferedModel) -> facts.OfferedModel:
        """The model with the context window that requests to it set, where they set one.

        The server cuts a longer prompt without a word, so no limit of prompts exceeds it.
        """
        record = model.record
        if not self._writer.sets_window:
            return model
        window, most = record.context_window, record.max_input_tokens
        if window is None or window.source is not Source.CONFIGURATION:
            settings = self._configuration.request_settings(record.id)
            window = self._writer.choose_window(replace(settings, capabilities=facts.known_capabilities(record)))
            if window.source is Source.DETAILS and record.loaded_window is not None:
                window = record.loaded_window
        if most is not None and most.value > window.value:
            if self._said_windows.get(record.id) != window:
                self._said_windows[record.id] = window
                _logger.warning(
                    "%s: prompts get at most the context window that requests set, %s tokens, and not the limit of %s "
                    "tokens: set a larger numCtx for longer ones",
                    record.id,
                    window,
                    most,
                )
            most = None
        return replace(model, record=replace(record, context_window=window, max_input_tokens=most))

    def pricing(self, model_id: str) -> facts.Pricing | None:
        """A person's prices of a model, else those in the last list; None if they are unknown."""
        selection = self._configuration.selection
        return (selection.price_of(model_id) if selection.prices else None) or self._pricing.get(model_id)

    def capabilities(self, model_id: str) -> ModelCapabilities:
        """What the last list says that a model can do."""
        return self._capabilities.get(model_id, UNKNOWN_CAPABILITIES)

    # ---- what the upstream lists ----

    async def records(self) -> tuple[ModelRecord, ...]:
        """The models that are known now; waits only if no list is known, and only for the list.

        Raises:
            UpstreamError: No list is known, and the upstream gives none now; a list is not known any more once the
                upstream has refused the key.
        """
        if self._records is None:
            await asyncio.shield(self._refreshing())
        if not 0 <= self._next_refresh - self._clock() <= _LIST_SECONDS:
            self._refreshing()
        return self._records or ()

    async def settle(self) -> None:
        """Waits until no request is running."""
        while running := self._running():
            await asyncio.wait(running)

    async def aclose(self) -> None:
        """Cancels the running requests; the object may be used again."""
        running = self._running()
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    def _running(self) -> list[asyncio.Task[None]]:
        return [task for task in (self._listing, self._asking) if task is not None and not task.done()]

    async def _load(self) -> Answers:
        """The stored answers, and the records that they give."""
        answers = {} if self._cache is None else await asyncio.to_thread(self._cache.load)
        if any(_document(answers, question) is not None for question in self._lists):
            try:
                self._records = self._compose(answers).records
            except errors.UpstreamProtocolError as error:
                _logger.warning("ignored the stored list of models: %s", error)
                return {}
        return answers

    def _log_failure(self, task: asyncio.Task[None]) -> None:
        if task.cancelled() or (error := task.exception()) is None or self._records is None:  # who waits gets it
            return
        if str(error) != self._said_failure:
            self._said_failure = str(error)
            _logger.warning("cannot refresh the list of models of %s: %s", self._configuration.shown_url, error)

    # ---- requests ----

    def _refreshing(self) -> asyncio.Task[None]:
        """The running refresh, or a new one; what follows the list runs in the background."""
        before, self._listing = self._listing, shared_task(self._listing, self._refresh)
        if self._listing is not before:
            self._listing.add_done_callback(self._log_failure)
        return self._listing

    async def _refresh(self) -> None:
        if self._known is None:
            self._known = await self._load()
            if self._records is not None:
                return  # they are known now, and a list is asked for after them
        answers = self._known
        self._next_refresh = self._clock() + _RETRY_SECONDS
        listed: Answers = {}
        try:
            for question in self._lists:  # up to the first one that exists
                listed[question.key] = await self._ask(question)
                if listed[question.key].document is not None:
                    break
            else:
                raise errors.UpstreamHTTPError(404, provider_message=f"no list of models at {self._lists[0].path}")
        except errors.LanguageModelError as error:
            if error.code is errors.LanguageModelErrorCode.NO_PERMISSIONS:
                await self._withdraw()
            raise
        composition = self._compose({**answers, **listed})
        answers |= listed
        if self._records is None and (awaited := [one for one in composition.questions if one.is_awaited]):
            with suppress(TimeoutError):
                async with asyncio.timeout(_LONGEST_AWAITED):
                    await self._ask_all(awaited, answers, set())
            composition = self._compose(answers)
        self._next_refresh = self._clock() + _LIST_SECONDS
        self._said_failure = None
        self._publish(composition.records)
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._ask_more(answers))
            self._asking.add_done_callback(self._log_failure)

    async def _withdraw(self) -> None:
        """Forgets the list: the upstream refuses the key, or there is none, and a known list would hide that."""
        was_known, self._records = self._records is not None, None
        self._known = {}
        if self._asking is not None:
            self._asking.cancel()  # it would ask more about what is not known any more
        if self._cache is not None:
            await asyncio.to_thread(self._cache.remove)
        if was_known:
            self._on_change()

    def _compose(self, answers: Mapping[str, CachedAnswer]) -> Composition:
        is_wanted = partial(is_allowed, selection=self._configuration.selection)
        return Composition(answers, self._base_path, is_wanted, self._lists)

    async def _ask_more(self, answers: Answers) -> None:
        """Requests the facts that the list lacks; publishes the records once all are there."""
        failed: set[str] = set()
        for _ in range(_ROUNDS):
            now = self._clock()
            fresh = {key for key, answer in answers.items() if answer.is_fresh(now, _DETAILS_SECONDS)}
            questions = [one for one in self._compose(answers).questions if one.key not in failed | fresh]
            if not questions or len(failed) >= _MAX_FAILURES:
                break
            await self._ask_all(questions[:_MAX_QUESTIONS], answers, failed)
        composition = self._compose(answers)
        for key in answers.keys() - {question.key for question in (*self._lists, *composition.questions)}:
            del answers[key]
        self._publish(composition.records)
        if self._cache is not None:
            await asyncio.to_thread(self._cache.save, dict(answers))

    async def _ask_all(self, questions: Iterable[FactRequest], answers: Answers, failed: set[str]) -> None:
        """Sends several requests at the same time, and stops when the upstream refuses too many of them."""
        remaining = iter(questions)

        async def work() -> None:
            for question in remaining:
                if len(failed) >= _MAX_FAILURES:
                    return
                try:
                    answers[question.key] = await self._ask(question)
                except errors.LanguageModelError as error:  # the upstream failed, or there is no key for it
                    failed.add(question.key)
                    _logger.info("no details from %s: %s", question.key, error)

        async with asyncio.TaskGroup() as group:
            for _ in range(CONCURRENCY):
                group.create_task(work())

    async def _ask(self, question: FactRequest) -> CachedAnswer:
        """The answer to one question; the pages of a list as one document."""
        pages: list[object] = []
        path: str | None = question.path
        while path is not None and len(pages) < MOST_PAGES:
            try:
                async with asyncio.timeout(REQUEST_SECONDS):
                    response = await self._fetch(path, {}, question.body)
            except TimeoutError as error:
                raise errors.UpstreamError(
                    f"the server gave no answer within {REQUEST_SECONDS:g} s when asked for its models ({path})",
                    advice="check the address, and whether the server is overloaded",
                ) from error
            if not pages and response.status in _NOTHING_THERE:
                return CachedAnswer(None, self._clock())
            document = document_in(response.body) if response.status == 200 else None
            if document is None:  # null too, which would mean that nothing is there
                raise list_refusal(response, self._configuration)
            pages.append(document)
            query, before = next_page(document), path
            path = None if query is None else f"{question.path}?{query}"
            if path == before:  # it names the page that it just gave
                break
        if path is not None:
            _logger.info("%s has more pages than the %d that were read", question.path, len(pages))
        return CachedAnswer(joined_pages(pages), self._clock())

    def _publish(self, records: tuple[ModelRecord, ...]) -> None:
        before, self._records = self._records, records
        if before is not None and before != records:
            self._on_change()


def list_refusal(response: FetchResponse, configuration: GatewayConfiguration) -> errors.UpstreamError:
    """The error for a response, without secrets, that is no list of models, in the server's own words."""
    if response.status == 200:
        wanted, expected = "list of models", "application/json"
        return http_errors.content_type_error(response.headers, response.body, wanted=wanted, expected=expected)
    wire = asking(configuration.protocol).errors
    error = http_errors.http_error(response.status, response.headers, response.body, datetime.now(UTC), wire)
    http_errors.advise_on_key(error, configuration)
    return error


def document_in(body: bytes) -> Any:
    """The JSON value of a body; None where it is none."""
    try:
        return loads(body)
    except JSONDecodeError:
        return None


# ---- Composition: the records, and the further questions ----

_NATIVE_LISTS: Final = (
    ("/api/v0/models", None),
    ("/api/tags", None),
    ("/model/info", None),
    ("/v1/language-models", "xai"),
)
"""The native lists of LM Studio, Ollama, LiteLLM's proxy and xAI, requested if a list has only OpenAI's fields; and who
has to own one of the models for it, or None."""


@dataclass(frozen=True, slots=True)
class FactRequest:
    """A request for facts about models, or about one, from the root of the host; its answer is kept under a key. The
    first list waits for one that is awaited."""

    path: str
    body: bytes | None = None
    is_awaited: bool = False
    model_id: str = ""

    @property
    def key(self) -> str:
        """Tells it apart from the requests of the same path that name another model in their body."""
        return self.path if self.body is None else f"{self.path} {self.model_id}"


def list_questions(
    base_path: str, further_lists: Iterable[str] = (), models_path: str = endpoint.MODELS_PATH
) -> tuple[FactRequest, ...]:
    """The questions for lists, best first: the first list with an answer determines the models. Further lists have
    their paths from the root of the host, the first one below that of the base URL."""
    return tuple(FactRequest(path) for path in (f"{base_path.rstrip('/')}{models_path}", *further_lists))


def _document(answers: Mapping[str, CachedAnswer], question: FactRequest) -> Any:
    answer = answers.get(question.key)
    return None if answer is None else answer.document


class Composition:
    """What all answers say together, of which at least one is to :func:`list_questions`.

    Args:
        is_wanted: Whether details of a model are needed, by its id.

    Attributes:
        records: The language models with all that is known about them.
        questions: What else there is to ask; an answer to one of them gives another composition.

    Raises:
        UpstreamProtocolError: The first list with an answer is none.
    """

    def __init__(
        self,
        answers: Mapping[str, CachedAnswer],
        base_path: str,
        is_wanted: Callable[[str], bool],
        lists: Sequence[FactRequest],
    ) -> None:
        self.questions: list[FactRequest] = []
        self._answers = answers
        path = base_path.rstrip("/")
        # The root of a server's native API is before `/v1`, or before the `/api` of the native API itself.
        root = next((path.removesuffix(end) for end in ("/v1", "/api") if path.endswith(end)), None)
        catalogue = self._listed(lists, root)
        self._before = {False: path, True: root if path else ""}  # a base URL without a path is the root itself
        windows: dict[str, Fact[int]] = {}
        # The windows of the models that are loaded, by their ids, at a server that lists them.
        running = {entry.details.running_path for entry in catalogue.entries.values() if entry.details is not None}
        for one in running - {""} if root is not None else ():
            windows |= model_shapes.read_running(self._answer_to(FactRequest(f"{root}{one}")))
        detailed = [
            self._detailed(entry) if is_wanted(model_id) else entry.record
            for model_id, entry in catalogue.entries.items()
        ]
        known = (record for record in detailed if record is not None)
        self.records = tuple(model_shapes.with_running_window(record, windows.get(record.id)) for record in known)

    def _listed(self, lists: Sequence[FactRequest], root: str | None) -> Catalogue:
        """The first list that there is, with what further lists say about its models: those of the protocol; and those
        of the server's native API, if it has only OpenAI's fields."""
        chosen = next(question for question in lists if _document(self._answers, question) is not None)
        catalogue = read_catalogue(_document(self._answers, chosen))
        for question in lists[1:]:
            if question is not chosen:
                catalogue = with_list(catalogue, self._further(question))
        if root is not None and catalogue.is_bare:
            owners = {None, *(entry.record.creator for entry in catalogue.entries.values())}
            for path in (path for path, owner in _NATIVE_LISTS if owner in owners):
                catalogue = with_list(catalogue, self._further(FactRequest(root + path)), is_better=True)
        return catalogue

    def _further(self, question: FactRequest) -> Catalogue:
        """Another list; an empty one where an answer is none: many servers answer any path with something."""
        with suppress(errors.UpstreamProtocolError):
            if (document := self._answer_to(question)) is not None:
                return read_catalogue(document)
        return Catalogue({})

    def _detailed(self, entry: CatalogueEntry) -> ModelRecord | None:
        """The record with the details of the model; None if the model is not a language model."""
        record, details = entry.record, entry.details
        path = None if details is None else details.path(record.id)
        if details is None or path is None or (before := self._before[details.is_native]) is None:
            return record
        body = None if details.body is None else details.body(record.id)
        document = self._answer_to(FactRequest(before + path, body, details.is_awaited, record.id))
        try:
            better = record if document is None else model_shapes.read_detail(details, record.id, document)
        except errors.UpstreamProtocolError as error:
            _logger.debug("no details of %s: %s", record.id, error)
            return record
        return None if better is None else merged(record, better)

    def _answer_to(self, question: FactRequest) -> Any:
        self.questions.append(question)
        return _document(self._answers, question)


# ---- Catalogues: the lists of servers ----

_MAX_ENTRIES: Final = 5000
_MAX_ID: Final = 500
_BARE: Final = model_shapes.SHAPES[-1].name


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """One language model of a list: its record, and how the server is asked for details about it."""

    record: ModelRecord
    details: model_shapes.Details | None = None


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The content of a list: its language models by id, in its order, and the ids of models of another kind."""

    entries: Mapping[str, CatalogueEntry]
    others: frozenset[str] = frozenset()
    shapes: frozenset[str] = frozenset()

    @property
    def is_bare(self) -> bool:
        """Whether the list has no limits, so that the server's native list may have more facts."""
        known = any(entry.record.context_window is not None for entry in self.entries.values())
        return bool(self.entries) and not known and self.shapes <= {_BARE}


def read_catalogue(document: Any) -> Catalogue:
    """Reads the JSON value of a list: `{data: [...]}`, `{models: [...]}` or the list alone. Entries that cannot be read
    are left out, which the log says.

    Raises:
        UpstreamProtocolError: `document` is none of these.
    """
    listed = entries_of(document)
    if listed is None:
        raise errors.UpstreamProtocolError(
            event_type="the list of models", field="data", got=f"{document!r:.80}", expected="a list of models"
        )
    items, place = listed
    entries: dict[str, CatalogueEntry] = {}
    others: set[str] = set()
    shapes: set[str] = set()
    if len(items) > _MAX_ENTRIES:
        note_problem(place, f"{len(items)} entries", f"at most {_MAX_ENTRIES}; the rest is left out")
    for number, item in enumerate(items[:_MAX_ENTRIES]):
        where = f"{place}[{number}]"
        if not isinstance(item, dict):
            note_problem(where, item, "an object")
            continue
        fields = Fields(item, where, Source.LIST)
        shape = next(one for one in model_shapes.SHAPES if one.fits(fields))
        model_id = _id_of(item, where, shape)
        if model_id is None:
            continue
        if not shape.is_language(fields):
            others.add(model_id)
        elif model_id in entries:
            note_problem(f"{where}.{shape.id_fields[0]}", model_id, "an id that no earlier entry has")
        else:
            shapes.add(shape.name)
            entries[model_id] = CatalogueEntry(shape.record(fields, model_id), shape.details)
    return Catalogue(entries, frozenset(others), frozenset(shapes))


def with_list(catalogue: Catalogue, further: Catalogue, *, is_better: bool = False) -> Catalogue:
    """A list with what a further one says about its models; where both say something, the one that is better counts.

    Only the first list determines which models can be used: a native one may hold models that only the native API
    serves.
    """
    entries = {model_id: entry for model_id, entry in catalogue.entries.items() if model_id not in further.others}
    for model_id in entries.keys() & further.entries.keys():
        own, other = entries[model_id], further.entries[model_id]
        record = merged(own.record, other.record) if is_better else merged(other.record, own.record)
        entries[model_id] = CatalogueEntry(record, own.details or other.details)
    return replace(catalogue, entries=entries, shapes=catalogue.shapes | further.shapes)


def entries_of(document: Any) -> tuple[list[Any], str] | None:
    """The entries of a list of models, and their place in it; None where a document is no such list."""
    if isinstance(document, list):
        return document, "list"
    if not isinstance(document, dict):
        return None
    lists = ((document[name], name) for name in ("data", "models") if isinstance(document.get(name), list))
    # Ollama sends null if it has no models.
    is_empty = document.get("object") == "list" and document.get("data") is None
    return next(lists, ([], "data") if is_empty else None)


def _id_of(item: dict[str, Any], where: str, shape: model_shapes.Shape) -> str | None:
    """The id of an entry; None if the entry has no usable id."""
    model_id = next((item[name] for name in shape.id_fields if item.get(name) is not None), None)
    if not isinstance(model_id, str) or not model_id.strip():
        expected = "the id of a model"
    elif len(model_id) > _MAX_ID or not model_id.isprintable():
        expected = f"at most {_MAX_ID} printable characters"
    elif "*" in model_id:
        expected = "the id of one model, no pattern"  # LiteLLM's routes: openai/*
    else:
        return model_id.removeprefix(shape.id_prefix) or model_id
    note_problem(f"{where}.{shape.id_fields[0]}", model_id, expected)
    return None


# ---- Pages of a list ----

_LARGE_PAGE: Final = "1000"
"""Google's largest page; without a size, it gives 50 models at once (docs/wires/gemini.md#models-and-counting)."""
_AS_IT_CAME: Final = "surrogatepass"
"""A mark of a page may hold half a character, which UTF-8 has no bytes for."""
MOST_PAGES: Final = 50
"""The most pages of one list: a server that names the same next page for ever must not be asked for ever."""


def next_page(document: Any) -> str | None:
    """The query of the next page of a list, such as `after_id=claude-haiku-4-5`; None after the last page."""
    match document:
        case {"has_more": True, "last_id": str(last)} if last:
            return urlencode({"after_id": last}, errors=_AS_IT_CAME)
        case {"nextPageToken": str(token)} if token:
            return urlencode({"pageSize": _LARGE_PAGE, "pageToken": token}, errors=_AS_IT_CAME)
    return None


_MARKS: Final = frozenset({"has_more", "first_id", "last_id", "nextPageToken"})


def joined_pages(pages: Iterable[Any]) -> Any:
    """The first page with the entries of all; its marks of further pages are gone."""
    first, *others = pages
    if not others:
        return first
    joined = {name: value for name, value in first.items() if name not in _MARKS}
    for name in ("data", "models"):
        if isinstance(first.get(name), list):
            lists = (page.get(name) for page in (first, *others) if isinstance(page, dict))
            joined[name] = [entry for one in lists if isinstance(one, list) for entry in one]
    return joined


# ---- Kept answers ----

_MAX_ANSWERS: Final = 2000


class CachedAnswer(NamedTuple):
    """One answer: the JSON value, or None if the server has no document there (HTTP 404), which is a useful fact too;
    and when it came, in seconds since 1970."""

    document: Any
    fetched_at: float

    def is_fresh(self, now: float, seconds: float) -> bool:
        """Whether the answer is younger than `seconds`; False for an answer from the future."""
        return 0 <= now - self.fetched_at < seconds


Answers = dict[str, CachedAnswer]


class KeptFile:
    """A JSON file of at most so many bytes that outlives the process, in a folder that the first write makes. Failures
    are logged, and name what it holds."""

    def __init__(self, path: Path, holds: str, most: int) -> None:
        self.path = path
        self._holds = holds
        self._most = most

    def read(self) -> Any:
        """The document; None if there is none, or if it cannot be read."""
        try:
            with self.path.open("rb") as file:
                content = file.read(self._most + 1)
            return loads(content) if len(content) <= self._most else self._say("read", f"more than {self._most} bytes")
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            return self._say("read", error)

    def write(self, document: Any) -> None:
        """Writes the document; a reader sees either the old file or the new one."""
        try:
            content = dumps(document)
            if len(content) > self._most:
                return self._say("store", f"more than {self._most} bytes")
            make_private_folder(self.path.parent)
            replace_file(self.path, content)  # as a whole, because several processes may write
        except (OSError, TypeError, ValueError) as error:  # TypeError: a server's 1e999, which reads as infinite
            self._say("store", error)

    def remove(self) -> None:
        """Removes the file, if there is one."""
        try:
            self.path.unlink(missing_ok=True)
        except OSError as error:
            self._say("remove", error)

    def _say(self, what: str, why: object) -> None:
        _logger.warning("cannot %s %s in %s: %s", what, self._holds, self.path.name, why)


class DiskCache(KeptFile):
    """The file with the answers of one upstream to one account, such as a key.

    Its name holds a digest of the URL, keyed with the account: neither can be read from it, and the answers to one
    account are never those to another.
    """

    def __init__(self, folder: Path, upstream: str, account: bytes = b"") -> None:
        digest = hmac.digest(account, upstream.encode(), "sha256").hex()[:16]
        super().__init__(folder / f"models-{digest}.json", "the list of models", 32 * 1024 * 1024)

    def load(self) -> Answers:
        """The answers; empty if there are none, or if they are not as they are written."""
        answers: Answers = {}
        match self.read():
            case {"format": 1, "answers": dict(kept)}:
                for key, answer in kept.items():
                    match answer:
                        case {"document": value, "fetched_at": time} if (at := as_amount(time, LAST_TIME)) is not None:
                            answers[key] = CachedAnswer(value, at)
                        case _:
                            return {}
        return answers

    def save(self, answers: Mapping[str, CachedAnswer]) -> None:
        """Writes the newest 2,000 answers."""
        newest = sorted(answers.items(), key=lambda item: item[1].fetched_at)[-_MAX_ANSWERS:]
        self.write({"format": 1, "answers": {key: answer._asdict() for key, answer in newest}})
