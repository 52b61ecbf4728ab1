# SPDX-License-Identifier: Apache-2.0
"""Recorded programs and what they leave, for the tests of this folder. Programs, fakes and the recorder come from the build
folder; MEMSNAP_TEST_BUILD and MEMSNAP_TEST_LIBRARY name others."""

import dataclasses
import json
import os
import pathlib
import subprocess

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("MEMSNAP_TEST_BUILD", TOP / "build/tests/recorder"))
LIBRARY = pathlib.Path(os.environ.get("MEMSNAP_TEST_LIBRARY", TOP / "build/interpose/libmemsnap.so"))

# Kinds, ops and roles of WIRE.md that tests name.
BLOCK_ALLOC, BLOCK_FREE, BLOCK_OOM, BIRTH = 1, 2, 3, 4
TRY, OK, FAIL, FREE, FREE_FAIL, MEM_INFO, BLIND, OPERATION, KEYFRAME = 16, 17, 18, 19, 20, 21, 22, 23, 80
CUDA_MALLOC, CUDA_FREE, CUDA_MEM_GET_INFO = 1, 32, 53
CU_MEM_ALLOC, CU_MEM_CREATE, CU_MEM_MAP, CU_MEM_RETAIN, CU_MEM_RELEASE, CU_MEM_UNMAP = 96, 108, 109, 110, 167, 168
CU_CTX_CREATE, CU_CTX_RETAIN, CU_CTX_DESTROY, CU_CTX_RESET = 123, 124, 176, 178
FROM_TORCH, BIRTH_FOLLOWS, TOTALS = 4, 1, 8
NO_TICKET = 2**64 - 1


def clean_environment(**extra):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MEMSNAP_", "PYTORCH_", "SLURM_"))}
    kept.pop("LD_PRELOAD", None)
    kept.update({name: str(value) for name, value in extra.items()})
    return kept


def read_ring(path):
    done = subprocess.run([BUILD / "ring_check", path], capture_output=True, text=True)
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


@dataclasses.dataclass
class Run:
    folder: pathlib.Path
    done: subprocess.CompletedProcess

    def rings(self):
        """What the rings say, in the order in which the files were made."""
        files = sorted(self.folder.glob("*.bin"), key=lambda file: (file.stat().st_mtime_ns, file.name))
        return [read_ring(file) for file in files]

    def ring(self):
        rings = self.rings()
        assert len(rings) == 1
        assert rings[0]["violations"] == []
        if rings[0]["header"]["exit_mark"]:  # nothing was in flight: there is nothing to redo
            assert rings[0]["table_count"] == len(rings[0]["live"])
        return rings[0]


def kinds(ring):
    return [one["kind"] for one in ring["records"]]


def records_of(ring, kind, op=None):
    return [one for one in ring["records"] if one["kind"] == kind and op in (None, one["op"])]
