"""The view of recordings: what a page, a terminal and a script are shown of them, as JSON."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from partstream.devtools.bundles.exchange import answers_in
from partstream.devtools.inspector.answer_view import view_of_answer, view_of_exchange
from partstream.devtools.inspector.shapes import FORMAT, AnswerView, CommandView, RedactionView, SourceView, View
from partstream.inspector.comparing import comparisons

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from partstream.devtools.bundles.exchange import Bundle, RecordedAnswer, RecordedExchange

__all__ = ["ViewedFile", "view_of"]


@dataclass(frozen=True, slots=True)
class ViewedFile:
    """A recording and where it came from.

    Attributes:
        name: The name of its file, or what else people call it.
        form: The name of its form, such as `bundle` or `sse`.
        bundle: What it holds.
        path: How a command names it; empty for what is no file, and is named in no command.
    """

    name: str
    form: str
    bundle: Bundle
    path: str = ""


def view_of(files: Sequence[ViewedFile], *, is_live: bool = False) -> View:
    """The view of one or several files.

    Args:
        files: The files; answers of several files are compared with each other.
        is_live: Whether more may come.
    """
    answers = [answer for number, file in enumerate(files) for answer in _answers(file, number, len(files))]
    return {
        "format": FORMAT,
        "title": ", ".join(file.name for file in files) or "no answer yet",
        "source": _source(files, answers, is_live=is_live),
        "redaction": _redaction(files),
        "versions": _versions(files),
        "answers": answers,
        "comparisons": comparisons(answers),
        "commands": list(_commands(files)),
    }


def _answers(file: ViewedFile, number: int, files: int) -> Iterator[AnswerView]:
    """The answers of a file, in the order in which they began; ids name the file where there are several."""
    bundle, beside = _answers_alone(file.bundle)
    file = replace(file, bundle=bundle)
    before = f"{number + 1}." if files > 1 else ""
    known = {answer.number: answer for answer in bundle.answers}
    seen: list[AnswerView] = []
    for answer_number in dict.fromkeys((*known, *(exchange.answer for exchange in bundle.exchanges))):
        answer, exchanges = known.get(answer_number), bundle.exchanges_of(answer_number)
        owner = _owner(answer, exchanges)
        seen += [
            view_of_exchange(exchange, _as_seen_by(answer, exchange, owner), _title(file, exchange, exchanges, files))
            for exchange in exchanges
        ]
        if answer is not None and owner is None:
            seen.append(view_of_answer(answer, _title_of_answer(file, answer, files)))
    seen.sort(key=lambda one: one["offset"])
    if beside and seen:
        seen[0]["notes"].append(f"The file also holds what is no answer of a model: {', '.join(beside)}.")
    return ({**one, "id": before + one["id"]} for one in seen)


def _answers_alone(bundle: Bundle) -> tuple[Bundle, list[str]]:
    """A bundle without exchanges that are no answers of a model, such as those for a list of models; what these are."""
    answers = answers_in(bundle)
    left = [one for one in bundle.exchanges if one not in answers]
    if not left:
        return bundle, []
    named = [f"#{one.number} {one.request.method} {one.request.path}" for one in left if one.request is not None]
    alone = {one.answer for one in left} - {one.answer for one in answers}
    kept = tuple(one for one in bundle.answers if one.number not in alone or one.reported)
    return replace(bundle, exchanges=answers, answers=kept), named


def _owner(answer: RecordedAnswer | None, exchanges: Sequence[RecordedExchange]) -> RecordedExchange | None:
    """The exchange that the parts of an answer came from: that of one alone, or the last of several attempts.

    None where the parts came from several, as those of an agent, or of none.
    """
    if answer is None or not exchanges:
        return None
    attempts = {(one.request.path, one.request.body) if one.request is not None else None for one in exchanges}
    return exchanges[-1] if len(attempts) == 1 else None


def _as_seen_by(
    answer: RecordedAnswer | None, exchange: RecordedExchange, owner: RecordedExchange | None
) -> RecordedAnswer | None:
    """The answer of the host, for the exchange that its parts came from; else only what all of its exchanges share."""
    if answer is None or exchange is owner:
        return answer
    return _without_parts(answer)


def _without_parts(answer: RecordedAnswer) -> RecordedAnswer:
    return type(answer)(answer.number, answer.host, answer.model, answer.started_at, answer.offset)


def _title(file: ViewedFile, exchange: RecordedExchange, exchanges: Sequence[RecordedExchange], files: int) -> str:
    several = f", exchange {exchanges.index(exchange) + 1} of {len(exchanges)}" if len(exchanges) > 1 else ""
    alone = len(file.bundle.exchanges) == 1 and len(file.bundle.answers) <= 1
    number = "" if alone else f"Answer {exchange.answer}"
    names = [file.name] if files > 1 or alone else []
    return ": ".join([*names, *([number] if number else [])]) + several


def _title_of_answer(file: ViewedFile, answer: RecordedAnswer, files: int) -> str:
    said = f"Answer {answer.number}, as its host got it"
    return f"{file.name}: {said}" if files > 1 else said


def _source(files: Sequence[ViewedFile], answers: Sequence[AnswerView], *, is_live: bool) -> SourceView:
    return {
        "name": ", ".join(file.name for file in files),
        "form": ", ".join(dict.fromkeys(file.form for file in files)),
        "hasClock": any(number["value"] is not None for answer in answers for number in answer["numbers"]),
        "live": is_live,
    }


def _redaction(files: Sequence[ViewedFile]) -> RedactionView:
    """What was replaced; of several files, the level of the one of which least was."""
    known = [file.bundle.redaction for file in files]
    counts: Counter[str] = Counter()
    for one in known:
        counts.update({} if one is None else one.counts)
    levels = {"unknown" if one is None else one.level.value for one in known}
    order = ("none", "unknown", "keys", "structure")
    return {
        "level": next((level for level in order if level in levels), "unknown"),
        "counts": dict(counts),
        "kept": sorted({name for one in known if one is not None for name in one.kept}),
    }


def _versions(files: Sequence[ViewedFile]) -> dict[str, str]:
    versions: dict[str, str] = {}
    for file in files:
        said: Mapping[str, str] = {"made by": file.bundle.made_by, **file.bundle.versions}
        for name, version in said.items():
            versions.setdefault(name, version)
    return versions


def _commands(files: Sequence[ViewedFile]) -> Iterator[CommandView]:
    """What a person may want to run on the same files."""
    if not files or not all(file.path for file in files):
        return  # what is in memory has no name that a command takes
    names = " ".join(_quoted(file.path) for file in files)
    yield {"label": "Judge it by the contract", "text": f"partstream check {names}"}
    if len(files) == 1:
        yield {"label": "See its parts", "text": f"partstream replay {names}"}
        yield {"label": "Serve it as a model server", "text": f"partstream upstream --replay {names}"}
        yield {"label": "Make a file to share", "text": f"partstream share {names} answer.partstream.zip"}


def _quoted(name: str) -> str:
    """A name as a shell takes it."""
    plain = name.replace("/", "").replace(".", "").replace("-", "").replace("_", "").isalnum()
    return name if plain and not name.startswith("-") else "'" + name.replace("'", "'\\''") + "'"
