"""Fields and rules that several instructions have."""

from __future__ import annotations

from isa.table import Field, Rule

_ADDRESS = 20
"""The bits of a feature-map word address or stride in an instruction."""


def fm(name: str, doc: str) -> Field:
    """A feature-map word address or stride."""
    return Field(name, _ADDRESS, doc, words=True)


DRAM = (Field("offset", 32, "first byte, from the base of the region"),)

PIXEL_RULES = (
    # Both rules compare with "less" alone. With "at most" the hardware would also have to find whether the numbers are equal.
    Rule("step > run (pixels apart in DRAM) needs lead = 0", lambda f, c: ((f.step > f.run) == 0) | (f.lead == 0)),
    Rule(
        "step < run (overlapping windows) needs run <= window_bytes of the configuration",
        lambda f, c: ((f.step < f.run) == 0) | (f.run <= c.window_bytes),
    ),
)

WINDOW: tuple[tuple[Field, ...], ...] = (
    (
        fm("i_addr", "input: word of row 0, column 0, channel vector 0; with a ring, first word of the ring"),
        Field("s_y", 6, "vertical stride", nonzero=True),
        Field("s_x", 6, "horizontal stride", nonzero=True),
    ),
    (
        Field("i_off", 24, "row offset of the first tap of output row 0 (modulo 2^24, or within the ring)", words=True),
        Field("pad_value", 8, "what every channel of a padding pixel holds", signed=True),
    ),
    (
        fm("i_ring", "words after which row offsets start again at 0; 0: no ring"),
        Field("d_y", 6, "vertical dilation", nonzero=True),
        Field("d_x", 6, "horizontal dilation", nonzero=True),
    ),
    (
        fm("i_cs", "words from one channel vector to the next"),
        Field("vectors", 12, "channel vectors: reduced over by CONV, looped over by POOL", nonzero=True),
    ),
    (
        fm("i_ys", "words from the input row of one output row to that of the next"),
        Field("i_h", 12, "input rows", nonzero=True),
    ),
    (
        fm("t_ys", "words from the row of one kernel tap to that of the next"),
        Field("i_w", 12, "input columns", nonzero=True),
    ),
    (
        Field("pad_t", 8, "padding rows above"),
        Field("pad_l", 8, "padding columns to the left"),
        Field("k_h", 8, "kernel rows", nonzero=True),
        Field("k_w", 8, "kernel columns", nonzero=True),
    ),
    (
        Field("o_h", 12, "output rows", nonzero=True),
        Field("o_w", 12, "output columns", nonzero=True),
        Field("o_xs", 8, "words from one output column to the next"),
    ),
)

RING_RULE = Rule(
    "with a ring, i_off < i_ring, i_ys <= i_ring and t_ys <= i_ring, and i_ring <= the words of the feature-map buffer",
    lambda f, c: (f.i_ring == 0)
    | ((f.i_off < f.i_ring) & (f.i_ys <= f.i_ring) & (f.t_ys <= f.i_ring) & (f.i_ring <= c.fm_words)),
)
