# SPDX-License-Identifier: Apache-2.0
"""Writes the built page of workbench/ as a C++ source: embed_template.py TEMPLATE OUTPUT. The page must have exactly one place for its parts."""

import pathlib
import sys

MARKER = b"<!--memsnap:parts-->"
CHUNK_BYTES = 100
SOURCE = """// SPDX-License-Identifier: Apache-2.0
//
// Made by replay/embed_template.py. The rule: the bytes of the built page, unchanged.
#include "page_template.h"

namespace memsnap {{
namespace {{

constexpr char kTemplate[] =
{literals};

}}  // namespace

PageTemplate page_template() {{
    constexpr std::string_view whole(kTemplate, sizeof kTemplate - 1);
    return {{whole.substr(0, {head_bytes}), whole.substr({tail_begin})}};
}}

}}  // namespace memsnap
"""


def literal(chunk: bytes) -> str:
    """Printable ASCII as it is, all else by three octal digits, which no digit behind can lengthen."""
    return '    "' + "".join(chr(byte) if 32 <= byte < 127 and byte not in b'"\\?' else f"\\{byte:03o}" for byte in chunk) + '"'


def source(template: bytes) -> str:
    if template.count(MARKER) != 1:
        raise SystemExit(f"the page has {template.count(MARKER)} places for its parts instead of one: build it again (scripts/build_page)")
    head_bytes = template.index(MARKER)
    literals = [literal(template[at : at + CHUNK_BYTES]) for at in range(0, len(template), CHUNK_BYTES)]
    return SOURCE.format(literals="\n".join(literals), head_bytes=head_bytes, tail_begin=head_bytes + len(MARKER))


if __name__ == "__main__":
    pathlib.Path(sys.argv[2]).write_text(source(pathlib.Path(sys.argv[1]).read_bytes()))
