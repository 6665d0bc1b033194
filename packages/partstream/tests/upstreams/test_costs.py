"""What answers cost, by what the upstream says and by list prices."""

from decimal import Decimal

import pytest

from partstream.lm.outputs import Finish, Outcome
from partstream.lm.parts import Usage
from partstream.upstream.model_information import Pricing
from partstream.upstream.requests import cost_of

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


REPORTED = {
    "OpenRouter": ({"cost": 0.25, "is_byok": False, "cost_details": {"upstream_inference_cost": 0.2}}, 0.25),
    "OpenRouter, with a key of one's own": (
        {"cost": 0.01, "is_byok": True, "cost_details": {"upstream_inference_cost": 0.2}},
        0.21,
    ),
    "OpenRouter, with a key and no details": ({"cost": 0.01, "is_byok": True, "cost_details": None}, 0.01),
    "Perplexity": ({"cost": {"input_tokens_cost": 0.001, "output_tokens_cost": 0.002, "total_cost": 0.003}}, 0.003),
    "xAI": ({"cost_in_usd_ticks": 1_466_250}, 0.000146625),
    "xAI, nothing": ({"cost_in_usd_ticks": 0}, 0.0),
    "no cost": ({"cost": {}, "total_tokens": 4}, None),
}


@pytest.mark.parametrize(("raw", "cost"), REPORTED.values(), ids=REPORTED)
def test_each_server_says_its_cost_in_its_own_form(raw, cost):
    assert cost_of(_finish(Usage(1, 1, raw=raw)), None) == cost


NO_AMOUNTS = [True, "free", "-1", -1, "NaN", "sNaN", "Infinity", None, [1], "1e400", "1e9999999999999999999"]
NO_AMOUNTS += [float("inf"), float("nan"), 10**400, 10**5000, "9" * 5000, 1_000_001]


@pytest.mark.parametrize("cost", NO_AMOUNTS, ids=range(len(NO_AMOUNTS)))
def test_what_is_no_amount_is_not_believed_and_the_log_says_so(cost, caplog):
    assert cost_of(_finish(Usage(1, 1, raw={"cost": cost}), gateway={"cost": cost}), None) is None
    assert ("counts as unknown" in caplog.text) == (type(cost) in (str, int, float))


def test_prices_without_end_make_no_infinite_cost():
    assert cost_of(_finish(Usage(10**9, 10**9)), Pricing(Decimal(10**6), Decimal(10**6))) is None
