"""The flat image of a program: what a system without a file system puts into its flash, and runs where it lies.

| bytes | content |
|---|---|
| 0 | ``TWIM`` |
| 4 | version of this format |
| 8 | bytes of the whole image |
| 12, 16 | where the table (``isa/host_table.py``) begins, and its bytes |
| 20, 24 | where the instructions and the image of CONST begin |
| 28 | zero |

Words are little-endian. The instructions of every machine step, and CONST, begin at multiples of the widest AXI beat, so that
an image at such an address needs no copy. CPU subgraphs are left out: who needs them takes the program file.
"""

from __future__ import annotations

import struct

from isa.host_table import WIDEST_BEAT, host_table, text_image
from isa.program import Program

FLAT_MAGIC = int.from_bytes(b"TWIM", "little")
FLAT_VERSION = 1
_HEADER = struct.Struct("<8I")


def flat_image(program: Program) -> bytes:
    """The flat image of a program. Equal programs give equal bytes."""
    table = host_table(program, WIDEST_BEAT)
    text, _ = text_image(program, WIDEST_BEAT)
    body = bytearray(_HEADER.size)
    places = []
    for part in (table, text, program.const):
        body += bytes(-len(body) % (4 if part is table else WIDEST_BEAT))
        places.append(len(body))
        body += part
    body += bytes(-len(body) % WIDEST_BEAT)
    _HEADER.pack_into(body, 0, FLAT_MAGIC, FLAT_VERSION, len(body), places[0], len(table), places[1], places[2], 0)
    return bytes(body)
