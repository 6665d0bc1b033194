"""A parser under test as a target: `parse(bytes) -> parts`, which the kit gives the streams of a scripted model."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from partstream.devtools.conformance.driving import Capabilities, Provocation, TargetDescription, UnusableTargetError
from partstream.devtools.conformance.parsing import Parser, ParserProvider, Takes, recorded_streams, takes_of
from partstream.devtools.conformance.scenarios import parser_scenarios
from partstream.errors import CallerError
from partstream.protocols.protocol import PROTOCOLS
from partstream.runtime.progress import fault_of
from partstream.runtime.provider_files import SourceLoader

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping

    from partstream.devtools.conformance.checks import Probe
    from partstream.devtools.conformance.scripts import Script
    from partstream.lm.provider import LanguageModelChatProvider
    from partstream.protocols.protocol import Protocol

__all__ = ["ParserTarget", "parser_from"]


@dataclass(frozen=True, slots=True)
class _Session:
    parser: Parser
    protocol: Protocol
    note: str
    declared: Capabilities = field(default_factory=Capabilities)
    upstream: None = None

    def provider(self, script: Script | None) -> LanguageModelChatProvider:
        return ParserProvider(self.parser, self.protocol, script)


class ParserTarget:
    """A parser of the streams of a protocol.

    Args:
        parse: The function: takes all bytes or an iterable of pieces, and returns or yields parts, synchronously or
            not. A part is one of ours, or `{"type": "text", "text": ...}`, `{"type": "thinking", "text": ...}`,
            `{"type": "tool-call", "id": ..., "name": ..., "input": {...}}`, where a missing id is one that the wire
            does not have; `{"type": "finish", "usage": {"input_tokens": ..., "output_tokens": ...}}` may be the last.
            For a failed stream it raises, or gives `{"type": "error", "message": ...}`.
        protocol: The name of the protocol.
        takes: What it takes; None to go by the name of its first parameter (`data`, `chunks`) and its annotation, and
            by all bytes at once where they say nothing.
        name: What a report calls it.
        recordings: A folder of recorded streams to judge it by, see
            :mod:`partstream.devtools.conformance.parsing`; None for none.

    Attributes:
        scenarios: The scenarios that only a parser has.

    Raises:
        UnusableTargetError: It is no function, or streams of the protocol cannot be written.
        CallerError: No protocol has this name, or the folder has no recordings.
    """

    def __init__(
        self,
        parse: Callable[..., Any],
        protocol: str | None = None,
        *,
        takes: Takes | str | None = None,
        name: str | None = None,
        recordings: Path | str | None = None,
    ) -> None:
        self._name: str = name or getattr(parse, "__name__", None) or type(parse).__name__
        if not callable(parse):
            raise UnusableTargetError(self._name, f"got {type(parse).__name__}, expected a function that parses")
        if protocol is None:
            written = ", ".join(one for one in PROTOCOLS if PROTOCOLS[one].write_response is not None)
            raise UnusableTargetError(self._name, f"is a parser: name the protocol that it reads, one of {written}")
        self._protocol = PROTOCOLS[protocol]
        if self._protocol.write_response is None:
            raise UnusableTargetError(self._name, f"the kit cannot write streams of {protocol}")
        self._parser = Parser(parse, Takes(takes or takes_of(parse) or Takes.BYTES), protocol)
        folder = None if recordings is None else Path(recordings)
        if folder is not None:
            recorded_streams(folder, self._protocol)  # a folder without any is said to be one before the run begins
        self.scenarios: Mapping[str, Probe] = parser_scenarios(protocol, folder)

    @property
    def description(self) -> TargetDescription:
        """What a report says of it."""
        return TargetDescription(self._name, "parser", protocol=self._parser.protocol)

    @property
    def ways(self) -> frozenset[Provocation]:
        """By bytes."""
        return frozenset({Provocation.PARSER})

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[_Session, None]:
        """Nothing is opened: each stream is given to the function."""
        yield _Session(self._parser, self._protocol, f"is given streams as {self._parser.takes.value}")


def parser_from(
    source: str, protocol: str | None, *, takes: Takes | str | None = None, recordings: Path | None = None
) -> ParserTarget:
    """The parser of a source: `file.py`, `file.py:function` or `module:function`; the function is `parse` by default.

    Raises:
        UnusableTargetError: There is no such function, the file fails when it runs, or no protocol is named.
        CallerError: No protocol has this name.
    """
    loader = SourceLoader(source)
    name = loader.attribute or "parse"
    try:
        found = getattr(loader.module(), name, None)
    except CallerError as error:
        raise UnusableTargetError(source, str(error).removeprefix(f"{source}: ")) from error
    except (Exception, SystemExit) as error:  # a file that ends the process would end it as if all were well
        raise UnusableTargetError(source, f"running the file failed: {fault_of(error, loader.file)}") from error
    if found is None:
        raise UnusableTargetError(source, f"has no function {name}")
    return ParserTarget(found, protocol, takes=takes, name=source, recordings=recordings)
