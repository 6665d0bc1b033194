"""The pod that `partstream serve --print-kubernetes` prints survives what costs a server most: within its memory, and
with probes that are answered in time. Where the system lets us, its file system is read-only but for its data, and it
has no capabilities, as in the pod."""

import asyncio
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

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


_AS_IN_A_POD = """
mount --make-rprivate / && mount --bind "$PARTSTREAM_DATA" "$PARTSTREAM_DATA" || exit
cut -d' ' -f2 /proc/self/mounts | sort -u | while read -r one; do
  case "$one" in /proc* | /sys* | /dev* | "$PARTSTREAM_DATA") ;; *) mount -o remount,bind,ro "$one" || exit ;; esac
done
exec setpriv --no-new-privs --bounding-set=-all --inh-caps=-all "$@"
"""


def _within():
    """What makes a process as locked up as in the pod; nothing where the system does not let us."""
    if not (shutil.which("unshare") and shutil.which("setpriv")):
        return ()
    is_let = subprocess.run(["unshare", "--mount", "true"], check=False, stderr=subprocess.DEVNULL).returncode == 0
    return ("unshare", "--mount", "sh", "-ec", _AS_IN_A_POD, "sh") if is_let else ()


def _check_locked_up(process_id):
    folder = Path(f"/proc/{process_id}")
    [capabilities] = [line for line in (folder / "status").read_text().splitlines() if line.startswith("CapEff")]
    assert int(capabilities.split()[1], 16) == 0
    roots = [line.split() for line in (folder / "mountinfo").read_text().splitlines() if line.split()[4] == "/"]
    assert "ro" in roots[-1][5].split(",")


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

    security, within = container["securityContext"], _within()
    assert security["readOnlyRootFilesystem"]
    assert security["capabilities"] == {"drop": ["ALL"]}

    async def test():
        async with serving(*kept, within=within) as served:
            if within:
                _check_locked_up(served.process.pid)
            return await replace(hostile).run(served.address, 1)

    found = asyncio.run(test())
    assert found.faults == []
