# SPDX-License-Identifier: Apache-2.0
"""Runs of the program of marks, with names in place of ids."""

import dataclasses

from recorded import BUILD, records_of
from sidecar import read_sidecar

PHASE_BEGIN, PHASE_END, MARK, STEP, NOTE, CATEGORY, CAP = 48, 49, 50, 51, 52, 53, 54
LABEL, STEPS, OPTIMIZER, RANGE, MODULE, COLLECTION = range(6)
COLLECTION_OFF, IMPLIED = 1, 2
UNOPENED = 2**64 - 1


@dataclasses.dataclass
class Marked:
    run: object
    ring: dict
    names: dict

    def name(self, one):
        return self.names.get(one["link"] >> 32, "")

    def phases(self):
        """(what, name, family, thread) of each edge of a range and each mark, by ticket."""
        words = {PHASE_BEGIN: "begin", PHASE_END: "end", MARK: "mark"}
        return [(words[one["kind"]], self.name(one), one["code"], one["thread"]) for one in self.ring["records"] if one["kind"] in words]

    def edges(self):
        return [f"{what} {name}" for what, name, _, _ in self.phases()]

    def born_in(self):
        """The folded phase of each live block, by birth."""
        return [self.names.get(one["phase"], "") for one in sorted(self.ring["places"], key=lambda one: one["birth"])]

    def born_after(self):
        return [one["step"] for one in sorted(self.ring["places"], key=lambda one: one["birth"])]

    def boundaries(self, family=None):
        return [one for one in self.ring["boundaries"] if family in (None, one["family"])]

    def boundary_names(self):
        return [self.names.get(one["name"], "") for one in self.ring["boundaries"]]

    def steps(self):
        return [(one["size"], one["code"]) for one in records_of(self.ring, STEP)]


def marked(record, *commands, **environment):
    settings = {"MEMSNAP_NVTX": 1, "MEMSNAP_STACK": "off", "MEMSNAP_SAMPLE_MS": 0} | environment
    run = record(command=[BUILD / "marks", *commands], **settings)
    assert (run.done.returncode, run.done.stderr) == (0, ""), run.done
    (file,) = run.folder.glob("*.bin")
    return Marked(run, run.ring(), read_sidecar(file).names)
