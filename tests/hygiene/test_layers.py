# SPDX-License-Identifier: Apache-2.0
"""Who may include whom: the wire format has few readers, and a replay stage knows only the stages before it."""

import os
import pathlib
import re
import subprocess

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("MEMSNAP_BUILD", TOP / "build"))

# The replay's stages in order; a file belongs to the stage whose pattern matches its stem. Its own stage may be included freely.
STAGES = [
    ("words", r"result|vocabulary\w*|measure|utf8|shown_text|crc32c|name_bounds"),
    ("event", r"event"),
    ("reader", r"capture|window\w*|reader\w*|ring_file|object_index|rules"),
    ("ledger", r"address_table|checkpoint|ledger(_blocks|_objects|_sums)?|extent|ranges|replay"),
    ("terms of the evidence", r"evidence|policy|qualifier"),
    ("incident", r"incident"),
    ("evidence", r"anchor|balance|carried|levels|boundary|heartbeat|history|growth|operation|outside|residual|scene|shapes|gather|collections|dimension_effects|peak_sites|recent|requests|site_(growth|key|table)|survivors|trail"),
    ("verdict", r"verdict|decide_point|explain|advice"),
    ("analysis", r"analysis"),
    ("cut", r"cut\w*"),
    ("names", r"line_table|native_symbols|remembered|site_(names|labels?)"),
    ("receipt", r"receipt\w*|reference|json|digest|names|csv_(columns|numbering|rows|check)|ledger_(row|numbers)"),
    ("render", r"range_(list|use)|report\w*|dump\w*|check|check_\w*|collapsed_output|snapshot_export\w*|perfetto\w*|page_(begin|decode|events|levels|names|outline|part|places|table|template|words)"),
    ("live", r"live\w*"),
    ("comparison", r"diff\w*|recording"),
    ("job", r"job(_\w+)?"),
    ("command line", r"main|cli\w*|newest_job|output_file|csv_output|export_output|page_(check|output)"),
]
WIRE_READERS = r"interpose/.*|replay/reader\w*\.(cpp|h)|fixtures/encode/.*|snapshot/(ring_image|import)\w*\.(cpp|h)|tests/recorder/.*|tests/fuzz/.*"


def includes(text: str) -> list[str]:
    return re.findall(r'^#include "([^"]+)"', text, re.M)


def stage_of(stem: str) -> int:
    matches = [index for index, (_, pattern) in enumerate(STAGES) if re.fullmatch(pattern, stem)]
    assert len(matches) == 1, f"{stem} belongs to {len(matches)} stages: give it one in STAGES"
    return matches[0]


def forward_includes(stem: str, text: str) -> list[str]:
    return [name for name in includes(text) if "/" not in name and not name.startswith("triage") and stage_of(pathlib.Path(name).stem) > stage_of(stem)]


def reads_wire_without_leave(path: str, text: str) -> bool:
    return any(pathlib.Path(name).name in ("wire.h", "wire_marks.h", "wire_names.h", "wire_words.h") for name in includes(text)) and not re.fullmatch(WIRE_READERS, path)


def sources(*folders: str):
    for folder in folders:
        for file in sorted((TOP / folder).rglob("*")):
            if file.suffix in (".cpp", ".h"):
                yield file.relative_to(TOP).as_posix(), file.read_text()


def test_a_replay_stage_includes_only_stages_before_it():
    assert forward_includes("event", '#include "verdict.h"\n') == ["verdict.h"]
    assert {path: found for path, text in sources("replay") if (found := forward_includes(pathlib.Path(path).stem, text))} == {}


def replay_stages_used(text: str) -> list[str]:
    """By a file outside replay/: what it includes of it, but for the words and the file that is only ever copied from."""
    names = re.findall(r'^#include "\.\./replay/([\w.]+)"', text, re.M)
    return [name for name in names if name != "ring_file.h" and STAGES[stage_of(pathlib.Path(name).stem)][0] not in ("words", "receipt")]


def test_the_files_of_torchs_tools_become_recordings_without_a_look_at_what_is_made_of_them():
    assert replay_stages_used('#include "../replay/result.h"\n#include "../replay/verdict.h"\n') == ["verdict.h"]
    assert {path: found for path, text in sources("snapshot") if (found := replay_stages_used(text))} == {}


def events_read(text: str) -> list[str]:
    """By a file of triage/: what it includes of the stages that need a recording."""
    names = [name for name in includes(text) if not name.startswith("triage")]
    needing = ("event", "reader", "ledger", "incident", "cut", "comparison", "command line")
    return [name for name in names if name != "extent.h" and STAGES[stage_of(pathlib.Path(name).stem)][0] in needing]


def test_a_verdict_from_text_uses_the_rules_and_nothing_that_reads_events():
    assert events_read('#include "evidence.h"\n#include "ledger.h"\n') == ["ledger.h"]
    assert {path: found for path, text in sources("triage") if (found := events_read(text))} == {}


def test_only_the_recorder_the_reader_and_the_encoder_know_the_wire_format():
    assert reads_wire_without_leave("replay/verdict.cpp", '#include "../interpose/wire.h"\n')
    assert [path for path, text in sources("interpose", "snapshot", "replay", "fixtures", "tests") if reads_wire_without_leave(path, text)] == []


def test_the_recorder_includes_nothing_of_the_replayer_and_no_cuda_or_torch_header():
    def strays(text: str) -> list[str]:
        return re.findall(r'^#include [<"]((?:\.\./)?(?:replay|oracle|cuda|torch|c10|ATen)[\w./]*)[>"]', text, re.M)

    assert strays("#include <cuda.h>\n") == ["cuda.h"]
    own = {f"cuda_abi{suffix}" for suffix in (".h",)}
    assert {path: found for path, text in sources("interpose") if (found := [s for s in strays(text) if s not in own])} == {}


def test_only_the_reader_the_names_the_renderers_and_the_command_line_touch_files_clocks_or_locale():
    def touches(text: str) -> bool:
        return re.search(r"#include <(fstream|chrono|locale|ctime|fcntl\.h|cstdio|iostream)>|\bgetenv\b|\bsetlocale\b", text) is not None

    allowed = {"reader", "names", "render", "live", "command line"}
    assert touches("#include <fstream>\n")
    assert [path for path, text in sources("replay") if touches(text) and STAGES[stage_of(pathlib.Path(path).stem)][0] not in allowed] == []


def oracle_shares(folder: pathlib.Path, text: str) -> list[str]:
    """Headers in quotes that lie outside the oracle's own folder."""
    return [name for name in includes(text) if not (folder / name).resolve().is_relative_to(TOP / "oracle")]


def objects_of_others(commands: str) -> list[str]:
    """Of the machine's libraries, and of fmt, which is one where it is compiled here, nothing is of this project."""
    not_of_others = ("oracle/", "/usr/lib/", "libfmt_static.a")
    return sorted({name for name in re.findall(r"(?<=\s)[^\s=]+\.(?:o|a)(?=\s|$)", commands) if not name.startswith(not_of_others)})


def test_the_oracle_includes_nothing_of_the_recorder_and_the_replayer():
    assert oracle_shares(TOP / "oracle", '#include "../interpose/wire.h"\n#include "lives.h"\n') == ["../interpose/wire.h"]
    assert {path: found for path, text in sources("oracle") if (found := oracle_shares(TOP / "oracle", text))} == {}


def test_the_oracle_is_linked_from_its_own_objects_alone():
    planted = "c++ -o oracle/memsnap-oracle oracle/main.cpp.o oracle/liboracle.a replay/libreplay.a -lfmt"
    assert objects_of_others(planted) == ["replay/libreplay.a"]
    commands = subprocess.run(["ninja", "-t", "commands", "oracle/memsnap-oracle"], cwd=BUILD, capture_output=True, text=True, check=True).stdout
    assert "oracle/liboracle.a" in commands
    assert objects_of_others(commands) == []
