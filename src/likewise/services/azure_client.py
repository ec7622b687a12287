"""Azure AI Vision through Microsoft's own client: the tags of Image Analysis 4.0, by its interface of 2023-10-01."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any

from likewise.errors import LikewiseError, ServiceError, SpecError
from likewise.services.azure import AzureTags
from likewise.services.azure_line import API_VERSION, HELP, SCOPE, Login, by_key, opened, package
from likewise.services.retry import Transient
from likewise.services.secret import is_plain


@dataclass(kw_only=True)
class AzureClient(AzureTags):
    """Tags of Azure AI Vision, asked for through Microsoft's own client."""

    credential: str = "key"
    """Who asks: key (of the resource), or entra (a login by Microsoft Entra ID, where Microsoft's client finds it)."""

    name: str = field(init=False, default="azure-client")

    def __post_init__(self) -> None:
        usual = type(self).key_env
        if self.credential not in ("key", "entra"):
            fix = "A key itself stands in the environment variable that key_env names."
            raise SpecError("azure-client: credential is 'key' or 'entra'", got="something else", fix=fix)
        if self._logs_in() and self.key_env != usual:
            raise SpecError("azure-client: key_env has an effect with credential = 'key'", got="'entra'")
        super().__post_init__()
        if self._logs_in() and is_plain(self.endpoint):
            raise SpecError("azure-client: a login is for a service that is spoken to in secret", got=self.endpoint)
        self._client: Any = None
        self._login: Login | None = None
        package("azure.ai.vision.imageanalysis")
        if self._logs_in():
            package("azure.identity")

    def _logs_in(self) -> bool:
        return self.credential == "entra"

    def _settings(self) -> dict[str, Any]:
        return {"language": self.language, "model version": self.model_version, "api": API_VERSION}

    def missing(self) -> str:
        """Say whether there is a key, or whether the client finds a login."""
        if self.replay or not self._logs_in():
            return super().missing()
        try:
            with closing(Login(self.name)) as login:
                login.get_token(SCOPE)
        except LikewiseError as error:
            return str(error)
        return ""

    def _secrets(self) -> list[str]:
        if self._logs_in():
            return self._login.secrets() if self._login else []
        return super()._secrets()

    def _locked_out(self, told: str) -> ServiceError:
        if self._logs_in():
            return ServiceError(f"{self.name} accepts the login", got=told, fix=HELP)
        return super()._locked_out(told)

    @contextmanager
    def _connected(self) -> Iterator[None]:
        """Open one line for all threads."""
        if not self._logs_in():
            with opened(self.endpoint, by_key(self._key()), self.timeout) as self._client:
                yield
            return
        self._login = Login(self.name)
        with closing(self._login):
            self._login.get_token(SCOPE)  # once, before many threads find out that there is none
            with opened(self.endpoint, self._login, self.timeout) as self._client:
                yield

    def _ask(self, image: bytes) -> Any:
        known = package("azure.core.exceptions")
        tags = package("azure.ai.vision.imageanalysis.models").VisualFeatures.TAGS
        try:
            answer = self._client.analyze(image, [tags], language=self.language, model_version=self.model_version)
        except known.HttpResponseError as error:
            if error.response is None:
                raise Transient("an answer that was cut off", charged=True) from None
            return self._understood(error.response.status_code, error.response.headers, error.response.content)
        except known.ServiceResponseTimeoutError:  # it may have been answered, and charged for
            raise Transient("no answer in time", charged=True) from None
        except known.ServiceResponseError:
            raise Transient("an answer that was cut off", charged=True) from None
        except known.ServiceRequestError as error:
            raise Transient(f"no connection ({type(error).__name__})") from None
        return answer.as_dict()
