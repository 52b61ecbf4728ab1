# SPDX-License-Identifier: Apache-2.0
"""Rules of the incident page's TypeScript, each also shown to fail on a planted violation: who may import whom, and what a page that is opened
from disk must never do."""

import json
import pathlib
import re

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
WORKBENCH = TOP / "workbench"

# A folder of src imports itself and those before it; what is in no folder (main.tsx, session.ts) has rules of its own below.
LAYERS = ["parts", "data", "history", "checks", "lesson", "views"]
COLUMNS_AT_MOST = 150
FETCHES = r"\b(fetch|XMLHttpRequest|WebSocket|EventSource|sendBeacon|importScripts|SharedWorker)\b|\bimport\s*\("
EXECUTES = r"\beval\s*\(|\bnew Function\b|\b(setTimeout|setInterval)\s*\(\s*[\"'`]"
MARKUP = r"\b(innerHTML|outerHTML|insertAdjacentHTML|dangerouslySetInnerHTML|createContextualFragment)\b|document\.write\b"
REMEMBERS = r"\b(localStorage|sessionStorage|indexedDB|serviceWorker|document\.cookie)\b"
LOOSENED = r"[:<,|(]\s*any\b|\bas any\b|@ts-(ignore|nocheck|expect-error)|eslint-disable"
UNSTEADY = r"\bMath\.random\b"


def code(text: str) -> str:
    """Without comments: a rule may be named there."""
    return re.sub(r"/\*.*?\*/|(?<!:)//[^\n]*", "", text, flags=re.S)


def sources(*folders: str) -> dict[str, str]:
    files = (file for folder in folders for file in sorted((WORKBENCH / folder).rglob("*")) if file.suffix in (".ts", ".tsx"))
    return {file.relative_to(WORKBENCH).as_posix(): file.read_text() for file in files}


def imports(text: str) -> list[str]:
    return re.findall(r"""\b(?:from|import)\s+["']([^"']+)["']""", text)


def layer_of(path: str) -> int | None:
    """By the first folder below src, None for a file that is in none."""
    parts = pathlib.PurePosixPath(path).parts
    return LAYERS.index(parts[1]) if len(parts) > 2 else None


def later_imports(path: str, text: str) -> list[str]:
    own = layer_of(path)
    if own is None:
        return []
    found = []
    for name in (name for name in imports(text) if name.startswith(".")):
        target = (WORKBENCH / path).parent.joinpath(name).resolve()
        if not target.is_relative_to(WORKBENCH / "src"):
            continue
        reached = layer_of(target.relative_to(WORKBENCH).as_posix() + ".ts")
        if reached is not None and reached > own:
            found.append(name)
        if target.name in ("main", "session") and LAYERS[own] not in ("lesson", "views"):
            found.append(name)
    return found


def test_a_layer_of_the_page_imports_only_layers_before_it_and_only_views_share_what_is_looked_at():
    assert later_imports("src/data/table.ts", 'import { x } from "../history/history";\n') == ["../history/history"]
    assert later_imports("src/history/scene.ts", 'import { instant } from "../session";\n') == ["../session"]
    assert later_imports("src/views/map.tsx", 'import { instant } from "../session";\n') == []
    assert {path: found for path, text in sources("src").items() if (found := later_imports(path, text))} == {}


DATA = r"workbench/lesson/[\w.]+(\?raw)?|docs/(receipt\.schema\.json|ledger\.md\?raw)"


def outside_sources(path: str, text: str) -> list[str]:
    """What is imported from beyond src and is none of the data files that the page is made of."""
    names = [name for name in imports(text) if name.startswith(".")]
    targets = {name: (WORKBENCH / path).parent.joinpath(name).resolve() for name in names}
    return [name for name, target in targets.items()
            if not target.is_relative_to(WORKBENCH / "src") and not re.fullmatch(DATA, target.relative_to(TOP).as_posix())]


def test_the_sources_of_the_page_take_from_the_tree_only_each_other_the_schema_and_the_lesson():
    assert outside_sources("src/data/x.ts", 'import x from "../../tests/support/y";\n') == ["../../tests/support/y"]
    assert {path: found for path, text in sources("src").items() if (found := outside_sources(path, text))} == {}


def packages(text: str) -> set[str]:
    """Of other people, by the name that a manifest has for them."""
    names = (name for name in imports(text) if not name.startswith("."))
    return {"/".join(name.split("/")[: 2 if name.startswith("@") else 1]) for name in names}


def test_the_sources_of_the_page_import_nothing_but_the_dependencies_of_its_manifest():
    allowed = set(json.loads((WORKBENCH / "package.json").read_text())["dependencies"])
    assert packages('import x from "left-pad/x";\nimport "@noble/hashes/sha2";\n') == {"left-pad", "@noble/hashes"}
    assert {path: found for path, text in sources("src").items() if (found := packages(text) - allowed)} == {}


@pytest.mark.parametrize("rule, planted, folders", [
    (FETCHES, "await fetch(url);", ["src"]),
    (FETCHES, 'const more = await import("./more");', ["src"]),
    (EXECUTES, 'eval("1");', ["src"]),
    (MARKUP, "node.innerHTML = text;", ["src"]),
    (REMEMBERS, "localStorage.setItem(key, value);", ["src"]),
    (UNSTEADY, "const seed = Math.random();", ["src", "tests"]),
    (LOOSENED, "function f(x: any) {}", ["src", "tests"]),
    (LOOSENED, "const x = y as any;", ["src", "tests"]),
])
def test_the_pages_typescript_never(rule, planted, folders):
    assert re.search(rule, code(planted))
    assert [path for path, text in sources(*folders).items() if re.search(rule, code(text))] == []


def test_no_check_of_the_compiler_is_switched_off():
    planted = "// @ts-ignore\n"
    rule = r"@ts-(ignore|nocheck|expect-error)|eslint-disable"
    assert re.search(rule, planted)
    assert [path for path, text in sources("src", "tests").items() if re.search(rule, text)] == []


def too_wide(text: str) -> list[int]:
    return [number for number, line in enumerate(text.splitlines(), 1) if len(line) > COLUMNS_AT_MOST]


def without_header(text: str) -> bool:
    """Second line on: a comment that says what the file is."""
    lines = text.splitlines()
    return len(lines) < 3 or lines[0] != "// SPDX-License-Identifier: Apache-2.0" or not lines[1].startswith("//") or not lines[2].startswith("// ")


def test_every_file_of_the_page_says_what_it_is_and_keeps_to_the_width():
    assert too_wide("x" * (COLUMNS_AT_MOST + 1)) and without_header("// SPDX-License-Identifier: Apache-2.0\nimport x;\n")
    files = sources("src", "tests") | {file.name: file.read_text() for file in WORKBENCH.glob("*.ts")}
    assert {path: wide for path, text in files.items() if (wide := too_wide(text))} == {}
    assert [path for path, text in files.items() if without_header(text)] == []


def foreign_colours(text: str) -> list[str]:
    """Colours written out in a view's style sheet instead of the properties that style.css defines for light, dark and print."""
    return re.findall(r"#[0-9a-fA-F]{3,8}\b(?![^{]*\{)|\b(?:rgb|rgba|hsl|oklch)\(", re.sub(r"/\*.*?\*/", "", text, flags=re.S))


def test_the_views_take_their_colours_from_the_one_style_sheet():
    assert foreign_colours("p { color: #123456; }") == ["#123456"]
    assert {file.name: found for file in (WORKBENCH / "src/views").rglob("*.css") if (found := foreign_colours(file.read_text()))} == {}
