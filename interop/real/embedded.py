"""Runs the server inside the package xllamacpp until it is ended; runs in its environment.

`python embedded.py FILE.gguf PORT MODEL [TEMPLATE]`
"""

import signal
import sys
from pathlib import Path

import xllamacpp  # type: ignore[import-not-found]

if __name__ == "__main__":
    settings = xllamacpp.CommonParams()
    settings.model.path, settings.port, settings.model_alias = sys.argv[1], int(sys.argv[2]), {sys.argv[3]}
    settings.n_ctx, settings.warmup = 4096, False
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = 1
    if len(sys.argv) > 4:
        settings.chat_template = Path(sys.argv[4]).read_text(encoding="utf-8")
    server = xllamacpp.Server(settings)
    print(server.listening_address, flush=True)  # noqa: T201 - the log is for people
    signal.sigwait({signal.SIGTERM, signal.SIGINT})
