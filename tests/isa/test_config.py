"""The machine configuration: bounds, presets, TOML files, and what a wrong one is answered with."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isa.bounds import BOUNDS, ConfigError
from isa.chips import chip_of
from isa.config import OF_NO_PROGRAM, PRESETS, MachineConfig, config_from_dict, load_config, preset
from isa.configuration_page import configuration_page
from isa.ram import RAM_FIELDS
from tests.conftest import Golden

NANO = preset("nano")
BASE = preset("base")


@pytest.mark.parametrize("name", PRESETS)
def test_presets_load_by_name(name: str) -> None:
    config = load_config(name)
    assert config is preset(name)
    assert config.name == name
    assert config_from_dict(json.loads(config.to_json()), origin="json") == config


@pytest.mark.parametrize(
    ("name", "array", "macs", "kib", "axi_bytes"),
    [
        ("nano", (4, 4, 1), 16, 24, 8),
        ("ulx3s", (8, 8, 1), 64, 204, 8),
        ("pynq", (16, 8, 2), 256, 412, 8),
        ("base", (16, 16, 2), 512, 1312, 16),
        ("k26", (16, 16, 4), 1024, 1320, 32),
        ("zu2", (24, 12, 2), 576, 474, 16),
        ("zu9", (32, 16, 4), 2048, 1.33 * 1024, 16),
    ],
)
def test_presets_are_the_machines_of_the_brief(
    name: str, array: tuple[int, ...], macs: int, kib: float, axi_bytes: int
) -> None:
    config = preset(name)
    assert (config.ic_p, config.oc_p, config.px_p) == array
    assert config.macs_per_cycle == macs
    assert config.on_chip_bytes / 1024 == pytest.approx(kib, rel=0.06)
    assert config.axi_bytes == axi_bytes


def test_hashes_tell_machines_apart_but_not_names() -> None:
    assert len({config.hash for config in PRESETS.values()}) == len(PRESETS)
    other_bus: dict[str, Any] = {"axi_burst_beats": 16, "axi_reads": 1, "axi_prot": 2, "axi_cache": 15, "axi_qos": 4}
    other_bus |= {"axi_ports": 2, "axi_read_ahead": 256, "dram_latency": 150}
    assert dataclasses.replace(NANO, name="other", clock_mhz=1, chip="XCK26", chip_cores=2, **other_bus).hash == NANO.hash
    other_memories: dict[str, Any] = dict.fromkeys(RAM_FIELDS, "distributed")
    assert dataclasses.replace(NANO, **other_memories).hash == NANO.hash
    for field in {f.name for f in dataclasses.fields(MachineConfig)} - set(OF_NO_PROGRAM):
        value = getattr(BASE, field)
        others: dict[str, Any] = {"px_p": 4, "axi_addr_bits": 41, "requant": "shift"}
        other: Any = others[field] if field in others else not value if isinstance(value, bool) else value // 2
        assert dataclasses.replace(BASE, **{field: other}).hash != BASE.hash, field


@pytest.mark.parametrize("field", BOUNDS)
def test_every_bound_is_kept(field: str) -> None:
    low, high = BOUNDS[field].low, BOUNDS[field].high
    wrong: Any
    for wrong in (low - 1, high + 1, -1):
        with pytest.raises(ConfigError, match=re.escape(f"{field}: {wrong} is outside {low}..{high}; choose a value within")):
            dataclasses.replace(NANO, **{field: wrong})
    for wrong in (1.0, "4", None, True, [4]):
        with pytest.raises(ConfigError, match=re.escape(f"{field}: {wrong!r} is not a whole number")):
            dataclasses.replace(NANO, **{field: wrong})


@pytest.mark.parametrize("field", sorted(BOUNDS))
def test_both_ends_of_every_bound_can_be_built(field: str) -> None:
    for value in (BOUNDS[field].low, BOUNDS[field].high):
        changes: dict[str, Any] = {field: value}
        if field in ("px_p", "pool_taps"):
            changes |= {"fm_banks": 16}
        if field == "conv_finish":
            changes |= {"px_p": min(8, value), "oc_p": max(1, value // 8), "fm_banks": 16}
        if field == "pool_finish":
            changes |= {"ic_p": value}
        if field == "fm_depth":
            changes |= {"fm_banks": 1}
        if field == "misc_lanes":
            changes |= {"ic_p": value}
        if field == "narrow_pairs":
            changes |= {"oc_p": 64}
        if field == "array_clock":
            changes |= {"dsp_packing": True}
        assert getattr(dataclasses.replace(NANO, **changes), field) == value


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"fm_depth": 500}, "fm_depth: 500 is not a power of two; try 512"),
        ({"axi_ports": 3}, "axi_ports: 3 is outside 1..2"),
        ({"axi_ports": 2, "axi_data_bits": 32}, "axi_ports: 2 share the 32 bits of axi_data_bits, and each needs 32; make"),
        (
            {"axi_ports": 2, "chip": "XCZU9EG", "chip_cores": 3},
            "axi_ports: 2 of 3 machines (chip_cores) are 6, and XCZU9EG has 4 to its DRAM; make axi_ports 1, or chip_cores 2",
        ),
        ({"axi_ports": 2, "axi_burst_beats": 1}, "axi_burst_beats: 1 is less than a beat of the bus, which takes 2 of a port"),
        ({"axi_data_bits": 96}, "axi_data_bits: 96 is not a power of two; try 128"),
        ({"conv_finish": 12}, "conv_finish: 12 neither divides oc_p = 16 nor is a multiple of it that divides px_p x"),
        ({"conv_finish": 3}, "choose 1, 2, 4, 8, 16 or 32"),
        ({"conv_finish": 64}, "conv_finish: 64 neither divides oc_p = 16"),
        ({"pool_finish": 32}, "pool_finish: 32 does not divide ic_p = 16; choose 1, 2, 4, 8 or 16"),
        ({"misc_lanes": 5}, "misc_lanes: 5 does not divide the 16 lanes of a word (ic_p); choose one of 1, 2, 4, 8, 16"),
        ({"build_rows": True, "row_lanes": 5}, "row_lanes: 5 does not divide the 16 lanes of a word (ic_p)"),
        ({"build_rows": True, "row_words": 256, "ic_p": 32}, "row_words: 256 words of 32 elements (ic_p) are more than"),
        ({"build_rows": 1}, "build_rows: 1 is not true or false"),
        ({"build_products": True, "oc_p": 12, "conv_finish": 12}, "build_products: needs an oc_p that divides ic_p = 16"),
        ({"fm_banks": 30}, "fm_banks: 30 is not a multiple of 4, which px_p = 2 asks for (and pool_taps = 3)"),
        ({"fm_banks": 256, "fm_depth": 8192}, "fm_banks x fm_depth: 2097152 words are more than the 1048576"),
        ({"dsp_packing": True, "px_p": 1, "conv_finish": 1, "oc_p": 3}, "dsp_packing: needs an even px_p or an even oc_p"),
        ({"array_clock": 2, "dsp_packing": False}, "array_clock: 2 is for packed products (dsp_packing), which it is without"),
        ({"array_clock": 2, "oc_p": 15, "conv_finish": 15}, "array_clock: 2 needs an oc_p that is a multiple of 2 (px_p is 2)"),
        (
            {"array_clock": 2, "px_p": 1, "oc_p": 6, "conv_finish": 6},
            "multiple of 4 (px_p is 1), for each multiplier makes two pairs of products by turns, and 6 is none; "
            "make array_clock 1, or oc_p 8",
        ),
        ({"build_pool": 1}, "build_pool: 1 is not true or false"),
        ({"shared_finish": 2}, "shared_finish: 2 is not true or false"),
        ({"build_misc": "yes"}, "build_misc: 'yes' is not true or false"),
        ({"acc_ram": "lut"}, "acc_ram: 'lut' is not one of auto, block, distributed, ultra"),
        ({"fm_ram": 1}, "fm_ram: 1 is not one of auto"),
        ({"name": ""}, "name: '' is not 1 to 64 letters"),
        ({"name": "../../x"}, "name: '../../x' is not 1 to 64 letters"),
        ({"name": "a\n"}, "is not 1 to 64 letters (a to z), digits, _ and -; files are named after it"),
        ({"name": "n" * 65}, "is not 1 to 64 letters"),
        ({"name": 7}, "name: 7 is not 1 to 64 letters"),
    ],
)
def test_what_cannot_be_built_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        dataclasses.replace(BASE, **change)


@given(st.integers(1, 8), st.integers(0, 1 << 20))
def test_neighbouring_pixels_at_stride_1_and_2_lie_in_different_phases(px_p: int, start: int) -> None:
    phases = dataclasses.replace(NANO, px_p=px_p, fm_banks=16).fm_phases
    for stride in (1, 2):
        assert len({(start + lane * stride) % phases for lane in range(px_p)}) == px_p


@given(st.integers(1, 64), st.integers(1, 64))
def test_a_chunk_never_straddles_words(ic_p: int, oc_p: int) -> None:
    config = dataclasses.replace(NANO, ic_p=ic_p, oc_p=oc_p)
    if oc_p < ic_p:
        assert (config.chunks_per_word - 1) * oc_p < ic_p <= config.chunks_per_word * oc_p
        assert config.words_per_chunk == 1
    else:
        assert config.chunks_per_word == 1
        assert config.words_per_chunk * ic_p <= oc_p < (config.words_per_chunk + 1) * ic_p


@pytest.mark.parametrize("config", PRESETS.values(), ids=lambda c: c.name)
def test_buffer_words_are_padded_to_whole_beats(config: MachineConfig) -> None:
    for buffer in ("WEIGHT", "PARAM", "TAPS", "POOL_PARAM", "TABLE"):
        size, padded = config.buffer_word_bytes(buffer), config.buffer_dram_bytes(buffer)
        assert padded % config.axi_bytes == 0
        assert 0 <= padded - size < config.axi_bytes
        assert config.buffer_depth(buffer) > 0


def test_the_page_is_what_the_fields_say(golden: Golden) -> None:
    page = configuration_page()
    golden(Path(__file__).parents[2] / "docs" / "reference" / "configuration.md", page)
    rows = {line.split("`")[1]: line for line in page.splitlines() if line.startswith("| `")}
    assert set(rows) == {field.name for field in dataclasses.fields(MachineConfig)}
    assert "| 16..65536, a power of two |" in rows["fm_depth"]
    assert "| `float32`, `shift` |" in rows["requant"]
    assert "| true, false |" in rows["build_misc"]


def write(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_a_toml_file_starts_from_a_preset(tmp_path: Path) -> None:
    config = load_config(write(tmp_path / "mine.toml", 'base = "nano"\nname = "mine"\noc_p = 8\nbuild_misc = false\n'))
    assert config == dataclasses.replace(NANO, name="mine", oc_p=8, build_misc=False)


def test_a_toml_file_may_give_everything(tmp_path: Path) -> None:
    lines = [f"{name} = {json.dumps(value)}" for name, value in dataclasses.asdict(BASE).items()]
    assert load_config(write(tmp_path / "all.toml", "\n".join(lines))) == BASE


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ic_p = ", "not TOML: "),
        ("\x00", "not TOML: "),
        ('base = "nano"\nlanes = 4', "unknown configuration field 'lanes', did you mean 'row_lanes'?; known are name,"),
        ('base = "giga"', "preset 'giga': unknown; known are nano, ulx3s, pynq, base, k26, zu2, zu9"),
        ("base = [1]", "preset [1]: unknown"),
        ('name = "x"\noc_p = 4', 'configuration field ic_p is missing; give it, or start from a preset with base = "nano"'),
        ('base = "nano"\nic_p = 0', "configuration field ic_p: 0 is outside 1..64"),
        ('base = "nano"\nchip = "XC2064"', "configuration field chip: 'XC2064' is unknown; known are LFE5U-25F, "),
        ('base = "nano"\nchip = [4]', "configuration field chip: '[4]' is unknown; known are LFE5U-25F, "),
        ('base = "nano"\nic_p = 4.0', "configuration field ic_p: 4.0 is not a whole number"),
        ('base = "nano"\n[ic_p]\nx = 1', "configuration field ic_p: {'x': 1} is not a whole number"),
    ],
)
def test_a_wrong_toml_file_is_refused(text: str, message: str, tmp_path: Path) -> None:
    path = write(tmp_path / "wrong.toml", text)
    with pytest.raises(ConfigError, match=re.escape(message)) as error:
        load_config(path)
    assert path in str(error.value)


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"configuration 'big': neither a preset \(nano, .*, zu9\) nor a .toml file$"):
        load_config("big")
    with pytest.raises(ConfigError, match=r"none.toml' cannot be read: No such file or directory"):
        load_config(str(tmp_path / "none.toml"))
    (tmp_path / "dir.toml").mkdir()
    with pytest.raises(ConfigError, match="cannot be read: Is a directory"):
        load_config(str(tmp_path / "dir.toml"))
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="not TOML"):
        load_config(str(tmp_path / "bytes.toml"))


def test_a_chip_of_ones_own_is_described_in_a_table(tmp_path: Path) -> None:
    rows = 'name = "XCZU15EG"\nfamily = "xcup"\nLUT = 341280\nFF = 682560\nDSP = 3528\nBRAM = 744\n'
    (tmp_path / "own.toml").write_text(f'base = "zu2"\n[chip]\n{rows}')
    config = load_config(str(tmp_path / "own.toml"))
    chip = chip_of(config.chip)
    assert chip is not None
    assert (chip.name, chip.family, chip.capacity["DSP"]) == ("XCZU15EG", "xcup", 3528)
    (tmp_path / "again.toml").write_text(config.to_toml())
    assert load_config(str(tmp_path / "again.toml")) == config


@pytest.mark.parametrize("line", ['family = "virtex"', "LUT = -1", "BRAM = 1.5", "SLICES = 4", 'name = "two words"'])
def test_a_chip_that_is_described_wrongly_is_refused(line: str, tmp_path: Path) -> None:
    given = {"name": '"X"', "family": '"xcup"', "LUT": "1", "FF": "1", "DSP": "1", "BRAM": "1"}
    key, _, value = line.partition(" = ")
    rows = "".join(f"{name} = {number}\n" for name, number in {**given, key: value}.items())
    (tmp_path / "own.toml").write_text(f'base = "zu2"\n[chip]\n{rows}')
    with pytest.raises(ConfigError, match="describe another in TOML by a table"):
        load_config(str(tmp_path / "own.toml"))
