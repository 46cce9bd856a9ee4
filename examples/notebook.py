"""Runs the code of a notebook without Jupyter: ``python examples/notebook.py NOTEBOOK.ipynb``."""

import json
import sys
from pathlib import Path

names = {"__name__": "__main__"}
for number, cell in enumerate(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["cells"]):
    if cell["cell_type"] == "code":
        exec(compile("".join(cell["source"]), f"{sys.argv[1]}, cell {number}", "exec"), names)
