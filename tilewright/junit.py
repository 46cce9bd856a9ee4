"""Results of benches as JUnit XML, which continuous integration reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree import ElementTree


def junit_xml(suite: str, rows: Sequence[Mapping[str, Any]]) -> bytes:
    """The XML of ``rows``, each with ``bench``, ``passed``, ``text`` (why it failed) and ``seconds``."""
    failed = sum(not row["passed"] for row in rows)
    seconds = sum(row["seconds"] for row in rows)
    counts = {"tests": str(len(rows)), "failures": str(failed), "errors": "0", "time": f"{seconds:.1f}"}
    root = ElementTree.Element("testsuites", counts)
    cases = ElementTree.SubElement(root, "testsuite", {"name": suite, **counts})
    for row in rows:
        case = ElementTree.SubElement(
            cases, "testcase", {"classname": suite, "name": row["bench"], "time": f"{row['seconds']:.1f}"}
        )
        if not row["passed"]:
            ElementTree.SubElement(case, "failure", {"message": _printable(row["text"])})
    ElementTree.indent(root)
    text: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def _printable(text: str) -> str:
    """The text without characters that XML cannot hold, as logs may have them."""
    return "".join(letter if letter.isprintable() or letter in "\n\t" else "?" for letter in text)
