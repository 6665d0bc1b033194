"""Finds out what a base URL speaks: by its host, else by a list of models and an empty request to each endpoint.

`Detector` is what a provider asks. It finds the protocol out when the upstream is first asked, once for all callers
that wait, and again when a request failed with a missing path. What was found for certain is kept in a file between
starts; a missing or broken file only costs requests. A guess serves for seconds only, then the server is asked again.

`detect` asks below each base URL that may be meant, all endpoints of one at the same time, until one answers.
:mod:`partstream.upstream.detection_rules` decides what the answers mean: it is pure, so the same answers give the same
decision. The key goes to the configured host alone, and no redirect is followed, see
:class:`partstream.upstream.http.UpstreamHTTP`. A protocol that is set is never doubted: `advice_on_protocol` is asked
only after a request has failed.
"""

from __future__ import annotations
import asyncio
import hashlib
import logging
import re
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import httpx2

from partstream._version import __version__
from partstream.codec.json_codec import JSONDecodeError, dumps, loads
from partstream.codec.system import replace_file
from partstream.errors import UpstreamConnectionError, UpstreamError
from partstream.protocols.protocol import asked_protocols
from partstream.settings.known_servers import KNOWN_SERVERS, server_at
from partstream.upstream import detection_rules
from partstream.upstream.discovery import FetchResponse
from partstream.upstream.endpoint import without_query
from partstream.upstream.http import Connections, OutboundHTTPRequest, UpstreamHTTP
from partstream.upstream.http_errors import NO_LIST_ADVICE, says_path_is_missing

if TYPE_CHECKING:
    from partstream.upstream.configuration import GatewayConfiguration

_logger = logging.getLogger("partstream.upstreams")
_GUESS_SECONDS: Final = 2.0
"""How long a guess serves at least: one answer asks several times."""

_GUESS_FACTOR: Final = 12.0
"""How much longer it serves than it took to make, so that not every request waits for a silent server."""

_LONGEST_GUESS: Final = 120.0
_PAUSE_SECONDS: Final = 30.0
"""How long the server is not asked again after the same was found out twice."""


class Detector:
    """What one upstream speaks; serves any number of callers on one event loop.

    Args:
        configuration: The upstream; its own protocol does not count.
        connections: The connections to it.
        clock: The seconds since 1970.
    """

    def __init__(
        self, configuration: GatewayConfiguration, connections: Connections, clock: Callable[[], float] = time.time
    ) -> None:
        self._configuration = configuration
        self._connections = connections
        self._clock = clock
        folder = configuration.protocol_folder or configuration.cache_folder
        self._file = None if folder is None else DetectionFile(folder, configuration.base_url)
        self._known: detection_rules.Detected | None = None
        self._confirmed_at: float | None = None
        self._guess: tuple[detection_rules.Detected, float] | None = None
        """A guess, and until when it serves."""
        self._running: asyncio.Task[detection_rules.Detected] | None = None

    @property
    def known(self) -> detection_rules.Detected | None:
        """What was found out for certain; None if nothing was."""
        return self._known

    async def detected(self) -> detection_rules.Detected:
        """What the upstream speaks; a guess where it does not tell, or where it cannot be asked.

        Raises:
            CredentialError: The key cannot be had.
            ConnectionSetupError: The proxy or the certificates that this machine names are not usable.
        """
        if self._known is not None:
            return self._known
        if self._guess is not None and 0 < self._guess[1] - self._clock() <= _LONGEST_GUESS:
            return self._guess[0]

        async def remembered_or_asked() -> detection_rules.Detected:
            if self._file is not None:
                remembered = await asyncio.to_thread(self._file.load, self._clock())
                if remembered is not None and remembered.protocol in asked_protocols():
                    return self._keep(remembered)
            return await self._asked()

        return await self._one_for_all(remembered_or_asked)

    async def detected_again(self, wrong: detection_rules.Detected) -> detection_rules.Detected:
        """What the upstream speaks after a request failed in what was found out before.

        Raises:
            CredentialError: The key cannot be had.
            ConnectionSetupError: The proxy or the certificates that this machine names are not usable.
        """
        if self._known is not None and self._known != wrong:
            return self._known  # another request has met it before
        if self._confirmed_at is not None and 0 <= self._clock() - self._confirmed_at < _PAUSE_SECONDS:
            return wrong
        again = await self._one_for_all(self._asked)
        is_same = (again.protocol, again.base_url) == (wrong.protocol, wrong.base_url)
        self._confirmed_at = self._clock() if is_same else None
        return again

    async def aclose(self) -> None:
        """Stops asking; the object may be used again."""
        task, self._running = self._running, None
        if task is not None and not task.done() and task.get_loop() is asyncio.get_running_loop():
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _one_for_all(
        self, find: Callable[[], Coroutine[Any, Any, detection_rules.Detected]]
    ) -> detection_rules.Detected:
        task = self._running
        if task is None or task.done() or task.get_loop() is not asyncio.get_running_loop():

            def take_error(done: asyncio.Task[detection_rules.Detected]) -> None:  # no caller may wait for it any more
                if not done.cancelled():
                    done.exception()

            self._running = task = asyncio.create_task(find())
            task.add_done_callback(take_error)
        # Shielded: a caller that stops waiting must not stop the requests that others wait for.
        return await asyncio.shield(task)

    async def _asked(self) -> detection_rules.Detected:
        self._known = None
        began = self._clock()
        found = await detect(self._configuration, self._connections)
        if not found.is_certain:
            if self._file is not None:
                await asyncio.to_thread(self._file.remove)
            if self._guess is None or self._guess[0] != found:
                _logger.info("%s: %s", self._configuration.shown_url, found.says)
            now = self._clock()
            serves = max(_GUESS_SECONDS, (now - began) * _GUESS_FACTOR)
            self._guess = (found, now + min(serves, _LONGEST_GUESS))
            return found
        if self._file is not None:
            await asyncio.to_thread(self._file.save, found, self._clock())
        return self._keep(found)

    def _keep(self, found: detection_rules.Detected) -> detection_rules.Detected:
        self._known = found
        _logger.info("%s: %s", found.shown_url, found.says)
        return found


@dataclass(frozen=True, slots=True)
class OpenUpstream:
    """An upstream whose protocol is known, and how it was found out; None where it is set."""

    configuration: GatewayConfiguration
    http: UpstreamHTTP
    connections: Connections
    detected: detection_rules.Detected | None


@asynccontextmanager
async def open_upstream(configuration: GatewayConfiguration) -> AsyncIterator[OpenUpstream]:
    """Finds out what an upstream speaks, unless it is set, and keeps its connections for the block.

    For those who send it no request of a chat: lists, examinations. An error of the upstream in the block gets the
    advice that belongs to a guess; the error of a missing list of models gets the advice for one.

    Raises:
        CredentialError: The key cannot be had.
        ConnectionSetupError: The proxy or the certificates that this machine names are not usable.
        ConfigurationError: A setting is not usable in the protocol that was found out.
    """
    async with aclosing(Connections(configuration)) as connections:
        detected = await detect(configuration, connections) if configuration.is_detected else None
        known = configuration if detected is None else configuration.spoken(detected.protocol, detected.base_url)
        try:
            yield OpenUpstream(known, UpstreamHTTP(known, connections), connections, detected)
        except UpstreamError as error:
            if detected is not None and not detected.is_certain:
                error.advise(detected.advice)
            elif detected is not None and says_path_is_missing(error):
                error.advise(NO_LIST_ADVICE)
            raise


_SECONDS: Final = 5.0
"""For all requests together: a person waits meanwhile for an answer, or for an error."""


async def detect(configuration: GatewayConfiguration, connections: Connections) -> detection_rules.Detected:
    """Finds out what a base URL speaks; sends no request if its host is known.

    Raises:
        CredentialError: The key cannot be had.
        ConnectionSetupError: The proxy or the certificates that this machine names are not usable.
    """
    wires = detection_rules.known_wires()
    by_host = detection_rules.decide_by_host(configuration.base_url, wires)
    if by_host is not None:
        return by_host
    meant = detection_rules.base_urls(configuration.base_url, [wire.path for wire in wires])
    rounds = await _ask(configuration, connections, meant, wires)
    return detection_rules.decide(configuration.base_url, meant, rounds, wires)


async def advice_on_protocol(configuration: GatewayConfiguration, connections: Connections) -> str:
    """Advice where a server lacks the endpoint of the protocol that was set; empty where nothing is known.

    Asked after a request has failed only: the setting itself is never doubted.

    Raises:
        CredentialError: The key cannot be had.
        ConnectionSetupError: The proxy or the certificates that this machine names are not usable.
    """
    url = configuration.base_url
    wires = detection_rules.known_wires()
    own = [wire for wire in wires if wire.name == configuration.protocol]
    found = detection_rules.decide_by_host(url, own) or detection_rules.decide_by_host(url, wires)
    if found is None:
        meant = detection_rules.base_urls(url, [wire.path for wire in wires])
        rounds = await _ask(configuration, connections, meant, wires)
        found = detection_rules.decide(url, meant, rounds, own)
        if not found.is_certain:
            found = detection_rules.decide(url, meant, rounds, wires)
    if not found.is_certain:
        return found.advice
    if found.protocol != configuration.protocol:
        return (
            f"the server speaks {found.title} at {found.shown_url}, and no {own[0].title}: leave `protocol` out, "
            f"or set it to {found.protocol}"
        )
    return f"did you mean {found.shown_url}?" if found.base_url.rstrip("/") != url.rstrip("/") else ""


async def _ask(
    configuration: GatewayConfiguration,
    connections: Connections,
    meant: Sequence[str],
    wires: Sequence[detection_rules.CandidateProtocol],
) -> list[detection_rules.Round]:
    """Asks below the base URLs that may be meant, until one says something.

    A path that belongs to a protocol that is not asked for is taken as it is. A protocol with a base path of its own is
    asked for at once where the address or the list of models tells a server that speaks it, and everywhere else last.
    """
    url = configuration.base_url
    probed, own = detection_rules.probed_wires(wires), detection_rules.probed_elsewhere(wires)
    if any(wire not in (*probed, *own) for wire in detection_rules.wires_at_path(detection_rules.path_of(url), wires)):
        meant = meant[:1]
    places = {
        wire.name: detection_rules.own_base_url(url, wire.own_base_path, [one.path for one in wires]) for wire in own
    }
    deadline = asyncio.get_running_loop().time() + _SECONDS

    async def ask(base_url: str, asked: Sequence[detection_rules.CandidateProtocol]) -> detection_rules.Round:
        elsewhere = {wire.name: places[wire.name] for wire in asked if wire.name in places}
        return await ask_round(configuration, connections, base_url, asked, deadline, elsewhere)

    # The address is that of a server that speaks a protocol with a base path of its own, or has that path.
    server = server_at(url)
    first = [
        wire
        for wire in own
        if (server is not None and wire.row_at(server.name) is not None)
        or detection_rules.without_ending(detection_rules.path_of(url), [wire.path]).endswith(wire.own_base_path)
    ]
    rounds: list[detection_rules.Round] = []
    for base_url in meant:
        rounds.append(await ask(base_url, [*probed, *([] if rounds else first)]))
        told, _ = detection_rules.server_of(rounds[-1])
        if told is not None and (more := [one for one in _unasked(own, rounds) if one.row_at(told.name)]):
            rounds[-1] = detection_rules.joined(rounds[-1], await ask(base_url, more))
        if detection_rules.is_last(rounds[-1]):
            return rounds
    late = _unasked(own, rounds)
    if late and not any(one.names(detection_rules.Presence.NO_API) for one in rounds):
        answered = detection_rules.joined(rounds[0], await ask(meant[0], late))
        rounds = [*rounds[1:], answered] if answered.names(detection_rules.Presence.THERE) else [answered, *rounds[1:]]
    return rounds


def _unasked(
    wires: Sequence[detection_rules.CandidateProtocol], rounds: Sequence[detection_rules.Round]
) -> list[detection_rules.CandidateProtocol]:
    return [wire for wire in wires if not any(wire.name in one.signs for one in rounds)]


_MOST: Final = 256 * 1024
"""Bytes of an answer that are read. Nothing depends on the rest: a longer list tells its server by its headers."""


async def ask_round(
    configuration: GatewayConfiguration,
    connections: Connections,
    base_url: str,
    wires: Sequence[detection_rules.CandidateProtocol],
    deadline: float,
    elsewhere: Mapping[str, str] = detection_rules.NOWHERE_ELSE,
) -> detection_rules.Round:
    """Sends a request to each endpoint, and one for the list where an endpoint is beside it, at the same time.

    Args:
        configuration: The upstream, its key and its headers.
        connections: The connections to it.
        base_url: Where the endpoints are looked for.
        wires: The protocols that are asked for.
        deadline: The end of the wait, by the clock of the event loop.
        elsewhere: The base URLs of those that are looked for below another one, by name.

    Raises:
        CredentialError: The key cannot be had.
        ConnectionSetupError: The proxy or the certificates that this machine names are not usable.
    """
    lists = [wire for wire in wires if wire.name not in elsewhere][:1]
    questions: list[tuple[str, str, str, Mapping[str, Any] | None]] = [
        (wire.name, base_url, detection_rules.MODELS, None) for wire in lists
    ]
    questions += [
        (wire.name, elsewhere.get(wire.name, base_url), wire.probed_path, wire.empty_request) for wire in wires
    ]
    answers: list[FetchResponse | str] = []
    asked = (
        _asked(UpstreamHTTP(configuration.spoken(name, where), connections), path, body, deadline)
        for name, where, path, body in questions
    )
    # All answers, once none is on its way any more; the first failure of this machine in their place.
    for answer in await asyncio.gather(*asked, return_exceptions=True):
        if isinstance(answer, BaseException):
            raise answer
        answers.append(answer)
    first, answers = (answers[0], answers[1:]) if lists else (None, answers)
    listing = first if isinstance(first, FetchResponse) else None
    signs: dict[str, detection_rules.Sign] = {}
    for wire, got in zip(wires, answers, strict=True):
        if isinstance(got, str) or detection_rules.tells_nothing(got, listing):
            signs[wire.name] = detection_rules.Sign(
                detection_rules.Presence.SILENT, got if isinstance(got, str) else f"HTTP {got.status}"
            )
        else:
            where = without_query(elsewhere.get(wire.name, base_url))
            signs[wire.name] = detection_rules.sign_of(got, wire.errors, where, wire.probed_path)
    return detection_rules.Round(base_url, signs, listing, elsewhere)


async def _asked(
    http: UpstreamHTTP, path: str, document: Mapping[str, Any] | None, deadline: float
) -> FetchResponse | str:
    """The start of an answer; a few words in its place if there is none."""
    headers = {**http.document_headers, "accept": "application/json"}
    content = None
    if document is not None:
        headers["content-type"] = "application/json"
        content = dumps(document)
    method = "GET" if document is None else "POST"
    request = OutboundHTTPRequest(method, http.base_path + path, content=content, headers=headers)
    body = bytearray()
    try:
        async with asyncio.timeout_at(deadline), aclosing(await http.send(request, renews_key=False)) as answer:
            try:
                async for chunk in answer.response.aiter_bytes():
                    body += chunk[: _MOST - len(body)]
                    if len(body) >= _MOST:
                        break
            except httpx2.RequestError as error:
                return answer.broke(error).reason
            start = answer.redactor.redact_bytes(bytes(body))
            return FetchResponse(answer.response.status_code, answer.headers, start)
    except TimeoutError:
        return "no answer in time"
    except UpstreamConnectionError as error:
        return error.reason
    except UpstreamError as error:
        return error.statement


_NAME: Final = re.compile(r"protocol-[0-9a-f]{16}\.json")
_MOST_FILES: Final = 200
_MAX_BYTES: Final = 16 * 1024
_MAX_REASON: Final = 500
_FRESH_SECONDS: Final = 24 * 3600.0
"""A server that is renewed may speak a better protocol than before."""


@dataclass(frozen=True, slots=True)
class DetectionFile:
    """The file about one base URL.

    It holds a path, and never a host: a program that can write into the folder cannot lead a key elsewhere. Its name is
    a digest of the URL as it was given.
    """

    folder: Path
    url: str

    @property
    def path(self) -> Path:
        """The path of the file."""
        return self.folder / f"protocol-{hashlib.sha256(self.url.encode()).hexdigest()[:16]}.json"

    def load(self, now: float) -> detection_rules.Detected | None:
        """The protocol that was found out; None where none is known, or not any more at `now`."""
        try:
            with self.path.open("rb") as file:
                document = loads(file.read(_MAX_BYTES))
        except (OSError, JSONDecodeError) as error:
            if not isinstance(error, FileNotFoundError):
                _logger.info("what the server speaks is found out again: %s", type(error).__name__)
            return None
        if not isinstance(document, dict) or document.get("version") != __version__:
            return None
        protocol, path, reason, at = (document.get(name) for name in ("protocol", "path", "reason", "at"))
        if not (isinstance(protocol, str) and isinstance(path, str) and isinstance(reason, str)):
            return None
        if not path.startswith("/") and path:
            return None
        if not isinstance(at, int | float) or not 0 <= now - at <= _FRESH_SECONDS:
            return None
        server = next((one.name for one in KNOWN_SERVERS if one.name == document.get("server")), "")
        return detection_rules.Detected(
            protocol, detection_rules.with_path(self.url, path), reason[:_MAX_REASON], server=server
        )

    def save(self, detected: detection_rules.Detected, now: float) -> None:
        """Writes what was found out; a reader sees either the old file or the new one. Logs a failure."""
        path = detection_rules.path_of(detected.base_url)
        content = dumps(
            {
                "version": __version__,
                "protocol": detected.protocol,
                "path": path,
                "reason": detected.reason,
                "server": detected.server,
                "at": now,
            }
        )
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            replace_file(self.path, content)
            # The oldest files of this kind go where there are too many.
            with suppress(FileNotFoundError):  # another process cleans too
                files = [path for path in self.folder.iterdir() if _NAME.fullmatch(path.name)]
                for old in sorted(files, key=lambda path: path.lstat().st_mtime)[:-_MOST_FILES]:
                    old.unlink(missing_ok=True)
        except OSError as error:
            _logger.warning("cannot store what the server speaks: %s", error)

    def remove(self) -> None:
        """Removes the file, if there is one. Logs a failure."""
        try:
            self.path.unlink(missing_ok=True)
        except OSError as error:
            _logger.warning("cannot remove what was stored of what the server speaks: %s", error)
