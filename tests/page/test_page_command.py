# SPDX-License-Identifier: Apache-2.0
"""The command line of a page: where it goes, what it leaves alone, what it tells, and the page of two incidents."""

import shutil

import pytest

from conftest import TOP
from page_file import Page, parts

FAILED = (TOP / "fixtures/live_set/events.txt").read_text()


def test_a_page_is_the_template_around_its_parts(case):
    made = case(FAILED)
    text = made.page().read_text()
    template = (TOP / "workbench/dist/index.html").read_text()
    assert text.startswith("<!doctype html>") and text.rstrip().endswith("</html>") and "<!--memsnap:parts-->" not in text
    assert [name for name, _ in parts(made.folder / "page.html")] == ["outline", "receipt", "names", "levels", "begin", "events", "derived"]
    head, tail = template.split("<!--memsnap:parts-->")
    assert text.startswith(head) and text.endswith(tail)


def test_a_page_goes_to_standard_output_in_place_of_the_report(case):
    made = case(FAILED)
    done = made.replay(made.ring, "--html", "-")
    assert done.returncode == 10 and done.stdout == made.page().read_text()


def test_an_existing_file_is_kept_unless_it_may_be_replaced(case):
    made = case(FAILED)
    (made.folder / "page.html").write_text("mine")
    kept = made.replay(made.ring, "--html", "page.html")
    assert kept.returncode == 5 and (made.folder / "page.html").read_text() == "mine"
    assert made.replay(made.ring, "--html", "page.html", "--force").returncode == 10
    assert (made.folder / "page.html").read_text() != "mine"


@pytest.mark.parametrize("arguments", [
    ["ring.bin", "--html-events", "5"],
    ["ring.bin", "--html", "x", "--html-events", "0"],
    ["ring.bin", "--html", "-", "--json", "-"],
    ["ring.bin", "--html", "x", "--json", "./x"],
    ["--html", "x", "check", "ring.bin"],
    ["diff", "ring.bin", "ring.bin", "--html", "x", "--json", "x"],
])
def test_options_that_do_not_go_together_write_nothing(case, arguments: list[str]):
    made = case(FAILED)
    done = made.replay(*arguments)
    assert (done.returncode, done.stdout) == (2, "") and [path.name for path in made.folder.iterdir()] == ["ring.bin"]


def test_a_result_that_is_refused_keeps_no_other_from_being_written(case):
    made = case(FAILED)
    done = made.replay(made.ring, "--window", "short.txt", "--window-events", "1", "--json", "receipt.json", "--html", "page.html")
    assert done.returncode == 6 and not (made.folder / "short.txt").exists()
    assert Page(made.folder / "page.html").receipt == (made.folder / "receipt.json").read_text()


def test_the_page_of_a_comparison_holds_both_incidents_and_what_it_came_to(case):
    made = case(FAILED)
    shutil.copy(made.ring, made.folder / "before.bin")
    done = made.replay("diff", "before.bin", "ring.bin", "--html", "page.html", "--json", "diff.json")
    found = parts(made.folder / "page.html")
    names = ["outline", "receipt", "names", "levels", "begin", "events", "derived"]

    assert list(found) == [(name, side) for side in ("before", "after") for name in names] + [("diff", None)]
    assert found["diff", None].decode().strip() == (made.folder / "diff.json").read_text().strip()
    assert done.returncode in (0, 10, 11) and done.stdout.startswith("BEFORE")
    assert Page(made.folder / "page.html", "before").receipt == Page(made.folder / "page.html", "after").receipt


def test_the_page_of_a_comparison_can_be_without_names(case):
    made = case(FAILED)
    done = made.replay("diff", "ring.bin", "ring.bin", "--html", "page.html", "--no-names")
    page = Page(made.folder / "page.html", "after")
    assert done.returncode in (0, 10, 11) and page.outline["file"] is None and not page.outline["with_names"]


def test_a_side_of_a_comparison_that_is_a_receipt_is_in_the_page_as_that(case):
    made = case(FAILED)
    made.replay(made.ring, "--json", "receipt.json")
    made.replay("diff", "receipt.json", "ring.bin", "--html", "page.html")
    found = parts(made.folder / "page.html")
    assert found["receipt", "before"].decode().strip() == (made.folder / "receipt.json").read_text().strip()
    assert [name for name, side in found if side == "before"] == ["receipt"] and ("events", "after") in found


def test_a_page_without_names_does_not_name_its_recording(case):
    made = case((TOP / "fixtures/module_calls/events.txt").read_text())
    named, page = Page(made.page()), Page(made.page("--no-names"))

    assert named.outline["file"] == "ring.bin" and named.outline["with_names"]
    assert page.outline["file"] is None and not page.outline["with_names"]
