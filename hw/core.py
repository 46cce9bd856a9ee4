"""The machine: control, units, buffers and the AXI port, wired together."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from amaranth import ClockDomain, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.arithmetic.doubled import FAST, FAST_CLOCK
from hw.axi.bridge import PortBridge
from hw.axi.port import AxiPort
from hw.axi.signature import Axi4, AxiLite
from hw.buffers.feature_map import FeatureMap
from hw.buffers.parameters import ParameterMemory
from hw.bus_monitor import BusMonitor
from hw.control.control import Control
from hw.control.units import TraceSignature
from hw.conv.skew import Skew
from hw.conv.unit import ConvUnit
from hw.interfaces import UnitSignature
from hw.misc.unit import MiscUnit
from hw.move.load import LoadUnit
from hw.move.parameters import MEMORIES
from hw.move.save import SaveUnit
from hw.pool.unit import PoolUnit
from hw.reset import ResetTree
from hw.rows.unit import RowUnit
from isa.capabilities import built_units
from isa.config import MachineConfig
from isa.instructions import Buffer, Unit

_UNIT_TYPES: dict[Unit, type[Any]] = {
    Unit.LOAD: LoadUnit,
    Unit.SAVE: SaveUnit,
    Unit.CONV: ConvUnit,
    Unit.POOL: PoolUnit,
    Unit.MISC: MiscUnit,
    Unit.ROW: RowUnit,
}
_READERS: dict[Buffer, tuple[Unit, str]] = {
    Buffer.WEIGHT: (Unit.CONV, "weights"),
    Buffer.PARAM: (Unit.CONV, "params"),
    Buffer.TAPS: (Unit.POOL, "taps"),
    Buffer.POOL_PARAM: (Unit.POOL, "params"),
    Buffer.NORM: (Unit.ROW, "norms"),
}
"""The unit that reads each parameter memory, and the member of that unit that reads it."""


class Core(wiring.Component):
    """One generated machine. It only wires its parts together and computes nothing itself.

    ::

        axi_lite --- Control ---- instructions ----> LoadUnit  SaveUnit  ConvUnit  PoolUnit  MiscUnit
                        |                               |  |       |      | | |     | | |      |
        axi ------- AxiPort --- fetch, load, save ------+--|-------+      | | |     | | |      |
                                                           |              | | |     | | |      |
                      ParameterMemory x 4 <----------------+--------------+ | |     + | |      |
                      activation tables   <----------------+----------------+-|-------+-|------+
                      FeatureMap          <----------------+------------------+---------+------+

    ROW, which is not shown, is wired like MISC, with NORM and tables of its own. With ``build_products`` LOAD also writes lanes
    of weight words. A machine has no POOL, MISC or ROW, and none of the memories that only they read, if the configuration does
    not build them.

    With two ports a ``PortBridge`` follows ``AxiPort``, and ``axi0`` and ``axi1`` take the place of ``axi``. ``trace_<unit>``
    tells benches when instructions start and finish. ``axi`` is AXI4, ``axi_lite`` is AXI4-Lite. Both run, like everything
    here, on one clock with a synchronous reset. After the reset the machine waits for a start. With ``array_clock`` 2 the
    multipliers of the array, of finishing lanes, of POOL and of MISC run on ``clk2x``. This clock is twice as fast and has an
    edge at each edge of the other.
    """

    def __init__(self, config: MachineConfig) -> None:
        self.config = config
        self.units = built_units(config)
        super().__init__({
            **{name: Out(Axi4(config, config.axi_ports)) for name in axi_names(config)},
            "axi_lite": Out(AxiLite()),
            "irq": Out(1),
            **({FAST_CLOCK: In(1)} if config.array_clock > 1 else {}),
            **{f"trace_{unit.name.lower()}": Out(TraceSignature()) for unit in self.units},
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        if self.config.array_clock > 1:
            m.domains += (fast := ClockDomain(FAST, reset_less=True))
            fast.clk = getattr(self, FAST_CLOCK)
        m.submodules.control = control = Control(self.config)
        parts = {unit: _UNIT_TYPES[unit](self.config) for unit in self.units}
        outside: dict[str, Any] = {"port": AxiPort(self.config), "monitor": BusMonitor(self.config)}
        if self.config.axi_ports > 1:
            outside["bridge"] = PortBridge(self.config)
        for name, part in {**{unit.name.lower(): part for unit, part in parts.items()}, **outside}.items():
            m.submodules[name] = ResetTree(part, control.unit_reset)

        for unit, part in parts.items():
            name = unit.name.lower()
            connect(m, getattr(control, name), _control_side(part, unit, self.config))
            connect(m, getattr(control, f"trace_{name}"), flipped(getattr(self, f"trace_{name}")))
        connect(m, flipped(self.axi_lite), control.bus)
        m.d.comb += self.irq.eq(control.irq)
        self._connect_bus(m, control, parts, **outside)
        self._connect_feature_map(m, parts)
        self._connect_parameters(m, parts)
        if self.config.shares_finish:
            connect(m, parts[Unit.POOL].lanes, parts[Unit.CONV].guest)
        return m

    def _connect_bus(
        self, m: Module, control: Control, parts: dict[Unit, Any], port: AxiPort, monitor: BusMonitor,
        bridge: PortBridge | None = None,
    ) -> None:  # fmt: skip
        load, save = parts[Unit.LOAD], parts[Unit.SAVE]
        connect(m, control.fetch, port.fetch)
        connect(m, load.axi, port.load)
        connect(m, save.axi, port.save)
        outside = [flipped(getattr(self, name)) for name in axi_names(self.config)]
        connect(m, port.axi, bridge.bus if bridge else outside[0])
        for number, axi in enumerate(outside if bridge else ()):
            connect(m, getattr(bridge, f"axi{number}"), axi)
        connect(m, monitor.activity, control.activity)
        for path, _, value in monitor.axi.signature.flatten(monitor.axi):
            m.d.comb += value.eq(getattr(port.axi, path[0]))
        for unit in (load, save):
            m.d.comb += [unit.bases.eq(control.bases), unit.limits.eq(control.limits)]

    def _connect_feature_map(self, m: Module, parts: dict[Unit, Any]) -> None:
        """Connects every unit's lanes in the order of ``Unit``. The movers come first (see ``FeatureMap``), then CONV, because
        the array must not wait. The operands of MISC may lie anywhere, so each of them asks for itself. MISC's operands, SAVE
        and ROW read the fewest words, so they share a way. ROW writes only when MISC does not, so the two share one word on the
        way to the banks."""
        reads: dict[str, list[Any]] = {}
        for unit, part in parts.items():
            lanes = _lanes(part, "fm_read")
            reads |= {"misc_a": lanes[:1], "misc_b": lanes[1:]} if unit is Unit.MISC else {unit.name.lower(): lanes}
        writes = {unit.name.lower(): _lanes(part, "fm_write") for unit, part in parts.items()}
        m.submodules.feature_map = feature_map = FeatureMap(
            self.config,
            reads={name: len(lanes) for name, lanes in reads.items() if lanes},
            writes={name: len(lanes) for name, lanes in writes.items() if lanes},
            shared=("save", "misc_a", "misc_b", "row"),
            slow=("conv", "pool", "misc", "row") if self.config.ways.slow_writers else (),
            pads=("conv", "pool"),
            serial=self.config.ways.serial_reads,
            behind={"row": "misc"},
        )
        for kind, users in (("read", reads), ("write", writes)):
            for name, lanes in users.items():
                for index, lane in enumerate(lanes):
                    connect(m, lane, getattr(feature_map, f"{kind}_{name}")[index])

    def _connect_parameters(self, m: Module, parts: dict[Unit, Any]) -> None:
        """Builds the memories that somebody reads, one copy for each port, and connects their writes and those of the
        activation tables."""
        load = parts[Unit.LOAD]
        for buffer, (unit, member) in _READERS.items():
            if unit in parts:
                write = getattr(load, MEMORIES[buffer])
                delays = Skew(self.config).columns if buffer is Buffer.WEIGHT else ()
                for number, reader in enumerate(_lanes(parts[unit], member)):
                    memory = ParameterMemory.of(self.config, buffer.name, delays)
                    m.submodules[f"{MEMORIES[buffer]}{number or ''}"] = memory
                    for name in write.signature.members:
                        m.d.comb += getattr(memory.write, name).eq(getattr(write, name))
                    if buffer is Buffer.WEIGHT and self.config.build_products:
                        for name in load.weight_lanes.signature.members:
                            m.d.comb += getattr(memory.lanes, name).eq(getattr(load.weight_lanes, name))
                    connect(m, reader, memory.read)
        if Unit.ROW in parts:
            for name in load.exponentials.signature.members:
                m.d.comb += getattr(parts[Unit.ROW].exponentials, name).eq(getattr(load.exponentials, name))
        tables = {Unit.CONV, Unit.POOL, Unit.MISC} - ({Unit.POOL} if self.config.shares_finish else set())
        for unit in sorted(tables):
            if unit in parts:
                for name in load.table_write.signature.members:
                    m.d.comb += getattr(parts[unit].table_write, name).eq(getattr(load.table_write, name))


def axi_names(config: MachineConfig) -> tuple[str, ...]:
    """The members of ``Core`` that are its memory bus: ``axi``, or one for each port."""
    return ("axi",) if config.axi_ports == 1 else tuple(f"axi{port}" for port in range(config.axi_ports))


def _control_side(part: Any, unit: Unit, config: MachineConfig) -> SimpleNamespace:
    """The members of a unit that control is connected to, and nothing else."""
    members = {name: part.signature.members[name] for name in UnitSignature(unit, config).members}
    return SimpleNamespace(signature=wiring.Signature(members), **{name: getattr(part, name) for name in members})


def _lanes(part: Any, member: str) -> list[Any]:
    """The ports of a unit on one side of a memory. There may be none, one, or an array of them."""
    lanes = getattr(part, member, [])
    return list(lanes) if isinstance(lanes, (list, tuple)) else [lanes]
