"""What holds for every service that is asked through its maker's own client; each client's file has what is its own."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import pytest

from likewise.errors import CostError, PluginError, ServiceError, SpecError
from likewise.plugins import create
from tagging_services import KEY


@dataclass(frozen=True)
class Client:
    """A client, and what its service's moods come to; where words belong to a mood, they are what is said of it."""

    name: str
    price: float
    passing: tuple[str, ...]
    """Tried again, until it is heard."""
    free: tuple[str, ...]
    paid: tuple[str, ...]
    once: dict[str, str]
    """Given up after one try by who has no more than one."""
    final: dict[str, str]
    """Not tried again by anybody."""


AZURE = Client(
    "azure-client",
    price=0.001,
    passing=("busy", "broken", "empty", "list", "cut", "half"),
    free=("busy", "broken"),
    paid=("cut", "half", "empty", "list", "late", "dropped"),
    once={
        "busy": "status 429: Requests have exceeded rate limit",
        "broken": "status 500",
        "late": "no answer in time",
        "cut": "an answer that was cut off",
        "half": "an answer that is cut off or not JSON",
        "dropped": "an answer that was cut off",
    },
    final={
        "expired": r"accepts the key; got status 401: Access denied .* key \(key\). Set AZURE_VISION_KEY",
        "forbidden": r"accepts the key; got status 403: The key \(key\) may not",
        "nonsense": r"understands the request; got status 400: No such language; \(key\)",
        "moved": "answers where it was asked; got a redirect",  # which is not followed
    },
)
CLARIFAI = Client(
    "clarifai-grpc",
    price=0.0012,
    passing=("busy", "away", "broken", "empty", "throttled", "loading", "issue", "garbled"),
    free=("busy", "away", "throttled", "loading"),
    paid=("cut", "half", "empty", "broken", "issue", "late"),
    once={
        "away": r"UNAVAILABLE: away: Key \(key\)",
        "late": "DEADLINE_EXCEEDED",
        "busy": "RESOURCE_EXHAUSTED: Too many requests",
        "throttled": r"code 11005: throttled: Key \(key\)",
    },
    final={
        "expired": r"accepts the key; got code 11008: Invalid API key .*Key \(key\). Set CLARIFAI_PAT",
        "forbidden": r"accepts the key; got PERMISSION_DENIED: forbidden: Key \(key\)",
        "nonsense": r"understands the request; got INVALID_ARGUMENT: nonsense: Key \(key\)",
        "no model": r"understands the request; got code 21200: no model: Key \(key\)",
        "spent": r"understands the request; got code 11004: spent: Key \(key\)",
    },
)
GOOGLE = Client(
    "google-cloud",
    price=0.0015,
    passing=("busy", "away", "broken", "empty", "picture later"),
    free=("busy", "away", "picture later"),
    paid=("cut", "half", "empty", "late"),
    once={"away": "UNAVAILABLE", "late": "DEADLINE_EXCEEDED"},
    final={
        "expired": "accepts the key; got UNAUTHENTICATED: The credentials are expired",
        "forbidden": "accepts the key; got PERMISSION_DENIED",
        "nonsense": "understands the request; got INVALID_ARGUMENT",
        "picture denied": "google-cloud answers; got code 7",
    },
)
CLIENTS = (AZURE, CLARIFAI, GOOGLE)
AZURE_BY_REST = replace(AZURE, name="azure")
"""Its errors read as those of the client."""


def moods(of: Callable[[Client], Iterable[str]], *more: Client) -> pytest.MarkDecorator:
    """Every client with each of these moods."""
    rows = [pytest.param(made, mood, id=f"{made.name}-{mood}") for made in (*CLIENTS, *more) for mood in of(made)]
    return pytest.mark.parametrize(("client", "mood"), rows)


@moods(lambda client: client.passing)
def test_twice_turned_away_and_then_heard(service, server, pictures, client, mood):
    server.moods = [mood, mood]
    made = service(client.name, concurrency=1)
    assert made.score(pictures[:1])["Thing"] == pytest.approx(0.98)
    assert server.calls == 3  # the client itself tries nothing again
    replayed = service(client.name, replay=True, most=0.0)
    assert replayed.score(pictures[:1])["Thing"] == pytest.approx(0.98)
    assert server.calls == 3


@moods(lambda client: client.once)
def test_a_client_has_no_patience_of_its_own(service, server, pictures, client, mood):
    server.moods = [mood] * 9
    with pytest.raises(ServiceError, match=f"within 1 tries; got {client.once[mood]}"):
        service(client.name, retries=0, timeout=0.5).score(pictures[:1])
    assert server.calls == 1


@moods(lambda client: client.free)
def test_being_turned_away_costs_nothing(service, server, pictures, client, mood):
    server.moods = [mood]
    service(client.name, most=client.price).score(pictures[:1])


@moods(lambda client: client.paid)
def test_an_answer_that_came_broken_is_paid_for(service, server, pictures, client, mood):
    server.moods = [mood]
    with pytest.raises(CostError, match="larger --max-cost"):
        service(client.name, most=client.price, timeout=0.5).score(pictures[:1])


@pytest.mark.parametrize("name", [client.name for client in CLIENTS])
def test_a_call_that_takes_too_long_is_given_up_and_made_again(service, server, pictures, name):
    server.moods = ["late"]
    assert service(name, timeout=0.5).score(pictures[:1])["Thing"] == pytest.approx(0.98)
    assert server.calls == 2


@moods(lambda client: client.final, AZURE_BY_REST)
def test_what_will_not_pass_is_not_tried_again(service, server, pictures, client, mood):
    server.moods = [mood]
    with pytest.raises(ServiceError, match=client.final[mood]) as caught:
        service(client.name, concurrency=1).score(pictures)
    assert KEY not in str(caught.value)
    assert server.calls == 1


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("azure-client", {}, "no connection"),
        ("clarifai-grpc", {}, "UNAVAILABLE"),
        ("google-cloud", {"transport": "grpc"}, "UNAVAILABLE"),
        ("google-cloud", {"transport": "rest"}, "no connection"),
    ],
)
def test_nobody_there(service, pictures, name, options, says):
    made = service(name, endpoint="http://127.0.0.1:9", retries=1, **options)
    with pytest.raises(ServiceError, match=f"within 2 tries; got {says}"):
        made.score(pictures[:1])


@pytest.mark.parametrize(
    ("name", "by_rest", "options", "module", "says"),
    [
        (
            "azure-client",
            "azure",
            {"endpoint": "https://vision.example"},
            "azure.ai.vision.imageanalysis",
            r"likewise\[azure\].*the same by REST",
        ),
        (
            "clarifai-grpc",
            "clarifai",
            {},
            "clarifai_grpc.grpc.api.service_pb2_grpc",
            r"likewise\[clarifai\].*the same by REST",
        ),
        (
            "google-cloud",
            "google-vision",
            {},
            "google.cloud.vision_v1",
            r"likewise\[google\].*google-vision with an API key",
        ),
    ],
)
def test_without_the_client_the_extra_is_named(monkeypatch, name, by_rest, options, module, says):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(PluginError, match=f"no such package.*{says}"):
        create("classifier", name, options)
    create("classifier", by_rest, options)


@pytest.mark.parametrize(
    ("name", "variable"),
    [("azure-client", "AZURE_VISION_KEY"), ("clarifai-grpc", "CLARIFAI_PAT")],  # Google's takes no key
)
def test_a_missing_key_is_said_before_anything_is_sent(service, server, pictures, monkeypatch, name, variable):
    monkeypatch.delenv(variable)
    made = service(name)
    assert f"environment variable {variable}; got nothing" in made.missing()
    with pytest.raises(SpecError, match=f"{variable}; got nothing"):
        made.score(pictures[:1])
    assert server.calls == 0
    assert service(name, replay=True).missing() == ""
    monkeypatch.setenv("OTHER_KEY", KEY)
    assert service(name, key_env="OTHER_KEY").missing() == ""
