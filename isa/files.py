"""Writes files that appear whole or not at all, together or not at all, and that one process at a time changes."""

from __future__ import annotations

import fcntl
import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_LINKS = 40
"""The most links that are followed, as many as the kernel follows."""
_OPEN_FILE = re.compile(r"/(?:dev|proc/(?:self|thread-self|\d+))/fd/(\d+)")


class WriteError(OSError):
    """Raised for a file that cannot be written. ``path`` is the one that was asked for."""

    def __init__(self, path: Path, error: OSError) -> None:
        super().__init__(error.errno, error.strerror)
        self.path = path


def write_atomically(path: Path, content: bytes) -> None:
    """Writes a file through a temporary neighbour, so that nobody ever sees half of it, whatever interrupts the writing.

    A device or a pipe is written to, never replaced. Links stay.
    """
    write_together([(path, content)])


def write_together(files: Iterable[tuple[Path, bytes]]) -> None:
    """Writes several files, of which none is there if one cannot be written. Devices and pipes are written to first."""
    ready: list[tuple[Path, Path, str]] = []
    plain: list[tuple[Path, bytes]] = []
    place = Path()
    try:
        for place, content in files:
            if not _written_to_stream(place, content):
                plain.append((place, content))
        for place, content in plain:
            target = Path(os.path.realpath(place))
            handle, temporary = tempfile.mkstemp(prefix=f".{target.name[:200]}.", dir=target.parent)
            ready.append((place, target, temporary))
            with os.fdopen(handle, "wb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
            os.chmod(temporary, 0o666 & ~_umask())
        while ready:
            place, target, temporary = ready[0]
            os.replace(temporary, target)
            ready.pop(0)
    except OSError as error:
        raise WriteError(place, error) from None
    finally:
        for _, _, temporary in ready:
            with suppress(OSError):
                os.unlink(temporary)


def is_stream(path: Path) -> bool:
    """Whether the path leads to a device, a pipe or a file that this process has open, which is written to and never
    replaced."""
    return _open_file(path) is not None or (path.exists() and not path.is_file() and not path.is_dir())


def _open_file(path: Path) -> int | None:
    """The number of the file that this process has open, if the path leads to one, as ``/dev/stdout`` does."""
    link = os.path.abspath(path)
    for _ in range(_LINKS):
        if opened := _OPEN_FILE.fullmatch(link):
            return int(opened[1])
        if not os.path.islink(link):
            return None
        link = os.path.normpath(os.path.join(os.path.dirname(link), os.readlink(link)))
    return None


def _written_to_stream(path: Path, content: bytes) -> bool:
    """Whether the path leads to a stream, which then has been written to."""
    if not is_stream(path):
        return False
    opened = _open_file(path)
    if opened is None:
        path.write_bytes(content)
    else:
        with os.fdopen(os.dup(opened), "wb") as stream:
            stream.write(content)
    return True


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Makes other processes that lock the same file wait until this one is done, or has ended."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _umask() -> int:
    """The process's file mode mask, which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
