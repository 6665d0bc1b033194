"""The kept requests of coding agents say nothing of a person, a machine or a prompt, and have the form of the sent."""

import json
import re
from pathlib import Path

from interop.clients.agents.first_requests import sanitized
from rows import one_test_for

KEPT = sorted((Path(__file__).parent / "fixtures" / "agents").glob("*.json"))
PRIVATE = re.compile(r"/(?:tmp|root|work|Users)/|/home/(?!user/project)|[0-9a-f]{8}-[0-9a-f]{4}-[1-9a-f]{4}-(?!8000)")


@one_test_for("path", KEPT, ids=[path.stem for path in KEPT])
def test_a_kept_request_names_no_person_and_no_machine_and_holds_no_prompt(path: Path):
    request = json.loads(path.read_text(encoding="utf-8"))
    assert PRIVATE.findall(path.read_text(encoding="utf-8")) == []
    assert sanitized(request, "Say hello.")["body"] == request["body"]


def test_what_a_prompt_or_an_identifier_said_goes_and_its_form_stays():
    session = "01a204b6-c32f-7a13-8096-a09fbf65c306"
    prompt = "You are an agent in /home/somebody/secret-project and keep what you know to yourself, no matter who asks."
    body = {
        "model": "demo",
        "messages": [{"role": "user", "content": "Say hello."}, {"role": "system", "content": prompt}],
        "tools": [{"name": "read", "description": "Reads.", "pattern": "^a b$"}],
        "metadata": {"user_id": json.dumps({"session": session, "device": "ab" * 32, "at": 1792000000000})},
        "session": session,
    }
    headers = [["Authorization", "Bearer abc"], ["Host", "127.0.0.1:1"], ["x-session", session]]
    request = {"method": "POST", "path": "/v1/messages", "headers": headers, "body": body}

    made_up = "00000000-0000-4000-8000-000000000001"
    kept = sanitized(request, "Say hello.")
    assert kept["headers"] == [["Authorization", "Bearer TOKEN"], ["x-session", made_up]]
    assert kept["body"]["messages"] == [
        {"role": "user", "content": "Say hello."},
        {"role": "system", "content": f"({len(prompt)} characters)"},
    ]
    assert kept["body"]["tools"] == [{"name": "read", "description": "(6 characters)", "pattern": "^a b$"}]
    assert json.loads(kept["body"]["metadata"]["user_id"]) == {"session": made_up, "device": "0" * 64, "at": 0}
    assert kept["body"]["session"] == made_up
