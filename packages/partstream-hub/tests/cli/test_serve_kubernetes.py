"""`partstream serve --print-kubernetes`: what a cluster needs to run it well, as rules on the documents themselves."""

import re
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from partstream.cli.serve import command
from partstream_hub.commands_deploy import PRE_STOP_SECONDS

PROJECT = Path(__file__).resolve().parents[4]
KEY = "a-key-that-is-nowhere-in-the-text"
ENVIRONMENT = {
    "PARTSTREAM_SERVE_TOKEN": KEY,
    "PARTSTREAM_HUB_DATABASE": f"postgresql://hub:{KEY}@db.example/hub",
    "OPENAI_API_KEY": KEY,
}
CALLS = {
    "a provider": ["my_model.py:mine"],
    "a profile, numbers": ["--profile", "work", "--workers", "5", "--drain-seconds", "90", "--metrics", "open"],
    "a hub": ["--hub", "--profile", "work", "--contact", "ask: Ana"],
    "the built-in model": ["--demo", "--raw-reasoning", "--strict", "--allow-origin", "local", "--drain-seconds", "0"],
}


def printed(arguments):
    run = CliRunner(env=ENVIRONMENT).invoke(command, [*arguments, "--print-kubernetes"])
    assert run.exit_code == 0, run.output
    return run.output


@pytest.fixture(params=CALLS, ids=str)
def text(request):
    return printed(CALLS[request.param])


@pytest.fixture
def objects(text):
    return {one["kind"]: one for one in yaml.safe_load_all(text)}


@pytest.fixture
def pod(objects):
    return objects["Deployment"]["spec"]["template"]["spec"]


@pytest.fixture
def container(pod):
    [one] = pod["containers"]
    return one


def option(container, name):
    arguments = container["args"]
    return arguments[arguments.index(name) + 1] if name in arguments else None


def test_the_objects_belong_together(objects):
    assert list(objects) == ["Deployment", "Service", "PodDisruptionBudget"]
    assert [one["apiVersion"] for one in objects.values()] == ["apps/v1", "v1", "policy/v1"]
    labels = objects["Deployment"]["spec"]["template"]["metadata"]["labels"]
    assert objects["Deployment"]["spec"]["selector"]["matchLabels"] == labels
    assert objects["Service"]["spec"]["selector"] == labels
    assert objects["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"] == labels


def test_a_pod_ends_only_after_its_balancers_have_heard_of_it_and_its_answers_have_ended(pod, container):
    assert container["lifecycle"]["preStop"]["exec"]["command"] == ["sleep", str(PRE_STOP_SECONDS)]
    drain = float(option(container, "--drain-seconds") or 30)
    assert pod["terminationGracePeriodSeconds"] > drain + PRE_STOP_SECONDS


def test_something_serves_whatever_one_pod_does(objects):
    spec = objects["Deployment"]["spec"]
    assert spec["replicas"] >= 2
    assert spec["strategy"]["rollingUpdate"]["maxUnavailable"] == 0
    assert objects["PodDisruptionBudget"]["spec"]["maxUnavailable"] == 1


def test_the_probes_ask_the_port_that_is_served(objects, container):
    [port] = container["ports"]
    assert option(container, "--port") == str(port["containerPort"])
    assert option(container, "--host") == "0.0.0.0"  # noqa: S104 - what is read
    paths = {"startupProbe": "/healthz", "livenessProbe": "/healthz", "readinessProbe": "/readyz"}
    for probe, path in paths.items():
        assert container[probe]["httpGet"] == {"path": path, "port": port["name"]}
    [served] = objects["Service"]["spec"]["ports"]
    assert served["targetPort"] == port["name"]


def test_a_container_has_no_rights_and_writes_to_its_volumes_alone(pod, container):
    assert pod["securityContext"]["runAsNonRoot"]
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod["automountServiceAccountToken"] is False
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    volumes = {one["name"] for one in pod["volumes"]}
    assert {one["name"] for one in container["volumeMounts"]} == volumes
    data = next(one["value"] for one in container["env"] if one["name"] == "PARTSTREAM_DATA")
    assert data in {one["mountPath"] for one in container["volumeMounts"]}


def test_memory_is_limited_and_processor_time_is_not(container):
    assert set(container["resources"]["requests"]) == {"cpu", "memory"}
    assert set(container["resources"]["limits"]) == {"memory"}, "a limit of processor time holds up streams"


def test_keys_are_references_to_a_secret(text, pod, container):
    assert KEY not in text
    [keys] = [one for one in pod["volumes"] if "secret" in one]
    secret = keys["secret"]["secretName"]
    assert f"kubectl create secret generic {secret} " in text
    references = [one["valueFrom"]["secretKeyRef"] for one in container["env"] if "valueFrom" in one]
    if "--hub" in container["args"]:
        assert references == [{"name": secret, "key": "hub-database"}]
        assert "--token-file" not in container["args"]
    else:
        assert references == []
        [mounted] = [
            one for one in container["volumeMounts"] if option(container, "--token-file").startswith(one["mountPath"])
        ]
        assert mounted["name"] == keys["name"]
    for entry in ("hub-database" if "--hub" in container["args"] else "token", "signing-key"):
        assert f"--from-file={entry}=FILE" in text


def test_all_pods_sign_with_one_key(container):
    [signing] = [one for one in container["volumeMounts"] if one.get("subPath") == "signing-key"]
    assert signing["mountPath"].endswith("/serve-signing-key")
    assert signing["readOnly"]


def test_what_the_options_choose_is_what_the_pods_serve():
    texts = {name: printed(arguments) for name, arguments in CALLS.items()}
    served = {name: next(yaml.safe_load_all(text))["spec"] for name, text in texts.items()}
    arguments = {name: one["template"]["spec"]["containers"][0]["args"] for name, one in served.items()}
    assert arguments["a provider"][:2] == ["serve", "/app/my_model.py:mine"]
    assert arguments["a profile, numbers"][1:3] == ["--profile", "work"]
    assert served["a profile, numbers"]["replicas"] == 5
    assert {"--demo", "--raw-reasoning", "--strict", "--allow-origin", "local"} <= set(arguments["the built-in model"])
    assert arguments["a hub"][-2:] == ["--contact", "ask: Ana"]
    parsed = command.make_context("serve", arguments["a profile, numbers"][1:])
    assert (parsed.params["drain_seconds"], parsed.params["metrics"], parsed.params["no_store"]) == (90, "open", True)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--demo", "--no-token"], "--no-token: got it with --print-kubernetes"),
        (["--demo", "--store-file", "a"], "--store-file: got a file, which is of one pod"),
        (["--hub", "--policy", "policy.py"], "--policy: got policy.py with --print-kubernetes"),
    ],
)
def test_what_pods_cannot_have_is_refused(arguments, says):
    run = CliRunner(env=ENVIRONMENT).invoke(command, [*arguments, "--print-kubernetes"])
    assert run.exit_code == 2
    assert says in " ".join(run.output.split())


def test_the_image_has_the_user_the_folder_and_the_port_of_the_pods_and_pinned_packages():
    lines = re.sub(r"\\\n", " ", (PROJECT / "tools/deploy/Dockerfile").read_text(encoding="utf-8")).splitlines()
    steps = [line.split(maxsplit=1) for line in lines if line and not line.startswith("#")]
    last = dict(steps)
    [deployment, _, _] = yaml.safe_load_all(printed(CALLS["a provider"]))
    pod = deployment["spec"]["template"]["spec"]
    context = pod["securityContext"]
    assert last["USER"] == f"{context['runAsUser']}:{context['runAsGroup']}"
    assert last["EXPOSE"] == str(pod["containers"][0]["ports"][0]["containerPort"])
    assert last["WORKDIR"] == "/app"
    assert yaml.safe_load(last["ENTRYPOINT"]) == ["partstream"], "signals reach it: no shell stands between"
    assert "ADD" not in last
    [installing] = [argument for name, argument in steps if name == "RUN" and "worker.lock" in argument]
    assert "--require-hashes --only-binary :all:" in installing
    assert "--no-deps --no-index /build/*.whl" in installing
    [copied] = [argument for name, argument in steps if name == "COPY" and "worker.lock" in argument]
    assert copied.split()[1:-1] == ["dist/partstream-*.whl", "dist/partstream_hub-*.whl"]
    lock = (PROJECT / "tools/deploy/worker.lock").read_text(encoding="utf-8")
    pins = re.findall(r"^[\w.-]+(?:\[[^]]*\])?==\S+.*\\$", lock, re.MULTILINE)
    assert len(pins) == len(re.findall(r"^[\w.-]+", lock, re.MULTILINE)) > 10
    assert {"uvicorn", "psycopg", "httpx2"} <= {re.split(r"[\[=]", one)[0] for one in pins}
