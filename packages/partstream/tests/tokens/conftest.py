from pathlib import Path

import pytest

CORPUS = Path(__file__).resolve().parents[4] / "tests" / "fixtures" / "token_corpus"


@pytest.fixture(scope="session")
def corpus():
    """The texts of the token corpus by split (`train`, `held_out`) and file."""
    return {
        (path.parent.name, path.stem): path.read_text(encoding="utf-8").split("%%\n")
        for path in sorted(CORPUS.glob("*/*.txt"))
    }
