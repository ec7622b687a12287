from __future__ import annotations

import pytest

from likewise.errors import CostError
from likewise.services.budget import Budget, CostEstimate, money

BILLS = [CostEstimate("one", "one.example", 600, 0.001), CostEstimate("two", "two.example", 100, 0.002, most=True)]


def test_an_estimate_names_the_host_and_the_cost():
    assert str(BILLS[0]) == "one: 600 pictures are sent to one.example, 0.60 USD"
    assert str(BILLS[1]) == "two: at most 100 pictures are sent to two.example, 0.20 USD"
    assert (money(0), money(0.0015)) == ("free", "0.0015 USD")


def test_nothing_is_paid_without_approval():
    with pytest.raises(CostError, match=r"--yes, or with --max-cost 0.81. Nothing was sent"):
        Budget().approve(BILLS)
    with pytest.raises(CostError, match="not approved"):
        Budget().pay(0.001)


def test_approval_is_asked_for_once():
    asked: list[str] = []
    budget = Budget(agree=lambda bill: not asked.append(bill))
    budget.approve(BILLS)
    budget.approve(BILLS[:1])
    assert len(asked) == 1
    assert asked[0].endswith("Together 0.80 USD.")
    budget.pay(0.5)


def test_approval_may_be_denied():
    with pytest.raises(CostError, match="not approved"):
        Budget(agree=lambda bill: False).approve(BILLS)


def test_a_free_service_needs_no_approval():
    Budget().approve([CostEstimate("free", "here", 10**6, 0.0)])
    Budget().pay(0.0)


def test_the_limit_holds_before_and_during_the_calls():
    budget = Budget(most=0.80)
    budget.approve(BILLS)
    for _ in range(800):
        budget.pay(0.001)
    with pytest.raises(CostError, match=r"limit of 0.80 USD .* is reached"):
        budget.pay(0.001)
    budget.refund(0.001)
    budget.pay(0.001)
    with pytest.raises(CostError, match=r"cost 0.80 USD, more than the limit of 0.79 USD .*--max-cost 0.81"):
        Budget(most=0.79).approve(BILLS)


@pytest.mark.parametrize("most", [-1.0, float("nan"), float("inf")])
def test_a_limit_is_an_amount(most):
    with pytest.raises(CostError, match="not an amount of money"):
        Budget(most=most)


def test_an_approved_amount_is_a_limit_as_well():
    """With --yes there is no --max-cost: charged retries may add a tenth, and a run that repeats itself is stopped."""
    budget = Budget(agree=lambda estimate: True)
    budget.approve(BILLS)
    for _ in range(880):
        budget.pay(0.001)
    with pytest.raises(CostError, match=r"limit of 0.88 USD .* is reached"):
        budget.pay(0.001)


def test_more_than_the_approved_amount_needs_another_approval():
    asked: list[str] = []
    budget = Budget(agree=lambda estimate: not asked.append(estimate))
    budget.approve(BILLS[:1])
    budget.approve(BILLS)
    assert len(asked) == 2
