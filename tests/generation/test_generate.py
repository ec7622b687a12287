"""Text-to-image audits: prompts, sources, drawing, and estimates with known shares."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from likewise.analysis.generated.pairs import paired_prompts
from likewise.analysis.generated.shares import generated_shares, people_counts
from likewise.errors import CostError, PluginError, SpecError, TableError
from likewise.generation.audit import GenerateSpec, audit_generated
from likewise.generation.draw import draw_images
from likewise.generation.prompts import Prompt, PromptFile, read_prompts
from likewise.generation.sources import EndpointSource, FunctionSource
from likewise.runtime.pixels import png
from likewise.services.budget import Budget
from likewise.tables import Images
from shell import run

PROMPTS = PromptFile(prompt=(Prompt(text="a doctor", term="doctor"), Prompt(text="a nurse", term="nurse")), seeds=3)


def paint(prompt: str, seed: int) -> np.ndarray:
    """A flat picture whose brightness depends on prompt and seed."""
    return np.full((8, 8, 3), (len(prompt) * 10 + seed) % 255, np.uint8)


def refuse_odd(prompt: str, seed: int) -> np.ndarray | None:
    return None if seed % 2 else paint(prompt, seed)


class _Endpoint(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args: object) -> None:
        pass

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server = self.server
        mood = server.moods.pop(0) if server.moods else ""  # type: ignore[attr-defined]
        server.requests.append((self.path, body, self.headers.get("Authorization")))  # type: ignore[attr-defined]
        image = base64.b64encode(png(paint(body["prompt"], body.get("seed", 0)))).decode()
        status, plain = {
            "": (200, {"data": [{"b64_json": image}]}),
            "busy": (503, {"error": {"message": "busy"}}),
            "filter": (400, {"error": {"code": "content_policy_violation", "message": "no"}}),
            "empty": (200, {"data": []}),
            "noise": (200, {"data": [{"b64_json": base64.b64encode(b"not an image").decode()}]}),
        }[mood]
        content = json.dumps(plain).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


@contextmanager
def endpoint() -> Iterator[ThreadingHTTPServer]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Endpoint)
    server.moods, server.requests = [], []  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_function_draws_every_prompt_and_seed(tmp_path):
    drawn = draw_images(PROMPTS, FunctionSource(function=paint), tmp_path)
    frame = drawn.images.frame
    assert len(frame) == 6
    assert frame.groupby("term").size().to_dict() == {"doctor": 3, "nurse": 3}
    assert frame.groupby("identity")["prompt"].nunique().tolist() == [1, 1]
    assert all((tmp_path / "images" / key).is_file() for key in drawn.images.keys)


def test_a_stopped_run_resumes_and_draws_nothing_twice(tmp_path):
    calls = []

    def failing(prompt: str, seed: int) -> np.ndarray:
        calls.append((prompt, seed))
        if len(calls) == 3:
            raise RuntimeError("stopped")
        return paint(prompt, seed)

    with pytest.raises(RuntimeError, match="stopped"):
        draw_images(PROMPTS, FunctionSource(function=failing), tmp_path, concurrency=1)
    draw_images(PROMPTS, FunctionSource(function=failing), tmp_path, concurrency=1)
    assert len(calls) == 7  # six images, one of them twice


def test_refusals_are_counted_by_term_and_not_asked_again(tmp_path):
    calls = []

    def source(prompt: str, seed: int) -> np.ndarray | None:
        calls.append(seed)
        return refuse_odd(prompt, seed)

    drawn = draw_images(PROMPTS, FunctionSource(function=source), tmp_path)
    again = draw_images(PROMPTS, FunctionSource(function=source), tmp_path)
    assert len(calls) == 6
    assert drawn.refused.groupby("term").size().to_dict() == {"doctor": 1, "nurse": 1}
    pd.testing.assert_frame_equal(drawn.refused, again.refused)


@pytest.mark.parametrize("mood", ["busy", "empty", "noise"])
def test_accidents_of_an_endpoint_are_tried_again(tmp_path, mood):
    with endpoint() as server:
        server.moods = [mood]
        source = EndpointSource(endpoint=f"http://127.0.0.1:{server.server_port}/v1", model="m")
        drawn = draw_images(PROMPTS, source, tmp_path, concurrency=1, wait=0.01)
        assert len(server.requests) == 7
    assert len(drawn.images) == 6
    path, body, _ = server.requests[0]
    assert path == "/v1/images/generations"
    assert body == {
        "prompt": "a doctor",
        "n": 1,
        "size": "1024x1024",
        "response_format": "b64_json",
        "model": "m",
        "seed": 0,
    }


def test_a_content_filter_is_a_refusal_and_a_key_is_sent_but_never_written(tmp_path, monkeypatch):
    monkeypatch.setenv("DRAW_KEY", "secret-key-1234")
    with endpoint() as server:
        server.moods = ["filter"]
        url = f"http://127.0.0.1:{server.server_port}/v1"
        drawn = draw_images(PROMPTS, EndpointSource(endpoint=url, key_env="DRAW_KEY"), tmp_path, concurrency=1)
        assert {auth for _, _, auth in server.requests} == {"Bearer secret-key-1234"}
    assert drawn.refused["reason"].tolist() == ["content filter"]
    texts = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert all(b"secret-key-1234" not in text for text in texts)


def test_nothing_is_drawn_before_the_cost_is_approved(tmp_path):
    with pytest.raises(CostError):
        draw_images(PROMPTS, FunctionSource(function=paint, price=0.05), tmp_path)
    assert not list(tmp_path.rglob("*.png"))
    assert (
        len(draw_images(PROMPTS, FunctionSource(function=paint, price=0.05), tmp_path, budget=Budget(most=0.3)).images)
        == 6
    )


def test_the_whole_audit_gives_known_shares_against_a_benchmark(tmp_path):
    table = pd.DataFrame(
        [
            {
                "image": job.file,
                "perceived_gender": "female" if (job.prompt.term == "nurse") or job.seed == 0 else "male",
            }
            for job in PROMPTS.jobs
        ]
    )
    table.to_csv(tmp_path / "people.csv", index=False)
    pd.DataFrame({"term": ["doctor", "nurse"], "share": [0.4, 0.9]}).to_csv(tmp_path / "known.csv", index=False)
    spec = GenerateSpec(
        attribute="perceived_gender", attributes=tmp_path / "people.csv", benchmark=tmp_path / "known.csv"
    )
    found = audit_generated(PROMPTS, FunctionSource(function=paint), tmp_path / "out", spec)
    share = found.estimates.where(stat="share").frame.set_index("group")["estimate"]
    gap = found.estimates.where(stat="reference_gap").frame.set_index("group")["estimate"]
    assert share.to_dict() == pytest.approx({"doctor": 1 / 3, "nurse": 1.0})
    assert gap.to_dict() == pytest.approx({"doctor": 1 / 3 - 0.4, "nurse": 0.1})
    amplification = found.estimates.where(stat="amplification").frame["estimate"].item()
    assert amplification == pytest.approx(((0.4 - 1 / 3) + 0.1) / 2)  # both terms lie beyond their benchmark
    assert (tmp_path / "out" / "estimates.csv").is_file()


def test_the_command_line_runs_from_a_prompt_file(tmp_path, capsys):
    (tmp_path / "p.toml").write_text('seeds = 2\n[[prompt]]\ntext = "a doctor"\n[[prompt]]\ntext = "a nurse"\n')
    frame = pd.DataFrame(
        {
            "image": [
                "000-a-doctor/00000.png",
                "000-a-doctor/00001.png",
                "001-a-nurse/00000.png",
                "001-a-nurse/00001.png",
            ],
            "g": ["f", "m", "f", "f"],
        }
    )
    frame.to_csv(tmp_path / "g.csv", index=False)
    options = [
        "--function",
        f"{__name__}:paint",
        "--attributes",
        tmp_path / "g.csv",
        "--attribute",
        "g",
        "--share-of",
        "f",
    ]
    code, out, err = run(
        capsys, "generate", tmp_path / "p.toml", "--out", tmp_path / "out", "--quiet", "--json", *options
    )
    assert code == 0, err
    plain = json.loads(out)
    assert {row["group"]: row["estimate"] for row in plain["estimates"]} == {"a doctor": 0.5, "a nurse": 1.0}


def test_paired_prompts_are_compared_seed_by_seed():
    rows = [
        {"image": f"{pair}{variant}{seed}", "identity": pair + variant, "pair": pair, "variant": variant, "seed": seed,
         "quality": seed + (0.5 if variant == "female" else 0.0)}
        for pair in ("doctor", "nurse") for variant in ("female", "neutral") for seed in range(4)
    ]  # fmt: skip
    found = paired_prompts(Images(pd.DataFrame(rows)), value="quality").frame.set_index("group")["estimate"]
    assert found.to_dict() == pytest.approx({
        "doctor: neutral - female": -0.5, "nurse: neutral - female": -0.5, "all pairs: neutral - female": -0.5,
    })  # fmt: skip


def test_people_are_counted_by_term():
    frame = pd.DataFrame({"image": list("abcd"), "identity": list("abcd"), "term": "x", "people": [0, 1, 1, 3]})
    found = people_counts(Images(frame)).frame.set_index("group")["estimate"]
    assert found.to_dict() == {"x: none": 0.25, "x: one": 0.5, "x: several": 0.25}


def world(seed: int, prompts: int = 40, seeds: int = 12) -> Images:
    """Images of one term: every prompt has a share of its own around 0.5."""
    rng = np.random.default_rng(seed)
    own = np.clip(rng.normal(0.5, 0.2, prompts), 0.02, 0.98)
    rows = [
        {"image": f"{p}-{s}", "identity": f"{p}", "term": "t", "prompt": f"{p}", "g": "mf"[int(rng.random() < own[p])]}
        for p in range(prompts) for s in range(seeds)
    ]  # fmt: skip
    return Images(pd.DataFrame(rows))


def test_shares_clustered_by_prompt_cover_and_unclustered_ones_do_not():
    """The share over prompts is 0.5; an interval that takes images for independent is too narrow."""
    clustered = naive = 0
    for seed in range(200):
        images = world(seed)
        about = {"attribute": "g", "share_of": "f"}
        row = generated_shares(images, **about).frame.iloc[0]
        clustered += row["low"] <= 0.5 <= row["high"]
        single = images.with_attribute("prompt", dict.fromkeys(images.keys, "one"))
        alone = generated_shares(single, **about).frame.iloc[0]
        naive += alone["low"] <= 0.5 <= alone["high"]
    assert 0.90 <= clustered / 200 <= 0.99
    assert naive / 200 <= 0.90


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("seeds = 2", "has no prompts"),
        ('[[prompt]]\ntxt = "a"', "Did you mean 'text'"),
        ('[[prompt]]\ntext = " "', "no text"),
        ('[[prompt]]\ntext = "a"\n[[prompt]]\ntext = "a"', "occur twice"),
        ('[[prompt]]\ntext = "a"\npair = "x"', "both pair and variant"),
        ('seeds = 0\n[[prompt]]\ntext = "a"', "between 1 and"),
    ],
)
def test_bad_prompt_files_are_explained(tmp_path, text, problem):
    (tmp_path / "p.toml").write_text(text)
    with pytest.raises(SpecError, match=problem):
        read_prompts(tmp_path / "p.toml")


def test_prompts_come_from_a_table_too(tmp_path):
    (tmp_path / "p.csv").write_text("prompt,term\na doctor at work,doctor\na nurse,nurse\n")
    found = read_prompts(tmp_path / "p.csv", seeds=4)
    assert [prompt.about for prompt in found.prompt] == ["doctor", "nurse"]
    assert len(found.jobs) == 8
    (tmp_path / "q.csv").write_text("text\nx\n")
    with pytest.raises(SpecError, match="Column 'prompt' not found"):
        read_prompts(tmp_path / "q.csv")


def test_a_function_that_returns_no_picture_is_explained(tmp_path):
    with pytest.raises(PluginError, match="returned float64 of shape"):
        draw_images(PROMPTS, FunctionSource(function=lambda prompt, seed: np.zeros(3)), tmp_path)
    with pytest.raises(PluginError, match="Cannot import"):
        FunctionSource(function="no_such_module:f")
    with pytest.raises(TableError, match="every request was refused"):
        audit_generated(PROMPTS, FunctionSource(function=lambda prompt, seed: None), tmp_path / "none")


def test_file_names_are_safe():
    prompt = Prompt(text="../../etc/passwd; rm -rf / " + "x" * 500)
    job = PromptFile(prompt=(prompt,), seeds=1).jobs[0]
    assert ".." not in job.file
    assert len(Path(job.file).parts) == 2
