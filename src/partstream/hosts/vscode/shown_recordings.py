"""Recorded answers as the extension shows and shares them: a page for a webview, a file without keys and texts."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path
from typing import TYPE_CHECKING, Final

from partstream.errors import UnexpectedValueError
from partstream.vscode.failures import run_in_thread
from partstream.vscode.methods import InvalidParamsError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from partstream.bundles.exchange import Bundle
    from partstream.bundles.redaction import RedactionReport
    from partstream.hosts.vscode.recordings import HostRecordings
    from partstream.vscode import rpc_types as wire
    from partstream.vscode.pages.document import ContentPolicy

__all__ = ["ShownRecordings"]

_THREAD: Final = "partstream-recording"
_LAST: Final = "last answer"
_LONGEST_SAMPLE: Final = 60
_MOST_RULES: Final = 12


class ShownRecordings:
    """The recordings of one connection, for people.

    Args:
        recordings: Has the last answers.
    """

    def __init__(self, recordings: HostRecordings) -> None:
        self._recordings = recordings
        self._inspected: Bundle | None = None
        self._previewed: Bundle | None = None

    async def page(self, path: str | None, policy: ContentPolicy) -> str | None:
        """The page of a recording; None where there is no answer.

        Args:
            path: Its file, or None for the last answer in memory.
            policy: That of the webview.

        Raises:
            InvalidParamsError: The file is no recording.
        """
        if path is None:
            self._inspected = await self._recordings.last_bundle()
            if self._inspected is None:
                return None
        bundle = await self._bundle(path)
        name = _LAST if path is None else Path(path).name
        return await run_in_thread(lambda: _page(bundle, name, policy), _THREAD)

    async def preview(self, path: str | None, *, is_last: bool = False) -> wire.SharePreviewResult:
        """What a file to share will hold.

        Args:
            path: Its recording, or None for an answer in memory.
            is_last: Whether that is the last answer as it is now, and not the inspected one.

        Raises:
            InvalidParamsError: The file is no recording, or no answer was inspected.
        """
        if path is None and is_last:
            self._previewed = await self._recordings.last_bundle()
            if self._previewed is None:
                return {"preview": "", "forms": []}
        bundle = await self._bundle(path, is_last=is_last)
        return await run_in_thread(lambda: _preview(bundle), _THREAD)

    async def shared(self, path: str | None, name: str, *, is_last: bool = False) -> wire.ShareResult:
        """The file to share, in the form that the ending of its name says.

        Args:
            path: Its recording, or None for an answer in memory.
            name: The name of the file.
            is_last: Whether that is the answer of the last preview that asked for the last one.

        Raises:
            InvalidParamsError: The file is no recording, no answer was inspected, or nothing is written in that form.
        """
        bundle = await self._bundle(path, is_last=is_last)
        return {"content": b64encode(await run_in_thread(lambda: _shared(bundle, name), _THREAD)).decode()}

    async def _bundle(self, path: str | None, *, is_last: bool = False) -> Bundle:
        if path is not None:
            return await run_in_thread(lambda: _read(path), _THREAD)
        chosen, what = (self._previewed, "previewed") if is_last else (self._inspected, "inspected")
        if chosen is None:
            raise InvalidParamsError("params.path", "null", f"a recording, since no answer was {what}")
        return chosen


def _read(path: str) -> Bundle:
    from partstream.bundles.forms import read_any  # noqa: PLC0415 - at somebody's wish

    try:
        return read_any(Path(path).read_bytes(), path)
    except OSError as error:
        raise InvalidParamsError("params.path", error.strerror or type(error).__name__, "a recording") from error
    except UnexpectedValueError as error:
        raise InvalidParamsError("params.path", str(error), "a recording") from error


def _page(bundle: Bundle, name: str, policy: ContentPolicy) -> str:
    from partstream.inspector.page import page_html  # noqa: PLC0415 - at somebody's wish
    from partstream.inspector.view import ViewedFile, view_of  # noqa: PLC0415 - the same

    return page_html(view_of([ViewedFile(name, "bundle", bundle)]), policy)


def _shared(bundle: Bundle, name: str) -> bytes:
    from partstream.bundles.redaction import redact  # noqa: PLC0415 - at somebody's wish
    from partstream.inspector.sharing import shared_bytes  # noqa: PLC0415 - the same

    try:
        return shared_bytes(redact(bundle)[0], name)
    except UnexpectedValueError as error:
        raise InvalidParamsError("params.name", name, str(error)) from error


def _preview(bundle: Bundle) -> wire.SharePreviewResult:
    from partstream.bundles.redaction import redact  # noqa: PLC0415 - at somebody's wish
    from partstream.inspector.sharing import SHARED_FORMS  # noqa: PLC0415 - the same

    _, report = redact(bundle)
    forms: list[wire.ShareForm] = [
        {"name": name, "endings": [ending.removeprefix(".") for ending in endings]}
        for name, endings in SHARED_FORMS.items()
    ]
    return {"preview": "\n".join(_lines(bundle, report)), "forms": forms}


def _lines(bundle: Bundle, report: RedactionReport) -> Iterator[str]:
    """Counts by rule, redacted samples, and texts that stay (docs/wires/practice.md#preview-before-saving)."""
    size = sum(len(chunk.data) for exchange in bundle.exchanges for chunk in exchange.chunks)
    yield f"{_counted(len(bundle.answers), 'answer')}, {_counted(len(bundle.exchanges), 'request')}, {size:,} bytes."
    yield "Keys, ids and everything that people, models and tools wrote are replaced; lengths, order and times stay."
    yield ""
    replaced = sorted(report.counts.items(), key=lambda rule: -rule[1])
    yield "Replaced: " + (_listed([f"{name} {count:,}" for name, count in replaced]) or "nothing")
    yield "Texts that stay: " + (_listed([f"{place} ({count:,})" for place, count in report.kept.items()]) or "none")
    if report.samples:
        yield ""
        yield "As it will read:"
    for sample in report.samples:
        shown = " ".join(sample.text.split())[:_LONGEST_SAMPLE]
        yield f"{sample.rule}: {shown}"


def _listed(words: Sequence[str]) -> str:
    more = len(words) - _MOST_RULES
    return ", ".join([*words[:_MOST_RULES], *([f"{more} more"] if more > 0 else [])])


def _counted(count: int, thing: str) -> str:
    return f"{count:,} {thing}{'' if count == 1 else 's'}"
