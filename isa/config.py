"""The machine configuration: one frozen, validated object that every part of the tool chain reads."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from isa.bounds import BOUNDS, ConfigError, ceil_pow2, check_name, check_printable
from isa.buffers import depths, word_bytes
from isa.checks import check_lanes
from isa.chips import chip_of, described
from isa.names import nearest
from isa.presets import FIELDS
from isa.ram import RAM_FIELDS, RAM_STYLES
from isa.requantisation import LONG_SUM_BITS, SUM_BITS
from isa.version import ISA_VERSION
from isa.ways import Ways

PACKED_TERMS = 8
"""The packed products that may be added before they are separated (``hw/arithmetic/packing.py``)."""
REQUANT = ("float32", "shift")
SWITCHES = ("build_pool", "build_misc", "build_rows", "build_products", "act16", "dsp_packing", "shared_finish", "dsp_adders")

ONLY_FOR_REPORTS = ("name", "clock_mhz", "chip", "chip_cores")
"""The fields that change no machine."""
OF_NO_PROGRAM = (
    *ONLY_FOR_REPORTS, "axi_burst_beats", "axi_reads", "axi_read_ahead", "axi_prot", "axi_cache", "axi_qos", "axi_ports",
    "dram_latency", "array_clock", "shared_finish", "narrow_pairs", "dsp_adders", *RAM_FIELDS,
)  # fmt: skip
"""The fields that no program depends on. They are not in the hash."""


@dataclass(frozen=True)
class MachineConfig:
    """Everything that tells one generated machine from another.

    Lane counts are free. A feature-map word holds the ``ic_p`` channels of one pixel that one array
    row consumes, a weight word the ``ic_p x oc_p`` weights of one beat.
    """

    name: str
    """The name in reports. No program depends on it, on clocks and chips, on the fields that are said to change no result, or
    on the AXI fields from ``axi_burst_beats`` to ``dram_latency``."""
    ic_p: int
    """Input-channel lanes; also the bytes of a feature-map word. Need not be a power of two."""
    oc_p: int
    """Output-channel lanes. Need not be a power of two."""
    px_p: int
    """Pixel lanes: output pixels computed side by side."""
    conv_finish: int
    """Results that CONV requantises and activates in a cycle: a divisor of ``oc_p``, or a multiple of it that divides
    ``px_p x oc_p``."""
    pool_finish: int
    """Results that POOL finishes in a cycle: a divisor of ``ic_p``."""
    pool_taps: int
    """Neighbouring taps of a kernel row that POOL takes in a cycle, where the words can be read; MAX takes one."""
    misc_lanes: int
    """Channels that MISC computes in a cycle: a divisor of ``ic_p``."""
    fm_banks: int
    """Banks of the feature-map buffer: a multiple of the phases. One pixel lane with one tap has one phase, else they are the
    power of two at or above ``2 px_p`` and ``px_p + pool_taps - 1``."""
    fm_depth: int
    """Words (``ic_p`` bytes) in a feature-map bank."""
    weight_depth: int
    """Words (``ic_p x oc_p`` bytes) in the weight buffer."""
    param_depth: int
    """Words (``oc_p`` requantisation records of 8 bytes) in CONV's parameter buffer."""
    taps_depth: int
    """Words (``ic_p`` bytes) in the depthwise tap buffer."""
    pool_param_depth: int
    """Words (``ic_p`` requantisation records of 8 bytes) in POOL's parameter buffer."""
    acc_depth: int
    """Entries (``px_p x oc_p`` int32) that reductions may leave for a later CONV."""
    tables: int
    """256-entry activation tables held at a time."""
    window_bytes: int
    """Longest overlapping window that LOAD can fold into channel lanes."""
    axi_data_bits: int
    """Width of the memory bus: of all its ports together."""
    axi_addr_bits: int
    """Width of its addresses."""
    queue_words: int
    """32-bit words in the instruction queue of each unit."""
    clock_mhz: int
    """Turns cycles into seconds in reports; constraints and ``tilewright place`` ask for it."""
    axi_burst_beats: int = 16
    """Longest AXI burst in beats, at most 4 KB; 16 for AXI3."""
    axi_reads: int = 64
    """Read bursts that may be on their way at a time, instruction fetch included."""
    axi_read_ahead: int = 128
    """Beats of reads that may be on their way before no other burst is asked for: they hide the latency of DRAM, and an
    instruction fetch queues behind them."""
    axi_prot: int = 0
    """AxPROT of every burst: unprivileged, secure data."""
    axi_cache: int = 3
    """AxCACHE of every burst: normal memory, bufferable, not cached; interconnects may merge and split."""
    axi_qos: int = 0
    """AxQOS of every burst."""
    axi_ports: int = 1
    """2: the memory bus leaves through two AXI ports of half its width each, which bursts take by turns. Changes no result."""
    dram_latency: int = 64
    """Cycles from a read's address to its first beat, in simulations and in the cycle model. Changes no machine."""
    build_pool: bool = True
    """Whether POOL is built; its instructions are illegal otherwise."""
    build_misc: bool = True
    """Whether MISC is built; its instructions are illegal otherwise."""
    build_rows: bool = False
    """Whether ROW is built, with its buffers EXP and NORM; its instructions are illegal otherwise."""
    row_lanes: int = 4
    """Elements that ROW computes in a cycle: a divisor of ``ic_p``."""
    row_words: int = 64
    """Words (``ic_p`` elements) of the longest row of ROW, which has 4096 elements at most; NORM holds twice as many."""
    build_products: bool = False
    """Whether LOADW is built, which makes weights of maps; it is illegal otherwise. Needs an ``oc_p`` that divides ``ic_p``."""
    act16: bool = False
    """Whether CONV knows inputs and outputs of sixteen bits, which take two channel vectors for one. Needs ``requant``
    float32."""
    dsp_packing: bool = True
    """Two products per multiplier, summed along cascades of multipliers; needs an even ``px_p`` or ``oc_p``. Changes no
    result."""
    array_clock: int = 1
    """2: multipliers of the array, finishing lanes, MISC and a POOL of two taps run on a second clock, ``clk2x``. Halves most
    of them; needs ``dsp_packing`` and an even ``oc_p`` (a multiple of 4 if ``px_p`` is odd). Changes no result."""
    shared_finish: bool = False
    """CONV's and POOL's results go through the same finishing lanes, the wider of both; CONV goes first. Changes no result."""
    narrow_pairs: int = 0
    """Pairs of output lanes that share multipliers of 18 x 18 bits, for chips with few of them; 0 with ``dsp_packing``. Changes
    no result."""
    dsp_adders: bool = False
    """CONV's accumulators, and the sums before a finishing lane's product, are made in DSPs of their own. Changes no result."""
    requant: str = "float32"
    """Scales of CONV: ``float32`` takes any; ``shift`` takes powers of two alone and leaves its finishing lanes without
    multipliers. POOL and MISC take any."""
    fm_ram: str = "auto"
    """What the feature-map buffer is made of (``ram_style`` in Verilog). Like the six that follow it changes no result."""
    weight_ram: str = "auto"
    """What the weight buffer is made of."""
    param_ram: str = "auto"
    """What CONV's parameter buffer is made of."""
    taps_ram: str = "auto"
    """What the tap buffer is made of."""
    pool_param_ram: str = "auto"
    """What POOL's parameter buffer is made of."""
    acc_ram: str = "auto"
    """What the accumulator entries are made of."""
    queue_ram: str = "auto"
    """What the queues are made of."""
    chip: str = ""
    """The chip that it is meant for, which ``tilewright size`` compares with; empty: none. In TOML a table ``[chip]`` describes
    one that is not known."""
    chip_cores: int = 1
    """How many of this machine that chip must hold."""

    def __post_init__(self) -> None:
        for field, bound in BOUNDS.items():
            bound.check(field, getattr(self, field))
        for switch in SWITCHES:
            if not isinstance(getattr(self, switch), bool):
                raise ConfigError(f"configuration field {switch}: {getattr(self, switch)!r} is not true or false")
        for field in RAM_FIELDS:
            if (style := getattr(self, field)) not in RAM_STYLES:
                raise ConfigError(f"configuration field {field}: {style!r} is not one of {', '.join(RAM_STYLES)}")
        if self.requant not in REQUANT:
            raise ConfigError(f"configuration field requant: {self.requant!r} is not one of {', '.join(REQUANT)}")
        check_name(self.name)
        chip_of(self.chip if isinstance(self.chip, str) else repr(self.chip))
        check_lanes(self)

    def __hash__(self) -> int:
        """The hash of the fields in which machines differ most. To hash all fields takes longer than a look-up saves."""
        return hash((self.name, self.ic_p, self.oc_p, self.px_p, self.fm_banks, self.fm_depth, self.weight_depth))

    @cached_property
    def conv_ports(self) -> int:
        """The pixels that CONV writes in a cycle: as many as its finishing lanes fill, at least one."""
        return max(1, self.conv_finish // self.oc_p)

    @cached_property
    def conv_parts(self) -> int:
        """The cycles in which CONV's finishing lanes finish one pixel."""
        return max(1, self.oc_p // self.conv_finish)

    @property
    def conv_shifts(self) -> bool:
        """Whether CONV's scales are powers of two."""
        return self.requant == "shift"

    @property
    def sum_bits(self) -> int:
        """The bits of CONV's accumulators."""
        return LONG_SUM_BITS if self.act16 else SUM_BITS

    @property
    def result_bits(self) -> int:
        """The bits of the results of CONV's finishing lanes."""
        return 16 if self.act16 else 8

    @property
    def shares_finish(self) -> bool:
        """Whether POOL has no finishing lanes of its own."""
        return self.shared_finish and self.build_pool

    @cached_property
    def pool_parts(self) -> int:
        """The cycles in which POOL's finishing lanes finish one channel vector."""
        return self.ic_p // self.pool_finish

    def taps_at_once(self, s_x: int, d_x: int) -> int:
        """The taps of a kernel row that POOL takes in a cycle while all pixels are in one row. MAX takes one."""
        if d_x == 1 and (s_x == 1 or self.px_p == 1):
            return self.pool_taps
        return 2 if self.pool_taps > self.px_p else 1

    @cached_property
    def fm_phases(self) -> int:
        """The number of banks over which neighbouring words are interleaved.

        A power of two of at least ``2 px_p``: lanes at word distance 1 or 2 (strides 1 and 2), or at any odd distance, then
        always fall into different banks. So do the neighbouring words that POOL reads for several taps.
        """
        if self.px_p == self.pool_taps == 1:
            return 1
        return ceil_pow2(max(2 * self.px_p, self.px_p + self.pool_taps - 1))

    @cached_property
    def ways(self) -> Ways:
        """How words go between lanes and banks of the feature-map buffer."""
        return Ways.of(self)

    @cached_property
    def fm_words(self) -> int:
        return self.fm_banks * self.fm_depth

    @cached_property
    def fm_address_bits(self) -> int:
        """The bits of feature-map word addresses, modulo which all their arithmetic is done. There is one bit more than the
        buffer needs, so that addresses below or beyond it are noticed."""
        return (self.fm_words - 1).bit_length() + 1

    @cached_property
    def chunks_per_word(self) -> int:
        """The output chunks (``oc_p`` channels) that make up one feature-map word. A chunk never straddles words."""
        return -(-self.ic_p // self.oc_p) if self.oc_p < self.ic_p else 1

    @cached_property
    def words_per_chunk(self) -> int:
        """The feature-map words that one output chunk fills."""
        return max(1, self.oc_p // self.ic_p)

    @property
    def packs_pixels(self) -> bool:
        """Whether packed products are those of two pixels with one weight, not of two weights with one input."""
        return self.px_p % 2 == 0

    @property
    def joined_outputs(self) -> int:
        """The pairs of output lanes whose products are made by one multiplier each (``hw/arithmetic/joined.py``)."""
        return 0 if self.dsp_packing else min(self.narrow_pairs, self.oc_p // 2)

    @cached_property
    def cascades(self) -> int:
        """The cascades of multipliers that sum up one result of a beat."""
        return -(-self.ic_p // PACKED_TERMS) if self.dsp_packing else self.ic_p

    @cached_property
    def cascade_length(self) -> int:
        """The multipliers of a cascade, each of which works a cycle later than the one before."""
        return -(-self.ic_p // self.cascades)

    @cached_property
    def misc_parts(self) -> int:
        """The slices of a word that MISC computes one after the other."""
        return self.ic_p // self.misc_lanes

    @cached_property
    def row_parts(self) -> int:
        """The slices of a word that ROW computes one after the other."""
        return self.ic_p // self.row_lanes

    @cached_property
    def axi_bytes(self) -> int:
        return self.axi_data_bits // 8

    @cached_property
    def axi_port_bits(self) -> int:
        """The bits of one port."""
        return self.axi_data_bits // self.axi_ports

    @cached_property
    def burst_beats(self) -> int:
        """The most beats of the bus in a burst. No burst crosses a multiple of them, hence none crosses 4 KB."""
        return min(self.axi_burst_beats // self.axi_ports, 4096 // self.axi_bytes)

    def buffer_word_bytes(self, buffer: str) -> int:
        """The bytes that one word of an on-chip parameter buffer holds; see ``isa.instructions.Buffer``."""
        return self._word_bytes[buffer]

    @cached_property
    def _word_bytes(self) -> dict[str, int]:
        return word_bytes(self)

    @cached_property
    def _depths(self) -> dict[str, int]:
        return depths(self)

    def buffer_dram_bytes(self, buffer: str, int4: bool = False) -> int:
        """The bytes of the same word in DRAM, padded to whole AXI beats. With ``int4`` a beat holds two columns of a beat."""
        columns = -(-self._word_bytes[buffer] // self.axi_bytes)
        return (-(-columns // 2) if int4 else columns) * self.axi_bytes

    def buffer_depth(self, buffer: str) -> int:
        return self._depths[buffer]

    @cached_property
    def macs_per_cycle(self) -> int:
        return self.ic_p * self.oc_p * self.px_p

    @cached_property
    def on_chip_bytes(self) -> int:
        parameters = sum(self._word_bytes[name] * depth for name, depth in self._depths.items() if name != "TABLE")
        return self.fm_words * self.ic_p + parameters + self.acc_depth * self.px_p * self.oc_p * self.sum_bits // 8

    @cached_property
    def hash(self) -> int:
        """A hash of 32 bits of the machine and the version of the instruction set. The START instruction carries it."""
        built = {k: v for k, v in dataclasses.asdict(self).items() if k not in OF_NO_PROGRAM}
        if not self.act16:
            del built["act16"]
        built["isa"] = ISA_VERSION
        return int.from_bytes(hashlib.sha256(json.dumps(built, sort_keys=True).encode()).digest()[:4], "little")

    def to_toml(self) -> str:
        """All fields as TOML, which ``load_config`` reads."""
        values = dataclasses.asdict(self).items()
        return "".join(f"{name} = {json.dumps(value, ensure_ascii=False)}\n" for name, value in values)

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self), indent=2) + "\n"


def config_from_dict(values: dict[str, Any], *, origin: str) -> MachineConfig:
    """Build a configuration from plain values; fields left out come from the preset named by ``base``.

    Errors begin with ``origin``.
    """
    try:
        return _from_dict(values)
    except ConfigError as error:
        raise ConfigError(f"{origin}: {error}") from None


def _from_dict(values: dict[str, Any]) -> MachineConfig:
    check_printable(values)
    given = dict(values)
    start = dataclasses.asdict(preset(given.pop("base"))) if "base" in given else {}
    known = {f.name: f.default is dataclasses.MISSING for f in dataclasses.fields(MachineConfig)}
    unknown = [name for name in given if name not in known]
    if unknown:
        hint = nearest(unknown[0], known)
        raise ConfigError(f"unknown configuration field {unknown[0]!r}{hint}; known are {', '.join(known)}")
    if isinstance(given.get("chip"), dict):
        given["chip"] = described(given["chip"])
    start |= given
    missing = [name for name, required in known.items() if required and name not in start]
    if missing:
        raise ConfigError(f'configuration field {missing[0]} is missing; give it, or start from a preset with base = "nano"')
    return MachineConfig(**start)


def load_config(source: str) -> MachineConfig:
    """The preset of that name, or the configuration in that TOML file."""
    if source in PRESETS:
        return PRESETS[source]
    path = Path(source)
    if path.suffix != ".toml":
        hint = nearest(source, PRESETS)
        raise ConfigError(f"configuration {source!r}: neither a preset ({', '.join(PRESETS)}) nor a .toml file{hint}")
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"configuration file {source!r} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:  # not all that it refuses are its own errors
        raise ConfigError(f"configuration file {source!r}: not TOML: {error}") from None
    return config_from_dict(values, origin=f"configuration file {source!r}")


def preset(name: str) -> MachineConfig:
    """The configuration that comes with Tilewright under that name."""
    if not isinstance(name, str) or name not in PRESETS:
        raise ConfigError(f"preset {name!r}: unknown{nearest(str(name), PRESETS)}; known are {', '.join(PRESETS)}")
    return PRESETS[name]


PRESETS: dict[str, MachineConfig] = {name: MachineConfig(name=name, **fields) for name, fields in FIELDS.items()}
