"""Every recorded answer that a provider gives is served over each wire and read again as it was, but for the losses
that the wire names (docs/maintainers/translation.md)."""

from __future__ import annotations
import asyncio
import logging
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

import recordings
from partstream.errors import ToolArgumentsError
from partstream.lm.outputs import CitationMode, FileMode, Finish, StreamOptions, StreamOutput, Unmapped
from partstream.lm.provider import LanguageModelChatInformation, LanguageModelChatProvider
from partstream.runtime.translation import read_answer, read_document
from partstream.server.application import ServingApp, app
from partstream_devtools.recorded_stream import read_recording
from protocols.ai_sdk.streams import FOREIGN, OWN
from protocols.ai_sdk.streams import parameters as streams_of_the_sdk
from serving.asgi import Call, ask
from serving.wires import WIRES, Wire
from unsupported import UNSUPPORTED, ResponseForm, response_form

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

EVERYTHING = StreamOptions(citations=CitationMode.DATA, call_id_prefix="", files=FileMode.ADDRESS)
Asking = tuple[tuple[str, Any], dict[str, Any]]
"""What :meth:`Wire.asking` gives."""
MODEL = LanguageModelChatInformation("recorded", "Recorded", "recorded", "1", 1000, 1000)

SERVERS = ("openresponses", "chat_completions", "anthropic_messages", "gemini")
OF_SERVERS = [(one.values[0].path, None) for name in SERVERS for one in recordings.recordings(name)]
OF_THE_SDK = [
    (one.values[0].path, one.values[0].protocol) for group in (OWN, FOREIGN) for one in streams_of_the_sdk(group)
]


class Recorded(LanguageModelChatProvider):
    """A provider that gives one recorded answer."""

    def __init__(self) -> None:
        self.answer: Sequence[StreamOutput] = ()

    async def provide_language_model_chat_information(self, silent: Any, token: Any) -> Any:
        return [MODEL]

    async def provide_language_model_chat_response(
        self, model: Any, messages: Any, options: Any, progress: Any, token: Any
    ) -> None:
        for output in self.answer:
            if isinstance(output, Finish):
                progress.finish(output)
                if output.error is not None:
                    raise output.error
            elif not isinstance(output, Unmapped):
                progress.report(output)

    async def provide_token_count(self, model: Any, text: Any, token: Any) -> int:
        return 1


def _answers(place: int) -> list[tuple[str, list[StreamOutput]]]:
    """The recorded answers for a wire: those of model servers, and of the AI SDK a share, for its versions recorded the
    same scenarios."""
    return [*_of_servers(), *_read(OF_THE_SDK[place :: len(WIRES)])]


@cache
def _of_servers() -> list[tuple[str, list[StreamOutput]]]:
    """Read once for all wires: that takes as long as to serve them over one."""
    return _read(OF_SERVERS)


def _read(found: Sequence[tuple[Path, Any]]) -> list[tuple[str, list[StreamOutput]]]:
    return [
        (str(path), list(read_recording(path.read_bytes(), str(path), spoken, EVERYTHING)))
        for path, spoken in found
        if path.exists()
    ]


@pytest.mark.recordings
@pytest.mark.skipif(not any(path.exists() for path, _ in OF_SERVERS), reason=f"no recordings in {recordings.FOLDER}")
@pytest.mark.parametrize(("place", "wire"), [*enumerate(WIRES)], ids=[wire.name for wire in WIRES])
def test_a_recorded_answer_survives_being_served(place: int, wire: Wire, caplog: pytest.LogCaptureFixture) -> None:
    """In a stream; of each wire, a share of them in one document too, which `test_round_trips.py` has of all."""
    caplog.set_level(logging.CRITICAL)  # answers of thinking alone show nothing in VS Code, which the server says

    async def serve_all() -> None:
        provider = Recorded()
        application = app(provider)
        asking = wire.asking("recorded")
        for number, (path, outputs) in enumerate(_answers(place)):
            if _holds_unread_calls(outputs):  # tests/serving/test_what_a_model_says.py has these
                continue
            provider.answer = outputs
            streamed = await _assert_survives(wire, application, asking, outputs, path)
            if number % len(WIRES) == place:
                await _compare_document(wire, application, outputs, streamed)

    asyncio.run(serve_all())


async def _assert_survives(
    wire: Wire, application: ServingApp, asking: Asking, outputs: list[StreamOutput], path: str
) -> Call:
    unsupported = UNSUPPORTED[wire.protocol.name]
    wanted = response_form(outputs, unsupported.response)
    assert wire.protocol.write_response is not None
    if wire.protocol.write_response().state is not None:  # the wire names its answers itself
        wanted = replace(wanted, response_id=None)
    arguments, more = asking
    streamed = await ask(application, *arguments, **more)
    assert (streamed.status >= 400) is (wanted.error is not None and not _has_begun(outputs)), path
    if streamed.status == 200:
        read = read_answer(wire.protocol, streamed.body, EVERYTHING)
        _assert_same(response_form(read, unsupported.response), wanted, outputs, path)
    return streamed


async def _compare_document(wire: Wire, application: ServingApp, outputs: list[StreamOutput], streamed: Call) -> None:
    """The answer in one document says what its stream says."""
    unsupported = UNSUPPORTED[wire.protocol.name]
    arguments, more = wire.asking("recorded", stream=False)
    document = await ask(application, *arguments, **more)
    assert (document.status >= 400) is (response_form(outputs).error is not None)
    if document.status == 200:
        both = (*unsupported.document, *unsupported.response)  # these two replies have identifiers of their own
        of_stream = response_form(read_answer(wire.protocol, streamed.body, EVERYTHING), both)
        said = response_form(read_document(wire.protocol, document.body, EVERYTHING), both)
        _assert_same(replace(said, response_id=None), replace(of_stream, response_id=None), outputs, "document")


def _holds_unread_calls(outputs: Sequence[StreamOutput]) -> bool:
    """Whether the answer holds calls whose arguments are no JSON object: wires differ in what becomes of them."""
    finish = outputs[-1]
    return isinstance(finish, Finish) and isinstance(finish.error, ToolArgumentsError) and bool(finish.error.calls)


def _has_begun(outputs: Sequence[StreamOutput]) -> bool:
    """Whether there was a part before the failure: the status is decided by then."""
    return any(not isinstance(one, Finish | Unmapped) for one in outputs)


def _assert_same(got: ResponseForm, wanted: ResponseForm, outputs: Sequence[StreamOutput], path: str) -> None:
    """Unreported tokens are counted by the server."""
    finish = outputs[-1]
    assert isinstance(finish, Finish)
    if finish.usage is None:
        got, wanted = replace(got, usage=None), replace(wanted, usage=None)
    assert got == wanted, path


def test_a_failure_before_the_first_part_is_a_status_and_one_behind_it_an_event() -> None:
    """Whatever recordings there are, some have failed in both ways."""
    failed = [_has_begun(outputs) for _, outputs in _of_servers() if response_form(outputs).error is not None]
    assert not failed or set(failed) == {True, False}
