"""Fits the weights of the token estimator to the training half of the corpus and writes their table.

    python tools/fit_estimator.py [--cross-validate]

Needs the extra `tokens`, whose tokenizer gives the true counts. Windows of many lengths are cut out of the training
texts. For each alphabet, the script first fits a weight for each class of character, then one for each pair of classes;
ridge regression draws the weight of a pair towards those of its two classes, so that a rare pair behaves like its
characters. Errors are weighted so that relative errors count. The seeds are fixed: the same texts give the same table.
The script never reads the held-out half; `make bench WHAT=tokens` uses it to judge. `--cross-validate` writes nothing:
it leaves out every seventh training text in turn and shows the errors of the estimates for the texts left out.
"""

from __future__ import annotations
import json
import random
import re
import sys
from base64 import b32encode, b64encode, encodebytes, urlsafe_b64encode
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cache
from math import floor
from operator import mul
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING
from uuid import UUID

from partstream.tokens.counting import CLASSES, Alphabet, alphabet_of, bpe_openai_counter, classes_of, pairs_of
from partstream.tokens.families import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

ROOT = Path(__file__).resolve().parent.parent
CORPUS = ROOT / "tests" / "fixtures" / "token_corpus" / "train"
TABLE = ROOT / "packages/partstream/src/partstream/tokens/estimator.json"
SEED = 7
WINDOW_LENGTHS = (60, 100, 150, 250, 400, 700, 1200)
WINDOWS_PER_TEXT = 25
NAMES_PER_TEXT = 20
MIXED_PER_TEXT = 3

NAME_WEIGHT = 0.05
"""What a name counts beside a window, since there are many and each has a few pairs only."""

ODD_WEIGHT = 0.3
"""What a text that hardly anybody writes counts beside a window."""

STRENGTHS = {Alphabet.LATIN: 0.3, Alphabet.TWO_BYTES: 3.0, Alphabet.THREE_BYTES: 10.0}
"""How strongly a pair is drawn to its classes: the fewer texts, the more."""

CLASS_STRENGTH = 0.3
TOWARDS_LATIN = 0.3
OF_LATIN = (Alphabet.LATIN, Alphabet.UNBROKEN, Alphabet.FIGURES)
SWEEPS = 300

PAIRS = CLASSES * CLASSES
START = PAIRS
COMMON = PAIRS + 1
"""The places of the features, after those of the pairs."""

ANYTHING = {COMMON: -2.0, START: -1.0}
"""The least of what may be below 0."""

UNITS = {
    Alphabet.LATIN: 64,
    Alphabet.UNBROKEN: 64,
    Alphabet.FIGURES: 64,
    Alphabet.TWO_BYTES: 64,
    Alphabet.THREE_BYTES: 32,
}
"""Parts of a token in a weight: the most with which the largest weight is not above the limit."""

LARGEST = 127
"""The largest weight that can be added up so (`estimator._weigh`)."""

FOLDS = 7

DIGITS = 2 * CLASSES + 2
"""The pair of two digits in the Latin alphabet: at least a third of a token, as no vocabulary has longer numbers."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A text as the fit sees it: how often each feature is in it, the truth, and what its error counts."""

    features: Mapping[int, float]
    tokens: int
    weight: float


# ---- texts ----


def corpus() -> dict[str, list[str]]:
    """The training texts by file."""
    return {path.stem: path.read_text(encoding="utf-8").split("%%\n") for path in sorted(CORPUS.glob("*.txt"))}


def windows(text: str, rng: random.Random) -> Iterator[str]:
    """A text and windows of it, which begin between two words where there are any."""
    yield text
    for _ in range(WINDOWS_PER_TEXT):
        length = min(len(text), rng.choice(WINDOW_LENGTHS))
        start = rng.randrange(len(text) - length + 1)
        border = text.find(" ", start, start + 32) if start else -1
        start = start if border == -1 else border
        yield text[start : start + length]


def mixed(text: str, others: Sequence[str], rng: random.Random) -> Iterator[str]:
    """Windows with a phrase of another text inside, such as comments and file names in another script."""
    for _ in range(MIXED_PER_TEXT):
        other = rng.choice(others)
        start, place = rng.randrange(len(other)), rng.randrange(len(text))
        yield text[max(0, place - 150) : place] + other[start : start + rng.randint(5, 40)] + text[place : place + 150]


def names(text: str, rng: random.Random) -> Iterator[str]:
    """Names, words and short phrases: what VS Code asks for thousands of times when it counts tools."""
    words = re.findall(r"[\x21-\x7e]+", text)
    found = list(dict.fromkeys(re.findall(r"[A-Za-z_]\w{2,29}", " ".join(words))))
    yield from rng.sample(found, min(len(found), NAMES_PER_TEXT))
    for _ in range(NAMES_PER_TEXT if words else 0):
        start = rng.randrange(len(words))
        yield " ".join(words[start : start + rng.randint(1, 6)])[:40]


def pieces(texts: Sequence[str], left_out: Callable[[int], bool]) -> Iterator[tuple[str, float]]:
    """All that the fit sees of the texts whose number is not left out, with what each piece counts."""
    others = [text for number, text in enumerate(texts) if not left_out(number)]
    for number, text in enumerate(texts):
        if not left_out(number):
            rng = random.Random(f"{SEED} {number}")  # noqa: S311 - chooses windows
            yield from ((piece, 1.0) for piece in windows(text, rng))
            yield from ((name, NAME_WEIGHT) for name in names(text, rng))
            yield from ((piece, 1.0) for piece in mixed(text, others, rng))
    yield from ((piece, ODD_WEIGHT) for piece in odd(random.Random(SEED)))  # noqa: S311


def odd(rng: random.Random) -> Iterator[str]:
    """What few texts are made of, but one can be: emoji, marks, digits and blanks without end, hexadecimal, base64."""
    for length in (20, 60, 200, 600):
        yield "".join(chr(rng.choice((0x1F300, 0x1F400, 0x1F600)) + rng.randrange(80)) for _ in range(length))
        yield "".join(chr(rng.randrange(0x1F600, 0x1F640)) + rng.choice(("", " ", "\ufe0f")) for _ in range(length))
        yield "\ufffd" * length
        yield "".join(rng.choice("0123456789") for _ in range(length))
        yield f"{rng.getrandbits(4 * length):x}"
        yield f"{rng.getrandbits(4 * length):X}"
        yield from blobs(rng, length)
        yield from (mark * length for mark in "-=*#_./ \n")


def blobs(rng: random.Random, length: int) -> Iterator[str]:
    """Random bytes as one meets them: in lines, as tokens, as a dump, as keys and addresses."""
    plain, lines = b64encode(rng.randbytes(length)).decode(), encodebytes(rng.randbytes(length)).decode()
    yield plain
    yield lines
    yield f"-----BEGIN CERTIFICATE-----\n{lines}-----END CERTIFICATE-----"
    yield f"data:image/png;base64,{plain}"
    yield ".".join(urlsafe_b64encode(rng.randbytes(length // 3 + 1)).decode().rstrip("=") for _ in range(3))
    yield rng.randbytes(length).hex(":", 2)
    yield "\n".join(f"{rng.getrandbits(256):064x}" for _ in range(length // 60 + 1))
    yield "\n".join(str(UUID(int=rng.getrandbits(128))) for _ in range(length // 30 + 1))
    yield b32encode(rng.randbytes(length)).decode()


# ---- features ----


@cache
def truth(text: str, vocabulary: Vocabulary) -> int:
    """The number of tokens of a text."""
    counter = bpe_openai_counter(vocabulary)
    if counter is None:
        sys.exit("bpe-openai is not installed: pip install './packages/partstream[tokens]'")
    return counter.count(text)


@cache
def common_characters() -> str:
    """The Han characters that the older vocabulary has a token for: those that it saw most."""
    return "".join(chr(code) for code in range(0x4E00, 0xA000) if truth(chr(code), Vocabulary.CL100K) == 1)


@cache
def features_of(text: str) -> tuple[Alphabet, Mapping[int, float]]:
    """The alphabet of a text and its pairs, its beginning, and its common Han characters."""
    encoded = text.encode()
    alphabet = alphabet_of(len(text), encoded)
    even, odd = pairs_of(classes_of(encoded, alphabet))
    found: dict[int, float] = {**Counter(even + odd), START: 1.0}
    if alphabet is Alphabet.THREE_BYTES:
        found[COMMON] = sum(map(text.count, set(common_characters()) & set(text)))
    return alphabet, found


def classes_in(features: Mapping[int, float]) -> dict[int, float]:
    """The features with each pair taken apart into the class of its first and of its second character."""
    apart: dict[int, float] = defaultdict(float)
    for place, count in features.items():
        if place < PAIRS:
            apart[place // CLASSES] += count
            apart[CLASSES + place % CLASSES] += count
        else:
            apart[place] = count
    return apart


# ---- the fit ----


def ridge(found: Iterable[Sample], start: Sequence[float], strength: float, least: Mapping[int, float]) -> list[float]:
    """The weights that fit the samples best, drawn towards those to start from, and none below its least or 0.

    One weight after the other is moved to where the error is least, in so many sweeps.
    """
    size = len(start)
    matrix = [[0.0] * size for _ in range(size)]
    rest = [strength * value for value in start]
    for sample in found:
        for place, value in sample.features.items():
            row, weighted = matrix[place], sample.weight * value
            rest[place] += weighted * sample.tokens
            for other, factor in sample.features.items():
                row[other] += weighted * factor
    for place in range(size):
        matrix[place][place] += strength
    weights = [max(value, least.get(place, 0.0)) for place, value in enumerate(start)]
    for _ in range(SWEEPS):
        for place, row in enumerate(matrix):
            change = (rest[place] - sum(map(mul, row, weights))) / row[place]
            weights[place] = max(weights[place] + change, least.get(place, 0.0))
    return weights


def samples_of(seen: Sequence[tuple[str, float]], vocabulary: Vocabulary) -> dict[Alphabet, list[Sample]]:
    """All that the fit sees, by alphabet."""
    found: dict[Alphabet, list[Sample]] = {alphabet: [] for alphabet in Alphabet}
    for text, counts in seen:
        tokens = truth(text, vocabulary)
        if tokens:
            alphabet, features = features_of(text)
            found[alphabet].append(Sample(features, tokens, 30 * counts / tokens**2))
    return found


def by_length(samples: Sequence[Sample]) -> list[Sample]:
    """The same, with errors that count by what as many pairs take on average.

    Counted by what the text takes itself, texts that take less than their like would win,
    and all estimates be too small.
    """
    pairs = [sum(count for place, count in sample.features.items() if place < PAIRS) + 1 for sample in samples]
    density = sum(sample.tokens for sample in samples) / sum(pairs)
    return [
        Sample(one.features, one.tokens, one.weight * one.tokens**2 / (density * size) ** 2)
        for one, size in zip(samples, pairs, strict=True)
    ]


def fit_together(samples: Sequence[Sample], least: Mapping[int, float], strength: float) -> list[float]:
    """The weights of all pairs, of the beginning and of common Han characters: by class first, by pair then."""
    apart = [Sample(classes_in(sample.features), sample.tokens, sample.weight) for sample in samples]
    of_class = ridge(apart, [0.2] * (2 * CLASSES) + [0.0] * (PAIRS + 2 - 2 * CLASSES), CLASS_STRENGTH, ANYTHING)
    start = [of_class[pair // CLASSES] + of_class[CLASSES + pair % CLASSES] for pair in range(PAIRS)]
    return ridge(samples, [*start, of_class[START], of_class[COMMON]], strength, least)


def fit(seen: Sequence[tuple[str, float]], vocabulary: Vocabulary) -> dict[Alphabet, list[float]]:
    """The weights of every alphabet; those of Latin letters are drawn to what holds for all of these."""
    samples = samples_of(seen, vocabulary)
    least = ANYTHING | {DIGITS: 22.5 / UNITS[Alphabet.LATIN]}
    latin = fit_together([one for alphabet in OF_LATIN for one in samples[alphabet]], least, STRENGTHS[Alphabet.LATIN])
    return {
        alphabet: ridge(
            samples[alphabet] if alphabet is Alphabet.LATIN else by_length(samples[alphabet]),
            latin,
            TOWARDS_LATIN,
            least,
        )
        if alphabet in OF_LATIN
        else fit_together(samples[alphabet], ANYTHING, STRENGTHS[alphabet])
        for alphabet in Alphabet
    }


def fit_all(left_out: Callable[[int], bool]) -> dict[Vocabulary, dict[Alphabet, list[float]]]:
    """The weights of every vocabulary and alphabet."""
    texts = [text for found in corpus().values() for text in found]
    seen = list(pieces(texts, left_out))
    return {vocabulary: fit(seen, vocabulary) for vocabulary in Vocabulary}


def in_units(weights: Sequence[float], unit: int, frequencies: Mapping[int, float]) -> bytes:
    """The weights of pairs as bytes, each rounded up or down so that what pairs take together stays the same."""
    rounded, surplus = [0] * PAIRS, 0.0
    for pair in sorted(range(PAIRS), key=lambda pair: -frequencies.get(pair, 0.0)):
        exact = min(weights[pair] * unit, LARGEST)
        rounded[pair] = min(floor(exact) + (surplus <= 0), LARGEST)
        surplus += (rounded[pair] - exact) * frequencies.get(pair, 0.0)
    return bytes(rounded)


def frequencies() -> dict[Alphabet, Counter[int]]:
    """How often each pair is in the training texts, where a short text counts as much as a long one."""
    found: dict[Alphabet, Counter[int]] = {alphabet: Counter() for alphabet in Alphabet}
    for text in (text for texts in corpus().values() for text in texts):
        alphabet, features = features_of(text)
        for place, count in features.items():
            if place < PAIRS:
                found[alphabet][place] += round(1e6 * count / len(text))
    return found


# ---- what comes out ----


def cross_validate() -> None:
    """Shows how far estimates of texts are from the truth that the fit has not seen."""
    by_file = corpus()
    files = [name for name, found in by_file.items() for _ in found]
    texts = [text for found in by_file.values() for text in found]
    errors: dict[tuple[str, Vocabulary], list[float]] = defaultdict(list)
    for fold in range(FOLDS):
        models = fit_all(lambda number, fold=fold: number % FOLDS == fold)  # type: ignore[misc]
        for number in range(fold, len(texts), FOLDS):
            alphabet, features = features_of(texts[number])
            for vocabulary, fitted in models.items():
                estimate = sum(fitted[alphabet][place] * count for place, count in features.items())
                errors[files[number], vocabulary].append(abs(estimate / truth(texts[number], vocabulary) - 1))
    for name in by_file:
        print(f"{name:18}", *(f"{vocabulary} {fmean(errors[name, vocabulary]):6.1%} " for vocabulary in Vocabulary))
    for vocabulary in Vocabulary:
        print(f"{vocabulary} mean of all kinds {fmean(fmean(errors[name, vocabulary]) for name in by_file):.1%}")


ABOUT = (
    "The weights of the token estimator. Written by tools/fit_estimator.py: ridge regression on the training half of "
    "tests/fixtures/token_corpus, against the counts of bpe-openai. docs/tokens.md has its accuracy on the other half."
)


def render(models: Mapping[Vocabulary, Mapping[Alphabet, Sequence[float]]]) -> str:
    """The table."""
    frequent = frequencies()
    fitted = {
        vocabulary.name: [
            {
                "alphabet": alphabet.name,
                "start": round(weights[START], 4),
                "weights": in_units(weights, UNITS[alphabet], frequent[alphabet]).hex(),
                "parts": UNITS[alphabet],
                "common_han": round(weights[COMMON], 4) if alphabet is Alphabet.THREE_BYTES else 0.0,
            }
            for alphabet, weights in of_alphabets.items()
        ]
        for vocabulary, of_alphabets in models.items()
    }
    table = {"about": ABOUT, "models": fitted, "common_han": common_characters()}
    return json.dumps(table, ensure_ascii=False, indent=1) + "\n"


def main() -> None:
    """Writes the table anew."""
    if "--cross-validate" in sys.argv[1:]:
        cross_validate()
    else:
        TABLE.write_text(render(fit_all(lambda _: False)), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
