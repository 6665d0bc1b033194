"""The first cancellation of a program: its connection ends at once, because nothing is loaded for it."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

from partstream import CancellationTokenSource, RequestOptions
from partstream.lm.completions import COMPLETION, CompletionRequest
from partstream_devtools.testing.upstream import ReplayUpstream
from upstreams.upstreams import Answer, gateway_to, respond, run

COMPLETING = RequestOptions(model_options={COMPLETION: CompletionRequest("def f(", "):\n").fields, "max_tokens": 9})
QUESTIONS = {
    "stall_before_headers": RequestOptions(),
    "stall_before_events": COMPLETING,
    "stall=6": RequestOptions(),  # the text has begun
    "stall=1": COMPLETING,
}


def test_nothing_is_loaded_when_a_question_is_cancelled_at_any_moment() -> None:
    """In processes of their own: here all is loaded."""
    tests = Path(__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(tests), *filter(None, sys.path)))}
    for fault in QUESTIONS:
        command = [sys.executable, "-m", "upstreams.test_first_cancellation", fault]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, done.stdout) == (0, "[]\n"), (fault, done.stderr)


async def _cancel(fault: str) -> None:
    source, answer, options = CancellationTokenSource(), Answer(), QUESTIONS[fault]
    async with ReplayUpstream(fault=fault) as upstream, gateway_to(upstream.base_url) as provider:
        asking = asyncio.create_task(respond(provider, "Hi", answer, token=source.token, options=options))
        await upstream.until(lambda: upstream.requests, 20)
        if fault.startswith("stall="):
            await answer.came.wait()
        before = set(sys.modules)
        source.cancel()
        await asking
        sys.stdout.write(f"{sorted(set(sys.modules) - before)}\n")


if __name__ == "__main__":
    run(_cancel(sys.argv[1]), 50)
