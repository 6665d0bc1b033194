# ruff: noqa: E501 - a line of a log is a line here
"""Writes those texts of the token corpus that people do not write: JSON, logs, base64, hexadecimal; with a fixed seed.

    python tools/generate_token_corpus.py

The other texts of tests/fixtures/token_corpus (prose, code, tool schemas) were written by hand for this project. Texts
for training and for judging share neither words nor shapes, else the judgement would be of memory.
"""

from __future__ import annotations
import base64
import hashlib
import json
import random
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

FOLDER = Path(__file__).resolve().parent.parent / "tests" / "fixtures" / "token_corpus"
SEPARATOR = "%%\n"

Random = random.Random

TRAIN_WORDS = [
    "amber",
    "basket",
    "cellar",
    "drawer",
    "engine",
    "feather",
    "garden",
    "hammer",
    "island",
    "jacket",
    "kettle",
    "ladder",
    "marble",
    "needle",
    "orchard",
    "pencil",
    "quarry",
    "ribbon",
    "saddle",
    "tunnel",
    "valley",
    "window",
    "yellow",
    "anchor",
    "bottle",
    "candle",
    "dragon",
    "fabric",
    "harvest",
    "lantern",
    "bramble",
    "thicket",
    "gosling",
    "marzipan",
    "tambourine",
    "pelican",
    "walnut",
    "parsley",
    "turnip",
    "hazel",
    "juniper",
    "otter",
    "badger",
    "thistle",
    "cricket",
    "barley",
    "pewter",
    "trellis",
    "gazebo",
    "cobbler",
    "sorrel",
    "lichen",
    "heron",
    "plover",
    "magpie",
    "tinder",
    "flint",
    "kestrel",
]
HELD_OUT_WORDS = [
    "apricot",
    "balcony",
    "compass",
    "dolphin",
    "emerald",
    "forest",
    "glacier",
    "horizon",
    "iceberg",
    "jasmine",
    "kingdom",
    "lagoon",
    "meadow",
    "nectar",
    "oyster",
    "pebble",
    "quilt",
    "raven",
    "silver",
    "thunder",
    "umbrella",
    "velvet",
    "willow",
    "zephyr",
    "acorn",
    "breeze",
    "cobalt",
    "dune",
    "falcon",
    "granite",
]


def _words(rng: Random, words: list[str], count: int) -> str:
    return " ".join(rng.choice(words) for _ in range(count))


def _hex(rng: Random, length: int) -> str:
    return f"{rng.getrandbits(length * 4):0{length}x}"


def _uuid(rng: Random) -> str:
    return "-".join(_hex(rng, length) for length in (8, 4, 4, 4, 12))


def _time(rng: Random, form: str) -> str:
    return form.format(
        Y=2026, m=rng.randint(1, 12), d=rng.randint(1, 28), H=rng.randint(0, 23), M=rng.randint(0, 59),
        S=rng.randint(0, 59), f=rng.randint(0, 999),
    )  # fmt: skip


# ---- JSON ----


def _json_orders(rng: Random) -> str:
    words = TRAIN_WORDS
    orders = [
        {
            "orderId": rng.randint(10_000, 99_999),
            "customer": {"name": _words(rng, words, 2).title(), "vip": rng.random() < 0.3, "notes": None},
            "items": [
                {"sku": f"{rng.choice(words)[:3].upper()}-{rng.randint(1, 999):03d}", "qty": rng.randint(1, 9)}
                for _ in range(rng.randint(1, 3))
            ],
            "total": round(rng.uniform(5, 900), 2),
        }
        for _ in range(6)
    ]
    return json.dumps({"page": 1, "orders": orders}, indent=2)


def _json_features(rng: Random) -> str:
    features = [
        {
            "type": "Feature",
            "geometry": {"type": "Point", "coordinates": [round(rng.uniform(-180, 180), 5), round(rng.uniform(-90, 90), 5)]},
            "properties": {"label": _words(rng, TRAIN_WORDS, 3), "elevation": rng.randint(0, 3000)},
        }
        for _ in range(9)
    ]  # fmt: skip
    return json.dumps({"type": "FeatureCollection", "features": features}, separators=(",", ":"))


def _json_settings(rng: Random) -> str:
    settings: dict[str, Any] = {}
    for _ in range(22):
        key = ".".join(rng.sample(TRAIN_WORDS, 2)) + rng.choice(["Enabled", "Path", "Timeout", "MaxSize"])
        settings[key] = rng.choice(
            [True, False, rng.randint(0, 5000), f"/usr/local/{rng.choice(TRAIN_WORDS)}", [1, 2, 3]]
        )
    return json.dumps(settings, indent=4)


def _json_results(rng: Random) -> str:
    return json.dumps([
        {"path": f"src/{rng.choice(TRAIN_WORDS)}/{rng.choice(TRAIN_WORDS)}.py", "line": rng.randint(1, 900),
         "preview": f"def {rng.choice(TRAIN_WORDS)}_{rng.choice(TRAIN_WORDS)}(self, value):", "score": round(rng.random(), 3)}
        for _ in range(10)
    ])  # fmt: skip


def _json_messages(rng: Random) -> str:
    return json.dumps({"model": "large", "stream": True, "messages": [
        {"role": rng.choice(["user", "assistant", "tool"]), "content": [{"type": "text", "text": _words(rng, TRAIN_WORDS, 9)}],
         "metadata": {"requestId": _uuid(rng), "createdAt": _time(rng, "{Y}-{m:02d}-{d:02d}T{H:02d}:{M:02d}:{S:02d}Z")}}
        for _ in range(6)
    ]}, indent=2)  # fmt: skip


def _json_metrics(rng: Random) -> str:
    return "\n".join(
        json.dumps({"host": f"{rng.choice(TRAIN_WORDS)}-{rng.randint(1, 20)}", "pid": rng.randint(300, 99999), "cpu": round(rng.random(), 4),
                    "rss_bytes": rng.randint(10**6, 10**9), "tags": rng.sample(TRAIN_WORDS, 2), "checksum": _hex(rng, 16)},
                   separators=(",", ":"))
        for _ in range(9)
    )  # fmt: skip


def _json_menu(rng: Random) -> str:
    def entry(depth: int) -> dict[str, Any]:
        sub = [entry(depth - 1) for _ in range(2)] if depth else None
        return {"label": rng.choice(TRAIN_WORDS).title(), "command": f"{rng.choice(TRAIN_WORDS)}.{rng.choice(TRAIN_WORDS)}", "enabled": True, "submenu": sub}  # fmt: skip

    return json.dumps(entry(3))


def _json_weather(rng: Random) -> str:
    days = [
        {"date": _time(rng, "{Y}-{m:02d}-{d:02d}"), "temperature": {"min": rng.randint(-9, 12), "max": rng.randint(13, 35)},
         "wind_speed": round(rng.uniform(0, 20), 1), "summary": _words(rng, HELD_OUT_WORDS, 4), "alerts": []}
        for _ in range(9)
    ]  # fmt: skip
    return json.dumps({"station": _uuid(rng), "unit": "celsius", "forecast": days}, indent=2)


def _json_events(rng: Random) -> str:
    lines = [
        json.dumps({"ts": 1_700_000_000 + rng.randint(0, 10**8), "event": rng.choice(["click", "scroll", "purchase", "login"]),
                    "user_id": _hex(rng, 12), "props": {"element": rng.choice(HELD_OUT_WORDS), "x": rng.randint(0, 1900),
                                                        "referrer": f"https://{rng.choice(HELD_OUT_WORDS)}.example.org/"}})
        for _ in range(11)
    ]  # fmt: skip
    return "\n".join(lines)


def _json_package(rng: Random) -> str:
    names = rng.sample(HELD_OUT_WORDS, 14)
    versions = {f"@{names[0]}/{name}" if rng.random() < 0.3 else name: f"^{rng.randint(0, 9)}.{rng.randint(0, 30)}.0" for name in names}  # fmt: skip
    return json.dumps(
        {"name": names[0], "version": "2.4.1", "private": True,
         "scripts": {"build": "tsc -p .", "test": "node --test", "lint": "eslint src --max-warnings 0"},
         "dependencies": versions, "engines": {"node": ">=20"}}, indent=2,
    )  # fmt: skip


def _json_tree(rng: Random) -> str:
    def node(depth: int) -> dict[str, Any]:
        children = [node(depth - 1) for _ in range(rng.randint(2, 3))] if depth else []
        return {"id": rng.randint(1, 9999), "title": _words(rng, HELD_OUT_WORDS, 2), "expanded": not children, "children": children}  # fmt: skip

    return json.dumps(node(3), separators=(",", ":"))


# ---- logs ----


def _log_access(rng: Random) -> str:
    line = '{}.{}.{}.{} - - [{}] "GET /{}/{}?id={} HTTP/1.1" {} {} "-" "Mozilla/5.0 (X11; Linux x86_64)"'
    return "\n".join(
        line.format(*(rng.randint(1, 254) for _ in range(4)), _time(rng, "{d:02d}/Nov/{Y}:{H:02d}:{M:02d}:{S:02d} +0000"),
                    rng.choice(TRAIN_WORDS), rng.choice(TRAIN_WORDS), rng.randint(1, 9999), rng.choice([200, 200, 304, 404, 500]),
                    rng.randint(120, 48000))
        for _ in range(9)
    )  # fmt: skip


def _log_service(rng: Random) -> str:
    messages = (
        "Connected to database {w} in {n} ms", "Retrying request to {w}-service (attempt {s} of 5)",
        "Cache miss for key {w}:{n}", "User {n} logged in from {w}", "Job {w}-{n} finished, {s} items processed",
        "Slow query: SELECT * FROM {w} WHERE id = {n} took {n} ms",
    )  # fmt: skip
    return "\n".join(
        f"{_time(rng, '{Y}-{m:02d}-{d:02d} {H:02d}:{M:02d}:{S:02d},{f:03d}')} {rng.choice(['INFO', 'DEBUG', 'WARNING', 'ERROR'])}"
        f" [{rng.choice(TRAIN_WORDS)}.{rng.choice(TRAIN_WORDS)}] "
        + rng.choice(messages).format(w=rng.choice(TRAIN_WORDS), n=rng.randint(2, 9000), s=rng.randint(1, 5))
        for _ in range(14)
    )


def _log_build(rng: Random) -> str:
    lines = [
        f"> Task :{rng.choice(TRAIN_WORDS)}:compile{rng.choice(TRAIN_WORDS).title()}Java UP-TO-DATE" for _ in range(6)
    ]
    lines += [
        f"[{n:3d}%] Building C object lib/{rng.choice(TRAIN_WORDS)}/CMakeFiles/{rng.choice(TRAIN_WORDS)}.dir/{rng.choice(TRAIN_WORDS)}.c.o"
        for n in range(8, 80, 9)
    ]
    lines.append(f"BUILD SUCCESSFUL in {rng.randint(2, 59)}s")
    return "\n".join(lines)


def _log_traceback(rng: Random) -> str:
    frames = "\n".join(
        f'  File "/app/{rng.choice(TRAIN_WORDS)}/{rng.choice(TRAIN_WORDS)}.py", line {rng.randint(3, 700)}, in {rng.choice(TRAIN_WORDS)}_{rng.choice(TRAIN_WORDS)}\n'
        f"    return self.{rng.choice(TRAIN_WORDS)}({rng.choice(TRAIN_WORDS)}, *args, **kwargs)"
        for _ in range(7)
    )
    return f"Traceback (most recent call last):\n{frames}\nKeyError: '{rng.choice(TRAIN_WORDS)}'"


def _log_packages(rng: Random) -> str:
    lines = [
        f"npm warn deprecated {rng.choice(TRAIN_WORDS)}-{rng.choice(TRAIN_WORDS)}@{rng.randint(0, 9)}.{rng.randint(0, 20)}.{rng.randint(0, 9)}: no longer supported"
        for _ in range(5)
    ]
    lines += [f"Get:{n} http://deb.example.org stable/main amd64 lib{rng.choice(TRAIN_WORDS)}{rng.randint(1, 9)}-dev {rng.randint(1, 9)}.{rng.randint(0, 40)}-{rng.randint(1, 4)}+b1 [{rng.randint(3, 900)} kB]" for n in range(1, 8)]  # fmt: skip
    return "\n".join(lines)


def _log_compiler(rng: Random) -> str:
    return "\n".join(
        f"src/{rng.choice(TRAIN_WORDS)}_{rng.choice(TRAIN_WORDS)}.cpp:{rng.randint(1, 900)}:{rng.randint(1, 80)}: {rng.choice(['error', 'warning'])}: "
        + rng.choice(["unused variable '{}' [-Wunused-variable]", "no member named '{}' in namespace 'std'", "expected ';' after '{}'"]).format(rng.choice(TRAIN_WORDS))
        for _ in range(9)
    )  # fmt: skip


def _log_node(rng: Random) -> str:
    frames = "\n".join(
        f"    at {rng.choice(TRAIN_WORDS)}{rng.choice(TRAIN_WORDS).title()} (file:///srv/{rng.choice(TRAIN_WORDS)}/dist/{rng.choice(TRAIN_WORDS)}.js:{rng.randint(1, 900)}:{rng.randint(1, 60)})"
        for _ in range(9)
    )
    return f"TypeError: Cannot read properties of undefined (reading '{rng.choice(TRAIN_WORDS)}')\n{frames}\n    at process.processTicksAndRejections (node:internal/process/task_queues:95:5)"  # fmt: skip


def _log_diff(rng: Random) -> str:
    return "\n".join(
        f" {rng.choice(TRAIN_WORDS)}/{rng.choice(TRAIN_WORDS)}_test.go | {n:3d} {'+' * rng.randint(1, 20)}{'-' * rng.randint(0, 15)}"
        for n in rng.sample(range(300), 12)
    ) + "\n 12 files changed, 391 insertions(+), 77 deletions(-)"  # fmt: skip


def _log_containers(rng: Random) -> str:
    return "\n".join(
        f"{_hex(rng, 12)}   {rng.choice(TRAIN_WORDS)}/{rng.choice(TRAIN_WORDS)}:{rng.randint(1, 9)}.{rng.randint(0, 20)}-alpine   "
        f"\"docker-entrypoint.s\"   {rng.randint(2, 50)} hours ago   Up {rng.randint(2, 50)} hours   0.0.0.0:{rng.randint(1024, 9999)}->80/tcp   {rng.choice(TRAIN_WORDS)}_{rng.choice(TRAIN_WORDS)}"
        for _ in range(8)
    )  # fmt: skip


def _log_verbose_tests(rng: Random) -> str:
    return "\n".join(
        f"{rng.choice(['ok', 'not ok'])} {n} - {_words(rng, TRAIN_WORDS, 4)} # time={rng.uniform(0, 90):.3f}ms" for n in range(1, 16)
    ) + "\n" + "\n".join(
        f"--- {rng.choice(['PASS', 'FAIL'])}: Test{rng.choice(TRAIN_WORDS).title()}{rng.choice(TRAIN_WORDS).title()} ({rng.uniform(0, 3):.2f}s)" for _ in range(8)
    )  # fmt: skip


def _log_journal(rng: Random) -> str:
    units = ("systemd[1]", "sshd[{n}]", "kernel", "NetworkManager[{n}]", "dockerd[{n}]")
    messages = (
        "Started {w} daemon.", "Accepted publickey for {w} from 10.{s}.{s}.{b} port {n} ssh2",
        "eth0: link up, {n}Mbps, full-duplex, lpa 0x{x}", "Stopping {w} cleanup timer...",
        'level=warning msg="container {x} health check failed" attempt={s}', "Out of memory: Killed process {n} ({w})",
    )  # fmt: skip
    return "\n".join(
        f"Nov {rng.randint(1, 30):2d} {_time(rng, '{H:02d}:{M:02d}:{S:02d}')} {rng.choice(HELD_OUT_WORDS)} "
        + (rng.choice(units) + ": " + rng.choice(messages)).format(
            w=rng.choice(HELD_OUT_WORDS), n=rng.randint(100, 65000), s=rng.randint(0, 9), b=rng.randint(0, 255), x=_hex(rng, 6)
        )
        for _ in range(12)
    )  # fmt: skip


def _log_structured(rng: Random) -> str:
    return "\n".join(
        f"time={_time(rng, '{Y}-{m:02d}-{d:02d}T{H:02d}:{M:02d}:{S:02d}.{f:03d}Z')} level={rng.choice(['info', 'warn', 'error'])}"
        f' component={rng.choice(HELD_OUT_WORDS)} trace_id={_hex(rng, 16)} duration_ms={rng.randint(0, 4000)}'
        f' msg="{_words(rng, HELD_OUT_WORDS, 4)}"'
        for _ in range(11)
    )  # fmt: skip


def _log_java(rng: Random) -> str:
    frames = "\n".join(
        f"\tat org.{rng.choice(HELD_OUT_WORDS)}.{rng.choice(HELD_OUT_WORDS)}.{rng.choice(HELD_OUT_WORDS).title()}{rng.choice(HELD_OUT_WORDS).title()}"
        f".{rng.choice(['invoke', 'doFilter', 'handleRequest', 'run'])}({rng.choice(HELD_OUT_WORDS).title()}.java:{rng.randint(20, 900)})"
        for _ in range(12)
    )
    return (
        f'Exception in thread "main" java.lang.IllegalStateException: {_words(rng, HELD_OUT_WORDS, 3)} is closed\n{frames}\n'
        "Caused by: java.io.IOException: Connection reset by peer\n\t... 12 more"
    )


def _log_tests(rng: Random) -> str:
    lines = [
        f"tests/{rng.choice(HELD_OUT_WORDS)}/test_{rng.choice(HELD_OUT_WORDS)}.py::test_{rng.choice(HELD_OUT_WORDS)}_{rng.choice(HELD_OUT_WORDS)}"
        f"[{rng.choice(HELD_OUT_WORDS)}-{rng.randint(1, 64)}] {rng.choice(['PASSED', 'PASSED', 'FAILED', 'SKIPPED'])}"
        f"  [{n:3d}%]"
        for n in range(7, 100, 8)
    ]
    lines.append(f"========== 3 failed, {rng.randint(8, 90)} passed, 2 skipped in {rng.uniform(1, 90):.2f}s ==========")
    return "\n".join(lines)


# ---- base64 and hexadecimal ----


def _blob_random(rng: Random) -> str:
    return base64.b64encode(rng.randbytes(900)).decode()


def _blob_url(rng: Random) -> str:
    image = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + rng.randbytes(700)
    return f"data:image/png;base64,{base64.b64encode(image).decode()}"


def _blob_digests(rng: Random) -> str:
    return "\n".join(f"{_hex(rng, 64)}  {rng.choice(TRAIN_WORDS)}-{rng.randint(1, 9)}.tar.gz" for _ in range(12))


def _blob_uuids(rng: Random) -> str:
    return "\n".join(_uuid(rng) for _ in range(20))


def _blob_packed(rng: Random) -> str:
    packed = zlib.compress(" ".join(rng.choice(HELD_OUT_WORDS) for _ in range(900)).encode())
    return base64.b64encode(packed[:840]).decode()


def _blob_lines(rng: Random) -> str:
    text = base64.b64encode(rng.randbytes(780)).decode()
    lines = "\n".join(text[start : start + 64] for start in range(0, len(text), 64))
    return f"-----BEGIN CERTIFICATE-----\n{lines}\n-----END CERTIFICATE-----"


def _blob_commits(rng: Random) -> str:
    return "\n".join(f"{_hex(rng, 40)} {_words(rng, HELD_OUT_WORDS, 3)}" for _ in range(13))


def _blob_integrity(rng: Random) -> str:
    return "\n".join(
        f"integrity sha512-{base64.b64encode(hashlib.sha512(rng.randbytes(8)).digest()).decode()}" for _ in range(9)
    )


TEXTS: dict[str, dict[str, tuple[Callable[[Random], str], ...]]] = {
    "train": {
        "json": (
            _json_orders,
            _json_features,
            _json_settings,
            _json_results,
            _json_messages,
            _json_metrics,
            _json_menu,
        ),
        "logs": (
            _log_access,
            _log_service,
            _log_build,
            _log_traceback,
            _log_packages,
            _log_compiler,
            _log_node,
            _log_diff,
            _log_containers,
            _log_verbose_tests,
        ),
        "base64": (_blob_random, _blob_url, _blob_digests, _blob_uuids),
    },
    "held_out": {
        "json": (_json_weather, _json_events, _json_package, _json_tree),
        "logs": (_log_journal, _log_structured, _log_java, _log_tests),
        "base64": (_blob_packed, _blob_lines, _blob_commits, _blob_integrity),
    },
}
"""Who writes the texts of a file, by split and kind."""


def main() -> None:
    """Writes the files anew."""
    for split, kinds in TEXTS.items():
        for kind, writers in kinds.items():
            rng = Random(f"{split} {kind}")
            texts = [write(rng).rstrip("\n") + "\n" for write in writers]
            (FOLDER / split / f"{kind}.txt").write_text(SEPARATOR.join(texts), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
