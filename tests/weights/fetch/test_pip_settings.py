"""pip's settings are read as pip reads them; where pip is at hand, it is asked too."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from pypi_simple import PYPI_SIMPLE_ENDPOINT

from likewise.errors import WeightsError
from likewise.weights.fetch.net import plain, same_place, without_auth
from likewise.weights.fetch.pip_settings import config_files, pip_settings, values

PIP = shutil.which("pip")


@pytest.fixture(autouse=True)
def clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "user" / ".config"))
    monkeypatch.setenv("XDG_CONFIG_DIRS", str(tmp_path / "machine"))
    monkeypatch.setattr("sys.prefix", str(tmp_path / "environment"))


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_the_default_index_is_the_public_one(monkeypatch):
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    found = pip_settings()
    assert found.indexes == (PYPI_SIMPLE_ENDPOINT,)
    assert (found.proxy, found.cert, found.timeout, found.retries) == ("", "", 15.0, 5)


def test_later_files_and_sections_win(tmp_path, monkeypatch):
    write(tmp_path / "machine/pip/pip.conf", "[global]\nindex-url = http://machine/simple\nproxy = http://p:1\n")
    write(tmp_path / "user/.pip/pip.conf", "[global]\nindex-url = http://legacy/simple\n")
    write(tmp_path / "user/.config/pip/pip.conf", "[global]\nindex_url = http://user/simple\ntimeout = 60\n")
    assert pip_settings().indexes == ("http://user/simple",)
    write(tmp_path / "environment/pip.conf", "[global]\nindex-url = http://environment/simple\n")
    assert pip_settings().indexes == ("http://environment/simple",)
    write(
        tmp_path / "machine/pip/pip.conf", "[download]\nindex-url = http://section/simple\n[global]\nproxy=http://p:1\n"
    )
    assert pip_settings().indexes == ("http://section/simple",)
    monkeypatch.setenv("PIP_INDEX_URL", "http://variable/simple")
    found = pip_settings()
    assert found.indexes == ("http://variable/simple",)
    assert (found.proxy, found.timeout) == ("http://p:1", 60.0)


def test_a_file_of_ones_own_wins_over_the_others_and_null_means_none(tmp_path, monkeypatch):
    write(tmp_path / "environment/pip.conf", "[global]\nindex-url = http://environment/simple\n")
    write(tmp_path / "own.conf", "[global]\nindex-url = http://own/simple\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "own.conf"))
    assert pip_settings().indexes == ("http://own/simple",)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    assert list(config_files()) == []
    assert pip_settings().indexes == (PYPI_SIMPLE_ENDPOINT,)


def test_lists_are_split_and_paths_expanded(tmp_path, monkeypatch):
    text = "[global]\nextra-index-url =\n  http://a/simple\n  http://b/simple\ntrusted-host = a b\ncert = ~/ca.pem\n"
    write(tmp_path / "environment/pip.conf", text)
    monkeypatch.setenv("PIP_FIND_LINKS", "/one /two")
    found = pip_settings()
    assert found.indexes[1:] == ("http://a/simple", "http://b/simple")
    assert (found.trusted_hosts, found.find_links) == (("a", "b"), ("/one", "/two"))
    assert found.cert == str(tmp_path / "user" / "ca.pem")


@pytest.mark.parametrize("yes", ["1", "true", "YES", "on"])
def test_no_index_means_none(monkeypatch, yes):
    monkeypatch.setenv("PIP_NO_INDEX", yes)
    assert pip_settings().indexes == ()


def test_a_file_that_is_no_settings_file_is_said(tmp_path, monkeypatch):
    write(tmp_path / "environment/pip.conf", "no section\n")
    with pytest.raises(WeightsError, match=r"Cannot read pip's settings in .*pip.conf"):
        pip_settings()
    write(tmp_path / "environment/pip.conf", "[global]\ntimeout = soon\n")
    with pytest.raises(WeightsError, match="timeout is not a number: 'soon'"):
        pip_settings()


@pytest.mark.skipif(PIP is None, reason="pip is not installed")
def test_pip_itself_says_the_same(tmp_path, monkeypatch):
    write(tmp_path / "machine/pip/pip.conf", "[global]\nindex-url = http://machine/simple\nproxy = http://p:1\n")
    write(tmp_path / "user/.config/pip/pip.conf", "[global]\nextra-index-url =\n  http://a/simple\n  http://b/simple\n")
    write(tmp_path / "own.conf", "[global]\ntimeout = 60\nindex-url = http://own/simple\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "own.conf"))
    monkeypatch.setenv("PIP_TRUSTED_HOST", "a")
    shown = subprocess.run([str(PIP), "config", "list"], capture_output=True, text=True, check=True).stdout
    said: dict[str, str] = {}
    for line in sorted(shown.splitlines(), key=lambda line: line.startswith(":env:")):
        key, _, value = line.partition("=")
        said[key.removeprefix(":env:.").removeprefix("global.")] = value.strip("'").replace("\\n", "\n")
    assert {key: value.split() for key, value in values().items()} == {
        key: value.split() for key, value in said.items() if key != "config-file"
    }


def test_addresses_are_shown_without_secrets():
    url = "https://ann:w%2Frd@host:8080/simple/?token=1#x"
    assert plain(url) == "https://host:8080/simple/"
    assert without_auth(url) == ("https://host:8080/simple/?token=1#x", ("ann", "w/rd"))
    assert without_auth("https://host/simple") == ("https://host/simple", None)


def test_credentials_belong_to_scheme_host_and_port():
    assert same_place("https://Host/a", "https://ann@host/b")
    assert not same_place("https://host/a", "http://host/a")
    assert not same_place("https://host/a", "https://host:8443/a")
    assert not same_place("https://host/a", "https://host.evil/a")
