"""`partstream serve --on ray`, as far as it goes without Ray: the plan as a file, and the application of a replica."""

import asyncio
import os
import subprocess
import sys

import pytest
import yaml
from click.testing import CliRunner

from partstream.cli.serve import command
from partstream.cli.serve_plan import ServePlan
from partstream.errors import to_install
from partstream.runtime.demo_provider import DemoProvider
from partstream_hub.commands_deploy import replica_application
from serving.asgi import ask

TOKEN = "a-token-of-the-tests"  # noqa: S105 - of no server but these
OPTIONS = {"store_file": None, "no_store": True, "store_days": 30.0, "drain_seconds": 0.0, "body_bytes": None}


@pytest.fixture
def plan(monkeypatch, tmp_path):
    monkeypatch.setenv("PARTSTREAM_SERVE_TOKEN", TOKEN)
    monkeypatch.setenv("PARTSTREAM_DATA", str(tmp_path))
    monkeypatch.setenv("PARTSTREAM_LEDGER", "false")
    return ServePlan(demo=True, host="127.0.0.1", port=8642, options=OPTIONS)


def test_the_file_for_ray_holds_the_options_and_no_key(tmp_path):
    arguments = ["model.py:mine", "--demo", "--drain-seconds", "7", "--store-file", "answers", "--print-ray-config"]
    printed = CliRunner(env={"PARTSTREAM_SERVE_TOKEN": TOKEN}).invoke(command, arguments)
    assert printed.exit_code == 0
    assert TOKEN not in printed.output
    file = yaml.safe_load(printed.output)
    assert file["http_options"] == {"host": "127.0.0.1", "port": 8642}
    [application] = file["applications"]
    module, _, name = application["import_path"].partition(":")
    assert hasattr(__import__(module, fromlist=[name]), name)
    plan = ServePlan.of_values(application["args"])
    assert plan.sources == (f"{os.getcwd()}/model.py:mine",)
    assert plan.settings_number("drain_seconds") == 7
    assert str(plan.options["store_file"]) == "answers"


def test_a_plan_as_values_is_the_same_plan(plan):
    given = {name: one for name, one in OPTIONS.items() if one is not None}
    again = ServePlan.of_values(yaml.safe_load(yaml.safe_dump(plan.as_values())))
    assert {**again.options, "store_file": None} == {**given, "store_file": None}
    assert plan.settings_number("body_bytes") == 32 * 1024 * 1024


def test_a_replica_serves_what_runs_in_it_and_elsewhere_from_the_beginning_of_its_life_to_the_end(plan):
    closed = []

    class Closing(DemoProvider):
        async def aclose(self):
            closed.append("closed")

    async def main():
        application = replica_application({"far": Closing()}, plan)
        with pytest.raises(RuntimeError, match="before the life"):
            await ask(application, "/healthz", method="GET")
        told, said = asyncio.Queue(), asyncio.Queue()
        living = asyncio.create_task(application({"type": "lifespan"}, told.get, said.put))
        await told.put({"type": "lifespan.startup"})
        assert (await said.get())["type"] == "lifespan.startup.complete"
        headers = {"authorization": f"Bearer {TOKEN}"}
        models = await ask(application, "/v1/models", headers=headers, method="GET")
        assert [one["id"] for one in models.json["data"]] == ["demo", "demo/demo"]
        assert (await ask(application, "/v1/models", method="GET")).status == 401
        await application.drain(0)
        assert (await ask(application, "/readyz", method="GET")).status == 503
        await told.put({"type": "lifespan.shutdown"})
        assert (await said.get())["type"] == "lifespan.shutdown.complete"
        assert closed == ["closed"], "Ray ends the process as soon as this is said"
        await living

    async def bounded():
        async with asyncio.timeout(30):
            await main()

    asyncio.run(bounded())


def test_what_ray_needs_is_said_where_it_is_missing():
    code = "import sys; sys.modules['ray'] = None; from partstream.cli import main; main()"
    arguments = ["serve", "--demo", "--on", "ray"]
    env = {**os.environ, "XDG_CONFIG_HOME": os.devnull}
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=30, check=False, env=env
    )
    assert done.returncode == 2
    assert to_install("serve", "ray") in " ".join(done.stderr.split())
