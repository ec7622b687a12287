"""Calls the command as a shell would."""

from __future__ import annotations

from likewise.cli.main import main

PROJECT = """\
[project]                        # matched pairs: project each image into the latent space
generator = "world"
"""
"""The section of the toy's plan that given vectors take the place of."""


def run(capsys, *arguments: object) -> tuple[int, str, str]:
    """Return exit code, stdout and stderr."""
    code = 0
    try:
        main([str(argument) for argument in arguments])
    except SystemExit as stop:
        code = int(stop.code or 0)
    shown = capsys.readouterr()
    return code, shown.out, shown.err
