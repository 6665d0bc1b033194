"""Settings of VS Code that a dialog writes and takes back: a chat without an account, and a model everywhere."""

from typing import Any

import pytest

from .in_process import run, serving
from .person import CLOSED, Person

ANONYMOUS = "chat.allowAnonymousAccess"
AI_IS_OFF = "chat.disableAIFeatures"
UTILITY = "chat.byokUtilityModelDefault"
KNOWN = {ANONYMOUS: False, UTILITY: "copilot", AI_IS_OFF: False}
HARNESS = "chat.agentHost.byokModels.enabled"
EVERYWHERE = {
    "chat.defaultModel": "",
    "inlineChat.defaultModel": "",
    "chat.utilityModel": "",
    "chat.utilitySmallModel": "",
    HARNESS: False,
}


def model(model_id: str, name: str, vendor: str = "partstream", family: str = "") -> dict[str, str]:
    return {"vendor": vendor, "id": model_id, "name": name, "family": family or model_id}


TALL, SMALL = model("tall", "Tall"), model("small", "Small")


def asked(dialog: str, *answers: Any, change: Any = lambda person: None, given: Any = None, **facts: Any) -> Person:
    """The person after a dialog; `change` makes the window another one before."""
    got: list[Person] = []

    async def test() -> None:
        async with serving() as peer:
            person = Person(peer, *answers, settings={**KNOWN, **EVERYWHERE}, **facts)
            person.models = [TALL, SMALL]
            change(person)
            got.append(person)
            await peer.run(dialog, **(given or {}))
            for task in list(peer.session._window._later):
                await task

    run(test())
    return got[0]


def test_a_chat_without_an_account_is_set_up_after_one_question():
    person = asked("useWithoutAccount", None, isSignedOut=True, isChatOn=False)
    assert person.own == {ANONYMOUS: True, UTILITY: "mainAgent"}
    assert "GitHub's terms apply" in person.pages[0]["prompt"]
    assert person.done == [("setUpChat",)]
    assert (person.pages[-1]["level"], person.texts()) == ("status", ["$(check) The chat needs no account"])
    assert person.memory["accountAnswered"] is True
    assert person.memory["offer.account"] == {ANONYMOUS: {"written": True}, UTILITY: {"written": "mainAgent"}}


ACCOUNTS = {
    "a person who is signed in reads so": ({"isSignedOut": False}, (), {}, "You are signed in to GitHub"),
    "who closes the question is not asked again": ({"isSignedOut": True}, (CLOSED,), {"accountAnswered": True}, ""),
}


@pytest.mark.parametrize(("facts", "answers", "memory", "says"), ACCOUNTS.values(), ids=ACCOUNTS)
def test_nothing_is_written(facts: Any, answers: Any, memory: Any, says: str):
    person = asked("useWithoutAccount", *answers, **facts)
    assert (person.own, person.memory) == ({}, memory)
    assert says in "".join(person.texts())


def test_where_vs_code_cannot_be_set_up_the_person_can():
    person = asked(
        "useWithoutAccount", None, "Open Settings", isSignedOut=True, change=lambda one: one.missing.add("setUpChat")
    )
    assert person.done[-1] == ("workbench.action.openSettingsJson",)


def test_features_that_are_off_are_offered_to_be_turned_on():
    person = asked("useWithoutAccount", CLOSED, isSignedOut=True, change=lambda one: one.own.update({AI_IS_OFF: True}))
    assert f"{AI_IS_OFF}: false" in [item["description"] for item in person.pages[0]["items"]]


def test_what_was_written_is_taken_back_and_what_the_person_changed_since_stays():
    def written(person: Person) -> None:
        person.memory["offer.account"] = {ANONYMOUS: {"written": True}, UTILITY: {"before": "", "written": "mainAgent"}}
        person.own = {ANONYMOUS: 1, UTILITY: "mainAgent"}

    person = asked("undoUseWithoutAccount", change=written)
    assert person.own == {ANONYMOUS: 1, UTILITY: ""}
    assert person.memory["offer.account"] == {}
    assert person.texts()[0].startswith(f"Settings restored: {UTILITY}. Changed since, so not restored: {ANONYMOUS}.")


def test_models_that_nothing_announced_are_announced_with_the_way_without_an_account():
    person = asked("offerAccount", "Use Without an Account", CLOSED, asksForAccount=True, isSignedOut=True)
    assert person.texts() == [
        "Partstream's models are in the picker. VS Code's chat asks for a GitHub account first; these models need none."
    ]
    assert person.pages[0]["buttons"] == ["Use Without an Account", "Not Now"]
    assert person.is_over


def test_two_models_are_chosen_and_undo_takes_the_settings_back():
    person = asked("useEverywhere", "Tall", "Small", None, "Undo", change=lambda one: one.own.update({HARNESS: False}))
    assert person.texts() == [
        "VS Code now asks Tall, and Small for titles, commit messages and new names.",
        "The earlier settings are restored.",
    ]
    assert person.labels(0) == ["Tall", "Small"]
    assert person.own == {HARNESS: False}


def test_the_settings_have_the_forms_that_vs_code_reads():
    person = asked("useEverywhere", "Tall", "Tall", None)
    assert person.own == {
        "chat.defaultModel": "tall",
        "inlineChat.defaultModel": "Tall (partstream)",
        "chat.utilityModel": "partstream/tall",
        "chat.utilitySmallModel": "partstream/tall",
    }
    assert person.pages[1]["items"][0] == {"label": "Tall", "description": "the same model"}
    assert HARNESS in person.pages[2]["items"][-1]["description"]
    assert person.texts() == ["VS Code now asks Tall everywhere."]


SHORT = {
    "the id": ([], "tall", ""),
    "the family, where another vendor has the id": ([model("TALL", "Other", "copilot", "f")], "big", ""),
    "the id all the same, where both are taken": (
        [model("tall", "Other", "copilot", "big")], "tall", "Several models have this name: VS Code uses the first.",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("others", "short", "detail"), SHORT.values(), ids=SHORT)
def test_a_new_chat_gets_the_shortest_name_that_means_the_model_alone(others: Any, short: str, detail: str):
    def have(person: Person) -> None:
        person.models = [model("tall", "Tall", family="big"), SMALL, *others]

    person = asked("useEverywhere", "Tall", "Small", None, change=have)
    assert person.own["chat.defaultModel"] == short
    assert person.pages[2]["items"][0].get("detail", "") == detail


def test_in_a_remote_window_the_harness_is_not_offered():
    person = asked("useEverywhere", "Tall", "Small", CLOSED, remoteName="wsl")
    assert "This window is remote (wsl)" in person.pages[2]["prompt"]
    assert not [item for item in person.pages[2]["items"] if HARNESS in item["description"]]


def test_the_same_command_takes_the_settings_back():
    def written(person: Person) -> None:
        person.memory["offer.everywhere"] = {"chat.utilityModel": {"written": "partstream/tall"}}
        person.own = {"chat.utilityModel": "partstream/tall"}

    person = asked("useEverywhere", "Undo", change=written)
    assert (person.own, person.texts()) == ({}, ["The earlier settings are restored."])


def test_without_models_the_wizard_is_offered():
    person = asked("useEverywhere", "Add Models…", change=lambda one: one.models.clear())
    assert person.done == [("partstream.addModels",)]


COMMIT = "github.copilot.git.generateCommitMessage"


def test_a_commit_message_is_written_once_there_is_a_small_model():
    given = {"root": "file:///lamps"}
    person = asked("generateCommitMessage", "Tall", "Small", None, given=given)
    assert person.done == [(COMMIT, {"uri": "file:///lamps"})]
    again = asked(
        "generateCommitMessage", given=given, change=lambda one: one.own.update({"chat.utilitySmallModel": "x"})
    )
    assert (again.done, again.pages) == (person.done, [])


def test_without_the_command_nothing_is_asked():
    person = asked("generateCommitMessage", change=lambda one: one.missing.add(COMMIT))
    assert "enable GitHub Copilot Chat" in person.texts()[0]
    assert person.done == []
