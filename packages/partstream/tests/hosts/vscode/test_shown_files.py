"""Files of answers reach a person in VS Code, which shows no data part: through the sidecar's real process."""

import base64
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from conversation.samples import PNG

from .sidecar import running

DRAWING = f"""
import base64
from partstream import DataPart
PNG = base64.b64decode("{base64.b64encode(PNG).decode()}")

@chat_model(name="Painter")
async def painter(messages, options):
    said = text_of(messages[-1])
    if said == "words":
        yield "Here:"
    yield DataPart(PNG, "image/png")
    if said == "words":
        yield "Done."
"""


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """The cache folder of the sidecar."""
    monkeypatch.setenv("PARTSTREAM_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


CHAT = {"requestInitiator": "github.copilot-chat"}
HARNESS = {"requestInitiator": "core", "includeEncryptedThinking": True}
PROGRAMS = ({}, {"requestInitiator": "acme.tools"}, {"requestInitiator": "core"})


def _answer(sidecar, said, options=CHAT):
    request_id = sidecar.respond("own/provider", said, **options)
    assert sidecar.wait(request_id).error is None
    return sidecar.parts(request_id)


def _target(text: str) -> Path:
    (url,) = re.findall(r"\]\((file://[^)]+)\)", text)
    return Path(unquote(urlsplit(url).path))


def _own(write):
    return write(DRAWING.replace("async def painter", "async def provider"))


def test_an_answer_of_a_picture_alone_has_a_text_line_that_links_to_it(write, cache):
    with running(_own(write)) as sidecar:
        data, text = _answer(sidecar, "draw")
    assert (data["type"], data["mimeType"]) == ("data", "image/png")
    assert text["value"] == f"[image/png, {len(PNG)} bytes]({_target(text['value']).as_uri()})\n\n"
    path = _target(text["value"])
    assert path.read_bytes() == PNG
    assert path.is_relative_to(cache)


@pytest.mark.parametrize("options", PROGRAMS)
def test_a_program_gets_the_data_as_it_is_and_no_text_is_added(write, cache, options):
    with running(_own(write)) as sidecar:
        first, data, last = _answer(sidecar, "words", options)
        assert (first["value"], last["value"]) == ("Here:", "Done.")
        assert (data["type"], data["mimeType"]) == ("data", "image/png")
        assert base64.b64decode(data["data"]) == PNG
        [alone] = _answer(sidecar, "draw", options)
        assert alone == data
    assert not (cache / "answer-files").exists()


def test_the_agent_host_gets_the_link_like_the_chat(write):
    with running(_own(write)) as sidecar:
        assert "file://" in "".join(part.get("value", "") for part in _answer(sidecar, "draw", HARNESS))


def test_the_link_stands_on_a_line_of_its_own_between_the_words(write):
    with running(_own(write)) as sidecar:
        said, _, link, behind = (part.get("value", "") for part in _answer(sidecar, "words"))
    assert said + link + behind == f"Here:\n\n{link.strip()}\n\nDone."


def test_a_picture_that_cannot_be_kept_is_told_in_words(write, cache):
    cache.write_text("no folder")
    with running(_own(write)) as sidecar:
        data, text = _answer(sidecar, "draw")
        assert data["type"] == "data"
        assert text["value"].startswith(f"*A file (image/png, {len(PNG)} bytes) could not be saved: ")
        sidecar.until_logged("was not kept")


SEEING = f"""
import base64
from partstream import DataPart, TextPart
PNG = base64.b64decode("{base64.b64encode(PNG).decode()}")

@chat_model(name="Painter", image_input=SEES)
async def provider(messages, options):
    if len(messages) == 1:
        yield "Here:"
        yield DataPart(PNG, "image/png")
        yield "Done."
        return
    for part in messages[1].content:
        yield f"<{{part.value}}>" if isinstance(part, TextPart) else f"<{{part.mime_type}} {{part.data == PNG}}>"
"""


@pytest.mark.parametrize(
    ("sees", "back"), [(True, "<Here:><image/png True><Done.>"), (False, "<Here:><[image/png]><Done.>")]
)
def test_a_model_gets_its_picture_back_in_place_of_the_link(write, sees, back):
    """Copilot keeps the text of an answer as one and nothing else of it."""
    with running(write(SEEING.replace("SEES", str(sees)))) as sidecar:
        shown = sidecar.ask("own/provider", "draw", **CHAT)
        assert "file://" in shown
        answer = {"role": 2, "content": [{"type": "text", "value": shown}]}
        assert sidecar.ask("own/provider", "draw", answer, "again", **CHAT) == back
