# SPDX-License-Identifier: Apache-2.0
"""What the recorder was told of the blocks that hold tensors, so that nothing is told twice and a fact does not hide a stronger one.

A block is known by the address of a storage, for as long as a tensor lives that was told of there and still lies there: the same address
later is another block. Only CUDA tensors with memory of their own count; any other tensor is passed over.
"""

import weakref

from . import _native

# Told later, the category behind this one in the list leaves the one before it in place.
_RANK = {
    _native.PARAMETER: 0,
    _native.BUFFER: 1,
    _native.OPTIMIZER_STATE: 2,
    _native.GRADIENT: 3,
    _native.INPUT: 4,
    _native.ACTIVATION: 5,
}

_told = {}  # (device, address): (weak reference to a tensor there, category)


def _storage(tensor):
    """(device, address, bytes) of the memory that a tensor lies in; None when it has none of its own on a CUDA device."""
    try:
        local = getattr(tensor, "_local_tensor", tensor)  # a DTensor's share of this process
        if not local.is_cuda:
            return None
        storage = local.untyped_storage()
        address = storage.data_ptr()
        return (local.device.index or 0, address, storage.nbytes()) if address else None
    except Exception:  # sparse, fake, wrapped, not yet made: classes of tensors refuse it in ways of their own
        return None


def tell(tensor, category: int) -> None:
    """The block that a tensor lies in is of this category."""
    place = _storage(tensor)
    if place is None:
        return
    device, address, size_bytes = place
    key = (device, address)
    known = _told.get(key)
    if known is not None and _RANK[known[1]] <= _RANK[category]:
        holder = known[0]()
        if holder is not None and (holder is tensor or _storage(holder) == place):
            return
    _native.category(device, address, size_bytes, category)
    _told[key] = (weakref.ref(tensor, lambda gone: _forget(key, gone)), category)


def _forget(key, gone) -> None:
    known = _told.get(key)
    if known is not None and known[0] is gone:
        _told.pop(key, None)
