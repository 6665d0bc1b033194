"""The files that a host of repositories, an editor and a contributor's tools read: each is parsed, and what it names is
there. Their addresses come from one place, and a release without them is refused."""

import json
import re
import shlex
import sys
import tomllib
from configparser import ConfigParser
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import yaml

from tools.build_vsix import repository_of, version_of_source
from tools.release.__main__ import _address
from tools.release.pythons import SUPPORTED

ROOT = Path(__file__).parent.parent
WORKFLOWS = {path.stem: path for path in sorted((ROOT / ".github" / "workflows").glob("*.yml"))}
FORMS = sorted(path for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml") if path.stem != "config")
FIELDS = {"markdown", "input", "textarea", "dropdown", "checkboxes"}
TARGETS = set(re.findall(r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def _read(path: Path) -> Any:
    # Builds texts, lists and mappings alone; `on:` would be a truth value otherwise.
    return yaml.load(path.read_text(encoding="utf-8"), yaml.BaseLoader)  # noqa: S506


def _steps(workflow: Any) -> list[dict[str, Any]]:
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


# ---- workflows ----


@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_workflow_may_read_and_each_of_its_jobs_ends_in_time(name: str):
    workflow = _read(WORKFLOWS[name])
    assert workflow["permissions"] == {"contents": "read"}
    for title, job in workflow["jobs"].items():
        assert 0 < int(job["timeout-minutes"]) <= 60, title
        written = {right for right, how in job.get("permissions", {}).items() if how == "write"}
        assert not written or name in {"release", "docs"}, title


@pytest.mark.parametrize("name", WORKFLOWS)
def test_every_action_is_pinned_by_a_commit_beside_its_version(name: str):
    used = re.findall(r"uses: (.+)", WORKFLOWS[name].read_text())
    assert used
    for line in used:
        assert re.fullmatch(r"[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line), line


def test_one_action_has_one_commit_everywhere():
    files = [*WORKFLOWS.values(), *(ROOT / ".github" / "actions").glob("*/action.yml")]
    pins = {line for path in files for line in re.findall(r"uses: (.+)", path.read_text())}
    actions = [pin.partition("@")[0] for pin in pins]
    assert sorted(actions) == sorted(set(actions))


def test_no_checkout_leaves_a_key_in_its_folder():
    steps = [step for path in WORKFLOWS.values() for step in _steps(_read(path))]
    checkouts = [step for step in steps if step.get("uses", "").startswith("actions/checkout@")]
    assert checkouts
    assert all(step["with"]["persist-credentials"] == "false" for step in checkouts)


@pytest.mark.parametrize("name", WORKFLOWS)
def test_no_script_has_text_of_a_stranger_in_it(name: str):
    """What an event holds goes into an environment variable, never into the text of a script."""
    scripts = [step["run"] for step in _steps(_read(WORKFLOWS[name])) if "run" in step]
    assert not [script for script in scripts if "${{" in script]


@pytest.mark.parametrize("name", WORKFLOWS)
def test_every_command_of_a_workflow_is_there(name: str):
    for step in _steps(_read(WORKFLOWS[name])):
        for line in step.get("run", "").splitlines():
            words = shlex.split(line)
            if words[:1] == ["make"]:
                goals = [word for word in words[1:] if "=" not in word]
                assert set(goals) <= TARGETS, line
            for word in words:
                if re.fullmatch(r"(?:packages|tools)/[\w./-]+", word):
                    assert (ROOT / word).exists(), line


def test_tests_run_on_every_supported_python_and_system():
    tests = _read(WORKFLOWS["tests"])["jobs"]
    matrix = tests["python"]["strategy"]["matrix"]
    assert matrix["python"] == list(SUPPORTED)
    for job in ("python", "extension"):
        systems = tests[job]["strategy"]["matrix"]["system"]
        assert {system.partition("-")[0] for system in systems} == {"ubuntu", "macos", "windows"}


def test_a_release_is_checked_attested_and_published_without_a_password():
    text = WORKFLOWS["release"].read_text()
    assert text.index("make release-check") < text.index("attest-build-provenance@") < text.index("pypi-publish@")
    assert "secrets." not in text
    assert _read(WORKFLOWS["release"])["jobs"]["packages"]["permissions"] == {"id-token": "write"}


# ---- issues, and what else the host shows ----


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_a_form_for_issues_has_the_fields_that_the_host_knows(path: Path):
    form = _read(path)
    assert {"name", "description", "body"} <= form.keys()
    labelled = [field for field in form["body"] if field["type"] != "markdown"]
    assert {field["type"] for field in form["body"]} <= FIELDS
    assert all(field["attributes"]["label"] for field in labelled)
    names = [field["id"] for field in labelled]
    assert len(names) == len(set(names))
    assert any(field.get("validations", {}).get("required") == "true" for field in labelled)


def test_a_hole_in_security_is_never_reported_in_public():
    config = _read(ROOT / ".github" / "ISSUE_TEMPLATE" / "config.yml")
    assert config["blank_issues_enabled"] == "false"
    assert any(link["url"].endswith("/security/advisories/new") for link in config["contact_links"])
    assert "in private" in (ROOT / ".github" / "SECURITY.md").read_text()


@pytest.mark.parametrize("name", ["SECURITY.md", "SUPPORT.md", "CODE_OF_CONDUCT.md", "pull_request_template.md"])
def test_every_link_of_a_page_for_contributors_leads_to_a_file(name: str):
    path = ROOT / ".github" / name
    for target in re.findall(r"\]\(([^)#]+)", path.read_text()):
        assert (path.parent / target).exists(), target


def test_dependencies_of_every_kind_are_watched():
    rows = _read(ROOT / ".github" / "dependabot.yml")["updates"]
    watched = {row["package-ecosystem"]: row.get("directories") or [row["directory"]] for row in rows}
    assert watched == {"github-actions": ["/"], "npm": ["/extension"], "pip": ["/packages/*"]}


# ---- editors ----


def test_the_editors_rules_are_those_of_the_formatter():
    rules = ConfigParser()
    rules.read_string("[top]\n" + (ROOT / ".editorconfig").read_text())
    formatter = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["ruff"]
    assert rules["*.py"]["max_line_length"] == str(formatter["line-length"])
    assert rules["*.py"]["indent_size"] == "4"
    assert rules["Makefile"]["indent_style"] == "tab"


def test_recorded_bytes_stay_as_they_are_in_every_checkout():
    lines = [line.split() for line in (ROOT / ".gitattributes").read_text().splitlines()]
    kept = [pattern for pattern, *attributes in lines if {"-text", "binary"} & {*attributes}]
    for name in ("stream.sse", "talk.har", "stream.sse.gz", "picture.webp", "icon.png"):
        assert any(fnmatch(name, pattern) for pattern in kept), name


@pytest.mark.parametrize("path", sorted((ROOT / ".vscode").glob("*.json")), ids=lambda path: path.stem)
def test_settings_for_contributors_are_json(path: Path):
    assert json.loads(path.read_text())


def test_what_contributors_start_from_the_editor_is_a_target():
    tasks = json.loads((ROOT / ".vscode" / "tasks.json").read_text())["tasks"]
    assert {task["command"].split()[1] for task in tasks} <= TARGETS
    launched = json.loads((ROOT / ".vscode" / "launch.json").read_text())["configurations"]
    assert {one["preLaunchTask"] for one in launched if "preLaunchTask" in one} <= {task["label"] for task in tasks}


def test_a_container_has_the_python_and_the_node_that_the_project_needs():
    container = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text())
    recipe = (ROOT / ".devcontainer" / container["build"]["dockerfile"]).read_text()
    assert re.search(r"^FROM node:2\d-bookworm$", recipe, re.MULTILINE)  # Debian 12 has Python 3.11
    assert "python3-venv" in recipe
    assert "make setup" in container["postCreateCommand"]


def test_hooks_run_the_tools_of_the_project():
    (repository,) = _read(ROOT / ".pre-commit-config.yaml")["repos"]
    assert repository["repo"] == "local"
    for hook in repository["hooks"]:
        program, *rest = hook["entry"].split()
        assert program.startswith(".venv/bin/") or (program == "make" and set(rest) <= TARGETS), hook["id"]


# ---- the one place of the addresses ----


@pytest.fixture
def project_files(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(ROOT / "tools")
    import project_files

    yield project_files
    sys.modules.pop("project_files")


@pytest.fixture
def published(project_files: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A copy of the files that name the project, whose repository has an owner."""
    for name in ("pyproject.toml", "packages/partstream/src/partstream/_version.py", *project_files.project_files()):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    stated = (tmp_path / "pyproject.toml").read_text()
    (tmp_path / "pyproject.toml").write_text(re.sub(r"github\.com/[^/]+/", "github.com/people/", stated))
    monkeypatch.setattr(project_files, "_ROOT", tmp_path)
    return tmp_path


def test_every_file_names_the_repository_that_one_place_states(project_files: Any, published: Path):
    made = {name: generate() for name, generate in project_files.project_files().items()}
    for name, text in made.items():
        assert "OWNER" not in text, name
        assert "people" in text, name
        (published / name).write_text(text)
    again = {name: generate() for name, generate in project_files.project_files().items()}
    assert again == made
    urls = tomllib.loads(made["packages/partstream-hub/pyproject.toml"])["project"]["urls"]
    assert urls["Issues"] == "https://github.com/people/partstream/issues"
    assert _owners(made[".github/CODEOWNERS"]) == ["@people/maintainers"]


def _owners(text: str) -> list[str]:
    return [owner for line in text.splitlines() if line[:1] not in ("", "#") for owner in line.split()[1:]]


def test_the_extension_gets_its_addresses_from_there_too(project_files: Any, published: Path):
    manifest = json.loads((ROOT / "extension" / "package.json").read_text())
    made = project_files.with_addresses(manifest, published)
    assert made["bugs"] == {"url": "https://github.com/people/partstream/issues"}
    assert {name: value for name, value in made.items() if name in manifest} == manifest


def test_a_release_without_an_address_is_refused_and_names_none():
    if repository_of(ROOT) is not None:
        pytest.skip("the project is published")
    (fault,) = _address()
    assert "pyproject.toml" in fault
    for name in ("partstream", "partstream-agents", "partstream-devtools", "partstream-hub"):
        assert "urls" not in tomllib.loads((ROOT / "packages" / name / "pyproject.toml").read_text())["project"]
    assert "bugs" not in json.loads((ROOT / "extension" / "package.json").read_text())


def test_a_citation_names_the_version_and_the_licence():
    citation = _read(ROOT / "CITATION.cff")
    assert citation["version"] == version_of_source(ROOT)
    assert citation["license"] == "Apache-2.0"
    assert citation["authors"]


MOST_TYPESCRIPT = 6_000


def test_the_extension_stays_thin_because_the_sidecar_decides():
    """Lines that are written by hand, without completions."""
    sources = [path for path in (ROOT / "extension/src").glob("*.ts") if not path.name.endswith(".generated.ts")]
    lines = [path.read_text().count("\n") for path in sources if path.name != "vscodeCompletions.ts"]
    assert 0 < sum(lines) <= MOST_TYPESCRIPT
