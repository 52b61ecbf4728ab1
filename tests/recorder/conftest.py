# SPDX-License-Identifier: Apache-2.0
"""The fixtures that run recorded programs."""

import subprocess

import pytest

from armed import Job
from recorded import BUILD, LIBRARY, Run, clean_environment


@pytest.fixture
def record(tmp_path):
    """record("simple", MEMSNAP_QUIET=1) runs a scenario of the program with the recorder preloaded."""

    def run(*arguments, command=None, preload=LIBRARY, **environment):
        environment = {"MEMSNAP_RING_MB": 1, "MEMSNAP_TABLE_ENTRIES": 4096, **environment}
        done = subprocess.run(
            command or [BUILD / "program", *map(str, arguments)],
            cwd=tmp_path,
            env=clean_environment(LD_PRELOAD=preload, **environment),
            capture_output=True,
            text=True,
            timeout=60,
        )
        return Run(tmp_path, done)

    return run


@pytest.fixture
def job(tmp_path):
    """job("cold") starts a job that was told so, and its driver."""
    jobs = []

    def start(mode, driver=True, folder=tmp_path, **environment):
        one = Job(folder, MEMSNAP_ARM=mode, **environment)
        jobs.append(one)
        if driver:
            assert one.tell("driver") == "ok"
        return one

    yield start
    for one in jobs:
        one.kill()
