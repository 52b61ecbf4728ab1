# SPDX-License-Identifier: Apache-2.0
"""categorize() and activations() change nothing in what torch computes, refuses, or keeps alive. On the CPU, with real torch."""

PROGRAM = """
import contextlib, gc, sys, weakref
import torch
from torch import nn
import memsnap

def training(context):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8), nn.Dropout(0.5), nn.Linear(8, 2))
    optimizer = torch.optim.AdamW(model.parameters())
    memsnap.categorize(model, optimizer); memsnap.categorize(model, optimizer)
    for _ in range(3):
        with context(): loss = model(torch.randn(4, 8)).pow(2).mean()
        loss.backward(); optimizer.step(); optimizer.zero_grad()
    return [parameter.sum().item() for parameter in model.parameters()]

def written_output(context):
    x = torch.ones(3, requires_grad=True)
    with context(): y = x.exp()
    y.add_(1); y.sum().backward()

def written_input(context):
    x = torch.ones(3, requires_grad=True)
    with context(): z = x * 1; y = z ** 2
    z.add_(1); y.sum().backward()

def twice(context):
    x = torch.ones(3, requires_grad=True)
    with context(): gradient, = torch.autograd.grad((x ** 3).sum(), x, create_graph=True)
    gradient.sum().backward()
    return x.grad.tolist()

def hooks_of_the_program(context):
    packed = []
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: packed.append(1) or tensor * 2, lambda tensor: tensor / 2), context():
        x = torch.ones(3, requires_grad=True); x.exp().sum().backward()
    return len(packed), x.grad.tolist()

def checkpointed(context):
    from torch.utils.checkpoint import checkpoint
    layer = nn.Linear(3, 3); nn.init.ones_(layer.weight)
    for reentrant in (False, True):
        with context(): y = checkpoint(lambda x: layer(x).relu(), torch.ones(2, 3, requires_grad=True), use_reentrant=reentrant)
        y.sum().backward()
    return layer.weight.grad.sum().item()

def dropped_graph(context):
    gc.disable()
    class Sentinel(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp(); ctx.save_for_backward(y); return y
        @staticmethod
        def backward(ctx, gradient): return gradient
    x = torch.ones(3, requires_grad=True)
    with context(): y = Sentinel.apply(x).exp()
    gone = weakref.ref(y)
    storage = weakref.ref(y.untyped_storage())
    del y
    gc.enable()
    return gone() is None, storage() is None

def compiled(context):
    model = nn.Linear(3, 3); nn.init.ones_(model.weight)
    memsnap.categorize(model, torch.optim.SGD(model.parameters()))
    counter = torch._dynamo.testing.CompileCounterWithBackend("aot_eager")
    call = torch.compile(lambda x: model(x).relu(), backend=counter, fullgraph=True)
    with context(): y = call(torch.ones(2, 3))
    y.sum().backward()
    return model.weight.grad.sum().item(), counter.frame_count, counter.op_count

def copies(context):
    import copy, io, pickle
    model = nn.Sequential(nn.Linear(3, 3)); optimizer = torch.optim.AdamW(model.parameters())
    before = sorted(vars(model))
    memsnap.categorize(model, optimizer)
    with context(): model(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    unchanged = before == sorted(vars(model))
    file = io.BytesIO(); torch.save([model, optimizer], file)
    copy.deepcopy([model, optimizer]); torch.jit.script(model); torch.export.export(model, (torch.ones(1, 3),))
    return b"memsnap" in file.getvalue(), unchanged, b"memsnap" in pickle.dumps(model)

def odd_tensors(context):
    model = nn.Embedding(4, 2, sparse=True); optimizer = torch.optim.SparseAdam(model.parameters())
    memsnap.categorize(model, optimizer)
    with context(): model(torch.tensor([1])).sum().backward()
    optimizer.step()
    memsnap.categorize(nn.Linear(2, 2, device="meta"))
    frozen = nn.Linear(2, 2).requires_grad_(False); frozen.bias = None
    memsnap.categorize(frozen); frozen(torch.ones(1, 2))
    memsnap.categorize(nn.LazyLinear(2))
    with torch.inference_mode(), context(): nn.Linear(2, 2)(torch.ones(1, 2))

import torch._dynamo.testing
for check in (training, written_output, written_input, twice, hooks_of_the_program, checkpointed, dropped_graph, compiled, copies, odd_tensors):
    seen = []
    for context in (contextlib.nullcontext, memsnap.activations):
        torch._dynamo.reset()
        try: seen.append(check(context))
        except Exception as error: seen.append((type(error).__name__, str(error)[:100]))
    print(check.__name__, seen[0] == seen[1] or seen, seen[0] if check.__name__ in ("written_output", "dropped_graph", "compiled", "copies", "odd_tensors") else "")
"""


def test_results_errors_and_lifetimes_are_those_of_torch_alone(tell):
    told = tell(PROGRAM)

    assert told.code == 0, told.stderr
    lines = dict(line.split(" ", 1) for line in told.stdout.splitlines())
    assert {name: text.split(" ")[0] for name, text in lines.items()} == dict.fromkeys(lines, "True"), told.stdout
    assert "modified by an inplace operation" in lines["written_output"]
    assert lines["dropped_graph"] == "True (True, True)"
    assert lines["copies"] == "True (False, True, False)"
    assert lines["compiled"].startswith("True (18.0, 1, 2)") and lines["odd_tensors"] == "True None", lines


def test_looking_for_inputs_runs_no_code_of_the_arguments_and_finds_what_containers_and_data_classes_hold(tell):
    told = tell(
        """
        import collections, dataclasses
        import torch, memsnap
        from memsnap import _categories
        def runs(*_, **__): print("code of an argument ran"); raise KeyError("not loaded")
        class Lazy:
            __getattr__ = runs
            __iter__ = runs
            __class__ = property(runs)
        class LazyDict(dict): values = items = keys = __iter__ = __getitem__ = runs
        class LazyList(list): __iter__ = __getitem__ = runs
        @dataclasses.dataclass
        class Batch:
            tokens: torch.Tensor
            rest: list
            __getattr__ = runs
        Pair = collections.namedtuple("Pair", "left right")
        class Model(torch.nn.Module):
            def forward(self, *arguments, **options): return len(arguments), sorted(options)
        model = Model()
        memsnap.categorize(model)
        seen = []
        _categories.tell = lambda tensor, category: seen.append(int(tensor))
        one = torch.tensor
        batch = Batch(one(1), [one(2)])
        print(model(Lazy(), LazyDict(a=one(3)), LazyList([one(4)]), Pair(one(5), (one(6),)), batch, [[[[[one(7)]]]]], config=Lazy(), x=one(8)))
        print(seen)
        """
    )

    assert told.stdout == "(6, ['config', 'x'])\n[3, 4, 5, 6, 1, 2, 8]\n", told.stdout + told.stderr


def test_a_tensor_or_state_that_cannot_be_looked_at_fails_no_call_and_no_step(tell):
    told = tell(
        """
        import torch, memsnap
        from torch import nn
        class Refusing(torch.Tensor):
            refuses = False
            @classmethod
            def __torch_function__(cls, function, types, arguments=(), options=None):
                if cls.refuses and "__get__" in str(function): raise LookupError("a tensor of the program refuses")
                return super().__torch_function__(function, types, arguments, options or {})
        class State(dict):
            def values(self): raise LookupError("a state of the program refuses")
        class Identity(nn.Module):
            def forward(self, x): return "called"
        class Gradient(nn.Parameter):
            @property
            def grad(self):
                if Refusing.refuses: raise LookupError("a parameter of the program refuses")
                return super().grad
        model, layer = Identity(), nn.Linear(2, 2)
        layer.weight = Gradient(torch.ones(2, 2))
        optimizer = torch.optim.SGD([nn.Parameter(torch.ones(2))], lr=0.1)
        memsnap.categorize(model, optimizer); memsnap.categorize(layer)
        optimizer.state = State()
        Refusing.refuses = True
        print(model(torch.ones(2).as_subclass(Refusing)))
        optimizer.step()
        layer(torch.ones(1, 2)).sum().backward()
        print("stepped")
        """
    )

    assert told.stdout == "called\nstepped\n", told.stderr
