"""The formula of sizes: ``python -m bench.size_model [--fit] [--target FAMILY] [--kept zu9] [--jobs N]``.

Synthesises machines (those of the cache cost nothing), and prints for each kind of resource how far ``isa.estimate`` is off,
machine by machine. ``--fit`` first fits its coefficients to them and writes isa/size_coefficients.json: weights of at least
zero, of least relative error, for the parts that improve the estimate of a machine left out of the fit. The error that is
kept is the greatest of those. Machines that are ``--kept`` are not synthesised: their sizes are those of the last fit.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from bench.command import command
from isa.chips import FAMILIES, chip_of
from isa.config import PRESETS, MachineConfig, config_from_dict, preset
from isa.estimate import COEFFICIENTS, coefficients, parts
from sim.synthesis.size import size_of
from sim.synthesis.targets import TARGETS

Array = npt.NDArray[np.float64]
KINDS = ("LUT", "FF", "DSP", "BRAM")
SLIGHT = 1e-9
"""The slope below which a part counts as no improvement."""
_SQUARE: dict[str, object] = {"ic_p": 8, "oc_p": 8, "px_p": 2, "conv_finish": 8, "pool_finish": 8, "fm_banks": 16}
NANO_VARIANTS: dict[str, dict[str, object]] = {
    "wide": {"ic_p": 8}, "tall": {"oc_p": 8}, "pixels": {"px_p": 2, "fm_banks": 8}, "bus": {"axi_data_bits": 128},
    "no_pool": {"build_pool": False}, "no_misc": {"build_misc": False}, "banks": {"fm_banks": 12},
    "apart": {"shared_finish": False}, "lanes": {"shared_finish": False, "conv_finish": 4, "pool_finish": 4},
    "square": _SQUARE, "square_no_pool": {**_SQUARE, "build_pool": False}, "square_no_misc": {**_SQUARE, "build_misc": False},
    "square_wide": {**_SQUARE, "ic_p": 16}, "square_tall": {**_SQUARE, "oc_p": 16},
    "square_bus": {**_SQUARE, "axi_data_bits": 128}, "square_taps": {**_SQUARE, "pool_taps": 3},
    "square_lanes": {**_SQUARE, "conv_finish": 2, "pool_finish": 2},
}  # fmt: skip
"""Small machines that differ from `nano` in one number, or in many."""
BASE_VARIANTS: dict[str, dict[str, object]] = {
    "doubled": {"array_clock": 2}, "two_ports": {"array_clock": 2, "axi_ports": 2, "axi_data_bits": 256},
    "four_pixels": {"array_clock": 2, "px_p": 4, "pool_taps": 2, "conv_finish": 8},
}  # fmt: skip
"""Machines beside `base`, which is for an UltraScale+: arrays on a doubled clock."""


def machines(target: str) -> list[MachineConfig]:
    """The presets for that kind of chip, and the variants."""
    found = [("nano", NANO_VARIANTS), ("base", BASE_VARIANTS if target == "xcup" else {})]
    variants = [
        config_from_dict({"base": base, "name": name, **changes}, origin=name)
        for base, changed in found for name, changes in changed.items()
    ]
    meant = [config for config in PRESETS.values() if (chip := chip_of(config.chip)) and chip.family == target]
    return [*dict.fromkeys([preset("nano"), *meant]), *variants]


def fit(rows: Array, measured: Array) -> Array:
    """The weights of at least zero with the least sum of squared relative errors, by Lawson's and Hanson's active sets."""
    scaled = rows / measured[:, None]
    weights = np.zeros(rows.shape[1])
    used = np.zeros(rows.shape[1], dtype=np.bool_)
    while True:
        slope = np.where(used, 0.0, scaled.T @ (1 - scaled @ weights))
        if slope.max() <= SLIGHT:
            return weights
        used[slope.argmax()] = True
        while True:
            free = np.zeros_like(weights)
            free[used] = np.linalg.lstsq(scaled[:, used], np.ones(len(measured)), rcond=None)[0]
            falling = used & (free <= 0)
            if not falling.any():
                weights = free
                break
            reach = (weights[falling] / (weights[falling] - free[falling])).min()
            weights = weights + reach * (free - weights)
            used &= weights > SLIGHT
            weights[~used] = 0.0


def left_out_errors(rows: Array, measured: Array) -> Array:
    """The relative error of each machine, by the fit to the others."""
    return np.array([
        rows[one] @ fit(np.delete(rows, one, 0), np.delete(measured, one)) / measured[one] - 1 for one in range(len(measured))
    ])


def chosen(rows: Array, measured: Array) -> list[int]:
    """The parts of the formula. From none or from all of them, one is added or left out as long as the greatest error of a
    machine that is left out of the fit becomes less."""

    def error(columns: Sequence[int]) -> float:
        return float(np.abs(left_out_errors(rows[:, columns], measured)).max()) if columns else float("inf")

    ends = []
    for found in ([], [*range(rows.shape[1])]):
        least = error(found)
        while True:
            others = [sorted({*found} ^ {part}) for part in range(rows.shape[1])]
            errors = [error(columns) for columns in others]
            best = int(np.argmin(errors))
            if errors[best] >= least:
                break
            least, found = errors[best], others[best]
        ends.append((least, found))
    return min(ends, key=lambda end: end[0])[1]


def fitted(rows: Array, sizes: dict[str, Array], names: list[str]) -> dict[str, dict[str, object]]:
    """The weights and the error of each kind of resource of a family, as they are written."""
    kinds: dict[str, dict[str, object]] = {}
    for kind, measured in sizes.items():
        used = rows[:, columns := chosen(rows, measured)]
        weights = {names[part]: round(float(weight), 4) for part, weight in zip(columns, fit(used, measured), strict=True)}
        kinds[kind] = {"weights": weights, "error": round(float(np.abs(left_out_errors(used, measured)).max()), 3)}
    return kinds


def _report(line: str) -> None:
    print(line, file=sys.stderr)


def main(arguments: list[str] | None = None) -> None:
    parser = command("size_model", __doc__)
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--target", choices=FAMILIES, default="xcup")
    parser.add_argument("--machines", nargs="*", help="names of presets and variants; default: all")
    parser.add_argument("--kept", nargs="*", default=[], help="machines whose sizes are those of the last fit")
    parser.add_argument("--jobs", type=int, default=1, help="runs of yosys at a time")
    given = parser.parse_args(arguments)
    configs = [config for config in machines(given.target) if not given.machines or config.name in given.machines]
    sizes: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for config in configs:
        if config.name in given.kept:
            total = coefficients()[given.target]["measured"][config.name]
        else:
            total = size_of(config, TARGETS[given.target], report=_report, jobs=given.jobs).total
        for kind in KINDS:
            sizes[kind].append(total[kind])
    names = list(parts(configs[0]))
    rows = np.array([list(parts(config).values()) for config in configs], dtype=np.float64)
    measured = {kind: np.array(numbers) for kind, numbers in sizes.items()}
    if given.fit:
        shown = {config.name: {kind: sizes[kind][row] for kind in KINDS} for row, config in enumerate(configs)}
        family = {"measured": shown, "kinds": fitted(rows, measured, names)}
        COEFFICIENTS.write_text(json.dumps({**coefficients(), given.target: family}, indent=1) + "\n", encoding="utf-8")
        coefficients.cache_clear()
    for kind, found in coefficients()[given.target]["kinds"].items():
        estimates = rows @ np.array([found["weights"].get(name, 0.0) for name in names])
        off = estimates / np.array(sizes[kind]) - 1
        errors = ", ".join(f"{config.name} {error:+.1%}" for config, error in zip(configs, off, strict=True))
        print(f"{given.target} {kind}: left out {found['error']:.1%}; {errors}", flush=True)


if __name__ == "__main__":
    main()
