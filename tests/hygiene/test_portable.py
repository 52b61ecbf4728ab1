# SPDX-License-Identifier: Apache-2.0
"""Code for one processor alone stands in one place of the recorder; everything else compiles for aarch64 as well."""

import pathlib
import re

TOP = pathlib.Path(__file__).resolve().parents[2]
MAY = {"cpu.cpp", "cpu.h"}
ONE_PROCESSOR = re.compile(
    r'__(x86_64|amd64|i386)(__)?\b|\b_mm\d*_\w+|\b__rdtscp?\b|\b__builtin_ia32_\w+|\b__(get_)?cpuid\w*|\b\w*intrin\.h|\b(asm|__asm__)\b(?!\(\"\.)|\bR_X86_64_\w+')


def for_one_processor(text: str) -> list[str]:
    """What only one processor has; assembler directives are no instructions."""
    return [found.group() for found in ONE_PROCESSOR.finditer(re.sub(r"//.*", "", text))]


def test_only_one_place_of_the_recorder_knows_the_processor():
    for planted in ("#if defined(__x86_64__)\n", "#include <immintrin.h>\n", "auto t = __rdtsc();\n", 'asm volatile("nop");\n', "type == R_X86_64_JUMP_SLOT\n",
                    "_mm_crc32_u64(0, 1);\n", "__get_cpuid(1, &a, &b, &c, &d);\n"):
        assert for_one_processor(planted), planted
    assert for_one_processor((TOP / "interpose/cpu.cpp").read_text())
    files = [file for file in sorted((TOP / "interpose").glob("*")) if file.suffix in (".cpp", ".h") and file.name not in MAY]
    assert {file.name: found for file in files if (found := for_one_processor(file.read_text()))} == {}
