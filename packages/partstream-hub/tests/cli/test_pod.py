"""The pods that `partstream serve --print-kubernetes` prints survive what costs a server most, a hub too: within their
memory, and with probes that are answered in time.

Where the system lets us, all of the pod is as it is printed: its user and groups, a root that is read-only and has
nothing but what the program needs, its volumes with their sizes and modes, no capabilities and no new ones, the
variables that are printed and no other. The database of the hub is a real Postgres. Its network, the seccomp profile of
the runtime and its kubelet are not there.
"""

import asyncio
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from benchmarks.soak import scenarios
from benchmarks.soak.client import ask, facts, open_answer, read_reply, request
from benchmarks.soak.process import MODEL, serving
from hub.hubs import budget, person
from hub.stores import HubDatabase
from interop.servers.postgres import NoPostgresError, PostgresServer
from partstream.cli.serve import command
from partstream.tokens.amounts import BudgetUnit, Period

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="no other system says how much memory was resident"),
    pytest.mark.timeout(240),
]

PROJECT = Path(__file__).resolve().parents[4]
_UNITS = {"Mi": 1 << 20, "Gi": 1 << 30}
_OF_THE_CLUSTER = ("--host", "--port", "--log")
"""Options that say where a pod is, which a test is not."""
_SIGNING_KEY = "a-signing-key-of-the-secret-0123456789"


# ---- The pod, as it is printed ----


@dataclass(frozen=True)
class Pod:
    """A pod that is printed, and what its cluster has for it.

    Attributes:
        spec: What is printed of it.
        key: What its clients present; None for a token that is made for it.
        variables: The variables that its Secret gives it.
    """

    spec: dict[str, Any]
    key: str | None
    variables: dict[str, str]

    @property
    def container(self) -> dict[str, Any]:
        """The one that it has."""
        [one] = self.spec["containers"]
        return one

    @property
    def options(self) -> list[str]:
        """Its arguments after `serve` and the provider, without those of its cluster."""
        arguments = self.container["args"][2:]
        without = list(_OF_THE_CLUSTER) if _unshared() else [*_OF_THE_CLUSTER, "--token-file"]
        pairs = zip(["", *arguments], arguments, strict=False)
        return [one for before, one in pairs if one not in without and before not in without]

    @property
    def most_memory(self) -> int:
        """In bytes."""
        limit = self.container["resources"]["limits"]["memory"]
        return int(limit[:-2]) * _UNITS[limit[-2:]]

    @property
    def probe_seconds(self) -> float:
        """How long a pod may be silent: a busy machine of tests answers seldom within one probe of many."""
        probe = self.container["livenessProbe"]
        return float(probe["timeoutSeconds"] * probe["failureThreshold"])


def _spec_of(*options: str) -> dict[str, Any]:
    run = CliRunner().invoke(command, [str(MODEL), *options, "--print-kubernetes"])
    assert run.exit_code == 0, run.output
    [deployment] = [one for one in yaml.safe_load_all(run.output) if one["kind"] == "Deployment"]
    spec: dict[str, Any] = deployment["spec"]["template"]["spec"]
    return spec


@contextmanager
def _hub() -> Iterator[Pod]:
    """A pod of a hub on a Postgres of its own, and a person whose answers are reserved and charged."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    try:
        server = PostgresServer.made(port)
    except NoPostgresError as error:
        pytest.skip(f"without a Postgres: {error}")
    with server.guard():
        server.start()
        database = HubDatabase("postgres", server.address())
        known, changes = person("ada", is_admin=True)
        paid = budget("ada", 10**12, unit=BudgetUnit.TOKENS, period=Period.DAY)
        database.migrated().change([*changes, paid], "test")
        yield Pod(_spec_of("--hub"), known.key.secret.reveal(), {"PARTSTREAM_HUB_DATABASE": server.address()})
        database.close()


@pytest.fixture(params=["a token", "a hub"])
def pod(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pod]:
    """Each kind of pod."""
    if request.param == "a token":
        yield Pod(_spec_of(), None, {})
        return
    with _hub() as made:
        for name, value in made.variables.items():
            monkeypatch.setenv(name, value)
        yield made


# ---- What locks a process up as in the pod ----


def _unshared() -> bool:
    """Whether the system lets us make what a process sees."""
    programs = ("unshare", "setpriv", "chroot", "mount")
    return all(map(shutil.which, programs)) and not (
        subprocess.run(["unshare", "--mount", "true"], check=False, stderr=subprocess.DEVNULL).returncode
    )


def _within(pod: Pod) -> tuple[str, ...]:
    """What makes a process as locked up as in the pod: a command before its own. Nothing where the system does not let
    us."""
    if not _unshared():
        return ()
    return "unshare", "--mount", "sh", "-euc", "\n".join(_steps(pod)), "sh"


def _shown(places: Iterable[str]) -> Iterator[str]:
    for place in places:
        yield f'mkdir -p "$root{place}"; mount --bind {place} "$root{place}"; mount -o remount,bind,ro "$root{place}"'


def _steps(pod: Pod) -> Iterator[str]:
    """The steps of a shell, in a space of its own for mounts; its last one becomes the process."""
    of_pod, of_container = pod.spec["securityContext"], pod.container["securityContext"]
    user, group, shared = (of_pod[name] for name in ("runAsUser", "runAsGroup", "fsGroup"))
    yield 'mount --make-rprivate /; root="$PARTSTREAM_DATA"; mount -t tmpfs -o mode=755 root "$root"'
    read = [one for one in ("/usr", "/bin", "/lib", "/lib64", "/etc") if Path(one).exists()]
    yield from _shown(read)
    yield 'mkdir -p "$root/proc" "$root/dev"; mount --bind /proc "$root/proc"'
    for device in ("null", "zero", "random", "urandom"):
        yield f'touch "$root/dev/{device}"; mount --bind /dev/{device} "$root/dev/{device}"'
    volumes = {one["name"]: one for one in pod.spec["volumes"]}
    for mount in pod.container["volumeMounts"]:
        volume, place = volumes[mount["name"]], f'"$root{mount["mountPath"]}"'
        if "emptyDir" in volume:  # for its group, as a kubelet makes it
            size = volume["emptyDir"]["sizeLimit"].removesuffix("i")
            yield f"mkdir -p {place}; mount -t tmpfs -o size={size},mode=2777,gid={shared} empty {place}"
            continue
        mode = f"{volume['secret']['defaultMode']:o}"
        of_file = f"chgrp {shared} {place}; chmod {mode} {place}"
        if key := mount.get("subPath"):
            yield f"mkdir -p $(dirname {place}); printf %s {shlex.quote(_SIGNING_KEY)} > {place}; {of_file}"
            yield f"mount --bind {place} {place}; mount -o remount,bind,ro {place}"
            assert key == "signing-key"
            continue
        yield f'mkdir -p {place}/..one; printf %s "$PARTSTREAM_SERVE_TOKEN" > {place}/..one/token'
        yield of_file.replace(place, f"{place}/..one/token")
        yield f"ln -s ..one {place}/..data; ln -s ..data/token {place}/token"
    # After the volumes: a clone in /tmp would be below one of them.
    yield from _shown(dict.fromkeys([str(PROJECT), sys.prefix, sys.base_prefix]))
    assert of_container == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert of_pod["runAsNonRoot"]
    said = {one["name"]: one.get("value", pod.variables.get(one["name"])) for one in pod.container["env"]}
    assert None not in said.values()
    variables = " ".join(f"{name}={shlex.quote(value)}" for name, value in said.items())
    yield 'mount -o remount,ro "$root"; cd /'
    rights = f"--reuid {user} --regid {group} --groups {shared} --no-new-privs --bounding-set=-all --inh-caps=-all"
    yield f'exec chroot "$root" setpriv {rights} env -i PATH={os.defpath} {variables} "$@"'


def _check_locked_up(process_id: int, pod: Pod) -> None:
    folder = Path(f"/proc/{process_id}")
    facts_of = dict(line.split(":\t", 1) for line in (folder / "status").read_text().splitlines() if ":\t" in line)
    user = str(pod.spec["securityContext"]["runAsUser"])
    assert set(facts_of["Uid"].split()) == set(facts_of["Gid"].split()) == set(facts_of["Groups"].split()) == {user}
    assert {int(facts_of[name], 16) for name in ("CapEff", "CapPrm", "CapBnd", "CapAmb")} == {0}
    assert facts_of["NoNewPrivs"] == "1"
    mounts = [line.split() for line in (folder / "mountinfo").read_text().splitlines()]
    written = {one[4] for one in mounts if "ro" not in one[5].split(",") and not one[4].startswith(("/proc", "/dev"))}
    volumes = {one["name"]: one for one in pod.spec["volumes"]}
    empty = {one["mountPath"] for one in pod.container["volumeMounts"] if "emptyDir" in volumes[one["name"]]}
    assert written == empty


# ---- The tests ----


def test_hostile_bodies_fit_into_the_memory_and_the_probes_of_a_pod(pod: Pod, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(scenarios, "MOST_MEMORY", pod.most_memory)
    monkeypatch.setattr(scenarios, "_LONGEST_WAIT", pod.probe_seconds)
    [hostile] = [one for one in scenarios.SCENARIOS if "31 MB" in one.title]

    async def test() -> scenarios.Findings:
        async with serving(*pod.options, within=_within(pod), token=pod.key) as served:
            found = await replace(hostile).run(served.address, 1)
            assert (await ask(served.address, request(served.address, "events=3"))).is_ended
            return found

    assert asyncio.run(test()).faults == []


def test_in_the_whole_pod_it_answers_is_ready_and_ends_when_it_is_told_to(pod: Pod):
    if not _unshared():
        pytest.skip("no process here may choose what another sees of the files: a pod cannot be imitated")

    async def test() -> None:
        async with serving(*pod.options, within=_within(pod), token=pod.key) as served:
            _check_locked_up(served.process.pid, pod)
            reply = await ask(served.address, request(served.address, "events=5"))
            assert (reply.status, reply.is_ended, reply.events) == (200, True, 5)
            for path in (pod.container["readinessProbe"], pod.container["livenessProbe"]):
                head = f"GET {path['httpGet']['path']} HTTP/1.1\r\nHost: pod\r\nConnection: close\r\n\r\n"
                reader, writer = await open_answer(served.address, head.encode())
                assert (await read_reply(reader)).status == 200
                writer.close()
            assert (await facts(served.address))["ends"]
            assert await served.end(signal.SIGTERM, pod.spec["terminationGracePeriodSeconds"]) == 0

    asyncio.run(test())
