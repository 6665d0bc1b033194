"""`partstream serve --workers N`: several processes on one port, of which one may die at any time."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest
from click.testing import CliRunner

from cli.test_serve import MODEL, TOKEN, running
from commands import call
from partstream.cli.serve import command
from partstream.cli.serve_workers import LONGEST_DELAY, Restarts

pytestmark = pytest.mark.skipif(os.name != "posix", reason="this system gives no sockets to other processes")

PIDS = MODEL.replace('yield "You said: "', 'import os; yield f"You said: {os.getpid()} "')


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "parrot.py"
    path.write_text(PIDS)
    return path


def started(served, count):
    """The lines about so many workers, by the number of the worker."""
    return {line["worker"]: line for line in (served.until("worker") for _ in range(count))}


def answering(served):
    """The process that answers a request."""
    return int(served.ask().json()["choices"][0]["message"]["content"].split()[2])


def alive(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_all_answer_on_one_port_and_each_on_one_of_its_own_and_one_that_dies_is_started_again(file):
    with running(file, "--json", "--workers", "2") as served:
        workers = started(served, 2)
        processes = {line["process"] for line in workers.values()}
        assert len(processes) == 2
        assert served.process.pid not in processes
        assert answering(served) in processes
        headers = {"Authorization": f"Bearer {TOKEN}"}
        for line in workers.values():
            body = {"model": "parrot", "messages": [{"role": "user", "content": "Hi"}]}
            url = f"{line['url']}/v1/chat/completions"
            answer = httpx2.post(url, json=body, headers=headers, trust_env=False, timeout=30).json()
            assert str(line["process"]) in answer["choices"][0]["message"]["content"]
            assert httpx2.get(f"{line['url']}/readyz", trust_env=False).status_code == 200
            metrics = httpx2.get(f"{line['url']}/metrics", headers=headers, trust_env=False)
            assert "gen_ai_server_request_duration" in metrics.text
        os.kill(workers[1]["process"], signal.SIGKILL)
        assert answering(served) == workers[2]["process"]
        ended = served.until("worker_ended")
        assert (ended["worker"], ended["exit_code"]) == (1, -signal.SIGKILL)
        again = served.until("worker")
        assert (again["worker"], again["url"]) == (1, workers[1]["url"])
        assert again["process"] != workers[1]["process"]
        assert httpx2.get(f"{again['url']}/readyz", trust_env=False).status_code == 200
        code, output, _ = served.end(signal.SIGTERM)
    assert code == 0
    assert TOKEN not in output
    assert not any(alive(process) for process in (*processes, again["process"]))


def test_sigterm_lets_the_answers_of_all_end_and_refuses_new_ones(file):
    with running(file, "--json", "--workers", "2") as served:
        started(served, 2)
        with served.stream("wait, please") as first, served.stream("wait, please") as second:
            served.process.send_signal(signal.SIGTERM)
            told = served.until("draining")
            if told["answers"] == 1:  # each worker has one of the two
                assert served.until("draining")["answers"] == 1
            file.with_name("gate").touch()
            for pieces in (first, second):
                assert b"".join(pieces).endswith(b"data: [DONE]\n\n")
        assert served.process.wait(30) == 0


def test_a_second_signal_ends_all_at_once(file):
    with running(file, "--json", "--workers", "2") as served:
        workers = started(served, 2)
        with served.stream("for ever"):
            served.process.send_signal(signal.SIGINT)
            served.until("draining")
            code, _, errors = served.end(signal.SIGINT)
    assert (code, errors) == (130, "")
    assert not any(alive(line["process"]) for line in workers.values())


def test_workers_end_when_the_process_that_started_them_is_killed(file):
    with running(file, "--json", "--workers", "2") as served:
        workers = started(served, 2)
        served.process.kill()
        assert served.process.stdout.read() == ""  # each worker has it open: this ends when all of them have ended
        assert len(workers) == 2


@pytest.mark.skipif(sys.platform != "linux", reason="no other system shows what a process was started with")
def test_the_token_is_in_no_argument_and_no_variable_of_a_worker(file, tmp_path):
    own = {"PARTSTREAM_SERVE_TOKEN": None, "PARTSTREAM_DATA": str(tmp_path)}
    with running(file, "--json", "--workers", "2", **own) as served:
        started(served, 2)
        token = (tmp_path / "serve-token").read_text().strip().encode()
        children = Path(f"/proc/{served.process.pid}/task/{served.process.pid}/children").read_text().split()
        assert len(children) >= 2
        for process in (served.process.pid, *children):
            for said in ("cmdline", "environ"):
                assert token not in Path(f"/proc/{process}/{said}").read_bytes()


def ended(*arguments):
    """The exit code, output and errors of a command that cannot start."""
    command = [sys.executable, "-m", "partstream", "serve", "--port", "0", "--json", *map(str, arguments)]
    env = {**os.environ, "PARTSTREAM_SERVE_TOKEN": TOKEN, "XDG_CONFIG_HOME": os.devnull}
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False, env=env)
    return done.returncode, done.stdout, done.stderr


def test_a_file_that_cannot_be_served_is_said_once_and_nothing_is_started_again(file):
    file.write_text("x = 1\nraise ValueError('no')")
    code, output, errors = ended("--workers", "2", file)
    assert (code, output) == (2, "")
    assert errors.count("line 2: ValueError: no") == 1
    assert "Traceback" not in errors


@pytest.mark.parametrize("number", ["0", "257", "x"])
def test_a_number_of_workers_that_is_none_is_refused(file, number):
    refused = CliRunner().invoke(command, ["--workers", number, str(file)])
    assert refused.exit_code == 2
    assert "--workers" in refused.output


def test_a_worker_that_keeps_dying_is_started_less_and_less_often_until_one_start_holds():
    restarts = Restarts()
    delays = [restarts.delay_after(0.5) for _ in range(12)]
    assert delays[:4] == [0.1, 0.2, 0.4, 0.8]
    assert delays[-1] == LONGEST_DELAY
    assert restarts.delay_after(60.0) == delays[0]
    assert restarts.delay_after(0.5) == delays[1]


def test_the_workers_of_a_hub_hold_one_budget_together(tmp_path):
    data = {"PARTSTREAM_DATA": str(tmp_path), "PARTSTREAM_SERVE_TOKEN": None}

    def hub(*arguments):
        ended = asyncio.run(call("hub", *arguments, PARTSTREAM_DATA=str(tmp_path)))
        assert ended.code == 0, ended.errors
        return ended.output

    hub("init")
    hub("add", "person", "ana", "--budget", "600 tokens/day")
    key = hub("key", "add", "ana").strip()
    with running("--hub", "--demo", "--json", "--workers", "2", **data) as served:
        workers = started(served, 2)
        headers = {"Authorization": f"Bearer {key}"}
        body = {"model": "demo", "max_tokens": 60, "messages": [{"role": "user", "content": "Count from 1 to 20."}]}
        statuses = []
        while len(statuses) < 30 and statuses[-2:] != [429, 429]:
            url = f"{workers[1 + len(statuses) % 2]['url']}/v1/chat/completions"
            statuses.append(httpx2.post(url, json=body, headers=headers, trust_env=False, timeout=30).status_code)
        assert statuses[:2] == [200, 200], "each of the two answers"
        assert statuses[-2:] == [429, 429], "and neither when it is spent"
        code, output, errors = served.end(signal.SIGTERM)
    assert (code, errors) == (0, "")
    assert key not in output
    [budget] = json.loads(hub("show", "ana", "--json"))[0]["budgets"]
    assert 300 < budget["spent"] <= 600
    assert budget["reserved"] == 0
