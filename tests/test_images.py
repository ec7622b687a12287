from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from likewise.errors import ImageError
from likewise.images import Album, decode, find, inside, save

PICTURE = np.random.default_rng(0).integers(0, 255, (6, 4, 3), dtype=np.uint8)


def test_a_picture_comes_back_bit_for_bit(tmp_path):
    save(tmp_path / "a.png", PICTURE)
    assert np.array_equal(decode(tmp_path / "a.png"), PICTURE)
    assert [path.name for path in tmp_path.iterdir()] == ["a.png"]


def test_grey_of_16_bits_keeps_its_tones(tmp_path):
    grey = np.linspace(0, 65_535, 256).astype(np.uint16).reshape(16, 16)
    Image.fromarray(grey).save(tmp_path / "a.png")
    seen = decode(tmp_path / "a.png")
    assert np.array_equal(seen[..., 0], (grey // 257).astype(np.uint8))
    dark = (grey // 257).astype(np.uint16)  # 16 bits on paper, 8 in use
    Image.fromarray(dark).save(tmp_path / "b.png")
    assert np.array_equal(decode(tmp_path / "b.png")[..., 0], dark)


@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (9, 1), (64, 48)])
def test_every_shape_of_picture_comes_back(tmp_path, shape):
    picture = np.random.default_rng(1).integers(0, 256, (*shape, 3), dtype=np.uint8)
    save(tmp_path / "a.png", picture)
    save(tmp_path / "b.png", picture[::-1, ::-1])  # not in one piece in memory
    with Image.open(tmp_path / "a.png") as opened:
        opened.verify()  # the checksums
    assert np.array_equal(decode(tmp_path / "a.png"), picture)
    assert np.array_equal(decode(tmp_path / "b.png"), picture[::-1, ::-1])


@pytest.mark.parametrize("picture", [PICTURE[..., 0], PICTURE[..., :2], PICTURE.astype(float)])
def test_what_is_no_picture_is_not_written(tmp_path, picture):
    with pytest.raises(ImageError, match="bytes"):
        save(tmp_path / "a.png", picture)
    assert not list(tmp_path.iterdir())


def test_a_photograph_is_turned_upright(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was held sideways
    Image.fromarray(PICTURE).save(tmp_path / "a.jpg", exif=exif)
    assert decode(tmp_path / "a.jpg").shape == (4, 6, 3)


@pytest.mark.parametrize("mode", ["L", "RGBA", "P", "CMYK", "1"])
def test_every_kind_of_image_becomes_rgb(tmp_path, mode):
    ending = "tif" if mode == "CMYK" else "png"
    Image.fromarray(PICTURE).convert(mode).save(tmp_path / f"a.{ending}")
    assert decode(tmp_path / f"a.{ending}").shape == (6, 4, 3)


@pytest.mark.parametrize(
    "content", [b"", b"not an image", b"\x89PNG\r\n\x1a\n" + b"\0" * 50, b"%!PS-Adobe-3.0 EPSF-3.0\n"]
)
def test_what_does_not_decode_is_refused(tmp_path, content):
    (tmp_path / "a.png").write_bytes(content)
    with pytest.raises(ImageError, match=r"can be decoded; got 'a.png'"):
        decode(tmp_path / "a.png")


def test_half_an_image_is_refused(tmp_path):
    save(tmp_path / "a.png", np.zeros((64, 64, 3), np.uint8) + PICTURE[0, 0])
    whole = (tmp_path / "a.png").read_bytes()
    (tmp_path / "a.png").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ImageError, match="can be decoded"):
        decode(tmp_path / "a.png")


def test_a_decompression_bomb_is_not_set_off(tmp_path, monkeypatch):
    monkeypatch.setattr("likewise.images.MOST_PIXELS", 10)
    save(tmp_path / "a.png", PICTURE)
    with pytest.raises(ImageError, match="at most 10 pixels"):
        decode(tmp_path / "a.png")


@pytest.mark.parametrize("name", ["../secret.png", "/etc/passwd", "a/../../secret.png", "link.png"])
def test_no_name_leads_out_of_the_folder(tmp_path, name):
    folder = tmp_path / "images"
    folder.mkdir()
    save(tmp_path / "secret.png", PICTURE)
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    with pytest.raises(ImageError, match="inside its folder"):
        inside(folder, name)


def test_a_key_may_leave_out_the_ending(tmp_path):
    save(tmp_path / "a.png", PICTURE)
    assert find(tmp_path, "a") == find(tmp_path, "a.png") == (tmp_path / "a.png").resolve()
    assert find(tmp_path, "b") is None


def test_an_album_shows_pictures_by_key(tmp_path):
    save(tmp_path / "a.png", PICTURE)
    save(tmp_path / "b.png", PICTURE[:4])
    album = Album(tmp_path, {"one": "a.png", "two": "b.png"})
    assert np.array_equal(album(["one"])[0], PICTURE)
    assert album(["two", "one"], size=8).shape == (2, 8, 8, 3)
    with pytest.raises(ImageError, match="of one size"):
        album(["one", "two"])
