"""The layouts of the data that the parts of POOL hand to each other."""

from __future__ import annotations

from amaranth import Cat, Shape, Value, signed, unsigned
from amaranth.lib import data

from hw.interfaces import TICKET_BITS, BufferRead
from hw.post.activation import FINISH
from isa.config import MachineConfig

_MOST_TAPS = (1 << 8) - 1
"""The most rows or columns of a window that its fields can name."""


def sum_shape(config: MachineConfig) -> Shape:
    """The shape of the sum of a window. Each tap of a depthwise window has a word of the taps' memory, a byte and a factor of
    nine bits. Other windows add up bytes."""
    taps = _MOST_TAPS * _MOST_TAPS
    return signed(1 + max(min(taps, config.taps_depth) * 128 * 255, taps * 128).bit_length())


class Word:
    """The number of a word in a memory. The bit above says that it is beyond all words. Once it is set it stays so, because an
    instruction only counts up. So a few bits are as exact as the 29 that its fields can name."""

    def __init__(self, depth: int) -> None:
        self._bits = (depth - 1).bit_length()
        self.shape = unsigned(self._bits + 1)

    def of(self, number: Value) -> Value:
        """The word of an instruction's field, as long as that may be."""
        return Cat(number[: self._bits], number[self._bits :].any())

    def after(self, word: Value, more: Value) -> Value:
        """The word that is ``more`` further on; ``more`` is a word, too, or a small number."""
        total = word[: self._bits] + more[: self._bits]
        return Cat(total[: self._bits], total[self._bits :].any() | word[self._bits] | more[self._bits :].any())


def tap_word(config: MachineConfig) -> Word:
    return Word(config.taps_depth)


def param_word(config: MachineConfig) -> Word:
    return Word(config.pool_param_depth)


def reduction_layout(config: MachineConfig) -> data.StructLayout:
    """The fields of an instruction that taps need."""
    tap, param = tap_word(config).shape, param_word(config).shape
    return data.StructLayout({
        "ticket": unsigned(TICKET_BITS),
        "mode": unsigned(2),
        "by_count": unsigned(1),
        "t_addr": tap,
        "t_step": tap,
        "p_addr": param,
        "p_step": param,
        "w_zp": signed(8),
    })


FINISH_LAYOUT = data.StructLayout({"ticket": unsigned(TICKET_BITS), "bypass": unsigned(1), **FINISH})
"""The fields of an instruction that its results need. ``bypass``: the results are maxima."""


def part_bits(config: MachineConfig) -> int:
    """The bits that number the parts of a pixel."""
    return (config.pool_parts - 1).bit_length()


def param_read(config: MachineConfig) -> BufferRead:
    """The read port for a part of a parameter word: the records of the lanes that are finished in a cycle. The lowest bits of
    the address are the part's number."""
    return BufferRead(part_bits(config) + (config.pool_param_depth - 1).bit_length(), 64 * config.pool_finish)


def pixel_layout(config: MachineConfig) -> data.StructLayout:
    """Part ``part`` of a reduced pixel, with its parameter word. ``last`` marks the last one of its instruction."""
    return data.StructLayout({
        "sums": data.ArrayLayout(sum_shape(config), config.pool_finish),
        "part": unsigned(part_bits(config)),
        "param": param_word(config).shape,
        "last": unsigned(1),
    })
