# SPDX-License-Identifier: Apache-2.0
"""What `memsnap run` tells of PyTorch programs whose source knows nothing of it, and that these run as they would. On the CPU, with real torch."""

import pathlib
import sys

import pytest

PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "python"

NET = """
import torch, sys
from torch import nn
torch.manual_seed(0)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
        self.layers = nn.ModuleList([nn.Sequential(nn.Sequential(nn.Linear(4, 4))) for _ in range(2)])
    def forward(self, x):
        x = self.encoder(x)
        for layer in self.layers:
            x = layer(x)
        return x
"""
FORWARD = (
    "label:forward( label:encoder( label:encoder.Linear.0( ) label:encoder.ReLU.1( ) )"
    " label:layers.0( label:layers.0.Sequential.0( ) ) label:layers.1( label:layers.1.Sequential.0( ) ) )"
)


@pytest.fixture
def run(tell, stand_in, tmp_path):
    """run(source): a script under `memsnap run`."""

    def started(source, *options, **extra):
        (tmp_path / "job.py").write_text(source)
        command = [sys.executable, "-m", "memsnap", "run", *options, "--library", stand_in, "--", sys.executable, "job.py"]
        return tell(preload=False, command=command, **extra)

    return started


def test_a_training_loop_is_told_as_phases_and_module_names(run):
    told = run(
        NET
        + """
model = Net()
optimizer = torch.optim.AdamW(model.parameters())
for batch in torch.utils.data.DataLoader(torch.ones(4, 4), batch_size=2):
    loss = model(batch).sum()
    loss.backward()
    optimizer.step()
print("done", sys.argv, "memsnap" in sys.path)
"""
    )

    assert (told.code, told.stdout, told.stderr) == (0, "done ['job.py'] False\n", "")
    assert told.story() == f"label:data( ) {FORWARD} label:backward( ) optimizer:optimizer( ) " * 2 + "label:data( )"


def test_a_phase_of_the_program_stays_in_front_of_what_runs_inside_it(run):
    told = run(
        NET
        + """
import memsnap
with memsnap.phase("evaluation"), memsnap.phase("first"):
    with memsnap.phase("second"): pass
    Net().encoder(torch.ones(1, 4))
torch.nn.ReLU()(torch.ones(1))
"""
    )

    assert told.story() == (
        "range:evaluation( range:first( range:second( ) label:first/forward( label:first/Linear.0( ) label:first/ReLU.1( ) ) ) ) label:forward( )")


def test_what_the_backward_pass_calls_again_is_part_of_it(run):
    told = run(
        NET
        + """
from torch.utils.checkpoint import checkpoint
net = Net()
checkpoint(net.encoder, torch.ones(1, 4, requires_grad=True), use_reentrant=False).sum().backward()
"""
    )

    assert told.story() == "label:forward( label:Linear.0( ) label:ReLU.1( ) ) label:backward( )"


def test_an_optimizers_step_tells_that_cyclic_collection_is_off(run):
    told = run(
        NET
        + """
import gc
optimizer = torch.optim.SGD(Net().parameters())
optimizer.step(); gc.disable(); optimizer.step()
"""
    )

    assert [line.split()[-2] for line in told.of("begin") if line.endswith("optimizer")] == ["0", "1"]


def test_what_fails_inside_a_hooked_call_fails_as_ever_and_leaves_no_range_open(run):
    told = run(
        NET
        + """
import threading
class Failing(nn.Module):
    def forward(self, error): raise error
class Outer(nn.Module):
    def __init__(self):
        super().__init__(); self.failing = Failing()
    def forward(self, error): return self.failing(error)
class Optimizer(torch.optim.SGD):
    def step(self, closure=None):
        if closure: raise MemoryError
        return super().step()
model, parameter = Outer(), nn.Parameter(torch.ones(2))
torch.optim.SGD([parameter], lr=1)
optimizer = Optimizer([parameter], lr=1)
class Broken(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): return x * 1
    @staticmethod
    def backward(ctx, grad): raise ValueError
attempts = [lambda: model(KeyboardInterrupt()), lambda: Broken.apply(parameter).sum().backward(), lambda: optimizer.step(lambda: 1),
            lambda: next(iter(torch.utils.data.DataLoader([]))), lambda: model(1, 2, 3)]
for attempt in attempts:
    try: attempt()
    except BaseException as error: print(type(error).__name__, error.__traceback__ is not None)
optimizer.step()
threads = [threading.Thread(target=Net(), args=(torch.ones(1, 4),)) for _ in range(2)]
[thread.start() for thread in threads]; [thread.join() for thread in threads]
"""
    )

    assert told.stdout.split()[::2] == ["KeyboardInterrupt", "ValueError", "MemoryError", "StopIteration", "TypeError"], told.stderr
    told.story()
    assert len([line for line in told.of("begin") if " 2 0 optimizer" in line]) == 2, "a step that calls its parent's is one step"
    assert len({thread for thread, _, rest in told.lines if rest.endswith("forward")}) == 3
    assert len([line for line in told.of("begin") if line.endswith(" 0 0 forward")]) == 4, "each outermost call is a forward pass, also after a failed one"


def test_compiled_scripted_traced_and_copied_models_are_what_they_are_without_us(run, tell):
    program = (
        NET
        + """
import copy, pickle, io, warnings, torch._dynamo.testing
warnings.simplefilter("ignore")
x = torch.ones(2, 4)
def graphs(function, times=2, **options):
    torch._dynamo.reset()
    counter = torch._dynamo.testing.CompileCounter()
    compiled = torch.compile(function, backend=counter, **options)
    results = [compiled(x) for _ in range(times)]
    return counter.frame_count, counter.op_count, None if results[-1] is None else results[-1].sum().item()
model, hooked = Net(), Net()
hooked.encoder.register_forward_hook(lambda *_: None)
optimizer = torch.optim.AdamW(model.parameters())
def train(x):
    model(x).sum().backward()
    optimizer.step(); optimizer.zero_grad()
print(graphs(model, fullgraph=True), graphs(lambda x: model(x) + 1, fullgraph=True))
print(graphs(hooked, fullgraph=True), graphs(lambda x: hooked(x) + 1, fullgraph=True), graphs(train))
torch._dynamo.reset()
own = Net(); own.compile(backend="eager", fullgraph=True); print(own(x).sum().item())
print(torch.jit.script(Net())(x).sum().item(), torch.jit.trace(Net(), x)(x).sum().item())
print(len(torch.fx.symbolic_trace(Net()).graph.nodes), len(torch.export.export(Net(), (x,)).graph.nodes))
file = io.BytesIO(); torch.save(model, file); file.seek(0)
again = torch.load(file, weights_only=False)
print(again(x).sum().item() == model(x).sum().item() == copy.deepcopy(model)(x).sum().item(), sorted(vars(model)) == sorted(vars(again)))
layer = nn.TransformerEncoderLayer(4, 2, batch_first=True).eval()
with torch.inference_mode(), torch.profiler.profile() as profile: layer(torch.ones(1, 2, 4))
print(any("transformer_encoder_layer_fwd" in event.key for event in profile.key_averages()))
print(pickle.loads(pickle.dumps(model.__call__))(x).shape, nn.Module.__call__.__name__)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1); optimizer.step(); scheduler.step()
"""
    )
    told = run(program)
    plain = tell(preload=False, command=[sys.executable, "job.py"])

    assert plain.code == 0 and "True" in plain.stdout, plain.stderr
    assert told.stdout == plain.stdout
    told.story()


def test_a_module_whose_own_code_fails_when_it_is_asked_for_names_is_labelled_by_its_class_and_called_as_ever(run):
    told = run(
        """
import torch
from torch import nn
class Outer(nn.Module):
    asked = 0
    def __init__(self):
        super().__init__(); self.inner = nn.Sequential(nn.Identity())
    def named_modules(self, *arguments, **options):
        Outer.asked += 1
        raise RuntimeError("not ready")
    def forward(self, x): return self.inner(x)
class Unhashable(Outer):
    def __hash__(self): raise LookupError("no key")
class Nameless(Outer):
    def named_modules(self, *arguments, **options): return [(3, self.inner)]
for model in (Outer(), Unhashable(), Nameless()):
    for _ in range(2): print(model(torch.ones(1)).item(), end=" ")
print(Outer.asked)
"""
    )

    assert told.stdout == "1.0 1.0 1.0 1.0 1.0 1.0 1\n", told.stderr
    assert told.story() == " ".join(["label:forward( label:Sequential( label:Sequential.Identity.0( ) ) )"] * 6)


def test_a_module_call_is_one_python_frame_deeper_and_no_more_at_any_depth(run, tell):
    program = """
import sys, torch
from torch import nn
class Depth(nn.Module):
    def __init__(self, inner):
        super().__init__(); self.inner = inner
    def forward(self, depths):
        frame, count = sys._getframe(), 0
        while frame: frame, count = frame.f_back, count + 1
        return self.inner(depths + [count]) if self.inner else depths + [count]
model = None
for _ in range(8): model = Depth(model)
print(*model([]))
"""
    told = run(program)
    plain = tell(preload=False, command=[sys.executable, "job.py"])

    ours, torchs = ([int(depth) for depth in said.stdout.split()] for said in (told, plain))
    assert [mine - its for mine, its in zip(ours, torchs, strict=True)] == list(range(1, 9)), told.stderr + plain.stderr


def test_a_model_is_not_kept_alive(run):
    told = run(
        NET
        + """
import gc, weakref
model = Net(); model(torch.ones(1, 4))
gone = weakref.ref(model), weakref.ref(model.encoder)
del model; gc.collect()
print([reference() for reference in gone])
"""
    )

    assert told.stdout == "[None, None]\n", told.stderr


def test_marks_in_compiled_functions_break_the_graph_and_are_told(tell):
    told = tell(
        """
        import torch, memsnap
        @memsnap.phase("decorated")
        def decorated(x): return x + 1
        def function(x):
            x = x * 2
            memsnap.mark("between"); memsnap.note(batch=2)
            with memsnap.phase("inside"): x = x + 1
            x = decorated(x)
            with memsnap.step_scope(): x = x * 3
            memsnap.step("end")
            return x - 1
        compiled = torch.compile(function, backend="eager")
        for _ in range(3):
            print(compiled(torch.ones(1)).item(), end=" ")
        torch._dynamo.reset()
        try: torch.compile(function, backend="eager", fullgraph=True)(torch.ones(1))
        except Exception as error: print("memsnap tells the recorder something here" in str(error))
        """
    )

    assert told.code == 0 and told.stdout == "11.0 11.0 11.0 True\n", told.stderr
    once = "mark between note 2 batch range:inside( ) range:decorated( ) step 0 step 0 end"
    assert told.story() == " ".join([once] * 3)


def test_without_the_recorder_in_the_process_nothing_is_hooked(tell):
    told = tell("import torch; print(torch.nn.Module.__call__.__module__)", preload=False, PYTHONPATH=f"{PACKAGE / 'memsnap/site'}", LD_PRELOAD="")

    assert told.stdout == "torch.nn.modules.module\n", told.stderr
