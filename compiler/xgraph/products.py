"""Products of two maps: the second one has the weights of a dense layer, as in attention."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from compiler.xgraph.ops import Channels, Finish, Op

if TYPE_CHECKING:
    from compiler.xgraph.verify import Checks


@dataclass(frozen=True, eq=False)
class Product(Op):
    """The product of two maps; ``x = a - a_zp`` and ``w = b - b_zp``, and pixels of the second map are counted by number.

    For pixel ``p`` of the first map the result is ``sum over k of x[p, k] w[k, n]``, or with ``turned`` that of ``x[p, k] w[n,
    k]``, times ``mantissa / 2^shift``.
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
