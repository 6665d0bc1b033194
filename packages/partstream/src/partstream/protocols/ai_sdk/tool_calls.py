"""Reads the tool calls of one response: emits each once, whole, in its place, and only if the consumer has to run it.

Where the AI SDK runs tools itself, a call may be over before the stream is: such calls wait for the end of their step,
and those with an outcome are not emitted. Content after a call that waits, waits too: parts keep the order in which the
model generated them. A whole call wins over its streamed input. Version 4 reports a failed tool only by an error, which
sometimes names the tool and no call: then its first open call is meant.
"""

from __future__ import annotations
import dataclasses
from collections import deque
from collections.abc import Callable
from itertools import chain, islice
from typing import Final, NamedTuple, TypeAlias

from partstream.codec.checks import dataclass
from partstream.errors import ToolArgumentsError, UpstreamProtocolError
from partstream.lm.outputs import EmitText, StreamOutput, Unmapped
from partstream.lm.parts import tool_call_part
from partstream.protocols.ai_sdk import errors
from partstream.protocols.ai_sdk.provider_state import TOOL_CALL, CarriedItems
from partstream.protocols.calls import Calls, CompleteCall, Pieces, Reading, check_number, read_pieces, read_sources

_MOST_OPEN: Final = 1_000
"""How many open calls are looked at for the one of a tool that has failed."""

_Later: TypeAlias = Callable[[list[StreamOutput]], None]
"""An action for the time when nothing waits before it; it appends its outputs."""


class _Call(NamedTuple):
    """A call that is whole, the id under which it came, and the provider metadata."""

    call: CompleteCall
    given_id: str
    options: errors.Chunk


@dataclass(slots=True)
class _Streamed:
    """The input of a call as it streams."""

    name: str | None = None
    executed: bool = False
    has_place: bool = False
    is_ended: bool = False
    is_text: bool = False
    options: errors.Chunk = dataclasses.field(default_factory=dict)
    pieces: Pieces = dataclasses.field(default_factory=Pieces)


class ToolCalls:
    """All calls of one response.

    Args:
        wait: Whether complete calls wait for :meth:`advance` to release them.

    Attributes:
        broken: The error of the first call for the consumer that cannot go out, or None.
        emitted: How many calls went out.
        line: The calls that wait, by their ids, and what waits for them, in order.
    """

    def __init__(self, prefix: str, *, wait: bool, carried: CarriedItems) -> None:
        self._prefix = prefix
        self._wait = wait
        self._carried = carried
        self._streamed: dict[str, _Streamed] = {}
        self._waiting: dict[str, _Call] = {}
        self.line: deque[str | _Later] = deque()
        self._settled: set[str] = set()
        self._over: dict[str, tuple[str, errors.Chunk] | None] = {}  # by id, what is known of the call
        self._ended = Calls()
        self._from_input: set[str] = set()  # calls taken from their streamed input, which a whole call may still say
        # The ids of ours, by the id that their calls share with an earlier one.
        self._others: dict[str, deque[str]] = {}
        self._asked: dict[str, str | None] = {}
        self.broken: ToolArgumentsError | None = None
        self.emitted = 0

    def start(self, chunk: errors.Chunk, outputs: list[StreamOutput]) -> None:
        """Takes the first chunk of a call."""
        call_id = errors.identifier(chunk, errors.CALL_ID)
        if call_id is None:
            outputs.append(_unmapped(chunk, "without an id"))
        elif call_id not in self._over:
            known = self._streamed.get(call_id)
            # Another call begins under the id of one whose input has ended.
            if known is not None and known.is_ended and known.pieces.may_end():
                said = Reading(known.pieces, read_pieces(known.pieces))
                if said.arguments.value is not None and known.name is not None and not known.is_text:
                    del self._streamed[call_id]
                    self._take(call_id, known.name, said, known, outputs)
                    self._from_input.add(call_id)
            self._read(call_id, chunk)

    def push(self, chunk: errors.Chunk, outputs: list[StreamOutput]) -> EmitText | None:
        """Takes a piece of a call's input; returns the fast path for more of it."""
        call_id, piece = errors.identifier(chunk, errors.CALL_ID), errors.field(chunk, errors.ARGUMENTS_DELTA)
        if call_id is None:
            outputs.append(_unmapped(chunk, "without an id"))
            return None
        if call_id in self._over:
            return None
        add = self._read(call_id, chunk).pieces.append
        if isinstance(piece, str | dict | list):
            add(piece)
        return lambda more, _outputs: add(more)

    def complete(self, chunk: errors.Chunk, outputs: list[StreamOutput]) -> None:
        """Takes a whole call, which wins over its streamed input."""
        call_id, name = errors.identifier(chunk, errors.CALL_ID), errors.identifier(chunk, ("toolName",))
        arguments = errors.field(chunk, errors.CALL_INPUT)
        if call_id is not None and call_id in self._over and not self._others.get(call_id):
            # If it is another call, who runs it is unknown.
            value, known = read_pieces((arguments,)).value, self._over[call_id]
            is_other = known is not None and value is not None and known != (name, value)
            outputs.append(_unmapped(chunk, "again, and different" if is_other else "repeated"))
            return
        streamed = self._streamed.pop(call_id, _Streamed()) if call_id is not None else _Streamed()
        if chunk.get("providerExecuted") is True or streamed.executed:
            outputs.append(_unmapped(chunk, "run by the provider"))
            self._settle(call_id, outputs)
            return
        said = read_sources((() if arguments is None else (arguments,), streamed.pieces))
        is_said = bool(said.pieces) or arguments is not None
        value = None if streamed.is_text and isinstance(arguments, str) else said.arguments.value
        if chunk.get("invalid") is True or call_id is None or name is None or value is None or not is_said:
            if call_id is None or not self._is_whole(call_id):
                self.invalid(chunk, outputs)
            else:  # the whole call counts
                outputs.append(_unmapped(chunk, "invalid"))
            return
        errors.take_metadata(streamed.options, chunk)
        is_confirmed = call_id in self._from_input and self._ended.has(call_id, name, value)
        self._from_input.discard(call_id)
        if not is_confirmed:
            self._take(call_id, name, said, streamed, outputs)
        self.advance(outputs)

    def _take(self, call_id: str, name: str, said: Reading, streamed: _Streamed, outputs: list[StreamOutput]) -> None:
        """Lets a whole call wait, unless it repeats one."""
        call = self._ended.take(call_id, name, said.pieces, outputs, read=said.arguments)
        if call is None:
            return
        if not call.is_given:
            self._others.setdefault(call_id, deque()).append(call.call_id)
        self._waiting[call.call_id] = _Call(call, call_id, streamed.options)
        if not streamed.has_place or not call.is_given:
            self.line.append(call.call_id)

    def end_input(self, chunk: errors.Chunk, _outputs: list[StreamOutput]) -> None:
        """Takes the end of a call's input: the call's place in the answer, even if no whole call follows."""
        call_id = errors.identifier(chunk, errors.CALL_ID)
        streamed = None if call_id is None else self._streamed.get(call_id)
        if call_id is None or streamed is None or streamed.executed or streamed.has_place:
            return
        streamed.is_ended = True
        if self._is_whole(call_id):
            return
        streamed.has_place = True
        self.line.append(call_id)

    def invalid(self, chunk: errors.Chunk, outputs: list[StreamOutput]) -> None:
        """Takes a call that is none: the SDK or this reader found it invalid."""
        call_id = errors.identifier(chunk, errors.CALL_ID)
        outputs.append(_unmapped(chunk, "invalid"))
        self._break(call_id, errors.identifier(chunk, ("toolName",)), str(errors.field(chunk, errors.CALL_INPUT)))
        self._settle(call_id, outputs)

    def over(self, chunk: errors.Chunk, outputs: list[StreamOutput]) -> None:
        """Takes the outcome of a call: it was run or refused."""
        is_preliminary, call_id = chunk.get("preliminary") is True, errors.identifier(chunk, errors.CALL_ID)
        outputs.append(_unmapped(chunk, "preliminary" if is_preliminary else ""))
        if not is_preliminary or call_id not in self._over:
            self._settle(call_id, outputs)

    def asked(self, chunk: errors.Chunk, outputs: list[StreamOutput]) -> None:
        """Takes a question for approval. The call stays with the consumer, which asks the person itself."""
        approval_id = errors.identifier(chunk, ("approvalId",))
        if approval_id is not None:
            self._asked[approval_id] = _meant(chunk)
        outputs.append(Unmapped(chunk["type"], chunk))

    def answered(self, chunk: errors.Chunk, outputs: list[StreamOutput]) -> None:
        """Takes the answer to a question for approval. A refused call is over; the SDK ran an allowed call if an
        outcome comes, else it is for the consumer."""
        allowed = chunk.get("approved") is True
        outputs.append(_unmapped(chunk, "allowed" if allowed else "refused"))
        if not allowed:
            # The UI stream names only the question.
            self._settle(_meant(chunk) or self._asked.get(errors.identifier(chunk, ("approvalId",)) or ""), outputs)

    def failed(self, name: str | None, call_id: str | None, outputs: list[StreamOutput]) -> None:
        """Takes that a tool failed in version 4, which has no outcome for it and sometimes no id."""
        open_calls = chain(
            ((one, waiting.call.name) for one, waiting in self._waiting.items()),
            ((one, streamed.name) for one, streamed in self._streamed.items()),
        )
        first = next((one for one, tool in islice(open_calls, _MOST_OPEN) if tool == name), None)
        self._settle(first if call_id is None else call_id, outputs)

    def add_behind(self, act: _Later, outputs: list[StreamOutput]) -> None:
        """Runs an action after the waiting calls; at once if none waits."""
        if self.line:
            self.line.append(act)
        else:
            act(outputs)

    def flush(self, outputs: list[StreamOutput], *, usable: bool, cut: bool = False) -> None:
        """Ends all streamed inputs without a whole call; emits those that are whole. They are if the answer ended well,
        and of a cut answer those that had ended, or that are a whole object."""
        for call_id, streamed in [*self._streamed.items()]:
            if not streamed.pieces and self._is_whole(call_id):  # no input is no other call, but the whole one again
                continue
            said = Reading(streamed.pieces, read_pieces(streamed.pieces))
            value = None if streamed.is_text else said.arguments.value
            is_whole = usable or (cut and (streamed.has_place or bool(value)))
            if is_whole and value is not None and streamed.name is not None and not streamed.executed:
                self._take(call_id, streamed.name, said, streamed, outputs)
                self._from_input.add(call_id)
                continue
            if self._is_whole(call_id):  # the beginning of a call that came whole before
                continue
            joined = "".join(map(str, streamed.pieces))
            why = "run by the provider" if streamed.executed else "incomplete"
            data = {"type": "tool-input", "toolCallId": call_id, "toolName": streamed.name, "input": joined}
            outputs.append(_unmapped(data, why))
            self._settled.add(call_id)
            if usable and not streamed.executed:
                self._break(call_id, streamed.name, joined)
        self._streamed.clear()
        self.advance(outputs, release=True)

    def drop(self) -> None:
        """Forgets what waits and what streams."""
        for one in self._waiting.values():
            self._ended.forget(one.call, one.given_id)
        self.line.clear()
        self._waiting.clear()
        self._streamed.clear()

    def advance(self, outputs: list[StreamOutput], *, release: bool = False) -> None:
        """Emits all that no longer waits for a call; or everything, calls too, in order.

        Raises:
            UpstreamProtocolError: A chunk that waited makes no sense; nothing waits any more.
        """
        line = self.line
        while line:
            entry = line[0]
            if isinstance(entry, str):
                waiting = self._waiting.get(entry)
                # Of an input that has ended, the whole call may still come.
                if not release and (entry in self._streamed if waiting is None else self._wait):
                    return
                line.popleft()
                if waiting is not None:
                    call = waiting.call
                    del self._waiting[call.call_id]
                    self._settled.add(call.call_id)
                    self.emitted += 1
                    outputs += self._carried.add({"type": TOOL_CALL, "toolCallId": call.call_id}, waiting.options)
                    outputs.append(tool_call_part(self._prefix + call.call_id, call.name, call.input))
                elif entry in self._streamed:
                    self._streamed[entry].has_place = False
                continue
            line.popleft()
            try:
                entry(outputs)
            except UpstreamProtocolError:
                # As if it had not waited: nothing after a chunk that makes no sense belongs to the answer.
                line.clear()
                self._waiting.clear()
                raise

    def _is_whole(self, call_id: str) -> bool:
        """Tells whether a call is complete; later chunks about it repeat the call, or another one has its id."""
        return call_id in self._settled or call_id in self._waiting

    def _read(self, call_id: str, chunk: errors.Chunk) -> _Streamed:
        streamed = self._streamed.setdefault(call_id, _Streamed())
        check_number(len(self._streamed))
        streamed.name = errors.identifier(chunk, ("toolName",)) or streamed.name
        streamed.executed |= chunk.get("providerExecuted") is True
        streamed.is_text |= chunk.get("inputEncoding") == "text"
        errors.take_metadata(streamed.options, chunk)
        return streamed

    def _settle(self, call_id: str | None, outputs: list[StreamOutput]) -> None:
        if call_id is not None:
            others = self._others.get(call_id)
            if others and call_id in self._over:
                call_id = others.popleft()
            waiting = self._waiting.pop(call_id, None)
            self._over.setdefault(call_id, None if waiting is None else (waiting.call.name, waiting.call.input))
            self._settled.add(call_id)
            self._streamed.pop(call_id, None)
            self.advance(outputs)

    def _break(self, call_id: str | None, name: str | None, arguments: str) -> None:
        if self.broken is None:
            self.broken = ToolArgumentsError(call_id=call_id, name=name, arguments=arguments)


def _meant(chunk: errors.Chunk) -> str | None:
    """The call that a question for approval is about: its id, or the whole call."""
    return errors.identifier(chunk, ("toolCallId",)) or errors.identifier(
        errors.mapping(chunk, ("toolCall",)), errors.CALL_ID
    )


def _unmapped(chunk: errors.Chunk, why: str) -> Unmapped:
    """Counts a chunk under a name that states its tool and why it becomes no part."""
    name = errors.identifier(chunk, ("toolName",)) or errors.identifier(
        errors.mapping(chunk, ("toolCall",)), ("toolName",)
    )
    words = (chunk["type"], name, why and f"({why})")
    return Unmapped(" ".join(word for word in words if word), chunk)
