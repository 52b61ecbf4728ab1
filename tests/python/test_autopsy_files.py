# SPDX-License-Identifier: Apache-2.0
"""The files that an autopsy leaves: names, limits, what cannot be written, threads and forks."""

import os
import pickle
import sys

import pytest

from test_autopsy import OFF, ON, files, run  # noqa: F401 (run is a fixture)


def test_files_are_numbered_never_overwritten_and_no_more_than_the_limit(run, tmp_path):
    (tmp_path / "oom.pickle").write_text("the user's")
    _, err = run("""
        import torch
        memsnap.autopsy.install("oom.pickle", limit=2)
        for size in range(5): fail(request_bytes=size)
    """)

    assert files(tmp_path) == ["oom-2.pickle", "oom-3.pickle", "oom.pickle"] and (tmp_path / "oom.pickle").read_text() == "the user's"
    assert [line.split(":")[1] for line in err] == [" out of memory on cuda", " out of memory on cuda", " more than 2 out-of-memory errors"]


def test_the_same_failure_tried_again_gets_one_file(run, tmp_path):
    run("""
        import torch
        memsnap.autopsy.install("oom.pickle", limit=9)
        for attempt in range(5): fail()
        fail(free_bytes=3)
    """)

    assert files(tmp_path) == ["oom-2.pickle", "oom.pickle"]


def test_a_program_that_fails_for_ever_is_not_remembered_failure_by_failure(run):
    out, _ = run("""
        import torch, weakref
        class Size(float): pass
        memsnap.autopsy.install(limit=1)
        seen = []
        for size in range(50):
            request = Size(size)
            seen.append(weakref.ref(request))
            fail(request_bytes=request)
            torch.cuda.memory.traces[0].clear()
        del request
        print(sum(one() is not None for one in seen))
    """)

    assert out[-2] == "1"


def test_code_whose_module_has_no_name_gets_its_file_too(run, tmp_path):
    run("""
        import torch
        memsnap.autopsy.install("oom.pickle")
        exec("fail()", {"__name__": None, "fail": fail})
        exec("try: torch.oom(2)\\nexcept torch.OutOfMemoryError: pass", {"__name__": None, "torch": torch})
    """)

    assert files(tmp_path) == ["oom-2.pickle", "oom.pickle"]


@pytest.mark.parametrize("path, reason", [("missing/oom.pickle", "FileNotFoundError"), ("/dev/full/oom.pickle", "NotADirectoryError")])
def test_a_path_that_cannot_be_written_is_said_and_the_error_is_torchs_own(run, tmp_path, path, reason):
    out, err = run(f"""
        import torch
        memsnap.autopsy.install({path!r})
        fail()
        fail(request_bytes=1)
        print("went on")
    """)

    assert out == ["observer", ON, *["caught CUDA out of memory"] * 2, "went on", OFF] and files(tmp_path) == []
    assert len(err) == 1 and err[0].startswith(f"memsnap: out of memory on cuda:0, but no snapshot ({reason}: ")


def test_a_disk_that_fills_up_leaves_no_file(run, tmp_path):
    out, err = run("""
        import resource, signal, torch
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))
        memsnap.autopsy.install("oom.pickle")
        torch.cuda.memory.traces[0] += [{"action": "alloc", "addr": address, "size": 1} for address in range(10_000)]
        fail()
    """)

    assert "caught CUDA out of memory" in out and files(tmp_path) == [] and len(err) == 1 and "but no snapshot (OSError" in err[0]


def test_a_file_system_without_hard_links_gets_the_same_names_and_nothing_is_overwritten(run, tmp_path):
    (tmp_path / "oom.pickle").write_text("the user's")
    _, err = run("""
        import os, torch
        def link(*_paths): raise PermissionError("no hard links here")
        os.link = link
        memsnap.autopsy.install("oom.pickle")
        fail()
        def replace(*_paths): raise OSError("no space")
        os.replace = replace
        fail(request_bytes=1)
    """)

    assert files(tmp_path) == ["oom-2.pickle", "oom.pickle"] and (tmp_path / "oom.pickle").read_text() == "the user's"
    assert pickle.loads((tmp_path / "oom-2.pickle").read_bytes())["memsnap"] and err[1].endswith("but no snapshot (OSError: no space)")


def test_a_program_without_standard_error_is_not_harmed(run, tmp_path):
    out, _ = run("""
        import sys, torch
        sys.stderr.close()
        memsnap.autopsy.install("oom.pickle")
        fail()
        sys.stderr = None
        fail(request_bytes=1)
    """)

    assert out.count("caught CUDA out of memory") == 2 and files(tmp_path) == ["oom-2.pickle", "oom.pickle"]


def test_no_memory_for_a_snapshot_is_said_and_later_ones_are_written(run, tmp_path):
    out, err = run("""
        import os, torch
        memsnap.autopsy.install("oom.pickle")
        torch._state.failures = 1
        fail()
        os.environ.pop("TORCH_SNAPSHOT")
        fail(request_bytes=1)
    """, TORCH_SNAPSHOT="fails")

    assert out.count("caught CUDA out of memory") == 2 and files(tmp_path) == ["oom.pickle"]
    assert err[0] == "memsnap: out of memory on cuda:0, but no snapshot (MemoryError: no memory for the snapshot)"


def test_a_failure_while_the_snapshot_is_made_does_not_recurse(run, tmp_path):
    out, _ = run("""
        import torch
        memsnap.autopsy.install("oom.pickle")
        plain = torch.cuda.memory._snapshot
        def snapshot():
            fail(request_bytes=1)
            return plain()
        torch.cuda.memory._snapshot = snapshot
        fail()
    """)

    assert out.count("caught CUDA out of memory") == 2 and files(tmp_path) == ["oom.pickle"]


def test_failures_of_several_threads_at_once_each_get_a_file(run, tmp_path):
    run("""
        import threading, torch
        memsnap.autopsy.install("oom.pickle", limit=8)
        torch.cuda.init()
        together = threading.Barrier(4)
        def work(size):
            together.wait()
            fail(request_bytes=size)
        threads = [threading.Thread(target=work, args=(size,)) for size in range(4)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
    """)

    assert files(tmp_path) == ["oom-2.pickle", "oom-3.pickle", "oom-4.pickle", "oom.pickle"]
    assert all(pickle.loads((tmp_path / name).read_bytes())["memsnap"] for name in files(tmp_path))


def test_an_interrupt_while_the_snapshot_is_made_is_not_swallowed_and_leaves_no_file(run, tmp_path):
    out, _ = run("""
        import torch
        memsnap.autopsy.install("oom.pickle")
        def interrupted(): raise KeyboardInterrupt
        torch.cuda.memory._snapshot = interrupted
        try: torch.oom()
        except KeyboardInterrupt: print("interrupted")
    """)

    assert "interrupted" in out and files(tmp_path) == []


def test_a_forked_child_writes_under_its_own_number_and_switches_off_nothing_of_its_parents(run, tmp_path):
    out, _ = run("""
        import os, sys, torch
        memsnap.autopsy.install("oom-%p.pickle", limit=1)
        torch.cuda.init()
        fail()
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            fail(request_bytes=1)
            memsnap.autopsy.uninstall()
            sys.stdout.flush()
            os._exit(0)
        os.waitpid(child, 0)
        print(torch._C._cuda_isHistoryEnabled(), os.getpid(), child)
    """)

    enabled, parent, child = out[-2].split()
    assert enabled == "True" and files(tmp_path) == sorted([f"oom-{parent}.pickle", f"oom-{child}.pickle"])
    assert out.count(OFF) == 1 and out[-1] == OFF


def test_a_fork_in_the_middle_of_a_snapshot_does_not_hang_the_child(run):
    out, _ = run("""
        import os, threading, torch
        memsnap.autopsy.install("oom-%p.pickle")
        torch.cuda.init()
        begun, forked = threading.Event(), threading.Event()
        plain = torch.cuda.memory._snapshot
        def slow():
            begun.set(); forked.wait()
            return plain()
        torch.cuda.memory._snapshot = slow
        thread = threading.Thread(target=fail)
        thread.start(); begun.wait()
        child = os.fork()
        if child == 0:
            torch.cuda.memory._snapshot = plain
            fail()
            os._exit(7)
        forked.set(); thread.join()
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """)

    assert out[-2] == "7"
