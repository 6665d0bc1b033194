"""Every recorded stream of a real server reads the same from a bundle, however its reads are cut."""

from dataclasses import replace
from random import Random

import pytest

from partstream_devtools.bundles.archive import read_bundle, write_bundle
from partstream_devtools.bundles.exchange import Chunk
from partstream_devtools.bundles.forms import read_any
from partstream_devtools.bundles.recorded import recorded_outputs
from partstream_devtools.recorded_stream import RecordingError, read_recording
from recordings import Recording, recordings

FOLDERS = ("openresponses", "chat_completions", "anthropic_messages", "gemini", "ollama")
RECORDINGS = [recording for folder in FOLDERS for recording in recordings(folder)]
LARGEST_READ = 4000


def _cut(data: bytes, random: Random) -> tuple[Chunk, ...]:
    chunks, place = [], 0
    while place < len(data):
        end = place + random.randint(1, LARGEST_READ)
        chunks.append(Chunk(place, data[place:end]))
        place = end
    return tuple(chunks)


@pytest.mark.parametrize("recording", RECORDINGS)
def test_a_recorded_stream_reads_the_same_from_a_bundle(recording: Recording) -> None:
    name, data = recording.path.name, recording.path.read_bytes()
    try:
        expected = [str(output) for output in read_recording(data, name)]
    except RecordingError:
        pytest.skip("no command tells its protocol from its events alone")
    bundle = read_any(data, name)
    (exchange,) = bundle.exchanges
    cut = replace(exchange, chunks=_cut(exchange.body, Random(len(data))))  # noqa: S311 - the same cuts each time
    read = read_bundle(write_bundle(replace(bundle, exchanges=(cut,))))
    assert [str(output) for output in recorded_outputs(read.exchanges[0], name)] == expected
