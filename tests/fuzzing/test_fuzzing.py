"""What comes damaged is read alike in every way, or refused: a few inputs here, more by `make test PART=fuzz`."""

import random
from collections.abc import Callable, Iterable
from dataclasses import replace

import pytest
from click.testing import CliRunner

from fuzzing.__main__ import main
from fuzzing.codec import without_msgspec
from fuzzing.damage import Stream, stream_of
from fuzzing.properties import digest, faults_of
from fuzzing.shrinking import shrink
from fuzzing.sources import sources
from fuzzing.targets import TARGETS, Target, faults_of_input, input_of
from partstream.codec.json_codec import FAST
from partstream.codec.sse import JSONLinesDecoder
from partstream.lm.outputs import StreamOptions
from partstream.protocols.protocol import JSON_LINES, PROTOCOLS

STREAMS = 60
"""Of each protocol: a few seconds for all of them."""
WIRES = [name for name in PROTOCOLS if any(one.protocol == name for one in sources())]
"""All but the text stream of the AI SDK, which has no events that could be damaged."""


def _seeds(protocol: str) -> Iterable[int]:
    start = 1000 * [*PROTOCOLS].index(protocol)
    return range(start, start + STREAMS)


@pytest.mark.parametrize("protocol", WIRES)
def test_a_damaged_stream_is_read_alike_in_every_way_and_ends_once(protocol: str) -> None:
    for seed in _seeds(protocol):
        faults = faults_of(stream_of(seed, protocol), random.Random(seed))  # noqa: S311 - no secret
        assert faults == [], f"python -m fuzzing --inputs 1 --seed {seed} --protocol {protocol}"


def test_a_damaged_stream_means_the_same_with_msgspec_and_without() -> None:
    if not FAST:
        pytest.skip("msgspec is not installed")
    with without_msgspec() as other:
        for protocol in WIRES:
            for seed in _seeds(protocol):
                again = f"python -m fuzzing --inputs 1 --seed {seed} --protocol {protocol}"
                assert digest(stream_of(seed, protocol)) == other.digest(seed, protocol), again


def test_the_same_seed_gives_the_same_stream() -> None:
    assert stream_of(7) == stream_of(7)
    assert len({stream_of(seed).data for seed in range(20)}) > 15


INPUTS = 40
"""Of each other way in: a few seconds for each."""


@pytest.mark.parametrize("target", TARGETS)
def test_what_is_damaged_is_read_or_refused_within_its_bounds(target: str) -> None:
    for seed in range(INPUTS):
        again = f"python -m fuzzing --inputs 1 --seed {seed} --target {target}"
        assert faults_of_input(input_of(target, seed)) == [], again


# ---- the fuzzer itself ----


class _Greedy(JSONLinesDecoder):
    """A decoder with a fault: it takes what comes at once for one line."""

    def feed(self, data: bytes) -> list[tuple[bytes, bytes]]:
        return [(b"", data)] if data.strip() else []


@pytest.fixture
def faulty(monkeypatch: pytest.MonkeyPatch) -> Callable[[Stream], bool]:
    framings = {"jsonl": replace(JSON_LINES, make_decoder=_Greedy)}
    monkeypatch.setattr("fuzzing.properties.known_framings", lambda: framings)
    return lambda stream: bool(faults_of(stream, random.Random(1)))  # noqa: S311 - no secret


def test_a_reader_whose_answer_depends_on_the_cut_is_found_and_shown_by_a_small_stream(
    faulty: Callable[[Stream], bool],
) -> None:
    line = b'{"type":"text-delta","id":"0","text":"Hi"}\n'
    stream = Stream("ai-sdk", "jsonl", StreamOptions(), (line,) * 20)
    assert faulty(stream)
    smallest = shrink(stream, faulty)
    assert faulty(smallest)
    assert len(smallest.data) < 2 * len(line)


def test_the_command_names_its_seed_and_how_far_it_came() -> None:
    result = CliRunner().invoke(main, ["--seed", "5", "--inputs", "3"])
    assert result.exit_code == 0, result.output
    assert "seed 5" in result.output
    assert "3 inputs, no fault" in result.output


def test_the_command_shows_a_fault_and_how_to_see_it_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fuzzing.__main__.faults_of", lambda stream, _ways: ["a fault"] if stream.data else [])
    result = CliRunner().invoke(main, ["--seed", "5", "--inputs", "3", "--protocol", "ai-sdk"])
    assert result.exit_code == 1
    assert "a fault" in result.output
    assert "again: python -m fuzzing --inputs 1 --seed 5 --protocol ai-sdk" in result.output
    assert "1 bytes" in result.output, "the smallest stream that shows it"


def test_a_reader_that_raises_or_takes_too_much_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def found(read: Callable[[], None]) -> list[str]:
        monkeypatch.setitem(TARGETS, "files", Target("files", lambda _: ("a.sse", b"{}"), lambda _kind, _data: read()))
        return faults_of_input(input_of("files", 1))

    def fail() -> None:
        raise KeyError("x")

    assert found(lambda: None) == []
    assert found(fail) == ["raised: KeyError: 'x'"]
    peaks = iter((0, 10**9))
    with monkeypatch.context() as patched:
        patched.setattr("fuzzing.targets._peak", lambda: next(peaks))
        assert found(lambda: None) == ["took 1,000,000,000 bytes of memory for 2 bytes"]
    monkeypatch.setattr("fuzzing.targets.SECONDS_AT_ALL", -1.0)
    assert found(lambda: None) == ["took 0.0 s for 2 bytes"]
