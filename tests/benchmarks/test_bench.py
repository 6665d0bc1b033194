"""The benchmark runs, and says what it promises to say; no figure is asserted, because machines differ."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.cancelling import SITUATIONS
from benchmarks.captures import MODES
from benchmarks.hostile import CASES, MEMORY_CASES
from benchmarks.page import _MANY, _ahead, page

ROOT = Path(__file__).resolve().parents[2]
STREAMS = ("text", "tools", "mixed")
OURS = ("partstream, fast", "partstream")
READERS = {*OURS, "JavaScript floor", "openai package", "httpx-sse + json"}
OF_CHUNKS = "partstream, AI SDK chunks"
READERS_OF_CHUNKS = {"partstream, fast, AI SDK chunks", OF_CHUNKS, "streamText of ai 7"}
READERS_OF_TYPELESS = {
    *(f"{name}{sink}" for name in OURS for sink in ("", ", without the fast path")),
    "JavaScript floor",
    "json.loads",
}
OURS_OF_CHAT = {f"{name}, {wire}" for name in OURS for wire in ("chunks", "OpenResponses events")}
READERS_OF_CHAT = {
    *OURS_OF_CHAT,
    "JavaScript floor",
    "openai package",
    "openai package, helper",
    "streamText of ai 7, openai-compatible",
    "LiteLLM",
    "pydantic-ai",
}
READERS_OF = {
    "fullStream": (READERS_OF_CHUNKS, {OF_CHUNKS}),
    "typeless": (READERS_OF_TYPELESS, {OURS[1], "json.loads"}),
    "chat": (READERS_OF_CHAT, {f"{OURS[1]}, chunks", f"{OURS[1]}, OpenResponses events"}),
    "padded chat": (
        {*OURS_OF_CHAT, "JavaScript floor"},
        {f"{OURS[1]}, chunks", f"{OURS[1]}, OpenResponses events"},
    ),
    "messages": (
        {
            *(f"{name}, {wire}" for name in OURS for wire in ("Messages events", "OpenResponses events")),
            "anthropic package",
            "anthropic package, helper",
        },
        {f"{OURS[1]}, Messages events", f"{OURS[1]}, OpenResponses events"},
    ),
    "gemini": ({*(f"{name}, Gemini" for name in OURS), "google-genai package"}, {f"{OURS[1]}, Gemini"}),
}
"""By the name of a stream, its readers, and those that every machine has."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder in which the benchmark has run once, with tiny streams."""
    folder = tmp_path_factory.mktemp("bench")
    arguments = ["--events", "200", "--rounds", "1", "--large-event", "20000", "--no-install"]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", *arguments, "--output", str(folder / "bench.json")],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    (folder / "terminal.txt").write_text(done.stdout, "utf-8")
    return folder


@pytest.fixture(scope="module")
def results(folder):
    return json.loads((folder / "bench.json").read_text("utf-8"))


pytestmark = pytest.mark.timeout(300)


def test_every_reader_is_measured_or_named_with_the_reason(results):
    for case in results["microseconds_per_event"]:
        measured = set(case["readers"])
        readers, everywhere = READERS_OF.get(case["stream"], (READERS, {OURS[1]}))
        assert readers <= measured | set(results["skipped"])
        assert everywhere <= measured
        assert measured <= readers
        assert all(figure["lower"] <= figure["median"] <= figure["upper"] for figure in case["readers"].values())
    assert all(results["skipped"].values())


def test_all_streams_framings_and_chunkings_are_raced(results):
    cases = [(case["stream"], case["framing"], case["chunking"]) for case in results["microseconds_per_event"]]
    assert cases == [
        *((stream, "event+data", "one event") for stream in STREAMS),
        ("text", "data", "one event"),
        ("text", "event+data", "16 KiB"),
        ("fullStream", "JSON lines", "one event"),
        ("typeless", "data", "one event"),
        ("chat", "data", "one event"),
        ("padded chat", "data", "one event"),
        ("messages", "event+data", "one event"),
        ("gemini", "data", "one event"),
    ]


def test_growth_and_memory_are_measured_over_longer_and_longer_streams(results):
    for figures in results["growth"].values():
        assert list(figures) == ["12", "50", "200", "800"]
    for peaks in results["peak_memory_bytes"].values():
        assert list(peaks) == ["200", "800"]
        assert all(0 < peak["deltas"] <= peak["whole"] for peak in peaks.values())


def test_one_large_event_is_read_whole_and_in_small_reads(results):
    large = results["large_event_nanoseconds_per_byte"]
    assert large["bytes"] > 20000
    assert large["one_read"] > 0
    assert large["small_reads"] > 0


def test_hostile_streams_are_read_at_a_size_and_at_twice_that_size(results):
    hostile = results["hostile_streams"]
    assert set(hostile["seconds"]) == {case.name for case in CASES}
    assert all(single > 0 and double > 0 for single, double in hostile["seconds"].values())
    assert hostile["bytes_per_byte"].keys() == {case.name for case in MEMORY_CASES}


def test_the_import_is_timed_and_loads_nothing_optional(results):
    assert results["import"]["import"] > 0
    assert results["import"]["packages"] == []


def test_every_target_says_whether_it_is_reached(results, folder):
    assert len(results["targets"]) >= 5
    for target in results["targets"]:
        reached = target["figure"] >= target["limit"] if target["at_least"] else target["figure"] <= target["limit"]
        assert target["reached"] is reached
    assert "reached" in (folder / "terminal.txt").read_text("utf-8")


def test_counting_is_measured_beside_other_tokenizers_and_through_the_ledger(results):
    counting = results["counting"]
    assert set(counting["text"]) | set(counting["skipped"]) == {
        "partstream, estimated",
        "partstream, exact (bpe-openai)",
        "tiktoken",
        "gpt-tokenizer (JavaScript)",
    }
    exact = {found["tokens"] for name, found in counting["text"].items() if name != "partstream, estimated"}
    assert len(exact) <= 1, "those who count exactly agree"
    assert set(counting["conversation_milliseconds"]) == {
        "none counted before",
        "all counted before",
        "one message edited",
        "all counted before, sent anew",
        "after an answer",
        "after a restart",
    }


def test_the_sidecar_is_started_in_every_way_and_its_memory_is_told(results):
    starts = results["sidecar"]["start"]
    assert set(starts) == {
        f"{what}, as {how}" for what in ("a provider file", "an upstream") for how in ("packed", "installed")
    }
    for start in starts.values():
        assert 0 < start["initialized"] <= start["listed"] <= start["answered"]
        if Path("/proc/self/status").exists():
            assert 0 < start["resident_idle"] <= start["resident_listed"]


def test_the_sidecar_is_measured_at_work(results):
    work = results["sidecar"]["work"]
    assert work["parts of an answer"]["unit"] == "a second"
    assert all(row["figure"] > 0 for row in work.values())


def test_cancelling_is_measured_in_every_situation(results):
    delays = results["cancelling_milliseconds"]
    assert delays.keys() == SITUATIONS.keys()
    assert all(0 < delay["lower"] <= delay["median"] <= delay["longest"] for delay in delays.values())


def test_what_keeping_and_tracing_an_answer_costs_is_measured(results):
    costs = results["keeping_microseconds_per_event"]
    assert costs.keys() == set(MODES.values())
    assert all(cost["median"] > 0 for cost in costs.values())


def test_the_machine_is_named(results):
    assert {"date", "processor", "python", "node"} <= set(results["machine"])


def test_the_page_names_who_is_faster_first_and_has_every_stream_and_target(results):
    made = page(results)
    first, _, rest = made.partition("## Targets")
    assert "## Where others are ahead" in first
    for case in results["microseconds_per_event"]:
        assert f"\n| {case['stream']}" in rest
    single = [one for one in results["targets"] if not any(kind in one["what"] for kind in _MANY)]
    assert all(f"| {one['what']} |" in rest for one in single)


def test_a_reader_of_others_that_is_faster_is_named_with_both_figures():
    case = {"stream": "text", "framing": "data", "chunking": "16 KiB"}
    readers = {"partstream, fast": 1.5, "partstream": 2.5, "quick": 2.0, "slow": 9.0}
    figures = {name: {"median": figure} for name, figure in readers.items()}
    assert [*_ahead({"microseconds_per_event": [case | {"readers": figures}]})] == [
        "- **quick**, µs an event, and ours: text, data, 16 KiB 2.00 (partstream 2.50)\n"
    ]
