"""Rekognition against a server that somebody else wrote: its answer is canned, its wire format is not ours."""

from __future__ import annotations

import pytest

from likewise.runtime.registry import create
from likewise.services.budget import Budget


@pytest.mark.filterwarnings("default")  # its warnings are its own affair
def test_rekognition_understands_an_independent_stand_in(pictures, tmp_path):
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        made = create("classifier", "rekognition", {"endpoint": f"http://{host}:{port}"})
        made.open(tmp_path, Budget(most=0.01))
        scores = made.score(pictures[:2])
        assert scores["Mobile Phone"] == pytest.approx(0.999, abs=0.01)
        assert made.remarks()[0].endswith("by model 3.0 (2)")
    finally:
        server.stop()
