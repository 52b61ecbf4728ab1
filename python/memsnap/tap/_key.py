# SPDX-License-Identifier: Apache-2.0
"""What a tap is made for: one build of torch, told by its versions and by the bytes of its allocator's library, and one source of the tap.

The rule: a tap is used where all of it is equal, and nowhere else.
"""

import hashlib
import pathlib
import platform

SOURCES = [pathlib.Path(__file__).with_name(name) for name in ("tap.cpp", "live_ranges.h")]  # the first is compiled
ALLOCATOR = "libc10_cuda.so"


class Unsuitable(Exception):
    """This torch has nothing to tap, and why."""


def allocator_library() -> pathlib.Path:
    """The file of the allocator that is loaded in this process."""
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        for line in maps:
            path = line.rstrip("\n").split(" ", 5)[-1].strip()
            if path.rpartition("/")[2].startswith(ALLOCATOR):
                return pathlib.Path(path)
    raise Unsuitable(f"no {ALLOCATOR} is loaded")


def release(torch) -> tuple:
    """Major and minor number."""
    try:
        major, minor = torch.__version__.split(".")[:2]
        return int(major), int(minor)
    except ValueError:
        raise Unsuitable(f"its version {torch.__version__!r} is not understood") from None


def key_of(torch) -> str:
    if torch.version.cuda is None:
        raise Unsuitable("it was built without CUDA")
    release(torch)
    try:
        library = hashlib.sha256(allocator_library().read_bytes()).hexdigest()
    except OSError as error:
        raise Unsuitable(f"its {ALLOCATOR} cannot be read: {error.strerror}") from None
    facts = {
        "torch": torch.__version__,
        "git": torch.version.git_version,
        "cuda": torch.version.cuda,
        "cxx11_abi": int(getattr(torch._C, "_GLIBCXX_USE_CXX11_ABI", True)),
        "machine": platform.machine(),
        "allocator": library[:16],
        "source": hashlib.sha256(b"".join(file.read_bytes() for file in SOURCES)).hexdigest()[:16],
    }
    return " ".join(f"{name}={value}" for name, value in facts.items())


def file_name(torch, key: str) -> str:
    """Readable, and another one for each key."""
    version = "".join(character if character.isalnum() or character in ".+-" else "_" for character in torch.__version__)
    return f"tap-{version}-{hashlib.sha256(key.encode()).hexdigest()[:16]}.so"
