"""What the wires of this package have no place for, by the name of the protocol.

:mod:`unsupported.common` says what a row is; a module for each wire has its rows. They are tested over every recording
and over made-up answers and requests (test_round_trips.py of the protocols); tools/translation_page.py
writes them down for every pair of protocols. A wire that writes and is not in the table fails these tests.
"""

from collections.abc import Mapping
from typing import Final

from unsupported import (
    ag_ui,
    ai_gateway,
    ai_sdk,
    anthropic_messages,
    chat_completions,
    gemini,
    gemini_interactions,
    ollama,
    openresponses,
)
from unsupported.common import (
    Feature,
    RequestFeature,
    ResponseFeature,
    ResponseForm,
    Unsupported,
    request_form,
    response_form,
)

__all__ = [
    "UNSUPPORTED",
    "Feature",
    "RequestFeature",
    "ResponseFeature",
    "ResponseForm",
    "Unsupported",
    "request_form",
    "response_form",
]

UNSUPPORTED: Final[Mapping[str, Unsupported]] = {
    "openresponses": openresponses.UNSUPPORTED,
    "chat-completions": chat_completions.UNSUPPORTED,
    "anthropic-messages": anthropic_messages.UNSUPPORTED,
    "gemini": gemini.UNSUPPORTED,
    "gemini-interactions": gemini_interactions.UNSUPPORTED,
    "ollama": ollama.UNSUPPORTED,
    "ai-sdk": ai_sdk.FULL_STREAM,
    "ai-sdk-ui": ai_sdk.UI_STREAM,
    "ai-sdk-data": ai_sdk.DATA_STREAM,
    "ai-gateway": ai_gateway.UNSUPPORTED,
    "ag-ui": ag_ui.UNSUPPORTED,
}
