"""sheet: pictures side by side with a word above each column and beside each row, for people to look at."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from likewise.runtime.registry import Pictures

GAP, PAPER, INK = 6, (255, 255, 255), (40, 40, 40)


def sheet(rows: Sequence[Pictures], columns: Sequence[str], names: Sequence[str] = ()) -> Pictures:
    """Return one picture: ``rows`` of pictures ``[k, H, W, 3]``, a caption a column, a name a row."""
    side = rows[0].shape[1]
    letter = max(11, side // 14)
    head = _lines(columns) * (letter + 4) + GAP
    margin = max((_width(name, letter) for name in names), default=-GAP) + 2 * GAP
    wide, high = margin + len(columns) * (side + GAP), head + len(rows) * (side + GAP)
    page = Image.new("RGB", (wide, high), PAPER)
    pen, font = ImageDraw.Draw(page), ImageFont.load_default(letter)
    for number, word in enumerate(columns):
        pen.multiline_text(
            (margin + number * (side + GAP) + side / 2, head / 2), word, INK, font, anchor="mm", align="center"
        )
    for number, pictures in enumerate(rows):
        top = head + number * (side + GAP)
        if names:
            pen.text((GAP, top + side / 2), names[number], INK, font, anchor="lm")
        for place, picture in enumerate(pictures):
            page.paste(Image.fromarray(picture), (margin + place * (side + GAP), top))
    return np.asarray(page)


def _lines(words: Sequence[str]) -> int:
    return max(word.count("\n") + 1 for word in words)


def _width(word: str, letter: int) -> int:
    return int(ImageFont.load_default(letter).getlength(word))
