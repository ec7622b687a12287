"""Microsoft's own client, over real HTTP, plain and over TLS."""

from __future__ import annotations

import json
import logging
import ssl
import sys
from urllib.parse import parse_qs, urlsplit

import pytest

from in_secret import asked_apart, certified
from likewise.errors import PluginError, SpecError
from likewise.plugins import create
from tagging_services import KEY, tagger

NAME = "azure-client"
HEADER = "Ocp-Apim-Subscription-Key"


def test_the_client_and_rest_say_the_same(service, server, pictures):
    server.see = lambda picture: [("Thing", 0.1), ("Beard", float(picture.mean()) / 255), ("None", 0.0)]
    by_rest = service("azure").score(pictures)
    by_client = service(NAME).score(pictures)
    assert {label: values.tolist() for label, values in by_client.items()} == {
        label: values.tolist() for label, values in by_rest.items()
    }


def test_an_answer_is_kept_in_the_form_of_rest(service, server, pictures, tmp_path):
    kept = []
    for name in (NAME, "azure"):
        service(name).score(pictures[-1:])
        kept.append(json.loads((tmp_path / f"cassettes/{name}.jsonl").read_text()))
    assert kept[0]["answer"] == kept[1]["answer"]
    assert kept[0]["model"] == kept[1]["model"] == "3.0"
    assert (kept[0]["asked"]["api"], kept[1]["asked"]["api"]) == ("2023-10-01", "2024-02-01")


def test_what_is_asked_for(service, server, pictures):
    service(NAME).score(pictures[:1])
    service(NAME, language="de", model_version="2023-10-01").score(pictures[:1])
    usual, own = (parse_qs(urlsplit(path).query) for path in server.paths)
    assert usual == {
        "api-version": ["2023-10-01"],
        "features": ["tags"],
        "language": ["en"],
        "model-version": ["latest"],
    }
    assert (own["language"], own["model-version"]) == (["de"], ["2023-10-01"])
    assert [headers[HEADER] for headers in server.headers] == [KEY, KEY]
    assert not any(KEY in path for path in server.paths)


def test_the_settings_are_part_of_the_request(service, pictures):
    usual = service(NAME).request(pictures[0])
    assert service(NAME, model_version="2023-10-01").request(pictures[0]) != usual
    with pytest.raises(PluginError, match="no option 'api_version'"):
        service(NAME, api_version="2024-02-01")


def test_a_key_that_is_repeated_stays_unseen(service, server, pictures, caplog, tmp_path):
    caplog.set_level(logging.DEBUG)
    server.see = lambda picture: [("Thing", 0.98), (f"Key {KEY}", 0.9)]
    made = service(NAME)
    for name in ("azure", "azure.core.pipeline.policies.http_logging_policy", "urllib3"):
        logging.getLogger(name).setLevel(logging.DEBUG)  # even who asks for the client's logs gets no key
    made.score(pictures[:1])
    kept = (tmp_path / f"cassettes/{NAME}.jsonl").read_text()
    assert "Key (key)" in kept
    assert KEY not in kept + caplog.text
    assert not [record for record in caplog.records if record.name.startswith(("azure", "urllib3"))]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"endpoint": ""}, "azure-client needs the endpoint of your own resource; got none"),
        ({"endpoint": "http://vision.example"}, "spoken to in secret; got http://vision.example"),
        ({"endpoint": "vision.example"}, "begins with https://"),
        ({"key_env": KEY}, "key_env is the name of an environment variable, in capitals; got something else"),
    ],
)
def test_what_it_cannot_be_told(service, options, says):
    with pytest.raises(SpecError, match=says) as caught:
        service(NAME, **options)
    assert KEY not in str(caught.value)


def test_without_what_logs_in_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "azure.identity", None)
    create("classifier", NAME, {"endpoint": "https://vision.example"})
    with pytest.raises(PluginError, match=r"logs in through azure-identity; got no such package.*likewise\[azure\]"):
        create("classifier", NAME, {"endpoint": "https://vision.example", "credential": "entra"})


# ---- over TLS, in a process of its own


@pytest.fixture
def secretly(tmp_path):
    """A server over TLS, and how it is asked: what came out, and what was said besides."""
    _, pem, certificate = certified()
    (tmp_path / "roots.pem").write_bytes(certificate)
    (tmp_path / "both.pem").write_bytes(pem + certificate)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "both.pem")
    with tagger(context) as server:

        def ask(trusted=True, environment=None, **options):
            here = {"REQUESTS_CA_BUNDLE": str(tmp_path / "roots.pem")} if trusted else {}
            told = {"endpoint": f"https://localhost:{server.server_port}", **options}
            return asked_apart(NAME, told, tmp_path, **here, **(environment or {}))

        yield server, ask


def test_it_speaks_in_secret(secretly, tmp_path):
    server, ask = secretly
    server.moods = ["", "expired"]
    told, besides = ask(concurrency=1)
    assert [headers[HEADER] for headers in server.headers] == [KEY, KEY]
    assert "accepts the key; got status 401" in told
    assert KEY not in told + besides + (tmp_path / f"cassettes/{NAME}.jsonl").read_text()
    scores, besides = ask()
    assert scores["Bright"] == pytest.approx([0.0, 200 / 255], abs=1e-4)
    assert KEY not in besides


def test_whom_it_does_not_trust_hears_nothing(secretly):
    server, ask = secretly
    told, besides = ask(trusted=False, retries=0)
    assert "within 1 tries; got no connection" in told
    assert server.calls == 0
    assert KEY not in told + besides


# ---- with a login: the identity of a machine, whose tokens a stand-in gives

TOKEN = "planted-token-" + "0123456789abcdef" * 4


@pytest.fixture
def identity(server):
    """Where tokens are given, and the environment in which the client finds it."""
    server.token = TOKEN
    return {
        "AZURE_TOKEN_CREDENTIALS": "managedidentitycredential",
        "IDENTITY_ENDPOINT": f"{server.url}/msi/token",
        "IDENTITY_HEADER": KEY,
    }


def test_who_logs_in_needs_no_key(secretly, server, identity, tmp_path):
    asked, ask = secretly
    asked.key = TOKEN
    scores, besides = ask(environment=identity, credential="entra")
    assert scores["Bright"] == pytest.approx([0.0, 200 / 255], abs=1e-4)
    assert [headers["Authorization"] for headers in asked.headers] == [f"Bearer {TOKEN}"] * 2
    assert not any(HEADER in headers for headers in asked.headers)
    kept = (tmp_path / f"cassettes/{NAME}.jsonl").read_text()
    assert "entra" not in kept  # the answer is the same
    for secret in (TOKEN, KEY):
        assert secret not in besides + kept


def test_a_login_that_the_service_refuses(secretly, identity):
    asked, ask = secretly
    told, besides = ask(environment=identity, credential="entra", concurrency=1)
    assert "accepts the login; got status 401: Access denied due to invalid subscription key (key)" in told
    assert "az login" in told
    assert asked.calls == 1
    assert TOKEN not in told + besides


def test_a_login_that_is_not_given(secretly, server, identity):
    asked, ask = secretly
    server.moods = ["refused"] * 20
    told, besides = ask(environment=identity, credential="entra")
    assert "azure-client finds a login; got DefaultAzureCredential failed to retrieve a token" in told
    assert asked.calls == 0
    assert KEY not in told + besides


def test_a_missing_login_is_said(server, identity, monkeypatch):
    for variable, value in identity.items():
        monkeypatch.setenv(variable, value)
    monkeypatch.delenv("AZURE_VISION_KEY")
    options = {"endpoint": "https://vision.example", "credential": "entra"}
    assert create("classifier", NAME, options).missing() == ""
    server.moods = ["refused"] * 20
    assert "azure-client finds a login; got" in create("classifier", NAME, options).missing()
    assert create("classifier", NAME, {**options, "replay": True}).missing() == ""
    monkeypatch.setenv("AZURE_TOKEN_CREDENTIALS", "nobody")
    assert "azure-client finds a login; got Invalid value" in create("classifier", NAME, options).missing()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"credential": KEY}, "credential is 'key' or 'entra'; got something else"),
        ({"credential": "entra"}, "a login is for a service that is spoken to in secret; got http://127.0.0.1"),
        ({"credential": "entra", "key_env": "OTHER_KEY"}, "key_env has an effect with credential = 'key'"),
    ],
)
def test_how_it_cannot_log_in(service, options, says):
    with pytest.raises(SpecError, match=says) as caught:
        service(NAME, **options)
    assert KEY not in str(caught.value)


def test_who_asks_is_no_part_of_the_request(pictures):
    options = {"endpoint": "https://vision.example"}
    by_key = create("classifier", NAME, options)
    assert create("classifier", NAME, {**options, "credential": "entra"}).request(pictures[0]) == by_key.request(
        pictures[0]
    )
