from __future__ import annotations

import pytest

from likewise.errors import CostError
from likewise.services.purse import Bill, Purse, money

BILLS = [Bill("one", "one.example", 600, 0.001), Bill("two", "two.example", 100, 0.002, most=True)]


def test_a_bill_says_what_goes_where_for_how_much():
    assert str(BILLS[0]) == "one: 600 pictures go to one.example, 0.60 USD"
    assert str(BILLS[1]) == "two: at most 100 pictures go to two.example, 0.20 USD"
    assert (money(0), money(0.0015)) == ("free", "0.0015 USD")


def test_nothing_is_paid_without_agreement():
    with pytest.raises(CostError, match=r"--yes, or with --max-cost 0.81. Nothing was sent"):
        Purse().settle(BILLS)
    with pytest.raises(CostError, match="no agreement"):
        Purse().pay(0.001)


def test_somebody_is_asked_once():
    asked: list[str] = []
    purse = Purse(agree=lambda bill: not asked.append(bill))
    purse.settle(BILLS)
    purse.settle(BILLS[:1])
    assert len(asked) == 1
    assert asked[0].endswith("Together 0.80 USD.")
    purse.pay(0.5)


def test_somebody_may_say_no():
    with pytest.raises(CostError, match="only when you agree"):
        Purse(agree=lambda bill: False).settle(BILLS)


def test_a_free_service_needs_nobody():
    Purse().settle([Bill("free", "here", 10**6, 0.0)])
    Purse().pay(0.0)


def test_the_limit_holds_before_and_during_the_calls():
    purse = Purse(most=0.80)
    purse.settle(BILLS)
    for _ in range(800):
        purse.pay(0.001)
    with pytest.raises(CostError, match=r"at most 0.80 USD; got calls beyond"):
        purse.pay(0.001)
    purse.refund(0.001)
    purse.pay(0.001)
    with pytest.raises(CostError, match=r"at most 0.79 USD; got 0.80 USD .*--max-cost 0.81"):
        Purse(most=0.79).settle(BILLS)


@pytest.mark.parametrize("most", [-1.0, float("nan"), float("inf")])
def test_a_limit_is_an_amount(most):
    with pytest.raises(CostError, match="an amount of money"):
        Purse(most=most)
