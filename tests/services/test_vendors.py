"""What each vendor's errors come to: tried again, charged, or final; and the limits that hold for every service."""

from __future__ import annotations

import base64
import json
import sys
import time
from dataclasses import dataclass
from urllib.parse import parse_qs, quote, urlsplit

import pytest

from likewise.errors import CostError, LikewiseWarning, PluginError, ServiceError, SpecError
from likewise.runtime.registry import create
from likewise.services.secret import scrubbed, scrubbed_values
from tagging_services import KEY, NAMES

every = pytest.mark.parametrize("name", NAMES)


@dataclass(frozen=True)
class Vendor:
    """What the moods of a vendor's stand-in come to."""

    name: str
    price: float
    passing: tuple[str, ...]
    free: tuple[str, ...]
    paid: tuple[str, ...]
    final: dict[str, str]


AZURE = Vendor(
    "azure",
    price=0.001,
    passing=("busy", "broken", "empty", "list", "cut", "half"),
    free=("busy", "broken"),
    paid=("cut", "half", "empty", "list", "late", "dropped"),
    final={
        "expired": r"refused the key: status 401: Access denied .* key \(key\). Set AZURE_VISION_KEY",
        "forbidden": r"refused the key: status 403: The key \(key\) may not",
        "nonsense": r"rejected the request: status 400: No such language; \(key\)",
        "moved": "answered with a redirect",  # which is not followed
    },
)
CLARIFAI = Vendor(
    "clarifai",
    price=0.0012,
    passing=("busy", "throttled", "loading", "issue", "cut", "half"),
    free=("busy", "throttled", "loading"),
    paid=("issue", "cut", "half"),
    final={"no model": "rejected the request: code 21200", "expired": r"refused the key: status 401: .*\(key\)"},
)
VENDORS = (AZURE, CLARIFAI)


def moods(kind: str) -> pytest.MarkDecorator:
    rows = [pytest.param(made, mood, id=f"{made.name}-{mood}") for made in VENDORS for mood in getattr(made, kind)]
    return pytest.mark.parametrize(("vendor", "mood"), rows)


@moods("passing")
def test_a_passing_error_is_tried_again(service, server, pictures, vendor, mood):
    server.moods = [mood, mood]
    assert service(vendor.name, concurrency=1).score(pictures[:1])["Thing"] == pytest.approx(0.98)
    assert server.calls == 3
    assert service(vendor.name, replay=True, most=0.0).score(pictures[:1])["Thing"] == pytest.approx(0.98)
    assert server.calls == 3


@moods("free")
def test_a_rejected_call_costs_nothing(service, server, pictures, vendor, mood):
    server.moods = [mood]
    service(vendor.name, most=vendor.price).score(pictures[:1])


@moods("paid")
def test_a_broken_response_is_charged(service, server, pictures, vendor, mood):
    server.moods = [mood]
    with pytest.raises(CostError, match="larger --max-cost"):
        service(vendor.name, most=vendor.price, timeout=0.5).score(pictures[:1])


@moods("final")
def test_a_final_error_is_not_tried_again(service, server, pictures, vendor, mood):
    server.moods = [mood]
    with pytest.raises(ServiceError, match=vendor.final[mood]) as caught:
        service(vendor.name, concurrency=1).score(pictures)
    assert KEY not in str(caught.value)
    assert server.calls == 1


@every
def test_an_unreachable_service(service, pictures, name):
    with pytest.raises(ServiceError, match="did not answer in 2 attempts: no connection"):
        service(name, endpoint="http://127.0.0.1:9", retries=1).score(pictures[:1])


@every
def test_without_the_library_the_extra_is_named(service, monkeypatch, name):
    monkeypatch.setitem(sys.modules, "httpx2", None)
    with pytest.raises(PluginError, match=r"likewise\[apis\]"):
        service(name)


def test_the_request_to_azure(service, server, pictures):
    service("azure").score(pictures[:1])
    service("azure", language="de", model_version="2023-10-01").score(pictures[:1])
    usual, own = (parse_qs(urlsplit(path).query) for path in server.paths)
    assert usual == {
        "api-version": ["2024-02-01"],
        "features": ["tags"],
        "language": ["en"],
        "model-version": ["latest"],
    }
    assert (own["language"], own["model-version"]) == (["de"], ["2023-10-01"])
    assert not any(KEY in path for path in server.paths)


@pytest.mark.parametrize(
    ("old", "new", "options"),
    [
        ("azure-client", "azure", {}),
        ("clarifai-grpc", "clarifai", {}),
        ("google-cloud", "google-vision", {"transport": "grpc"}),
    ],
)
def test_a_former_name_stands_for_the_remaining_client(service, server, pictures, old, new, options):
    with pytest.warns(LikewiseWarning, match=f"'{old}' is now '{new}'"):
        made = service(old, **options)
    assert made.name == new
    assert made.score(pictures[:1])["Thing"] == pytest.approx(0.98)


def test_a_login_by_entra_is_no_longer_possible():
    with pytest.raises(SpecError, match="no longer logs in"):
        create("classifier", "azure-client", {"endpoint": "https://own.example", "credential": "entra"})


# ---- limits on size and time


@every
@pytest.mark.parametrize("mood", ["endless", "bomb"])
def test_a_response_without_end_or_a_decompression_bomb_is_an_error(service, server, pictures, name, mood):
    server.moods = [mood]
    with pytest.raises(ServiceError, match="more than 10,000,000 bytes"):
        service(name, concurrency=1, timeout=20).score(pictures[:1])
    assert server.calls == 1


@every
@pytest.mark.parametrize("mood", ["slow body", "slow head"])
def test_the_deadline_is_for_the_whole_call(service, server, pictures, name, mood):
    """Bytes keep coming every 0.1 s for 10 s, so no single read times out."""
    server.moods, begun = [mood], time.monotonic()
    with pytest.raises(ServiceError, match=r"no complete response within 0.5 s"):
        service(name, retries=0, timeout=0.5).score(pictures[:1])
    assert time.monotonic() - begun < 9  # a per-read timeout would take the whole 10 s


@every
def test_deeply_nested_json_is_not_json(service, server, pictures, name):
    server.moods = ["nested"]
    with pytest.raises(ServiceError, match="did not answer in 1 attempts"):
        service(name, retries=0).score(pictures[:1])
    server.moods = ["nested"]
    assert service(name).score(pictures[:1])["Thing"] == pytest.approx(0.98)


# ---- keys in responses

SECRET = "sk-live/7f+3a=91&c5 e2"  # noqa: S105
ENCODED = {
    "plain": SECRET,
    "URL-encoded": quote(SECRET, safe=""),
    "URL-encoded in part": quote(SECRET),
    "URL-encoded twice": quote(quote(SECRET, safe=""), safe=""),
    "lower-case percent": quote(SECRET, safe="").lower(),
    "base64": base64.b64encode(SECRET.encode()).decode(),
    "base64 of a header": base64.b64encode(f"Bearer {SECRET}".encode()).decode(),
    "base64 of a longer header": base64.b64encode(f"Bearer: {SECRET}!".encode()).decode(),
    "base64 for addresses": base64.urlsafe_b64encode(f"user:{SECRET}".encode()).decode(),
    "base64 in an address": quote(base64.b64encode(SECRET.encode()).decode(), safe=""),
    "hexadecimal": SECRET.encode().hex().upper(),
    "JSON in JSON": json.dumps(json.dumps(SECRET)),
    "escaped slashes": SECRET.replace("/", "\\/"),
    "unicode escapes": "".join(f"\\u{ord(letter):04x}" for letter in SECRET),
    "HTML": SECRET.replace("&", "&#38;").replace("/", "&#x2F;"),
}


@pytest.mark.parametrize("form", ENCODED)
def test_a_repeated_key_is_removed_in_every_encoding(form):
    text = f"You sent {ENCODED[form]}, which is not valid"
    cleaned = scrubbed(text, [SECRET])
    assert "(key)" in cleaned
    assert ENCODED[form] not in cleaned
    assert scrubbed_values({ENCODED[form]: [{"echo": text}]}, [SECRET]) != {ENCODED[form]: [{"echo": text}]}


@pytest.mark.parametrize("form", ["URL-encoded", "base64 of a header", "JSON in JSON", "unicode escapes"])
def test_recorded_responses_never_hold_the_key(service, server, pictures, monkeypatch, form, tmp_path):
    key = SECRET.replace(" ", "_")
    monkeypatch.setenv("TAGGER_KEY", key)
    server.key = key
    echo = ENCODED[form] if " " not in key and key == SECRET else _encoded(form, key)
    server.see = lambda picture: [("Thing", 0.98), (f"label {echo}", 0.5)]
    service("http").score(pictures[:1])
    kept = (tmp_path / "cassettes/own-tagger.jsonl").read_text()
    assert "(key)" in kept
    assert echo not in json.loads(kept)["answer"]["tags"][1]["word"]


def _encoded(form: str, key: str) -> str:
    return {
        "URL-encoded": quote(key, safe=""),
        "base64 of a header": base64.b64encode(f"Bearer {key}".encode()).decode(),
        "JSON in JSON": json.dumps(json.dumps(key)),
        "unicode escapes": "".join(f"\\u{ord(letter):04x}" for letter in key),
    }[form]


def test_ordinary_text_is_not_touched():
    assert SECRET.upper() not in scrubbed(f"key {SECRET.upper()} or {SECRET.lower()}", [SECRET])
    assert SECRET.lower() not in scrubbed(f"key {SECRET.upper()} or {SECRET.lower()}", [SECRET])
    assert scrubbed("An ordinary message of 2026", [SECRET, "", "abc1"]) == "An ordinary message of 2026"
