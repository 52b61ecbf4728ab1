# SPDX-License-Identifier: Apache-2.0
"""The plugin is loaded into every pytest that is installed beside memsnap: it works where pluggy knows less than today's."""

import os
import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
# The plugin sees pytest.hookimpl as pluggy before 1.2 has it (MEMSNAP_OTHER_PYTHON: one whose pytest is older indeed); a stand-in for PyTorch whose counters the tests set.
RUNS = """
import sys, types, pytest

real = pytest.hookimpl
def hookimpl(function=None, hookwrapper=False, optionalhook=False, tryfirst=False, trylast=False, specname=None):
    return real(function, hookwrapper=hookwrapper, optionalhook=optionalhook, tryfirst=tryfirst, trylast=trylast)
pytest.hookimpl = hookimpl
from memsnap.gate import _pytest_plugin
pytest.hookimpl = real

now = [0, 0]
cuda = types.SimpleNamespace(is_initialized=lambda: True, device_count=lambda: 1, memory_allocated=lambda device: now[0],
                             max_memory_allocated=lambda device: now[1], reset_peak_memory_stats=lambda device: now.__setitem__(1, now[0]))
sys.modules["torch"] = types.SimpleNamespace(cuda=cuda, now=now)
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", "test_memory.py"], plugins=[_pytest_plugin]))
"""
TESTS = """
import pytest, sys

def take(size):
    sys.modules["torch"].now[1] += size

def test_without_a_mark():
    take(500)

@pytest.mark.limit_gpu_memory("100 B")
def test_within():
    take(100)

@pytest.mark.limit_gpu_memory("100 B")
def test_beyond():
    take(101)

@pytest.mark.limit_gpu_memory("100 B")
def test_wrong():
    take(101)
    assert 1 == 2

@pytest.mark.xfail
@pytest.mark.limit_gpu_memory("100 B")
def test_known_to_be_beyond():
    take(101)
"""


def test_a_pytest_whose_pluggy_knows_no_new_wrappers_runs_and_holds_limits(tmp_path):
    (tmp_path / "test_memory.py").write_text(TESTS)
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("MEMSNAP_", "PYTEST_"))}
    python = os.environ.get("MEMSNAP_OTHER_PYTHON", sys.executable)
    done = subprocess.run([python, "-c", RUNS], cwd=tmp_path, env=inherited | {"PYTHONPATH": str(TOP / "python")}, capture_output=True, text=True)

    assert re.findall(r"^FAILED test_memory\.py::(\w+)", done.stdout, re.M) == ["test_beyond", "test_wrong"], done.stdout + done.stderr
    assert "took 101 B of cuda:0" in done.stdout and "assert 1 == 2" in done.stdout
    assert "2 failed, 2 passed, 1 xfailed" in done.stdout and "warning" not in done.stdout
