"""Discovers an upstream's models: returns the last known list at once, and fetches a new one in the background.

Knows when to ask and what to keep. :mod:`partstream.models.composition` reads the answers; the caller owns the socket.
"""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from partstream.codec.json_codec import JSONDecodeError, loads
from partstream.errors import (
    LanguageModelError,
    LanguageModelErrorCode,
    UpstreamError,
    UpstreamHTTPError,
    UpstreamProtocolError,
)
from partstream.models.composition import MODELS_PATH, compose, has_list, list_questions
from partstream.models.kept_answers import Answers, CachedAnswer
from partstream.models.paging import MOST_PAGES, joined_pages, next_page

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from partstream.models.composition import Composition, FactRequest
    from partstream.models.disk_cache import DiskCache
    from partstream.upstream.model_facts import ModelRecord

__all__ = ["DiscoverySettings", "Fetch", "FetchResponse", "ModelDiscovery"]

_logger = logging.getLogger("partstream.models")

_MAX_BODY: Final = 8 * 1024 * 1024
_MAX_QUESTIONS: Final = 1000
_ROUNDS: Final = 3
"""The list, the native list, the models: after these, no answer leads to further questions."""
_NOTHING_THERE: Final = frozenset({404, 405, 410, 501})
_MAX_FAILURES: Final = 5
_SHOWN_PROBLEMS: Final = 5


class FetchResponse(NamedTuple):
    """A response over HTTP.

    Attributes:
        status: The HTTP status.
        headers: The headers by name, in lower case.
        body: The whole body.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes


def _status_alone(response: FetchResponse) -> UpstreamError:
    return UpstreamHTTPError(response.status)


class Fetch(Protocol):
    """Sends one request to the upstream, with its keys and within its time limits."""

    async def __call__(self, path: str, headers: Mapping[str, str], body: bytes | None = None) -> FetchResponse:
        """Gets `path`, from the root of the host and with its query if it has one, or posts `body` to it.

        Raises:
            UpstreamError: The upstream gave no response.
        """
        ...


@dataclass(frozen=True, slots=True)
class DiscoverySettings:
    """How often to ask; all times are in seconds.

    Attributes:
        list_fresh_for: How long a list is not requested again.
        details_fresh_for: How long the details of a model, or their absence, are not requested again.
        retry_after: How long to wait after a failure, if a list is known.
        request_timeout: The longest time of one request.
        concurrency: The most requests about single models at the same time.
    """

    list_fresh_for: float = 300.0
    details_fresh_for: float = 24 * 3600.0
    retry_after: float = 30.0
    request_timeout: float = 15.0
    concurrency: int = 4


class ModelDiscovery:
    """The models of one upstream; serves any number of callers on one event loop.

    Args:
        fetch: Sends a request to the upstream.
        base_path: The path of the base URL, such as `/v1`.
        on_change: Called when the records differ from the last result of :meth:`records`; not called for a change that
            a waiting caller gets anyway.
        upstream: What the log calls the upstream.
        further_lists: The paths of further lists of models, see
            :func:`partstream.models.composition.list_questions`.
        models_path: Where the first list is, below the base path.
        cache: The cache in which answers outlive the process, or None.
        is_wanted: Whether a model is offered; the details of other models are not requested.
        refusal: Makes the error that a response stands for: one with an error status, or one that is no JSON.
        settings: How often to ask.
        clock: Returns the seconds since 1970.
    """

    def __init__(
        self,
        fetch: Fetch,
        base_path: str,
        on_change: Callable[[], object],
        *,
        upstream: str = "the server",
        further_lists: tuple[str, ...] = (),
        models_path: str = MODELS_PATH,
        cache: DiskCache | None = None,
        is_wanted: Callable[[str], bool] = lambda model_id: True,
        refusal: Callable[[FetchResponse], UpstreamError] = _status_alone,
        settings: DiscoverySettings | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._fetch = fetch
        self._base_path = base_path
        self._further_lists = further_lists
        self._models_path = models_path
        self._lists = list_questions(base_path, further_lists, models_path)
        self._on_change = on_change
        self._upstream = upstream
        self._said_failure: str | None = None
        self._said_problems: tuple[str, ...] = ()
        self._cache = cache
        self._is_wanted = is_wanted
        self._refusal = refusal
        self._settings = settings or DiscoverySettings()
        self._clock = clock
        self._answers: Answers | None = None
        self._records: tuple[ModelRecord, ...] | None = None
        self._next_refresh = 0.0
        self._waiting = 0
        self._loading: asyncio.Task[None] | None = None
        self._listing: asyncio.Task[None] | None = None
        self._asking: asyncio.Task[None] | None = None

    async def records(self) -> tuple[ModelRecord, ...]:
        """The models that are known now; waits only if no list is known, and only for the list.

        Raises:
            UpstreamError: No list is known, and the upstream gives none now; a list is not known any more once the
                upstream has refused the key.
        """
        await self._load()
        if self._records is None:
            await self.refresh()
        elif not 0 <= self._next_refresh - self._clock() <= self._settings.list_fresh_for:
            self._begin()
        return self._records or ()

    async def refresh(self) -> None:
        """Requests the list now and waits for it; further requests run in the background.

        Raises:
            UpstreamError: The upstream gave no list; the last list stays.
        """
        await self._load()
        self._waiting += 1
        try:
            # Shielded: a caller that stops waiting must not stop the request that others wait for.
            await asyncio.shield(self._begin())
        finally:
            self._waiting -= 1

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
        tasks = (self._loading, self._listing, self._asking)
        return [task for task in tasks if task is not None and not task.done()]

    # ---- stored answers ----

    async def _load(self) -> None:
        """Reads the stored answers, once."""
        if self._answers is not None:
            return
        if self._loading is None or self._loading.done():
            self._loading = asyncio.create_task(self._read_cache())
        await asyncio.shield(self._loading)

    async def _read_cache(self) -> None:
        answers = await asyncio.to_thread(self._cache.load) if self._cache is not None else {}
        if has_list(answers, self._lists):
            try:
                self._records = self._compose(answers).records
            except UpstreamProtocolError as error:
                _logger.warning("ignored the stored list of models: %s", error)
                answers = {}
        self._answers = answers

    async def _save(self) -> None:
        if self._cache is not None and self._answers is not None:
            await asyncio.to_thread(self._cache.save, dict(self._answers))

    # ---- the log, which says nothing twice in a row ----

    def _log_failure(self, task: asyncio.Task[None]) -> None:
        if task.cancelled() or (error := task.exception()) is None:
            return
        before, self._said_failure = self._said_failure, str(error)
        if before != self._said_failure:
            _logger.warning("cannot refresh the list of models of %s: %s", self._upstream, error)

    def _log_problems(self, problems: tuple[str, ...]) -> None:
        before, self._said_problems = self._said_problems, problems
        if problems == before:
            return
        for problem in problems[:_SHOWN_PROBLEMS]:
            _logger.info("in the list of models of %s: %s", self._upstream, problem)
        if len(problems) > _SHOWN_PROBLEMS:
            _logger.info(
                "in the list of models of %s: %d more problems", self._upstream, len(problems) - _SHOWN_PROBLEMS
            )

    # ---- requests ----

    def _begin(self) -> asyncio.Task[None]:
        """The running refresh, or a new one."""
        if self._listing is None or self._listing.done():
            self._listing = asyncio.create_task(self._refresh())
            self._listing.add_done_callback(self._listed)
        return self._listing

    def _listed(self, task: asyncio.Task[None]) -> None:
        """Logs why there is no new list, unless a waiting caller gets the error."""
        if not self._waiting:
            self._log_failure(task)
        elif not task.cancelled():
            task.exception()

    async def _refresh(self) -> None:
        answers = self._known()
        self._next_refresh = self._clock() + self._settings.retry_after
        try:
            listed = await self._ask_for_list()
        except LanguageModelError as error:
            if error.code is LanguageModelErrorCode.NO_PERMISSIONS:
                await self._withdraw()
            raise
        composition = self._compose({**answers, **listed})
        answers |= listed
        self._next_refresh = self._clock() + self._settings.list_fresh_for
        self._said_failure = None
        self._log_problems(composition.problems)
        self._publish(composition.records)
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._ask_more())
            self._asking.add_done_callback(self._log_failure)

    async def _withdraw(self) -> None:
        """Forgets the list: the upstream refuses the key, or there is none, and a known list would hide that."""
        was_known, self._records = self._records is not None, None
        self._answers = {}
        if self._asking is not None:
            self._asking.cancel()  # it would ask more about what is not known any more
        if self._cache is not None:
            await asyncio.to_thread(self._cache.remove)
        if was_known and not self._waiting:
            self._on_change()

    async def _ask_for_list(self) -> Answers:
        """The answers for the lists up to the first one that exists.

        Raises:
            UpstreamError: A request failed, or no list exists.
        """
        listed: Answers = {}
        for question in self._lists:
            listed[question.key] = await self._ask(question)
            if listed[question.key].document is not None:
                return listed
        raise UpstreamHTTPError(404, provider_message=f"no list of models at {self._lists[0].path}")

    def _compose(self, answers: Mapping[str, CachedAnswer]) -> Composition:
        return compose(answers, self._base_path, self._is_wanted, self._further_lists, self._models_path)

    async def _ask_more(self) -> None:
        """Requests the facts that the list lacks; publishes the records once all are there."""
        failed: set[str] = set()
        for _ in range(_ROUNDS):
            composition = self._compose(self._known())
            open_questions = [one for one in composition.questions if one.key not in failed and self._is_open(one)]
            if not open_questions or len(failed) >= _MAX_FAILURES:
                break
            await self._ask_all(open_questions[:_MAX_QUESTIONS], failed)
        composition = self._compose(self._known())
        self._forget_all_but([*self._lists, *composition.questions])
        self._log_problems(composition.problems)
        self._publish(composition.records)
        await self._save()

    def _is_open(self, question: FactRequest) -> bool:
        answer = self._known().get(question.key)
        return answer is None or not answer.is_fresh(self._clock(), self._settings.details_fresh_for)

    async def _ask_all(self, questions: Iterable[FactRequest], failed: set[str]) -> None:
        """Sends several requests at the same time, and stops when the upstream refuses too many of them."""
        remaining = iter(questions)

        async def work() -> None:
            for question in remaining:
                if len(failed) >= _MAX_FAILURES:
                    return
                try:
                    self._known()[question.key] = await self._ask(question)
                except LanguageModelError as error:  # the upstream failed, or there is no key for it
                    failed.add(question.key)
                    _logger.info("no details from %s: %s", question.key, error)

        async with asyncio.TaskGroup() as group:
            for _ in range(self._settings.concurrency):
                group.create_task(work())

    async def _ask(self, question: FactRequest) -> CachedAnswer:
        """The answer to one question; the known answer, if the server reports no change.

        Raises:
            UpstreamError: The upstream gave no answer.
        """
        known = self._known().get(question.key)
        headers = {"accept": "application/json"}
        if question.body is not None:
            headers["content-type"] = "application/json"
        if known is not None and known.etag is not None:
            headers["if-none-match"] = known.etag
        response = await self._response(question.path, headers, question.body)
        now = self._clock()
        if response.status == 304 and known is not None:
            return replace(known, fetched_at=now)
        if response.status in _NOTHING_THERE:
            return CachedAnswer(None, now)
        if response.status != 200:
            raise self._refusal(response)
        try:
            document = _document(question, response.body)
        except JSONDecodeError as error:
            raise self._refusal(response) from error
        query = next_page(document)
        if query is None:
            return CachedAnswer(document, now, response.headers.get("etag"))
        return CachedAnswer(await self._whole_list(question, document, query), now)  # an etag is that of one page

    async def _whole_list(self, question: FactRequest, first: object, query: str | None) -> object:
        """All pages of a list as one, however many requests that takes.

        Raises:
            UpstreamError: The upstream did not give one of the pages.
        """
        pages = [first]
        while query is not None and len(pages) < MOST_PAGES:
            response = await self._response(f"{question.path}?{query}", {"accept": "application/json"}, None)
            if response.status != 200:
                raise self._refusal(response)
            try:
                pages.append(_document(question, response.body))
            except JSONDecodeError as error:
                raise self._refusal(response) from error
            query, before = next_page(pages[-1]), query
            if query == before:  # it names the page that it just gave
                break
        if query is not None:
            _logger.info("%s has more pages than the %d that were read", question.path, len(pages))
        return joined_pages(pages)

    async def _response(self, path: str, headers: Mapping[str, str], body: bytes | None) -> FetchResponse:
        """The response to one request.

        Raises:
            UpstreamError: There is none, or not in time.
        """
        try:
            async with asyncio.timeout(self._settings.request_timeout):
                return await self._fetch(path, headers, body)
        except TimeoutError as error:
            seconds = self._settings.request_timeout
            raise UpstreamError(
                f"the server gave no answer within {seconds:g} s when asked for its models ({path})",
                advice="is it the right address, and is the server busy?",
            ) from error

    def _known(self) -> Answers:
        assert self._answers is not None  # noqa: S101 - for the type checker: loaded before anything is asked
        return self._answers

    def _forget_all_but(self, questions: Iterable[FactRequest]) -> None:
        keys = {question.key for question in questions}
        for key in self._known().keys() - keys:
            del self._known()[key]

    def _publish(self, records: tuple[ModelRecord, ...]) -> None:
        if records == self._records:
            return
        self._records = records
        if not self._waiting:
            self._on_change()


def _document(question: FactRequest, body: bytes) -> object:
    if len(body) > _MAX_BODY:
        got, expected = f"{len(body):,} bytes", f"at most {_MAX_BODY:,}"
    else:
        document: object = loads(body)
        if document is not None:  # null would stand for an absent document
            return document
        got, expected = "null", "a JSON object"
    raise UpstreamProtocolError(event_type=f"the answer of {question.path}", field=None, got=got, expected=expected)
