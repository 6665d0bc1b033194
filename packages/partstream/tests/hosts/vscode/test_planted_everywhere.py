"""A secret planted in any setting of a group is in nothing that a real sidecar says, whatever the server repeats."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from configuration.planted import SPOTS

from .person import Person
from .sidecar import running_process

SECRET = "sk-planted-4f1d0c9ba37e"  # noqa: S105 - it opens nothing


class Echo(BaseHTTPRequestHandler):
    """Refuses everything, and repeats all that it was sent."""

    protocol_version = "HTTP/1.1"

    def answer(self) -> None:
        length = int(self.headers.get("content-length", 0))
        heard = f"{self.requestline}\n{self.headers}\n{self.rfile.read(length).decode()}"
        self.server.heard.append(heard)
        said = json.dumps({"error": {"message": heard, "code": "refused"}}).encode()
        self.send_response(400)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    do_GET = do_POST = answer  # noqa: N815 - the names of http.server

    def log_message(self, *_: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    heard: list[str]


@contextmanager
def echoing() -> Iterator[Server]:
    server = Server(("127.0.0.1", 0), Echo)
    server.heard = []
    thread = Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join(20)
        server.server_close()


def test_whatever_a_server_repeats_of_a_group_the_sidecar_does_not_say_it():
    with echoing() as server, running_process() as sidecar:
        url = f"http://127.0.0.1:{server.server_port}/v1"
        for number, (name, spot) in enumerate(SPOTS.items()):
            secret = f"{SECRET}-{number}"
            configuration = json.loads(json.dumps(spot.planted(secret)).replace("https://planted.example.com/v1", url))
            configuration |= {"models": ["m"], "retry": {"attempts": 1}}
            group = {"id": name, "configuration": {"baseUrl": url, **configuration}}
            before = len(server.heard)
            sidecar.information(group)
            reply = sidecar.wait(sidecar.respond("m", "Hello", group=group))
            assert reply.error is not None, name
            as_text = {**group, "configuration": {**group["configuration"], "errors": "text"}}
            request_id = sidecar.respond("m", "Hello", group=as_text)
            assert sidecar.wait(request_id).error is None, name
            assert sidecar.text(request_id).startswith("**Error:** "), name
            listing = {**group, "configuration": {**group["configuration"], "models": []}}
            assert sidecar.information(listing)["errors"], name
            shown = [{"id": "m", "name": "m", "isShown": True}]
            lists = {"lists": [{"group": {**listing, "name": name}, "models": shown, "error": None}], "loads": []}
            person = Person(sidecar, name, "Ask the Model", lists=lists)
            sidecar.run("testConnection")
            sidecar.hearers.clear()
            assert person.done == [("page", "connection")], name
            page = {"page": "connection", "nonce": "0123456789abcdef", "source": ""}
            assert "problem" in sidecar.call("languageModels/page", page)["html"], name
            # The test can fail: the server got the secret, and sent it back. Some secrets are never sent.
            heard = "\n".join(server.heard[before:])
            assert (secret in heard) is (name not in {"proxy", "apiKeyCommand"}), name
        for method in ("languageModels/counting", "languageModels/diagnostics"):
            sidecar.call(method)
        sidecar.call("languageModels/page", {"page": "usage", "nonce": "0123456789abcdef", "source": ""})
        sidecar.notify("exit")
        sidecar.end()
        assert SECRET not in str(sidecar.messages)
        assert SECRET not in sidecar.errors
