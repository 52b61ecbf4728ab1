# SPDX-License-Identifier: Apache-2.0
"""A library takes device memory by a way that no recorder sees, or gives back memory by such a way. Arguments: the library, the function it takes with."""

import ctypes
import sys

from card import MIB, fill, look, take

driver = ctypes.CDLL("libcuda.so.1")


def taken_where_it_is_seen(size_bytes: int) -> int:
    address = ctypes.c_uint64()
    assert driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size_bytes)) == 0
    return address.value


def main(path: str, way: str) -> None:
    library = ctypes.CDLL(path)
    kept = take(100)
    look()
    if way == "given_back":
        address = taken_where_it_is_seen(700 * MIB)
        look()
        assert library.give_back(ctypes.c_uint64(address)) == 0
    else:
        function = getattr(library, way)
        function.restype = ctypes.c_uint64
        assert function(ctypes.c_size_t(700 * MIB)) != 0
    look()
    fill()
    del kept


if __name__ == "__main__":
    main(*sys.argv[1:])
