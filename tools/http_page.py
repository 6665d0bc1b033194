"""Writes docs/reference/http.md: every path of `partstream serve`, from the routes and failures of its application."""

from __future__ import annotations
from typing import TYPE_CHECKING, Final

from partstream.cli.serve_plan import METRICS_PATH
from partstream.protocols.failures import STATUSES, FailureKind, ServedFailure
from partstream.protocols.protocol import BUILT_IN_PROTOCOLS, PROTOCOLS
from partstream.server.application import FRONT, HEALTH, READINESS
from partstream.server.clients import key_places
from partstream.server.requests import Route, Routes, endpoints_of
from partstream_hub import app as hub_api
from partstream_hub import page as hub_page

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from partstream.protocols.protocol import Protocol

__all__ = ["http_page"]

_HEAD: Final = """\
# Reference of HTTP

<!-- Made by tools/generate.py from the routes of the application in partstream/server. Change them, or the
sentences in tools/http_page.py. -->

Every path of `partstream serve`. [Serving](../serving.md) says how it is started,
[From VS Code to everywhere](../everywhere.md) what clients get. Bodies are those that each wire has at its own vendor's
server; what has no place in a wire is [its loss](../maintainers/translation.md#what-each-protocol-has-no-place-for).

A path is right with `/v1` before it and without, and with a slash at its end. `{model}` is the id of a model, `{id}`
that of a response. What is read with GET has HEAD too: the same head, and no body. HTTP/1.0 is answered without chunks:
the end of the connection is the end of a stream.

The header `x-partstream-dropped` of a reply names the fields of the request that
[reach no model](../serving.md#what-reaches-no-model), and `x-partstream-dropped-answer` those of the answer that the
client does not get. Pages of browsers may read replies, and ask with OPTIONS, if their origin
[is allowed](../serving.md#pages-in-a-browser).

## Who may ask

A request presents the token, or its key of a hub, in one of these headers:

"""
_EVERYBODY: Final = """
Without it the status is 401. What follows is [open](../serving.md#the-token) to everybody who reaches the server.

| method | path | what it answers |
|---|---|---|
"""
_ANSWER: Final = "An answer: a stream where the body asks for one, else one document"
_STREAM: Final = "An answer, as a stream"
_WHOLE: Final = "An answer, as one document"
_LIST: Final = "The models that the caller may use"
_MODEL: Final = "One of them"
_COUNT: Final = "The tokens of a request that is not sent: the provider counts"
_CONFIGURATION: Final = "The models, in the form in which packages of the gateway ask for them"
_SAYS: Final[Mapping[str, str]] = {
    "POST /responses": f"{_ANSWER}. There is [a WebSocket](../maintainers/responses-server.md#websocket) too",
    "POST /completions": "A text between a prompt and a suffix, see [completions](../completions.md)",
    "POST /responses/compact": "A summary in place of [a conversation](../maintainers/responses-server.md#compaction)",
    "POST /responses/input_tokens": _COUNT,
    "GET /responses/{id}": "A response that is kept; with `stream=true`, its events once more",
    "DELETE /responses/{id}": "Forgets a response that is kept",
    "POST /responses/{id}/cancel": "Cancels an answer that runs",
    "GET /responses/{id}/input_items": "What a response that is kept was asked",
    "POST /chat/completions": _ANSWER,
    "POST /messages": _ANSWER,
    "POST /messages/count_tokens": _COUNT,
    "POST /interactions": _ANSWER,
    "POST /models/{model}:streamGenerateContent": _STREAM,
    "POST /models/{model}:generateContent": _WHOLE,
    "POST /publishers/google/models/{model}:streamGenerateContent": _STREAM,
    "POST /publishers/google/models/{model}:generateContent": _WHOLE,
    "POST /models/{model}:countTokens": _COUNT,
    "POST /chat": "An answer: a stream unless the body asks for one document",
    "GET /tags": _LIST,
    "POST /show": _MODEL,
    "GET /ps": "An empty list: no model has to be loaded",
    "GET /version": "A version that clients take for one of the server",
    "POST /language-model": _ANSWER,
    "GET /config": _CONFIGURATION,
    "POST ": "A run of the agent that the body names, or of the only one, as a stream",
    "POST /{model}": "A run of this agent, as a stream",
    "GET /models": _LIST,
    "GET /models/{model}": _MODEL,
}
"""What is at a path, by its method and what is below the base path of its wire."""
_OWN: Final = (
    ("GET", FRONT, "", "For a browser a page, with the models if there is a key; for a program `Ollama is running`"),
    ("GET", HEALTH, "", "200 while the process lives"),
    ("GET", READINESS, "", "200 while new answers are taken, else 503"),
    ("GET", METRICS_PATH, "the owner", "Metrics in the form of Prometheus; with `--metrics open` everybody reads them"),
    ("GET", hub_page.PAGE, "", "The frame of [the page of the hub](../hub-page.md), without data"),
    ("GET", hub_page.JOIN, "", "The page that a link to join opens, without data"),
    ("GET", hub_page.CONTENT, "a person", "What the page shows to the owner of the key; `?days=30&zone=Europe/Berlin`"),
    ("GET", hub_api.ME, "a person", "Whose key it is, the models, and what is left of the budgets"),
    ("POST", hub_api.JOIN, "", "A key for `{\"code\": …}`, once; every code that gives none looks the same (403)"),
)  # fmt: skip
"""What the server has at paths of its own: method, path, who may read it (empty: everybody), what it says."""
_WHEN: Final[Mapping[FailureKind, str]] = {
    FailureKind.INVALID_REQUEST: "The body is no JSON object, or a field is wrong; the message says what was got",
    FailureKind.UNSUPPORTED_PARAMETER: "A parameter of the wire that is not offered and would change the answer; with "
    "`--strict` each that reaches no model",
    FailureKind.UNAUTHENTICATED: "No token, or a wrong one",
    FailureKind.FORBIDDEN: "The caller is known and may not do this, or a policy of the hub refuses it",
    FailureKind.NOT_FOUND: "Nothing is at the path, or the caller has no such response",
    FailureKind.METHOD_NOT_ALLOWED: "The path takes other methods: `allow` names them",
    FailureKind.MODEL_NOT_FOUND: "There is no such model for this caller",
    FailureKind.TOO_LARGE: "The body has more bytes than `--body-bytes`",
    FailureKind.CONTEXT_LENGTH: "The conversation has more tokens than the model takes",
    FailureKind.RATE_LIMITED: "Too many requests or tokens in a minute, here or at the model's server",
    FailureKind.SPENT_BUDGET: "The budget is spent, or the account at the model's server has no credit",
    FailureKind.OVERLOADED: "Too many answers run, or the server is being stopped",
    FailureKind.TIMEOUT: "The model's server took too long",
    FailureKind.UPSTREAM: "The model's server failed",
    FailureKind.INTERNAL: "A fault of the provider or of Partstream; the log names it",
}
_FAILURES: Final = """
## Errors

A failure before the first part of an answer is an HTTP status with a JSON body in the words of the wire, a later one
the wire's last event. `retry-after` says after how many seconds asking again may help; `x-should-retry: false` says
that it cannot. A client that sends its head or body too slowly gets 408, one with too large a head 431. A body may be
packed with `gzip` or `deflate`, as `content-encoding` says; another packing gets 415.

| failure | when | status | otherwise |
|---|---|---|---|
"""


def http_page() -> str:
    """The page in Markdown."""
    protocols = [PROTOCOLS[name] for name in BUILT_IN_PROTOCOLS]
    endpoints = endpoints_of(protocols)
    served = [one for one in protocols if any(endpoint.protocol is one for endpoint in endpoints.values())]
    keys = [
        f"- `{header}: {f'{word.title()} ' if word else ''}TOKEN`\n"
        for header, words in key_places(endpoints.values()).items()
        for word in words
    ]
    own = [f"| {method} | `{path}` | {says} |\n" for method, path, who, says in _OWN if not who]
    closed = [f"| {method} | `{path}` | {who} | {says} |\n" for method, path, who, says in _OWN if who]
    return "".join(
        (
            _HEAD,
            *keys,
            _EVERYBODY,
            *own,
            *(_section(one, Routes(endpoints)) for one in served),
            "\n## Of the server\n\n| method | path | who reads it | what it answers |\n|---|---|---|---|\n",
            *closed,
            "\nThe paths below `/hub` are those of a server with `--hub`.\n",
            _FAILURES,
            *(_failure(kind, served) for kind in FailureKind),
        )
    )


def _section(protocol: Protocol, routes: Routes) -> str:
    """The paths of one wire; a row has all of one meaning."""
    rows: dict[tuple[str, str], list[str]] = {}
    for route in routes:
        if route.endpoint.protocol is protocol:
            rows.setdefault((route.method, _says(route)), []).append(f"`{route.path}`")
    lines = [f"| {method} | {'<br>'.join(paths)} | {says} |\n" for (method, says), paths in rows.items()]
    return f"\n## {protocol.shown_title}\n\n| method | path | what it answers |\n|---|---|---|\n" + "".join(lines)


def _says(route: Route) -> str:
    return _SAYS[f"{route.method} {route.path.removeprefix(route.endpoint.base_path)}"]


def _failure(kind: FailureKind, protocols: Iterable[Protocol]) -> str:
    others = "; ".join(_other_statuses(kind, protocols))
    return f"| {kind.value} | {_WHEN[kind]} | {STATUSES[kind]} | {others} |\n"


def _other_statuses(kind: FailureKind, protocols: Iterable[Protocol]) -> Iterator[str]:
    """The wires that have a status of their own for a failure."""
    for protocol in protocols:
        assert protocol.write_response is not None  # noqa: S101 - for the type checker: it is served
        status = protocol.write_response().failed(ServedFailure(kind, "")).status
        if status != STATUSES[kind]:
            yield f"{protocol.shown_title}: {status}"
