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
    "range:forward( label:encoder( label:encoder.Linear.0( ) label:encoder.ReLU.1( ) )"
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
    assert told.story() == f"range:data( ) {FORWARD} range:backward( ) optimizer:optimizer( ) " * 2 + "range:data( )"


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
    assert len([line for line in told.of("begin") if line.endswith(" 3 0 forward")]) == 4, "each outermost call is a forward pass, also after a failed one"


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
