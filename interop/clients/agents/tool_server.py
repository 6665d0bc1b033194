"""A server of the Model Context Protocol on standard input and output, with one tool, for agents that search tools.

It says what it was asked, so that the answer of the tool is known: `A quince is a fruit.` for the word `quince`.
"""

from __future__ import annotations
import json
import sys
from typing import Any, Final

LOOKUP: Final = {
    "name": "lookup",
    "description": "Looks up a word in the dictionary of the project",
    "inputSchema": {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]},
}


def _result(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        about = {"name": "words", "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": about}
    if method == "tools/list":
        return {"tools": [LOOKUP]}
    if method == "tools/call":
        return {"content": [{"type": "text", "text": f"A {params['arguments'].get('word')} is a fruit."}]}
    return {{"resources/list": "resources", "prompts/list": "prompts"}.get(method, "resourceTemplates"): []}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message and "method" in message:
        said = _result(message["method"], message.get("params") or {})
        sys.stdout.write(f"{json.dumps({'jsonrpc': '2.0', 'id': message['id'], 'result': said})}\n")
        sys.stdout.flush()
