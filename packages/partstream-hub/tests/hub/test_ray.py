"""Ray as a host: what holds of it where Ray is not installed. `make interop TRY=ray` runs the rest."""

import ast
import re
import tomllib
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[4]
HOST = PROJECT / "packages/partstream-hub/src/partstream_hub/ray.py"


def _imports_ray(path: Path) -> bool:
    source = path.read_bytes()
    if re.search(rb"\bray\b", source) is None:  # to parse every module takes two seconds
        return False
    for node in ast.walk(ast.parse(source)):
        names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        if any(name.split(".")[0] == "ray" for name in names):
            return True
    return False


def test_one_short_module_imports_ray() -> None:
    assert [path for path in (PROJECT / "packages").glob("*/src/**/*.py") if _imports_ray(path)] == [HOST]
    assert len(HOST.read_text(encoding="utf-8").splitlines()) < 150


def test_every_extra_is_locked_here_but_ray_which_is_locked_apart_and_the_model_in_the_process() -> None:
    projects = [path.read_text(encoding="utf-8") for path in (PROJECT / "packages").glob("*/pyproject.toml")]
    tables = [tomllib.loads(text)["project"].get("optional-dependencies", {}) for text in projects]
    makefile = (PROJECT / "Makefile").read_text(encoding="utf-8")
    found = re.search(r"^LOCKED_EXTRAS := (.+)$", makefile, re.MULTILINE)
    assert found is not None
    assert {*found[1].split(), "ray", "local"} == {extra for table in tables for extra in table}
    assert not re.search(r"^ray==", (PROJECT / "requirements.lock").read_text(encoding="utf-8"), re.MULTILINE)
