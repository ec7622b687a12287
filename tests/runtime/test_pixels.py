from __future__ import annotations

import doctest

import numpy as np
import pytest
from PIL import Image

from likewise.errors import ImageError
from likewise.runtime import pixels
from likewise.runtime.pixels import ImageFolder, decode, find, inside, save, traits

PICTURE = np.random.default_rng(0).integers(0, 255, (6, 4, 3), dtype=np.uint8)


def test_png_is_lossless(tmp_path):
    save(tmp_path / "a.png", PICTURE)
    assert np.array_equal(decode(tmp_path / "a.png"), PICTURE)
    assert [path.name for path in tmp_path.iterdir()] == ["a.png"]


def test_16_bit_gray_is_scaled(tmp_path):
    gray = np.linspace(0, 65_535, 256).astype(np.uint16).reshape(16, 16)
    Image.fromarray(gray).save(tmp_path / "a.png")
    seen = decode(tmp_path / "a.png")
    assert np.array_equal(seen[..., 0], (gray // 257).astype(np.uint8))
    dark = (gray // 257).astype(np.uint16)  # 16 bits declared, 8 used
    Image.fromarray(dark).save(tmp_path / "b.png")
    assert np.array_equal(decode(tmp_path / "b.png")[..., 0], dark)


@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (9, 1), (64, 48)])
def test_png_of_every_shape_is_lossless(tmp_path, shape):
    picture = np.random.default_rng(1).integers(0, 256, (*shape, 3), dtype=np.uint8)
    save(tmp_path / "a.png", picture)
    save(tmp_path / "b.png", picture[::-1, ::-1])  # not contiguous in memory
    with Image.open(tmp_path / "a.png") as opened:
        opened.verify()  # the checksums
    assert np.array_equal(decode(tmp_path / "a.png"), picture)
    assert np.array_equal(decode(tmp_path / "b.png"), picture[::-1, ::-1])


@pytest.mark.parametrize("picture", [PICTURE[..., 0], PICTURE[..., :2], PICTURE.astype(float)])
def test_arrays_that_are_no_images_are_refused(tmp_path, picture):
    with pytest.raises(ImageError, match="Cannot write an array"):
        save(tmp_path / "a.png", picture)
    assert not list(tmp_path.iterdir())


def test_exif_orientation_is_applied(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was held sideways
    Image.fromarray(PICTURE).save(tmp_path / "a.jpg", exif=exif)
    assert decode(tmp_path / "a.jpg").shape == (4, 6, 3)


@pytest.mark.parametrize("mode", ["L", "RGBA", "P", "CMYK", "1"])
def test_every_mode_becomes_rgb(tmp_path, mode):
    ending = "tif" if mode == "CMYK" else "png"
    Image.fromarray(PICTURE).convert(mode).save(tmp_path / f"a.{ending}")
    assert decode(tmp_path / f"a.{ending}").shape == (6, 4, 3)


@pytest.mark.parametrize(
    "content", [b"", b"not an image", b"\x89PNG\r\n\x1a\n" + b"\0" * 50, b"%!PS-Adobe-3.0 EPSF-3.0\n"]
)
def test_undecodable_files_are_refused(tmp_path, content):
    (tmp_path / "a.png").write_bytes(content)
    with pytest.raises(ImageError, match=r"Cannot decode 'a.png'"):
        decode(tmp_path / "a.png")


def test_truncated_files_are_refused(tmp_path):
    save(tmp_path / "a.png", np.zeros((64, 64, 3), np.uint8) + PICTURE[0, 0])
    whole = (tmp_path / "a.png").read_bytes()
    (tmp_path / "a.png").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ImageError, match=r"Cannot decode 'a\.png'"):
        decode(tmp_path / "a.png")


def test_decompression_bombs_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("likewise.runtime.pixels.MOST_PIXELS", 10)
    save(tmp_path / "a.png", PICTURE)
    with pytest.raises(ImageError, match=r"4 x 6 pixels, the limit is 10\. Scale"):
        decode(tmp_path / "a.png")


@pytest.mark.parametrize("name", ["../secret.png", "/etc/passwd", "a/../../secret.png", "link.png"])
def test_paths_stay_in_the_folder(tmp_path, name):
    folder = tmp_path / "images"
    folder.mkdir()
    save(tmp_path / "secret.png", PICTURE)
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    with pytest.raises(ImageError, match="outside the image folder"):
        inside(folder, name)


def test_extension_may_be_omitted(tmp_path):
    save(tmp_path / "a.png", PICTURE)
    assert find(tmp_path, "a") == find(tmp_path, "a.png") == (tmp_path / "a.png").resolve()
    assert find(tmp_path, "b") is None


def test_image_folder_reads_by_key(tmp_path):
    save(tmp_path / "a.png", PICTURE)
    save(tmp_path / "b.png", PICTURE[:4])
    album = ImageFolder(tmp_path, {"one": "a.png", "two": "b.png"})
    assert np.array_equal(album(["one"])[0], PICTURE)
    assert album(["two", "one"], size=8).shape == (2, 8, 8, 3)
    with pytest.raises(ImageError, match="different sizes cannot be stacked"):
        album(["one", "two"])
    with pytest.raises(ImageError, match="No file is known for image 'three'"):
        album(["three"])


def test_stacks_bound_memory_and_keep_the_order(tmp_path):
    pictures = {f"k{k}": PICTURE + np.uint8(k) if k != 2 else PICTURE[:3] for k in range(5)}
    for key, picture in pictures.items():
        save(tmp_path / f"{key}.png", picture)
    folder = ImageFolder(tmp_path, {key: f"{key}.png" for key in pictures})
    runs = list(folder.stacks(list(pictures), most=PICTURE.nbytes * 2))
    assert [(run.start, run.stop) for run, _ in runs] == [(0, 2), (2, 3), (3, 5)]
    for run, stack in runs:
        for key, picture in zip(list(pictures)[run], stack, strict=True):
            assert np.array_equal(picture, pictures[key])


def test_missing_file_is_named(tmp_path):
    with pytest.raises(ImageError, match=r"Image file not found: 'none\.png'"):
        decode(tmp_path / "none.png")


def test_bombs_beyond_pillows_own_limit_are_refused(tmp_path, monkeypatch):
    save(tmp_path / "a.png", PICTURE)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 2)
    with pytest.raises(ImageError, match=r"'a\.png' has too many pixels, the limit is 100,000,000"):
        decode(tmp_path / "a.png")


def test_heic_without_decoder_says_what_to_install(tmp_path, monkeypatch):
    (tmp_path / "a.heic").write_bytes(b"\0\0\0\x18ftypheic" + b"\0" * 40)
    monkeypatch.setattr("likewise.runtime.pixels._heif_registered", lambda: False)
    with pytest.raises(ImageError, match=r"'a\.heic': HEIC images need pillow-heif.*pip install 'likewise\[heic\]'"):
        decode(tmp_path / "a.heic")
    assert find(tmp_path, "a") == (tmp_path / "a.heic").resolve()


def test_heic_is_read_upright_when_the_decoder_is_installed(tmp_path):
    import pillow_heif

    shades = np.zeros((64, 48, 3), dtype=np.uint8)
    shades[:32] = (200, 40, 40)  # red above black
    pillow_heif.from_pillow(Image.fromarray(shades)).save(tmp_path / "a.heic", quality=90)
    seen = decode(tmp_path / "a.heic")
    assert seen.shape == (64, 48, 3)
    assert np.abs(seen[16, 24].astype(int) - (200, 40, 40)).max() < 25
    assert seen[48, 24].max() < 30


def test_a_damaged_heic_is_an_error_with_its_name(tmp_path):
    (tmp_path / "b.heic").write_bytes(b"\0\0\0\x18ftypheic" + b"\0" * 40)
    with pytest.raises(ImageError, match=r"Cannot decode 'b\.heic'"):
        decode(tmp_path / "b.heic")


def test_traits_name_what_is_unusual(tmp_path):
    Image.fromarray(PICTURE).convert("L").save(tmp_path / "gray.png")
    Image.fromarray(PICTURE).convert("RGBA").save(tmp_path / "alpha.png")
    save(tmp_path / "plain.png", PICTURE)
    assert traits(tmp_path / "gray.png") == ["grayscale file"]
    assert traits(tmp_path / "alpha.png") == ["transparency: composited on white"]
    assert traits(tmp_path / "plain.png") == []


def test_examples_in_docstrings_run():
    assert doctest.testmod(pixels).failed == 0


def test_names_that_no_file_can_have(tmp_path):
    """A table is untrusted: a NUL is an error with the name, a name that is too long is a missing file."""
    with pytest.raises(ImageError, match=r"Invalid image name 'a\\x00b.png'"):
        find(tmp_path, "a\0b.png")
    assert find(tmp_path, "x" * 5000) is None
