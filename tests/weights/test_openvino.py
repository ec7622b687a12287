"""An export is read with numpy and an XML parser, and refused when it is not what it says."""

from __future__ import annotations

import numpy as np
import pytest

from likewise.errors import WeightsError
from likewise.weights.formats.openvino import read_export

GRAPH = """<net name="g" version="10"><layers>
<layer id="0" name="w" type="Const"><data element_type="f32" shape="2, 3" offset="4" size="24"/></layer>
<layer id="1" name="h" type="Const"><data element_type="f16" shape="" offset="0" size="2"/></layer>
<layer id="2" name="n" type="Const"><data element_type="i64" shape="1" offset="0" size="8"/></layer>
<layer id="3" name="sum" type="Add"/></layers>
<edges><edge from-layer="0" from-port="0" to-layer="3" to-port="0"/></edges></net>"""


def export(tmp_path, graph=GRAPH, blob=None):
    blob = np.float16([1.5, 0]).tobytes() + np.arange(6, dtype=np.float32).tobytes() if blob is None else blob
    (tmp_path / "g.xml").write_text(graph)
    (tmp_path / "g.bin").write_bytes(blob)
    return read_export(tmp_path / "g.xml", tmp_path / "g.bin")


def test_constants_are_read_by_name_and_by_use(tmp_path):
    read = export(tmp_path)
    assert sorted(read.constants) == ["h", "w"]
    np.testing.assert_array_equal(read.constants["w"], np.arange(6).reshape(2, 3))
    assert read.constants["h"].dtype == np.float32
    assert read.constants["h"] == 1.5
    assert read.feeding("sum") == "w"
    with pytest.raises(WeightsError, match="'other' has 0 constant inputs"):
        read.feeding("other")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("<net", "<!DOCTYPE x [<!ENTITY a 'b'>]><net"), "document type"),
        (('version="10"', 'version="11"'), "version 10"),
        (("</net>", ""), "is not valid XML"),
        (('offset="4"', 'offset="8"'), "outside the data file"),
        (('offset="4"', 'offset="-4"'), "outside the data file"),
        (('shape="2, 3"', 'shape="2, 4"'), "has the shape"),
        (('shape="2, 3"', 'shape="-2, -3"'), "has the shape"),
        (('shape="2, 3"', 'shape="9999999, 9999999, 9999999"'), "has the shape"),
        (('size="24"', 'size="many"'), "lacks a valid shape, offset or size"),
    ],
)
def test_a_damaged_or_hostile_export_is_refused(tmp_path, change, said):
    with pytest.raises(WeightsError, match=said):
        export(tmp_path, GRAPH.replace(*change))


def test_a_cut_off_data_file_is_refused(tmp_path):
    with pytest.raises(WeightsError, match="truncated"):
        export(tmp_path, blob=b"12345678")
