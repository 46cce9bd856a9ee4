"""Products of two maps: the second one holds the weights of a dense layer, as attention has it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from compiler.xgraph.ops import Channels, Finish, Op

if TYPE_CHECKING:
    from compiler.xgraph.verify import Checks


@dataclass(frozen=True, eq=False)
class Product(Op):
    """With ``x = a - a_zp`` and ``w = b - b_zp``, for pixel ``p`` of the first operand, and pixels of the second by number:

    ``sum over k of x[p, k] w[k, n]``, and of ``x[p, k] w[n, k]`` where it is ``turned``; times ``mantissa / 2^shift``.
    """

    turned: bool
    mantissa: int
    shift: int
    finish: Finish
    a_zp: int = 0
    b_zp: int = 0

    @property
    def streamed(self) -> tuple[str, ...]:
        return self.inputs[:1]

    @property
    def stored(self) -> tuple[str, ...]:
        return self.inputs[1:]

    @property
    def reads_channels(self) -> Channels:
        return Channels.WHOLE


def check_product(checks: Checks, op: Product) -> None:
    checks.equal("inputs", len(op.inputs), 2)
    a, b = checks.sources
    inner, outer = (b.channels, b.height * b.width) if op.turned else (b.height * b.width, b.channels)
    checks.equal("batch", (a.batch, b.batch), (1, 1))
    checks.equal("numbers in a sum", inner, a.channels)
    checks.shape((*a.shape[:3], outer))
    checks.within("mantissa", op.mantissa, 0, (1 << 24) - 1)
    checks.within("shift", op.shift, 0, 63)
    for what, zero in (("a_zp", op.a_zp), ("b_zp", op.b_zp)):
        checks.within(what, zero, -128, 127)
    checks.finish(op.finish)
