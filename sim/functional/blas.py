"""Keeps BLAS to one thread for as long as anybody simulates."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from threadpoolctl import ThreadpoolController

_BLAS = ThreadpoolController()
_lock = threading.Lock()
_limit = ExitStack()
_inside = 0


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limits BLAS to one thread. The products of a tile are short, so a second thread gains little, and spins where cores are
    busy.

    The limit holds for the process. Of several threads that simulate, the first sets it and the last takes it back.
    """
    global _inside
    with _lock:
        if not _inside:
            _limit.enter_context(_BLAS.limit(limits=1, user_api="blas"))
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if not _inside:
                _limit.close()
