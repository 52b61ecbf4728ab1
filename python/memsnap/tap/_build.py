# SPDX-License-Identifier: Apache-2.0
"""Compiles the tap against the torch that this Python imports, with the user's compiler."""

import os
import pathlib
import re
import shlex
import shutil
import subprocess

from . import _folder, _key
from ._attach import NotOurs, load

_COMPILERS = ("c++", "g++", "clang++")
_TIME_AT_MOST_S = 300
# Older headers of torch compile as C++20 as well, and what the tap uses of them does not depend on the standard.
_STANDARD = "-std=c++20"


class Failed(Exception):
    """The build did not succeed, and what to do."""


def compiler() -> list:
    named = os.environ.get("CXX")
    if named:
        words = shlex.split(named)
        if not words or shutil.which(words[0]) is None:
            raise Failed(f"the compiler that CXX names was not found: {named}")
        return words
    for name in _COMPILERS:
        if shutil.which(name):
            return [name]
    raise Failed("no C++ compiler was found: install g++ (version 10 or later) or clang++, or name one with CXX")


def torch_headers(torch) -> list:
    top = pathlib.Path(torch.__file__).parent / "include"
    if not (top / "c10/cuda/CUDACachingAllocator.h").is_file():
        raise Failed(f"torch has no headers in {top}: install the package that has them")
    return [top, top / "torch/csrc/api/include"]


def _cuda_folders(torch) -> list:
    """Where CUDA's headers may be: those of torch's own wheels first, and Triton's, which has the few that the wheels may lack."""
    site = pathlib.Path(torch.__file__).parents[1]
    major = torch.version.cuda.split(".")[0]
    named = [os.environ.get(variable) for variable in ("CUDA_HOME", "CUDA_PATH")]
    nvcc = shutil.which("nvcc")
    toolkits = [*filter(None, named), *([pathlib.Path(nvcc).resolve().parents[1]] if nvcc else []), f"/usr/local/cuda-{torch.version.cuda}", "/usr/local/cuda"]
    return [
        site / f"nvidia/cu{major}/include",
        site / "nvidia/cuda_runtime/include",
        *(pathlib.Path(toolkit) / "include" for toolkit in toolkits),
        pathlib.Path("/usr/include"),
        site / "triton/backends/nvidia/include",
    ]


def cuda_headers(torch) -> list:
    """The fewest folders, in order, that have what torch's header needs."""
    needed, found = ["cuda_runtime_api.h", "crt/host_defines.h"], []
    for folder in _cuda_folders(torch):
        here = [name for name in needed if (folder / name).is_file()]
        if here:
            found.append(folder)
            needed = [name for name in needed if name not in here]
    if needed:
        package = "nvidia-cuda-crt" if needed == ["crt/host_defines.h"] else "nvidia-cuda-runtime"
        raise Failed(f"CUDA's header {needed[0]} was not found: install the CUDA toolkit {torch.version.cuda} and name it with CUDA_HOME, or `pip install {package}`")
    return found


def command(torch, key: str, output: str) -> list:
    major, minor = _key.release(torch)
    library = _key.allocator_library()
    folders = [argument for folder in (*torch_headers(torch), *cuda_headers(torch)) if folder != pathlib.Path("/usr/include") for argument in ("-isystem", str(folder))]
    return [
        *compiler(), _STANDARD, "-O2", "-fPIC", "-shared", "-fvisibility=hidden",
        f"-D_GLIBCXX_USE_CXX11_ABI={int(getattr(torch._C, '_GLIBCXX_USE_CXX11_ABI', True))}",
        f'-DMEMSNAP_TAP_KEY="{key}"', f"-DMEMSNAP_TAP_MAJOR={major}", f"-DMEMSNAP_TAP_MINOR={minor}",
        *folders, str(_key.SOURCES[0]), "-o", output, str(library), "-ldl", "-Wl,-z,now", "-Wl,-z,nodelete",
    ]  # fmt: skip


def _compile(words: list) -> None:
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=_TIME_AT_MOST_S)
    except subprocess.TimeoutExpired:
        raise Failed(f"the compiler took more than {_TIME_AT_MOST_S} seconds") from None
    except OSError as error:
        raise Failed(f"the compiler cannot be run: {error.strerror}") from None
    if done.returncode != 0:
        lines = done.stderr.splitlines()
        told = [line for line in lines if re.search(r"\b(error|undefined|cannot find)\b", line)] or lines[-5:]
        raise Failed("\n  ".join([f"the compiler failed with exit code {done.returncode}:", *told[:10], "the command was:", shlex.join(words)]))


def build(torch, again: bool = False) -> tuple:
    """(path of the tap for this torch, whether it was built just now)."""
    key = _key.key_of(torch)
    with _folder.locked() as place:
        path = place / _key.file_name(torch, key)
        if path.is_file() and not again and not _folder.distrust(path):
            return path, False
        with _folder.appearing(path) as temporary:
            _compile(command(torch, key, temporary))
            try:
                load(temporary, key)
            except (NotOurs, OSError) as error:
                raise Failed(f"what was built cannot be loaded: {error}") from None
        return path, True
