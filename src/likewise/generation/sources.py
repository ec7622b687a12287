"""Where generated images come from: an images endpoint or a Python function."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import urlsplit

import numpy as np

from likewise.errors import PluginError, ServiceError, SpecError, some
from likewise.services.connection import Connections, Post
from likewise.services.http import KEY, LATER, message_of, parsed
from likewise.services.images import Picture, decoded_image, filtered, image_bytes
from likewise.services.retry import Refused, Transient, retry_after
from likewise.services.secret import check_address, check_variable, is_plain, key_from, scrubbed

SKIPPED = ("seed", "size", "response_format")
_LONGEST = 4000  # characters of what an endpoint says


class ImageSource(Protocol):
    """Draws an image for a prompt and a seed; raises Refused, Transient or ServiceError."""

    name: str
    price: float
    facts: dict[tuple[str, int], dict[str, str]]
    """What the source says about an image, by prompt and seed: ``model``, ``revised_prompt``."""

    def connected(self) -> Any:
        """Open what the calls go through."""

    def draw(self, prompt: str, seed: int) -> Picture:
        """Return the picture ``[H, W, 3]``."""


@dataclass(kw_only=True)
class EndpointSource:
    """An images endpoint in the format of OpenAI (``/v1/images/generations``)."""

    endpoint: str
    model: str = ""
    size: str = "1024x1024"
    key_env: str = ""
    price: float = 0.0
    """USD per image."""
    timeout: float = 120.0
    skip: tuple[str, ...] = ()
    """Fields of the request that the endpoint does not know: seed, size, response_format."""
    name: str = field(init=False, default="images endpoint")

    def __post_init__(self) -> None:
        self.endpoint = check_address(self.endpoint)
        if self.key_env:
            check_variable(self.key_env)
        self.name = self.model or urlsplit(self.endpoint).netloc
        unknown = sorted(set(self.skip) - set(SKIPPED))
        if unknown:
            raise SpecError(f"Unknown field to skip: {some(unknown)}", fix=f"Choose from {some(SKIPPED)}.")
        self._connections: Connections | None = None
        self.facts: dict[tuple[str, int], dict[str, str]] = {}

    @contextmanager
    def connected(self) -> Iterator[None]:
        """Open the connections; an endpoint on this machine is reached without a proxy."""
        with Connections(self.name, timeout=self.timeout, direct=is_plain(self.endpoint)) as self._connections:
            yield

    def _secrets(self) -> list[str]:
        return [key_from(self.key_env, self.name)] if self.key_env else []

    def draw(self, prompt: str, seed: int) -> Picture:
        """Request one image and decode it."""
        assert self._connections is not None  # calls are made while connected
        body: dict[str, Any] = {"prompt": prompt, "n": 1, "size": self.size, "response_format": "b64_json"}
        body |= ({"model": self.model} if self.model else {}) | {"seed": seed}
        body = {name: value for name, value in body.items() if name not in self.skip}
        headers = {"Authorization": f"Bearer {self._secrets()[0]}"} if self.key_env else {}
        post = Post(f"{self.endpoint}/images/generations", {}, plain=body)
        response = self._connections.post(post, headers)
        answer = parsed(response.body)
        picture = decoded_image(self._image(response.status, response.headers, answer))
        self.facts[prompt, seed] = _facts(answer)
        return picture

    def _image(self, status: int, headers: Any, answer: Any) -> bytes:
        message = scrubbed(message_of(answer), self._secrets())[:200]
        if status in LATER:
            raise Transient(f"status {status}: {message}", wait=retry_after(headers))
        if filtered(status, answer):
            raise Refused("content filter", answer)
        if status in KEY:
            raise ServiceError(f"{self.name} refused the key: {message}", fix=f"Set {self.key_env or 'key_env'}.")
        if not 200 <= status < 300:
            raise ServiceError(
                f"{self.name} rejected the request: status {status}: {message}",
                fix="Check the model name and the options in the description of the service.",
            )
        return image_bytes(answer)


def _facts(answer: Any) -> dict[str, str]:
    """Return what the endpoint says about an image: the model that drew it, and the prompt as it rewrote it."""
    first = answer["data"][0]
    stated = {"model": answer.get("model"), "revised_prompt": first.get("revised_prompt")}
    return {name: value[:_LONGEST] for name, value in stated.items() if isinstance(value, str) and value}


@dataclass(kw_only=True)
class FunctionSource:
    """A Python function ``(prompt, seed) -> picture [H, W, 3]``, by itself or as ``module:function``."""

    function: Callable[[str, int], Picture] | str
    name: str = "function"
    price: float = 0.0

    def __post_init__(self) -> None:
        self.facts: dict[tuple[str, int], dict[str, str]] = {}
        if isinstance(self.function, str):
            self.name = self.function
            self._call = _imported(self.function)
        else:
            self.name = getattr(self.function, "__name__", self.name)
            self._call = self.function

    @contextmanager
    def connected(self) -> Iterator[None]:
        """Nothing has to be opened."""
        yield

    def draw(self, prompt: str, seed: int) -> Picture:
        """Call the function and check what it returns; None is a refusal."""
        picture = self._call(prompt, seed)
        if picture is None:
            raise Refused("no image")
        array = np.asarray(picture)
        if array.dtype != np.uint8 or array.ndim != 3 or array.shape[2] != 3:
            problem = f"{self.name} returned {array.dtype} of shape {array.shape}"
            raise PluginError(problem, fix="Return a uint8 array [H, W, 3], or None for a refusal.")
        return array


def _imported(path: str) -> Callable[[str, int], Picture]:
    module, _, name = path.partition(":")
    if not name:
        raise SpecError(f"{path!r} is not of the form module:function", fix="Write e.g. my_package.my_module:generate.")
    try:
        if "" not in sys.path:  # a module beside the prompts, as with python -m
            sys.path.insert(0, "")
        found: Callable[[str, int], Picture] = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise PluginError(
            f"Cannot import {path!r}: {error}",
            fix="Install the package, or run likewise where the module can be imported.",
        ) from error
    return found
