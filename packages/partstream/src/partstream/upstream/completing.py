"""Finds the way in which an upstream completes text.

Which endpoints a server has, its address or its protocol says; whether a model fills in the middle, the server alone
knows, and says it when it is asked: llama.cpp answers 501 where a model lacks the tokens, Ollama 400 where its template
has no place for a suffix, vLLM 400 to any suffix (docs/wires/completions.md). So the ways of a model are tried in order
with the first request, and the one that answered is remembered. The last way is a chat model that is asked to edit.
"""

from __future__ import annotations
import logging
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urlsplit

from partstream import errors
from partstream.codec.checks import replace
from partstream.lm.completions import BareText, CompletionRequest
from partstream.lm.outputs import Finish, Outcome
from partstream.lm.parts import ResponsePart, TextPart, ThinkingPart, UnifiedFinishReason
from partstream.lm.provider import FinishingProgress, Progress
from partstream.protocols.completions import template_for
from partstream.protocols.protocol import PROTOCOLS
from partstream.upstream.configuration import CompletionWay, GatewayConfiguration
from partstream.upstream.endpoint import url_on_host
from partstream.upstream.http_errors import says_path_is_missing

if TYPE_CHECKING:
    from partstream.settings.known_servers import KnownServer
    from partstream.upstream.requests import ModelCall

_logger = logging.getLogger("partstream.upstreams")


class Way(NamedTuple):
    """A way to complete text: the protocol of an endpoint and its base URL; no protocol for a chat."""

    kind: CompletionWay
    protocol: str | None
    base_url: str

    @property
    def title(self) -> str:
        """What a person reads."""
        return "a chat that is asked to edit" if self.protocol is None else PROTOCOLS[self.protocol].shown_title


_WITHOUT: Final = frozenset({"gemini", "gemini-interactions", "ai-gateway", "ag-ui"})
"""The protocols of servers that have none of the endpoints."""
_ONLY_CHAT: Final = frozenset({"anthropic", "xai", "groq", "cerebras", "moonshot", "github-copilot", "github-models"})
"""Known servers that have none either, by the documentation of their vendors."""
_OWN_PATHS: Final = {"deepseek": "/beta"}
"""The path of the base URL where a server has the endpoint elsewhere (api-docs.deepseek.com/guides/fim_completion)."""
_BY_SERVER: Final = {
    "ollama": (CompletionWay.OLLAMA, CompletionWay.OLLAMA_TEMPLATE),
    "mistral": (CompletionWay.MISTRAL,),
    "llama.cpp": (CompletionWay.INFILL, CompletionWay.TEMPLATE),
    "deepseek": (CompletionWay.SUFFIX,),
}
_ANYWHERE: Final = (CompletionWay.TEMPLATE, CompletionWay.SUFFIX)
_OF_TEMPLATES: Final = frozenset({CompletionWay.TEMPLATE, CompletionWay.OLLAMA_TEMPLATE})
_OUTSIDE: Final = {CompletionWay.INFILL: "", CompletionWay.OLLAMA: "/api", CompletionWay.OLLAMA_TEMPLATE: "/api"}
"""The base paths of endpoints that are not below `/v1`."""


def ways_at(configuration: GatewayConfiguration, server: KnownServer | None, model_id: str) -> tuple[Way, ...]:
    """The ways to try for a model of an upstream, which is configured for its conversations, the best one first."""
    name = "" if server is None else server.name
    if (wanted := configuration.completions) is not CompletionWay.AUTO:
        kinds: Sequence[CompletionWay] = (wanted,)
    elif configuration.protocol in _WITHOUT or name in _ONLY_CHAT:
        kinds = (CompletionWay.CHAT,)
    else:
        found = _BY_SERVER["ollama"] if configuration.protocol == "ollama" else _BY_SERVER.get(name, _ANYWHERE)
        has_tokens = template_for(model_id) is not None
        kinds = (*(kind for kind in found if has_tokens or kind not in _OF_TEMPLATES), CompletionWay.CHAT)
    return tuple(_way(kind, configuration.base_url, name) for kind in kinds)


def _way(kind: CompletionWay, base_url: str, server: str) -> Way:
    if kind is CompletionWay.CHAT:
        return Way(kind, None, base_url)
    path = urlsplit(base_url).path.rstrip("/")
    if (elsewhere := _OWN_PATHS.get(server)) is not None:
        path = re.sub(r"(?:/v\d+|/beta)?$", "", path) + elsewhere
    elif kind in _OUTSIDE:
        path = re.sub(r"(?:/v\d+|/api)*$", "", path) + _OUTSIDE[kind]
    elif path.endswith("/api"):
        path = f"{path.removesuffix('/api')}/v1"
    return Way(kind, f"completions-{kind.value}", url_on_host(base_url, path))


_REFUSALS: Final = frozenset({400, 404, 405, 410, 415, 422, 501})
_SAYS_NO: Final = re.compile(r"suffix|infill|insert|\bfim\b|completions?\b", re.IGNORECASE)


def refuses(error: errors.LanguageModelError) -> bool:
    """Whether an error says that this way is none for the model; others blame the key, the length or the moment."""
    if isinstance(error, errors.RequestNotExpressibleError):
        return True
    if isinstance(error, errors.ContextLengthExceededError) or not isinstance(error, errors.UpstreamError):
        return False
    status = error.http_status
    return status in _REFUSALS or says_path_is_missing(error) or bool(status == 500 and _SAYS_NO.search(str(error)))


MOST_KNOWN: Final = 1_000
"""Models whose way is remembered: a client may name any."""


class Completing:
    """Completes text with the models of one upstream; serves any number of requests at once."""

    def __init__(self) -> None:
        self._known: dict[str, Way] = {}

    async def complete(
        self, ways: Sequence[Way], model_id: str, question: ModelCall, ask: Callable[[Way], Awaitable[None]]
    ) -> None:
        """Tries the ways of a model, see :func:`ways_at`, with `ask`, which reports to the question's progress.

        Raises:
            LanguageModelError: The last way failed, or another one for a reason that holds for all.
        """
        known = self._known.get(model_id)
        tried = ways[ways.index(known) :] if known in ways else ways
        for way in tried:
            if way.protocol is None:
                asked = CompletionRequest.asked(question.options.model_options)
                assert asked is not None  # noqa: S101 - the caller has looked
                question.progress.through(BareProgress(question.progress.progress, asked))
            try:
                await ask(way)
            except errors.EmptyAnswerError:
                last = question.progress.last
                if last is None or (last.reason is not None and last.reason.unified is not UnifiedFinishReason.STOP):
                    raise
                # Nothing belongs at the cursor: the answer is complete.
                question.progress.last = replace(last, outcome=Outcome.COMPLETED, error=None)
            except errors.LanguageModelError as error:
                if way is tried[-1] or not question.may_be_asked_again or not refuses(error):
                    raise
                _logger.info("%s is not completed by %s: %s", model_id, way.title, error.message)
                continue
            self._known.pop(model_id, None)
            self._known[model_id] = way
            while len(self._known) > MOST_KNOWN:
                del self._known[next(iter(self._known))]
            return


class BareProgress:
    """Passes the text of a chat model on without what it puts around the completion, and none of its thinking."""

    def __init__(self, progress: Progress, asked: CompletionRequest) -> None:
        self._progress = progress
        self._bare = BareText(asked)

    def report(self, part: ResponsePart) -> None:
        """Takes the next part of the chat."""
        if isinstance(part, TextPart):
            self._say(self._bare.add(part.value))
        elif not isinstance(part, ThinkingPart):
            self._say(self._bare.end())
            self._progress.report(part)

    def finish(self, finish: Finish) -> None:
        """Takes the end of the chat."""
        self._say(self._bare.end())
        if isinstance(self._progress, FinishingProgress):
            self._progress.finish(finish)

    def _say(self, text: str) -> None:
        if text:
            self._progress.report(TextPart(text))
