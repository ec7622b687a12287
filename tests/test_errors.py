from __future__ import annotations

import ast
import doctest
import pickle
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from likewise import errors
from likewise.errors import ColumnNameWarning, ExecutorError, ImageError, LikewiseError, TableError, nearest, some


def test_message_has_problem_then_fix():
    error = ImageError("Cannot decode 'a.png'", fix="Remove it from the table.")
    assert str(error) == "Cannot decode 'a.png'. Remove it from the table."
    assert str(ImageError("Cannot decode 'a.png'")) == "Cannot decode 'a.png'."
    assert str(ImageError("Is this an image?", fix="Look.")) == "Is this an image? Look."


def test_errors_survive_pickling():
    error = ImageError("Cannot decode 'a.png'", fix="Is it a PNG?")
    back = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert (type(back), str(back)) == (ImageError, str(error))


def all_errors(kind: type[LikewiseError]) -> list[type[LikewiseError]]:
    return [kind, *(below for child in kind.__subclasses__() for below in all_errors(child))]


@pytest.mark.parametrize("kind", all_errors(LikewiseError), ids=lambda kind: kind.__name__)
def test_tree_in_docstring_is_complete(kind):
    assert kind.__name__ in (errors.__doc__ or "")


def test_errors_are_defined_in_one_module():
    """A subclass elsewhere would be missing from the tree unless its module happens to be imported first."""
    package = Path(errors.__file__).parent
    classes = re.compile(r"^class (\w+)\((?:\w*Error|LikewiseWarning)\b", re.MULTILINE)
    elsewhere = {
        name for path in package.rglob("*.py") if path.name != "errors.py" for name in classes.findall(path.read_text())
    }
    assert elsewhere == {"StudyProblemsError"}  # carries the problems of study.toml


def test_exit_codes_are_inherited():
    codes = {kind.exit_code for kind in all_errors(LikewiseError)}
    assert codes == {1, 2, 3, 4, 5, 6, 7}
    assert errors.ServiceError.exit_code == 5
    assert errors.StudyError.exit_code == 2


def test_some_quotes_a_few_and_counts_the_rest():
    assert some("abc") == "'a', 'b', 'c'"
    assert some(range(9), 2) == "'0', '1' and 7 more"


def test_some_shortens_long_values():
    assert len(some(["x" * 10_000])) < 200


def test_nearest_suggests_a_known_word():
    assert nearest("calliper", ["caliper", "exact"]) == "Did you mean 'caliper'?"
    assert nearest("zzz", ["caliper", "exact"]) == ""


@pytest.mark.parametrize(("old", "new"), [("EngineError", ExecutorError), ("WordingWarning", ColumnNameWarning)])
def test_old_names_still_work_with_a_warning(old, new):
    with pytest.warns(DeprecationWarning, match=new.__name__):
        assert getattr(errors, old) is new


def test_examples_in_docstrings_run():
    assert doctest.testmod(errors).failed == 0


def test_an_error_without_a_fix_gives_the_advice_of_its_kind():
    assert str(errors.UnsafeFileError("a.pt runs code")).endswith(errors.UnsafeFileError.advice)
    assert str(errors.UnsafeFileError("a.pt runs code", fix="Look.")) == "a.pt runs code. Look."


RULE = re.compile(
    r"\bmust\b|\bneeds? (at least|distinct|two)|\(known: |is not a (whole )?number |instead of |between \d"
)
"""A message that states the rule, such as "batch is 0; it must be at least 1", says what to do."""
PASSED_ON = {"audit/plan/model.py", "study/config/load.py", "study/config/plan_hash.py", "study/config/problems.py"}
"""Modules that raise a list of problems, each with its fix."""


def raised(path: Path) -> Iterator[tuple[int, str, ast.Call]]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and isinstance(node.exc.func, ast.Name):
            yield node.lineno, node.exc.func.id, node.exc


def says_what_to_do(kind: str, call: ast.Call) -> bool:
    known = getattr(errors, kind, None) if kind.endswith("Error") else None
    if known is None or not issubclass(known, LikewiseError):
        return True
    return (
        bool(known.advice) or any(word.arg == "fix" for word in call.keywords) or bool(RULE.search(ast.unparse(call)))
    )


SOURCE = Path(errors.__file__).parent


@pytest.mark.parametrize("package", sorted(path for path in SOURCE.iterdir() if path.is_dir()), ids=lambda p: p.name)
def test_every_error_says_what_to_do(package):
    silent = [
        f"{path.relative_to(SOURCE)}:{line}"
        for path in package.rglob("*.py")
        if str(path.relative_to(SOURCE)) not in PASSED_ON
        for line, kind, call in raised(path)
        if not says_what_to_do(kind, call)
    ]
    assert not silent, f"{silent} have neither fix= nor the rule"


def test_a_message_cannot_fill_the_screen_or_control_the_terminal():
    said = str(TableError("No column " + "x" * 70_000 + " in \x1b[2J\x07 a\x00b\n\tc", fix="y " * 40_000))
    assert len(said) < 21_000
    assert "x" * 200 not in said and not set("\x00\x07\x1b") & set(said)
    assert "in \\x1b[2J\\x07 a\\x00b\n\tc." in said
