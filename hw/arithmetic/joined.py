"""Two products in one multiplier of 18 x 18 bits, which is too small for two packed products (``packing.py``).

``2^10 high + (low + 128)``, both of eight bits, is a concatenation of 18 bits. Its product with ``shared`` is::

    bit  25 ............ 10 9 ............ 0
         high * shared                          A
               15 ... 10 9 ............ 0       L = (low + 128) * shared
               above

Six bits overlap: ``(P >> 10) = A + above``. The lowest six bits of ``A`` depend only on the lowest six of its factors. So LUTs
make a product modulo 64, which tells what ``above`` is. That gives ``A`` and ``L``, and ``L - 128 shared`` is the low product.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import add

from amaranth import Cat, Const, Value

GAP = 10
_OVERLAP = 6
_BYTE = 8

Register = Callable[[Value, str], Value]


def join(high: Value, low: Value) -> Value:
    """The factor that makes both products when it is multiplied. ``high`` and ``low`` are signed bytes."""
    return Cat(low[: _BYTE - 1], ~low[_BYTE - 1], Const(0, GAP - _BYTE), high).as_signed()


def joined_products(joined: Value, shared: Value, register: Register, name: str) -> tuple[Value, Value]:
    """The products of ``high`` and of ``low`` with ``shared``, one ``register`` stage later."""
    both = register(joined * shared, f"joined_{name}")
    least = register(_lowest(joined[GAP : GAP + _OVERLAP], shared), f"least_{name}")
    late = register(shared, f"shared_{name}").as_signed()
    above = (both[GAP : GAP + _OVERLAP] - least)[:_OVERLAP]
    high = (both[GAP : GAP + 2 * _BYTE].as_signed() - above.as_signed())[: 2 * _BYTE].as_signed()
    low = Cat(both[: _BYTE - 1], (Cat(both[_BYTE - 1 : GAP], above).as_signed() - late)[: _BYTE + 1]).as_signed()
    return high, low


def _lowest(a: Value, b: Value) -> Value:
    """The product modulo ``2^len(a)``, added row by row. Synthesis would make another multiplier of a product that is written
    as such."""
    bits = len(a)
    return reduce(add, ((a[: bits - n] & b[n].replicate(bits - n)) << n for n in range(bits)))[:bits]
