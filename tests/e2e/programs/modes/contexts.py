# SPDX-License-Identifier: Apache-2.0
"""A context of the program's own beside PyTorch's: memory is taken in both, and the own one is destroyed with what it holds."""

import ctypes

from card import MIB, fill, look, take

driver = ctypes.CDLL("libcuda.so.1")


def call(name: str, *arguments) -> None:
    assert getattr(driver, name)(*arguments) == 0, name


def main() -> None:
    kept = take(100)
    look()
    context, address = ctypes.c_void_p(), ctypes.c_uint64()
    call("cuCtxCreate_v4", ctypes.byref(context), None, 0, 0)
    look()
    for size in (10, 500):
        call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size * MIB))
    call("cuCtxPopCurrent_v2", ctypes.byref(context))
    look()
    call("cuCtxDestroy_v2", context)
    look()
    fill()
    del kept


if __name__ == "__main__":
    main()
