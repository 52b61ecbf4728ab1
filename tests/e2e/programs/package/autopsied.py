# SPDX-License-Identifier: Apache-2.0
"""Runs another program of these with an autopsy installed: `autopsied.py program.py arguments`. Its snapshots are oom*.pickle."""

import pathlib
import runpy
import sys

import memsnap

memsnap.autopsy.install("oom.pickle")
sys.argv = sys.argv[1:]
runpy.run_path(str(pathlib.Path(__file__).parents[1] / sys.argv[0]), run_name="__main__")
