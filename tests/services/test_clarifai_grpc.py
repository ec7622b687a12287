"""Clarifai's own client: over real gRPC, plain and over TLS."""

from __future__ import annotations

import json
import logging

import pytest
from clarifai_grpc.channel.clarifai_channel import ClarifaiChannel
from clarifai_grpc.grpc.api import service_pb2, service_pb2_grpc

from clarifai_stand_in import Outputs
from grpc_stand_in import serving
from in_secret import asked_apart, certified
from likewise.errors import CostError, ServiceError, SpecError
from likewise.plugins import create
from tagging_services import KEY

NAME = "clarifai-grpc"


def test_the_client_and_rest_say_the_same(service, server, pictures):
    server.see = lambda picture: [("Thing", 0.1), ("Beard", float(picture.mean()) / 255), ("None", 0.0)]
    by_rest = service("clarifai").score(pictures)
    by_client = service(NAME).score(pictures)
    assert sorted(by_client) == sorted(by_rest) == ["Beard", "None", "Thing"]
    for label, values in by_rest.items():  # Clarifai's values are of single precision
        assert by_client[label] == pytest.approx(values, rel=1e-7)


def test_an_answer_is_kept_in_the_form_of_rest(service, server, pictures, tmp_path):
    kept = []
    for name in (NAME, "clarifai"):
        service(name).score(pictures[-1:])
        kept.append(json.loads((tmp_path / f"cassettes/{name}.jsonl").read_text()))
    assert kept[0]["answer"] == kept[1]["answer"]
    assert kept[0]["answer"]["outputs"][0]["data"]["concepts"][0] == {
        "id": "ai_Thing",
        "name": "Thing",
        "value": 0.98,
        "app_id": "main",
    }
    assert kept[0]["model"] == kept[1]["model"] == "3.0"
    assert {**kept[0]["asked"], "service": "", "where": ""} == {**kept[1]["asked"], "service": "", "where": ""}


def test_what_is_asked_for(service, server, pictures):
    service(NAME).score(pictures[:1])
    made = service(NAME, user="me", app="mine", model="m", model_version="v7", language="de", threshold=0.3)
    made.most = 1
    assert sorted(made.score(pictures[-1:])) == ["Thing"]
    handler, _ = server.over_grpc[NAME]
    (usual, own), config = handler.asked, handler.asked[1].model.output_info.output_config
    assert (usual.user_app_id.user_id, usual.user_app_id.app_id) == ("clarifai", "main")
    assert (usual.model_id, usual.version_id) == ("general-image-recognition", "")
    assert usual.model.output_info.output_config.language == "en"
    assert (own.user_app_id.user_id, own.user_app_id.app_id, own.model_id, own.version_id) == ("me", "mine", "m", "v7")
    assert (config.language, config.max_concepts, config.min_value) == ("de", 1, pytest.approx(0.3))
    assert set(handler.sent) == {f"Key {KEY}"}


def test_the_settings_are_part_of_the_request(pictures):
    usual = create("classifier", NAME, {}).request(pictures[0])
    for options in ({"user": "me"}, {"app": "a"}, {"model": "m"}, {"model_version": "v"}, {"most": 5}):
        assert create("classifier", NAME, options).request(pictures[0]) != usual


@pytest.mark.parametrize("name", [NAME, "clarifai"])
def test_codes_inside_of_an_answer_mean_the_same(service, server, pictures, name):
    for mood, calls in (("throttled", 2), ("loading", 4)):
        server.moods = [mood]
        service(name, most=0.0012).score(pictures[calls : calls + 1])
        assert server.calls == calls
    server.moods = ["issue"]
    with pytest.raises(CostError, match="larger --max-cost"):
        service(name, most=0.0012).score(pictures[:1])
    server.moods = ["no model"]
    with pytest.raises(ServiceError, match="understands the request; got code 21200: no model"):
        service(name).score(pictures[:1])
    assert server.calls == 6


def test_channels_of_the_clients_own_have_one(server):
    """Why the line is ours: were this no longer so, theirs could be taken."""
    port = int(server.url_of(NAME).rpartition(":")[2])
    server.moods = ["away"] * 9
    with ClarifaiChannel.get_insecure_grpc_channel(base="127.0.0.1", port=port) as channel:
        stub = service_pb2_grpc.V2Stub(channel)
        with pytest.raises(Exception, match="UNAVAILABLE"):
            stub.PostModelOutputs(service_pb2.PostModelOutputsRequest(), timeout=10)
    assert server.calls == 5


def test_a_pause_that_a_gateway_asks_for_is_kept(service, server, pictures):
    server.moods = ["wait"]
    service(NAME).score(pictures[:1])
    assert server.times[1] - server.times[0] >= 1.0


@pytest.mark.parametrize("mood", ["away", "broken", "throttled", "issue"])
def test_a_key_that_is_repeated_stays_unseen(service, server, pictures, mood, caplog, tmp_path):
    caplog.set_level(logging.DEBUG)
    server.see = lambda picture: [("Thing", 0.98), (f"Key {KEY}", 0.9)]
    service(NAME).score(pictures[:1])
    server.moods = [mood] * 9
    with pytest.raises(ServiceError, match=r"within 2 tries; got .*\(key\)") as caught:
        service(NAME, retries=1).score(pictures[1:2])
    kept = (tmp_path / f"cassettes/{NAME}.jsonl").read_text()
    assert "Key (key)" in kept
    assert KEY not in str(caught.value) + kept + caplog.text


def test_a_key_that_no_header_can_hold_is_not_repeated(service, server, pictures, monkeypatch):
    monkeypatch.setenv("CLARIFAI_PAT", KEY + "\u2026")
    for name in (NAME, "clarifai"):
        with pytest.raises(SpecError, match="CLARIFAI_PAT is plain letters") as caught:
            service(name).score(pictures[:1])
        assert KEY not in str(caught.value)
    assert server.calls == 0


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"endpoint": "http://api.clarifai.example"}, "spoken to in secret; got http://api.clarifai.example"),
        ({"endpoint": "api.clarifai.com"}, "begins with https://"),
        ({"endpoint": "https://api.clarifai.com/v2"}, "clarifai-grpc: endpoint is a host, without a path"),
        ({"endpoint": "https://api.clarifai.com:66000"}, "port of a service is a number up to 65535"),
        ({"key_env": KEY}, "key_env is the name of an environment variable, in capitals; got something else"),
    ],
)
def test_what_it_cannot_be_told(service, options, says):
    with pytest.raises(SpecError, match=says) as caught:
        service(NAME, **options)
    assert KEY not in str(caught.value)


def test_where_it_is_unless_said_otherwise():
    assert create("classifier", NAME, {}).where == "api.clarifai.com"


# ---- over TLS, in a process of its own


@pytest.fixture
def asked_in_secret(server, tmp_path):
    """Ask a server over TLS: what came out, what was said besides, and the server."""
    import grpc

    _, pem, certificate = certified()
    roots = tmp_path / "roots.pem"
    roots.write_bytes(certificate)
    with serving(Outputs(server), grpc.ssl_server_credentials([(pem, certificate)])) as (handler, port):

        def ask(trusted=True, **options):
            here = {"GRPC_DEFAULT_SSL_ROOTS_FILE_PATH": str(roots)} if trusted else {}
            told = {"endpoint": f"https://localhost:{port}", **options}
            return *asked_apart(NAME, told, tmp_path, **here), handler.sent

        yield ask


def test_it_speaks_in_secret(asked_in_secret, server, tmp_path):
    server.moods = ["", "expired"]
    told, besides, sent = asked_in_secret(concurrency=1)
    assert sent == [f"Key {KEY}"] * 2
    assert "accepts the key; got code 11008" in told
    kept = (tmp_path / f"cassettes/{NAME}.jsonl").read_text()
    assert KEY not in told + besides + kept
    scores, besides, _ = asked_in_secret()
    assert scores["Bright"] == pytest.approx([0.0, 200 / 255], abs=1e-4)
    assert KEY not in besides


def test_whom_it_does_not_trust_hears_nothing(asked_in_secret):
    told, besides, sent = asked_in_secret(trusted=False, retries=0)
    assert "within 1 tries; got UNAVAILABLE" in told
    assert sent == []
    assert KEY not in told + besides
