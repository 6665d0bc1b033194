"""*New Provider File*: from a template to a file in the workspace, and what becomes of it in the next process."""

from pathlib import Path
from typing import Any

import pytest

from .in_process import run, serving
from .person import BACK, CLOSED, Person

KEY = "partstream.providers"


def created(folder: Path | None, *answers: Any, settings: Any = None, **facts: Any) -> tuple[Any, Person]:
    """What the dialog leaves to the extension, and the person before it."""
    got: list[Any] = []

    async def test() -> None:
        async with serving() as peer:
            where = None if folder is None else str(folder)
            person = Person(peer, *answers, settings=settings or {KEY: []}, folder=where, **facts)
            got.extend((await peer.run("newProvider"), person))

    run(test())
    return tuple(got)


def test_a_template_becomes_a_file_that_the_settings_name_and_that_answers(tmp_path: Path):
    result, person = created(tmp_path, "Echo", "models/my_harbour.py", settings={KEY: ["other.py"]})
    file = tmp_path / "models/my_harbour.py"
    assert result["change"] == {"key": KEY, "value": ["other.py", "models/my_harbour.py"], "isOfWorkspace": True}
    assert person.done == [("open", str(file))]
    assert person.pages[1]["value"] == "models/echo.py"

    async def loaded() -> None:
        async with serving(file) as peer:
            next_person = Person(peer, "Open Chat")
            await peer.call("ui/run", result["then"])
            assert next_person.texts() == ["My harbour is in the picker."]
            assert next_person.done == [("workbench.action.chat.open",)]
            (model,) = (await peer.information())["models"]
            assert model["name"] == "My harbour"

    run(loaded())


def test_going_back_leads_to_the_templates_and_closing_writes_nothing(tmp_path: Path):
    result, person = created(tmp_path, "Echo", BACK, "Any callable", CLOSED)
    assert (result, person.is_over, list(tmp_path.iterdir())) == ({}, True, [])
    assert [page.get("value") for page in person.pages] == [None, "models/echo.py", None, "models/my_function.py"]
    assert [page["heading"]["hasBack"] for page in person.pages] == [False, True, False, True]


def test_a_name_that_is_taken_is_not_suggested(tmp_path: Path):
    (tmp_path / "models").mkdir()
    (tmp_path / "models/echo.py").symlink_to("nowhere")
    _, person = created(tmp_path, "Echo", CLOSED)
    assert person.pages[1]["value"] == "models/echo_2.py"


REFUSED = {
    "": "Write the name of the file",
    "/etc/echo.py": "below the folder",
    "C:\\echo.py": "below the folder",
    "~/echo.py": "below the folder",
    "models/../../echo.py": "must be inside",
    "echo.txt": "ends with .py",
    "my-echo.py": "letters, digits and _",
    "class.py": "letters, digits and _",
    "a\nb/echo.py": "Write the folders with",
    "there.py": "already exists",
    "there.py/echo.py": "already exists",
}


@pytest.mark.parametrize(("path", "says"), REFUSED.items())
def test_a_path_that_cannot_be_a_new_file_is_refused_in_the_box(tmp_path: Path, path: str, says: str):
    (tmp_path / "there.py").touch()
    _, person = created(tmp_path, "Echo", path, CLOSED)
    assert says in person.refused[0]


@pytest.mark.parametrize("path", ["größe/echo.py", "a b/(c)/echo.py", "models\\echo.py"])
def test_other_folders_are_written_as_they_are_named(tmp_path: Path, path: str):
    result, _ = created(tmp_path, "Echo", path)
    assert (tmp_path / result["change"]["value"][0]).is_file()


def test_a_link_that_leads_out_of_the_folder_is_not_followed(tmp_path: Path):
    (inside := tmp_path / "inside").mkdir()
    (inside / "models").symlink_to(tmp_path)
    result, person = created(inside, "Echo", "models/echo.py")
    assert result == {}
    assert "leads out of the folder" in person.texts()[-1]
    assert not (tmp_path / "echo.py").exists()


def test_a_setting_that_is_no_list_is_not_replaced(tmp_path: Path):
    result, person = created(tmp_path, "Echo", "echo.py", settings={KEY: "mine.py"})
    assert (result, (tmp_path / "echo.py").exists()) == ({}, False)
    assert "is not a list" in person.texts()[-1]


OBSTACLES = {
    "no folder": ({"hasFolder": False}, "Open Folder…", "vscode.openFolder"),
    "not trusted": ({"isTrusted": False}, "Manage Trust", "workbench.trust.manage"),
    "elsewhere": ({}, None, None),
}


@pytest.mark.parametrize(("facts", "button", "command"), OBSTACLES.values(), ids=OBSTACLES)
def test_where_no_file_can_be_written_one_notification_says_why_and_what_helps(facts: Any, button: Any, command: Any):
    _, person = created(None, *([button] if button else []), **facts)
    assert person.done == ([(command,)] if command else [])
    assert person.pages[0]["buttons"] == ([button] if button else [])


def test_a_file_that_cannot_be_loaded_says_what_its_framework_needs(tmp_path: Path):
    (file := tmp_path / "agent.py").write_text("import no_such_framework\n", encoding="utf-8")

    async def test() -> None:
        async with serving(file) as peer:
            person = Person(peer, "Choose Python")
            await peer.run("newProvider/loaded", file=str(file), path="agent.py", template="openai-agents")
            assert 'Run: python -m pip install "openai-agents' in person.texts()[0]
            assert person.done == [("partstream.choosePython",)]

    run(test())


def test_a_file_that_nobody_loads_is_said_after_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("partstream.vscode.dialogs.LOAD_SECONDS", 0.05)

    async def test() -> None:
        async with serving() as peer:
            person = Person(peer, "Show Log")
            await peer.run("newProvider/loaded", file=str(tmp_path / "echo.py"), path="echo.py", template="plain")
            assert person.texts() == ["echo.py was written, but Python has not loaded it yet. See the log."]
            assert person.done == [("partstream.showLog",)]

    run(test())
