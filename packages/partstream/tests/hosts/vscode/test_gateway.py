"""A group without a provider file: the built-in gateway, in the real process, against a real upstream."""

import asyncio
import threading
from contextlib import contextmanager

import pytest

from partstream.vscode.gateway import GatewayLoader, GatewaySurroundings, editor_settings
from partstream_devtools.testing.upstream import ReplayUpstream

from .sidecar import PATIENCE, running, running_process

KEY = "sk-test-0123456789"


@contextmanager
def serving(**settings):
    """A replay upstream in a thread of its own."""
    started, stop = threading.Event(), threading.Event()
    found = []

    async def serve():
        async with ReplayUpstream(**settings) as upstream:
            found.append(upstream)
            started.set()
            await asyncio.to_thread(stop.wait, PATIENCE * 2)

    thread = threading.Thread(target=asyncio.run, args=(serve(),), daemon=True)
    thread.start()
    assert started.wait(PATIENCE)
    try:
        yield found[0]
    finally:
        stop.set()
        thread.join(PATIENCE)


def group_of(upstream, **configuration):
    models = [{"id": "text", "name": "Text", "family": "test", "maxInputTokens": 1000}]
    settings = {"baseUrl": upstream.base_url, "models": models, "discover": False}
    return {"id": "g", "configuration": {**settings, **configuration}}


def test_a_gateway_group_lists_its_models_under_their_own_ids_and_answers():
    with serving(token=KEY) as upstream, running() as sidecar:
        group = group_of(upstream, apiKey=KEY, provider="")
        assert [model["id"] for model in sidecar.information(group)["models"]] == ["text"]
        request_id = sidecar.respond("text", "Hello", group=group)
        assert sidecar.wait(request_id).error is None
        [end] = sidecar.call("languageModels/diagnostics")["answers"]
        assert (end["finishReason"], end["answeredBy"]) == ("stop", "text")
        assert end["responseId"].startswith("resp_")
        assert sidecar.text(request_id)
        [usage] = sidecar.usages(request_id)
        assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
        assert "partstream_source" not in usage  # it is the upstream's own


def test_a_restarted_sidecar_answers_a_group_that_it_was_never_asked_to_list():
    with serving() as upstream, running() as sidecar:
        request_id = sidecar.respond("text", "Hello", group=group_of(upstream))
        assert sidecar.wait(request_id).error is None


def test_a_changed_configuration_takes_effect_at_once():
    with serving(token=KEY) as upstream, running() as sidecar:
        refused = sidecar.respond("text", "Hello", group=group_of(upstream, apiKey="another-key"))
        data = sidecar.wait(refused).error["data"]
        assert (data["code"], data["httpStatus"], data["kind"]) == ("NoPermissions", 401, "UpstreamHTTPError")
        served = sidecar.respond("text", "Hello", group=group_of(upstream, apiKey=KEY))
        assert sidecar.wait(served).error is None


def test_a_wait_before_the_next_attempt_is_told_with_its_reason_and_seconds():
    with serving(fault="status_then_ok=1:429:1") as upstream, running() as sidecar:
        request_id = sidecar.respond("text", "Hello", group=group_of(upstream))
        assert sidecar.wait(request_id).error is None
        values = [
            message.params["value"]
            for message in list(sidecar.messages)
            if getattr(message, "method", None) == "$/progress" and message.params["token"] == request_id
        ]
        assert values[0]["parts"] == []
        assert values[0]["wait"]["seconds"] == 1
        assert "HTTP 429" in values[0]["wait"]["reason"]
        assert all(value["parts"] and "wait" not in value for value in values[1:])


def test_cancel_closes_the_connection_to_the_upstream():
    with serving(pace=0.05) as upstream, running() as sidecar:
        request_id = sidecar.respond("text", "Hello", group=group_of(upstream))
        sidecar.until(lambda _: sidecar.text(request_id))
        sidecar.notify("$/cancelRequest", {"id": request_id})
        assert sidecar.wait(request_id).error["code"] == -32800
        sidecar.until_true(lambda: upstream.exchanges[-1].delivery.outcome == "client_closed")


@pytest.mark.parametrize(
    ("configuration", "message"),
    [
        ({}, "setting baseUrl: got nothing"),
        ({"baseUrl": "ftp://x"}, "setting baseUrl: got 'ftp://x'"),
        ({"baseUrl": "http://x", "apiKey": f"{KEY}\n"}, "setting apiKey: got characters that no HTTP header can hold"),
    ],
)
def test_a_wrong_setting_is_said_beside_the_group(configuration, message):
    with running() as sidecar:
        result = sidecar.information({"id": "g", "configuration": configuration})
        assert result["models"] == []
        [error] = result["errors"]
        assert error["message"].startswith(message)


def test_a_key_reaches_neither_the_log_nor_an_error(tmp_path):
    path = tmp_path / "leaky.py"
    path.write_text(f"""
import logging
from partstream.runtime.simple import chat_model

@chat_model(name="Leaky")
async def provider(messages, options):
    logging.warning("the key is %s", "{KEY}")
    raise ValueError("refused: {KEY}")
    yield
""")
    group = {"id": "g", "configuration": {"provider": str(path), "apiKey": KEY, "headers": {"x-auth": f"Bearer {KEY}"}}}
    with running_process() as sidecar:
        error = sidecar.wait(sidecar.respond("provider", "Hello", group=group)).error
        assert error["message"] == f"the provider leaky failed: ValueError: refused: [redacted] ({path}:8)"
        sidecar.until_logged("the key is [redacted]")
        sidecar.until_logged("ValueError: refused: [redacted]")
        sidecar.notify("exit")
        sidecar.end()
        assert KEY not in str(sidecar.messages) + sidecar.errors


def test_the_representation_of_a_gateway_shows_its_host_and_no_key():
    loader = GatewayLoader({"baseUrl": "https://models.example.com/v1", "apiKey": KEY, "headers": {"k": KEY}})
    assert repr(loader) == "<gateway to models.example.com>"


def test_a_key_from_a_file_serves_a_group_and_is_in_nothing_that_the_sidecar_says(tmp_path):
    path = tmp_path / "key"
    path.write_text(KEY)
    with serving(token=KEY) as upstream, running_process() as sidecar:
        group = group_of(upstream, apiKeyFile=str(path))
        request_id = sidecar.respond("text", "Hello", group=group)
        assert sidecar.wait(request_id).error is None
        # The model's words are the person's; the sidecar's log of them is not.
        refused = sidecar.respond("text", f"fault:status=400 {KEY}", group=group)
        assert sidecar.wait(refused).error is not None
        broken = sidecar.respond("text", "Hello", group={**group, "configuration": {**group["configuration"], KEY: 1}})
        assert KEY not in str(sidecar.wait(broken).error)
        assert KEY not in sidecar.logs() + sidecar.errors


def test_a_setting_of_no_use_is_named_in_the_list_of_the_group():
    with serving() as upstream, running() as sidecar:
        answer = sidecar.information(group_of(upstream, timeouts={"idle": "long"}))
        assert answer["models"] == []
        assert "timeouts.idle" in answer["errors"][0]["message"]


def test_an_unknown_setting_is_a_warning_beside_the_models_and_the_rest_of_the_group_works():
    with serving(token=KEY) as upstream, running() as sidecar:
        group = group_of(upstream, apiKey=KEY, timeouts={"idel": 5}, temprature=1)
        result = sidecar.information(group)
        assert result["errors"] == []
        [model] = result["models"]
        said = "unknown setting 'idel' in timeouts; did you mean 'idle'?"
        for place in (model["tooltip"], *model["extra"]["warningText"].values()):
            assert said in place
            assert "unknown setting 'temprature' in the VS Code group" in place
        assert model["extra"]["statusIcon"] == {"id": "warning"}
        sidecar.until_logged(said)
        assert sidecar.wait(sidecar.respond("text", "Hello", group=group)).error is None
        [model] = sidecar.information(group_of(upstream, apiKey=KEY))["models"]
        assert "warningText" not in model["extra"]


def test_each_group_says_how_much_of_it_is_logged():
    with serving() as upstream, running() as sidecar:
        for level, logged in (("debug", {"debug", "info"}), ("error", set()), (None, {"info"})):
            group = group_of(upstream, **({} if level is None else {"logLevel": level}))
            group["id"] = f"g-{level}"
            sidecar.information(group)
            before = len(sidecar.messages)
            assert sidecar.wait(sidecar.respond("text", "Hello", group=group)).error is None
            # A line that comes behind what the answer logged: the log is in order.
            sidecar.notify("partstream/unknown")
            sidecar.until_true(lambda start=before: "partstream/unknown" in str(sidecar.messages[start:]))
            lines = [message.params for message in sidecar.messages[before:] if getattr(message, "method", "") == "log"]
            assert {line["level"] for line in lines if line["source"] == "partstream.upstreams"} == logged, level


def test_the_stamp_follows_the_users_file(tmp_path):
    path = tmp_path / "mine.toml"
    loader = GatewayLoader({}, GatewaySurroundings(environment={"PARTSTREAM_CONFIG": str(path)}))
    without = loader.stamp()
    path.write_text("[timeouts]\nidle = 5\n")
    assert loader.stamp() != without


def test_vs_codes_proxy_is_a_setting_and_the_groups_own_is_stronger(tmp_path):
    editor = editor_settings({"providers": [], "proxy": "http://editor:1", "proxyStrictSSL": False})
    surroundings = GatewaySurroundings(editor, environment={"XDG_CONFIG_HOME": str(tmp_path)})
    for group, expected in (({}, "http://editor:1"), ({"proxy": "http://group:1"}, "http://group:1")):
        provider = GatewayLoader({"baseUrl": "https://h/v1", **group}, surroundings).load()
        assert (provider.configuration.proxy, provider.configuration.verify_certificates) == (expected, False)


def _traced(sidecar, group):
    """Whether an answer of a group is traced."""
    before = len(sidecar.messages)
    request_id = sidecar.respond("text", "Hello", group=group)
    assert sidecar.wait(request_id).error is None
    sidecar.call("languageModels/counting")  # whatever is logged of the answer has come by now
    logged = [message for message in sidecar.messages[before:] if getattr(message, "method", "") == "log"]
    return "trace" in {message.params["level"] for message in logged}


def test_the_level_of_the_output_channel_and_that_of_a_group_say_whether_an_answer_is_traced():
    with serving() as upstream, running() as sidecar:
        plain = group_of(upstream)
        assert not _traced(sidecar, plain)
        sidecar.notify("setLogLevel", {"level": "trace"})
        assert _traced(sidecar, plain)
        assert not _traced(sidecar, group_of(upstream, logLevel="debug"))
        sidecar.notify("setLogLevel", {"level": "info"})
        assert not _traced(sidecar, plain)
        assert _traced(sidecar, group_of(upstream, logLevel="trace"))
        sidecar.notify("setLogLevel", {"level": "loud"})
        sidecar.until_logged("ignored the notification 'setLogLevel'")
        assert not _traced(sidecar, plain)


def test_a_process_that_was_started_again_traces_its_first_answer_when_it_is_told_the_level_behind_initialize():
    with serving() as upstream, running() as sidecar:
        sidecar.notify("setLogLevel", {"level": "trace"})
        assert _traced(sidecar, group_of(upstream))


def _logged(sidecar):
    return [message.params for message in list(sidecar.messages) if getattr(message, "method", "") == "log"]


def test_a_failed_answer_is_logged_once_with_what_finds_it_at_its_server():
    with serving(token=KEY, fault="status=429:2") as upstream, running() as sidecar:
        group = group_of(upstream, apiKey=KEY, retry={"attempts": 1})
        request_id = sidecar.respond("text", "Hello", group=group)
        assert sidecar.wait(request_id).error["data"]["httpStatus"] == 429
        sidecar.until_logged("could not answer")
        failures = [one for one in _logged(sidecar) if "HTTP 429" in one["message"]]
        assert len(failures) == 1
        assert failures[0]["level"] == "error"
        message = failures[0]["message"]
        assert "(code rate_limit_exceeded, retry after 2 s" in message
        assert "\n    body: {" in message
        assert KEY not in message


def test_a_list_that_fails_is_logged_once():
    with serving(token=KEY) as upstream, running() as sidecar:
        group = {"id": "g", "configuration": {"baseUrl": upstream.base_url, "apiKey": "another-key"}}
        assert sidecar.information(group)["errors"]
        sidecar.until_logged("could not list its models")
        assert len([one for one in _logged(sidecar) if "HTTP 401" in one["message"] and one["level"] == "error"]) == 1


def test_the_log_says_the_tokens_that_an_answer_took_beside_those_that_were_expected():
    with serving() as upstream, running() as sidecar:
        request_id = sidecar.respond("text", "Hello", group=group_of(upstream))
        [usage] = sidecar.wait(request_id) and sidecar.usages(request_id)
        sidecar.until_logged("were expected")
        [line] = [one["message"] for one in _logged(sidecar) if "were expected" in one["message"]]
        assert line.startswith(f"text took {usage['prompt_tokens']} tokens where ")
        assert f"and gave {usage['completion_tokens']}; factor " in line
        assert ", before 1.000" in line
