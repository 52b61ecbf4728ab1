# SPDX-License-Identifier: Apache-2.0
"""Names of a recorded job: in its page where they may be told, nowhere in one without them, and its receipt holds none in any."""

import json
import os
import pathlib
import re
import shutil

import pytest

from named_job import WORDS, NamedCase
from page_file import Page, parts

TOKEN = re.compile(r"(?:site|frame|phase|library|dimension)-[0-9a-f]{16}")
SHOWN = (0, 10, 11)


@pytest.fixture
def named(tmp_path: pathlib.Path) -> NamedCase:
    return NamedCase(tmp_path)


def words_in(path: pathlib.Path, part: str | None = None) -> list[bytes]:
    """Those of the job in the parts of a page, or in those of a name."""
    return sorted({word for (name, _), content in parts(path).items() for word in WORDS if word in content and part in (None, name)})


def test_a_page_tells_the_names_and_its_receipt_does_not(named):
    assert words_in(named.page()) == sorted(WORDS) and words_in(named.folder / "page.html", "receipt") == []
    assert words_in(named.page("--with-names"), "receipt") == []


@pytest.mark.parametrize("keyed", [False, True])
def test_a_page_without_names_has_no_word_of_the_job(named, keyed: bool):
    page = named.page("--no-names", *(["--token-key", named.key()] if keyed else []))
    assert words_in(page) == [] and not Page(page).outline["with_names"]


@pytest.mark.parametrize("sides", [("ring.bin", "ring.bin"), ("named.json", "plain.json"), ("ring.bin", "named.json"), ("named.json", "ring.bin")])
def test_a_comparison_without_names_has_no_word_of_the_job_whatever_its_sides_hold(named, sides: tuple[str, str]):
    named.replay(named.ring, "--json", "named.json", "--with-names")
    named.replay(named.ring, "--json", "plain.json")
    assert any(word in (named.folder / "named.json").read_bytes() for word in WORDS)

    done = named.replay("diff", *sides, "--html", "page.html", "--no-names")

    assert done.returncode in SHOWN and words_in(named.folder / "page.html") == []


def test_the_receipt_of_a_side_is_the_one_without_names(named):
    named.replay(named.ring, "--json", "named.json", "--with-names")
    named.replay(named.ring, "--json", "plain.json")
    done = named.replay("diff", "named.json", "ring.bin", "--html", "page.html")
    found = parts(named.folder / "page.html")
    assert done.returncode in SHOWN
    assert found["receipt", "before"] == found["receipt", "after"] == (named.folder / "plain.json").read_bytes()


@pytest.mark.parametrize("hidden", [False, True])
@pytest.mark.parametrize("keyed", [False, True])
def test_every_token_of_a_page_is_that_of_its_receipt_and_among_its_names(named, hidden: bool, keyed: bool):
    options = ["--no-names"] * hidden + ["--token-key", named.key()] * keyed
    page = Page(named.page(*options))
    receipt = named.replay(named.ring, "--json", "-", *options).stdout
    screen = named.replay(named.ring, *options).stdout
    told = set(TOKEN.findall(json.dumps(page.names)))

    assert page.receipt == receipt
    tokens = set(TOKEN.findall(receipt))
    assert len(tokens) == 2 and tokens <= told
    assert {entry["scope"] for entry in json.loads(receipt)["dictionary"]["sites"]} == {"key" if keyed else "ring"}
    for text in (json.dumps(page.outline), screen):
        assert set(TOKEN.findall(text)) <= told and bool(TOKEN.findall(text)) == hidden


def test_hidden_names_change_no_token(named):
    for options in ([], ["--token-key", named.key()]):
        shown, hidden = (named.replay(named.ring, "--json", "-", *options, *more).stdout for more in ([], ["--no-names"]))
        assert shown == hidden != ""


def test_a_comparison_has_the_digests_of_the_receipts_in_its_page_with_a_key_and_without(named, monkeypatch):
    digests = set()
    for keyed in (False, True):
        if keyed:
            monkeypatch.setenv("MEMSNAP_TOKEN_KEY_FILE", str(named.key()))
        done = named.replay("diff", "ring.bin", "ring.bin", "--html", "page.html", "--force")
        found = parts(named.folder / "page.html")
        receipt, told = json.loads(found["receipt", "before"]), json.loads(found["diff", None])
        assert done.returncode in SHOWN and told["before"]["digest"]["receipt"] == receipt["digest"]["receipt"]
        digests.add(receipt["digest"]["receipt"])
    assert len(digests) == 2


def test_a_page_that_tells_names_is_its_owners_alone(named):
    mask = os.umask(0o022)
    try:
        assert named.page().stat().st_mode & 0o777 == named.names.stat().st_mode & 0o777 == 0o600
        assert named.page("--no-names").stat().st_mode & 0o777 == 0o644
    finally:
        os.umask(mask)


@pytest.mark.parametrize("result", ["--html", "--json"])
@pytest.mark.parametrize("over", ["before.bin", "before.bin.names", "ring.bin", "ring.bin.names"])
def test_no_result_of_a_comparison_replaces_a_side_or_its_names(named, result: str, over: str):
    for suffix in ("", ".names"):
        shutil.copy(named.folder / f"ring.bin{suffix}", named.folder / f"before.bin{suffix}")
    content = (named.folder / over).read_bytes()

    done = named.replay("diff", "before.bin", "ring.bin", result, over, "--force")

    assert done.returncode == 5 and (named.folder / over).read_bytes() == content


def test_a_result_of_a_comparison_that_cannot_be_had_leaves_the_others_unwritten_too(named):
    done = named.replay("diff", "ring.bin", "ring.bin", "--json", "diff.json", "--html", "missing/page.html")
    assert (done.returncode, done.stdout) == (5, "") and not (named.folder / "diff.json").exists()
