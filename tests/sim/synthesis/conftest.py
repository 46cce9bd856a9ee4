"""What the tests of synthesis share."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def mapped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The cache of all tests that map the small design as it is: a family's library takes yosys seconds to read."""
    return tmp_path_factory.mktemp("mapped")
