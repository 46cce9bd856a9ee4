"""Files that are written: whole, together, through links, and into what is no file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from isa.files import WriteError, write_atomically, write_together


def test_a_link_stays_and_its_target_is_written(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"old")
    (tmp_path / "link").symlink_to("target")
    (tmp_path / "dangling").symlink_to("new")
    write_together([(tmp_path / "link", b"one"), (tmp_path / "dangling", b"two")])
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "dangling").is_symlink()
    assert ((tmp_path / "target").read_bytes(), (tmp_path / "new").read_bytes()) == (b"one", b"two")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dangling", "link", "new", "target"]


def test_an_open_file_is_written_where_it_stands_and_not_replaced(tmp_path: Path) -> None:
    """What ``-o /dev/stdout`` means; the link in ``/dev`` is here one of the test's."""
    with (tmp_path / "out").open("wb") as stream:
        stream.write(b"before ")
        stream.flush()
        (tmp_path / "stdout").symlink_to(f"/proc/self/fd/{stream.fileno()}")
        (tmp_path / "again").symlink_to("stdout")
        write_atomically(tmp_path / "again", b"content")
        stream.write(b" after")
    assert (tmp_path / "out").read_bytes() == b"before content after"
    assert (tmp_path / "stdout").is_symlink()


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_atomically(tmp_path / "pipe", b"content")
    assert os.read(reader, 99) == b"content"
    os.close(reader)


@pytest.mark.parametrize("bad", ["/dev/full", "missing/file"])
def test_none_is_written_if_one_cannot_be(bad: str, tmp_path: Path) -> None:
    (tmp_path / "old").write_bytes(b"old")
    with pytest.raises(WriteError) as caught:
        write_together([(tmp_path / "old", b"new"), (tmp_path / "new", b"new"), (tmp_path / bad, b"new")])
    assert caught.value.path == tmp_path / bad
    assert [path.name for path in tmp_path.iterdir()] == ["old"]
    assert (tmp_path / "old").read_bytes() == b"old"
