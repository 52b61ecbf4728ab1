# SPDX-License-Identifier: Apache-2.0
"""A small simulated fleet, and its lake."""

import json
import pathlib

import pytest
from fleet_run import ENCODE, fleet

RANKS, SEED = 1500, 5


@pytest.fixture(scope="session")
def simulated(tmp_path_factory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("fleet") / "simulated"
    fleet("simulate", "--ranks", RANKS, "--seed", SEED, "--to", folder, "--encode", ENCODE)
    return folder


@pytest.fixture(scope="session")
def truth(simulated) -> dict:
    return json.loads((simulated / "truth.json").read_text())


@pytest.fixture(scope="session")
def lake(simulated, tmp_path_factory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("lakes") / "lake"
    fleet("ingest", simulated / "receipts", "--to", folder, "--batch", 200)
    return folder
