"""Azure AI Vision through Microsoft's own client: the tags of Image Analysis 4.0, by its interface of 2023-10-01.

What its pipeline would do by itself is switched off: trying again, following redirects (it takes only ``Authorization``
off on the way to a stranger, and this key goes in another header), and writing requests to a log.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from likewise.services.azure import AzureTags
from likewise.services.extras import part_of
from likewise.services.retry import Transient
from likewise.services.secret import hush, is_plain

API_VERSION = "2023-10-01"  # the only one that the client is made for


@dataclass(kw_only=True)
class AzureClient(AzureTags):
    """Tags of Azure AI Vision, asked for through Microsoft's own client."""

    name: str = field(init=False, default="azure-client")

    def __post_init__(self) -> None:
        super().__post_init__()
        self._client: Any = None
        _package("azure.ai.vision.imageanalysis")

    def _settings(self) -> dict[str, Any]:
        return {"language": self.language, "model version": self.model_version, "api": API_VERSION}

    @contextmanager
    def _connected(self) -> Iterator[None]:
        """Open one line for all threads; what is on this machine is reached without a proxy."""
        client = _package("azure.ai.vision.imageanalysis").ImageAnalysisClient(
            self.endpoint,
            _package("azure.core.credentials").AzureKeyCredential(self._key()),
            api_version=API_VERSION,
            retry_total=0,
            permit_redirects=False,
            logging_enable=False,
            connection_timeout=self.timeout,
            read_timeout=self.timeout,
            use_env_settings=not is_plain(self.endpoint),
        )
        hush()  # again: levels may have been set since
        with client as self._client:
            yield

    def _ask(self, image: bytes) -> Any:
        known = _package("azure.core.exceptions")
        tags = _package("azure.ai.vision.imageanalysis.models").VisualFeatures.TAGS
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


def _package(name: str) -> Any:
    """Load a part of Microsoft's client, which is an extra."""
    fix = "pip install 'likewise[azure]', or ask azure, which is the same by REST."
    return part_of(name, rule="azure-client is spoken to through azure-ai-vision-imageanalysis", fix=fix)
