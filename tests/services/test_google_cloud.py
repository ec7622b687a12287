"""Google's own client: over real gRPC, over REST, and with a service account over TLS."""

from __future__ import annotations

import base64
import json

import numpy as np
import pytest

from google_stand_in import Annotator
from grpc_stand_in import serving
from in_secret import asked_apart, certified
from likewise.errors import ServiceError, SpecError
from tagging_services import KEY


def test_the_client_and_the_api_key_say_the_same(service, server, pictures):
    server.see = lambda picture: [("Thing", 0.1), ("Beard", float(picture.mean()) / 255), ("Bright", 0.98765432)]
    by_key = service("google-vision").score(pictures)
    by_client = service("google-cloud").score(pictures)
    by_rest = service("google-cloud", transport="rest", endpoint=server.url).score(pictures)
    for scores in (by_client, by_rest):
        assert sorted(scores) == sorted(by_key)
        for label, values in by_key.items():  # Google's scores are of single precision
            assert scores[label] == pytest.approx(values, rel=1e-7)


def test_an_answer_is_kept_in_the_form_of_rest(service, server, pictures, tmp_path):
    service("google-cloud").score(pictures[-1:])
    service("google-vision").score(pictures[-1:])
    kept = [
        json.loads((tmp_path / f"cassettes/{name}.jsonl").read_text()) for name in ("google-cloud", "google-vision")
    ]
    assert kept[0]["answer"].keys() == kept[1]["answer"].keys()
    labels = [entry["answer"]["responses"][0]["labelAnnotations"] for entry in kept]
    assert [label["description"] for label in labels[0]] == [label["description"] for label in labels[1]]
    assert set(labels[0][0]) == set(labels[1][0])
    assert kept[0]["model"] == kept[1]["model"] == "builtin/stable"


def test_the_transport_does_not_change_the_request(service, server, pictures):
    over_grpc = service("google-cloud", endpoint="https://eu-vision.googleapis.com")
    over_rest = service("google-cloud", endpoint="https://eu-vision.googleapis.com", transport="rest")
    assert over_grpc.request(pictures[0]) == over_rest.request(pictures[0])
    latest = service("google-cloud", endpoint="https://eu-vision.googleapis.com", model="builtin/latest")
    assert latest.request(pictures[0]) != over_grpc.request(pictures[0])
    assert over_grpc.where == "eu-vision.googleapis.com"


@pytest.mark.parametrize("mood", ["broken", "cut", "half", "busy"])
def test_accidents_over_rest_are_tried_again(service, server, pictures, mood):
    server.moods = [mood, mood]
    made = service("google-cloud", transport="rest", endpoint=server.url, concurrency=1)
    assert made.score(pictures[:1])["Thing"] == pytest.approx(0.98)
    assert server.calls == 3
    if mood == "busy":
        assert server.times[1] - server.times[0] >= 1.0


def test_over_rest_a_refused_picture_and_a_denied_caller(service, server, pictures):
    server.moods = ["bad picture", "", "expired"]
    made = service("google-cloud", transport="rest", endpoint=server.url, concurrency=1)
    with pytest.raises(ServiceError, match=r"accepts the key; got .*denied"):
        made.score(pictures)
    assert np.isnan(made.score(pictures[:2])["Thing"][0])
    assert server.calls == 3


def test_over_rest_no_proxy_is_asked_for_what_is_here(service, server, pictures, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    made = service("google-cloud", transport="rest", endpoint=server.url, retries=0)
    assert made.score(pictures[:1])["Thing"] == pytest.approx(0.98)


def test_pictures_do_not_follow_a_redirect(service, server, pictures):
    server.moods = ["moved"]
    with pytest.raises(ServiceError, match="answers where it was asked; got a redirect"):
        service("google-cloud", transport="rest", endpoint=server.url).score(pictures[:1])
    assert server.calls == 1


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"endpoint": "http://vision.example"}, "spoken to in secret; got http://vision.example"),
        ({"endpoint": "http://192.168.1.4:9000"}, "spoken to in secret"),
        ({"endpoint": "vision.googleapis.com"}, "begins with https://"),
        ({"endpoint": "https://vision.googleapis.com/v1"}, "endpoint is a host, without a path"),
        ({"transport": "grpc_asyncio"}, "transport is 'grpc' or 'rest'"),
    ],
)
def test_what_it_cannot_be_told(service, options, says):
    with pytest.raises(SpecError, match=says):
        service("google-cloud", **options)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("/nonexistent/account.json", "GOOGLE_APPLICATION_CREDENTIALS that names no file"),
        ('{"private_key": "' + KEY * 30 + '"}', "GOOGLE_APPLICATION_CREDENTIALS that names no file"),
        ("a file", "GOOGLE_APPLICATION_CREDENTIALS of a file that holds none"),
        ("", r"none \(DefaultCredentialsError\)"),
    ],
)
def test_missing_credentials_are_said_before_anything_is_sent(monkeypatch, tmp_path, service, pictures, given, says):
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path))
    (tmp_path / "half.json").write_text(json.dumps({"type": "service_account", "private_key": KEY}))
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "half.json") if given == "a file" else given)
    made = service("google-cloud", endpoint="https://localhost:9")
    with pytest.raises(ServiceError, match=f"google-cloud finds credentials; got {says}") as caught:
        made.score(pictures[:1])
    assert KEY not in str(caught.value)
    assert made.missing() == str(caught.value)
    assert service("google-cloud", replay=True, endpoint="https://localhost:9").missing() == ""
    assert service("google-cloud").missing() == ""  # an emulator needs none


@pytest.mark.parametrize(
    ("mood", "says"), [("expired", "accepts the key; got RefreshError"), ("", "within 2 tries; got")]
)
def test_a_login_that_cannot_be_renewed(service, server, pictures, monkeypatch, mood, says):
    """It is heard as what it is, for good or for now, and not as a bad line."""
    from google.oauth2.credentials import Credentials

    login = Credentials(
        None, refresh_token=KEY, client_secret=KEY[::-1], client_id="planted", token_uri=f"{server.url}/token"
    )
    monkeypatch.setattr("likewise.services.google_cloud.found_credentials", lambda name: login)
    server.moods = [mood] * 20
    with pytest.raises(ServiceError, match=says) as caught:
        service("google-cloud", endpoint="https://localhost:9", retries=1).score(pictures[:1])
    assert KEY not in str(caught.value)
    assert KEY[::-1] not in str(caught.value)


# ---- with a service account, over TLS, in a process of its own


@pytest.fixture(scope="module")
def account(tmp_path_factory):
    """A service account's file, and a certificate for 'localhost', both made here."""
    folder = tmp_path_factory.mktemp("account")
    key, pem, certificate = certified()
    (folder / "roots.pem").write_bytes(certificate)
    who = {
        "type": "service_account",
        "client_email": "audit@planted.example",
        "private_key_id": "planted",
        "private_key": pem.decode(),
        "token_uri": "https://localhost:9/token",
    }
    (folder / "account.json").write_text(json.dumps(who))
    return folder, key, pem


@pytest.fixture
def asked_in_secret(account, server, tmp_path):
    """Ask a server over TLS with the service account: what came out, what was said besides, and what was sent."""
    import grpc

    folder, _, pem = account
    secret = grpc.ssl_server_credentials([(pem, (folder / "roots.pem").read_bytes())])
    with serving(Annotator(server), secret) as (handler, port):

        def ask(**options):
            here = {
                "GOOGLE_APPLICATION_CREDENTIALS": str(folder / "account.json"),
                "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH": str(folder / "roots.pem"),
                "GOOGLE_SDK_PYTHON_LOGGING_SCOPE": "google",  # even who asks for the client's logs gets no token
            }
            told = {"endpoint": f"https://localhost:{port}", **options}
            return *asked_apart("google-cloud", told, tmp_path, **here), handler.sent

        yield ask


def test_a_service_account_signs_its_own_tokens(asked_in_secret, account, server):
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import padding

    scores, _, sent = asked_in_secret()
    assert scores["Bright"] == pytest.approx([0.0, 200 / 255], abs=1e-4)
    assert len(sent) == 2
    head, body, signature = sent[0].removeprefix("Bearer ").split(".")
    account[1].public_key().verify(
        base64.urlsafe_b64decode(signature + "=="), f"{head}.{body}".encode(), padding.PKCS1v15(), hashes.SHA256()
    )
    assert json.loads(base64.urlsafe_b64decode(body + "=="))["iss"] == "audit@planted.example"


def test_a_token_that_is_repeated_stays_unseen(asked_in_secret, account, server, tmp_path):
    server.moods = ["", "expired"]
    told, besides, sent = asked_in_secret(concurrency=1)
    assert "accepts the key; got UNAUTHENTICATED: The credentials are expired: Bearer (key)" in told
    tokens = {given.removeprefix("Bearer ") for given in sent}
    assert len(tokens) == 1
    kept = (tmp_path / "cassettes/google-cloud.jsonl").read_text()
    private = json.loads((account[0] / "account.json").read_text())["private_key"]
    for secret in (*tokens, private, private.splitlines()[1]):
        assert secret not in told + besides + kept
        assert secret.split(".")[-1][:40] not in told + besides + kept
