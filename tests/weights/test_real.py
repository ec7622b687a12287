"""A small real weight from the real index, through the settings of this machine."""

from __future__ import annotations


def test_a_real_weight_comes_through_the_registry(weights):
    assert weights("gender-v1").stat().st_size == 530_620
