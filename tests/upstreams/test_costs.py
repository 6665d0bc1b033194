"""What answers cost, by what the upstream says and by list prices."""

from decimal import Decimal

import pytest

from partstream.models.records import Pricing
from partstream.outputs import Finish, Outcome
from partstream.upstreams.costs import cost_of
from partstream.usage import Usage

MILLION = 1_000_000
PRICING = Pricing(Decimal("0.000003"), Decimal("0.000015"), Decimal("0.0000003"), Decimal("0.00000375"))


def _finish(usage=None, **metadata):
    return Finish(Outcome.COMPLETED, usage=usage, provider_metadata=metadata)


@pytest.mark.parametrize(
    ("usage", "pricing", "cost"),
    [
        (Usage(MILLION, MILLION), PRICING, "18"),
        (Usage(MILLION, 0, cached_tokens=MILLION), PRICING, "0.3"),
        (Usage(MILLION, 0, cached_tokens=MILLION // 2), PRICING, "1.65"),
        (Usage(MILLION, 0, cached_tokens=MILLION), Pricing(PRICING.input, PRICING.output), "3"),
        (Usage(MILLION, 0, cached_tokens=2 * MILLION), PRICING, "0.3"),
        (Usage(MILLION, 0, cache_write_tokens=MILLION), PRICING, "3.75"),
        (Usage(MILLION, 0, cached_tokens=MILLION // 2, cache_write_tokens=MILLION // 2), PRICING, "2.025"),
        (Usage(MILLION, 0, cached_tokens=MILLION, cache_write_tokens=MILLION), PRICING, "0.3"),
        (Usage(MILLION, 0, cache_write_tokens=MILLION), Pricing(PRICING.input, PRICING.output), "3"),
        (Usage(0, 0), PRICING, "0"),
        (Usage(MILLION, None), PRICING, None),
        (Usage(MILLION, 1), Pricing(PRICING.input), None),
        (
            Usage(199_999, 0),
            Pricing(Decimal(1), Decimal(1), None, None, Pricing(Decimal(2), Decimal(2)), 200_000),
            "199999",
        ),
        (
            Usage(200_000, 1),
            Pricing(Decimal(1), Decimal(1), None, None, Pricing(Decimal(2), Decimal(2)), 200_000),
            "400002",
        ),
    ],
)
def test_tokens_cost_what_the_list_says_and_nothing_where_it_does_not(usage, pricing, cost):
    assert cost_of(_finish(usage), pricing) == (None if cost is None else float(cost))


def test_what_the_upstream_says_that_it_cost_goes_before_the_list():
    usage = Usage(MILLION, MILLION, raw={"cost": 0.25})
    assert cost_of(_finish(usage), PRICING) == 0.25
    assert cost_of(_finish(usage, gateway={"cost": "0.0045405"}), PRICING) == 0.0045405
    assert cost_of(_finish(Usage(MILLION, MILLION)), PRICING) == 18
    assert cost_of(_finish(Usage(MILLION, MILLION)), None) is None
    assert cost_of(_finish(), PRICING) is None


NO_AMOUNTS = [True, "free", "-1", -1, "NaN", "sNaN", "Infinity", None, [1], "1e400", "1e9999999999999999999"]
NO_AMOUNTS += [float("inf"), float("nan"), 10**400, 10**5000, "9" * 5000, 1_000_001]


@pytest.mark.parametrize("cost", NO_AMOUNTS, ids=range(len(NO_AMOUNTS)))
def test_what_is_no_amount_is_not_believed_and_the_log_says_so(cost, caplog):
    assert cost_of(_finish(Usage(1, 1, raw={"cost": cost}), gateway={"cost": cost}), None) is None
    assert ("counts as unknown" in caplog.text) == (type(cost) in (str, int, float))


def test_prices_without_end_make_no_infinite_cost():
    assert cost_of(_finish(Usage(10**9, 10**9)), Pricing(Decimal(10**6), Decimal(10**6))) is None
