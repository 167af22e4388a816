# SPDX-License-Identifier: Apache-2.0
"""torch_check.py SOURCE BUILD: the PyTorch bridge on the CPU, with planted faults. Prints counts as
Check does. Skipped where torch or h5py is missing."""
import json
import os
import subprocess
import sys
import tempfile

SOURCE, BUILD = sys.argv[1:3]
try:
    import h5py
    import numpy
    import torch
except ImportError as missing:
    print(f"skipped: PyTorch bridge: {missing} (pip install torch h5py; GPUPARITY_PYTHON names a Python)")
    sys.exit(77)
sys.path.insert(0, os.path.join(SOURCE, "backends", "torch"))
import checks
import gpuparity_torch
from gpuparity_torch import store, wide

replaying = sys.modules["gpuparity_torch.replay"]

FOLDER = tempfile.TemporaryDirectory()
aten, F = torch.ops.aten, torch.nn.functional


def path(name):
    return os.path.join(FOLDER.name, name)


class Block(torch.nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm, self.qkv, self.out = torch.nn.LayerNorm(d), torch.nn.Linear(d, 3 * d), torch.nn.Linear(d, d)
        self.up, self.down = torch.nn.Linear(d, 2 * d), torch.nn.Linear(2 * d, d)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(self.norm(x)).view(b, t, 3, 2, d // 2).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(a.transpose(1, 2).reshape(b, t, d))
        return x + self.down(F.gelu(self.up(x)))


class Tiny(torch.nn.Module):
    def __init__(self, vocabulary=40, d=32):
        super().__init__()
        self.embed = torch.nn.Embedding(vocabulary, d)
        self.layers = torch.nn.ModuleList([Block(d), Block(d)])
        self.drop, self.head = torch.nn.Dropout(0.1), torch.nn.Linear(d, vocabulary)

    def forward(self, x):
        x = self.drop(self.embed(x))
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def step(file, change=lambda model: None, **options):
    """One training step of a fresh model, captured."""
    torch.manual_seed(3)
    model = Tiny()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    x, y = torch.randint(0, 40, (2, 16)), torch.randint(0, 40, (2, 16))
    change(model)
    with gpuparity_torch.Capture(path(file), model, optimizer, **options):
        with torch.autocast("cpu", torch.bfloat16):
            loss = F.cross_entropy(model(x).view(-1, 40), y.view(-1))
        loss.backward()
        optimizer.step()
    return model


def replay(file, op=None, module="", instead=None):
    """Replays step.h5; `instead` takes the place of the operator `op` of a module, once."""
    left, known = [1], replaying._run

    def run(again, reader, entry, device):
        planted = entry["op"] == op and entry["module"].endswith(module) and left[0]
        if not planted:
            return known(again, reader, entry, device)
        left[0] = 0
        original, wrapped = replaying.operator, operator_like(replaying.operator(entry["op"]), instead)
        replaying.operator = lambda name: wrapped
        try:
            return known(again, reader, entry, device)
        finally:
            replaying.operator = original

    replaying._run = run
    try:
        gpuparity_torch.replay(path("step.h5"), path(file))
    finally:
        replaying._run = known
    assert op is None or not left[0], f"{op} of {module} did not run"


def operator_like(func, instead):
    """A call that is captured as `func` but computes something else: a faulty kernel."""
    def call(*args, **kwargs):
        mode = torch.utils._python_dispatch._get_current_dispatch_mode()
        known = mode._outputs
        def outputs(entry, func_, a, k, before, returned):
            mode._outputs = known
            with torch.no_grad():
                fake = instead(*a, **k)
            known(entry, func_, a, k, before, fake)
        mode._outputs = outputs
        return func(*args, **kwargs)
    return call


def compare(a, b, *more):
    r = subprocess.run([os.path.join(BUILD, "gpuparity"), "compare", path(a), path(b), *more],
                       capture_output=True, text=True)
    return r.returncode, r.stdout + r.stderr


def findings(a, b):
    r = subprocess.run([os.path.join(BUILD, "gpuparity"), "compare", path(a), path(b), "--quiet", "--report",
                        path("r.json")], capture_output=True, text=True)
    with open(path("r.json")) as f:
        return json.load(f)


def outputs(file, number):
    """The first output of an operator."""
    with h5py.File(path(file)) as f:
        return f["op"][sorted(f["op"])[number]]["out0"][()]


def head(file):
    with h5py.File(path(file)) as f:
        return json.loads(f["capture"][()].tobytes())


# --- the file ---------------------------------------------------------------------------------------

def test_formats_come_back():
    w, given = store.Writer(path("formats.h5")), {}
    for dtype in store.NAMES:
        t = (torch.arange(-8, 8) * 37 % 251).reshape(2, 8).to(torch.float32)
        t = t.to(torch.uint8).view(dtype) if dtype in (torch.float8_e4m3fn, torch.float8_e5m2) else t.to(dtype)
        given[w.put(t)] = t
        given[w.put(t[0, 0].clone())] = t[0, 0].clone()
    w.finish({"schema": store.SCHEMA, "operators": []})
    r = store.Reader(path("formats.h5"))
    for name, t in given.items():
        back = r.get(name)
        assert back.dtype == t.dtype and back.shape == t.shape
        assert back.numpy(force=True).tobytes() == t.numpy().tobytes() if t.dtype not in store.BITS else \
            torch.equal(back.view(store.BITS[t.dtype]), t.view(store.BITS[t.dtype]))
    with h5py.File(path("formats.h5")) as f:  # bf16 are numbers to any reader
        name = next(n for n, t in given.items() if t.dtype == torch.bfloat16 and t.dim())
        assert numpy.array_equal(f["tensor"][name][()], given[name].float().numpy())


def test_gradients_parameters_state_and_generators_are_there():
    model = step("whole.h5")
    with h5py.File(path("whole.h5")) as f:
        for name, p in model.named_parameters():
            assert numpy.array_equal(f[f"gradient/0/{name}"][()], p.grad.numpy()), name
            assert numpy.array_equal(f[f"parameter/0/{name}"][()], p.detach().numpy()), name
            assert f"optimizer/0/{name}/exp_avg" in f, name
        torch.manual_seed(3)
        assert f["rng/start/cpu"].shape == torch.get_rng_state().shape
    phases = {o["phase"] for o in head("whole.h5")["operators"]}
    assert phases == {"forward", "backward", "optimizer"}, phases


def test_an_exception_leaves_no_file():
    try:
        with gpuparity_torch.Capture(path("failed.h5")):
            torch.ones(2) + 1
            raise ValueError
    except ValueError:
        pass
    assert not [n for n in os.listdir(FOLDER.name) if n.startswith("failed")]


def test_buckets_of_ddp():
    import torch.distributed as dist
    dist.init_process_group("gloo", init_method=f"file://{path('rendezvous')}", rank=0, world_size=1)
    try:
        model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 3))
        with gpuparity_torch.Capture(path("ddp.h5"), model):
            model(torch.ones(2, 4)).sum().backward()
    finally:
        dist.destroy_process_group()
    with h5py.File(path("ddp.h5")) as f:
        bucket = numpy.concatenate([f["bucket"][n][()].ravel() for n in f["bucket"]])
    # The gradients by hand: 2 rows of ones, summed outputs.
    assert sorted(bucket.tolist()) == [2.0] * 15, bucket


# --- bounds -------------------------------------------------------------------------------------------

def sequential(a, b):
    """a @ b in float32, products rounded, from the last term to the first: a right device may."""
    c = torch.zeros(a.shape[0], b.shape[1])
    for k in range(a.shape[1] - 1, -1, -1):
        c += a[:, k:k + 1].float() * b[k:k + 1].float()
    return c


def test_bounds_hold_and_are_not_idle():
    worst = {}
    for seed in range(40):
        g = torch.Generator().manual_seed(seed)
        def x(*shape):
            return torch.randn(shape, generator=g) * 2.0 ** torch.randint(-6, 6, shape, generator=g)
        for dtype in (torch.float32, torch.bfloat16, torch.float16):
            a, b, c = x(24, 50).to(dtype), x(50, 30).to(dtype), x(24, 30).to(dtype)
            calls = [(aten.mm.default, (a, b), {}, sequential(a, b).to(dtype)),
                     (aten.addmm.default, (c, a, b), {"beta": 0.5, "alpha": 2.0},
                      (sequential(a, b) * 2 + c.float() * 0.5).to(dtype)),
                     (aten.sum.dim_IntList, (a, [1]), {}, sequential(a, torch.ones(50, 1)).flatten().to(dtype)),
                     (aten.add.Tensor, (c, c.flip(0)), {"alpha": 3}, (c.float() + 3 * c.flip(0).float()).to(dtype)),
                     (aten.div.Tensor, (c, 3.7), {}, (c.float() * torch.tensor(1 / 3.7)).to(dtype)),
                     (aten.addcmul.default, (c, c, c.flip(1)), {"value": 0.3}, None),
                     (aten.addcdiv.default, (c, c, c.flip(1).abs() + 1), {"value": -0.3}, None),
                     (aten.lerp.Scalar, (c, c.flip(1), 0.1), {}, None), (aten.sqrt.default, (c.abs(),), {}, None)]
            for func, args, kwargs, other in calls:
                values, first = wide.reference(func, args, kwargs, [])
                bound = wide.bounds(first, values[0], dtype)
                assert bound is not None and bool((bound > 0).all()), func
                for got in (func(*args, **kwargs), other):
                    if got is not None:
                        share = ((got.double() - values[0]).abs() / bound).max().item()
                        assert share <= 1, f"{func} {dtype}: {share}"
                        key = (str(func), dtype == torch.float32)
                        worst[key] = max(worst.get(key, 0), share)
    # A bound that nothing comes near says nothing.
    assert worst[("aten.add.Tensor", True)] > 0.3 and min(worst.values()) > 0.02, worst


# --- replay and compare --------------------------------------------------------------------------------

def test_a_replay_on_the_same_machine_is_the_same():
    replay("same.h5")
    code, text = compare("step.h5", "same.h5")
    assert code == 0 and "every operator that was compared gave the same bits" in text.lower(), text


def test_silent_upcast_is_named_with_operator_and_module():
    replay("upcast.h5", "aten.addmm.default", "layers.1.up",
           lambda c, a, b: torch.addmm(c.float(), a.float(), b.float()))
    code, text = compare("step.h5", "upcast.h5")
    assert code == 1 and "silent upcast" in text and "aten.addmm.default in Tiny.layers.1.up" in text, text
    assert "1 of" in text.splitlines()[-1], text


def test_a_flipped_mask_is_seen_where_it_is():
    replay("mask.h5", "aten._scaled_dot_product_flash_attention_for_cpu.default", "layers.0",
           lambda q, k, v, p=0.0, causal=False, **kw:
           aten._scaled_dot_product_flash_attention_for_cpu.default(q, k, v, p, not causal, **kw))
    code, text = compare("step.h5", "mask.h5")
    assert code == 1 and "The sides part at" in text and "Tiny.layers.0." in text, text
    assert "1 DIFFERENT" in text and "1 of" in text.splitlines()[-1], text


def test_another_order_of_summation_is_no_fault():
    # The whole sum of a bias gradient, in float32, from the other end.
    replay("order.h5", "aten.sum.dim_IntList", "", lambda x, dim, keepdim=False, **kw:
           sequential(torch.ones(1, x.shape[0]), x.float()).to(x.dtype).reshape(
               aten.sum.dim_IntList(x, dim, keepdim).shape))
    report = findings("step.h5", "order.h5")
    other = [c for c in report["findings"] if c["verdict"] not in ("SAME", "UNTESTED")]
    assert [c["verdict"] for c in other] in ([], ["EQUIVALENT"]), other


def test_a_wrong_product_is_outside_its_bound():
    def lost(a, b):  # the last term of k is lost
        return torch.mm(a[:, :-1], b[:-1])
    replay("lost.h5", "aten.mm.default", "", lost)
    code, text = compare("step.h5", "lost.h5")
    assert code == 1 and "B_WRONG" in text and "aten.mm.default" in text, text


def test_two_steps_part_where_the_models_do():
    def change(model):
        with torch.no_grad():
            model.layers[1].up.weight[0, 0] += 1
    step("other.h5", change)
    code, text = compare("step.h5", "other.h5")
    assert "inputs differ already" in text, text
    assert code in (0, 1), text
    # The module runs on other weights: nothing is to be blamed, everything after it follows.
    report = findings("step.h5", "other.h5")
    tested = [c["verdict"] for c in report["findings"]]
    assert tested.count("SAME") > 10 and tested.count("UNTESTED") > 50, tested


def test_causes_and_pictures_without_a_reference():
    replay("mask2.h5", "aten.bernoulli_.float", "", lambda x, p=0.5, **kw: (torch.rand(x.shape) < p).float())
    report = findings("step.h5", "mask2.h5")
    first = next(c for c in report["findings"] if c["verdict"] == "DIFFERENT")
    causes = first["outputs"][0]["causes"]
    assert [c["cause"] for c in causes] == ["RNG mismatch"], causes
    zeros = [float((1 - numpy.asarray(x)).mean() * 100) for x in (outputs("step.h5", 1), outputs("mask2.h5", 1))]
    assert all("%.4g %%" % z in causes[0]["evidence"] for z in zeros), (zeros, causes)

    def tile(x, *a):
        first, *rest = aten.native_layer_norm.default(x, *a)
        first = first.clone()
        first[1, 8:12] += torch.randn(4, 32)
        return (first, *rest)
    replay("tile.h5", "aten.native_layer_norm.default", "", tile)
    code, text = compare("step.h5", "tile.h5", "--report", path("tile.html"))
    assert code == 1 and "localised corruption" in text, text
    page = open(path("tile.html"), encoding="utf-8").read()
    for label in ("Map of the output, A \u2260 B", "Distance in ULP against magnitude"):
        assert label in page, label


def test_a_module_that_leaves_autocast_is_an_upcast():
    class Full(torch.nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.weight, self.bias = inner.weight, inner.bias

        def forward(self, x):
            with torch.autocast("cpu", enabled=False):
                return F.linear(x.float(), self.weight, self.bias)

    def change(model):
        model.layers[0].down = Full(model.layers[0].down)
    step("full.h5", change)
    code, text = compare("step.h5", "full.h5")
    assert code == 1 and "silent upcast" in text and "layers.0.down" in text, text


def test_lightning_callback():
    class Trainer:
        global_step, optimizers = 0, []
    callback = gpuparity_torch.CaptureCallback(path("callback.h5"), step=1)
    for n in range(3):
        Trainer.global_step = n
        callback.on_train_batch_start(Trainer, None, None, n)
        torch.ones(3) * n
        callback.on_train_batch_end(Trainer, None, None, None, n)
    ops = [o["op"] for o in head("callback.h5")["operators"]]
    assert "aten.mul.Tensor" in ops, ops


# --- what nobody would like to get ------------------------------------------------------------------------

def damaged(name, change):
    import shutil
    shutil.copy(path("step.h5"), path(name))
    with h5py.File(path(name), "r+") as f:
        text = f["capture"][()].tobytes()
        del f["capture"]
        f["capture"] = numpy.frombuffer(change(text), dtype=numpy.uint8)
    code, text = compare("step.h5", name)
    assert code == 2 and text.count("\n") == 1 and name in text, (code, text)


def test_damaged_lists_are_one_line():
    some = head("step.h5")["operators"][0]["outputs"][0].encode()
    for n, change in enumerate([
            lambda t: t[:len(t) // 2], lambda t: t.replace(b'"schema": 1', b'"schema": 9'),
            lambda t: t.replace(some, b"0" * 32), lambda t: t.replace(some, b"x" * 32), lambda t: b"[]",
            lambda t: t.replace(b'"operators"', b'"operatorz"'), lambda t: b"{" * 100000,
            lambda t: t.replace(b'"outputs": [', b'"outputs": [' + b'null, ' * 50, 1)]):
        damaged(f"damaged{n}.h5", change)


def test_replay_refuses_what_is_no_capture():
    for name, content in (("text.h5", b"no"), ("empty.h5", b"")):
        with open(path(name), "wb") as f:
            f.write(content)
        r = subprocess.run([sys.executable, "-m", "gpuparity_torch", "replay", path(name), "-o", path("never.h5")],
                           capture_output=True, text=True, env=dict(os.environ, PYTHONPATH=sys.path[0]))
        assert r.returncode == 1 and name in r.stderr and r.stderr.count("\n") == 1, r.stderr
        assert not os.path.exists(path("never.h5"))


def main():
    step("step.h5")
    sys.exit(checks.run(globals()))


main()
