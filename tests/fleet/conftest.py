# SPDX-License-Identifier: Apache-2.0
"""A small simulated fleet, and its lake."""

import fcntl
import json
import os
import pathlib

import pytest
from fleet_run import ENCODE, fleet

RANKS, SEED = 1500, 5


@pytest.fixture(scope="session")
def simulated(tmp_path_factory) -> pathlib.Path:
    """Made once for all workers of pytest-xdist, in the folder that is above theirs."""
    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "simulated-fleet"
    with open(folder.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            draft = folder.with_suffix(".new")
            fleet("simulate", "--ranks", RANKS, "--seed", SEED, "--to", draft, "--encode", ENCODE)
            draft.rename(folder)
    return folder


@pytest.fixture(scope="session")
def truth(simulated) -> dict:
    return json.loads((simulated / "truth.json").read_text())


@pytest.fixture(scope="session")
def lake(simulated, tmp_path_factory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("lakes") / "lake"
    fleet("ingest", simulated / "receipts", "--to", folder, "--batch", 200)
    return folder
