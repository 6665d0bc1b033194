"""LiteLLM's proxy between our client and the kit: a provider that starts it, asks it, and ends it."""

from __future__ import annotations
import json
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from interop.servers.foreign import FOREIGN_SERVERS, environment_of
from interop.servers.processes import free_port, running
from partstream.upstream.configuration import GatewayConfiguration, RetryPolicy
from partstream.upstream.endpoint import Secret
from partstream.upstream.provider import GatewayProvider

if TYPE_CHECKING:
    from collections.abc import Callable

PROXY = next(server for server in FOREIGN_SERVERS if server.name == "LiteLLM proxy")


class _Proxied(GatewayProvider):
    """Asks the proxy, and ends it in the end."""

    def __init__(self, configuration: GatewayConfiguration, end: Callable[[], object]) -> None:
        super().__init__(configuration)
        self._end = end

    async def aclose(self) -> None:
        await super().aclose()
        self._end()


def make(upstream: str, protocol: str) -> GatewayProvider:
    """Starts a proxy that asks a base URL in Chat Completions, and that is asked in `protocol`."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        model = {"model": "openai/scripted", "api_base": upstream, "api_key": "none"}
        config: dict[str, Any] = {
            "model_list": [{"model_name": "scripted", "litellm_params": model}],
            "litellm_settings": {"num_retries": 0},
            "router_settings": {"num_retries": 0, "disable_cooldowns": True},
            "general_settings": {"master_key": PROXY.key},
        }
        (folder / "config.yaml").write_text(json.dumps(config))  # YAML holds JSON
        port = free_port()
        environment = environment_of(PROXY, port, folder, upstream)
        stack.enter_context(running(PROXY.command(port), port, PROXY.ready_path, folder, folder / "log", environment))
        configuration = GatewayConfiguration(
            base_url=f"http://127.0.0.1:{port}/v1",
            protocol=protocol,
            api_key=Secret(PROXY.key),
            retry=RetryPolicy(attempts=1),
        )
        return _Proxied(configuration, stack.pop_all().close)
    raise AssertionError("the block returns")
