"""The logarithm of a float32 number as glibc (2.27 and later) and musl compute it, to the last bit.

A table of 16 centres c with 1 / c and log c, and a polynomial of degree 4 in z / c - 1, in doubles; the result is off
by 0.818 units in the last place of float32 at most, so that rounding a better logarithm would not give the same number.

Source: ARM optimized routines, math/logf.c and math/logf_data.c (MIT), which glibc and musl took over.
"""

from __future__ import annotations

import struct

BITS = 4
OFFSET = 0x3F330000
LN2 = float.fromhex("0x1.62e42fefa39efp-1")
POLYNOMIAL = tuple(map(float.fromhex, ("-0x1.00ea348b88334p-2", "0x1.5575b0be00b6ap-2", "-0x1.ffffef20a4123p-2")))
TABLE = tuple(
    (float.fromhex(inverse), float.fromhex(log))
    for inverse, log in (
        ("0x1.661ec79f8f3bep+0", "-0x1.57bf7808caadep-2"),
        ("0x1.571ed4aaf883dp+0", "-0x1.2bef0a7c06ddbp-2"),
        ("0x1.49539f0f010bp+0", "-0x1.01eae7f513a67p-2"),
        ("0x1.3c995b0b80385p+0", "-0x1.b31d8a68224e9p-3"),
        ("0x1.30d190c8864a5p+0", "-0x1.6574f0ac07758p-3"),
        ("0x1.25e227b0b8eap+0", "-0x1.1aa2bc79c81p-3"),
        ("0x1.1bb4a4a1a343fp+0", "-0x1.a4e76ce8c0e5ep-4"),
        ("0x1.12358f08ae5bap+0", "-0x1.1973c5a611cccp-4"),
        ("0x1.0953f419900a7p+0", "-0x1.252f438e10c1ep-5"),
        ("0x1p+0", "0x0p+0"),
        ("0x1.e608cfd9a47acp-1", "0x1.aa5aa5df25984p-5"),
        ("0x1.ca4b31f026aap-1", "0x1.c5e53aa362eb4p-4"),
        ("0x1.b2036576afce6p-1", "0x1.526e57720db08p-3"),
        ("0x1.9c2d163a1aa2dp-1", "0x1.bc2860d22477p-3"),
        ("0x1.886e6037841edp-1", "0x1.1058bc8a07ee1p-2"),
        ("0x1.767dcf5534862p-1", "0x1.4043057b6ee09p-2"),
    )
)


def single_log(x: float) -> float:
    """Return logf of a float32 number above 0, normal and finite; `ValueError` for others."""
    bits = struct.unpack("<I", struct.pack("<f", x))[0]
    if bits == 0x3F800000:
        return 0.0
    if not 0x00800000 <= bits < 0x7F800000:
        raise ValueError(f"{x!r} has no logarithm, or is no normal float32 number")
    moved = (bits - OFFSET) & 0xFFFFFFFF
    place = (moved >> (23 - BITS)) & ((1 << BITS) - 1)
    exponent = (moved - (1 << 32) if moved >> 31 else moved) >> 23
    z = struct.unpack("<f", struct.pack("<I", (bits - (moved & 0xFF800000)) & 0xFFFFFFFF))[0]
    inverse, log = TABLE[place]
    r = z * inverse - 1
    first = log + exponent * LN2
    r2 = r * r
    y = POLYNOMIAL[1] * r + POLYNOMIAL[2]
    y = POLYNOMIAL[0] * r2 + y
    y = y * r2 + (first + r)
    found: float = struct.unpack("<f", struct.pack("<f", y))[0]
    return found
