from __future__ import annotations

import pickle

import pytest

from likewise import errors
from likewise.errors import ImageError, LikewiseError, nearest, some


def test_a_message_names_the_rule_what_was_got_and_the_way_out():
    error = ImageError("an image can be decoded", got="'a.png'", fix="Leave it out.")
    assert str(error) == "an image can be decoded; got 'a.png'. Leave it out."
    assert str(ImageError("an image can be decoded")) == "an image can be decoded."


def test_an_error_survives_the_way_from_another_process():
    error = ImageError("rule", got="this", fix="Do that?")
    back = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert (type(back), str(back)) == (ImageError, str(error))


def all_errors(kind: type[LikewiseError]) -> list[type[LikewiseError]]:
    return [kind, *(below for child in kind.__subclasses__() for below in all_errors(child))]


@pytest.mark.parametrize("kind", all_errors(LikewiseError), ids=lambda kind: kind.__name__)
def test_the_tree_in_the_docstring_is_complete(kind):
    assert kind.__name__ in (errors.__doc__ or "")


def test_a_handful_is_quoted_and_the_rest_counted():
    assert some("abc") == "'a', 'b', 'c'"
    assert some(range(9), 2) == "'0', '1' and 7 more"


def test_the_nearest_word_is_offered():
    assert nearest("calliper", ["caliper", "exact"]) == "Did you mean 'caliper'?"
    assert nearest("zzz", ["caliper", "exact"]) == ""
