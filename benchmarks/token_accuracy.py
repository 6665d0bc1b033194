"""How far token estimates are from the truth, by kind of text, beside simpler ways: `make bench WHAT=tokens`.

    python -m benchmarks.token_accuracy [--docs docs/maintainers/token-estimates.md]

The texts are the held-out half of tests/fixtures/token_corpus, which no coefficient was fitted to; the truth is
bpe-openai's. Needs the extra `tokens`.
"""

from __future__ import annotations
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Final

import click
from rich.console import Console
from rich.table import Table

from partstream.tokens.counting import bpe_openai_counter, estimate_text
from partstream.tokens.families import Vocabulary
from partstream.tokens.records import factor_of, sample_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["COLUMNS", "Row", "held_out_texts", "measure"]

ROOT: Final = Path(__file__).resolve().parent.parent
CORPUS: Final = ROOT / "tests" / "fixtures" / "token_corpus" / "held_out"
BEGIN: Final = "<!-- accuracy: begin (written by `make bench WHAT=tokens DOCS=1`) -->"
END: Final = "<!-- accuracy: end -->"

_ANSWERS: Final = 3
"""After so many answers the calibrated estimate is judged."""

_ORIGINAL_MARGIN: Final = 1.05
"""What the TypeScript extension that this project follows multiplies every count with."""


@dataclass(frozen=True, slots=True)
class Row:
    """The mean absolute errors of one kind of text, as shares of the truth.

    Attributes:
        kind: The file of the corpus.
        ours: Our estimate of a text, uncalibrated.
        calibrated: Our estimate of the next request after three answers: each request holds all texts so far.
        alone: Our estimate of a new text alone after the same three answers.
        characters: By the number of characters that are taken for a token.
        original: The original extension's count: the vocabulary cl100k for all models but two families, and a margin.
    """

    kind: str
    ours: float
    calibrated: float
    alone: float
    characters: Mapping[int, float]
    original: float


COLUMNS: Final[tuple[tuple[str, Callable[[Row], float]], ...]] = (
    ("ours", lambda row: row.ours),
    ("after 3 answers: next request", lambda row: row.calibrated),
    ("after 3 answers: new text alone", lambda row: row.alone),
    ("characters / 4", lambda row: row.characters[4]),
    ("characters / 3", lambda row: row.characters[3]),
    ("characters / 5", lambda row: row.characters[5]),
    ("the original's", lambda row: row.original),
)


def held_out_texts() -> dict[str, list[str]]:
    """The texts by kind."""
    return {path.stem: path.read_text(encoding="utf-8").split("%%\n") for path in sorted(CORPUS.glob("*.txt"))}


def measure(vocabulary: Vocabulary) -> list[Row]:
    """All kinds, judged by one vocabulary.

    Raises:
        RuntimeError: bpe-openai is not installed.
    """
    truth, cl100k = bpe_openai_counter(vocabulary), bpe_openai_counter(Vocabulary.CL100K)
    if truth is None or cl100k is None:
        raise RuntimeError("the truth needs bpe-openai: pip install './packages/partstream[tokens]'")
    rows = []
    for kind, texts in held_out_texts().items():
        tokens = [truth.count(text) for text in texts]
        estimates = [estimate_text(text, vocabulary) for text in texts]
        rows.append(
            Row(
                kind,
                _error(estimates, tokens),
                *_calibrated(estimates, tokens),
                {each: _error([len(text) / each for text in texts], tokens) for each in (3, 4, 5)},
                _error([cl100k.count(text) * _ORIGINAL_MARGIN for text in texts], tokens),
            )
        )
    return rows


def _error(estimates: Sequence[float], truth: Sequence[float]) -> float:
    return fmean(abs(estimate / tokens - 1) for estimate, tokens in zip(estimates, truth, strict=True))


def _calibrated(estimates: Sequence[float], truth: Sequence[float]) -> tuple[float, float]:
    """The errors of the fourth request, and of its last text alone; every text is the last once."""
    requests, alone = [], []
    for first in range(len(estimates)):
        order = [(first + place) % len(estimates) for place in range(_ANSWERS + 1)]
        estimated = [sum(estimates[place] for place in order[:length]) for length in range(1, _ANSWERS + 2)]
        reported = [sum(truth[place] for place in order[:length]) for length in range(1, _ANSWERS + 2)]
        samples = [sample_of(*pair) for pair in zip(estimated[:_ANSWERS], reported, strict=False)]
        factor = factor_of([sample for sample in samples if sample is not None])
        requests.append(_error([factor * estimated[-1]], [reported[-1]]))
        alone.append(_error([factor * estimates[order[-1]]], [truth[order[-1]]]))
    return fmean(requests), fmean(alone)


def _cells(row: Row) -> list[str]:
    return [row.kind, *(f"{column(row):.1%}" for _, column in COLUMNS)]


def _mean(rows: Sequence[Row]) -> list[str]:
    return ["mean of all kinds", *(f"{fmean(map(column, rows)):.1%}" for _, column in COLUMNS)]


def _markdown(measured: Mapping[Vocabulary, Sequence[Row]]) -> str:
    lines: list[str] = []
    for vocabulary, rows in measured.items():
        lines += [f"### {vocabulary}", "", "| " + " | ".join(["kind", *(name for name, _ in COLUMNS)]) + " |"]
        lines.append("| --- |" + " ---: |" * len(COLUMNS))
        lines += ["| " + " | ".join(cells) + " |" for cells in (*map(_cells, rows), _mean(rows))]
        lines.append("")
    return "\n".join(lines)


def _show(measured: Mapping[Vocabulary, Sequence[Row]], console: Console) -> None:
    for vocabulary, rows in measured.items():
        table = Table(title=f"mean absolute error, {vocabulary}", title_justify="left")
        table.add_column("kind")
        for name, _ in COLUMNS:
            table.add_column(name, justify="right")
        for cells in map(_cells, rows):
            table.add_row(*cells)
        table.add_section()
        table.add_row(*_mean(rows))
        console.print(table)


@click.command()
@click.option("--docs", type=click.Path(path_type=Path, exists=True), help="Rewrite the tables in this page.")
def main(docs: Path | None) -> None:
    """Shows how far token estimates are from the truth."""
    try:
        measured = {vocabulary: measure(vocabulary) for vocabulary in Vocabulary}
    except RuntimeError as error:
        sys.exit(str(error))
    _show(measured, Console())
    if docs is not None:
        before, begin, rest = docs.read_text(encoding="utf-8").partition(BEGIN)
        _, end, after = rest.partition(END)
        if not begin or not end:
            sys.exit(f"{docs} needs the lines {BEGIN!r} and {END!r}")
        docs.write_text(f"{before}{BEGIN}\n\n{_markdown(measured)}\n{END}{after}", encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
