"""What the extension hears when a person's own provider is loaded, breaks or is mended, and what the log says then."""

from typing import Any

import pytest

from models.lists import VERCEL
from models.server import ModelServer

from .sidecar import Sidecar, running
from .test_discovered_models import LIST, group_of, serving

NAMED = """
    @chat_model(name="{name}")
    async def provider(messages, options):
        yield "{name}"
"""
FAILING = """
    import json

    def parse(text):
        return json.loads(text)

    parse("no JSON")
"""
DID_LOAD = "languageModels/providerDidLoad"
DID_CHANGE = "languageModels/didChange"


def told(sidecar: Sidecar, method: str = DID_LOAD) -> list[dict[str, Any]]:
    return [message.params for message in list(sidecar.messages) if getattr(message, "method", None) == method]


def test_a_provider_that_loads_tells_its_file(write):
    path = write(NAMED.format(name="Parrot"))
    with running(path) as sidecar:
        sidecar.information()
        assert told(sidecar) == [{"group": None, "provider": "own", "file": str(path), "problem": None}]


def test_a_broken_edit_tells_the_line_while_the_version_before_answers_and_mending_it_tells_that_too(write):
    path = write(NAMED.format(name="one"))
    with running(path) as sidecar:
        assert sidecar.ask("own/provider", "?") == "one"
        line = len(write("\nthis is no Python").read_text().splitlines())
        assert sidecar.ask("own/provider", "?") == "one"
        problem = told(sidecar)[-1]["problem"]
        assert problem == {
            "message": "SyntaxError: invalid syntax",
            "file": str(path),
            "line": line,
            "keepsOld": True,
        }
        write(NAMED.format(name="mended"))
        assert sidecar.ask("own/provider", "?") == "mended"
        assert told(sidecar)[-1]["problem"] is None


def test_the_line_of_an_error_at_run_time_is_the_deepest_in_the_persons_own_file(write):
    path = write(FAILING)
    line = 1 + path.read_text().splitlines().index("    return json.loads(text)")
    with running(path) as sidecar:
        [error] = sidecar.information()["errors"]
        [load] = told(sidecar)
        assert (load["problem"]["file"], load["problem"]["line"]) == (str(path), line)
        assert load["problem"]["message"].startswith("JSONDecodeError: ")
        assert not load["problem"]["keepsOld"]
        assert error["isLoadProblem"] is True
        assert not error["message"].startswith("the provider own")


def test_a_file_that_is_not_there_is_told_at_its_first_line(tmp_path):
    with running(tmp_path / "own.py") as sidecar:
        sidecar.information()
        [load] = told(sidecar)
        assert load["problem"]["message"].endswith("got no such file, expected a Python file")
        assert (load["problem"]["file"], load["problem"]["line"]) == (str(tmp_path / "own.py"), 1)


def test_a_file_that_is_taken_away_is_told_and_the_version_before_answers(write):
    path = write(NAMED.format(name="one"))
    with running(path) as sidecar:
        assert sidecar.ask("own/provider", "?") == "one"
        path.unlink()
        assert sidecar.ask("own/provider", "?") == "one"
        assert told(sidecar)[-1]["problem"]["keepsOld"]


def test_a_provider_of_a_group_is_told_with_its_group(write):
    path = write("1 / 0")
    group = {"id": "g", "name": "Desk", "configuration": {"provider": str(path)}}
    with running() as sidecar:
        sidecar.information(group)
        [load] = told(sidecar)
        assert (load["group"], load["provider"]) == ("g", "Desk")


def test_a_first_load_that_failed_and_a_model_of_another_name_renew_the_list(write):
    path = write("this is no Python")
    with running(path) as sidecar:
        assert sidecar.information()["models"] == []
        write(NAMED.format(name="Parrot"))
        assert sidecar.ask("own/provider", "?") == "Parrot"
        assert told(sidecar, DID_CHANGE) == [{"group": None}]
        sidecar.until_logged("the provider own was loaded again")
        assert [model["name"] for model in sidecar.information()["models"]] == ["Parrot"]
        write(NAMED.format(name="Parrot 2"))
        assert sidecar.ask("own/provider", "?") == "Parrot 2"
        assert told(sidecar, DID_CHANGE) == [{"group": None}] * 2
        assert [model["name"] for model in sidecar.information()["models"]] == ["Parrot 2"]


def test_a_key_in_the_message_of_an_error_is_told_to_nobody(write):
    group = {"id": "g", "configuration": {"provider": str(write('raise ValueError("sk-planted-0123456789")'))}}
    group["configuration"]["apiKey"] = "sk-planted-0123456789"
    with running() as sidecar:
        sidecar.information(group)
        assert "ValueError" in told(sidecar)[0]["problem"]["message"]
        assert "sk-planted" not in repr(sidecar.messages)


@pytest.mark.parametrize("code", ["this is no Python", FAILING])
def test_the_log_names_file_and_line_and_shows_no_frame_of_ours(write, code):
    path = write(code)
    with running(path) as sidecar:
        sidecar.information()
        sidecar.until_logged(f"could not be loaded ({path}, line ")
        assert "partstream/vscode" not in sidecar.logs()
        assert "importlib" not in sidecar.logs()


def test_an_error_while_answering_is_logged_from_the_persons_code_on(write):
    path = write("""
        @chat_model(name="Parrot")
        async def provider(messages, options):
            yield "one"
            raise KeyError("two")
    """)
    with running(path) as sidecar:
        assert sidecar.wait(sidecar.respond("own/provider", "?")).error
        sidecar.until_logged("KeyError: 'two'")
        assert f'File "{path}"' in sidecar.logs()
        assert "hosts/vscode" not in sidecar.logs()


def test_the_log_says_once_what_was_found_and_where(write):
    path = write(NAMED.format(name="Parrot"))
    with running(path) as sidecar:
        for _ in range(3):
            sidecar.information()
        sidecar.until_logged(f"1 model of own from {path}")
        assert sidecar.logs().count("1 model of own") == 1


def test_the_log_names_a_group_by_its_name_and_says_the_same_failure_once():
    server = ModelServer({LIST: VERCEL}, statuses={LIST: 500})
    with serving(server), running() as sidecar:
        group = {**group_of(server), "name": "Desk"}
        for _ in range(3):
            [error] = sidecar.information(group)["errors"]
            assert error["provider"] == "Desk"
        assert sidecar.logs().count("the provider Desk could not list its models") == 1
        server.statuses.clear()
        sidecar.information(group)
        sidecar.until_logged(f"3 models of Desk at {server.url}")


def test_a_group_without_a_name_is_called_by_the_host_and_port_of_its_server():
    server = ModelServer({}, statuses={LIST: 500})
    with serving(server), running() as sidecar:
        [error] = sidecar.information(group_of(server))["errors"]
        assert error["provider"] == server.url.removeprefix("http://").removesuffix("/v1")


def test_a_group_that_gets_another_name_is_called_by_it():
    server = ModelServer({}, statuses={LIST: 500})
    with serving(server), running() as sidecar:
        for name in ("Desk", "Office"):
            [error] = sidecar.information({**group_of(server), "name": name})["errors"]
            assert error["provider"] == name
