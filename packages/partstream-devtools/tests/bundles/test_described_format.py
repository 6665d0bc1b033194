"""docs/maintainers/bundle-format.md is enough to write a program that reads the file."""

import io
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest

from bundles.made_bundles import FULL
from partstream_devtools.bundles.archive import END_OF_NAMES, MANIFEST, README, REPORT, write_bundle
from partstream_devtools.bundles.forms import FORMS

DOCS = Path(__file__).resolve().parents[4] / "docs"
PAGE = (DOCS / "maintainers" / "bundle-format.md").read_text()
FORMS_PAGE = (DOCS / "bundles.md").read_text()


def _reader_of_the_page() -> Any:
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    (source,) = (block for block in blocks if "def read_bundle" in block)
    names: dict[str, Any] = {}
    exec(source, names)  # noqa: S102 - what the page tells people to write
    return names["read_bundle"]


def test_the_reader_of_the_page_reads_what_is_written(tmp_path: Path) -> None:
    path = tmp_path / "a.partstream.zip"
    path.write_bytes(write_bundle(FULL))
    read = list(_reader_of_the_page()(path))
    assert [exchange["number"] for exchange, _ in read] == [one.number for one in FULL.exchanges]
    assert [exchange["end"]["how"] for exchange, _ in read] == [one.end.how for one in FULL.exchanges]
    assert [chunks for _, chunks in read] == [[(c.at, c.data) for c in one.chunks] for one in FULL.exchanges]


def test_the_reader_of_the_page_notices_a_change(tmp_path: Path) -> None:
    path = tmp_path / "a.partstream.zip"
    with zipfile.ZipFile(io.BytesIO(write_bundle(FULL))) as good, zipfile.ZipFile(path, "w") as changed:
        for name in good.namelist():
            changed.writestr(name, good.read(name).replace(b"[DONE]", b"[done]"))
    with pytest.raises(ValueError, match=r"exchanges/002/response\.chunks was changed"):
        list(_reader_of_the_page()(path))


def test_the_pages_name_every_file_and_every_form() -> None:
    for name in (MANIFEST, README, REPORT, *(f"001/{one}" for names in END_OF_NAMES.values() for one in names)):
        assert f"{name}`" in PAGE
    for form in FORMS:
        assert f"`{form.endings[0]}`" in FORMS_PAGE
