"""Spoiled images for the C driver: ``python -m bench.driver_images [--count N] [--seed S] [--minutes M]``.

Program files and flat images, of a network and of one with all that a table can hold, are changed at random: bits, words,
lengths, the place of CONST; most get a right checksum. The driver opens each; what it takes runs on a mock of the registers
(``tests/driver/c/fuzz.c``), copied and in place, where a run writes into every region, CONST and INPUT too. Compiled with
AddressSanitizer and UBSan by gcc: wrong is whatever these find, and an answer that the driver does not have.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from bench.command import command
from bench.network_table import PROOF, put_row
from isa.flat_image import flat_image
from isa.program_file import program_bytes
from sim.campaign.arguments import add_arguments, how_of
from sim.campaign.run import How, campaign
from sim.campaign.work import Lost
from tests.driver.building import build, digits
from tests.driver.synthetic import whole

SHARE = 2_000
"""The images of one process."""
SECONDS = 300.0
"""The seconds that such a process may take."""
TITLE = "Spoiled images for the driver"
COLUMNS = ("image", "images", "opened", "ran copied", "runs in place", "wrong")
Item = tuple[str, str, int, int]
"""The program, an image, the number of spoiled images, and the seed."""


def images(folder: Path) -> dict[str, Path]:
    """The good images, by name."""
    programs = {"digits": digits(), "everything": whole()}
    found = {}
    for name, program in programs.items():
        for form, content in (("file", program_bytes(program)), ("flat", flat_image(program))):
            found[f"{name}, {form}"] = folder / f"{name}.{form}"
            found[f"{name}, {form}"].write_bytes(content)
    return found


def tried(item: Item) -> dict[str, list[int] | str]:
    """The counts of the program, or what was wrong, with the command that shows it again."""
    words = [str(part) for part in item]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        return {"counts": [], "wrong": f"{' '.join(words)}: {(done.stdout + done.stderr).strip()}"}
    return {"counts": [int(number) for number in re.findall(r"\d+", done.stdout)], "wrong": ""}


def run_spoiled(folder: Path, count: int, seed: int, how: How, minutes: float) -> tuple[list[list[str]], list[str]]:
    """A row for each image, and all that was wrong. No more begins after ``minutes``."""
    program = build(folder, "fuzz", "mock")
    good = images(folder)
    rounds = -(-count // (SHARE * len(good)))
    items = [(str(program), str(path), SHARE, seed + n) for n in range(rounds) for path in good.values()]
    counts: dict[str, Counter[str]] = {name: Counter() for name in good}
    wrong = []
    start = time.monotonic()
    with campaign(tried, items, how, {"seed": seed, "share": SHARE}, seconds=SECONDS) as results:
        for number, found in enumerate(results):
            mine = counts[list(good)[number % len(good)]]
            reason = found.reason if isinstance(found, Lost) else found["wrong"]
            mine["images"] += SHARE
            if reason:
                mine["wrong"] += 1
                wrong.append(reason)
            else:
                opened, _, ran, in_place = found["counts"]
                mine.update({"opened": opened, "ran copied": ran, "runs in place": in_place})
            if number % len(good) == len(good) - 1 and time.monotonic() - start > 60 * minutes:
                break
    return [[name, *(str(mine[column]) for column in COLUMNS[1:])] for name, mine in counts.items()], wrong


def main(arguments: list[str]) -> int:
    parser = command("driver_images", __doc__)
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=60.0, help="after which no more images are tried")
    add_arguments(parser)
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="tilewright-") as folder:
        rows, wrong = run_spoiled(Path(folder), chosen.count, chosen.seed, how_of(chosen), chosen.minutes)
    for row in rows:
        print(" | ".join(row))
        put_row(TITLE, COLUMNS, row, 1, PROOF)
    print("\n".join([*wrong, f"{sum(int(row[1]) for row in rows)} images, {len(wrong)} processes with something wrong"]))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
