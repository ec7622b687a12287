"""The line to Microsoft's own client: a key, or a login by Microsoft Entra ID, and no patience of its own.

What its pipeline would do by itself is switched off: trying again, following redirects (it takes only ``Authorization``
off on the way to a stranger, and a key goes in another header), and writing requests to a log.
"""

from __future__ import annotations

import os
from typing import Any

from likewise.errors import ServiceError
from likewise.services.extras import part_of
from likewise.services.secret import hush, is_plain, scrubbed

API_VERSION = "2023-10-01"  # the only one that the client is made for
SCOPE = "https://cognitiveservices.azure.com/.default"  # what a token is asked for
HELP = (
    "Log in with 'az login', or set AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET, or use the identity of "
    "the machine; it needs the role 'Cognitive Services User'. What was answered is kept."
)
_SECRETS = (
    "AZURE_CLIENT_SECRET",
    "AZURE_CLIENT_CERTIFICATE_PASSWORD",
    "AZURE_PASSWORD",
    "IDENTITY_HEADER",
    "MSI_SECRET",
)
"""Environment variables with which Microsoft's client logs in."""


def package(name: str) -> Any:
    """Load a part of Microsoft's client, which is an extra."""
    fix = "pip install 'likewise[azure]', or ask azure with a key, which is the same by REST."
    rule = "azure-client is spoken to through azure-ai-vision-imageanalysis, and logs in through azure-identity"
    return part_of(name, rule=rule, fix=fix)


class Login:
    """The login that Microsoft's client finds where it always does; it remembers every token that it gave away."""

    def __init__(self, service: str) -> None:
        self._service = service
        self._given: set[str] = set()
        try:
            self._found = package("azure.identity").DefaultAzureCredential()
        except (ValueError, OSError) as error:  # what the environment says is no login
            raise self._lacking(str(error)) from None
        hush()  # again: making it sets up logs of its own

    def get_token(
        self, *scopes: str, claims: str | None = None, tenant_id: str | None = None, enable_cae: bool = False
    ) -> Any:
        """Return a token; a refusal is heard here, where it cannot be taken for one by the service that is asked."""
        try:
            token = self._found.get_token(*scopes, claims=claims, tenant_id=tenant_id, enable_cae=enable_cae)
        except package("azure.core.exceptions").ClientAuthenticationError as error:
            raise self._lacking(error.message) from None
        self._given.add(token.token)
        return token

    def secrets(self) -> list[str]:
        """Return the tokens that were given so far, and what they are asked for with."""
        return [*self._given, *(os.environ.get(variable, "") for variable in _SECRETS)]

    def _lacking(self, words: str) -> ServiceError:
        told = scrubbed(" ".join(words.partition("\nTo mitigate")[0].split()), self.secrets())[:300]
        return ServiceError(f"{self._service} finds a login", got=told, fix=HELP)

    def close(self) -> None:
        """Close the lines to whoever gives tokens."""
        self._found.close()


def by_key(key: str) -> Any:
    """Return what the client takes for a key."""
    return package("azure.core.credentials").AzureKeyCredential(key)


def opened(endpoint: str, credential: Any, timeout: float) -> Any:
    """Return a client that asks once; what is on this machine is reached without a proxy."""
    client = package("azure.ai.vision.imageanalysis").ImageAnalysisClient(
        endpoint,
        credential,
        api_version=API_VERSION,
        credential_scopes=[SCOPE],
        retry_total=0,
        permit_redirects=False,
        logging_enable=False,
        connection_timeout=timeout,
        read_timeout=timeout,
        use_env_settings=not is_plain(endpoint),
    )
    hush()  # again: levels may have been set since
    return client
