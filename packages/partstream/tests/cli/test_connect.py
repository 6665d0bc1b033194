"""`partstream connect`: what it prints is what a client needs, and the token is in none of it."""

import asyncio
import gc
import json
import os
import sys
import tempfile
import tomllib
from pathlib import Path

import httpx2
import pytest
import yaml

from commands import call, run
from partstream.cli.client_settings import CLIENTS, EDITORS
from partstream_devtools.testing.upstream import ReplayUpstream
from rows import one_test_for

TOKEN = "token-of-this-test"  # noqa: S105 - invented
CLOSED = "http://127.0.0.1:9"
POSIX = pytest.mark.skipif(os.name != "posix", reason="a POSIX shell")


@pytest.mark.parametrize("name", CLIENTS)
def test_without_a_server_the_settings_of_a_named_model_are_printed_without_the_token(name: str):
    async def test() -> None:
        for wire in CLIENTS[name].wires:
            ended = await call(
                "connect", name, "--wire", wire, "--model", "my/model", "--url", CLOSED, PARTSTREAM_SERVE_TOKEN=TOKEN
            )
            assert ended.code == 0
            assert CLOSED in ended.output
            assert "my/model" in ended.output
            assert "PARTSTREAM_SERVE_TOKEN" in ended.output + ended.errors
            assert TOKEN not in ended.output + ended.errors

    run(test())


def test_a_running_server_is_asked_for_its_models_with_the_token_in_a_file(tmp_path: Path):
    file = tmp_path / "my token"
    file.write_text(f"{TOKEN}\n")

    async def test() -> None:
        async with ReplayUpstream(token=TOKEN) as upstream:
            url = upstream.base_url.removesuffix("/v1")
            first = await call("connect", "codex", "--url", url, "--token-file", str(file))
            assert first.code == 0
            assert 'model = "text"' in first.output
            assert f'auth = {{ command = "cat", args = ["{file}"] }}' in first.output
            assert "the first of" in first.errors
            catalogue = tomllib.loads(first.output.partition("# then")[0])["model_providers"]["partstream"]
            async with httpx2.AsyncClient(trust_env=False, headers={"authorization": f"Bearer {TOKEN}"}) as client:
                listed = (await client.get(f"{catalogue['model_catalog_url']}&client_version=0.169.0")).json()
            assert (listed["models"], listed["data"][0]["id"]) == ([], "text")

            named = await call("connect", "codex", "--url", f"{url}/v1", "--token-file", str(file), "--model", "tools")
            assert 'model = "tools"' in named.output
            assert named.errors.count("Note: the model is") == 0

            missing = await call("connect", "codex", "--url", url, "--token-file", str(file), "--model", "nothing")
            assert missing.code == 2
            assert "expected one that the server lists: text" in " ".join(missing.errors.split())
            file.write_text("another-token")
            refused = await call("connect", "codex", "--url", url, "--token-file", str(file))
            assert refused.code == 3
            assert f"The token is the one in {file}; --token-file names the file of another" in refused.errors
            unknown = await call("connect", "codex", "--url", url, PARTSTREAM_DATA=str(tmp_path / "new"))
            assert "No token was found; --token-file names the file" in unknown.errors
            assert TOKEN not in first.output + first.errors + missing.errors + refused.errors

    run(test())


def test_for_a_server_that_asks_for_no_token_none_is_looked_for(tmp_path: Path):
    async def test() -> None:
        async with ReplayUpstream() as upstream:
            url = upstream.base_url.removesuffix("/v1")
            asked = ("--url", url, "--model", "text")
            new = {"PARTSTREAM_DATA": str(tmp_path)}  # no test before has left a token there
            codex = await call("connect", "codex", *asked, **new)
            assert "env_key" not in codex.output
            assert "auth" not in codex.output
            assert "model_catalog_url" not in codex.output
            assert "needs no token" in codex.errors
            assert '"apiKey": "none"' in (await call("connect", "opencode", *asked, **new)).output
            assert "export OPENAI_API_KEY=none" in (await call("connect", "openai", *asked, **new)).output

    run(test())


@one_test_for(
    ("arguments", "code", "says"),
    [
        (("codex", "--url", CLOSED), 3, "partstream serve"),
        (("codex", "--url", CLOSED.removeprefix("http://")), 3, "partstream serve"),
        (("codx",), 2, "perhaps codex"),
        (("codex", "--wire", "chat", "--model", "m"), 2, "that Codex CLI speaks: responses, websocket"),
        (
            ("codex", "--url", "my-machine", "--model", "m"),
            2,
            "got my-machine without http://, expected an address",
        ),
        (("codex", "--url", "http://user:a-word@host", "--model", "m"), 2, "expected an address"),
        (("openai", "--write", "--model", "m", "--url", CLOSED), 2, "has no file for these settings"),
        (("codex", "--token-file", "/nowhere", "--model", "m", "--url", CLOSED), 2, "/nowhere"),
    ],
)
def test_what_is_wrong_is_said(arguments: tuple[str, ...], code: int, says: str):
    async def test() -> None:
        ended = await call("connect", *arguments)
        assert (ended.code, ended.output) == (code, "")
        assert "a-word" not in ended.errors
        assert says in " ".join(ended.errors.split())

    run(test())


@POSIX
@pytest.mark.parametrize("name", CLIENTS)
def test_what_a_server_calls_its_model_runs_nothing_where_it_is_pasted(name: str, tmp_path: Path):
    sign = tmp_path / "sign"
    hostile = f"m'\"; : >{sign}; $(: >{sign}) `: >{sign}` #"

    async def test() -> None:
        ended = await call("connect", name, "--model", hostile, "--url", CLOSED, PARTSTREAM_SERVE_TOKEN=TOKEN)
        assert ended.code == 0
        lines = ended.output.splitlines()
        pasted = [line for line in lines if line.startswith(("export ", "#"))]
        pasted += lines[lines.index("# then") :] if "# then" in lines else []
        await _printed("\n".join(pasted) + "\ntrue", path="/nowhere")
        assert not sign.exists()
        broken = await call("connect", name, "--model", "m\nrm", "--url", CLOSED)
        assert (broken.code, broken.output) == (2, "")

    run(test())


@one_test_for("model", ["{file:~/.ssh/id_rsa}", "m{env:OPENAI_API_KEY}", "$OPENAI_API_KEY", "m-${HOME}"])
def test_no_name_of_a_model_has_a_client_put_a_file_or_a_variable_in_its_place(model: str, tmp_path: Path):
    home = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path), "PARTSTREAM_DATA": str(tmp_path / "data")}

    async def test() -> None:
        for asked in ("--write", "--json"):
            ended = await call("connect", "opencode", asked, "--model", model, "--url", CLOSED, **home)
            assert (ended.code, ended.output) == (2, "")
            assert "without {, } and $NAME" in " ".join(ended.errors.split())
        assert list(tmp_path.iterdir()) == []

    run(test())


NAMES = (
    *(
        "a: b",
        "a # b",
        "[x]",
        "- a",
        "*a",
        "&a",
        "!!python/object/apply:os.system [id]",
        "> x",
        "|",
        "null",
        "1e3",
        "~",
    ),
    *("a\\", "a\\u0022b", "'" * 3, '"' * 3, "]]", "a=b", "model_providers.x", "__proto__", "%PATH%", "../b"),
)


@one_test_for("name", NAMES)
@pytest.mark.parametrize("client", ["codex", "claude", "opencode", "qwen-code", "aider", "llm"])
def test_the_name_of_a_model_is_a_text_in_every_file_and_goes_with_the_rest(client: str, name: str, tmp_path: Path):
    home = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "c"), "PARTSTREAM_DATA": str(tmp_path / "data")}
    read = {".toml": tomllib.loads, ".json": json.loads, ".yml": yaml.safe_load, ".yaml": yaml.safe_load}

    def files() -> list[Path]:
        return [one for one in tmp_path.rglob("*") if one.suffix in read and "data" not in one.parts]

    async def test() -> None:
        written = await call("connect", client, "--write", "--model", name, "--url", CLOSED, **home)
        assert (written.code, len(files())) == (0, 1), written.errors
        (file,) = files()
        texts = [read[file.suffix](file.read_text())]
        for one in texts:  # which grow
            texts += [*one, *one.values()] if isinstance(one, dict) else one if isinstance(one, list) else ()
        assert any(isinstance(one, str) and one.endswith(name) for one in texts)
        await call("connect", client, "--undo", **home)
        assert files() == []

    run(test())


def test_the_clients_are_listed():
    async def test() -> None:
        ended = await call("connect", "--list")
        assert [line.split()[0] for line in ended.output.splitlines()] == [*CLIENTS, *EDITORS]
        assert (await call("connect")).output == ended.output

    run(test())


def test_settings_are_written_into_the_file_of_the_client_and_taken_back(tmp_path: Path):
    home = {"CODEX_HOME": str(tmp_path), "PARTSTREAM_DATA": str(tmp_path / "data")}
    file = tmp_path / "config.toml"
    file.write_text("# mine\nmodel = 'gpt-5'\n")

    async def test() -> None:
        asked = ("connect", "codex", "--model", "m", "--url", CLOSED)
        written = await call(*asked, "--write", **home)
        assert (written.code, written.output.splitlines()[0]) == (0, f"{file}: written")
        assert '# mine\nmodel = "m"\n' in file.read_text()
        assert "has these settings already" in (await call(*asked, "--write", **home)).output
        undone = await call("connect", "codex", "--undo", **home)
        assert (undone.code, undone.output) == (0, f"{file}: as it was before\n")
        assert file.read_text() == "# mine\nmodel = 'gpt-5'\n"
        assert (await call("connect", "codex", "--undo", **home)).output == "Nothing was written for Codex CLI.\n"

        file.write_text("model = ")
        broken = await call(*asked, "--write", **home)
        assert (broken.code, broken.output) == (1, "")
        assert "invalid TOML" in broken.errors

    run(test())


def test_settings_are_one_object_of_json():
    async def test() -> None:
        ended = await call("connect", "claude", "--model", "m", "--url", CLOSED, "--json", PARTSTREAM_SERVE_TOKEN=TOKEN)
        said = json.loads(ended.output)
        assert said["environment"]["ANTHROPIC_BASE_URL"] == CLOSED
        assert said["environment"]["ANTHROPIC_AUTH_TOKEN"] == {"command": ["printenv", "PARTSTREAM_SERVE_TOKEN"]}
        assert json.loads(said["files"][0]["text"])["apiKeyHelper"] == "printenv PARTSTREAM_SERVE_TOKEN"

    run(test())


@POSIX
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    ("name", "wire"),
    [(name, wire) for name in ("openai", "anthropic", "google-genai") for wire in CLIENTS[name].wires],
)
def test_what_is_printed_for_a_library_makes_it_ask_the_server(
    name: str, wire: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    file = tmp_path / "my token"
    file.write_text(f"{TOKEN}\n")

    async def test() -> None:
        async with ReplayUpstream(token=TOKEN) as upstream:
            url = upstream.base_url.removesuffix("/v1")
            asked = ("connect", name, "--wire", wire, "--url", url, "--model", "text", "--token-file", str(file))
            said = json.loads((await call(*asked, "--json")).output)
            shown = (await call(*asked)).output
            exports = "\n".join(line for line in shown.splitlines() if line.startswith("export "))
            for line in await _printed(f"{exports}\nenv"):
                variable, _, value = line.partition("=")
                monkeypatch.setenv(variable, value)
            program = compile(said["program"]["text"], name, "exec")
            await asyncio.to_thread(exec, program, {})  # as a person runs it, who closes nothing
            gc.collect()
            assert [one.delivery.status for one in upstream.exchanges[2:]] == [200]

    run(test())


async def _printed(script: str, path: str = os.environ["PATH"]) -> list[str]:
    """The lines that a shell prints in an environment of nothing but the programs of a path."""
    process = await asyncio.create_subprocess_exec(
        "/bin/sh", "-c", script, env={"PATH": path}, stdout=asyncio.subprocess.PIPE
    )
    output, _ = await process.communicate()
    assert process.returncode == 0
    return output.decode().splitlines()


@one_test_for(
    ("editor", "file", "key"),
    [("zed", ".config/zed/settings.json", "agent_servers"), ("jetbrains", ".jetbrains/acp.json", "agent_servers")],
)
def test_an_editor_is_told_which_command_to_start_and_its_file_is_given_back(editor: str, file: str, key: str):
    async def test() -> None:
        with tempfile.TemporaryDirectory() as folder:
            home, path = {"HOME": folder, "PARTSTREAM_DATA": f"{folder}/data"}, Path(folder) / file
            path.parent.mkdir(parents=True)
            before = '{\n  // mine\n  "theme": "One",\n}\n'
            path.write_text(before)
            printed = await call("connect", editor, "--provider", "agents/mine.py:agent", **home)
            assert path.read_text() == before
            assert (await call("connect", editor, "--provider", "agents/mine.py:agent", "--write", **home)).code == 0
            entry = json.loads(path.read_text().replace("// mine", "").replace("},\n}", "}\n}"))[key]["mine"]
            assert [entry["command"], *entry["args"]] == [
                sys.executable, "-P", "-m", "partstream", "acp", str(Path("agents/mine.py").absolute()) + ":agent",
            ]  # fmt: skip
            assert json.loads(printed.output.partition("\n")[2])[key]["mine"] == entry
            await call("connect", editor, "--profile", "work", "--model", "m", "--write", **home)
            assert '"--profile"' in path.read_text()
            assert '"mine"' not in path.read_text()
            assert (await call("connect", editor, "--undo", **home)).code == 0
            assert path.read_text() == before

    run(test())


@one_test_for(
    ("arguments", "says"),
    [
        (("zed",), "--provider FILE or --profile NAME"),
        (("zed", "--provider", "a.py", "--profile", "b"), "expected one of them"),
        (("neovim", "--profile", "b", "--write"), "has no file for these settings"),
        (("codex", "--provider", "a.py"), "expected one of zed, jetbrains, neovim"),
        (("jetbrain",), "perhaps jetbrains"),
    ],
)
def test_what_is_wrong_for_an_editor_is_said(arguments: tuple[str, ...], says: str):
    async def test() -> None:
        ended = await call("connect", *arguments)
        assert (ended.code, ended.output) == (2, "")
        assert says in " ".join(ended.errors.split())

    run(test())


def test_neovim_gets_lua_and_programs_get_json():
    async def test() -> None:
        printed = await call("connect", "neovim", "--profile", 'a "b"')
        assert 'acp_providers = { ["a \\"b\\""] = { command =' in printed.output
        as_json = json.loads((await call("connect", "zed", "--profile", "work", "--json")).output)
        assert as_json["command"][1:] == ["-P", "-m", "partstream", "acp", "--profile", "work"]

    run(test())
