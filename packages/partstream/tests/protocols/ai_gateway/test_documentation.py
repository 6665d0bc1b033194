"""The settings that docs/ai-gateway.md shows are those that there are."""

import re
import tomllib
from pathlib import Path

import pytest

from partstream.config.table import SETTINGS

PAGE = Path(__file__).resolve().parents[5] / "docs" / "ai-gateway.md"
EXAMPLES = re.findall(r"```toml\n(.*?)```", PAGE.read_text(), re.DOTALL)


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_an_example_is_read(example: str):
    for name, value in tomllib.loads(example).items():
        SETTINGS[name].read(value, name)


def test_there_are_examples():
    assert len(EXAMPLES) == 3
