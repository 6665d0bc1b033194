"""An agent that yields given outputs, for tests of what becomes of them."""

from collections.abc import AsyncGenerator, Sequence
from typing import Any

from partstream_agents import AgentPairing, AgentRequest, FailureKind


class Outputs:
    """Yields the outputs of its next run; an exception among them is raised. Keeps the requests that it gets."""

    framework = "outputs"
    tested = "1"
    errors: dict[str, FailureKind] = {"Stopped": FailureKind.LIMIT}  # noqa: RUF012 - as adapters have it

    def __init__(self, *runs: Sequence[Any]) -> None:
        self.runs = list(runs)
        self.requests: list[AgentRequest] = []

    def __partstream_model__(self) -> AgentPairing:
        return AgentPairing(self, self)

    async def run(self, agent: Any, request: AgentRequest) -> AsyncGenerator[Any, None]:
        self.requests.append(request)
        for output in self.runs[len(self.requests) - 1]:
            if isinstance(output, Exception):
                raise output
            yield output
