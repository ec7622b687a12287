"""A service at an address of its own, with a key from the environment."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from likewise.errors import ServiceError
from likewise.services.secret import check_address, check_variable, key_from
from likewise.services.service import Service


@dataclass(kw_only=True)
class Keyed(Service):
    """A service that is told where it is and where its key is."""

    endpoint: str = ""
    """Where the service is."""
    key_env: str = ""
    """The environment variable that holds the key."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.endpoint = check_address(self.endpoint)
        if self.key_env:
            check_variable(self.key_env)

    @property
    def where(self) -> str:
        """The host that the pictures go to."""
        return urlsplit(self.endpoint).netloc

    def _secrets(self) -> list[str]:
        return [self._key()] if self.key_env else []

    def _key(self) -> str:
        return key_from(self.key_env, self.name)

    def _locked_out(self, told: str) -> ServiceError:
        """Say that the key is refused; ``told`` no longer holds it."""
        fix = f"Set {self.key_env} to a key that is valid; what was answered is kept."
        return ServiceError(f"{self.name} accepts the key", got=told, fix=fix)
