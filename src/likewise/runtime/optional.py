"""Optional libraries: imported where they are needed; when one is missing, the error names the install command."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from likewise.errors import PluginError


def require(module: str, extra: str) -> Any:
    """Import an optional library.

    Parameters
    ----------
    module
        The module to import, e.g. ``onnxruntime``.
    extra
        The extra of likewise that installs it, e.g. ``onnx``.

    Raises
    ------
    PluginError
        The library is not installed, or fails to import; the message has the install command.

    Examples
    --------
    >>> require("json", "onnx").dumps([1])
    '[1]'
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        fix = f"Install it with: pip install 'likewise[{extra}]'"
        raise PluginError(f"The library {error.name or module} is not installed", fix=fix) from error
    except ImportError as error:  # installed, but for another Python or with a missing system library
        fix = f"Reinstall it with: pip install --force-reinstall 'likewise[{extra}]'"
        raise PluginError(f"The library {module} cannot be imported: {error}", fix=fix) from error
