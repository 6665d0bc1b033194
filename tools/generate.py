"""Writes the files that are made from tables in the source; `--check` only says which of them are stale.

Each row of the table below is a file and the function that gives its content.
"""

from __future__ import annotations
import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from attacks_page import attacks_page
from benchmark_pages import benchmark_pages
from client_pages import client_pages
from clients_page import clients_page
from command_line_page import command_line_page
from configuration_page import configuration_page, settings_page
from conformance_kit_page import conformance_kit_page
from conformance_page import conformance_page
from conformance_schema import conformance_schema
from contract_page import contract_page
from demands_page import demands_page
from differences_page import differences_page
from frameworks_table import agents_page
from freshness_table import freshness_page
from group_schema import extension_manifest, extension_texts
from http_page import http_page
from inspector_page import inspector_page
from install_page import install_page
from matrix_page import matrix_page
from newcomers_page import newcomers_page
from project_examples import project_examples
from project_files import project_files
from public_names import public_names, public_stub
from pythons_table import releasing_page
from ray_page import ray_page
from readme_figures import readme
from serve_page import serve_page
from servers_page import servers_page, tried_servers_page
from settings_types import settings_types
from translation_page import table_of_fates, translation_page
from typescript_types import protocol_types
from user_texts import user_texts
from view_types import view_types

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

ROOT = Path(__file__).resolve().parent.parent

GENERATORS: Mapping[str, Callable[[], str]] = {
    "docs/maintainers/agent-frameworks.md": agents_page,
    **benchmark_pages(),
    "docs/maintainers/clients.md": clients_page,
    **client_pages(),
    "docs/configuration.md": configuration_page,
    "docs/reference/settings.md": settings_page,
    "docs/maintainers/conformance-kit.md": conformance_kit_page,
    "docs/maintainers/conformance.md": conformance_page,
    "docs/conformance-report.schema.json": conformance_schema,
    "docs/contract.md": contract_page,
    "docs/maintainers/demands.md": demands_page,
    "docs/maintainers/differences.md": differences_page,
    "docs/maintainers/freshness.md": freshness_page,
    "docs/maintainers/inspector-page.md": inspector_page,
    "docs/install.md": install_page,
    "extension/package.json": extension_manifest,
    "extension/package.nls.json": extension_texts,
    **project_files(),
    "docs/maintainers/matrix.md": matrix_page,
    "docs/maintainers/newcomers.md": newcomers_page,
    "docs/maintainers/ray-figures.md": ray_page,
    "docs/maintainers/releasing.md": releasing_page,
    "docs/security/tests.md": attacks_page,
    "docs/servers.md": servers_page,
    "docs/maintainers/servers.md": tried_servers_page,
    "docs/maintainers/serving-under-load.md": serve_page,
    "docs/reference/command-line.md": command_line_page,
    "docs/reference/http.md": http_page,
    "tests/census/fates.json": table_of_fates,
    "docs/maintainers/translation.md": translation_page,
    **project_examples(),
    "extension/pages/view.generated.d.ts": view_types,
    "extension/src/protocol.generated.ts": protocol_types,
    "extension/src/settings.generated.ts": settings_types,
    "packages/partstream/src/partstream/__init__.pyi": public_stub,
    "tests/public_names.txt": public_names,
    "tests/user_texts.txt": user_texts,
    "README.md": readme,  # last: its figures are those of the pages above
}


def main() -> int:
    """Runs the generators; returns 1 when `--check` finds a stale file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail when a file is stale")
    parser.add_argument("--root", type=Path, default=ROOT, help="the folder to write to or to check")
    parser.add_argument("files", nargs="*", metavar="FILE", help="make these alone, as docs/contract.md")
    arguments = parser.parse_args()
    check, root = arguments.check, arguments.root
    if unknown := [name for name in arguments.files if name not in GENERATORS]:
        parser.error(f"no generator makes {', '.join(unknown)}")
    is_stale = False
    for name in arguments.files or GENERATORS:
        content = GENERATORS[name]()
        if _is_current(root / name, content):
            continue
        is_stale = True
        if check:
            print(f"{name} is stale: run tools/generate.py", file=sys.stderr)
        else:
            _write(root / name, content)
            print(f"wrote {name}")
    return 1 if check and is_stale else 0


def _is_current(path: Path, content: str) -> bool:
    return path.exists() and path.read_text(encoding="utf-8") == content


def _write(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    sys.exit(main())
