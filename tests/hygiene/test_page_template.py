# SPDX-License-Identifier: Apache-2.0
"""The committed template of the incident page is what its sources give: anybody can build it again, anywhere, and get the same bytes."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
WORKBENCH = TOP / "workbench"
TEMPLATE = WORKBENCH / "dist/index.html"
SIZE_AT_MOST_BYTES = 1 << 20


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> bytes:
    out = tmp_path_factory.mktemp("template")
    done = subprocess.run([TOP / "scripts/build_page", "--outDir", out, "--emptyOutDir"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [file.name for file in out.iterdir()] == ["index.html"]
    return (out / "index.html").read_bytes()


def test_the_committed_template_is_what_the_sources_give(built):
    assert TEMPLATE.read_bytes() == built, "workbench/dist is older than workbench/src: run scripts/build_page and commit what it writes"


def test_another_folder_umask_and_locale_give_the_same_template(built, tmp_path):
    copy = tmp_path / "some where" / "workbench"
    shutil.copytree(WORKBENCH, copy, ignore=lambda folder, names: ["node_modules", "dist", "tests"] if folder == str(WORKBENCH) else [])
    (copy / "tests").mkdir()
    shutil.copytree(TOP / "docs", copy.parent / "docs")
    (copy / "node_modules").symlink_to(WORKBENCH / "node_modules")
    scripts = copy.parent / "scripts"
    scripts.mkdir()
    shutil.copy(TOP / "scripts/build_page", scripts)
    environment = os.environ | {"LC_ALL": "C", "TZ": "Pacific/Chatham", "NODE_ENV": "development"}
    done = subprocess.run(["bash", "-c", 'umask 077; exec "$0"', scripts / "build_page"], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (copy / "dist/index.html").read_bytes() == built


def test_the_template_is_one_small_file_that_names_nothing_outside_itself():
    text = TEMPLATE.read_text()
    assert len(text.encode()) <= SIZE_AT_MOST_BYTES
    assert text.count("<!--memsnap:parts-->") == 1
    markup = re.sub(r"<(script|style)\b[^>]*>.*?</\1>", r"<\1>", text, flags=re.S)
    assert re.findall(r"""\b(?:src|href|srcset|action|poster|data)\s*=""", markup) == []
    assert re.findall(r"@import|url\(\s*[\"']?(?!data:|#)", "".join(re.findall(r"<style\b[^>]*>(.*?)</style>", text, re.S))) == []


def test_the_templates_policy_allows_its_own_script_and_style_by_hash_and_nothing_else():
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', TEMPLATE.read_text()).group(1)
    rules = {name: values for name, *values in (rule.split() for rule in policy.split(";"))}
    assert rules.pop("img-src") == ["data:", "blob:"]
    for name in ("script-src", "style-src"):
        assert rules[name] and all(re.fullmatch(r"'sha256-[A-Za-z0-9+/]{43}='", value) for value in rules.pop(name)), name
    closed = {name: ["'none'"] for name in ("default-src", "base-uri", "form-action", "trusted-types")}
    assert rules == closed | {"require-trusted-types-for": ["'script'"]}
