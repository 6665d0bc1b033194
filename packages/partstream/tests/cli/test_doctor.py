"""`partstream doctor`: what it finds, what it advises, its exit codes, and that it costs nothing."""

import json
import sys
from pathlib import Path
from secrets import token_hex

import pytest

from commands import call, call_process, run
from models.server import ModelServer, serving
from partstream_devtools.testing.faults import document
from partstream_devtools.testing.upstream import ReplayUpstream
from questions import EMPTY, questions
from upstreams.upstreams import server_of

KEY = f"sk-{token_hex(12)}"
LIST = json.dumps({"object": "list", "data": [{"id": "small"}, {"id": "large"}]}).encode()

SERVERS = {
    "all is well": (document(200, LIST), 0, "fine", "lists 2 language models", ""),
    "the key is refused": (document(401, KEY.encode()), 1, "problem", "HTTP 401", "rejected this API key"),
    "no such path": (document(404, b"{}"), 1, "problem", "HTTP 404", "/v1"),
    "something else": (
        document(200, b"<html>", "text/html"),
        1,
        "problem",
        "web page, perhaps a login",
        "login page answers",
    ),
    "broken": (document(500, b"{}"), 1, "problem", "HTTP 500", "the server's log"),
}


@pytest.mark.parametrize(("reply", "code", "verdict", "says", "advice"), SERVERS.values(), ids=SERVERS)
def test_the_server_is_asked_for_its_models_and_else_only_what_costs_nothing(
    reply: tuple, code: int, verdict: str, says: str, advice: str, tmp_path: Path
):
    async def test() -> None:
        async with server_of(reply) as (url, requests):
            options = ("--json", "--base-url", url, "--protocol", "openresponses")
            doctor = await call("doctor", *options, PARTSTREAM_API_KEY=KEY, **_nowhere(tmp_path))
        assert doctor.code == code, doctor.errors
        assert "/v1/models" in {request.path for request in requests if request.method == "GET"}
        assert {request.body for request in requests if request.method == "POST"} <= set(EMPTY)
        assert all(KEY in " ".join(request.headers.values()) for request in requests)
        (finding,) = [one for one in json.loads(doctor.output) if one["subject"] == "server"]
        assert finding["verdict"] == verdict
        assert says in finding["says"]
        assert advice in finding["advice"]
        assert KEY not in doctor.output + doctor.errors

    run(test())


MISSING_KEYS = {
    "a server that is known to need one": (
        "https://api.openai.com/v1",
        200,
        "problem",
        "none is set; OpenAI needs one",
    ),
    "another machine that refuses": ("http://models.example/v1", 401, "warning", "none is set; servers on other"),
    "another machine that answers": ("http://models.example/v1", 200, "fine", "and the server answered without one"),
}


@pytest.mark.parametrize(("url", "status", "verdict", "says"), MISSING_KEYS.values(), ids=MISSING_KEYS)
def test_a_missing_key_is_fine_only_where_the_server_needs_none(
    url: str, status: int, verdict: str, says: str, tmp_path: Path
):
    async def test() -> None:
        async with server_of(document(status, LIST)) as (proxy, _):
            proxies = {"HTTP_PROXY": proxy, "HTTPS_PROXY": "http://127.0.0.1:9", "NO_PROXY": "", "no_proxy": ""}
            proxies |= {name.lower(): value for name, value in proxies.items()}
            options = ("--json", "--allow-insecure-http", "--base-url", url, "--protocol", "openresponses")
            doctor = await call("doctor", *options, **proxies, **_nowhere(tmp_path))
        findings = json.loads(doctor.output)
        (finding,) = [one for one in findings if one["subject"] == "key"]
        assert finding["verdict"] == verdict, findings
        assert says in finding["says"]
        assert ("PARTSTREAM_API_KEY" in finding["advice"]) is (verdict != "fine")
        assert doctor.code == (0 if verdict == "fine" else 1)

    run(test())


def test_a_key_that_only_a_further_list_asks_for_is_looked_at_too(tmp_path: Path):
    async def test() -> None:
        async with server_of(document(200, LIST), document(401, b"{}")) as (url, requests):
            base = url.removesuffix("/v1") + "/v3/ai"
            options = ("--base-url", base, "--protocol", "ai-gateway")
            doctor = await call("doctor", "--json", *options, PARTSTREAM_API_KEY=KEY, **_nowhere(tmp_path))
        assert [request.path for request in requests] == ["/v1/models", "/v3/ai/config"]
        assert doctor.code == 1
        assert "rejected this API key" in json.loads(doctor.output)[-1]["advice"]

    run(test())


def _nowhere(tmp_path: Path) -> dict[str, str]:
    return {"XDG_CONFIG_HOME": str(tmp_path), "APPDATA": str(tmp_path), "HOME": str(tmp_path)}


def test_models_that_are_named_and_not_listed_are_a_warning(tmp_path: Path):
    async def test() -> None:
        async with server_of(document(200, LIST)) as (url, _):
            variables = {"PARTSTREAM_FALLBACKS": '{"large": ["smal"]}', **_nowhere(tmp_path)}
            doctor = await call("doctor", "--base-url", url, **variables)
        assert doctor.code == 0, doctor.errors
        assert "the server does not list smal" in doctor.output

    run(test())


def test_what_is_missing_is_said_in_the_order_in_which_a_request_needs_it(tmp_path: Path):
    async def test() -> None:
        nothing = await call("doctor", **_nowhere(tmp_path))
        assert nothing.code == 1
        assert "--base-url" in nothing.output

        url = "http://127.0.0.1:9/v1"
        variables = {"PARTSTREAM_API_KEY_FILE": str(tmp_path / "key"), **_nowhere(tmp_path)}
        without_key = await call("doctor", "--base-url", url, **variables)
        assert without_key.code == 1
        assert str(tmp_path / "key") in without_key.output
        assert "server" not in without_key.output

        alone = await call("doctor", "--base-url", url, **_nowhere(tmp_path))
        assert alone.code == 1
        assert "check that it is running" in alone.output

        wrong = await call("doctor", "--base-url", url, PARTSTREAM_PROTOCOL="x", **_nowhere(tmp_path))
        assert wrong.code == 2
        assert "PARTSTREAM_PROTOCOL" in wrong.output

    run(test())


def test_plain_http_to_another_machine_is_refused_and_its_setting_named(tmp_path: Path):
    async def test() -> None:
        doctor = await call_process("doctor", "--base-url", "http://10.0.0.1/v1", **_nowhere(tmp_path))
        assert doctor.code == 1
        assert "allowInsecureHttp" in doctor.output

    run(test())


# ---- what the server speaks ----

RESPONSES, CHAT, MODELS = "/v1/responses", "/v1/chat/completions", "/v1/models"
LISTED = {"object": "list", "data": [{"id": "m"}]}

SPOKEN = {
    "both": ((RESPONSES, CHAT), (), "fine", "it speaks OpenResponses (/responses: HTTP 400), and Chat Completions", ""),
    "one of them": (
        (CHAT,),
        (),
        "fine",
        "it speaks Chat Completions (/chat/completions: HTTP 400); it does not speak OpenResponses",
        "",
    ),
    "another than the one that is set": (
        (CHAT,),
        ("--protocol", "openresponses"),
        "problem",
        "it does not speak OpenResponses (/responses: HTTP 404), and speaks Chat Completions",
        "leave `protocol` out, or set it to chat-completions",
    ),
    "none": ((), (), "problem", "it does not speak", ""),
}
MESSAGES = "/v1/messages"
BELOW_THE_HOST = (CHAT, RESPONSES, "/chat/completions", "/responses")
"""Where llama.cpp answers in two of its protocols; in the third it does below /v1 only."""


@pytest.mark.parametrize(("paths", "options", "verdict", "says", "advice"), SPOKEN.values(), ids=SPOKEN)
def test_what_the_server_speaks_is_found_out_by_requests_that_cost_nothing(
    paths: tuple[str, ...], options: tuple[str, ...], verdict: str, says: str, advice: str, tmp_path: Path
):
    async def test() -> None:
        server = ModelServer({MODELS: LISTED}, dict.fromkeys(paths, 400))
        async with serving(server):
            doctor = await call("doctor", "--json", "--base-url", server.url, *options, **_nowhere(tmp_path))
        findings = {one["subject"]: one for one in json.loads(doctor.output)}
        assert findings["endpoint"]["verdict"] == verdict, doctor.output
        assert says in findings["endpoint"]["says"]
        assert advice in findings["endpoint"]["advice"]
        assert doctor.code == (1 if verdict == "problem" else 0)
        assert {request.body for request in server.requests if request.method == "POST"} == set(EMPTY)

    run(test())


@pytest.mark.parametrize(
    ("protocol", "paths", "lists"),
    [
        ("anthropic-messages", (*BELOW_THE_HOST, MESSAGES), MODELS),
        ("anthropic-messages", (*BELOW_THE_HOST, MESSAGES), "/models"),
        ("openresponses", (CHAT, "/chat/completions", RESPONSES), MODELS),
        ("chat-completions", (RESPONSES, "/responses", CHAT), MODELS),
    ],
)
def test_the_place_of_a_protocol_that_is_set_is_found_although_others_answer_below_the_host(
    protocol: str, paths: tuple[str, ...], lists: str, tmp_path: Path
):
    async def test() -> None:
        server = ModelServer({lists: LISTED}, dict.fromkeys(paths, 400))
        async with serving(server):
            host = server.url.removesuffix("/v1")
            named = ("--base-url", host, "--protocol", protocol)
            doctor = await call("doctor", "--json", *named, **_nowhere(tmp_path))
            chat = await call("chat", "--model", "m", "Hello", *named, **_nowhere(tmp_path))
        findings = {one["subject"]: one for one in json.loads(doctor.output)}
        assert findings["endpoint"]["advice"] == f"did you mean {server.url}?"
        assert f"did you mean {server.url}?" in chat.errors

    run(test())


@pytest.mark.parametrize("base_path", ["", "/v1"])
@pytest.mark.parametrize("has_tools", [False, True])
def test_tools_that_llama_cpp_leaves_out_of_every_prompt_are_a_warning(base_path: str, has_tools: bool, tmp_path: Path):
    props = {"default_generation_settings": {}, "chat_template_caps": {"supports_tools": has_tools}}
    listed = {"object": "list", "data": [{"id": "m", "object": "model", "owned_by": "llamacpp"}]}

    async def test() -> None:
        paths = dict.fromkeys(BELOW_THE_HOST, 400)
        server = ModelServer({MODELS: listed, "/models": listed, "/props": props}, paths)
        async with serving(server):
            url = server.url.removesuffix("/v1") + base_path
            doctor = await call("doctor", "--json", "--base-url", url, **_nowhere(tmp_path))
        told = [one for one in json.loads(doctor.output) if one["subject"] == "tools"]
        assert [(one["verdict"], one["says"].partition(",")[0]) for one in told] == (
            [] if has_tools else [("warning", "the chat template of m names none")]
        )
        assert doctor.code == 0

    run(test())


def test_a_server_that_lists_no_models_is_fine_where_its_endpoint_is_there(tmp_path: Path):
    async def test() -> None:
        server = ModelServer({}, {CHAT: 422})
        async with serving(server):
            doctor = await call("doctor", "--json", "--base-url", server.url, **_nowhere(tmp_path))
        findings = {one["subject"]: one for one in json.loads(doctor.output)}
        assert doctor.code == 0, doctor.output
        assert (findings["server"]["verdict"], findings["endpoint"]["verdict"]) == ("warning", "fine")
        assert "name those that you want in `models`" in findings["server"]["advice"]

    run(test())


NO_MODELS = {
    "a list without models": ({"/v1/models": {"object": "list", "data": []}}, 0, "lists no language models"),
    "no list at all": ({}, 3, "its models answer there all the same"),
}


@pytest.mark.parametrize(("documents", "code", "says"), NO_MODELS.values(), ids=NO_MODELS)
def test_where_no_model_is_listed_it_is_said_to_name_models(
    tmp_path: Path, documents: dict[str, object], code: int, says: str
):
    async def test() -> None:
        server = ModelServer(documents, {CHAT: 422})
        async with serving(server):
            doctor = await call("doctor", "--base-url", server.url, **_nowhere(tmp_path))
            models = await call("models", "--base-url", server.url, **_nowhere(tmp_path))
        assert "warning server: it answers, and lists no models\n         name those that you" in doctor.output
        assert models.code == code, models.output
        assert says in models.output + models.errors
        assert "name those that you want in `models`" in models.output + models.errors

    run(test())


# ---- asking the model ----


def test_a_model_is_asked_only_when_somebody_wants_it(tmp_path: Path):
    async def test() -> None:
        async with ReplayUpstream(token=KEY) as upstream:
            options = ("--json", "--base-url", upstream.base_url, "--model", "text")
            variables = {"PARTSTREAM_API_KEY": KEY, **_nowhere(tmp_path)}
            free = await call("doctor", *options, **variables)
            assert "model" not in {one["subject"] for one in json.loads(free.output)}
            asked = await call("doctor", *options, "--ask", **variables)
            (finding,) = [one for one in json.loads(asked.output) if one["subject"] == "model"]
            assert (asked.code, finding["verdict"]) == (0, "fine")
            assert "text answers, for" in finding["says"]
            assert "no model was asked" in free.output
            assert "no model was asked" not in asked.output
            paid = questions(upstream)
            assert [request.body["max_output_tokens"] for request in paid] == [16]

    run(test())


def test_what_the_model_answers_wrong_is_a_problem_in_the_servers_own_words(tmp_path: Path):
    async def test() -> None:
        async with ReplayUpstream() as upstream:
            options = ("--json", "--base-url", upstream.base_url, "--ask")
            failed = await call("doctor", *options, "--model", "failed", **_nowhere(tmp_path))
            (finding,) = [one for one in json.loads(failed.output) if one["subject"] == "model"]
            assert (failed.code, finding["verdict"]) == (1, "problem")
            assert finding["says"].startswith("failed was asked, and ")

            nameless = await call("doctor", *options, **_nowhere(tmp_path))
            (finding,) = [one for one in json.loads(nameless.output) if one["subject"] == "model"]
            assert (nameless.code, finding["verdict"]) == (1, "problem")
            assert "--model" in finding["advice"]

        unreachable = await call("doctor", *options, "--model", "text", **_nowhere(tmp_path))
        findings = {one["subject"]: one for one in json.loads(unreachable.output)}
        assert findings["model"]["says"] == "text was not asked"
        assert findings["server"]["verdict"] == "problem"

    run(test())


def test_an_answer_of_nothing_but_thinking_that_was_cut_shows_that_the_model_works(tmp_path: Path):
    async def test() -> None:
        async with ReplayUpstream() as upstream:
            options = ("--json", "--base-url", upstream.base_url, "--ask", "--model", "incomplete")
            doctor = await call("doctor", *options, **_nowhere(tmp_path))
            findings = {one["subject"]: one for one in json.loads(doctor.output)}
            assert findings["model"]["verdict"] == "fine", doctor.output

    run(test())


# The text of the user's settings, None for no file; what is said.
HARNESSES = {
    "no settings": (None, "chat.agentHost.byokModels.enabled is off"),
    "settings with comments": (
        '{\n  // models\n  "chat.agentHost.byokModels.enabled": true,\n}',
        "chat.agentHost.allowSignedOutWhenUsable is off",
    ),
    "both": (
        '{"chat.agentHost.byokModels.enabled": true, "chat.agentHost.allowSignedOutWhenUsable": true}',
        "with an account and without one",
    ),
    "a broken file": ("{", "chat.agentHost.byokModels.enabled is off"),
}


@pytest.mark.skipif(sys.platform in {"win32", "darwin"}, reason="the settings are elsewhere")
@pytest.mark.parametrize(("settings", "says"), HARNESSES.values(), ids=HARNESSES)
def test_where_the_extension_is_installed_the_copilot_harness_is_named(settings: str | None, says: str, tmp_path: Path):
    source = tmp_path / "parrot.py"
    source.write_text(
        "from partstream import chat_model\n\n\n@chat_model(name='Parrot')\n"
        "async def provider(messages, options):\n    yield 'Pieces of eight'\n"
    )
    home = tmp_path / "home"
    (home / ".vscode" / "extensions" / "partstream.partstream-0.1.0").mkdir(parents=True)
    (home / "config" / "Code" / "User").mkdir(parents=True)
    if settings is not None:
        (home / "config" / "Code" / "User" / "settings.json").write_text(settings)
    places = {"HOME": str(home), "XDG_CONFIG_HOME": str(home / "config")}
    command = ("doctor", "--json", "--provider", str(source))

    async def test() -> None:
        findings = json.loads((await call(*command, **places)).output)
        last = findings[-1]
        assert (last["subject"], last["verdict"]) == ("Copilot harness of VS Code", "fine")
        assert says in last["says"]
        (home / ".vscode" / "extensions" / "partstream.partstream-0.1.0").rmdir()
        assert json.loads((await call(*command, **places)).output) == findings[:-1]

    run(test())


@pytest.mark.parametrize(
    ("paths", "says"),
    [
        pytest.param(
            (CHAT, "/v1/completions"),
            "m is completed by `/completions` with a suffix (HTTP 400); where it refuses that, by a chat that is"
            " asked to edit",
            id="suffix, which vLLM refuses though the endpoint is there",
        ),
        pytest.param((CHAT,), "m is completed by a chat that is asked to edit", id="none"),
    ],
)
def test_how_text_at_a_cursor_is_completed_is_found_out_too(paths: tuple[str, ...], says: str, tmp_path: Path):
    async def test() -> None:
        server = ModelServer({MODELS: LISTED}, dict.fromkeys(paths, 400))
        async with serving(server):
            doctor = await call("doctor", "--json", "--base-url", server.url, **_nowhere(tmp_path))
        [finding] = [one for one in json.loads(doctor.output) if one["subject"] == "completions"]
        assert (finding["verdict"], finding["says"]) == ("fine", says)
        assert {request.body for request in server.requests if request.method == "POST"} == set(EMPTY)

    run(test())
