# SPDX-License-Identifier: Apache-2.0
"""Unmodified PyTorch on the simulated CUDA, each program through scripts/with_simcuda.

The rule: what is compared is PyTorch's own word (its statistics, snapshot, OOM text) with the simulation's accounts.
"""

import os
import pathlib
import re
import signal
import subprocess
import sys
import textwrap

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
WITH_SIMCUDA = ROOT / "scripts" / "with_simcuda"
MIB = 1 << 20
GIB = 1 << 30
TOTAL = 8 * GIB
CONTEXT = 300 * MIB


def environment(**variables):
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("SIMCUDA_")}
    return inherited | variables


def launch(command, *options, **variables):
    return subprocess.run(
        [WITH_SIMCUDA, *options, "--", *command], env=environment(**variables), capture_output=True, text=True
    )


def run_python(program, *options, **variables):
    done = launch([sys.executable, "-c", "import torch\n" + textwrap.dedent(program)], *options, **variables)
    assert done.returncode == 0, done.stderr
    return done


def output(program, *options, **variables):
    return run_python(program, *options, **variables).stdout


def numbers(program, *options, **variables):
    return [int(word) for word in output(program, *options, **variables).split()]


def test_tensors_live_on_the_card_and_come_back():
    text = output("x = torch.arange(5).cuda(); print(x.device, x.cpu().tolist(), x.clone().cpu().tolist())")
    assert text == "cuda:0 [0, 1, 2, 3, 4] [0, 1, 2, 3, 4]\n"


def test_the_card_is_as_large_as_asked_and_the_context_costs_what_was_asked():
    free, total = numbers(
        "print(*torch.cuda.mem_get_info())", "--total", "4GiB", "--context", "100MiB", "--devices", "1"
    )
    assert (free, total) == (4 * GIB - 100 * MIB, 4 * GIB)


TRAINING = """
    import torch.nn as nn
    model = nn.TransformerEncoder(nn.TransformerEncoderLayer(256, 8, 1024, batch_first=True), 4).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    data = torch.randn(8, 128, 256, device="cuda")
    for step in range(3):
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = model(data).float().pow(2).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    torch.cuda.synchronize()
    free, total = torch.cuda.mem_get_info()
    print(free, torch.cuda.memory_reserved())
    import time
    time.sleep(1)  # PyTorch's autograd thread may abort an interpreter that ends right behind a backward pass
"""


@pytest.mark.parametrize("configuration", ["expandable_segments:False", "expandable_segments:True"])
def test_a_transformer_trains_and_every_reserved_byte_is_charged(configuration):
    free, reserved = numbers(TRAINING, PYTORCH_CUDA_ALLOC_CONF=configuration)
    assert reserved > 100 * MIB
    assert free == TOTAL - CONTEXT - reserved


def test_a_transformer_trains_on_cudas_own_pool():
    free, reserved = numbers(TRAINING, PYTORCH_CUDA_ALLOC_CONF="backend:cudaMallocAsync")
    assert free == TOTAL - CONTEXT - reserved


FILL_UP = """
    kept = []
    try:
        while True:
            kept.append(torch.empty(512 << 20, dtype=torch.uint8, device="cuda"))
    except torch.OutOfMemoryError as error:
        print(len(kept), error)
"""


def test_out_of_memory_says_the_truth_about_the_card():
    text = output(FILL_UP)
    assert text.startswith("15 CUDA out of memory. Tried to allocate 512.00 MiB. GPU 0 has a total capacity of 8.00 GiB")
    assert "of which 212.00 MiB is free" in text
    assert "Including non-PyTorch memory, this process has 7.79 GiB memory in use" in text


def test_expandable_segments_run_out_of_memory_at_the_same_byte():
    text = output(FILL_UP, PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True")
    assert text.startswith("15 CUDA out of memory. Tried to allocate 512.00 MiB")


def test_the_pool_backend_runs_out_of_memory():
    text = output(FILL_UP, PYTORCH_CUDA_ALLOC_CONF="backend:cudaMallocAsync")
    assert text.startswith("15 Allocation on device 0 would exceed allowed memory.")


def test_emptying_the_cache_gives_everything_back():
    free, expandable_free = (
        numbers(
            "x = torch.empty(1 << 30, dtype=torch.uint8, device='cuda'); del x; torch.cuda.empty_cache();"
            "print(torch.cuda.mem_get_info()[0])",
            PYTORCH_CUDA_ALLOC_CONF=configuration,
        )[0]
        for configuration in ("expandable_segments:False", "expandable_segments:True")
    )
    assert free == expandable_free == TOTAL - CONTEXT


def test_a_cuda_graph_is_captured_and_replayed():
    text = output(
        """
        import warnings
        warnings.simplefilter("error")
        x = torch.randn(64, 64, device="cuda")
        (x @ x).sum()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = (x @ x) * 2
        for _ in range(3):
            graph.replay()
        torch.cuda.synchronize()
        print(y.shape, torch.cuda.is_current_stream_capturing())
        """
    )
    assert text == "torch.Size([64, 64]) False\n"


def test_graphed_callables_train():
    text = output(
        """
        layer = torch.nn.Linear(64, 64).cuda()
        sample = torch.randn(8, 64, device="cuda", requires_grad=True)
        graphed = torch.cuda.make_graphed_callables(layer, (sample,))
        graphed(torch.randn(8, 64, device="cuda", requires_grad=True)).sum().backward()
        torch.cuda.synchronize()
        print(layer.weight.grad.shape, flush=True)
        import os
        os._exit(0)  # at an ordinary end PyTorch now and then aborts in a thread of the backward pass
        """
    )
    assert text == "torch.Size([64, 64])\n"


def test_two_devices_have_their_own_memory():
    used = numbers(
        """
        a = torch.empty(100 << 20, dtype=torch.uint8, device="cuda:0")
        b = torch.empty(200 << 20, dtype=torch.uint8, device="cuda:1")
        c = torch.arange(4).to("cuda:1").to("cuda:0")
        assert c.cpu().tolist() == [0, 1, 2, 3]
        for device in range(2):
            free, total = torch.cuda.mem_get_info(device)
            print(total - free - torch.cuda.memory_reserved(device))
        """,
        "--devices",
        "2",
    )
    assert used == [CONTEXT, CONTEXT]


RECORD_STREAM = """
    side = torch.cuda.Stream()
    x = torch.empty(100 << 20, dtype=torch.uint8, device="cuda")
    with torch.cuda.stream(side):
        y = x[:10] + 1
    x.record_stream(side)
    del x
    torch.empty(1, device="cuda")
    statistics = torch.cuda.memory_stats()
    print(statistics["allocated_bytes.all.current"] >> 20, statistics["active_bytes.all.current"] >> 20)
    side.synchronize()
    torch.empty(1, device="cuda")
    print(torch.cuda.memory_stats()["active_bytes.all.current"] >> 20)
"""


def test_a_free_is_deferred_while_a_side_stream_is_not_done():
    assert numbers(RECORD_STREAM, SIMCUDA_PENDING_EVENTS="1") == [0, 100, 0]
    assert numbers(RECORD_STREAM) == [0, 0, 0]


def test_bytes_of_others_arrive_by_schedule():
    used = numbers(
        """
        kept = []
        for _ in range(4):
            kept.append(torch.empty(32 << 20, dtype=torch.uint8, device="cuda"))
            free, total = torch.cuda.mem_get_info()
            print((total - free - torch.cuda.memory_reserved()) >> 20)
        """,
        "--external",
        "0:1GiB@allocs=3",
    )
    assert used == [300, 300, 1324, 1324]


def test_a_refusal_without_need_becomes_out_of_memory_with_room_left():
    text = output(
        """
        try:
            torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
        except torch.OutOfMemoryError as error:
            print(error)
        print(torch.empty(1 << 20, dtype=torch.uint8, device="cuda").shape)
        """,
        "--refuse",
        "0@bytes=1GiB",
    )
    assert "of which 7.71 GiB is free" in text
    assert text.endswith("torch.Size([1048576])\n")


SECOND_PROCESS = """
    import subprocess, sys
    program = "import torch; x = torch.empty(3 << 30, dtype=torch.uint8, device='cuda'); print('ready', flush=True); input()"
    other = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert other.stdout.readline() == "ready\\n"
    mine = torch.empty(3 << 30, dtype=torch.uint8, device="cuda")
    try:
        torch.empty(2 << 30, dtype=torch.uint8, device="cuda")
    except torch.OutOfMemoryError as error:
        print(other.pid, error)
    other.kill()
    other.wait()
    torch.empty(2 << 30, dtype=torch.uint8, device="cuda")
"""


def test_a_second_process_takes_memory_and_the_oom_text_names_it():
    pid, text = output(SECOND_PROCESS).split(" ", 1)
    assert f"Process {pid} has 3.29 GiB memory in use." in text
    assert "Including non-PyTorch memory, this process has 3.29 GiB memory in use." in text


def test_data_loader_workers_run_beside_an_initialised_parent():
    text = output(
        """
        data = torch.utils.data.TensorDataset(torch.arange(8))
        x = torch.zeros(1, device="cuda")
        loader = torch.utils.data.DataLoader(data, batch_size=4, num_workers=2, pin_memory=True)
        print([batch[0].cuda().cpu().tolist() for batch in loader])
        """
    )
    assert text == "[[0, 1, 2, 3], [4, 5, 6, 7]]\n"


SHARED_TENSOR = """
import torch
import torch.multiprocessing as multiprocessing

def use(tensors, answers):
    tensor = tensors.get()
    answers.put(tensor.numel())
    tensors.get()

if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    tensors, answers = context.Queue(), context.Queue()
    other = context.Process(target=use, args=(tensors, answers))
    other.start()
    x = torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
    tensors.put(x)
    assert answers.get() == x.numel()
    free, total = torch.cuda.mem_get_info()
    print((total - free - torch.cuda.memory_reserved()) >> 20)
    tensors.put(None)
    other.join()
"""


def test_a_tensor_shared_with_another_process_is_charged_once(tmp_path):
    program = tmp_path / "share.py"
    program.write_text(SHARED_TENSOR)
    done = launch([sys.executable, program])
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == 600  # two contexts


def test_copies_of_untouched_memory_cost_the_host_nothing():
    (peak_kib,) = numbers(
        """
        import resource
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        x = torch.zeros(2 << 30, dtype=torch.uint8, device="cuda")
        y = x.clone()
        torch.cuda.synchronize()
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
        """
    )
    assert peak_kib < 512 * 1024


def test_the_launcher_returns_the_commands_own_end():
    assert launch(["sh", "-c", "exit 7"]).returncode == 7
    assert launch(["sh", "-c", "kill -9 $$"]).returncode == -signal.SIGKILL
    assert launch(["/no/such/program"]).returncode == 127


def test_the_launcher_passes_signals_on():
    program = "import signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: sys.exit(9)); print('up', flush=True); time.sleep(60)"
    running = subprocess.Popen(
        [WITH_SIMCUDA, "--", sys.executable, "-c", program], env=environment(), stdout=subprocess.PIPE, text=True
    )
    assert running.stdout.readline() == "up\n"
    running.terminate()
    assert running.wait() == 9


def test_the_launcher_leaves_no_session_behind(tmp_path):
    done = launch(["sh", "-c", "ls $TMPDIR; kill -9 $$"], TMPDIR=str(tmp_path))
    assert re.fullmatch(r"simcuda-\w+\n", done.stdout)
    assert list(tmp_path.iterdir()) == []


def test_what_is_preloaded_already_stays_in_front():
    done = launch(["sh", "-c", "echo $LD_PRELOAD"], LD_PRELOAD="libm.so.6")
    first, *rest = done.stdout.split(":")
    assert first == "libm.so.6"
    assert any(entry.strip().endswith("libcudart.so.13") for entry in rest)


def test_a_session_inside_a_session_is_the_same_one():
    inner = f"{WITH_SIMCUDA} -- sh -c 'echo $SIMCUDA_STATE'"
    done = launch(["sh", "-c", f"echo $SIMCUDA_STATE; {inner}"])
    outer, joined = done.stdout.split()
    assert outer == joined
    refused = launch(["sh", "-c", f"{WITH_SIMCUDA} --total 1GiB -- true"])
    assert refused.returncode == 2


@pytest.mark.parametrize(
    "options",
    [
        ["--total", "8GB", "--", "true"],
        ["--devices", "17", "--", "true"],
        ["--external", "1:1GiB", "--", "true"],
        ["--context", "9GiB", "--", "true"],
        ["--nonsense", "1", "--", "true"],
        ["--total"],
        ["--"],
        ["true"],
    ],
)
def test_wrong_usage_is_exit_code_2_with_a_reason(options):
    done = subprocess.run([WITH_SIMCUDA, *options], env=environment(), capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("with_simcuda: ")
    assert "usage: with_simcuda" in done.stderr
    assert done.stdout == ""


def test_without_a_session_there_is_no_device():
    folder = pathlib.Path(os.environ.get("MEMSNAP_BUILD", ROOT / "build")) / "tests" / "simcuda"
    program = "import torch; print(torch.cuda.is_available(), torch.cuda.device_count())"
    variables = environment(LD_PRELOAD=str(folder / "libcudart.so.13"), LD_LIBRARY_PATH=str(folder))
    done = subprocess.run([sys.executable, "-c", program], env=variables, capture_output=True, text=True)
    assert done.stdout == "False 0\n"


def test_visible_devices_hides_and_renumbers():
    text = output(
        "torch.zeros(1, device='cuda'); print(torch.cuda.device_count(), torch.cuda.get_device_properties(0).pci_bus_id)",
        "--devices",
        "3",
        CUDA_VISIBLE_DEVICES="2",
    )
    assert text == "1 3\n"


def test_the_runtime_exists_under_its_older_name_too_with_errors_of_its_own():
    folder = pathlib.Path(os.environ.get("MEMSNAP_BUILD", ROOT / "build")) / "tests" / "simcuda"
    text = output(
        f"""
        import ctypes
        older, newer = ctypes.CDLL("{folder}/libcudart.so.12"), ctypes.CDLL("libcudart.so.13")
        pointer = ctypes.c_void_p()
        print(older.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(1)), newer.cudaFree(pointer))
        print(older.cudaFree(pointer), older.cudaGetLastError(), newer.cudaGetLastError())
        """
    )
    assert text == "0 0\n1 1 0\n"


def test_what_is_not_simulated_is_named_when_asked_to():
    call = "ctypes.CDLL('libcuda.so.1').cuTexObjectCreate()"
    program = f"torch.zeros(1, device='cuda'); import ctypes; {call}; {call}"
    assert run_python(program, SIMCUDA_VERBOSE="1").stderr == "simcuda: cuTexObjectCreate is not simulated\n"
    assert run_python(program).stderr == ""
