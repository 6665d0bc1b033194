"""Providers that raise anything anywhere: each request is answered once, and the other providers go on."""

import asyncio
import gc
import logging
import sys
import traceback
import weakref
from collections.abc import Callable
from pathlib import Path

import pytest

from .in_process import Peer, run, serving
from .sidecar import PATIENCE

HOSTILE = """
from partstream.errors import LanguageModelError, UpstreamError

class Panic(BaseException):
    pass

class Mute(Exception):
    def __str__(self):
        raise SystemExit("no text")

class Unmade(LanguageModelError):
    def __init__(self):
        pass

class Nameless(UpstreamError):
    code = property(lambda self: 1 / 0)
    def __init__(self):
        Exception.__init__(self, "nameless")

ERRORS = {
    "exception": lambda: RuntimeError("broken"),
    "exit": lambda: SystemExit(3),
    "interrupt": lambda: KeyboardInterrupt(),
    "panic": lambda: Panic("rust panicked"),
    "cancelled": lambda: asyncio.CancelledError(),
    "generator_exit": lambda: GeneratorExit(),
    "stop": lambda: StopIteration(),
    "stop_async": lambda: StopAsyncIteration(),
    "late": lambda: TimeoutError(),
    "memory": lambda: MemoryError(),
    "recursion": lambda: RecursionError(),
    "group": lambda: BaseExceptionGroup("several", [SystemExit(1), RuntimeError("x")]),
    "mute": lambda: Mute(),
    "long": lambda: RuntimeError("x" * 1_000_000),
    "surrogate": lambda: RuntimeError("half \\ud83d a pair"),
    "word": lambda: LanguageModelError("a word for a code", "Blocked"),
    "list": lambda: LanguageModelError("a list for a code", ["Blocked"]),
    "unmade": lambda: Unmade(),
    "nameless": lambda: Nameless(),
    "facts": lambda: UpstreamError("facts", http_status="x", provider_code=7, retry_after=float("inf")),
    "huge": lambda: UpstreamError("huge", http_status=10**400, retry_after=10**400),
}
"""
NAMES = [line.split('"')[1] for line in HOSTILE.splitlines() if line.startswith('    "')]
FAILED = (-32010, -32603)
"""The codes of an error of the provider, and of one that cannot be described."""
GOOD = """
@chat_model(name="Parrot")
async def provider(messages, options):
    yield "fine"
"""
EACH = """
def make(error):
    class Own(Base):
{body}
    return Own()

for name, error in ERRORS.items():
    globals()[name] = make(error)
"""
IN_LIST = """
        async def provide_language_model_chat_information(self, silent, token):
            raise error()
"""
IN_ANSWER = """
        async def provide_language_model_chat_response(self, model, messages, options, progress, token):
            progress.report(TextPart("before"))
            raise error()
"""
IN_COUNT = """
        async def provide_token_count(self, model, text, token):
            raise error()
        async def provide_language_model_chat_response(self, model, messages, options, progress, token):
            progress.report(TextPart("whole"))
"""
WHEN_CANCELLED = """
        async def provide_language_model_chat_response(self, model, messages, options, progress, token):
            def heard():
                raise error()
            token.on_cancellation_requested(heard)
            progress.report(TextPart("begun"))
            try:
                await asyncio.Event().wait()
            finally:
                raise error()
"""
IN_CLOSE = """
        async def provide_language_model_chat_response(self, model, messages, options, progress, token):
            progress.report(TextPart("whole"))
        async def aclose(self):
            raise error()
"""
PROPERTIES = """
        @property
        def on_did_correct_token_counts(self):
            raise error()
        @property
        def token_count(self):
            raise error()
        @property
        def token_count_factor(self):
            raise error()
"""

Write = Callable[..., Path]


def _sources(write: Write, body: str, names: list[str] = NAMES) -> list[str]:
    path = write(HOSTILE + EACH.replace("{body}", body), "hostile.py")
    return [f"{path}:{name}" for name in names]


async def _still_answers(peer: Peer, good: str = "good") -> None:
    request_id = peer.respond(f"{good}/provider")
    assert (await peer.reply(request_id)).error is None
    assert peer.text(request_id) == "fine"


def test_an_import_that_raises_anything_is_named_and_the_others_are_listed(write: Write):
    sources = [write(f"{HOSTILE}\nraise ERRORS[{name!r}]()", f"{name}.py") for name in NAMES]

    async def main():
        async with serving(*sources, write(GOOD, "good.py")) as peer:
            result = await peer.information()
            assert [model["id"] for model in result["models"]] == ["good/provider"]
            assert [error["provider"] for error in result["errors"]] == NAMES
            assert max(len(error["message"]) for error in result["errors"]) < 21_000
            replies = [peer.respond(f"{name}/m") for name in NAMES]
            assert all([(await peer.reply(request_id)).error["code"] in FAILED for request_id in replies])
            await _still_answers(peer)

    run(main())


def test_a_list_that_raises_anything_is_named_and_the_others_are_listed(write: Write):
    async def main():
        async with serving(*_sources(write, IN_LIST), write(GOOD, "good.py")) as peer:
            result = await peer.information()
            assert [model["id"] for model in result["models"]] == ["good/provider"]
            assert len(result["errors"]) == len(NAMES)
            await _still_answers(peer)

    run(main())


def test_an_answer_that_raises_anything_keeps_its_parts_and_is_answered_with_an_error(write: Write):
    async def main():
        async with serving(*_sources(write, IN_ANSWER), write(GOOD, "good.py")) as peer:
            models = [model["id"] for model in (await peer.information())["models"]]
            asked = {name: peer.respond(model) for name, model in zip(NAMES, models, strict=False)}
            assert len(asked) == len(NAMES)
            for name, request_id in asked.items():
                error = (await peer.reply(request_id)).error
                assert error["code"] in FAILED, (name, error)
                assert error["message"] != "the request was cancelled"
                assert peer.text(request_id) == "before"
            told = ("word", "list", "facts", "huge")
            codes = {name: (await peer.reply(asked[name])).error["data"] for name in told}
            assert {name: data["code"] for name, data in codes.items()} == {
                "word": "Blocked",
                "list": "Unspecified",
                "facts": "Unspecified",
                "huge": "Unspecified",
            }
            assert [codes["facts"][name] for name in ("httpStatus", "providerCode", "retryAfter")] == [None] * 3
            assert [codes["huge"][name] for name in ("httpStatus", "retryAfter")] == [None] * 2
            await _still_answers(peer)
            assert len((await peer.call("languageModels/diagnostics"))["answers"]) == 20

    run(main())


def test_a_count_that_raises_anything_is_estimated_and_an_answer_whose_parts_are_out_ends(write: Write):
    async def main():
        async with serving(*_sources(write, IN_COUNT)) as peer:
            for model in (await peer.information())["models"]:
                request_id = peer.respond(model["id"])
                items = {"group": None, "model": model["id"], "items": [{"text": "a few words"}]}
                counted = await peer.call("languageModels/tokenCount", items)
                assert [count["source"] for count in counted["counts"]] == ["estimated"]
                assert (await peer.reply(request_id)).error is None
                assert peer.text(request_id) == "whole"
                assert peer.parts(request_id)[-1]["mimeType"] == "usage"

    run(main())


def test_a_request_that_is_cancelled_is_answered_once_whatever_its_provider_raises_then(
    write: Write, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("partstream.vscode.session.GRACE_SECONDS", 0.01)

    async def main():
        async with serving(*_sources(write, WHEN_CANCELLED), write(GOOD, "good.py")) as peer:
            models = [model["id"] for model in (await peer.information())["models"]][: len(NAMES)]
            asked = [peer.respond(model) for model in models]
            for request_id in asked:
                await peer.until(lambda _, request_id=request_id: peer.text(request_id) == "begun")
                peer.notify("$/cancelRequest", {"id": request_id})
            for request_id in asked:
                assert (await peer.reply(request_id)).error["code"] == -32800
            await _still_answers(peer)

    run(main())


def test_a_provider_that_cannot_be_closed_does_not_hold_up_a_reload_or_the_end(write: Write):
    async def main():
        path = write(HOSTILE + EACH.replace("{body}", IN_CLOSE), "hostile.py")
        async with serving(*[f"{path}:{name}" for name in NAMES]) as peer:
            models = [model["id"] for model in (await peer.information())["models"]]
            path.write_text(path.read_text() + "\n# edited\n")
            for model in models:
                request_id = peer.respond(model)
                assert (await peer.reply(request_id)).error is None

    run(main())


def test_a_provider_that_never_closes_holds_up_nobody(write: Write):
    never = """
        class Own(Base):
            async def provide_language_model_chat_response(self, model, messages, options, progress, token):
                progress.report(TextPart("begun"))
                while not (Own.folder / "go").exists():
                    await asyncio.sleep(0.001)
            async def aclose(self):
                await asyncio.Event().wait()
    """

    async def main():
        path = write(never.replace("class Own(Base):", "class Own(Base):\n            folder = Path(__file__).parent"))
        path.write_text("from pathlib import Path\n" + path.read_text())
        async with serving(path) as peer:
            request_id = peer.respond("own/m")
            await peer.until(lambda _: peer.text(request_id) == "begun")
            path.write_text(path.read_text() + "\n# edited\n")
            await peer.information()
            (path.parent / "go").touch()
            assert (await peer.reply(request_id)).error is None

    run(main())


def test_abilities_that_raise_anything_when_they_are_looked_up_are_none(write: Write):
    async def main():
        body = IN_ANSWER.replace("raise error()", "return") + PROPERTIES.replace(
            "on_did_correct_token_counts", "an_ability_of_no_meaning"
        )
        async with serving(*_sources(write, body)) as peer:
            for model in (await peer.information())["models"]:
                request_id = peer.respond(model["id"])
                assert (await peer.reply(request_id)).error is None
            await peer.call("languageModels/counting")

    run(main())


NUMBERS = ["float('nan')", "float('inf')", "-1", "10**400", "None", "'7'", "2.5", "True", "object()", "[1]"]


def test_a_count_that_is_no_number_of_tokens_is_estimated(write: Write):
    body = """
        class Own(Base):
            async def provide_token_count(self, model, text, token):
                return {number}
            async def provide_language_model_chat_response(self, model, messages, options, progress, token):
                progress.report(TextPart("whole"))
    """
    sources = [write(body.replace("{number}", number), f"n{at}.py") for at, number in enumerate(NUMBERS)]

    async def main():
        async with serving(*sources) as peer:
            for at in range(len(NUMBERS)):
                items = {"group": None, "model": f"n{at}/m", "items": [{"text": "a few words"}, {"text": "more"}]}
                counted = await peer.call("languageModels/tokenCount", items)
                assert [count["source"] for count in counted["counts"]] == ["estimated"] * 2
                assert (await peer.reply(peer.respond(f"n{at}/m"))).error is None

    run(main())


def test_a_count_that_never_ends_is_estimated(write: Write, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("partstream.tokens.counting.COUNT_SECONDS", 0.02)
    body = """
        class Own(Base):
            async def provide_token_count(self, model, text, token):
                await asyncio.Event().wait()
            async def provide_language_model_chat_response(self, model, messages, options, progress, token):
                progress.report(TextPart("whole"))
    """

    async def main():
        async with serving(write(body)) as peer:
            items = {"group": None, "model": "own/m", "items": [{"text": "a few words"}] * 100}
            counted = await peer.call("languageModels/tokenCount", items)
            assert {count["source"] for count in counted["counts"]} == {"estimated"}
            assert (await peer.reply(peer.respond("own/m"))).error is None

    run(main())


MODELS = {
    "extra": "'extra', {'a': [float('nan')]}",
    "limit": "'max_input_tokens', float('inf')",
    "text_limit": "'max_output_tokens', 'many'",
    "name": "'name', 7",
    "tooltip": "'tooltip', b'x'",
    "object": "'extra', {'a': object()}",
    "tools": "'capabilities', half_a_tool()",
    "images": "'capabilities', None",
    "deep": "'extra', {'a': deep()}",
}
UNSHOWABLE = """
    from dataclasses import replace
    from partstream import LanguageModelChatCapabilities, LanguageModelChatInformation

    def deep():
        value = []
        for _ in range(5000):
            value = [value]
        return value

    def half_a_tool():
        capabilities = LanguageModelChatCapabilities()
        object.__setattr__(capabilities, "tool_calling", 0.5)
        return capabilities

    def made(id, *fields):
        model = replace(GOOD, id=id)
        for name, value in zip(fields[::2], fields[1::2]):
            object.__setattr__(model, name, value)  # past the checks of the class, as code of a subclass may
        return model

    GOOD = LanguageModelChatInformation("first", "M", "m", "1", 1000, 10**9)

    class Own(Base):
        async def provide_language_model_chat_information(self, silent, token):
            return self.models()

        def models(self):
            yield made("first", "max_input_tokens", 1000.0, "max_output_tokens", 10**30)
            for id, fields in MODELS.items():
                yield made(id, *eval(fields))
            yield made("last")
"""


def test_a_model_that_cannot_be_shown_is_left_out_and_named_and_its_neighbours_are_listed(
    write: Write, caplog: pytest.LogCaptureFixture
):
    path = write(UNSHOWABLE + f"\n    MODELS = {MODELS!r}\n")

    async def main():
        async with serving(path) as peer:
            result = await peer.information()
            assert [model["id"] for model in result["models"]] == ["own/first", "own/last"]
            assert [model["maxInputTokens"] for model in result["models"]] == [1000, 1000]
            assert [model["maxOutputTokens"] for model in result["models"]] == [10**9, 10**9]
            said = " ".join(error["message"] for error in result["errors"])
            assert "model 'extra'['extra']['a'][0] is nan, which is not a JSON number" in said
            assert "model 'limit'.maxInputTokens: got inf, expected a whole number" in said
            assert "model 'deep' nests deeper than 256 levels" in caplog.text  # the answer names three alone

    run(main())


def test_a_list_without_end_is_refused(write: Write, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("partstream.vscode.hosted.MOST_MODELS", 100)
    path = write("""
        from dataclasses import replace
        from itertools import count
        from partstream import LanguageModelChatInformation

        class Own(Base):
            async def provide_language_model_chat_information(self, silent, token):
                return (LanguageModelChatInformation(str(n), "M", "m", "1", 1000, 100) for n in count())
    """)

    async def main():
        async with serving(path) as peer:
            result = await peer.information()
            assert result["models"] == []
            assert "got more than 100 models from own" in result["errors"][0]["message"]

    run(main())


def test_imports_that_never_end_hold_up_no_other_import(write: Write, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("partstream.vscode.host.LIST_SECONDS", 0.5)
    monkeypatch.setattr(asyncio, "stop_waiting", False, raising=False)
    body = "import time\nwhile not asyncio.stop_waiting:\n    time.sleep(0.01)\n"
    sources = [write(body, f"never{at}.py") for at in range(40)]  # more than the event loop's own threads

    async def main():
        async with serving(*sources, write(GOOD, "good.py")) as peer:
            await _still_answers(peer)
            result = await peer.information()
            assert [model["id"] for model in result["models"]] == ["good/provider"]
            assert len(result["errors"]) == 40
            monkeypatch.setattr(asyncio, "stop_waiting", True)

    run(main())


@pytest.mark.parametrize("edit", ["# edited", "raise RuntimeError('broken')"])
def test_a_module_that_was_replaced_is_freed_without_pythons_own_collections(
    write: Write, edit: str, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.CRITICAL + 1)  # pytest keeps the records, and they keep the frames of errors

    async def main():
        freed = asyncio.Event()
        path = write(GOOD + "class Large:\n    pass\nLARGE = Large()\n", "good.py")
        text = path.read_text()
        async with serving(path) as peer:
            await _still_answers(peer)
            [module] = [one for one in tuple(sys.modules.values()) if getattr(one, "__file__", None) == str(path)]
            weakref.finalize(module.LARGE, freed.set)
            del module
            path.write_text(f"{text}\n{edit}\n")
            await peer.information()
            path.write_text(f"{text}\n# mended\n")
            await _still_answers(peer)
            path.write_text(f"{text}\n# edited once more\n")
            await _still_answers(peer)
            async with asyncio.timeout(PATIENCE):
                await freed.wait()

    gc.disable()
    try:
        run(main())
    finally:
        gc.enable()


def test_parts_that_a_thread_reports_come_at_once(write: Write, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("partstream.vscode.session.GRACE_SECONDS", 0.01)
    path = write("""
        class Own(Base):
            async def provide_language_model_chat_response(self, model, messages, options, progress, token):
                waits = threading.Event()
                def work():
                    progress.report(TextPart("from a thread"))
                    waits.wait(20)
                thread = threading.Thread(target=work)
                thread.start()
                token.on_cancellation_requested(waits.set)
                await asyncio.Event().wait()
    """)

    async def main():
        async with serving(path) as peer:
            request_id = peer.respond("own/m")
            await peer.until(lambda _: peer.text(request_id) == "from a thread")
            peer.notify("$/cancelRequest", {"id": request_id})

    run(main())


def test_parts_of_a_thread_come_before_the_end_of_an_answer_that_never_lets_the_event_loop_go_on(write: Write):
    path = write("""
        class Own(Base):
            async def provide_language_model_chat_response(self, model, messages, options, progress, token):
                thread = threading.Thread(target=progress.report, args=(TextPart("from a thread"),))
                thread.start()
                thread.join()
    """)

    async def main():
        async with serving(path) as peer:
            request_id = peer.respond("own/m")
            await peer.reply(request_id)
            assert peer.text(request_id) == "from a thread"

    run(main())


LAZY = """
class Lazy:
    @property
    def __class__(self):
        raise RuntimeError("working outside of a context")

request = Lazy()
"""


def test_a_proxy_beside_a_provider_that_cannot_be_asked_for_its_class_is_no_provider(write: Write):
    async def main():
        async with serving(write(LAZY + GOOD.replace("provider(", "answer("), "good.py")) as peer:
            assert [model["id"] for model in (await peer.information())["models"]] == ["good/answer"]

    run(main())


def test_an_error_that_many_requests_meet_does_not_collect_their_frames(write: Write):
    async def main():
        async with serving(write("raise RuntimeError('broken')", "bad.py")) as peer:
            for _ in range(50):
                await peer.reply(peer.respond("bad/m"))
            [failure] = [one.failure for one in peer.session._host._own.values()]
            assert len(traceback.extract_tb(failure.__traceback__)) < 20

    run(main())


@pytest.mark.parametrize(
    "base_url", ["http://[", "http://a:b:c/", "http://\x00/", "x" * 100_000, "http://\ud83d/"], ids=range(5)
)
def test_an_address_that_is_none_is_named_in_its_group(base_url: str):
    async def main():
        async with serving() as peer:
            group = {"id": "g", "configuration": {"baseUrl": base_url, "models": ["m"]}}
            result = await peer.information(group)
            assert result["models"] == []
            assert "baseUrl" in result["errors"][0]["message"]
            assert (await peer.reply(peer.respond("m", group=group))).error["code"] == -32010

    run(main())


@pytest.mark.parametrize("value", ["float('inf')", "object()", "[1, float('nan')]", "'stop'"])
def test_facts_of_the_wrong_type_about_the_end_of_an_answer_are_unknown(write: Write, value: str):
    path = write(f"""
        from partstream.lm.outputs import Finish, Outcome

        class Own(Base):
            async def provide_language_model_chat_response(self, model, messages, options, progress, token):
                finish = Finish(Outcome.COMPLETED)
                for name in ("reason", "model" if {value} != "stop" else "reason"):
                    object.__setattr__(finish, name, {value})
                progress.report(TextPart("whole"))
                progress.finish(finish)
    """)

    async def main():
        async with serving(path) as peer:
            request_id = peer.respond("own/m")
            assert (await peer.reply(request_id)).error is None
            assert peer.text(request_id) == "whole"
            [end] = (await peer.call("languageModels/diagnostics"))["answers"]
            assert (end["finishReason"], end["answeredBy"], end["outcome"]) == (None, None, "completed")

    run(main())


def test_a_result_that_is_no_json_is_answered_with_an_error_and_the_others_go_on(write: Write):
    path = write("""
        from partstream import LanguageModelChatInformation

        class Own(Base):
            async def provide_language_model_chat_information(self, silent, token):
                model = LanguageModelChatInformation("m", "M", "m", "1", 1000, 100)
                object.__setattr__(model, "family", float("inf"))
                return [model]
    """)

    async def main():
        async with serving(path, write(GOOD, "good.py")) as peer:
            assert [model["id"] for model in (await peer.information())["models"]] == ["good/provider"]
            error = (await peer.reply(peer.send("languageModels/counting"))).error
            assert error["code"] == -32603
            assert "JSON cannot represent" in error["message"]
            await _still_answers(peer)

    run(main())
