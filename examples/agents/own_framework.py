from collections.abc import AsyncGenerator, Mapping

from partstream import TextPart
from partstream.conversation.turns import Text
from partstream_agents import AgentOutput, AgentPairing, AgentRequest, FailureKind, InnerCall, InnerResult


class Calculator:
    """An agent of a framework that Partstream does not know."""

    def __partstream_model__(self) -> AgentPairing:
        return AgentPairing(self, CalculatorAdapter())

    def add(self, one: int, other: int) -> int:
        return one + other


class CalculatorAdapter:
    """Runs calculators."""

    framework = "calculators"
    tested = "1.0"
    errors: Mapping[str, FailureKind] = {"OverflowError": FailureKind.LIMIT}

    async def run(self, agent: Calculator, request: AgentRequest) -> AsyncGenerator[AgentOutput, None]:
        said = "".join(piece.value for piece in request.turns[-1].content if isinstance(piece, Text))
        numbers = [int(word) for word in said.split() if word.isdigit()][:2]
        yield InnerCall("call-1", "add", {"one": numbers[0], "other": numbers[1]})
        total = agent.add(*numbers)
        yield InnerResult("call-1", "add", total)
        yield TextPart(f"The sum is {total}.")


agent = Calculator()
