"""A package that can be called: ``likewise.audit(...)`` beside ``likewise.audit.plan``.

Importing a submodule binds its package as an attribute of the parent, which hides a function of the same name. So the
package itself is callable, and passes the call on.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from types import ModuleType
from typing import Any


def make_callable(package: str, function: str) -> None:
    """Make a package callable; ``function`` is ``module:name`` and is loaded at the first call."""
    module, _, name = function.partition(":")

    class CallableModule(ModuleType):
        @property
        def __doc__(self) -> str:  # type: ignore[override]  # help() and ? show the function's text too
            return f"{vars(self).get('__doc__')}\n\n{inspect.getdoc(self.__wrapped__)}"

        @property
        def __wrapped__(self) -> Any:  # inspect.signature and help() show the function
            return getattr(importlib.import_module(module), name)

        def __call__(self, *args: Any, **options: Any) -> Any:
            return getattr(importlib.import_module(module), name)(*args, **options)

    sys.modules[package].__class__ = CallableModule
