"""TensorZero's gateway, which its package runs inside a process of Python: starts it as the file of its settings says,
and prints where it listens. The port cannot be chosen."""

import sys
import threading

from tensorzero import _start_http_gateway

gateway = _start_http_gateway(
    config_file=sys.argv[1], clickhouse_url=None, postgres_url=None, valkey_url=None, async_setup=False
)
print(gateway.base_url, flush=True)
threading.Event().wait()
