import sys

import pytest

from partstream.runtime.provider_files import ProviderNotFoundError, SourceLoader, default_name

ONE = """
from partstream.runtime.simple import chat_model

@chat_model(name="One")
async def one(messages, options):
    yield "1"
"""
PLAIN = "def answer(messages):\n    return 'hello'\n"
TWO = ONE + ONE.replace("one", "two").replace("One", "Two")
CLASSES = """
from partstream.runtime.simple import FunctionProvider as Imported
from partstream import LanguageModelChatProvider

class Abstract(LanguageModelChatProvider):
    pass

class Own(Abstract):
    async def provide_language_model_chat_information(self, silent, token): return []
    async def provide_language_model_chat_response(self, *_): pass
    async def provide_token_count(self, *_): return 0
"""


@pytest.fixture
def write(tmp_path):
    def write_file(text, name="own.py"):
        (tmp_path / name).write_text(text)
        return str(tmp_path / name)

    return write_file


def _name(source):
    return SourceLoader(source).load().information.name


def test_the_only_provider_of_a_file_is_found(write):
    assert _name(write(ONE)) == "One"


def test_the_attribute_provider_wins_over_others(write):
    assert _name(write(TWO + "\nprovider = two")) == "Two"


def test_an_attribute_may_be_named(write):
    assert _name(write(TWO) + ":two") == "Two"


def test_a_module_on_the_path_is_found_and_reloaded(write, tmp_path, monkeypatch):
    write(TWO, "some_module.py")
    monkeypatch.syspath_prepend(tmp_path)
    loader = SourceLoader("some_module:one")
    assert loader.stamp() is None
    assert loader.load().information.name == "One"
    before = loader.stamp()
    assert before is not None
    write(TWO.replace('"One"', '"Uno"'), "some_module.py")
    assert loader.stamp() != before
    assert loader.load().information.name == "Uno"
    del sys.modules["some_module"]


def test_the_only_class_of_its_own_is_made_into_a_provider(write):
    assert type(SourceLoader(write(CLASSES)).load()).__name__ == "Own"


def test_two_files_of_one_name_are_two_modules(tmp_path, write):
    (tmp_path / "other").mkdir()
    first, second = write(ONE), write(TWO + "\nprovider = two", "other/own.py")
    assert (_name(first), _name(second), _name(first)) == ("One", "Two", "One")


def test_a_file_beside_the_provider_can_be_imported_but_hides_nothing(write):
    write("NAME = 'Beside'", "sibling_of_own.py")
    write("raise RuntimeError('not the standard library')", "wave.py")
    source = "import wave, sibling_of_own\n" + ONE.replace('"One"', "sibling_of_own.NAME")
    assert _name(write(source)) == "Beside"
    del sys.modules["sibling_of_own"]


@pytest.mark.parametrize(
    ("text", "attribute", "said"),
    [
        ("x = 1", "", "got no provider, expected one LanguageModelChatProvider"),
        (PLAIN, "", "got no provider, only the function `answer`, expected one LanguageModelChatProvider"),
        (PLAIN, "", "`@chat_model` makes a model of an async generator of messages and options"),
        (PLAIN, "", "`partstream new NAME --from callable` writes one around a function that returns its answer"),
        (PLAIN, ":answer", "`partstream new NAME --from callable` writes one"),
        ("def a(): 0\ndef b(): 0\ndef c(): 0\ndef d(): 0", "", "only the functions `a`, `b`, `c` and more, expected"),
        ("from textwrap import dedent", "", "got no provider, expected"),
        (TWO, "", "got 2 providers (one, two), expected one"),
        (ONE, ":missing", "got no attribute 'missing'"),
        ("provider = 1", "", "got 'provider' of type int, expected a LanguageModelChatProvider"),
        (CLASSES, ":Abstract", "got 'Abstract' of type ABCMeta"),
        ("def provider(upstream): ...", "", "a function of `upstream` that only the conformance kit calls"),
    ],
)
def test_a_file_without_exactly_one_provider_is_told_what_would_do(write, text, attribute, said):
    with pytest.raises(ProviderNotFoundError) as caught:
        SourceLoader(write(text) + attribute).load()
    assert said in str(caught.value)


def test_a_source_that_fails_leaves_no_module_behind(write):
    loader = SourceLoader(write("raise ValueError('no')"))
    before = set(sys.modules)
    with pytest.raises(ValueError, match="no"):
        loader.load()
    assert set(sys.modules) == before


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("path/to/my_model.py", "my_model"),
        ("C:\\models\\mine.py:answer", "C:\\models\\mine"),
        ("package.module:attribute", "module"),
        ("package", "package"),
    ],
)
def test_a_provider_without_a_name_is_called_after_its_source(source, name):
    if "\\" in source and sys.platform == "win32":
        name = "mine"
    assert default_name(source) == name
