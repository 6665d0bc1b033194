"""What ends with a group, with a new version of a provider, and with the window."""

import sys

from .sidecar import Sidecar, running

CLOSED_IN_A_FILE = """
    from pathlib import Path

    class Provider(Base):
        async def provide_language_model_chat_response(self, model, messages, options, progress, token):
            progress.report(TextPart("started"))
            while not Path({go!r}).exists():
                await asyncio.sleep(0.005)
            progress.report(TextPart(" ended"))

        async def aclose(self):
            Path({closed!r}).write_text("closed")

    provider = Provider()
"""

BLOCKED = """
    import time
    from pathlib import Path

    @chat_model(name="Blocked")
    async def provider(messages, options):
        Path({blocks!r}).touch()
        time.sleep(1000)
        yield "never"
"""

COUNTS = """
    @chat_model(name="Counts")
    async def provider(messages, options):
        yield "{version}"
"""


def test_a_group_that_is_forgotten_closes_its_provider_once_its_answers_have_ended(write, tmp_path):
    go, closed = tmp_path / "go", tmp_path / "closed"
    source = write(CLOSED_IN_A_FILE.format(go=str(go), closed=str(closed)))
    group = {"id": "g", "configuration": {"provider": str(source)}}
    with running() as sidecar:
        sidecar.information(group)
        request_id = sidecar.respond("m", "hi", group=group)
        sidecar.until(lambda _: sidecar.text(request_id) == "started")
        for _ in range(2):  # the second finds no group, which is no error
            sidecar.notify("languageModels/forgetGroup", {"group": "g"})
        assert sidecar.information()["models"] == []  # handled after the notifications
        assert not closed.exists()
        go.touch()
        assert sidecar.wait(request_id).error is None
        assert sidecar.text(request_id) == "started ended"
        sidecar.until_true(closed.exists)
        assert [model["id"] for model in sidecar.information(group)["models"]] == ["m"]  # used again, loaded again


def test_a_provider_that_is_loaded_again_says_that_its_counts_may_be_others(write):
    with running(write(COUNTS.format(version="one"))) as sidecar:
        assert sidecar.ask("own/provider", "?") == "one"
        write(COUNTS.format(version="two"))
        assert sidecar.ask("own/provider", "?") == "two"
        told = sidecar.until(lambda message: getattr(message, "method", None) == "languageModels/tokenCountsDidChange")
        assert told.params == {"group": None, "models": ["own/provider"]}


def test_a_provider_that_blocks_the_process_does_not_outlive_the_window(write, tmp_path):
    blocks = tmp_path / "blocks"
    code = "import partstream.vscode.process as p; p.GONE_SECONDS = 0.2; raise SystemExit(p.run())"
    sidecar = Sidecar(sys.executable, "-c", code)
    try:
        sidecar.initialize(write(BLOCKED.format(blocks=str(blocks))))
        sidecar.respond("own/provider", "go")
        sidecar.until_true(blocks.exists)
        sidecar.process.stdin.close()
        assert sidecar.end() == 1
    finally:
        sidecar.close()
