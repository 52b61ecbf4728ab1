# SPDX-License-Identifier: Apache-2.0
"""What blocks hold, as facts that are seen: a model's parameters and buffers, their gradients as they are made, an optimizer's state after
a step, tensors given to the model, tensors saved for the backward pass. Nothing is inferred from names or shapes, nothing is kept alive,
no value changes, and no exception of ours reaches the program.
"""

import contextlib
import sys
import weakref

from . import _native
from ._compiled import breaks_the_graph, leave_frames_alone
from ._told import tell

_DEPTH_AT_MOST = 4  # of lists, dictionaries and data classes around a tensor

_watched = {}  # by identity: weak references to the optimizers and parameters that have our hook


def _is_new(thing) -> bool:
    """Whether a thing has no hook of ours yet; from now on it has."""
    key = id(thing)
    known = _watched.get(key)
    if known is not None and known() is thing:
        return False
    _watched[key] = weakref.ref(thing, lambda gone: _watched.pop(key, None) if _watched.get(key) is gone else None)
    return True


def _tensors(value, depth=_DEPTH_AT_MOST):
    """The tensors in a value, in containers and in the stored fields of data classes too. Code of the program's classes does not run: a
    property or __getattr__ may compute, load or fail."""
    kind = type(value)
    if issubclass(kind, sys.modules["torch"].Tensor):
        yield value
        return
    if not depth:
        return
    if issubclass(kind, dict):
        items = list(dict.values(value))
    elif issubclass(kind, list):
        items = list.__iter__(value)
    elif issubclass(kind, tuple):
        items = tuple.__iter__(value)
    elif any("__dataclass_fields__" in vars(base) for base in kind.__mro__):
        items = list(_fields(value).values())
    else:
        return
    for item in items:
        yield from _tensors(item, depth - 1)


def _fields(value) -> dict:
    """What a data class's object holds, under any name."""
    try:
        return object.__getattribute__(value, "__dict__")
    except AttributeError:  # its fields are slots
        return {}


@breaks_the_graph
def _on_gradient(parameter) -> None:
    try:
        if parameter.grad is not None:
            tell(parameter.grad, _native.GRADIENT)
    except Exception:
        pass


@breaks_the_graph
def _on_step(optimizer, _arguments, _options) -> None:
    try:
        for state in list(optimizer.state.values()):
            for tensor in _tensors(state):
                tell(tensor, _native.OPTIMIZER_STATE)
    except Exception:
        pass


def _on_call(arguments, options) -> None:
    """Tensors that were computed with a gradient are another part's output, not an input."""
    try:
        for tensor in _tensors((arguments, options)):
            if tensor.grad_fn is None:
                tell(tensor, _native.INPUT)
    except Exception:
        pass


def _watch_gradient(parameter) -> None:
    watch = getattr(parameter, "register_post_accumulate_grad_hook", None)
    if watch is not None and parameter.requires_grad and parameter.is_leaf and not isinstance(parameter, _without_memory()) and _is_new(parameter):
        watch(_on_gradient)


def _without_memory() -> tuple:
    """Classes of parameters that take no hook yet: those of lazy modules before the first call."""
    from torch.nn import parameter

    return (parameter.UninitializedTensorMixin,)


def _tell_model(model) -> None:
    from . import _module_calls  # with torch, which is loaded by now

    for parameter in model.parameters():
        tell(parameter, _native.PARAMETER)
        _watch_gradient(parameter)
        if parameter.grad is not None:
            tell(parameter.grad, _native.GRADIENT)
    for buffer in model.buffers():
        tell(buffer, _native.BUFFER)
    _module_calls.watch(model, _on_call)


def _tell_optimizer(optimizer) -> None:
    _on_step(optimizer, (), {})
    if _is_new(optimizer):
        optimizer.register_step_post_hook(_on_step)


def categorize(model=None, optimizer=None) -> None:
    """Tells what the blocks of a model and an optimizer hold, now and from now on. Call it when the model is on its device; call it again
    after it moved, or when parameters were added. Repeating it is harmless."""
    if model is not None and not hasattr(model, "named_modules"):
        raise TypeError(f"the model is a torch.nn.Module, not {type(model).__name__}")
    if optimizer is not None and not hasattr(optimizer, "register_step_post_hook"):
        raise TypeError(f"the optimizer is a torch.optim.Optimizer, not {type(optimizer).__name__}")
    if not _native.active or (model is None and optimizer is None):
        return
    leave_frames_alone(_on_gradient, _on_step, _on_call, _tensors)
    if model is not None:
        _tell_model(model)
    if optimizer is not None:
        _tell_optimizer(optimizer)


def _version(tensor):
    """How often a tensor was written to; None for one that does not count it."""
    try:
        return tensor._version
    except RuntimeError:
        return None


def _pack(tensor):
    """The tensor itself would keep its own node of the graph alive, so what is saved is another on the same memory."""
    saved = tensor.detach()
    tell(saved, _native.ACTIVATION)
    return saved, _version(saved)


def _unpack(packed):
    """Torch makes this check for what is saved without hooks."""
    saved, version = packed
    if _version(saved) != version:
        raise RuntimeError(
            "one of the variables needed for gradient computation has been modified by an inplace operation: "
            f"[{saved.type()} {list(saved.shape)}] is at version {_version(saved)}; expected version {version} instead"
        )
    return saved


@contextlib.contextmanager
def activations():
    """Inside this context the tensors that are saved for the backward pass, and are nothing else, are activations."""
    torch = sys.modules.get("torch")
    if not _native.active or torch is None:
        yield
        return
    pack, unpack = _pack, _unpack
    # Only the innermost pair of hooks is ever asked, so the program's own pair goes on through ours.
    outer = getattr(torch._C._autograd, "_top_saved_tensors_default_hooks", lambda _ignore: None)(True)
    if outer is not None and outer[0] is not _pack:
        outer_pack, unpack = outer

        def pack(tensor):
            tell(tensor, _native.ACTIVATION)
            return outer_pack(tensor)

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        yield
