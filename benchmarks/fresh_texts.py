"""Token estimates of texts that are made for the occasion: logs of eight kinds, JSON and base64, other with every seed.

    python -m benchmarks.fresh_texts [--seed N]

The held-out half of the corpus was looked at while the estimator was built; these texts were made afterwards, and no
coefficient was changed for them. Needs the extra `tokens`.
"""

from __future__ import annotations
import base64
import json
import random
import sys
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

import click
from rich.console import Console

from benchmarks.grids import Grid, draw
from partstream.tokens.counting import bpe_openai_counter, estimate_text
from partstream.tokens.families import Vocabulary
from partstream.tokens.records import factor_of, sample_of

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["KINDS", "SIZES", "Errors", "measure"]

SIZES: Final = (1, 4, 8)
"""Texts in a request."""
_ANSWERS: Final = 3
_REQUESTS: Final = 40
_WORDS: Final = (  # noqa: SIM905 - fifty words read better than fifty strings
    "cache worker request socket retry user order payment index shard leader follower queue message batch upload "
    "download image thumbnail invoice token login permission config reload signal shutdown timeout connection refused "
    "reset peer certificate expired renew compaction snapshot replica lag disk usage memory limit evicted pod node "
    "scheduler job finished started failed skipped"
).split()


@dataclass(frozen=True, slots=True)
class Errors:
    """Mean absolute errors of requests of texts that were never seen before, as shares of the truth.

    Attributes:
        plain: Uncalibrated.
        calibrated: After three answers to requests of other new texts of the kind.
    """

    plain: float
    calibrated: float


class _Writer:
    """Writes texts by chance."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)

    def word(self) -> str:
        return self.chance.choice(_WORDS)

    def words(self, least: int, most: int) -> str:
        return " ".join(self.word() for _ in range(self.number(least, most)))

    def number(self, least: int, most: int) -> int:
        return self.chance.randint(least, most)

    def time(self) -> str:
        return f"{self.number(0, 23):02}:{self.number(0, 59):02}:{self.number(0, 59):02}"

    def day(self) -> str:
        return f"{self.number(1, 28):02}"

    def json_value(self, depth: int = 0) -> Any:
        kind = self.chance.random()
        if depth > 2 or kind < 0.3:
            return self.chance.choice(_JSON_LEAVES)(self)
        if kind < 0.5:
            return [self.json_value(depth + 1) for _ in range(self.number(1, 5))]
        endings = ("", "_id", "_at", "Count", "Name")
        return {self.word() + self.chance.choice(endings): self.json_value(depth + 1) for _ in range(self.number(2, 6))}


_JSON_LEAVES: Final[tuple[Callable[[_Writer], Any], ...]] = (
    lambda w: w.words(1, 6),
    lambda w: w.number(0, 10 ** w.number(1, 8)),
    lambda w: round(w.chance.random() * 1000, w.number(0, 4)),
    lambda _: True,
    lambda _: None,
    lambda w: f"2026-03-{w.day()}T{w.time()}Z",
    lambda w: f"{w.chance.getrandbits(48):x}",
    lambda w: f"user{w.number(1, 999)}@example.com",
)

_LOG_LINES: Final[tuple[Callable[[_Writer], str], ...]] = (
    lambda w: (
        f"{w.number(1, 223)}.{w.number(0, 255)}.{w.number(0, 255)}.{w.number(1, 254)} - - [{w.day()}/Mar/2026:"
        f'{w.time()} +0000] "GET /{w.word()}/{w.word()}/{w.number(1, 99_999)}?{w.word()}={w.word()} HTTP/1.1" 200 '
        f'{w.number(100, 90_000)} "-" "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36"'
    ),
    lambda w: (
        f"2026-03-{w.day()} {w.time()}.{w.number(0, 999):03} WARN  [pool-1-thread-{w.number(1, 9)}] "
        f"org.example.{w.word()}.{w.word().title()}Service - {w.words(4, 10)} id={w.number(1000, 999_999)}"
    ),
    lambda w: f"Mar {w.day()} {w.time()} host-{w.number(1, 40)} systemd[{w.number(100, 32_000)}]: {w.words(5, 11)}",
    lambda w: (
        f'time=2026-03-{w.day()}T{w.time()}Z level=info msg="{w.words(3, 7)}" service={w.word()} '
        f"duration={w.number(1, 900)}ms trace_id={w.chance.getrandbits(64):016x}"
    ),
    lambda w: f"tests/{w.word()}/test_{w.word()}.py::test_{w.word()}_{w.word()} PASSED [{w.number(1, 100):3}%]",
    lambda w: (
        f'{{"level":"info","ts":17{w.number(10**7, 10**8 - 1)}.{w.number(100, 999)},"caller":"{w.word()}/{w.word()}.go:'
        f'{w.number(10, 900)}","msg":"{w.words(3, 7)}","{w.word()}":{w.number(1, 999)}}}'
    ),
    lambda w: (
        f'  File "/app/{w.word()}/{w.word()}.py", line {w.number(5, 900)}, in {w.word()}_{w.word()}\n'
        f"    {w.word()} = self.{w.word()}({w.word()}, {w.word()}={w.number(1, 20)})"
    ),
    lambda w: f"   Compiling {w.word()}-{w.word()} v{w.number(0, 4)}.{w.number(0, 30)}.{w.number(0, 9)} (/home/ci/src)",
)


def _log(writer: _Writer) -> str:
    line = writer.chance.choice(_LOG_LINES)
    return "\n".join(line(writer) for _ in range(writer.number(6, 25)))


def _json(writer: _Writer) -> str:
    return json.dumps([writer.json_value() for _ in range(6)], indent=writer.chance.choice([None, 2]))


def _base64(writer: _Writer) -> str:
    return base64.b64encode(writer.chance.randbytes(writer.number(400, 2500))).decode()


KINDS: Final[dict[str, Callable[[_Writer], str]]] = {"logs": _log, "json": _json, "base64": _base64}


def measure(kind: str, vocabulary: Vocabulary, size: int, seed: int = 1) -> Errors:
    """The errors of requests of `size` texts of a kind.

    Raises:
        RuntimeError: bpe-openai is not installed.
    """
    counter = bpe_openai_counter(vocabulary)
    if counter is None:
        raise RuntimeError("the truth needs bpe-openai: pip install './packages/partstream[tokens]'")
    writer = _Writer(seed)
    plain, calibrated = [], []
    for _ in range(_REQUESTS):
        requests = [[KINDS[kind](writer) for _ in range(size)] for _ in range(_ANSWERS + 1)]
        estimates = [sum(estimate_text(text, vocabulary) for text in texts) for texts in requests]
        truth = [sum(map(counter.count, texts)) for texts in requests]
        samples = [sample_of(*pair) for pair in zip(estimates[:_ANSWERS], truth, strict=False)]
        factor = factor_of([sample for sample in samples if sample is not None])
        plain.append(abs(estimates[-1] / truth[-1] - 1))
        calibrated.append(abs(factor * estimates[-1] / truth[-1] - 1))
    return Errors(fmean(plain), fmean(calibrated))


@click.command()
@click.option("--seed", default=1, show_default=True, help="Which texts are made.")
def main(seed: int) -> None:
    """Shows how far estimates of texts are from the truth that are made for the occasion."""
    head = ["kind", *(f"{size} × {word}" for size in SIZES for word in ("plain", "after 3 answers"))]
    try:
        for vocabulary in Vocabulary:
            rows = []
            for kind in KINDS:
                found = [measure(kind, vocabulary, size, seed) for size in SIZES]
                rows.append([kind, *(f"{share:.1%}" for one in found for share in (one.plain, one.calibrated))])
            draw(Grid(f"mean absolute error of requests of new texts, {vocabulary}", head, rows), Console())
    except RuntimeError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
