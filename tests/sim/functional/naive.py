"""The machine written down a second time, straight from docs/reference/semantics.md: scalars, loops, whole numbers."""

from __future__ import annotations

from types import SimpleNamespace

from isa.codec import Op
from isa.config import MachineConfig
from isa.instructions import Activation, Buffer, PoolMode, Region
from tests.hw.misc import misc_reference
from tests.hw.rows import row_reference


def signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def divide_even(value: int, shift: int) -> int:
    """``value / 2^shift`` rounded to a whole number, ties to even."""
    quotient, rest = value >> shift, value & ((1 << shift) - 1)
    half = 1 << shift >> 1
    if shift and (rest > half or (rest == half and quotient & 1)):
        quotient += 1
    return quotient


def round24(value: int) -> int:
    """Rounded to 24 significant bits, ties to even."""
    surplus = max(0, abs(value).bit_length() - 24)
    magnitude = divide_even(abs(value), surplus) << surplus
    return -magnitude if value < 0 else magnitude


def saturate16(value: int) -> int:
    return max(-32768, min(32767, value))


def requantise(acc: int, bias: int, mantissa: int, nibbles: int, doubled: int, bits: int = 32) -> int:
    t = signed(acc + bias, bits)
    q = round24((round24(t) << doubled) * mantissa)
    y = divide_even(q, 4 * nibbles)
    return saturate16(y) if bits == 32 else max(-65536, min(65535, y))


def fields(record: int) -> tuple[int, int, int, int]:
    """Of a record: bias, mantissa, nibbles, doubled."""
    return signed(record, 32), record >> 32 & 0x3FFFFFF, record >> 58 & 15, record >> 62 & 1


class NaiveMachine:
    def __init__(self, config: MachineConfig) -> None:
        self.config = config
        self.fm = [[0] * config.ic_p for _ in range(config.fm_words)]
        self.buffers = {
            b: [bytes(config.buffer_word_bytes(b.name)) for _ in range(config.buffer_depth(b.name))] for b in Buffer
        }
        self.reads: set[tuple[str, int]] = set()
        self.writes: set[tuple[str, int]] = set()
        """Locations touched so far, by memory; accumulators left out."""
        self.acc = [[[0] * (config.oc_p + 1) for _ in range(config.px_p)] for _ in range(config.acc_depth)]

    def execute(self, op: Op, memory: bytearray, bases: dict[Region, int]) -> None:
        f = op.namespace()
        if op.name in ("LOAD", "LOADP", "LOADW", "SAVE"):
            base = bases[Region(f.region)]
            {"LOAD": self.load, "LOADP": self.loadp, "LOADW": self.loadw, "SAVE": self.save}[op.name](f, memory, base)
        else:
            {"CONV": self.conv, "POOL": self.pool, "MISC": self.misc, "ROW": self.row}[op.name](f)

    def read(self, address: int) -> list[int]:
        self.reads.add(("FEATURE_MAP", address % 2**24))
        return self.fm[address % 2**24]

    def write(self, fm: list[list[int]], address: int, word: list[int], first_lane: int = 0) -> None:
        self.writes.add(("FEATURE_MAP", address % 2**24))
        fm[address % 2**24][first_lane : first_lane + len(word)] = word

    def parameter(self, buffer: Buffer, word: int) -> bytes:
        self.reads.add((buffer.name, word))
        return self.buffers[buffer][word]

    # -- moves ---------------------------------------------------------------------------------------------------

    def load(self, f: SimpleNamespace, memory: bytearray, base: int) -> None:
        ic_p = self.config.ic_p
        for r in range(f.rows):
            start = base + (f.offset + r * f.row_stride) % 2**32
            for x in range(f.pixels):
                for j in range(-(-f.run // ic_p)):
                    word = [self.channel(f, memory, start, x, j * ic_p + lane) for lane in range(ic_p)]
                    self.write(self.fm, f.d_addr + r * f.d_ys + x * f.d_xs + j * f.d_cs, word)

    def channel(self, f: SimpleNamespace, memory: bytearray, start: int, x: int, channel: int) -> int:
        """A channel of pixel ``x`` of a row that starts at a byte of DRAM."""
        at = x * f.step + channel
        from_dram = f.lead <= at < f.lead + f.valid if f.step <= f.run else f.valid > 0
        if channel >= f.run or not from_dram:
            return int(f.fill)
        self.reads.add(("DRAM", start + at - f.lead))
        return signed(memory[start + at - f.lead] ^ (0x80 if f.flip else 0), 8)

    def save(self, f: SimpleNamespace, memory: bytearray, base: int) -> None:
        ic_p = self.config.ic_p
        for r in range(f.rows):
            start = base + (f.offset + r * f.row_stride) % 2**32
            for x in range(f.pixels):
                for c in range(f.run):
                    word = self.read(f.s_addr + r * f.s_ys + x * f.s_xs + c // ic_p * f.s_cs)
                    self.writes.add(("DRAM", start + x * f.step + c))
                    memory[start + x * f.step + c] = (word[c % ic_p] & 0xFF) ^ (0x80 if f.flip else 0)

    def loadp(self, f: SimpleNamespace, memory: bytearray, base: int) -> None:
        buffer = Buffer(f.buffer)
        held, pitch = self.config.buffer_word_bytes(buffer.name), self.config.buffer_dram_bytes(buffer.name, f.int4)
        for n in range(f.count):
            start = base + f.offset + n * pitch
            word = bytes(memory[start : start + pitch])
            self.buffers[buffer][f.dst + n] = (self.widened(word) if f.int4 else word)[:held]
            self.reads.update(("DRAM", byte) for byte in range(start, start + pitch))
            self.writes.add((buffer.name, f.dst + n))

    def loadw(self, f: SimpleNamespace, memory: bytearray, base: int) -> None:
        ic_p, oc_p = self.config.ic_p, self.config.oc_p
        sums: dict[tuple[int, int], int] = {}
        vectors, chunks = -(-f.run // ic_p), -(-f.run // oc_p)
        group = oc_p if f.turned else ic_p
        for j in range(-(-f.pixels // group) * group):
            for channel in range(vectors * ic_p if f.turned else chunks * oc_p):
                weight = self.channel(f, memory, base + f.offset, j, channel) if j < f.pixels else f.fill
                if f.turned:
                    chunk, o, i = j // oc_p, j % oc_p, channel % ic_p
                    word = f.w_addr + chunk * vectors + channel // ic_p
                else:
                    chunk, o, i = channel // oc_p, channel % oc_p, j % ic_p
                    word = f.w_addr + chunk * f.w_step + j // ic_p
                held = bytearray(self.buffers[Buffer.WEIGHT][word])
                held[i * oc_p + o] = weight & 0xFF
                self.buffers[Buffer.WEIGHT][word] = bytes(held)
                self.writes.add(("WEIGHT", word))
                sums[chunk, o] = sums.get((chunk, o), 0) + weight - f.w_zp
        for (chunk, o), total in sums.items():
            record = f.scale << 32 | -f.x_zp * total & 0xFFFFFFFF
            words = bytearray(self.buffers[Buffer.PARAM][f.p_addr + chunk])
            words[8 * o : 8 * o + 8] = record.to_bytes(8, "little")
            self.buffers[Buffer.PARAM][f.p_addr + chunk] = bytes(words)
            self.writes.add(("PARAM", f.p_addr + chunk))

    def widened(self, word: bytes) -> bytes:
        """Of each beat first the low halves of its bytes, then the high ones, as signed bytes."""
        beats = [word[at : at + self.config.axi_bytes] for at in range(0, len(word), self.config.axi_bytes)]
        halves = [half for beat in beats for half in (*(byte & 15 for byte in beat), *(byte >> 4 for byte in beat))]
        return bytes(half | 0xF0 if half >= 8 else half for half in halves)

    # -- arithmetic ----------------------------------------------------------------------------------------------

    def record(self, buffer: Buffer, word: int, lane: int) -> tuple[int, int, int, int]:
        return fields(int.from_bytes(self.parameter(buffer, word)[8 * lane : 8 * lane + 8], "little"))

    def finish(self, r: int, f: SimpleNamespace) -> int:
        y: int = min(max(r + f.zp, f.lo), f.hi)
        if f.act == Activation.TABLE:
            y = signed(self.parameter(Buffer.TABLE, f.table)[y & 0xFF], 8)
        return y

    def finish16(self, r: int, f: SimpleNamespace) -> tuple[int, int]:
        """Low byte, less 128, and high byte."""
        zp, lo, hi = (signed(f.__dict__[f"{name}_high"] << 8 | f.__dict__[name] & 0xFF, 16) for name in ("zp", "lo", "hi"))
        y = min(max(r + zp, lo), hi)
        return (y & 0xFF) - 128, y >> 8

    def tap(self, f: SimpleNamespace, oy: int, ox: int, ky: int, kx: int, extra: int) -> list[int] | None:
        """The channel vector under a tap; None if it is padding."""
        iy = oy * f.s_y - f.pad_t + ky * f.d_y
        ix = ox * f.s_x - f.pad_l + kx * f.d_x
        if not (0 <= iy < f.i_h and 0 <= ix < f.i_w):
            return None
        row = f.i_off + oy * f.i_ys + ky * f.t_ys
        if f.i_ring:
            row %= f.i_ring
        return self.read(f.i_addr + row + ix + extra)

    def conv(self, f: SimpleNamespace) -> None:
        c = self.config
        beats = f.k_h * f.k_w * f.vectors
        pixels = [(oy, ox) for oy in range(f.o_h) for ox in range(f.o_w)]
        groups = -(-len(pixels) // c.px_p)
        fm_after = [list(word) for word in self.fm]
        for k in range(f.chunks):
            for number, (oy, ox) in enumerate(pixels):
                sums = [0] * (c.oc_p + 1)
                beat = 0
                for ky in range(f.k_h):
                    for kx in range(f.k_w):
                        for v in range(f.vectors):
                            group = k // f.g_chunks if f.g_chunks else 0
                            low = f.x16 and v % 2 == 0
                            padding = [f.w_zp if low else f.pad_value] * c.ic_p
                            x = self.tap(f, oy, ox, ky, kx, v * f.i_cs + group * f.g_step) or padding
                            weights = self.parameter(Buffer.WEIGHT, f.w_addr + (k * beats + beat) // (1 + f.x16))
                            worth = 256 if f.x16 and not low else 1
                            for o in range(c.oc_p):
                                products = sum(x[i] * signed(weights[i * c.oc_p + o], 8) for i in range(c.ic_p))
                                sums[o] += worth * products
                            sums[-1] += sum(x)
                            beat += 1
                entry = f.a_addr + k * groups + number // c.px_p
                if f.acc_in:
                    sums = [s + held for s, held in zip(sums, self.acc[entry][number % c.px_p], strict=True)]
                sums = [*(signed(s, c.sum_bits) for s in sums[:-1]), signed(sums[-1], 32)]
                if f.acc_out:
                    self.acc[entry][number % c.px_p] = sums
                    continue
                correction = 0 if f.x16 else signed(f.w_zp * sums[-1], 32)
                sums = [s - correction for s in sums[:-1]]
                records = [self.record(Buffer.PARAM, f.p_addr + k, o) for o in range(c.oc_p)]
                finished = [requantise(s, *record, c.sum_bits) for s, record in zip(sums, records, strict=True)]
                for o, r in enumerate(finished):
                    if c.oc_p < c.ic_p:
                        g = -(-c.ic_p // c.oc_p)
                        vector, lane = k // g, k % g * c.oc_p + o
                        if lane >= c.ic_p:
                            continue
                    else:
                        m = c.oc_p // c.ic_p
                        if o >= m * c.ic_p:
                            continue
                        vector, lane = k * m + o // c.ic_p, o % c.ic_p
                    for byte, value in enumerate(self.finish16(r, f) if f.y16 else (self.finish(r, f),)):
                        word = f.o_addr + oy * f.o_ys + ox * f.o_xs + (vector * (1 + f.y16) + byte) * f.o_cs
                        self.write(fm_after, word, [value], lane)
        self.fm = fm_after

    def pool(self, f: SimpleNamespace) -> None:
        c = self.config
        fm_after = [list(word) for word in self.fm]
        for v in range(f.vectors):
            for oy in range(f.o_h):
                for ox in range(f.o_w):
                    taps = [self.tap(f, oy, ox, ky, kx, v * f.i_cs) for ky in range(f.k_h) for kx in range(f.k_w)]
                    seen = [[f.pad_value] * c.ic_p if tap is None else tap for tap in taps]
                    counted = [tap for tap in taps if tap is not None]
                    out = []
                    for lane in range(c.ic_p):
                        p_word = f.p_addr + v * f.p_step
                        if f.mode == PoolMode.MAX:
                            out.append(self.finish(max(tap[lane] for tap in seen), f))
                            continue
                        if f.mode == PoolMode.DEPTHWISE:
                            rows = [self.parameter(Buffer.TAPS, f.t_addr + v * f.t_step + n) for n in range(len(seen))]
                            acc = sum(tap[lane] * signed(row[lane], 8) for tap, row in zip(seen, rows, strict=True))
                        elif f.by_count:
                            acc = sum(tap[lane] for tap in counted)
                            p_word += len(counted)
                        else:
                            acc = sum(tap[lane] for tap in seen)
                        out.append(self.finish(requantise(acc, *self.record(Buffer.POOL_PARAM, p_word, lane)), f))
                    self.write(fm_after, f.o_addr + oy * f.o_ys + ox * f.o_xs + v * f.o_cs, out)
        self.fm = fm_after

    def row(self, f: SimpleNamespace) -> None:
        row_reference.run(
            vars(f), self.config.ic_p, self.read, lambda address, word: self.write(self.fm, address, word),
            lambda word: self.parameter(Buffer.EXP, word), lambda word: self.parameter(Buffer.NORM, word),
        )  # fmt: skip

    def misc(self, f: SimpleNamespace) -> None:
        table = [signed(byte, 8) for byte in self.parameter(Buffer.TABLE, f.table)] if f.act == Activation.TABLE else []
        misc_reference.run(vars(f), self.read, lambda address, word: self.write(self.fm, address, word), table)
