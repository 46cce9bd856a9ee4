"""Writes memories in Verilog by hand, once per shape, for synthesis, simulators and readers alike.

The back end would write one line for every word it clears, and take most of a minute over it.
"""

from __future__ import annotations

from dataclasses import dataclass

from amaranth import ClockSignal, Shape, Value
from amaranth.hdl import Instance
from amaranth.lib.memory import Memory

from hw.arithmetic.cascade import Cascades
from isa.ram import made_of

_TEMPLATE = """\
module {name} (clk, write_en, write_addr, write_data, read_en, read_addr, read_data);
  input clk;
  input [{parts_top}:0] write_en;
  input [{addr_top}:0] write_addr;
  input [{top}:0] write_data;
  input read_en;
  input [{addr_top}:0] read_addr;
  output [{top}:0] read_data;
  {attribute}reg [{top}:0] words [0:{last}];
{cleared}  always @(posedge clk) begin
{writes}
  end
{read}
endmodule
"""
_CLEARED = """\
  integer i;
  initial for (i = 0; i < {depth}; i = i + 1) words[i] = {width}'d0;
"""
_READ_REGISTER = """\
  reg [{top}:0] read_data;
{read_cleared}  always @(posedge clk) if (read_en) read_data <= words[read_addr];"""
_READ_CLEARED = "  initial read_data = {width}'d0;\n"
_READ_WIRE = "  assign read_data = words[read_addr];"


@dataclass(frozen=True, order=True)
class MemoryShape:
    """The properties that tell one memory module from another."""

    depth: int
    width: int
    parts: int
    """The number of equal parts of a word that are written separately."""
    registered: bool
    """A read takes a cycle."""
    style: str = ""
    """The kind of memory to be made; synthesis chooses it if this is empty."""

    @property
    def name(self) -> str:
        parts = f"_by_{self.width // self.parts}" if self.parts > 1 else ""
        return f"memory_{self.depth}x{self.width}{parts}{'' if self.registered else '_async'}{self.style and f'_{self.style}'}"

    def verilog(self) -> str:
        step = self.width // self.parts
        bits = [f"[{(part + 1) * step - 1}:{part * step}]" for part in range(self.parts)]
        writes = [
            f"    if (write_en[{part}]) words[write_addr]{written if self.parts > 1 else ''} <= write_data{written};"
            for part, written in enumerate(bits)
        ]
        # Nobody needs what a read in the cycle of a write returns. Without these attributes, the first for yosys and the
        # other for Vivado, tools add logic around block RAMs to define that value.
        attributes = ["no_rw_check", 'rw_addr_collision = "no"'] if self.registered else []
        style = made_of(self.style, self.depth) if self.registered else self.style
        attributes += [f'ram_style = "{style}"'] if style else []
        numbers = {
            "name": self.name,
            "attribute": f"(* {', '.join(attributes)} *) " if attributes else "",
            "depth": self.depth,
            "width": self.width,
            "last": self.depth - 1,
            "top": self.width - 1,
            "parts_top": self.parts - 1,
            "addr_top": max(0, (self.depth - 1).bit_length() - 1),
        }
        cleared, read_cleared = (self._for_simulation(text.format(**numbers)) for text in (_CLEARED, _READ_CLEARED))
        read = (_READ_REGISTER if self.registered else _READ_WIRE).format(read_cleared=read_cleared, **numbers)
        return _TEMPLATE.format(writes="\n".join(writes), read=read, cleared=cleared, **numbers)

    def _for_simulation(self, initial: str) -> str:
        """The initial values, which synthesis does not see for UltraRAM, because it has none."""
        return f"`ifndef SYNTHESIS\n{initial}`endif\n" if self.style == "ultra" else initial


class MemoryModules:
    """An Amaranth platform that turns every memory into an instance of a module, and remembers which ones it needs.

    A memory is cleared and has one write port and one read port that is not transparent. A read of a word that is written in
    the same cycle returns an undefined value. No unit uses it, because tokens and queues keep reads behind writes.

    The array takes ``cascades`` from the platform: the way in which sums of products are written.
    """

    def __init__(self) -> None:
        self.cascades = Cascades()
        self._shapes: set[MemoryShape] = set()

    def get_memory(self, memory: Memory) -> Instance:
        (write,) = memory.write_ports
        (read,) = memory.read_ports
        if any(memory.init) or read.transparent_for:
            raise ValueError(f"memory {memory!r}: emission knows cleared memories without transparent reads only")
        style = str(memory.attrs.get("ram_style", ""))
        shape = MemoryShape(memory.depth, Shape.cast(memory.shape).width, len(write.en), read.domain != "comb", style)
        self._shapes.add(shape)
        return Instance(
            shape.name,
            i_clk=ClockSignal(write.domain),
            i_write_en=write.en,
            i_write_addr=write.addr if len(write.addr) else 0,
            i_write_data=Value.cast(write.data),
            i_read_en=read.en,
            i_read_addr=read.addr if len(read.addr) else 0,
            o_read_data=Value.cast(read.data),
        )

    def verilog(self) -> str:
        """The modules of all memories that the platform has met so far."""
        return "\n".join(shape.verilog() for shape in sorted(self._shapes))
