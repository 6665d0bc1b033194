"""Which upstream is asked next for one answer. No clock and no I/O: whoever asks gives the time."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from partstream.hub.routing.circuit import Attempt, Circuit, CircuitRules, CircuitState

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from partstream.hub.directory import Route
    from partstream.hub.routing.failures import Blame

__all__ = ["Circuits", "Selected", "Selection"]

_DEFAULT: Final = CircuitRules()


class Circuits:
    """The circuits of all upstreams, each by its provider and its model.

    Args:
        rules: When they open.
    """

    def __init__(self, rules: CircuitRules = _DEFAULT) -> None:
        self._by_name: defaultdict[tuple[str, str], Circuit] = defaultdict(partial(Circuit, rules))

    def of(self, route: Route) -> Circuit:
        """The circuit of an upstream."""
        return self._by_name[route.provider, route.model]

    def keep_only(self, routes: Iterable[Route]) -> None:
        """Forgets the upstreams that are no longer there; answers that run keep what they have."""
        kept = {(route.provider, route.model) for route in routes}
        for name in self._by_name.keys() - kept:
            del self._by_name[name]

    def states(self, now: float) -> Mapping[tuple[str, str], CircuitState]:
        """The state of each upstream that was asked, by its provider and its model."""
        return {name: circuit.state(now) for name, circuit in self._by_name.items()}


@dataclass(frozen=True, slots=True)
class Selected:
    """An upstream that is asked.

    Attributes:
        route: The upstream.
        is_last: Whether no other upstream is left.
        circuit: Its circuit.
        attempt: The request, as the circuit knows it.
    """

    route: Route
    is_last: bool
    circuit: Circuit
    attempt: Attempt

    def began(self) -> None:
        """The answer has begun."""
        self.circuit.began(self.attempt)

    def completed(self) -> None:
        """The answer is whole."""
        self.circuit.completed(self.attempt)

    def failed(self, blame: Blame, now: float) -> None:
        """The answer failed."""
        if blame.is_of_upstream:
            self.circuit.failed(self.attempt, now, blame.pause, is_asked=blame.is_asked)
        else:
            self.circuit.left(self.attempt)

    def left(self) -> None:
        """Nobody waits for the answer any more."""
        self.circuit.left(self.attempt)


class Selection:
    """The upstreams of one answer, each asked at most once.

    Args:
        ranking: The upstreams, in the order in which they are asked; of two that are the same, the first counts.
        circuits: The circuits.
    """

    def __init__(self, ranking: Iterable[Route], circuits: Circuits) -> None:
        by_name: dict[tuple[str, str], Route] = {}
        for one in ranking:
            by_name.setdefault((one.provider, one.model), one)
        self._left = list(by_name.values())
        self._circuits = circuits
        self._has_asked = False

    def next(self, now: float) -> Selected | None:
        """The upstream that is asked next: the first one left whose circuit admits a request.

        A circuit only chooses between upstreams. Where it admits to none, the first one is asked all the same, once,
        unless it asked to be left alone itself.

        Args:
            now: The time.
        """
        place = next((at for at, one in enumerate(self._left) if self._circuits.of(one).admits(now)), None)
        if place is None and not self._has_asked:
            place = next(
                (at for at, one in enumerate(self._left) if self._circuits.of(one).asked_wait(now) is None), None
            )
        if place is None:
            return None
        self._has_asked = True
        route = self._left.pop(place)
        circuit = self._circuits.of(route)
        is_last = not any(self._circuits.of(one).admits(now) for one in self._left)
        return Selected(route, is_last, circuit, circuit.begin())

    def shortest_wait(self, now: float) -> float | None:
        """The seconds until the first of those that are left may be asked again; None where none asked to wait."""
        waits = (self._circuits.of(route).asked_wait(now) for route in self._left)
        return min((wait for wait in waits if wait is not None), default=None)
