"""The finders of faces by name. Every recogniser names the finder it goes with."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module

from likewise.errors import PluginError, nearest, some
from likewise.models.found import Finder

FINDERS = {
    "dlib": "likewise.models.dlib_finder:DlibFinder",
    "retinaface": "likewise.models.retinaface:RetinaFaceFinder",
}
"""``module:class``, imported only when asked for: one needs dlib, the other torch."""


@lru_cache(maxsize=4)
def finder(name: str) -> Finder:
    """Return the finder of this name; it is made once a process."""
    if name not in FINDERS:
        fix = nearest(name, FINDERS) or f"There is {some(FINDERS)}."
        raise PluginError("a finder of faces is known by its name", got=repr(name), fix=fix)
    module, kind = FINDERS[name].split(":")
    made: Finder = getattr(import_module(module), kind)()
    return made
