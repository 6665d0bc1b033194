"""Every request is valid by Anthropic's own types, and nothing in it is refused by a server that refuses as Anthropic
does."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from pydantic import ValidationError

from conversation.samples import user
from partstream.lm.outputs import InboundRequest
from partstream.protocols.protocol import PROTOCOLS
from partstream.runtime.translation import write_question
from protocols.answers import requests
from protocols.anthropic_messages.official_types import validate_request
from protocols.anthropic_messages.requests import refused_by_anthropic, written
from protocols.anthropic_messages.test_input_messages import LATE, ROWS
from protocols.anthropic_messages.test_marked_requests import session
from protocols.anthropic_messages.test_write_request import EDITS, THINKING
from rows import one_test_for

NOT_TYPED = {"seed", "temperature"}
"""What no request has a field for, or none any more: newer models refuse it."""
CONVERSATIONS: dict[str, tuple[Any, dict[str, Any]]] = {
    **{name: (row.conversation, {}) for name, row in ROWS.items()},
    **{name: ([user("Hi")], {"model": model, **options}) for name, (model, options, *_) in THINKING.items()},
    **{name: ([user("Hi")], {"model": model, **options}) for name, (model, options, _) in EDITS.items()},
    "rounds": (session(4), {}),
    "late system messages": (LATE, {"prompt_cache": "1h"}),
}


@one_test_for(("conversation", "options"), CONVERSATIONS.values(), ids=CONVERSATIONS)
def test_a_request_is_valid_by_the_official_types(conversation: Any, options: dict[str, Any]):
    validate_request(written(*conversation, **options).body)


@given(asked=requests())
@settings(max_examples=15)
def test_any_request_is_valid_by_the_official_types_and_refused_by_nobody(asked: InboundRequest):
    known = {name: value for name, value in asked.options.model_options.items() if name not in NOT_TYPED}
    asked = replace(asked, options=replace(asked.options, model_options=known))
    request = write_question(PROTOCOLS["anthropic-messages"], asked)
    validate_request(request.body)
    assert refused_by_anthropic(request) is None


def test_the_types_are_strict():
    body = dict(written(user("Hi")).body)
    for wrong in ({"seed": 7}, {"thinking": {"type": "some"}}, {"messages": [{"role": "user", "content": [{}]}]}):
        with pytest.raises(ValidationError):
            validate_request(body | wrong)
