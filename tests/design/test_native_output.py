"""Lines that compiled libraries print past Python are removed, and nothing else is."""

from __future__ import annotations

import ctypes
import os
import sys

import pytest

from likewise.design.cardinality.native_output import without_lines

PRINTED = "HighsMipSolverData::transformNewIntegerFeasibleSolution tmpSolver.run();\n"


@pytest.mark.skipif(sys.platform == "win32", reason="the C library has another name")
def test_lines_of_the_c_library_are_removed_and_others_kept(capfd):
    libc = ctypes.CDLL(None)
    print("before")
    with without_lines(b"Highs"):
        libc.printf(PRINTED.encode())
        print("between")
        os.write(1, b"of another thread\n")
    print("after")
    libc.fflush(None)
    lines = capfd.readouterr().out.splitlines()
    assert (lines[0], lines[-1]) == ("before", "after")
    assert sorted(lines[1:-1]) == ["between", "of another thread"]


def test_an_error_inside_restores_the_output(capfd):
    with pytest.raises(KeyError), without_lines(b"Highs"):
        os.write(1, PRINTED.encode())
        raise KeyError("x")
    print("after")
    assert capfd.readouterr().out == "after\n"


def test_without_a_standard_output_the_work_is_done(monkeypatch):
    def closed(descriptor: int) -> int:
        raise OSError(9, "Bad file descriptor")

    monkeypatch.setattr(os, "dup", closed)
    with without_lines(b"Highs"):
        done = True
    assert done
