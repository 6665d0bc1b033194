"""`partstream new`: what it writes, that it passes what its own folder asks for, and what it refuses.

The types and the tests of a project from each template are checked too: examples/projects holds one of each.
"""

import asyncio
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from clean_environment import SECONDS, build_wheel, install
from commands import call, run
from newcomer import Newcomer
from partstream.cli.new import ProjectName, UnusableNameError, project_files, write_project
from partstream.runtime.project_templates import TEMPLATES, find_template
from partstream.runtime.provider_files import SourceLoader

ROOT = Path(__file__).parents[2]
PLAIN = TEMPLATES["plain"]


def _written(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def _run(module: str, *arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs a module in a folder, without the plugins that are installed here for other tests."""
    command = [sys.executable, "-m", module, *arguments]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=50)


@pytest.mark.parametrize("template", TEMPLATES.values(), ids=lambda template: template.name)
def test_a_project_is_whole_and_a_provider(template, tmp_path):
    name = ProjectName.read("my-own-model", template)
    write_project(tmp_path / "project", project_files(name, template))
    folder = tmp_path / "project"
    assert _written(folder) == {
        "my_own_model.py", "test_my_own_model.py", "pyproject.toml", "README.md", ".gitignore", ".vscode/settings.json",
    }  # fmt: skip
    assert not [path for path in _written(folder) if "$" in (folder / path).read_text()]
    assert max(len(line) for path in _written(folder) for line in (folder / path).read_text().splitlines()) <= 120
    assert tomllib.loads((folder / "pyproject.toml").read_text())["project"]["name"] == "my-own-model"
    settings = json.loads((folder / ".vscode/settings.json").read_text())
    assert settings == {"partstream.providers": ["my_own_model.py"]}
    provider = SourceLoader(str(folder / "my_own_model.py")).load()
    (model,) = asyncio.run(provider.provide_language_model_chat_information(True, None))
    assert (model.id, model.name, model.capabilities.tool_calling) == ("my_own_model", "My own model", True)


def test_the_projects_of_all_templates_are_formatted(tmp_path):
    for template in TEMPLATES.values():
        write_project(tmp_path / template.name, project_files(ProjectName.read("my-own-model", template), template))
    for arguments in (("check", "--select", "I,F,E,W"), ("format", "--check")):
        options = ("--isolated", "--no-cache", "--config", "line-length = 120", "--config", 'src = ["*"]')
        done = _run("ruff", *arguments, *options, ".", folder=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr


def test_a_new_project_answers_its_test_and_a_chat_at_once(tmp_path):
    async def test() -> None:
        new = await call("new", str(tmp_path / "my-model"))
        assert (new.code, new.errors) == (0, "")
        assert f"wrote {tmp_path / 'my-model' / 'my_model.py'}" in new.output
        chat = await call("chat", "--provider", str(tmp_path / "my-model" / "my_model.py"), "Hi")
        assert (chat.code, chat.output) == (0, "You said: Hi\n")

    run(test())
    done = _run("pytest", "-q", "-p", "no:cacheprovider", folder=tmp_path / "my-model")
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout


def _requirements(folder: Path) -> list[str]:
    """What a project of this folder has installed, its own tools included."""
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    return [*project["dependencies"], *(one for more in project["optional-dependencies"].values() for one in more)]


@pytest.mark.parametrize("template", TEMPLATES.values(), ids=lambda template: template.name)
def test_a_project_installs_nothing_by_the_name_partstream_and_all_that_its_framework_needs(template, tmp_path):
    name = ProjectName.read("my-own-model", template)
    write_project(tmp_path / "project", project_files(name, template))
    requirements = _requirements(tmp_path / "project")
    assert [one for one in requirements if "partstream" in one] == []
    assert set(requirements) == {*template.requirements, "mypy", "pytest"}


@pytest.fixture(scope="module")
def commands(tmp_path_factory):
    """The folder of the commands of an environment without ours, and the wheels that a project needs, by package."""
    folder = tmp_path_factory.mktemp("wheels")
    wheels = {package: build_wheel(folder, package) for package in PLAIN.packages}
    return install(wheels["partstream"], tmp_path_factory.mktemp("clean"), with_pip=True), wheels


@pytest.mark.skipif(sys.platform == "win32", reason="the page is typed into a shell of POSIX")
@pytest.mark.timeout(SECONDS * 3)
@pytest.mark.parametrize(
    "template", [one for one in TEMPLATES.values() if not one.requirements], ids=lambda one: one.name
)
def test_the_commands_of_a_project_s_readme_work_in_a_clean_environment(template, commands, tmp_path):
    name = ProjectName.read("my-own-model", template)
    write_project(tmp_path / "project", project_files(name, template))
    readme = (tmp_path / "project" / "README.md").read_text()
    folder, wheels = commands
    blocks = re.findall(r"```text\n(.*?)```", readme, re.DOTALL)
    typed = re.sub(r"CLONE/packages/(\S+)", lambda named: str(wheels[named[1]]), "".join(blocks)).splitlines()
    newcomer = Newcomer(tmp_path / "project", commands=folder)
    for line in typed:
        said = newcomer.run(line + ' "Hello"' * line.startswith("partstream chat"))
        # The template around a server has none here: what it needs is said by its README.
        expected = 3 if template.name == "server" and line.startswith("partstream chat") else 0
        assert said.code == expected, f"{line}: {said.text}"
    assert [line.split()[2] for line in typed if line.startswith("python")] == ["pip", "pip", "pytest"]


def test_a_framework_that_is_missing_is_named_with_the_command_that_installs_it(tmp_path, monkeypatch):
    monkeypatch.setattr("partstream.cli.new.find_spec", lambda _: None)

    async def test() -> None:
        new = await call("new", str(tmp_path / "mine"), "--from", "langgraph")
        assert new.code == 0
        assert '  python -m pip install "langgraph>=1.2"\n  partstream chat' in new.output

    run(test())


def test_a_package_of_ours_that_is_missing_is_named_with_the_line_that_installs_it(tmp_path, monkeypatch):
    missing = {"partstream_agents", "partstream_devtools"}
    monkeypatch.setattr("partstream.cli.new.find_spec", lambda module: None if module in missing else module)

    async def test() -> None:
        said = (await call("new", str(tmp_path / "mine"), "--from", "langgraph")).output
        assert "mine.py needs the package partstream-agents, which is not installed: `pip install ./packages/" in said
        assert "test_mine.py needs the package partstream-devtools" in said
        assert "partstream-agents" not in (await call("new", str(tmp_path / "plain"))).output

    run(test())


@pytest.mark.parametrize("template", TEMPLATES.values(), ids=lambda template: template.name)
def test_the_readme_of_a_project_installs_what_its_files_import(template):
    written = project_files(ProjectName.read("my-own-model", template), template)
    imported = {
        one.replace("_", "-")
        for path, text in written.items()
        if path.endswith(".py")
        for one in re.findall(r"^(?:from|import) (partstream\w*)", text, re.MULTILINE)
    }
    assert set(re.findall(r"CLONE/packages/(\S+)", written["README.md"])) == imported


def test_nothing_is_overwritten(tmp_path):
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "notes.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    (tmp_path / "empty").mkdir()

    async def test() -> None:
        for name in ("taken", "file"):
            new = await call("new", str(tmp_path / name))
            assert (new.code, new.output) == (2, "")
            assert "already exists, expected a new folder; nothing was written" in new.errors
        assert (await call("new", str(tmp_path / "empty"))).code == 0

    run(test())
    assert _written(tmp_path / "taken") == {"notes.txt"}
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize(
    ("name", "template"),
    [
        ("1st", PLAIN), ("a/b", PLAIN), ("", PLAIN), ("a--b", PLAIN), ("é", PLAIN), ("class", PLAIN), ("json", PLAIN),
        ("partstream", PLAIN), ("pytest", PLAIN), ("$x", PLAIN), ("pydantic-ai", TEMPLATES["pydantic-ai"]),
        ("agents", TEMPLATES["openai-agents"]),
    ],
)  # fmt: skip
def test_a_name_that_makes_no_module_or_hides_another_one_is_refused(name, template):
    with pytest.raises(UnusableNameError) as refused:
        ProjectName.read(name, template)
    assert refused.value.name == name


def test_a_template_has_other_names_and_an_unknown_one_is_refused(tmp_path):
    assert find_template("agents") is TEMPLATES["openai-agents"]
    assert find_template("other") is None

    async def test() -> None:
        new = await call("new", str(tmp_path / "x"), "--from", "other")
        assert new.code == 2
        assert "'pydantic-ai'" in new.errors
        shown = (await call("new", "--help")).output
        assert [name for name in TEMPLATES if name not in shown] == []

    run(test())
    assert not (tmp_path / "x").exists()


def test_vs_code_runs_a_framework_s_project_with_the_python_that_has_it(tmp_path):
    async def test() -> None:
        assert (await call("new", str(tmp_path / "mine"), "--from", "pydantic-ai")).code == 0

    run(test())
    settings = json.loads((tmp_path / "mine" / ".vscode" / "settings.json").read_text())
    assert settings["partstream.python"] == sys.executable


def test_the_examples_hold_a_project_of_each_template():
    assert {path.name for path in (ROOT / "examples" / "projects").iterdir() if path.is_dir()} == set(TEMPLATES)


BUGS = {
    "plain": ("    yield user_request(messages)", "    1 / 0"),
    "pydantic-ai": ("    return len(text.split())", "    return 1 // 0"),
    "langgraph": ("    return {", "    return 1 // 0 or {"),
}


@pytest.mark.parametrize("template", BUGS)
def test_a_bug_in_an_agent_s_tool_or_node_is_named_with_its_file_and_line(template, tmp_path):
    row = TEMPLATES[template]
    written = {**project_files(ProjectName.read("my-own-model", row), row)}
    good, bad = BUGS[template]
    source = written["my_own_model.py"].replace(good, bad)
    line = source[: source.index(bad)].count("\n") + 1
    write_project(tmp_path / "project", written | {"my_own_model.py": source})
    file = tmp_path / "project" / "my_own_model.py"

    async def test() -> None:
        chat = await call("chat", "--provider", str(file), "Hi")
        assert chat.code == 3
        assert f"({file}:{line})" in chat.errors
        doctor = await call("doctor", "--provider", str(file), "--ask", "--json")
        assert f"({file}:{line})" in json.loads(doctor.output)[-1]["says"]

    run(test())
