"""The checks of the doctor find in the sidecar what keeps a model from answering; no key is shown."""

import asyncio
from dataclasses import asdict

import pytest

from partstream_devtools.testing.upstream import ReplayUpstream
from questions import questions

from .person import Person
from .sidecar import running

KEY = "sk-examined-0123456789"
WRONG_KEY = "sk-of-somebody-else-0123"
NOBODY = "http://127.0.0.1:1/v1"
PARROT = """
@chat_model(name="Parrot")
async def parrot(messages, options):
    yield "Pieces of eight"
"""


def group(base_url: str, **others: object) -> dict[str, object]:
    return {"id": "g", "configuration": {"baseUrl": base_url, **others}}


def examined(sidecar, *, group=None, provider=None, model=None, name="Harbour", harness=None):
    """The findings by their subjects, and all that was found, of what a person chooses to test."""
    shown = [] if model is None else [{"id": model, "name": model, "isShown": True}]
    load = {"group": None, "provider": provider, "file": None, "problem": None}
    lists = {
        "lists": [{"group": group and {**group, "name": name}, "models": shown, "error": None}],
        "loads": [] if provider is None else [load],
    }
    settings = {} if harness is None else {LISTS: harness["listsModels"], SIGNED_OUT: harness["allowsSignedOut"]}
    answers = [name if provider is None else provider, *([] if model is None else ["Ask the Model"])]
    person = Person(
        sidecar, *answers, lists=lists, settings=settings, isWeb=harness is not None and harness["isRemote"]
    )
    assert sidecar.run("testConnection") == {}
    sidecar.hearers.clear()
    assert person.done == [("page", "connection")]
    tested = sidecar._session._window.tested
    findings = [asdict(one) for one in tested.findings]
    return {one["subject"]: one for one in findings}, {"findings": findings, "report": tested.report}


def beside_upstream(test, **options):
    """Runs a test in a thread beside a server."""

    async def main():
        async with ReplayUpstream(**options) as upstream:
            await asyncio.to_thread(test, upstream)

    asyncio.run(main())


LISTS = "chat.agentHost.byokModels.enabled"
SIGNED_OUT = "chat.agentHost.allowSignedOutWhenUsable"
# Whether the window is remote, and the two settings; what is said, and what helps.
HARNESSES = {
    "a remote window": ((True, True, True), "no models of extensions in a remote window", "choose Local"),
    "both settings off": ((False, False, False), f"{LISTS} is off", SIGNED_OUT),
    "the first one off": ((False, False, True), f"{LISTS} is off", "Use a Model Everywhere"),
    "for accounts alone": ((False, True, False), f"signed in at GitHub: {SIGNED_OUT} is off", "without an account"),
    "both settings on": ((False, True, True), "with an account and without one", ""),
}


@pytest.mark.parametrize(("facts", "says", "advice"), HARNESSES.values(), ids=HARNESSES)
def test_the_last_check_says_whether_the_copilot_harness_offers_the_models(write, facts, says, advice):
    with running(write(PARROT)) as sidecar:
        harness = dict(zip(("isRemote", "listsModels", "allowsSignedOut"), facts, strict=True))
        found, result = examined(sidecar, provider="own", harness=harness)
        last = result["findings"][-1]
        assert (last["subject"], last["verdict"]) == ("Copilot harness", "fine")
        assert says in last["says"]
        assert advice in last["advice"]
        assert last["says"] in result["report"]
        without, _ = examined(sidecar, provider="own")
        assert set(found) - set(without) == {"Copilot harness"}


def test_a_group_that_works_is_fine_and_no_model_is_asked_unless_one_is_named():
    def test(upstream):
        with running() as sidecar:
            found, _ = examined(sidecar, group=group(upstream.base_url, apiKey=KEY))
            assert {one["verdict"] for one in found.values()} == {"fine"}, found
            assert found["server"]["advice"] == "no model was asked for an answer"
            assert not questions(upstream)
            found, result = examined(sidecar, group=group(upstream.base_url, apiKey=KEY), model="text")
            assert found["model"]["says"].startswith("text answers, for")
            assert [request.body["max_output_tokens"] for request in questions(upstream)] == [16]
            assert KEY not in str(sidecar.messages)
            assert result["report"].startswith("## Connection of Harbour\n\nNo problem found.\n\n- ✓ ")

    beside_upstream(test, token=KEY)


def test_a_model_is_asked_for_a_short_answer_also_where_the_group_allows_it_longer_ones():
    def test(upstream):
        with running() as sidecar:
            models = [{"id": "text", "maxOutputTokens": 8_000}]
            found, _ = examined(sidecar, group=group(upstream.base_url, models=models), model="text")
            assert found["model"]["verdict"] == "fine"
            assert [request.body["max_output_tokens"] for request in questions(upstream)] == [16]

    beside_upstream(test)


REFUSALS = {
    "another key": ({"apiKey": WRONG_KEY}, "for this server; if it is wrong, choose Update API Key at the gear"),
    "no key": ({}, "choose Update API Key at the gear of this group"),
}


@pytest.mark.parametrize(("key", "advice"), REFUSALS.values(), ids=REFUSALS)
def test_a_server_that_refuses_the_key_is_a_problem_with_what_helps_in_the_editor(key, advice):
    def test(upstream):
        with running() as sidecar:
            found, result = examined(sidecar, group=group(upstream.base_url, **key), model="text")
            assert (found["server"]["verdict"], advice in found["server"]["advice"]) == ("problem", True), found
            assert found["model"]["says"] == "text was not asked"
            assert "✗ **server**" in result["report"]
            assert "What helps: " in result["report"]
            assert WRONG_KEY not in str(sidecar.messages)

    beside_upstream(test, token=KEY)


@pytest.mark.parametrize(
    ("configuration", "subject", "says"),
    [
        ({"baseUrl": NOBODY}, "server", "listens"),
        ({}, "settings", "baseUrl: got nothing"),
        ({"baseUrl": NOBODY, "bogus": 1}, "settings", "bogus"),
        ({"baseUrl": NOBODY, "apiKeyEnv": "NO_SUCH_VARIABLE"}, "key", "NO_SUCH_VARIABLE"),
    ],
    ids=["nothing listens", "no address", "unknown setting", "no key there"],
)
def test_what_is_wrong_with_the_settings_of_a_group_is_found_without_a_request(configuration, subject, says):
    with running() as sidecar:
        found, _ = examined(sidecar, group={"id": "g", "configuration": configuration})
        assert (found[subject]["verdict"] != "fine", says in found[subject]["says"]) == (True, True), found


def test_a_provider_of_the_settings_is_examined_as_it_is_loaded_and_asked_where_a_model_is_named(write):
    source = str(write(PARROT, "parrot.py"))
    with running(source) as sidecar:
        (model,) = sidecar.information()["models"]
        found, _ = examined(sidecar, provider="parrot")
        assert (found["models"]["verdict"], "answer" in found) == ("fine", False), found
        found, _ = examined(sidecar, provider="parrot", model=model["id"])
        assert found["answer"]["says"].startswith("parrot answered: 15 characters")


def test_a_provider_file_in_a_group_is_examined_like_one_in_the_settings(write):
    of_file = {"id": "g", "configuration": {"provider": str(write(PARROT, "parrot.py"))}}
    with running() as sidecar:
        assert examined(sidecar, group=of_file, model="parrot")[0]["answer"]["verdict"] == "fine"


def test_a_file_that_cannot_be_loaded_is_a_problem_with_its_line_also_while_the_version_before_answers(write):
    path = write(PARROT, "parrot.py")
    with running(str(path)) as sidecar:
        assert sidecar.information()["models"]
        path.write_text("def broken(:\n", encoding="utf-8")
        found, _ = examined(sidecar, provider="parrot")
        assert found["provider"]["verdict"] == "problem"
        assert "parrot.py, line 1" in found["provider"]["says"]
        assert found["provider"]["says"].endswith("; the previous version still answers")
        assert found["models"]["verdict"] == "fine"


def test_a_provider_that_is_not_there_any_more_is_said_to_the_person():
    with running() as sidecar:
        load = {"group": None, "provider": "nobody", "file": None, "problem": None}
        person = Person(sidecar, "nobody", lists={"lists": [], "loads": [load]})
        assert sidecar.run("testConnection") == {}
        assert "params.provider: got 'nobody'" in person.texts()[-1]


def test_what_was_found_is_a_page_for_the_webview_that_asks():
    with running() as sidecar:
        params = {"page": "connection", "nonce": "0123456789abcdef", "source": "https://a.example"}
        assert "nothing was tested" in sidecar.wait(sidecar.send("languageModels/page", params)).error["message"]
        examined(sidecar, group=group(NOBODY), name="<b>Harbour</b>")
        page = sidecar.call("languageModels/page", params)["html"]
        assert "nonce-0123456789abcdef" in page
        assert "&lt;b&gt;Harbour" in page
        assert "<b>" not in page
