"""So that ``python -m likewise`` is the command too."""

from likewise.cli.main import main

main()
