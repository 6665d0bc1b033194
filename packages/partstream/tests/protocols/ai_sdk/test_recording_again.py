"""The fixtures are what the pinned versions of the published AI SDK make today."""

import subprocess
from pathlib import Path

from ai_sdk import FIXTURES, FOLDER, SECONDS, find_node, needs_ai_sdk


def _contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.glob("*/*")}


@needs_ai_sdk
def test_recording_again_changes_nothing(tmp_path: Path) -> None:
    command = [str(find_node()), str(FOLDER / "record.js"), str(tmp_path)]
    subprocess.run(command, check=True, capture_output=True, timeout=SECONDS)
    recorded, kept = _contents(tmp_path), _contents(FIXTURES)
    assert recorded.keys() == kept.keys()
    assert [name for name in kept if recorded[name] != kept[name]] == []
