# SPDX-License-Identifier: Apache-2.0
"""How our functions and torch.compile get along. Nothing here imports torch's compiler: the job alone decides that."""


def breaks_the_graph(function):
    """The compiler does not trace `function`; it runs between two graphs, as a print does."""
    function._torchdynamo_disable = True
    function._torchdynamo_disable_msg = "memsnap tells the recorder something here"
    return function


def leave_frames_alone(*functions) -> None:
    """The compiler runs these functions as they are, and still compiles what they call. torch is loaded already. A release that cannot be
    told so finds out itself that there is nothing to compile."""
    try:
        from torch._C._dynamo import eval_frame
    except ImportError:
        return
    if hasattr(eval_frame, "_FrameExecStrategy"):
        strategy = eval_frame._FrameExecStrategy(eval_frame._FrameAction.SKIP, eval_frame._FrameAction.DEFAULT)
        for function in functions:
            eval_frame.set_code_exec_strategy(function.__code__, strategy)
    elif hasattr(eval_frame, "skip_code"):
        for function in functions:
            eval_frame.skip_code(function.__code__)


def compiles_frames():
    """A function that tells whether the compiler looks at the frames that the calling thread enters. torch is loaded already."""
    try:
        from torch._C._dynamo.eval_frame import get_eval_frame_callback
    except ImportError:
        return lambda: False
    return lambda: get_eval_frame_callback() is not None


def torchs_is_compiling():
    """The function of torch that tells whether the compiler traces the caller, which takes the answer for a constant. torch is loaded already."""
    import torch

    return getattr(getattr(torch, "compiler", None), "is_compiling", lambda: False)
