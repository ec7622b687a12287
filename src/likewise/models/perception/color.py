"""Colors of a picture as numbers: skin tone as angles in CIELAB, background, brightness, sharpness.

Skin tone is the median of L*, a* and b* over the pixels of facial skin, so that eyes, brows, lips and highlights, of
which there are few, do not move it. From the medians: the individual typology angle, ITA = atan((L* - 50) / b*) in
degrees (Chardon, Cretois and Hourseau 1991; light skin has a high angle), and the hue angle atan(b* / a*) from red (0)
to yellow (90) (Thong, Joniak and Xiang, "Beyond skin tone", ICCV 2023). Both say how a face was photographed, with its
light and its camera; neither says what a person's skin is like.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from likewise.runtime.registry import Pictures

Floats = npt.NDArray[np.float64]
FEWEST = 200  # pixels of skin below which a tone is not read off (of 256 x 256)
_WHITE = np.array([0.95047, 1.0, 1.08883])  # D65, which sRGB is defined for
_TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
_LUMA = np.array([0.299, 0.587, 0.114])


def lab(pixels: npt.NDArray[np.uint8]) -> Floats:
    """Return L*, a* and b* of sRGB bytes ``[..., 3]``."""
    coded = pixels.astype(np.float64) / 255
    linear = np.where(coded <= 0.04045, coded / 12.92, ((coded + 0.055) / 1.055) ** 2.4)
    xyz = linear @ _TO_XYZ.T / _WHITE
    f = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz / (3 * (6 / 29) ** 2) + 4 / 29)
    x, y, z = f[..., 0], f[..., 1], f[..., 2]
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=-1)


def skin_tone(picture: npt.NDArray[np.uint8], skin: npt.NDArray[np.bool_]) -> tuple[float, float]:
    """Return ITA and hue in degrees of the pixels of skin; NaN when there are too few of them."""
    if int(skin.sum()) < FEWEST:
        return float("nan"), float("nan")
    light, red, yellow = np.median(lab(picture[skin]), axis=0)
    return float(np.degrees(np.arctan2(light - 50, yellow))), float(np.degrees(np.arctan2(yellow, red)))


def lightness(picture: npt.NDArray[np.uint8], where: npt.NDArray[np.bool_]) -> float:
    """Return the mean L* of some pixels (0 black, 100 white); NaN when there are too few of them."""
    return float(lab(picture[where])[:, 0].mean()) if int(where.sum()) >= FEWEST else float("nan")


def brightness(pictures: Pictures) -> Floats:
    """Return the mean L* of each whole picture."""
    return np.array([lab(picture)[..., 0].mean() for picture in pictures], dtype=np.float64)


def sharpness(crops: Pictures) -> Floats:
    """Return the variance of the Laplacian of each crop's luma: low where a face is blurred or was enlarged.

    It depends on how many pixels a face has, so it is taken from crops of one size. Pech-Pacheco et al., ICPR 2000.
    """
    luma = crops.astype(np.float64) @ _LUMA
    middle = luma[:, 1:-1, 1:-1]
    around = luma[:, :-2, 1:-1] + luma[:, 2:, 1:-1] + luma[:, 1:-1, :-2] + luma[:, 1:-1, 2:]
    return np.asarray((around - 4 * middle).var(axis=(1, 2)), dtype=np.float64)
