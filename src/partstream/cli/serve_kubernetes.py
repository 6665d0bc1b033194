"""Prints what runs `partstream serve` in Kubernetes with the same options; printed for each use, so no templates."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Final

import click

from partstream._version import __version__
from partstream.cli.serve_options import option_of
from partstream.cli.serve_plan import is_given
from partstream.cli.yaml_text import yaml_text
from partstream.serving.listening import DEFAULT_PORT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from partstream.cli.serve_plan import ServePlan

__all__ = ["ADDED_SECONDS", "PRE_STOP_SECONDS", "kubernetes_text"]

_NAME: Final = "partstream"
_IMAGE: Final = f"partstream:{__version__}"
_USER: Final = 65532
"""The user that the image of `deploy/Dockerfile` runs as, who has no rights."""

PRE_STOP_SECONDS: Final = 5
"""How long a pod still takes requests after it was told to end: until balancers have heard of it."""
ADDED_SECONDS: Final = 15
"""What a pod has beyond its drain: for the wait before it, the last bytes, and closing."""
_STATE: Final = PurePosixPath("/var/lib/partstream")
_CODE: Final = PurePosixPath("/app")
_SECRET: Final = "partstream"  # noqa: S105 - the name of an object that holds keys
_DATABASE_VARIABLE: Final = "PARTSTREAM_HUB_DATABASE"
_DATABASE_KEY: Final = "hub-database"
_TOKEN_KEY: Final = "token"  # noqa: S105 - the name of an entry
_SIGNING_KEY: Final = "signing-key"
_SIGNING_FILE: Final = "serve-signing-key"
"""What all pods sign with, so that each reads what another has sealed for a client."""
_KEYS: Final = PurePosixPath("/run/secrets/partstream")
_LABELS: Final = {"app.kubernetes.io/name": _NAME}
_PORT_NAME: Final = "http"


def kubernetes_text(plan: ServePlan, replicas: int) -> str:
    """A Deployment, a Service and a PodDisruptionBudget, as documents of YAML.

    Keys are references to a Secret, which is not printed: its comment says how it is made.

    Args:
        plan: What is served.
        replicas: The number of pods; 1 for as many as keep serving when one ends, which are two.

    Raises:
        UsageError: The options need what a pod has not.
    """
    _check(plan)
    pods = replicas if replicas > 1 else 2
    documents = (_deployment(plan, pods), _service(), _disruption_budget())
    return _comment(plan) + "---\n".join(yaml_text(one) for one in documents)


def _check(plan: ServePlan) -> None:
    if plan.no_token:
        raise click.UsageError("--no-token: got it with --print-kubernetes, where other machines reach the server")
    if plan.options.get("store_file"):
        raise click.UsageError("--store-file: got a file, which is of one pod: another one would not find its answers")
    if _is_hub(plan) and (shown := plan.options.get("policy")):
        raise click.UsageError(
            f"--policy: got {shown} with --print-kubernetes; build it into the image and add it there"
        )


def _is_hub(plan: ServePlan) -> bool:
    return bool(plan.options.get("hub"))


def _comment(plan: ServePlan) -> str:
    key = f"--from-file={_DATABASE_KEY}=FILE" if _is_hub(plan) else f"--from-file={_TOKEN_KEY}=FILE"
    lines = [
        f"partstream {__version__}. Before it, once, with a key in each FILE:",
        f"  kubectl create secret generic {_SECRET} {key} --from-file={_SIGNING_KEY}=FILE",
        f"The image is of deploy/Dockerfile: build it, push it, and name it in place of {_IMAGE}.",
        *([f"The files of providers are expected in {_CODE} of the image."] if plan.sources else []),
        *(
            ["Profiles are read from the file that PARTSTREAM_CONFIG names: add it, and the variable."]
            if plan.profiles
            else []
        ),
        "Keys of model servers are variables of the same kind: `env`, with `secretKeyRef`.",
    ]
    return "".join(f"# {line}\n" for line in lines)


def _deployment(plan: ServePlan, replicas: int) -> Mapping[str, Any]:
    drain = plan.settings_number("drain_seconds")
    pod = {
        "terminationGracePeriodSeconds": int(drain) + PRE_STOP_SECONDS + ADDED_SECONDS,
        "enableServiceLinks": False,  # a Service named partstream-serve would set PARTSTREAM_SERVE_PORT
        "automountServiceAccountToken": False,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _USER,
            "runAsGroup": _USER,
            "fsGroup": _USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [_container(plan)],
        "volumes": list(_volumes()),
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "kubernetes.io/hostname",
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": _LABELS},
            }
        ],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": _NAME, "labels": _LABELS},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": _LABELS},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}},
            "template": {"metadata": {"labels": _LABELS}, "spec": pod},
        },
    }


def _container(plan: ServePlan) -> Mapping[str, Any]:
    def probe(path: str, period: int, failures: int) -> Mapping[str, Any]:
        return {
            "httpGet": {"path": path, "port": _PORT_NAME},
            "periodSeconds": period,
            "timeoutSeconds": 2,
            "failureThreshold": failures,
        }

    mounts: list[Mapping[str, Any]] = [
        {"name": "state", "mountPath": str(_STATE)},
        {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108 - of the pod alone
        {"name": "keys", "mountPath": str(_STATE / _SIGNING_FILE), "subPath": _SIGNING_KEY, "readOnly": True},
    ]
    environment: list[Mapping[str, Any]] = [
        {"name": "HOME", "value": str(_STATE)},
        {"name": "PARTSTREAM_DATA", "value": str(_STATE)},
    ]
    if _is_hub(plan):
        reference = {"secretKeyRef": {"name": _SECRET, "key": _DATABASE_KEY}}
        environment.append({"name": _DATABASE_VARIABLE, "valueFrom": reference})
    else:
        mounts.append({"name": "keys", "mountPath": str(_KEYS), "readOnly": True})
    return {
        "name": _NAME,
        "image": _IMAGE,
        "args": list(_arguments(plan)),
        "env": environment,
        "ports": [{"name": _PORT_NAME, "containerPort": DEFAULT_PORT}],
        "startupProbe": probe("/healthz", 1, 60),
        "readinessProbe": probe("/readyz", 2, 1),
        "livenessProbe": probe("/healthz", 10, 3),
        "lifecycle": {"preStop": {"exec": {"command": ["sleep", str(PRE_STOP_SECONDS)]}}},
        "resources": {
            "requests": {"cpu": "250m", "memory": "128Mi"},
            "limits": {"memory": "512Mi"},  # a limit of processor time would hold up streams
        },
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": mounts,
    }


def _arguments(plan: ServePlan) -> Iterator[str]:
    """The same options, on the port and the address of a pod, and with what it has of keys and files."""
    yield "serve"
    for source in plan.sources:
        place, colon, attribute = source.partition(":")
        yield f"{_CODE / PurePosixPath(place).name}{colon}{attribute}" if place.endswith(".py") else source
    for profile in plan.profiles:
        yield from ("--profile", profile)
    yield from ("--host", "0.0.0.0", "--port", str(DEFAULT_PORT), "--log", "json")  # noqa: S104 - within the pod
    flags = {"--demo": plan.demo, "--raw-reasoning": plan.raw_reasoning, "--no-store": True}
    yield from (flag for flag, is_set in flags.items() if is_set)
    if plan.metrics != "token":
        yield from ("--metrics", plan.metrics)
    if plan.otlp is not None:
        yield from ("--otlp", plan.otlp)
    yield from ("--hub",) if _is_hub(plan) else ("--token-file", str(_KEYS / _TOKEN_KEY))
    for name, value in plan.options.items():
        if name not in _OF_ONE_MACHINE and is_given(value):
            yield from (option_of(name), _shown(value))


_OF_ONE_MACHINE: Final = frozenset({"hub", "no_store", "store_file", "store_days"})
"""Options that are written above, or of no use to pods."""


def _shown(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _volumes() -> Iterator[Mapping[str, Any]]:
    yield {"name": "state", "emptyDir": {"sizeLimit": "1Gi"}}
    yield {"name": "tmp", "emptyDir": {"sizeLimit": "64Mi"}}
    yield {"name": "keys", "secret": {"secretName": _SECRET, "defaultMode": 0o440}}


def _service() -> Mapping[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": _NAME, "labels": _LABELS},
        "spec": {"selector": _LABELS, "ports": [{"name": _PORT_NAME, "port": 80, "targetPort": _PORT_NAME}]},
    }


def _disruption_budget() -> Mapping[str, Any]:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": _NAME, "labels": _LABELS},
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": _LABELS}},
    }
