"""Ray Serve as a host: the same application as under every other server, for providers that compute.

::

    # served.py, run with: serve run served:application
    application = deployment({"small": "small_model.py", "large": provider_deployment("large_model.py")})

Only names and values travel; everything else is built where it runs. No other module imports `ray`, an extra. Reasons:
docs/wires/serving.md#ray-serve-as-a-host-for-providers-that-compute.
"""

from __future__ import annotations
import asyncio
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Final

import ray
from ray import serve
from ray.exceptions import RayError
from ray.serve.exceptions import RayServeException

from partstream.runtime.provider_files import SourceLoader, default_name
from partstream_hub import remote_providers as remote

if TYPE_CHECKING:
    from ray.serve import Application
    from ray.serve.handle import DeploymentHandle

    from partstream.lm.provider import LanguageModelChatProvider

LONGEST_ANSWER_SECONDS: Final = 590.0
"""Ray kills a replica 600 s after the signal to stop; an answer may take no longer than this, so that none is cut."""
_LOST: Final = (RayError, RayServeException)
_DEFAULTS: Final[Mapping[str, Any]] = {
    "max_ongoing_requests": 512,  # Ray's own 5 are for models that compute; who waits for a server computes nothing
    "max_queued_requests": 2048,
    "backpressure_config": {"status_code": 429, "retry_after_s": 2},
    "graceful_shutdown_timeout_s": LONGEST_ANSWER_SECONDS + 10,
    "graceful_shutdown_wait_loop_s": 0.5,
    "health_check_period_s": 5,  # with Ray's own 10 and 30 s, a replica that hangs is replaced after two minutes
    "health_check_timeout_s": 10,
}
_AUTOSCALING: Final[Mapping[str, Any]] = {"min_replicas": 1, "max_replicas": 4, "target_ongoing_requests": 200}
_BY_SESSION: Final = {"request_router_class": "ray.serve.experimental.consistent_hash_router.ConsistentHashRouter"}


class _Host:
    """One replica of the application; see :func:`deployment`."""

    def __init__(self, builder: str, providers: Mapping[str, str | DeploymentHandle], arguments: Sequence[Any]) -> None:
        self._providers: dict[str, LanguageModelChatProvider] = {
            name: SourceLoader(one).load() if isinstance(one, str) else remote.RemoteProvider(name, one, _LOST)
            for name, one in providers.items()
        }
        self._application = resolve_name(builder)(self._providers, *arguments)

    def __serve_build_asgi_app__(self) -> Any:
        return self._application

    async def check_health(self) -> None:
        """Asks the providers that run here."""
        await remote.check_providers(self._providers.values())

    async def drain(self, seconds: float) -> None:
        """Begins to refuse new answers, and to end those that have not ended after some seconds."""
        self._draining = asyncio.create_task(self._application.drain(seconds))

    async def __del__(self) -> None:
        """Closes the providers that run here; Ray has ended the life of the application before."""
        await remote.close_providers(self._providers.values())


class _ProviderHost(remote.RemoteProviderHost):
    async def __del__(self) -> None:
        await remote.close_providers([self.provider])


def deployment(
    providers: Mapping[str, str | Application],
    builder: str = "partstream.server.application:app",
    arguments: Sequence[Any] = (),
    **options: Any,
) -> Application:
    """The application of providers, for `serve.run` and `serve run`.

    Args:
        providers: By name: `path/to/file.py:attribute` or `module:attribute`, or a :func:`provider_deployment`.
        builder: The function that makes the ASGI application of them, as `module:function`; called in each replica.
        arguments: Its further arguments, which are pickled: who may ask Ray can read them, so no keys.
        options: Options of `serve.deployment`.
    """
    of_host: dict[str, Any] = {"name": "partstream", "ray_actor_options": {"num_cpus": 0.5}}
    if os.environ.get("RAY_SERVE_ENABLE_HA_PROXY") != "1":  # HAProxy chooses a replica by itself
        of_host["request_router_config"] = _BY_SESSION
    made = serve.deployment(**_chosen(of_host | options))(serve.ingress()(_Host))
    return made.bind(builder, dict(providers), tuple(arguments))


def provider_deployment(source: str, **options: Any) -> Application:
    """A provider in a deployment of its own, on machines that have the `resources` that it names.

    Args:
        source: As of :func:`deployment`.
        options: Options of `serve.deployment`, in place of the defaults; `ray_actor_options` in place of `resources`.
    """
    if "ray_actor_options" not in options:
        options["ray_actor_options"] = remote.actor_options(SourceLoader(source).load())
    return serve.deployment(**_chosen({"name": default_name(source), **options}))(_ProviderHost).bind(source)


@contextmanager
def running(application: Application, name: str, http: Mapping[str, Any], **init: Any) -> Iterator[Any]:
    """Runs an application until the block ends and its answers with it; Ray too, if it did not run before.

    Args:
        application: What :func:`deployment` made.
        name: Its name in Ray.
        http: The `http_options` of Serve, such as `host` and `port`, for all applications of a cluster.
        init: Arguments of `ray.init`, where Ray does not run yet.

    Yields:
        A coroutine function of seconds: has every replica refuse new answers, and end those that go on for longer.
    """
    if starts := not ray.is_initialized():
        ray.init(**init)
    try:
        serve.start(http_options=dict(http))
        handle = serve.run(application, name=name, route_prefix="/")
        yield lambda seconds: handle.broadcast("drain", seconds).results_async(timeout_s=10)
        serve.delete(name, _blocking=False)  # where it waits, it gives up after a minute
        while name in serve.status().applications:
            time.sleep(0.1)
    finally:
        if starts:
            serve.shutdown()
            ray.shutdown()


def _chosen(options: Mapping[str, Any]) -> dict[str, Any]:
    return {**_DEFAULTS, **({} if "num_replicas" in options else {"autoscaling_config": _AUTOSCALING}), **options}
