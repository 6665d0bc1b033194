"""`partstream config`: every value with its source, no secret, and the place of the file."""

import json
from pathlib import Path
from secrets import token_hex

from commands import call, call_process, run

KEY = f"sk-{token_hex(12)}"


def _file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(
        'baseUrl = "https://h.example.com/v1?key=%s"\n'
        'apiKeyCommand = ["vault", "read", "%s"]\n'
        'proxy = "http://me:%s@proxy:8080"\n'
        '[headers]\nx-key = "%s"\n'
        '[request.extraHeaders]\nx-other = "%s"\n' % ((KEY,) * 5)
    )
    return path


def test_every_value_is_shown_with_its_source_and_no_secret(tmp_path: Path):
    async def test() -> None:
        environment = {"PARTSTREAM_CONFIG": str(_file(tmp_path)), "PARTSTREAM_API_KEY": KEY, "PARTSTREAM_TYPO": KEY}
        shown = await call("config", "show", "--json", **environment)
        assert (shown.code, shown.errors) == (0, "")
        assert KEY not in shown.output
        document = json.loads(shown.output)
        rows = {row["name"]: row for row in document["settings"]}
        assert rows["baseUrl"]["value"] == "https://h.example.com/v1?key=***"
        assert (rows["baseUrl"]["place"], rows["baseUrl"]["where"]) == (
            "partstream.toml",
            f"{tmp_path / 'mine.toml'}: baseUrl",
        )
        assert (rows["apiKey"]["value"], rows["apiKey"]["place"]) == ("***", "environment")
        assert rows["apiKeyCommand"]["place"] == "default"  # the environment's key replaces it
        assert rows["proxy"]["value"] == "http://***@proxy:8080"
        assert rows["headers"]["value"] == {"x-key": "***"}
        assert rows["request"]["value"] == {"extraHeaders": {"x-other": "***"}}
        assert document["notes"] == ["unknown setting PARTSTREAM_TYPO in the environment"]
        assert document["fileExists"] is True

        table = await call("config", "show", **environment)
        assert KEY not in table.output + table.errors
        assert "PARTSTREAM_API_KEY" in table.output

    run(test())


def test_in_a_pipe_every_setting_is_one_line():
    async def test() -> None:
        long = "x" * 100
        shown = await call("config", "show", PARTSTREAM_DEFAULT_MODEL=long)
        lines = [line.split("  ") for line in shown.output.splitlines()]
        assert [line[0] for line in lines] == ["Setting", *(line[0] for line in lines[1:] if line[0])]
        values = {name: [cell.strip() for cell in cells if cell] for name, *cells in lines}
        assert values["defaultModel"] == [f'"{long}"', "environment: PARTSTREAM_DEFAULT_MODEL"]
        assert values["logLevel"] == ["(info in VS Code, warning in a terminal)", "default"]

    run(test())


def test_a_command_is_shown_without_its_arguments_and_options_are_the_strongest(tmp_path: Path):
    async def test() -> None:
        path = _file(tmp_path)
        shown = await call_process("config", "show", "--json", PARTSTREAM_CONFIG=str(path))
        rows = {row["name"]: row for row in json.loads(shown.output)["settings"]}
        assert rows["apiKeyCommand"]["value"] == ["vault", "***", "***"]

        shown = await call("config", "show", "--json", "--base-url", "https://other/v1", PARTSTREAM_CONFIG=str(path))
        rows = {row["name"]: row for row in json.loads(shown.output)["settings"]}
        assert (rows["baseUrl"]["place"], rows["baseUrl"]["where"]) == ("command line", "--base-url")
        assert rows["apiKeyCommand"]["value"] is None
        assert KEY not in shown.output

    run(test())


def test_a_setting_of_no_use_is_named_with_its_place_and_exit_code_2(tmp_path: Path):
    async def test() -> None:
        path = tmp_path / "mine.toml"
        path.write_text('baseURL = "https://h/v1"\n')
        shown = await call("config", "show", PARTSTREAM_CONFIG=str(path))
        assert shown.code == 2
        assert f"unknown setting 'baseURL' in {path}; did you mean 'baseUrl'?" in shown.errors.replace("\n", "")
        assert "Traceback" not in shown.errors

    run(test())


def test_the_path_of_the_file_is_printed_whether_it_is_there_or_not(tmp_path: Path):
    async def test() -> None:
        named = str(tmp_path / "none.toml")
        shown = await call("config", "path", PARTSTREAM_CONFIG=named)
        assert (shown.code, shown.output) == (0, f"{named}\n")
        relative = await call("config", "path", PARTSTREAM_CONFIG="mine.toml")
        assert relative.code == 2
        assert "absolute path" in relative.errors

    run(test())


def test_chat_takes_what_its_options_leave_out_from_the_file(tmp_path: Path):
    from partstream_devtools.testing.upstream import ReplayUpstream

    async def test() -> None:
        async with ReplayUpstream(token=KEY) as upstream:
            key = tmp_path / "key"
            key.write_text(KEY)
            path = tmp_path / "mine.toml"
            path.write_text(f'baseUrl = "{upstream.base_url}"\napiKeyFile = "{key.as_posix()}"\n')
            chat = await call("chat", "--model", "small", "Hi", PARTSTREAM_CONFIG=str(path))
            assert chat.code == 0, chat.errors
            assert upstream.requests[-1].body["model"] == "small"

    run(test())


def test_the_profile_in_force_is_shown_with_those_that_are_not(tmp_path: Path):
    path = tmp_path / "mine.toml"
    path.write_text('[profiles.work]\nbaseUrl = "https://w/v1"\n[profiles.home]\nbaseUrl = "https://h/v1"\n')

    async def test() -> None:
        variables = {"PARTSTREAM_CONFIG": str(path), "PARTSTREAM_PROFILE": "work"}
        document = json.loads((await call("config", "show", "--json", **variables)).output)
        assert (document["profile"], document["profiles"]) == ("work", ["work", "home"])
        rows = {row["name"]: row for row in document["settings"]}
        assert (rows["baseUrl"]["value"], rows["baseUrl"]["place"]) == ("https://w/v1", "profile")
        assert (rows["profile"]["value"], rows["profile"]["where"]) == ("work", "PARTSTREAM_PROFILE")

        shown = await call("config", "show", "--profile", "home", **variables)
        assert "Profiles: work, home; home is in force." in shown.output
        unknown = await call("config", "show", "--profile", "hom", **variables)
        assert unknown.code == 2
        assert "did you mean home?" in unknown.errors

    run(test())


def test_what_the_server_speaks_is_shown_with_its_reason():
    from partstream_devtools.testing.upstream import ReplayUpstream

    async def test() -> None:
        async with ReplayUpstream() as upstream:
            url = upstream.base_url
            shown = await call("config", "show", "--base-url", url.removesuffix("/v1"))
            document = json.loads((await call("config", "show", "--json", "--base-url", url)).output)
            assert len(upstream.requests) == 8
            forced = await call("config", "show", "--json", "--base-url", url, "--protocol", "openresponses")
            assert len(upstream.requests) == 8
        reason = "/v1/responses answers an empty request (HTTP 400)"
        assert f"{url}: Speaks OpenResponses: {reason}." in shown.output
        expected = {"protocol": "openresponses", "baseUrl": url, "reason": reason, "isCertain": True}
        assert document["detected"] == expected
        assert json.loads(forced.output)["detected"] is None

    run(test())


def test_a_known_host_is_not_asked_and_a_dead_server_is_a_guess():
    async def test() -> None:
        shown = await call("config", "show", "--base-url", "https://api.deepseek.com/chat/completions")
        assert "https://api.deepseek.com: Speaks Chat Completions: api.deepseek.com is DeepSeek;" in shown.output
        dead = await call("config", "show", "--base-url", "http://127.0.0.1:9/v1", PARTSTREAM_API_KEY=KEY)
        assert dead.code == 0
        assert "a guess, as the server does not tell (nothing listens at 127.0.0.1:9)" in dead.output
        assert KEY not in dead.output + dead.errors
        lost = await call("config", "show", "--base-url", "http://127.0.0.1:9/v1", PARTSTREAM_API_KEY_FILE="/nowhere")
        assert lost.code == 0
        assert "protocol is unknown: no key from" in lost.output

    run(test())


def test_what_is_set_is_shown_before_what_has_its_default():
    async def test() -> None:
        shown = await call("config", "show", PARTSTREAM_CITATIONS="off")
        names = [line.split()[0] for line in shown.output.splitlines()]
        assert names[:2] == ["Setting", "citations"]

    run(test())
