# SPDX-License-Identifier: Apache-2.0
"""triton_cases.py GPUPARITY FOLDER: kernels in Triton, compiled by its own compiler for both vendors, as
cases: the folders of its cache are what `binary:` names (docs/kernels.md)."""
import glob
import os
import shutil
import subprocess
import sys

os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")
import numpy as np
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

import checks
import triton_kernels as kernels

program, folder = os.path.abspath(sys.argv[1]), sys.argv[2]
targets = {"cuda": GPUTarget("cuda", 86, 32), "hip": GPUTarget("hip", "gfx1100", 32)}


def compile_kernel(name, kernel, types, constants, **options):
    signature = {a.name: types[i] if i < len(types) else "constexpr" for i, a in enumerate(kernel.params)}
    compile_signature(name, kernel, signature, constants, **options)


def compile_signature(name, kernel, signature, constants, **options):
    """Compiles for both and copies what the cache has: FOLDER/NAME.cuda, FOLDER/NAME.hip."""
    for side, target in targets.items():
        made = triton.compile(ASTSource(fn=kernel, signature=signature, constexprs=constants), target=target,
                              options=options)
        found = [p for p in glob.glob(os.environ["TRITON_CACHE_DIR"] + "/*/*.json")
                 if made.metadata.hash in open(p).read() and "__grp__" not in p]
        shutil.copytree(os.path.dirname(found[0]), f"{folder}/{name}.{side}")


def case(name, text):
    with open(f"{folder}/{name}.case.yaml", "w") as out:
        out.write(f"binary: {{cuda: {name}.cuda, hip: {name}.hip}}\n" + text)


def gpuparity(*words):
    done = subprocess.run([program, *words], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, env={**os.environ, "NO_COLOR": "1"})
    return done.returncode, done.stdout


def expect(status, says, *words):
    got, output = gpuparity(*words)
    assert got == status and says in output, f"{words}: exit status {got}\n{output}"
    return output


SOFTMAX = """parameters: {rows: 5, n: {standard: 200, range: [1, 256]}}
tensors:
  x: {role: in, dtype: f32, shape: [rows, n]}
  y: {role: out, dtype: f32, shape: [rows, n]}
kernels:
  - {arguments: [x, y, i32 n], grid: rows}
reference:
  formula:
    y[i,j]: exp(x[i,j] - max(k, x[i,k])) / sum(m, exp(x[i,m] - max(k, x[i,k])))
"""


def test_softmax():
    compile_kernel("softmax", kernels.softmax, ["*fp32", "*fp32", "i32"], {"B": 256})
    case("softmax", SOFTMAX)
    for n in (2, 7, 200, 256):
        expect(0, "1 case: 1", "check", f"softmax.case.yaml:n={n},rows=3")
    expect(0, "2 cases", "check", "softmax.case.yaml:dist={integer|positive},n=100")
    # Of AMD's side, which stores through a buffer, the line of the Python source is known.
    said = expect(1, "how it was compiled cannot be", "explain", "softmax.case.yaml:n=100")
    assert "the units differ" in " ".join(said.split()) and "(triton_kernels.py:" in said, said
    expect(0, "softmax.case.yaml:rows=1,", "minimize", "softmax.case.yaml:n=100")
    expect(2, "names a binary", "minimize", "softmax.case.yaml:n=100", "-o", "none.cu")


def test_layernorm():
    """Against numpy: its inputs, its answer."""
    compile_kernel("layernorm", kernels.layernorm, ["*fp32"] * 4 + ["i32", "fp32"], {"B": 256})
    rng = np.random.default_rng(7)
    x, w, b = (rng.standard_normal(s).astype(np.float32) for s in ((6, 200), 200, 200))
    d = x.astype(np.float64)
    d -= d.mean(1, keepdims=True)
    y = d / np.sqrt((d * d).mean(1, keepdims=True) + 1e-5) * w + b
    for name, array in (("x", x), ("w", w), ("b", b), ("y", y)):
        np.save(f"{folder}/{name}.npy", array)
    text = """tensors:
  x: {role: in, dtype: f32, shape: [6, 200], file: x.npy}
  w: {role: in, dtype: f32, shape: 200, file: w.npy}
  b: {role: in, dtype: f32, shape: 200, file: b.npy}
  y: {role: out, dtype: f32, shape: [6, 200]}
kernels:
  - {arguments: [x, w, b, y, i32 200, f32 1e-5], grid: 6}
reference:
"""
    limit = "limits: {y: {abs: 2e-6, reason: sums of 200 terms in f32}}\n"
    case("layernorm", text + "  files: {y: y.npy}\n" + limit)
    expect(0, "1 EQUIVALENT", "check", "layernorm.case.yaml")
    # The formula says what numpy says.
    formula = "  formula:\n    y[i,j]: (x[i,j] - mean(k, x[i,k])) / sqrt(mean(m, (x[i,m] - mean(k, x[i,k])) * " \
              "(x[i,m] - mean(k, x[i,k]))) + 0.00001) * w[j] + b[j]\n"
    case("formula", text.replace("arguments", "name: layernorm, arguments") + formula)
    for side in targets:
        shutil.copytree(f"{folder}/layernorm.{side}", f"{folder}/formula.{side}")
    expect(0, "1 EQUIVALENT", "check", "formula.case.yaml")
    np.save(f"{folder}/y.npy", y + 1e-5)
    expect(1, "1 BOTH_WRONG", "check", "layernorm.case.yaml")
    np.save(f"{folder}/y.npy", y[:5])
    expect(2, "the sizes differ", "check", "layernorm.case.yaml")


def test_matmul():
    compile_kernel("matmul", kernels.matmul, ["*fp16", "*fp16", "*fp32", "i32", "i32", "i32"],
                   {"BM": 32, "BN": 32, "BK": 32, "SUM": kernels.tl.float32, "PRECISION": "ieee"})
    case("matmul", """parameters: {m: 40, n: 50, k: 60}
tensors:
  a: {role: in, dtype: f16, shape: [m, k]}
  b: {role: in, dtype: f16, shape: [k, n], axis: 0}
  c: {role: out, dtype: f32, shape: [m, n]}
kernels:
  - {arguments: [a, b, c, i32 m, i32 n, i32 k], grid: ["ceildiv(m, 32)", "ceildiv(n, 32)"]}
reference:
  matrix: true
  formula:
    c[i,j]: sum(p, a[i,p] * b[p,j])
""")
    expect(0, "2 cases", "check", "matmul.case.yaml:k={1|60}")
    # What was compiled is not what the case says.
    with open(f"{folder}/matmul.case.yaml") as f:
        text = f.read()
    with open(f"{folder}/wrong.case.yaml", "w") as out:
        out.write(text.replace("i32 k]", "i64 k]"))
    expect(2, "argument 6 of matmul has 4 bytes", "check", "wrong.case.yaml")
    with open(f"{folder}/wrong.case.yaml", "w") as out:
        out.write(text.replace("matmul.hip", "matmul.cuda"))
    expect(2, "no matmul.hsaco: was matmul compiled for AMD?", "check", "wrong.case.yaml")


def plant(path, before, after):
    with open(path, "rb") as f:
        code = f.read()
    assert before in code, f"{path} has no {before}"
    with open(path, "wb") as f:
        f.write(code.replace(before, after))


def test_planted_miscompile():
    """On one side, then on the other: a thread's second element is another one's; log2(e) has wrong digits."""
    if not os.path.exists(f"{folder}/softmax.cuda"):
        compile_kernel("softmax", kernels.softmax, ["*fp32", "*fp32", "i32"], {"B": 256})
    for side in targets:
        for name in ("left", "right"):
            shutil.copytree(f"{folder}/softmax.{side}", f"{folder}/{name}.{side}")
    plant(f"{folder}/left.cuda/softmax.ptx", b", 512;", b", 256;")
    plant(f"{folder}/right.hip/softmax.hsaco", bytes.fromhex("3baab83f"), bytes.fromhex("3ba6b83f"))
    for name, verdict, words in (("left", "1 A_WRONG", "cause: "), ("right", "1 B_WRONG", "B: ")):
        case(name, SOFTMAX)
        output = expect(1, verdict, "check", f"{name}.case.yaml:n=256")
        assert words in output and (name == "right" or "unexplained" not in output), output


def test_inductor():
    """What torch.compile writes for gelu(2 x + w), summed over rows."""
    try:
        import inductor_source
    except ImportError as e:
        print(f"skipped: Inductor's kernels (pip install torch): {e}")
        return
    import torch
    wrapper = inductor_source.generate(lambda x, w: torch.nn.functional.gelu(x * 2 + w).sum(-1), (64, 200), 200)
    (name, signature, source), = inductor_source.kernels(wrapper)
    with open(f"{folder}/generated.py", "w") as out:
        out.write(source)
    sys.path.insert(0, folder)
    import generated
    compile_signature("inductor", getattr(generated, name), signature, {"XBLOCK": 1}, num_warps=2)
    assert list(signature.values()) == ["*fp32"] * 3 + ["i32"] * 2 + ["constexpr"], signature
    case("inductor", """tensors:
  x: {role: in, dtype: f32, shape: [64, 200]}
  w: {role: in, dtype: f32, shape: 200}
  y: {role: out, dtype: f32, shape: 64}
kernels:
  - {arguments: [x, w, y, i32 64, i32 200], grid: 64}
reference:
  formula:
    y[i]: sum(j, (2 * x[i,j] + w[j]) * 0.5 * (1 + erf((2 * x[i,j] + w[j]) * 0.7071067811865476)))
""")
    expect(0, "1 EQUIVALENT", "check", "inductor.case.yaml")


sys.exit(checks.run(globals()))
