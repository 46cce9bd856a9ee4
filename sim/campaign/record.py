"""The results of a campaign so far, in a file: a line of JSON that names the campaign, then one for each result."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from isa.errors import TilewrightError


class RecordError(TilewrightError):
    """Raised for a record that cannot be written, or that belongs to another campaign."""


class Record:
    """A record of results. ``results`` are those that the file held; there are none without a file."""

    def __init__(self, path: Path | None, of: Mapping[str, Any], *, resume: bool) -> None:
        self.results: dict[int, Any] = {}
        self._stream: IO[str] | None = None
        if path is None:
            return
        head = json.dumps({"campaign": dict(of)}, sort_keys=True)
        if path.exists() and not resume:
            raise RecordError(f"record {path}: exists; go on with it by --resume, or name another file")
        try:
            kept = self._read(path, head) if path.exists() else 0
            path.parent.mkdir(parents=True, exist_ok=True)
            self._stream = path.open("r+" if path.exists() else "w", encoding="utf-8")
            self._stream.seek(kept)
            self._stream.truncate()
            if not kept:
                self._write(head)
        except OSError as error:
            raise RecordError(f"record {path}: cannot be used: {error.strerror}; name another file") from None

    def add(self, number: int, result: Any) -> None:
        if self._stream is not None:
            self._write(json.dumps({"item": number, "result": result}))

    def close(self) -> None:
        if self._stream is not None:
            self._stream.close()

    def _write(self, line: str) -> None:
        assert self._stream is not None
        self._stream.write(line + "\n")
        self._stream.flush()

    def _read(self, path: Path, head: str) -> int:
        """Reads the results; returns the bytes of whole lines, since an interrupted campaign may have left half a line."""
        content = path.read_bytes()
        kept = content.rfind(b"\n") + 1
        lines = content[:kept].decode("utf-8", "replace").splitlines()
        if not lines:
            return 0
        if lines[0] != head:
            raise RecordError(f"record {path}: is of another campaign, {lines[0][:200]}; expected {head}; name another file")
        try:
            for line in lines[1:]:
                entry = json.loads(line)
                self.results[int(entry["item"])] = entry["result"]
        except (ValueError, KeyError, TypeError):
            raise RecordError(f"record {path}: {line[:80]!r} is not a result; remove the file and begin again") from None
        return kept
