"""The pod that `partstream serve --print-kubernetes` prints survives what costs a server most: within its memory, and
with probes that are answered in time."""

import asyncio
import sys
from dataclasses import replace

import pytest
import yaml
from click.testing import CliRunner

from benchmarks.soak import scenarios
from benchmarks.soak.process import MODEL, serving
from partstream.cli.serve import command

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="no other system says how much memory was resident")

_UNITS = {"Mi": 1 << 20, "Gi": 1 << 30}
_OF_THE_CLUSTER = {"--host", "--port", "--token-file", "--log"}
"""Options that say where a pod is, which a test is not."""


def _container():
    run = CliRunner().invoke(command, [str(MODEL), "--print-kubernetes"])
    assert run.exit_code == 0, run.output
    [deployment] = [one for one in yaml.safe_load_all(run.output) if one["kind"] == "Deployment"]
    [container] = deployment["spec"]["template"]["spec"]["containers"]
    return container


@pytest.mark.timeout(240)
def test_hostile_bodies_fit_into_the_memory_and_the_probes_of_a_pod(monkeypatch):
    container = _container()
    limit = container["resources"]["limits"]["memory"]
    most = int(limit[:-2]) * _UNITS[limit[-2:]]
    probe = container["livenessProbe"]
    arguments = container["args"][2:]
    kept = [
        one
        for place, one in enumerate(arguments)
        if one not in _OF_THE_CLUSTER and (place == 0 or arguments[place - 1] not in _OF_THE_CLUSTER)
    ]
    monkeypatch.setattr(scenarios, "MOST_MEMORY", most)
    # A busy machine of tests: a pod is ended where this many probes in a row are not answered.
    monkeypatch.setattr(scenarios, "_LONGEST_WAIT", probe["timeoutSeconds"] * probe["failureThreshold"])
    [hostile] = [one for one in scenarios.SCENARIOS if "31 MB" in one.title]

    async def test():
        async with serving(*kept) as served:
            return await replace(hostile).run(served.address, 1)

    found = asyncio.run(test())
    assert found.faults == []
