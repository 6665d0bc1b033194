"""Provider files of a user, written by a test."""

import textwrap

import pytest

IMPORTS = """
import asyncio, os, subprocess, sys, threading
from partstream import TextPart, ToolResultPart
from partstream.runtime.simple import chat_model, text_of
from own_base import Base
"""

BASE = """
from partstream import LanguageModelChatInformation, LanguageModelChatProvider

class Base(LanguageModelChatProvider):
    async def provide_language_model_chat_information(self, silent, token):
        return [LanguageModelChatInformation("m", "M", "m", "1", 1000, 100)]
    async def provide_token_count(self, model, text, token):
        return 7
    async def provide_language_model_chat_response(self, model, messages, options, progress, token):
        raise NotImplementedError
"""


@pytest.fixture
def write(tmp_path):
    """Writes a provider file and returns its path."""

    def write_file(code, name="own.py"):
        path = tmp_path / name
        (tmp_path / "own_base.py").write_text(BASE)
        path.write_text(IMPORTS + textwrap.dedent(code))
        return path

    return write_file
