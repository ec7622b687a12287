"""Finds an archive by its exact file name in the user's indexes (PEP 503 and 691) and ``find-links``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urljoin, urlsplit
from urllib.request import url2pathname

from pypi_simple import ACCEPT_ANY, ProjectPage, UnsupportedContentTypeError, UnsupportedRepoVersionError

from likewise.errors import OfflineError, WeightsError, some
from likewise.weights.fetch.net import Auth, Net, plain, same_place, without_auth
from likewise.weights.fetch.pip_settings import PipSettings

_MOST_PAGE = 64 << 20  # the longest pages of the largest projects are some megabytes


@dataclass(frozen=True)
class Link:
    """Where an archive can be had."""

    url: str
    """An address, or ``file:``."""
    sha256: str = ""
    """What the index says the archive hashes to; empty when it does not say."""
    auth: Auth = None

    @property
    def local(self) -> Path | None:
        """The file, when it lies on this machine."""
        return _local(self.url)


def find(package: str, archive: str, settings: PipSettings, net: Net) -> Link:
    """Return the first place that has the archive; an index that cannot be read only counts when none has it."""
    away: list[WeightsError] = []
    seen: list[str] = []
    for page in _pages(package, settings):
        try:
            links = _read(page, package, net)
        except WeightsError as error:
            away.append(error)
            continue
        if archive in links:
            return links[archive]
        seen += links
    if away:
        raise away[0]
    near = sorted({name for name in seen if _stem(package) in _stem(name)}, reverse=True)
    fix = "Set pip up with an index that has it, or carry it over: likewise weights fetch NAME --from FILE."
    places = some(map(plain, [*settings.find_links, *settings.indexes])) or "no index at all"
    offered = f"{places}, which has {some(near, 3)}" if near else f"{places}, which has no such package"
    raise WeightsError(f"{archive} not found: looked in {offered}", fix=fix)


def offered(package: str, settings: PipSettings, net: Net) -> dict[str, Link]:
    """Return every archive of a package that can be had, by file name; the first place that has it counts."""
    links: dict[str, Link] = {}
    for page in _pages(package, settings):
        links = {**_read(page, package, net), **links}
    return links


def _stem(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _pages(package: str, settings: PipSettings) -> Iterator[str]:
    """Name the pages to look at: folders and pages of links, then the package's own page in each index."""
    yield from settings.find_links
    for index in settings.indexes:
        folder = Path(index).expanduser()
        base = folder.absolute().as_uri() if "://" not in index and folder.is_dir() else index
        yield f"{base.rstrip('/')}/{_stem(package)}/"


def _read(page: str, package: str, net: Net) -> dict[str, Link]:
    local = _local(page)
    if local is None:
        return _remote_links(page, package, net)
    if local.is_dir() and (local / "index.html").is_file():
        local /= "index.html"
    if local.is_dir():
        return {file.name: Link(file.absolute().as_uri()) for file in local.iterdir() if file.is_file()}
    if local.suffix not in {".html", ".htm"}:
        return {local.name: Link(local.absolute().as_uri())} if local.is_file() else {}
    if not local.is_file():
        return {}
    made = ProjectPage.from_html(package, local.read_bytes(), local.absolute().as_uri())
    return _links(made, local.absolute().as_uri(), None)


def _remote_links(page: str, package: str, net: Net) -> dict[str, Link]:
    url, auth = without_auth(page)
    with net.get(url, auth=auth, headers={"Accept": ACCEPT_ANY}) as response:
        if response.status_code in {404, 410}:
            return {}
        if response.status_code in {401, 403, 407}:
            fix = "Check the credentials in pip's index-url or in netrc."
            raise WeightsError(f"{plain(url)} refused access (status {response.status_code})", fix=fix)
        if response.status_code != 200:
            raise OfflineError(
                f"{plain(url)} did not answer (status {response.status_code})",
                fix="Try again later, or name another index in the settings of pip.",
            )
        body = response.raw.read(_MOST_PAGE + 1, decode_content=True)
        if len(body) > _MOST_PAGE:
            raise WeightsError(
                f"The page {plain(url)} is larger than {_MOST_PAGE:,} bytes",
                fix="Check that the address is a package index (settings of pip).",
            )
        response._content = body
        try:
            made = ProjectPage.from_response(response, package)
        except (UnsupportedContentTypeError, UnsupportedRepoVersionError, ValueError, KeyError, TypeError) as error:
            raise WeightsError(
                f"{plain(url)} is not a package index: {type(error).__name__}",
                fix="Check the address in the settings of pip.",
            ) from error
        return _links(made, without_auth(response.url)[0], auth)


def _links(page: ProjectPage, base: str, auth: Auth) -> dict[str, Link]:
    """Resolve the links of a page; credentials go along only to the server that they are for."""
    links: dict[str, Link] = {}
    for package in page.packages:
        url, own = without_auth(urljoin(base, package.url))
        given = own or (auth if same_place(url, base) else None)
        links.setdefault(package.filename, Link(url, (package.digests or {}).get("sha256", ""), given))
    return links


def _local(place: str) -> Path | None:
    parts = urlsplit(place)
    if parts.scheme == "file":
        return Path(url2pathname(parts.path))
    return None if "://" in place else Path(place).expanduser()
