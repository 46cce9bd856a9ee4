"""Every instruction in each of its modes, as short programs for any configuration."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from isa.codec import Op
from isa.config import MachineConfig
from isa.instructions import MISC_REDUCTIONS, Activation, MiscMode, PoolMode, Region

Case = Callable[[MachineConfig], list[Op]]
MODULUS = 1 << 24


def window(config: MachineConfig, *, size: tuple[int, int] = (7, 9), kernel: int = 3, stride: int = 1, dilation: int = 1,
           pad: int | None = None, vectors: int = 2, **more: int) -> dict[str, int]:  # fmt: skip
    """A padded window on a tensor at word 0 whose results go to the middle of the buffer."""
    i_h, i_w = size
    pad = kernel // 2 * dilation if pad is None else pad
    o_h, o_w = ((n + 2 * pad - (kernel - 1) * dilation - 1) // stride + 1 for n in size)
    return {
        "pad_t": pad, "pad_l": pad, "s_y": stride, "s_x": stride, "d_y": dilation, "d_x": dilation,
        "k_h": kernel, "k_w": kernel, "i_h": i_h, "i_w": i_w, "i_cs": i_h * i_w, "vectors": vectors,
        "i_ys": stride * i_w, "t_ys": dilation * i_w, "i_off": -pad * i_w % MODULUS, "pad_value": 3,
        "o_h": o_h, "o_w": o_w, "o_xs": 1, "o_ys": o_w, "o_cs": o_h * o_w, "o_addr": config.fm_words // 2,
        "lo": -128, "hi": 127, **more,
    }  # fmt: skip


def conv(config: MachineConfig, **options: Any) -> Op:
    return Op("CONV", {"chunks": 2 * config.chunks_per_word, **window(config, **options)})


def pool(config: MachineConfig, mode: PoolMode, **options: Any) -> Op:
    kernel = options.get("kernel", 3)
    steps = {"t_step": kernel * kernel, "p_step": kernel * kernel + 1 if options.get("by_count") else 1}
    return Op("POOL", {"mode": int(mode), **window(config, **options), **(steps if mode is not PoolMode.MAX else {})})


def misc(config: MachineConfig, mode: MiscMode, **more: int) -> Op:
    """Two operands of 2 x 3 x 5 words, dense, near the beginning of the buffer."""
    loops = {"n0": 1, "n1": 1, "n2": 2, "n3": 3, "n4": 5}
    strides = {f"{s}_s{j}": step for s in "abo" for j, step in ((2, 15), (3, 5), (4, 1))}
    places = {"a_addr": 3, "b_addr": 100, "o_addr": config.fm_words // 2}
    numbers = {"m_a": 1000, "m_b": -700, "shift": 10, "c_lo": 300, "zp": 4, "lo": -120, "hi": 120}
    once = {"o_s4": 0, "last_lanes": config.ic_p - config.ic_p // 2} if mode in MISC_REDUCTIONS else {}
    return Op("MISC", {"mode": int(mode), **loops, **strides, **places, **numbers, **once, **more})


def load(config: MachineConfig, **more: int) -> Op:
    """Three rows of seven pixels, of one and a half channel vectors."""
    run = config.ic_p + config.ic_p // 2
    dense = {"rows": 3, "pixels": 7, "run": run, "step": run, "valid": 7 * run, "row_stride": 7 * run + 5, "offset": 13}
    return Op("LOAD", {**dense, "region": int(Region.INPUT), "fill": -9, "d_xs": 2, "d_ys": 14, "d_cs": 1, **more})


def save(config: MachineConfig, **more: int) -> Op:
    run = config.ic_p + config.ic_p // 2
    dense = {"rows": 3, "pixels": 7, "run": run, "step": run, "row_stride": 7 * run + 5, "offset": 13}
    return Op("SAVE", {**dense, "region": int(Region.OUTPUT), "s_xs": 2, "s_ys": 14, "s_cs": 1, **more})


def ring(config: MachineConfig) -> list[Op]:
    """Five rows of nine pixels are kept; the tile begins in the fourth."""
    values = window(config, size=(5, 9), pad=1)
    return [Op("CONV", {**values, "chunks": 1, "i_ring": 45, "i_off": 2 * 9, "i_cs": 45})]


def accumulate(config: MachineConfig) -> list[Op]:
    """One reduction in three parts."""
    tile: dict[str, Any] = {"size": (3, 4), "chunks": 2}
    return [
        conv(config, **tile, acc_out=1, a_addr=1),
        conv(config, **tile, acc_in=1, acc_out=1, a_addr=1, i_addr=30),
        conv(config, **tile, acc_in=1, a_addr=1, i_addr=60),
    ]


def in_place(config: MachineConfig) -> list[Op]:
    return [misc(config, MiscMode.ADD, o_addr=3), misc(config, MiscMode.MUL, o_addr=100, a_zp=5, b_zp=-7)]


def chain(config: MachineConfig) -> list[Op]:
    """Every unit works on what the one before has written."""
    half = config.fm_words // 2
    result: dict[str, Any] = {"i_addr": half, "size": (7, 9), "o_addr": 0}
    return [
        load(config),
        conv(config),
        pool(config, PoolMode.MAX, **result),
        misc(config, MiscMode.PASS, a_addr=0),
        save(config, s_addr=half, s_xs=1, s_ys=7, s_cs=21),
    ]


def one(make: Callable[..., Op], *arguments: object, **options: object) -> Case:
    return lambda config: [make(config, *arguments, **options)]


def cases() -> Iterator[tuple[str, Case]]:
    """Name and program of every case."""
    table = {"act": int(Activation.TABLE), "table": 0, "zp": 5}
    for kernel in (1, 2, 3, 5, 7):
        yield f"conv {kernel}x{kernel}", one(conv, kernel=kernel)
    yield "conv 3x3 stride 2", one(conv, stride=2)
    yield "conv 7x7 stride 2", one(conv, kernel=7, stride=2, size=(13, 14), vectors=1)
    yield "conv 3x3 stride 3", one(conv, stride=3)
    yield "conv 3x3 stride 33", one(conv, stride=33, size=(36, 38), vectors=1)
    yield "conv 3x3 dilation 2", one(conv, dilation=2)
    yield "conv without padding", one(conv, pad=0)
    yield "conv all padding", one(conv, kernel=1, pad=0, pad_t=40, pad_l=40, i_off=0)
    yield "conv one pixel", one(conv, size=(1, 1))
    yield "conv grouped", one(conv, g_chunks=1, g_step=7, chunks=3)
    yield "conv transposed phase", one(conv, kernel=2, pad=1, o_xs=2, o_ys=40, o_cs=400, chunks=1)
    yield "conv one chunk", one(conv, chunks=1)
    yield "conv table", one(conv, **table)
    yield "conv clamp", one(conv, lo=-20, hi=30, zp=-3)
    yield "conv clamp crossed", one(conv, lo=30, hi=-20)
    yield "conv ring", ring
    yield "conv accumulate", accumulate
    for mode in PoolMode:
        name = f"pool {mode.name.lower()}"
        for stride in (1, 2):
            yield f"{name} stride {stride}", one(pool, mode, stride=stride)
        yield f"{name} 2x2", one(pool, mode, kernel=2, stride=2, pad=0)
        yield f"{name} dilation 2", one(pool, mode, dilation=2)
        yield f"{name} whole image", one(pool, mode, kernel=6, size=(6, 6), pad=0)
        yield f"{name} table", one(pool, mode, **table)
    yield "pool max stride 63", one(pool, PoolMode.MAX, stride=63, size=(66, 20), vectors=1)
    yield "pool average by count", one(pool, PoolMode.AVERAGE, by_count=1)
    for misc_mode in MiscMode:
        name = f"misc {misc_mode.name.lower()}"
        yield name, one(misc, misc_mode, a_zp=-100, b_zp=50)
        yield f"{name} broadcast", one(misc, misc_mode, b_s3=0, b_s4=0)
        yield f"{name} table", one(misc, misc_mode, **table)
    yield "misc five loops", one(misc, MiscMode.ADD, n0=2, n1=3, a_s0=200, a_s1=31, b_s0=11, b_s1=5, o_s0=300, o_s1=90)
    yield "misc extremes", one(misc, MiscMode.ADD, m_a=-(1 << 25), m_b=-(1 << 25), c_hi=-(1 << 15), c_lo=0, shift=0)
    yield "misc nearest resize", one(misc, MiscMode.PASS, n3=3, n4=2, n2=5, a_s4=0, a_s3=1, a_s2=7, o_s4=1, o_s3=2, o_s2=6)
    yield "misc in place", in_place
    yield "load dense", one(load)
    yield "load flipped with lead", one(load, flip=1, lead=6)
    yield "load short rows", one(load, valid=17)
    yield "load long rows", lambda config: [load(config, valid=7 * load(config)["run"] + 9)]
    yield "load rows backwards", one(load, row_stride=-400 % (1 << 32), offset=1000)
    yield "load overlapping windows", lambda config: [load(config, run=9, step=3, lead=3, valid=18, d_cs=50)]
    yield "load pixels apart", lambda config: [load(config, step=load(config)["run"] + 11, valid=1)]
    yield "load fill only", one(load, valid=0)
    yield "save dense", one(save)
    yield "save flipped", one(save, flip=1)
    yield "save pixels apart", lambda config: [save(config, step=save(config)["run"] + 11, row_stride=900)]
    yield "save rows backwards", one(save, row_stride=-400 % (1 << 32), offset=1000)
    yield "chain over all units", chain
