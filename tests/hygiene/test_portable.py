# SPDX-License-Identifier: Apache-2.0
"""Code for one processor alone stands in one place of the recorder; everything else compiles for aarch64 as well, and with newer compilers."""

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


INTEGER_OF_A_SIZE = re.compile(r"\bu?int(?:8|16|32|64)_t\b|\buintptr_t\b")
FOLDERS = ("interpose", "replay", "triage", "snapshot", "oracle", "fixtures/encode", "tests")


def reaches_cstdint(text: str, file: pathlib.Path, folders: list[pathlib.Path], seen: set[pathlib.Path]) -> bool:
    """By the file's own includes or those of this project; standard headers are not counted on: which of them bring it along differs."""
    if re.search(r"#include <(cstdint|stdint\.h)>", text):
        return True
    for name in re.findall(r'#include "([^"]+)"', text):
        for found in ((folder / name).resolve() for folder in (file.parent, *folders)):
            if found.exists() and found not in seen:
                seen.add(found)
                if reaches_cstdint(found.read_text(), found, folders, seen):
                    return True
    return False


def test_integers_of_a_size_are_included_and_not_found_by_chance():
    planted = TOP / "replay/planted.h"
    assert not reaches_cstdint("#include <string>\nuint8_t x;\n", planted, [], set())
    assert reaches_cstdint('#include "event.h"\nuint8_t x;\n', planted, [], set())
    files = [file for folder in FOLDERS for file in sorted((TOP / folder).rglob("*")) if file.suffix in (".cpp", ".h")]
    folders = [TOP, *sorted({file.parent for file in files})]
    assert len(files) > 500
    assert [str(file.relative_to(TOP)) for file in files
            if INTEGER_OF_A_SIZE.search(text := file.read_text()) and not reaches_cstdint(text, file, folders, set())] == []
