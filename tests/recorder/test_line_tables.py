# SPDX-License-Identifier: Apache-2.0
"""Lines of instructions as memsnap-replay finds them, against what each interpreter of this machine answers itself."""

import os
import pathlib
import subprocess

import pytest

from interpreters import WALKED

BUILD = pathlib.Path(os.environ.get("MEMSNAP_BUILD", pathlib.Path(__file__).resolve().parents[2] / "build"))

ASK_LINES = r"""
import ctypes, sys, types
ask = ctypes.pythonapi.PyCode_Addr2Line
ask.argtypes, ask.restype = [ctypes.py_object, ctypes.c_int], ctypes.c_int
def codes(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes(constant)
major, minor = sys.version_info[:2]
for name in ("argparse", "typing", "asyncio.tasks", "dataclasses", "contextlib"):
    module = __import__(name, fromlist=["x"])
    for code in codes(compile(open(module.__file__, encoding="utf-8").read(), module.__file__, "exec")):
        table = code.co_lnotab if minor < 10 else code.co_linetable
        lines = [ask(code, offset) for offset in range(0, len(code.co_code), 2)]
        print(major, minor, code.co_firstlineno, len(lines), table.hex() or "-", "|", *("-" if line == -1 else line for line in lines))
"""


@pytest.mark.parametrize("version", WALKED)
def test_lines_are_those_of_the_interpreter_for_every_instruction_of_its_own_library(version):
    asked = subprocess.run([WALKED[version], "-c", ASK_LINES], capture_output=True, text=True, check=True).stdout.splitlines()
    questions, answers = zip(*(line.split(" | ") for line in asked))

    told = subprocess.run([BUILD / "tests/unit/line_table_tool"], input="\n".join(questions) + "\n", capture_output=True, text=True, check=True).stdout.splitlines()

    assert len(told) == len(answers) > 500
    assert [pair for pair in zip(questions, told, answers) if pair[1] != pair[2]][:1] == []
