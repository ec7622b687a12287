"""Read Protocol Buffers' wire format: numbered fields, one after the other. The file brings no schema and no code."""

from __future__ import annotations

from collections import defaultdict

from likewise.errors import WeightFileError


def fields(block: memoryview) -> dict[int, list[int | memoryview]]:
    """Return the values of each field of a message: whole numbers, or the bytes of anything longer."""
    found: dict[int, list[int | memoryview]] = defaultdict(list)
    place = 0
    while place < len(block):
        key, place = _varint(block, place)
        kind = key & 7
        if kind == 0:
            value, place = _varint(block, place)
            found[key >> 3].append(value)
            continue
        if kind == 2:
            length, place = _varint(block, place)
        elif kind in (1, 5):
            length = 8 if kind == 1 else 4
        else:
            raise WeightFileError(f"Unknown wire type {kind} in a protocol buffer")
        if place + length > len(block):
            raise WeightFileError(f"A field of {length:,} bytes at byte {place:,} ends beyond the file")
        found[key >> 3].append(block[place : place + length])
        place += length
    return found


def text(message: dict[int, list[int | memoryview]], field: int) -> str:
    """Return a text field; empty when it is absent."""
    return str(block(message, field), "utf-8")


def block(message: dict[int, list[int | memoryview]], field: int) -> memoryview:
    """Return the bytes of a field; the last one counts."""
    value = message.get(field, [memoryview(b"")])[-1]
    if isinstance(value, int):
        raise WeightFileError(f"Field {field} of a protocol buffer is a number, not bytes")
    return value


def number(message: dict[int, list[int | memoryview]], field: int, default: int = 0) -> int:
    """Return a signed whole number; the last one counts."""
    value = message.get(field, [default])[-1]
    if not isinstance(value, int):
        raise WeightFileError(f"Field {field} of a protocol buffer is bytes, not a number")
    return value - (1 << 64) if value >= 1 << 63 else value


def packed(value: memoryview) -> list[int]:
    """Return whole numbers that were written one after the other."""
    numbers, place = [], 0
    while place < len(value):
        one, place = _varint(value, place)
        numbers.append(one - (1 << 64) if one >= 1 << 63 else one)
    return numbers


def _varint(block: memoryview, place: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if place >= len(block):
            break
        byte = block[place]
        place += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value & (1 << 64) - 1, place
    raise WeightFileError(f"An integer at byte {place:,} of a protocol buffer does not end")
