"""Turns of a session with a provider and its ledger; run as a script it is a new process that has one turn.

As a script it reads a pickled `Ask` from standard input, and writes the session after the turn and what was asked.
"""

import asyncio
import pickle
import sys
from dataclasses import dataclass, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[4] / "tests"))

from partstream import CancellationTokenSource, RequestOptions, ToolCallPart
from partstream.codec.json_codec import loads
from partstream.tokens import Counters, CountSource
from partstream.tokens.ledger import Ledger, open_ledger
from partstream.upstream.provider import GatewayProvider
from tokens.sessions import Session
from upstreams.upstreams import MODEL, Answer, configuration


@dataclass(frozen=True)
class Asked:
    """One request: what was expected of it, and what the upstream reported over HTTP."""

    turn: int
    happened: str
    expected: int
    source: CountSource
    reported: int

    @property
    def error(self) -> float:
        return self.expected / self.reported - 1


@dataclass
class Process:
    """What a process has: a provider with the ledger of a folder."""

    base_url: str
    folder: Path
    ledger: Ledger | None = None
    provider: GatewayProvider | None = None

    def open(self) -> GatewayProvider:
        if self.provider is None:
            self.ledger = open_ledger(self.folder)
            self.provider = GatewayProvider(configuration(self.base_url), ledger=self.ledger, counters=Counters())
        return self.provider

    async def end(self) -> None:
        """Ends as a process does: all that was learned is in the file."""
        if self.provider is not None and self.ledger is not None:
            await self.provider.aclose()
            self.ledger.close()
        self.provider = self.ledger = None


@dataclass(frozen=True)
class Ask:
    """The arguments of a new process."""

    base_url: str
    folder: Path
    session: Session
    family: str
    turn: int
    happened: str


async def take_turn(process: Process, session: Session, family: str, turn: int, happened: str) -> list[Asked]:
    """Asks until the model calls no tool any more."""
    provider, model = process.open(), replace(MODEL, family=family, max_input_tokens=10_000_000)
    options, asked = RequestOptions(tools=tuple(session.tools)), []
    while True:
        expected = provider._accounting.estimate_request(model, session.messages, session.tools).total
        answer, token = Answer(), CancellationTokenSource().token
        await provider.provide_language_model_chat_response(model, session.messages, options, answer, token)
        reported = loads(answer.parts[-1].data)["prompt_tokens"]
        asked.append(Asked(turn, happened, expected.tokens, expected.source, reported))
        calls = [part for part in answer.parts if isinstance(part, ToolCallPart)]
        if not calls:
            session.answered(answer.text)
            return asked
        session.called(calls, answer.text)


async def take_turn_in_a_new_process(ask: Ask) -> tuple[Session, list[Asked]]:
    """The same in a process that lives for one turn."""
    pipe = asyncio.subprocess.PIPE
    command = (sys.executable, "-W", "error", __file__)
    child = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, stderr=pipe)
    try:
        output, errors = await child.communicate(pickle.dumps(ask))
    finally:
        if child.returncode is None:
            child.kill()
    assert child.returncode == 0, errors.decode()
    session, asked = pickle.loads(output)  # noqa: S301 - of our own process
    return session, [Asked(*one) for one in asked]


async def _main() -> None:
    ask: Ask = pickle.load(sys.stdin.buffer)  # noqa: S301 - of the test that started this
    process = Process(ask.base_url, ask.folder)
    asked = await take_turn(process, ask.session, ask.family, ask.turn, ask.happened)
    await process.end()
    plain = [(one.turn, one.happened, one.expected, one.source, one.reported) for one in asked]
    sys.stdout.buffer.write(pickle.dumps((ask.session, plain)))


if __name__ == "__main__":
    asyncio.run(_main())
