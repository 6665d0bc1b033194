"""The two lanes of the tests: `make test` runs the fast one, `make test-slow` the other, and `make check` both.

`--lane` chooses one; without it all tests run. One test of a hundred takes two thirds of the time: it builds, installs
or follows what few changes touch, or looks at what a process alone has. It need not run at each change.
"""

from collections import deque
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TypeVar

import pytest

PROJECT = Path(__file__).resolve().parents[1]

T = TypeVar("T")

_SLOW: Mapping[str, tuple[str, ...]] = {
    "measures on a small scale what `make bench` and its like measure": ("tests/benchmarks",),
    "runs each library in a process": (
        "packages/partstream/tests/cli/test_connect.py::test_what_is_printed_for_a_library_makes_it_ask_the_server",
    ),
    "follows the guide of hubs, command by command": ("packages/partstream-hub/tests/cli/test_hub_guide.py",),
    "looks at a process: its signals, its files, its page": ("packages/partstream-devtools/tests/cli/test_record.py",),
    "looks at a process: its signals, and how answers are drained": ("packages/partstream/tests/cli/test_serve.py",),
    "starts several workers for each test": (
        "packages/partstream/tests/cli/test_serve_workers.py",
        "packages/partstream-hub/tests/cli/test_serve_hub.py::test_a_key_works_at_every_worker_when_its_command_is_over_and_is_dead_when_it_was_revoked",
        "packages/partstream-hub/tests/hub/test_processes.py",
    ),
    "kills a process in the middle of an answer": (
        "packages/partstream/tests/upstreams/test_spending.py::test_what_a_killed_window_has_reserved_is_charged_by_the_next_one_that_needs_it",
    ),
    "runs each agent, or each command in a terminal, in a process": (
        "packages/partstream-agents/tests/test_agents.py::test_an_agent_is_run_with_the_settings_that_connect_writes",
        "packages/partstream/tests/cli/test_wrapping.py::test_a_narrow_terminal_gets_lines_that_fit_and_whole_words",
    ),
    # One test of each command in a terminal is in the fast lane.
    "runs a further command in a terminal, in a process": (
        "packages/partstream/tests/cli/test_chat.py::test_in_a_terminal_an_error_does_not_end_the_conversation_and_clear_forgets_it",
        "packages/partstream/tests/cli/test_chat_captures.py::test_another_program_gets_the_last_answer_while_the_chat_waits_for_the_next_line",
        "packages/partstream/tests/cli/test_chat_captures.py::test_inspect_in_a_chat_serves_the_page_while_the_chat_goes_on",
        "packages/partstream/tests/cli/test_demo.py::test_an_output_without_boxes_and_dots_gets_what_it_can_show",
        "packages/partstream/tests/cli/test_terminal_gate.py::test_of_clients_of_the_replay_upstream",
        "packages/partstream/tests/cli/test_add.py::test_an_address_is_an_answer_to_the_first_question_and_without_a_keyring_the_places_that_work_are_offered",
        "packages/partstream/tests/cli/test_add.py::test_without_a_keyring_the_key_itself_is_asked_for_and_goes_into_a_file",
        "packages/partstream/tests/cli/test_add.py::test_whoever_adds_a_second_server_of_the_same_name_is_asked_for_another",
        "packages/partstream/tests/cli/test_add.py::test_whoever_has_enough_of_a_server_that_fails_changes_nothing",
        "packages/partstream/tests/cli/test_add.py::test_whoever_presses_ctrl_c_changes_nothing",
        "packages/partstream/tests/cli/test_add_hub.py::test_in_a_terminal_without_a_keyring_the_code_is_asked_for_all_the_same",
    ),
    "reads all recordings again, or tests, without the fast decoder, in processes": (
        "packages/partstream/tests/protocols/test_hostile_streams.py::test_without_the_optional_library_everything_above_holds",
        "packages/partstream/tests/test_json_codec.py::test_without_the_optional_library_everything_above_holds",
        "packages/partstream/tests/protocols/ai_sdk/test_recordings.py::test_without_the_fast_decoder_the_recordings_give_the_same",
        "packages/partstream/tests/protocols/openresponses/test_recordings.py::test_without_the_fast_decoder_the_recordings_give_the_same",
        "packages/partstream/tests/protocols/anthropic_messages/test_recordings.py::test_the_recordings_give_the_same_without_msgspec",
        "packages/partstream/tests/protocols/chat_completions/test_recordings.py::test_the_recordings_give_the_same_without_msgspec",
    ),
    "runs a further command that serves, replays or tests, in a process": (
        "packages/partstream-devtools/tests/cli/test_newcomer_recordings.py::test_a_reader_that_goes_changes_no_verdict_and_leaves_no_traceback",
        "packages/partstream-devtools/tests/conformance/test_command.py::test_a_command_that_speaks_the_sidecars_protocol_is_put_into_a_sandwich",
        "packages/partstream-devtools/tests/conformance/test_command.py::test_a_provider_that_ends_the_process_is_never_taken_for_one_that_keeps_the_contract",
        "packages/partstream/tests/protocols/openresponses/test_recordings.py::test_the_installed_command_replays_standard_input",
        "tests/test_pythons.py::test_every_supported_python_is_run_with_each_choice_of_packages",
    ),
    # Dozens of tests of the sidecar, with a process, are in the fast lane.
    "has a sidecar of its own that asks, waits or is ended": (
        "packages/partstream/tests/hosts/vscode/test_planted_everywhere.py",
        "packages/partstream/tests/hosts/vscode/test_process.py::test_a_provider_asks_for_a_key_and_says_whether_it_had_one",
        "packages/partstream/tests/hosts/vscode/test_process.py::test_a_slow_reader_makes_the_answer_wait_with_bounded_memory_and_nobody_starves",
    ),
    "looks at what a process alone has: its log, its files at its end": (
        "packages/partstream/tests/test_silent_log.py::test_a_failure_is_raised_and_nothing_is_written",
        "packages/partstream/tests/tokens/test_file_thread.py::test_an_owner_that_is_forgotten_holds_nobody_up_and_its_file_is_closed",
    ),
    "looks at a process: its lines, its signals": ("packages/partstream-devtools/tests/cli/test_upstream.py",),
    "runs the whole kit for each report": (
        "packages/partstream-devtools/tests/conformance/test_conformance_reports.py",
    ),
    "runs pytest in pytest": (
        "packages/partstream-devtools/tests/conformance/test_pytest_plugin.py",
        "tests/test_test_runs.py",
    ),
    "builds the site, follows the tutorials, and runs every block of code": ("tests/docs",),
    "reads thousands of damaged streams": ("tests/fuzzing",),
    "reads streams with two versions": ("tests/versions",),
    "sends every field of every wire to every other": ("tests/census",),
    "drives a page in a browser": (
        "packages/partstream-hub/tests/hub/test_page_in_browser.py",
        "packages/partstream-hub/tests/hub/test_page_live.py",
        "packages/partstream-devtools/tests/inspector/test_compare.py",
        "packages/partstream-devtools/tests/inspector/test_large_answers.py",
        "packages/partstream-devtools/tests/inspector/test_live.py",
        "packages/partstream-devtools/tests/inspector/test_page.py",
        "packages/partstream-devtools/tests/inspector/test_page_access.py",
        "packages/partstream-devtools/tests/inspector/test_page_hostile.py",
        "packages/partstream-devtools/tests/inspector/test_play.py",
        "packages/partstream-devtools/tests/inspector/test_timeline.py",
        "packages/partstream/tests/pages/test_findings_page.py::test_outside_of_vscode_the_page_has_no_buttons",
        "packages/partstream/tests/pages/test_findings_page.py::test_the_page_is_accessible_and_its_buttons_ask_vscode_and_say_so",
        "packages/partstream/tests/pages/test_front_page.py",
        "packages/partstream/tests/pages/test_usage_in_browser.py",
        "packages/partstream/tests/pages/test_vscode_themes.py",
    ),
    "measures how memory, work and turns of the event loop grow with what comes": (
        "packages/partstream/tests/protocols/chat_completions/test_growth.py",
        "packages/partstream/tests/protocols/test_growth.py",
        "packages/partstream/tests/protocols/test_kept_memory.py",
        "packages/partstream/tests/serving/test_limits.py",
        "packages/partstream/tests/upstreams/test_answer_bounds.py",
        "packages/partstream-devtools/tests/bundles/test_hostile_bundles.py::test_values_in_values_without_an_end_are_redacted_in_little_memory",
    ),
    "has pip look for a package": (
        "packages/partstream/tests/cli/test_demo.py::test_a_model_of_other_bytes_is_not_installed_whatever_an_index_says",
    ),
    "runs the steps of the action in processes": ("tests/test_check_action.py",),
    "asks a real model, where one was built": ("tests/test_real.py::test_a_real_model_answers",),
    "asks with a key from every source, over every wire": (
        "packages/partstream/tests/configuration/test_loading.py::test_the_key_of_every_source_reaches_the_server",
        "packages/partstream/tests/configuration/test_planted_key.py::test_a_key_that_the_server_repeats_is_not_shown",
    ),
    "asks a vendor with its official client, beside the server and through it": (
        "packages/partstream/tests/serving/test_official_clients_on_their_own_wire.py",
    ),
    "has providers and files that do their worst": (
        "packages/partstream/tests/hosts/vscode/test_hostile_providers.py",
        "packages/partstream/tests/tokens/test_hostile_ledger.py::test_whatever_is_kept_the_rows_behind_it_are_written",
    ),
    "shows that the kit's checks find what they are for": (
        "packages/partstream-devtools/tests/conformance/test_fuzzing.py",
        "packages/partstream-devtools/tests/conformance/test_mutants.py",
    ),
    "starts a process for each policy": (
        "packages/partstream-hub/tests/hub/test_policy.py::test_a_hub_does_not_start_without_the_policy_that_it_should_have",
    ),
    "translates whole sessions, each wire into each": (
        "packages/partstream/tests/protocols/test_signed_sessions.py",
        "packages/partstream/tests/serving/test_any_wire_into_any_other.py",
        "packages/partstream/tests/serving/test_four_corners.py",
        "packages/partstream/tests/serving/test_profiles_over_every_wire.py",
    ),
    # One test of each direction is in the fast lane.
    "has a program of its own that speaks ACP, or servers of MCP, in processes": (
        "packages/partstream-agents/tests/agents/test_acp_agent.py::test_the_tools_of_mcp_servers_are_the_models_and_a_server_that_fails_is_named",
        "packages/partstream-agents/tests/agents/test_acp_hostile.py",
        "packages/partstream-agents/tests/agents/test_acp_models.py",
    ),
    "runs the kit against every framework of agents": (
        "packages/partstream-agents/tests/agents/test_agents_conformance.py",
    ),
    "stops and starts a database": (
        "packages/partstream-hub/tests/hub/budgets/test_database_away.py",
        "packages/partstream-hub/tests/cli/test_serve_hub.py::test_a_worker_whose_database_is_away_starts_answers_nobody_and_ends_well",
        "packages/partstream-hub/tests/hub/test_hub_app.py::test_keys_are_verified_and_answers_without_a_budget_given_while_the_database_is_away",
        "packages/partstream-hub/tests/hub/test_unreachable.py",
    ),
    "serves many clients at once, and bodies as large as there may be": (
        "packages/partstream/tests/serving/test_load.py",
        "packages/partstream-hub/tests/cli/test_pod.py",
    ),
    "tries programs of other people in processes": (
        "tests/test_clients.py",
        "tests/test_foreign_servers.py",
        "tests/test_real.py::test_a_real_model_answers",
    ),
    "makes a project of each template, and follows its README in an empty environment": ("tests/projects",),
    "asks with the published AI SDK, in Node": (
        "packages/partstream/tests/protocols/ai_gateway/test_real_sdk.py",
        "packages/partstream/tests/protocols/ai_sdk/test_real_sdk_interface.py",
        "packages/partstream/tests/protocols/ai_sdk/test_recording_again.py",
        "packages/partstream/tests/protocols/ai_sdk/test_real_sdk_prompts.py",
    ),
    "damages each field of each wire in turn": (
        "packages/partstream/tests/protocols/test_hostile_streams.py::test_levels_without_end_are_outputs_or_one_typed_error_in_any_field",
        "packages/partstream/tests/protocols/test_odd_answers.py::test_odd_values_in_each_place_of_a_stream_are_outputs_and_one_typed_end",
        "packages/partstream/tests/protocols/test_odd_answers.py::test_odd_answers_of_every_place_over_http_are_typed_outcomes_at_every_door",
        "packages/partstream/tests/protocols/test_odd_answers.py::test_what_counts_and_is_of_another_class_leaves_a_trace_on_wires_of_many_recordings",
    ),
    "writes each recording in each protocol": (
        "packages/partstream/tests/protocols/test_round_trips.py::test_a_recorded_answer_survives_every_protocol",
    ),
    "serves each recording over each wire": ("packages/partstream/tests/serving/test_recordings.py",),
    "follows the guides to a protocol and a package of one's own, in processes": (
        "tests/test_adding_a_package.py",
        "tests/test_adding_a_protocol.py",
    ),
    "types the README from top to bottom": ("tests/test_doors.py",),
    "reads the types of installed packages, in processes": ("tests/test_freshness.py",),
    "makes every generated file anew": ("tests/test_generated.py",),
    "starts the packed extension on every Python": ("tests/test_packaging.py",),
    "builds what is released": ("tests/test_release.py",),
    "builds the wheels, and installs them in empty environments": ("tests/test_wheel.py",),
    "kills processes while they write": ("packages/partstream/tests/tokens/test_crashes.py",),
    "counts a session of dozens of turns": ("packages/partstream/tests/tokens/test_session.py",),
}
"""What is slow, by the reason: folders, files, and single tests of files."""

SLOW = frozenset(place for places in _SLOW.values() for place in places)

FAST = frozenset(
    {
        "packages/partstream-agents/tests/agents/test_acp_models.py::test_a_wrong_argument_is_refused_at_once",
        "packages/partstream-agents/tests/agents/test_acp_models.py::test_what_the_program_says_and_does_is_shown_and_its_session_goes_on",
        "packages/partstream-devtools/tests/cli/test_record.py::test_the_file_is_written_when_it_is_stopped_and_holds_no_key",
        "packages/partstream/tests/cli/test_serve.py::test_a_file_is_served_until_ctrl_c",
        "packages/partstream-devtools/tests/cli/test_upstream.py::test_it_says_where_it_serves_and_one_line_for_each_request",
    }
)
"""The tests of slow files that are fast nevertheless: one process of each kind, and what needs none."""


LONGEST = (
    "tests/docs/test_site.py",
    "tests/docs/test_tutorials.py",
    "tests/projects",
    "packages/partstream-agents/tests/agents/test_acp_hostile.py",
    "packages/partstream/tests/serving/test_limits.py",
    "packages/partstream-hub/tests/cli/test_hub_guide.py",
    "packages/partstream-hub/tests/cli/test_pod.py",
    "tests/census/test_same_wire.py",
    "tests/test_wheel.py",
    "tests/test_doors.py",
)
"""The slow tests that the workers begin with, the longest first: one that began last would leave the other workers idle
for half a minute."""


def lane_of(place: str) -> str | None:
    """The lane of a folder, a file or a test; None for what has tests of both lanes, or may have."""
    test, _, _ = place.partition("[")
    if test in FAST:
        return "fast"
    if test in SLOW:
        return "slow"
    path, _, name = test.partition("::")
    if not name and any(row.startswith((f"{path}/", f"{path}::")) for row in SLOW | FAST):
        return None
    return _lane_around(path)


@cache
def _lane_around(path: str) -> str:
    return "slow" if any(path == row or path.startswith(f"{row}/") for row in SLOW) else "fast"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the option that chooses."""
    parser.addoption("--lane", choices=("fast", "slow"), help="run the tests of one lane, see tests/lanes.py")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leaves files of the other lane alone: a worker needs seconds to import them all."""
    lane = config.getoption("lane")
    if lane is None or not collection_path.is_relative_to(PROJECT):
        return None
    # What is in a folder, its files say: a folder may have rows of its own.
    if collection_path.is_dir():
        return None
    return True if lane_of(_place(collection_path)) not in {lane, None} else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves single tests of the other lane out, and has the slow one begin with its longest."""
    lane = config.getoption("lane")
    if lane is None:
        return
    places = {item: _place(item.path) + item.nodeid[item.nodeid.find("::") :] for item in items}
    others = [item for item in items if lane_of(places[item]) != lane]
    if others:
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item not in set(others)]
    if lane == "slow":
        workers = int(getattr(config, "workerinput", {"workercount": 1})["workercount"])
        items[:] = spread({item: places[item] for item in items}, workers)


def spread(places: Mapping[T, str], workers: int) -> list[T]:
    """The items in an order in which each worker begins with a part of the longest.

    xdist cuts the list into parts of the same length, one for each worker. The tests of a file stay together: they
    share what they install.

    Args:
        places: The place of each item.
    """
    queues: list[list[T]] = [[] for _ in range(workers)]
    for rank, one in enumerate(LONGEST):
        queues[rank % workers] += [item for item, place in places.items() if place.startswith(one)]
    rest = deque(item for item, place in places.items() if not place.startswith(LONGEST))
    ordered: list[T] = []
    for worker, of_worker in enumerate(queues):
        ordered += of_worker
        size = (len(places) - len(ordered) + len(of_worker)) // (workers - worker)
        ordered += [rest.popleft() for _ in range(min(size - len(of_worker), len(rest)))]
    return [*ordered, *rest]


def _place(path: Path) -> str:
    return path.relative_to(PROJECT).as_posix()
