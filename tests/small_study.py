"""A small study to try things on, and a rater who fills in its forms by hand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from starlette.testclient import TestClient

from likewise.study.config.load import read_study
from likewise.study.server.app import make_app
from likewise.study.server.context import Site
from likewise.study.server.guard import TokenBucket
from likewise.study.store.schema import sqlite_url

PLAN = """\
format = 1
title = { en = "A small study", de = "Eine kleine Studie" }
kind = "own"
seed = 3
languages = ["en", "de"]
raters = 8
raters_per_unit = 2
tasks_per_rater = 4
hold_minutes = 10

[[question]]
name = "seen"
text = { en = "Seen?", de = "Gesehen?" }
options = [{ value = 1, label = "Yes" }, { value = 0, label = "No" }]

[units]
table = "units.csv"
images = "images"

[consent]
text = "You may take part."

[instructions]
text = "Look and answer."
"""
TRAINING = """
[training]
qualify = 0.6
[[training.item]]
image = "t0.png"
answer = 1
explanation = "It is <there>."
[[training.item]]
image = "t1.png"
answer = 0
explanation = "It is not."
"""
GOLD = """
[gold]
per_rater = 1
[[gold.item]]
image = "g0.png"
answer = 1
[[gold.item]]
image = "g1.png"
answer = 0
"""
ATTENTION = """
[attention]
per_rater = 1
[[attention.item]]
image = "a0.png"
question = "Which color?"
options = [{ value = 1, label = "Red" }, { value = 2, label = "Blue" }]
answer = 2
"""
COMPREHENSION = """
[comprehension]
attempts = 2
[[comprehension.item]]
question = "What will you look at?"
options = [{ value = 1, label = "Pictures" }, { value = 2, label = "Videos" }]
answer = 1
"""
FREE = TokenBucket(1e9, 1e9)


def write_study(folder: Path, *, units: int = 8, plan: str = PLAN, more: str = "") -> Path:
    (folder / "images").mkdir(parents=True, exist_ok=True)
    names = [f"u{k}.png" for k in range(units)]
    for k, name in enumerate([*names, "t0.png", "t1.png", "g0.png", "g1.png", "a0.png"]):
        pixels = np.full((8, 8, 3), (k * 19) % 255, dtype=np.uint8)
        Image.fromarray(pixels).save(folder / "images" / name)
    rows = "".join(f"{name},{'left' if k % 2 else 'right'}\n" for k, name in enumerate(names))
    (folder / "units.csv").write_text(f"image,side\n{rows}")
    (folder / "study.toml").write_text(plan + more)
    return folder


def open_small(folder: Path, url: str = "", **options: Any) -> Site:
    return Site.open(read_study(folder), folder, url or sqlite_url(folder / "study.sqlite"), **options)


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def hidden(page: str) -> dict[str, str]:
    return dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', page))


def form(page: str) -> dict[str, str] | None:
    found = re.search(r'<form method="post" action="/task".*?</form>', page, re.DOTALL)
    return hidden(found[0]) if found else None


class Visitor:
    """One browser without script."""

    def __init__(self, site: Site, *, worker: str = "", language: str = "en", app: Any = None) -> None:
        self.site = site
        self.app = app or make_app(site, pace=FREE, joins=FREE)
        self.client = TestClient(self.app, headers={"accept-language": language}, raise_server_exceptions=False)
        self.link = site.join_path() + (f"?worker_id={worker}" if worker else "")

    def get(self, path: str) -> Any:
        return self.client.get(path)

    def post(self, path: str, **data: str) -> Any:
        kind = {"content-type": "application/x-www-form-urlencoded"}
        return self.client.post(path, data=data, headers=kind)

    def join(self) -> str:
        """Consent, read the instructions, and return the first task's page."""
        page = self.get(self.link).text
        page = self.post(self.link, ticket=hidden(page)["ticket"], choice="agree").text
        if 'action="/instructions"' in page:
            page = self.post("/instructions", csrf=hidden(page)["csrf"]).text
        return page

    def come_back(self, path: str) -> Any:
        """Open a return link and press its button."""
        page = self.get(path)
        return self.post(path) if 'action="/back/' in page.text else page

    def answer(self, page: str, value: str = "1", **more: str) -> Any:
        fields = form(page)
        assert fields is not None, page
        return self.post("/task", **{**fields, "answer-1": value, **more})

    def item(self, page: str) -> str:
        fields = form(page)
        assert fields is not None
        return self.site.item_of[fields["item"]]

    def to_the_end(self, page: str, right: bool = True) -> tuple[list[str], str]:
        """Answer everything; return the items in order and the last page."""
        seen = []
        for _ in range(200):
            if form(page) is None:
                if 'href="/task"' not in page:
                    return seen, page
                page = self.get("/task").text
                continue
            item = self.site.study.items[self.item(page)]
            seen.append(item.key)
            values = dict(item.answer) or {"seen": 1.0}
            value = next(iter(values.values()))
            if not right:
                asked = self.site.study.questions_of(item)[0]
                value = next(other for other in asked.values if other != value)
            page = self.answer(page, f"{value:g}").text
        raise AssertionError("no end")
