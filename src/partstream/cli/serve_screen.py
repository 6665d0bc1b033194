"""What `partstream serve` says, as text or JSON: where it listens, which models there are, and what happens."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import click

from partstream.cli.terminal import echo_while_read, program
from partstream.runtime.progress import fault_of
from partstream.server.listening import DEFAULT_HOST, DEFAULT_PORT, shown_host

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from partstream.server.clients import AccessToken

__all__ = ["JsonScreen", "Screen", "Start", "TextScreen"]

_MOST_MODELS = 12
_USUAL_URL = f"http://{DEFAULT_HOST}:{DEFAULT_PORT}"
"""Where `partstream connect` looks by itself."""


@dataclass(frozen=True, slots=True)
class Start:
    """What a person has to know to ask the server.

    Attributes:
        host: The address that it listens on.
        port: The port that it listens on.
        token: The token, or None where everybody on this machine may ask.
        is_public: Whether other machines can reach the address.
        hub: How people are shown the database of the hub that is served; None for no hub.
    """

    host: str
    port: int
    token: AccessToken | None
    is_public: bool
    hub: str | None = None

    @property
    def root(self) -> str:
        """The URL of the server, as a program on this machine reaches it."""
        everywhere = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - what is listened on, not bound to here
        return f"http://{shown_host(everywhere.get(self.host, self.host))}:{self.port}"


class Screen(Protocol):
    """Where the command says what happens."""

    def started(self, start: Start, base_paths: Mapping[str, str]) -> None:
        """The server listens; `base_paths` has the path of a client's base URL by protocol."""
        ...

    def listed(self, models: Sequence[str]) -> None:
        """The providers have listed their models."""
        ...

    def reloaded(self, source: str, error: BaseException | None) -> None:
        """An edited file was loaded again, or could not be."""
        ...

    def draining(self, answers: int, seconds: float) -> None:
        """The server was told to stop while answers are open."""
        ...

    def worker_started(self, number: int, pid: int, url: str) -> None:
        """One of several processes listens, at `url` alone."""
        ...

    def worker_ended(self, number: int, code: int, seconds: float) -> None:
        """One of several processes has died, and is started again after so many seconds."""
        ...


class TextScreen:
    """Lines for people."""

    def started(self, start: Start, base_paths: Mapping[str, str]) -> None:
        """Says the base URLs, and where the token is."""
        echo_while_read(f"Serving on {start.root} (Ctrl-C stops the server)")
        by_url: dict[str, list[str]] = {}
        for protocol, path in base_paths.items():
            by_url.setdefault(start.root + path, []).append(protocol)
        for url, protocols in by_url.items():
            echo_while_read(f"  {url}  {', '.join(protocols)}")
        echo_while_read(_said_of_token(start.token) if start.hub is None else _said_of_hub(start))
        if start.is_public:
            echo_while_read(
                "  Other machines can reach it, and without TLS they can read along: put a proxy with TLS before it."
            )
        other = "" if start.root == _USUAL_URL else f" --url {start.root}"
        if start.hub is None:
            echo_while_read(f"  `{program()} connect CLIENT{other}` sets a client up")

    def listed(self, models: Sequence[str]) -> None:
        """Says the models."""
        more = f" and {len(models) - _MOST_MODELS} more" if len(models) > _MOST_MODELS else ""
        echo_while_read(f"  models: {', '.join(models[:_MOST_MODELS]) or 'none'}{more}")

    def reloaded(self, source: str, error: BaseException | None) -> None:
        """Says what became of an edit."""
        if error is None:
            echo_while_read(f"{source} was loaded again")
        else:
            click.echo(f"{source} cannot be loaded, the version before answers: {fault_of(error)}", err=True)

    def draining(self, answers: int, seconds: float) -> None:
        """Says what is waited for."""
        what = "1 answer" if answers == 1 else f"{answers} answers"
        click.echo(f"Waiting up to {seconds:g} s for {what}; Ctrl-C again ends at once.", err=True)

    def worker_started(self, number: int, pid: int, url: str) -> None:
        """Says where the worker is reached."""
        echo_while_read(f"  worker {number}: process {pid}, its own metrics and health at {url}")

    def worker_ended(self, number: int, code: int, seconds: float) -> None:
        """Says how it ended."""
        how = f"exit code {code}" if code >= 0 else f"signal {-code}"
        click.echo(f"worker {number} has ended ({how}); it is started again in {seconds:g} s", err=True)


def _said_of_token(token: AccessToken | None) -> str:
    if token is None:
        return "  No token: every program on this machine may ask."
    if token.is_new and sys.stdout.isatty():
        # The one time that it is shown, and to a person alone: what is no terminal may be a log.
        return f"  token: {token.secret.reveal()}\n  (made just now, kept in {token.where}, not shown again)"
    return f"  token: in {token.where}"


def _said_of_hub(start: Start) -> str:
    return (
        f"  hub: {start.hub}\n"
        f"  page: {start.root}/hub\n"
        "  people: `partstream hub key add NAME` prints a key, `partstream hub invite NAME` a link to get one"
    )


class JsonScreen:
    """One JSON object a line."""

    def started(self, start: Start, base_paths: Mapping[str, str]) -> None:
        """Writes the base URLs, and where the token is; never the token."""
        token = start.token
        _write(
            type="listening",
            url=start.root,
            base_urls={protocol: start.root + path for protocol, path in base_paths.items()},
            token_file=None if token is None or token.file is None else str(token.file),
            **({} if start.hub is None else {"hub": start.hub}),
        )

    def listed(self, models: Sequence[str]) -> None:
        """Writes the models."""
        _write(type="models", models=list(models))

    def reloaded(self, source: str, error: BaseException | None) -> None:
        """Writes what became of an edit."""
        if error is None:
            _write(type="reloaded", source=source, error=None)
            return
        fault = fault_of(error)
        place = fault.place
        where = {} if place is None else {"file": place.file, "line": place.line}
        _write(type="reloaded", source=source, error=fault.message, **where)

    def draining(self, answers: int, seconds: float) -> None:
        """Writes what is waited for."""
        _write(type="draining", answers=answers, seconds=seconds)

    def worker_started(self, number: int, pid: int, url: str) -> None:
        """Writes where the worker is reached."""
        _write(type="worker", worker=number, process=pid, url=url)

    def worker_ended(self, number: int, code: int, seconds: float) -> None:
        """Writes how it ended."""
        _write(type="worker_ended", worker=number, exit_code=code, starts_again_in=seconds)


def _write(**fields: Any) -> None:
    echo_while_read(json.dumps(fields, ensure_ascii=False))
