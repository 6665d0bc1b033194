"""The plugin for pytest, in runs of its own: items, outcomes, options, and what it costs everybody else."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ECHO = str(Path(__file__).resolve().parents[4] / "examples" / "echo_provider.py")

TARGET = """
import pytest
from partstream import ToolCallPart, chat_model

@chat_model(name="Broken")
async def provider(messages, options):
    yield "Let me look. "
    for tool in options.tools[:1]:
        yield ToolCallPart("c1", tool.name, {"city": "Oslo"})
        yield ToolCallPart("c1", tool.name, {"city": "Oslo"})
    yield "half \\ud83d"

@pytest.fixture(scope="session")
def conformance_target():
    return provider
"""
BASELINE = """
@pytest.fixture(scope="session")
def conformance_baseline():
    return "baseline.toml"
"""


@pytest.fixture
def pytest_in(tmp_path):
    """Runs pytest with the plugin alone, in a folder of its own."""

    def run(*arguments, **files):
        for name, text in files.items():
            (tmp_path / f"{name}.py").write_text(text)
        environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        plugin = ("-p", "partstream_devtools.conformance.pytest_plugin", "-p", "no:cacheprovider")
        command = [sys.executable, "-m", "pytest", *plugin, "-rA", "--no-header", *arguments]
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60, check=False
        )

    return run


def test_a_module_with_a_target_has_an_item_for_each_check_beside_its_own_tests(pytest_in, monkeypatch):
    monkeypatch.setenv("SERVER_API_KEY", "Let me look.")
    chosen = "own or /one-call or (/text and text.) or others/tool-result-text"
    run = pytest_in("-k", chosen, test_target=f"{TARGET}\ndef test_own(): pass\n")
    assert run.returncode == 1
    assert "PASSED test_target.py::test_own" in run.stdout
    assert "PASSED test_target.py::tool-call.object-input/one-call" in run.stdout
    assert "FAILED test_target.py::tool-call.unique-call-id/one-call" in run.stdout
    assert "No two tool calls of a response share a call id." in run.stdout
    assert "<- here" in run.stdout
    assert "devtools/conformance/running.py" not in run.stdout, "the stack is that of the kit"
    # No item shows a key of the environment, here of words that the target says.
    assert 'text "*** "' in run.stdout
    assert "Let me look." not in run.stdout
    # A SHOULD passes and says so; what cannot be judged is skipped with its reason.
    assert "PASSED test_target.py::text.utf-8/text" in run.stdout
    assert "text.utf-8/text  SHOULD  2.2  (warning)" in run.stdout
    assert "not judged: the model's answer is unknown" in run.stdout
    # A rule that a scenario is not about is an item of its own.
    assert "FAILED test_target.py::others/tool-result-text" in run.stdout


def test_the_target_of_a_conftest_has_items_too_and_a_baseline_expects_failures(pytest_in, tmp_path):
    (tmp_path / "baseline.toml").write_text(
        '[expected]\n"tool-call.unique-call-id/one-call" = "issue 12"\n"tool-call.atomic/one-call" = "mended"\n'
        '"thinking.string-id/one-call" = "of another rule"\n"text.utf-8/txet" = "of no scenario"\n'
    )
    run = pytest_in("-k", "/one-call or others/text", conftest=TARGET + BASELINE)
    assert run.returncode == 1
    assert "XFAIL conftest.py::tool-call.unique-call-id/one-call" in run.stdout
    assert "FAILED conftest.py::tool-call.atomic/one-call" in run.stdout
    assert "take it out of the baseline" in run.stdout
    assert "FAILED conftest.py::others/one-call" in run.stdout
    assert "thinking.string-id/one-call is not broken now: take it out of the baseline." in run.stdout
    assert "text.utf-8/txet is no check of this version; did you mean text.utf-8/text?" in run.stdout
    assert run.stdout.count("FAILED conftest.py") == 3


def test_a_target_on_the_command_line_needs_no_test_file(pytest_in):
    run = pytest_in(f"--partstream-target={ECHO}", "-k", "/text and stream")
    assert run.returncode == 0, run.stdout
    assert "PASSED conformance::stream.visible-part/text" in run.stdout


def test_without_a_target_the_plugin_loads_nothing_of_the_kit_and_offers_its_fixtures(pytest_in):
    small = """
import sys

from partstream import chat_model

@chat_model(name="Small")
async def provider(messages, options):
    yield "Hello"

def test_loaded():
    heavy = {"hypothesis", "partstream_devtools.conformance.running", "partstream.runtime.consumer"}
    assert not heavy & set(sys.modules)

def test_small(partstream_answer, partstream_assert_contract):
    partstream_assert_contract(partstream_answer(provider, "Hi"))
"""
    run = pytest_in(test_small=small)
    assert run.returncode == 0, run.stdout
    assert "2 passed" in run.stdout


def test_a_target_that_cannot_be_tested_is_one_sentence_and_no_stack(pytest_in):
    run = pytest_in("-k", "token-count", "--partstream-target=missing.py")
    assert run.returncode == 1
    assert "missing.py: got no such file, expected a Python file\n" in run.stdout
    assert "provider_from" not in run.stdout
