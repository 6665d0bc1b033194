"""Fits the coefficients of the token estimator to the training half of the corpus and writes their table.

    python scripts/fit_estimator.py

Needs the extra `tokens`, whose tokenizer gives the truth. Windows of many lengths are cut out of the training texts.
One model is fitted to all of them, then one a kind, drawn towards the first by ridge regression, so that a kind with
few texts keeps to what holds for all. Errors are weighted so that relative ones count. The seed is fixed: the same
texts give the same table. The held-out half is never read here; `make tokens-accuracy` judges with it.
"""

from __future__ import annotations

import random
import re
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from partstream.tokens.counters import bpe_openai_counter
from partstream.tokens.text_features import FEATURES, Kind, kind_of, measure
from partstream.tokens.vocabularies import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).resolve().parent.parent
CORPUS = ROOT / "tests" / "fixtures" / "token_corpus" / "train"
TABLE = ROOT / "src" / "partstream" / "tokens" / "estimator_table.py"
SEED = 7
WINDOW_LENGTHS = (60, 100, 150, 250, 400, 700, 1200)
WINDOWS_PER_FILE = 150
WINDOWS_PER_TEXT = 30
"""The more of both: a file with many texts has more to tell."""

TOWARDS_PRIOR = 3.0
TOWARDS_ALL = 3.0
"""How strongly a fit is drawn to what it starts from."""

PRIOR = {
    **{f"words of {length}": 0.9 + 0.06 * max(0, length - 4) for length in range(1, 23)},
    "letters in longer words": 0.12,
    **{f"runs '{before}0'": 0.5 for before in "aq "},
    "runs '0000'": 0.5,
    "classes 'qqqqqqqq'": -3.0,
    **{f"classes {letter!r}": 0.5 for letter in "pqQ"},
    **{f"classes {letter!r}": 0.1 for letter in "_A"},
    **{f"classes {letter!r}": 0.2 for letter in "0nt"},
    **{f"classes {letter!r}": 0.3 for letter in "lcr"},
    **{f"classes {letter!r}": 0.5 for letter in "gd"},
    **{f"classes {letter!r}": 0.8 for letter in "hvkzowu"},
    "classes 'e'": 2.5,
    "classes 'x'": 2.0,
}
"""What is assumed where no text says otherwise: rough, and only there so that nothing unseen is free."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A text with its features and the truth about it."""

    kind: Kind
    features: Sequence[int]
    tokens: int
    weight: float


def texts_of(path: Path) -> list[str]:
    """The texts of a file of the corpus."""
    return path.read_text(encoding="utf-8").split("%%\n")


def windows(rng: random.Random) -> Iterator[str]:
    """Cuts windows out of all texts."""
    for path in sorted(CORPUS.glob("*.txt")):
        texts = texts_of(path)
        for number in range(max(WINDOWS_PER_FILE, WINDOWS_PER_TEXT * len(texts))):
            text = texts[number % len(texts)]
            length = min(len(text), rng.choice(WINDOW_LENGTHS))
            start = rng.randrange(len(text) - length + 1)
            yield text[start : start + length]


def names(rng: random.Random) -> Iterator[str]:
    """Names, words and short phrases: what VS Code asks for thousands of times when it counts tools."""
    for path in sorted(CORPUS.glob("*.txt")):
        words = [word for text in texts_of(path) for word in re.findall(r"[\x21-\x7e]+", text)]
        yield from dict.fromkeys(re.findall(r"[A-Za-z_]\w{2,29}", " ".join(words)))
        for _ in range(150):
            start = rng.randrange(len(words))
            yield " ".join(words[start : start + rng.randint(1, 6)])[:40]


def samples(vocabulary: Vocabulary) -> Iterator[Sample]:
    """All texts that the fit sees."""
    counter = bpe_openai_counter(vocabulary)
    if counter is None:
        sys.exit("bpe-openai is not installed: pip install 'partstream[tokens]'")
    rng = random.Random(SEED)  # noqa: S311 - chooses windows
    for text in (*windows(rng), *names(rng)):
        features, tokens = measure(text), counter.count(text)
        kind = kind_of(text, features)
        if tokens:
            yield Sample(kind, features, tokens, 1 / tokens)


def ridge(found: Sequence[Sample], start: Sequence[float], strength: float) -> list[float]:
    """The coefficients that fit the samples best, drawn towards those to start from."""
    size = len(start)
    matrix = [[0.0] * size + [0.0] for _ in range(size)]
    for sample in found:
        present = [(place, value) for place, value in enumerate(sample.features) if value]
        rest = sample.tokens - sum(start[place] * value for place, value in present)
        for place, value in present:
            row, weighted = matrix[place], sample.weight * value
            row[size] += weighted * rest
            for other, factor in present:
                row[other] += weighted * factor
    for place in range(size):
        matrix[place][place] += strength
    return [before + change for before, change in zip(start, _solved(matrix), strict=True)]


def _solved(matrix: list[list[float]]) -> list[float]:
    """Gauss's elimination; the matrix is positive definite, so no pivot is zero."""
    size = len(matrix)
    for pivot in range(size):
        for row in matrix[pivot + 1 :]:
            factor = row[pivot] / matrix[pivot][pivot]
            if factor:
                for column in range(pivot, size + 1):
                    row[column] -= factor * matrix[pivot][column]
    solution = [0.0] * size
    for place in reversed(range(size)):
        row = matrix[place]
        known = sum(row[other] * solution[other] for other in range(place + 1, size))
        solution[place] = (row[size] - known) / row[place]
    return solution


def fit(vocabulary: Vocabulary) -> dict[Kind, list[float]]:
    """The coefficients of every kind."""
    by_kind: dict[Kind, list[Sample]] = defaultdict(list)
    for sample in samples(vocabulary):
        by_kind[sample.kind].append(sample)
    prior = [PRIOR.get(name, 0.03) for name in FEATURES]
    long = [sample for kind, found in by_kind.items() if kind is not Kind.SHORT for sample in found]
    everything = ridge(long, prior, TOWARDS_PRIOR)
    return {kind: ridge(by_kind[kind], everything, TOWARDS_ALL) for kind in Kind}


def render(tables: dict[Vocabulary, dict[Kind, list[float]]]) -> str:
    """The module."""
    lines = [
        '"""The coefficients of the token estimator. Written by scripts/fit_estimator.py; do not edit.',
        "",
        "Ridge regression on the training half of tests/fixtures/token_corpus, against the counts of bpe-openai.",
        "docs/tokens.md has what it gives on the held-out half.",
        '"""',
        "",
        "from __future__ import annotations",
        "",
        "from typing import TYPE_CHECKING, Final",
        "",
        "from partstream.tokens.text_features import Kind",
        "from partstream.tokens.vocabularies import Vocabulary",
        "",
        "if TYPE_CHECKING:",
        "    from collections.abc import Mapping",
        "",
        '__all__ = ["COEFFICIENTS"]',
        "",
        "# fmt: off",
        "COEFFICIENTS: Final[Mapping[Vocabulary, Mapping[Kind, tuple[float, ...]]]] = {",
    ]
    for vocabulary, kinds in tables.items():
        lines.append(f"    Vocabulary.{vocabulary.name}: {{")
        for kind, coefficients in kinds.items():
            lines.append(f"        Kind.{kind.name}: (")
            numbers = [f"{number:.4f}" for number in coefficients]
            for start in range(0, len(numbers), 10):
                lines.append(f"            {', '.join(numbers[start : start + 10])},")
            lines.append("        ),")
        lines.append("    },")
    lines += ["}", "# fmt: on", '"""Tokens of each feature, in the order of `text_features.FEATURES`."""', ""]
    return "\n".join(lines)


def main() -> None:
    """Writes the table anew."""
    TABLE.write_text(render({vocabulary: fit(vocabulary) for vocabulary in Vocabulary}), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
