# SPDX-License-Identifier: Apache-2.0
"""plain_check.py GPUPARITY: files that numpy, h5py and, where they are installed, safetensors and
Polygraphy write, compared by `gpuparity compare`; what it must find is computed here with numpy.
Ends with a line like Check's."""
import collections
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import zipfile

import h5py
import numpy as np

PROGRAM = os.path.abspath(sys.argv[1])
SANITIZED = len(sys.argv) > 2 and sys.argv[2] != 'none'
rng = np.random.default_rng(7)
counts = collections.Counter()
skipped = set()
try:
    import jsonschema
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../docs/report.schema.json')) as schema:
        SCHEMA = jsonschema.Draft202012Validator(json.load(schema))
except ImportError:
    SCHEMA = None
    skipped.add('the schema of reports (apt install python3-jsonschema)')

FOLDER = tempfile.TemporaryDirectory(prefix='gpuparity-plain-')
os.chdir(FOLDER.name)

def check(good, what):
    counts[bool(good)] += 1
    if not good:
        print('wrong:', what)


def compare(a, b, *options):
    """Exit status, findings by name, standard error."""
    if os.path.exists('r.json'):
        os.remove('r.json')
    done = subprocess.run([PROGRAM, 'compare', a, b, '-q', '--report', 'r.json', *options],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    found = {}
    if done.returncode < 2:
        with open('r.json') as f:
            report = json.load(f)
        if SCHEMA and counts[True] % 9 == 0:
            SCHEMA.validate(report)
        found = {x['id']: x for x in report['findings']}
    return done.returncode, found, done.stderr.decode()


# --- what must come out ---------------------------------------------------------------------------

FLOATS = {'f2': ('u2', 0x7c00, 0x3ff), 'f4': ('u4', 0x7f800000, 0x7fffff),
          'f8': ('u8', 0x7ff0000000000000, 0xfffffffffffff)}


def positions(x):
    """The place of each value in the list of its type's values, in integers that hold any distance."""
    kind, wide = x.dtype.str[1:], object if x.dtype.itemsize == 8 else 'i8'
    if kind not in FLOATS:
        return x.astype(wide)
    bits = x.view(FLOATS[kind][0])
    top = np.array(1 << (8 * x.dtype.itemsize - 1), bits.dtype)
    magnitude = (bits & ~top).astype(wide)
    return np.where((bits & top) != 0, -magnitude, magnitude)


def expect(a, b):
    a, b = a.ravel(), b.ravel()
    raw = 'u%d' % a.dtype.itemsize
    same = a.view(raw) == b.view(raw)
    number = np.ones(a.shape, bool)
    if a.dtype.kind == 'f':
        same |= np.isnan(a) & np.isnan(b)
        number = np.isfinite(a) & np.isfinite(b)
    d = (positions(b) - positions(a))[number]
    unequal = np.flatnonzero(~same)
    return {'equal': int(same.sum()), 'first': int(unequal[0]) if len(unequal) else None,
            'worst': int(np.max(abs(d))) if len(d) else 0,
            'mean': float(np.sum(d)) / len(d) if len(d) else 0.0,
            'zero': int((d == 0).sum()), 'n': len(d)}


def agrees(finding, a, b, what):
    e, out = expect(a, b), finding['outputs'][0]
    p = out['pair']
    got = {'equal': p['bits_equal'], 'first': p['first_index'], 'worst': p['worst_ulp'],
           'mean': p['ulp']['mean'] if p['ulp'] else 0.0, 'zero': p['ulp']['zero'] if p['ulp'] else 0,
           'n': p['ulp']['count'] if p['ulp'] else 0}
    close = abs(got['mean'] - e['mean']) <= 1e-12 * max(1, abs(e['mean']))
    check(close and all(got[k] == e[k] for k in e if k != 'mean') and p['count'] == a.size,
          '%s: %s, should be %s' % (what, got, e))
    check(out['shape'] == list(a.shape), what + ': shape %s' % out['shape'])
    first = out['first']
    if first:
        at = np.unravel_index(first['index'], a.shape)
        check(first['coordinate'] == [int(i) for i in at], what + ': coordinate')
        bits = [int(x.view('u%d' % x.dtype.itemsize)) for x in (a[at], b[at])]
        check([int(first[s]['bits'], 16) for s in 'ab'] == bits, what + ': bits of the first')
    check(finding['verdict'] == ('SAME' if e['equal'] == a.size else 'DIFFERENT'), what + ': verdict')


# --- writers --------------------------------------------------------------------------------------

def npy(path, t):
    np.save(path, t['x'])


def npz(path, t):
    np.savez(path, **t)


def packed(path, t):
    np.savez_compressed(path, **t)


def h5(**how):
    def write(path, t):
        with h5py.File(path, 'w') as f:
            for name, x in t.items():
                kw = dict(how) if x.ndim and x.size else {}
                if isinstance(kw.get('chunks'), tuple):
                    kw['chunks'] = tuple(min(c, n) for c, n in zip((2,) * (x.ndim - 2) + how['chunks'], x.shape))
                f.create_dataset(name, data=x, **kw)
    return write


def latest(path, t):
    with h5py.File(path, 'w', libver='latest') as f:
        for name, x in t.items():
            f.create_dataset(name, data=x, **(dict(chunks=True, compression='gzip') if x.ndim and x.size else {}))


def late(path, t):
    """Chunks that grow, some never written."""
    with h5py.File(path, 'w') as f:
        for name, x in t.items():
            if not x.ndim or not x.size:
                f[name] = x
                continue
            d = f.create_dataset(name, shape=(0,) + x.shape[1:], maxshape=(None,) + x.shape[1:], dtype=x.dtype,
                                 chunks=(3,) + x.shape[1:])
            d.resize(x.shape)
            d[...] = x


WRITERS = {
    'npz': ('npz', npz), 'packed npz': ('npz', packed), 'h5': ('h5', h5()), 'chunks': ('h5', h5(chunks=(13, 17))),
    'auto chunks': ('h5', h5(chunks=True)), 'rows': ('h5', h5(chunks=(5, 1000))),
    'gzip': ('h5', h5(chunks=(16, 8), compression='gzip', shuffle=True, fletcher32=True)),
    'lzf': ('h5', h5(chunks=(9, 1000), compression='lzf')), 'fletcher': ('h5', h5(chunks=(7, 31), fletcher32=True)),
    'latest': ('h5', latest), 'late': ('h5', late),
}
try:
    from safetensors.numpy import save_file
    WRITERS['safetensors'] = ('safetensors', lambda path, t: save_file(
        {k: v if v.flags.c_contiguous else v.copy() for k, v in t.items()}, path))
except ImportError:
    skipped.add('safetensors files (pip install safetensors)')
try:
    os.environ['POLYGRAPHY_AUTOINSTALL_DEPS'] = '0'
    import contextlib
    import io
    with contextlib.redirect_stdout(io.StringIO()):
        from polygraphy.json import save_json
        from polygraphy.comparator import RunResults
        from polygraphy.comparator.struct import IterationResult

    def feeds(path, t):
        with contextlib.redirect_stdout(io.StringIO()):
            save_json([t], path)

    def results(path, t):
        r = RunResults()
        r.append(('trt-runner', [IterationResult(dict(t), runtime=0.1, runner_name='trt-runner')]))
        with contextlib.redirect_stdout(io.StringIO()):
            r.save(path)
    WRITERS.update({'feeds': ('json', feeds), 'results': ('json', results)})
except ImportError:
    skipped.add('Polygraphy files (pip install polygraphy)')


def spoil(x):
    """A few elements moved, some far, some to NaN and Inf."""
    y = np.array(x)
    flat = y.reshape(-1)
    raw = flat.view('u%d' % y.dtype.itemsize)
    for i in rng.integers(0, max(1, flat.size), min(flat.size, 12)):
        raw[i] += 1
    for i in rng.integers(0, max(1, flat.size), min(flat.size, 3)):
        raw[i] ^= 1 << (8 * y.dtype.itemsize - 1)
    if y.dtype.kind == 'f' and flat.size > 20:
        flat[[3, 7]] = [np.nan, np.inf]
    return y


def tensors():
    t = {}
    for kind in ('f4', 'f8', 'f2', 'i8', 'i4', 'i2', 'i1', 'u8', 'u4', 'u2', 'u1'):
        shape = [(41, 67), (300,), (2, 3, 50), (), (6, 700)][len(t) % 5]
        x = rng.standard_normal(shape) * 1000
        t['t_' + kind] = np.asarray(np.abs(x) if kind[0] == 'u' else x).astype(kind, casting='unsafe') \
            if kind[1] != '1' else rng.integers(0, 100, shape).astype(kind)
    t['empty'] = np.zeros((0, 4), 'f4')
    return t


def mixtures():
    a = tensors()
    b = {k: spoil(v) for k, v in a.items()}
    for name, (ending, write) in WRITERS.items():
        key = name.replace(' ', '_')
        write('a_%s.%s' % (key, ending), a)
        write('b_%s.%s' % (key, ending), b)
    names = list(WRITERS)
    for i, x in enumerate(names):
        for y in names[(i + 1) % len(names)], names[(i + 5) % len(names)] if i % 3 else x:
            what = '%s against %s' % (x, y)
            p = ['%s_%s.%s' % (s, n.replace(' ', '_'), WRITERS[n][0]) for s, n in (('a', x), ('b', y))]
            status, found, err = compare(*p)
            check(status == 1 and set(found) == set(a), '%s: %d %s' % (what, status, err))
            for n in a:
                if n in found and a[n].size:
                    agrees(found[n], a[n], b[n], '%s, %s' % (what, n))
            check(found.get('empty', {}).get('verdict') == 'UNTESTED', what + ': empty')
        q = 'a_%s.%s' % (y.replace(' ', '_'), WRITERS[y][0])
        check(compare(p[0], q)[0] == 0, what + ': equal files')


def npy_orders():
    x = rng.standard_normal((37, 5, 29)).astype('f4')
    y = spoil(x)
    forms = {'c': lambda v: v, 'fortran': np.asfortranarray, 'big': lambda v: v.astype('>f4'),
             'big_fortran': lambda v: np.asfortranarray(v.astype('>f4'))}
    for f, make in forms.items():
        np.save('x_%s.npy' % f, make(x))
        np.save('y_%s.npy' % f, make(y))
    for f in forms:
        for g in forms:
            status, found, err = compare('x_%s.npy' % f, 'y_%s.npy' % g)
            check(status == 1, '%s %s: %d %s' % (f, g, status, err))
            # Both in Fortran order are read as they lie: the first is the first in memory there.
            if found and not ('fortran' in f and 'fortran' in g):
                agrees(list(found.values())[0], x, y, f + ' ' + g)
            elif found:
                p = list(found.values())[0]['outputs'][0]['pair']
                e = expect(x, y)
                check(p['bits_equal'] == e['equal'] and p['worst_ulp'] == e['worst'], f + ' ' + g)
                order = expect(x.T, y.T)['first']
                at = np.unravel_index(order, x.T.shape)[::-1]
                check(p['first_index'] == int(np.ravel_multi_index(at, x.shape)), f + ' ' + g + ': first')
    z = (x[:, 0] + 1j * x[:, 1]).astype('c8')
    w = z.copy()
    w[3, 4] += 1e-3j
    np.save('z.npy', z)
    with h5py.File('w.h5', 'w') as f:
        f.create_dataset('w', data=w, chunks=(8, 8), compression='gzip', shuffle=True)
    status, found, err = compare('z.npy', 'w.h5')
    check(status == 1, 'complex: %d %s' % (status, err))
    for v in found.values():
        agrees(v, z.view('f4').reshape(z.shape + (2,)), w.view('f4').reshape(w.shape + (2,)), 'complex')


def narrow_formats():
    """bf16 and fp8: positions from the bits, as the format's table gives them."""
    bits = rng.integers(0, 1 << 16, 5000).astype('u2')
    other = bits + rng.integers(0, 3, 5000).astype('u2')
    eight, moved = bits.astype('u1'), other.astype('u1')

    def raw(path, kind, x, dtype):
        head = json.dumps({'x': {'dtype': kind, 'shape': list(x.shape), 'data_offsets': [0, x.nbytes]}}).encode()
        open(path + '.safetensors', 'wb').write(struct.pack('<Q', len(head)) + head + x.tobytes())
        with h5py.File(path + '.h5', 'w') as f:
            f['x'] = x
            f['x'].attrs['dtype'] = dtype
    for kind, dtype, x, y, nan in (('F8_E4M3', 'e4m3', eight, moved, lambda v: v & 0x7f == 0x7f),
                                   ('F8_E5M2', None, eight, moved, lambda v: v & 0x7f > 0x7c),
                                   ('BF16', None, bits, other, lambda v: v & 0x7fff > 0x7f80)):
        raw('n1', kind, x, dtype or 'none')
        raw('n2', kind, y, dtype or 'none')
        ways = [('n1.safetensors', 'n2.safetensors')]
        if dtype:
            ways += [('n1.safetensors', 'n2.h5'), ('n1.h5', 'n2.h5')]
        top = 1 << (8 * x.itemsize - 1)
        p, q = (np.where(v & top, -(v & (top - 1)).astype('i8'), (v & (top - 1)).astype('i8')) for v in (x, y))
        infinite = {'BF16': 0x7f80, 'F8_E5M2': 0x7c}.get(kind, -1)
        good = ~(nan(x) | nan(y) | (x & (top - 1) == infinite) | (y & (top - 1) == infinite))
        equal = (x == y) | (nan(x) & nan(y))
        for way in ways:
            status, found, err = compare(*way)
            pair = found['x']['outputs'][0]['pair'] if found else {}
            check(status == 1 and pair.get('bits_equal') == int(equal.sum()) and
                  pair.get('worst_ulp') == int(abs(p - q)[good].max()) and pair['ulp']['count'] == int(good.sum()),
                  '%s %s: %d %s' % (kind, way, status, err))


def verdicts():
    x = np.linspace(1, 2, 1000).astype('f4')
    y = x.copy()
    y[500] = np.nextafter(y[500], np.float32(9))
    y[700] += np.float32(1e-3)
    np.savez('l1.npz', x=x, keep=x)
    np.savez('l2.npz', x=y, keep=x)
    far = int(expect(x, y)['worst'])
    for options, want in (([], 1), (['--limit', 'ulp:1'], 1), (['--limit', 'ulp:%d' % far], 0),
                          (['--limit', 'ulp:%d' % (far - 1)], 1), (['--limit', 'abs:0.0011'], 0),
                          (['--limit', 'abs:0.0009'], 1), (['--limit', 'rel:0.001'], 0),
                          (['--limit', 'ulp:1,abs:0.0011'], 0), (['--limit', 'ulp:1', '--limit', 'abs:0.0011'], 1),
                          (['--limit', 'share:0.002'], 0), (['--limit', 'share:0.001'], 1),
                          (['--case', 'keep'], 0), (['--case', '*:-x'], 0), (['--case', 'x'], 1),
                          (['--limit', 'mean:1e9'], 0), (['--limit', 'mean:1'], 1)):
        check(compare('l1.npz', 'l2.npz', *options)[0] == want, 'limits %s' % options)
    x[3] = np.nan
    y = x.copy()
    np.save('n1.npy', x)
    x[3] = 1
    np.save('n2.npy', x)
    np.save('n3.npy', y)
    check(compare('n1.npy', 'n2.npy', '--limit', 'abs:1e30')[0] == 1, 'NaN is within no limit')
    check(compare('n1.npy', 'n3.npy')[0] == 0, 'NaN equals NaN')
    np.save('z1.npy', np.array([0.0, 1]))
    np.save('z2.npy', np.array([-0.0, 1]))
    check(compare('z1.npy', 'z2.npy')[0] == 1, '+0 is not -0')
    check(compare('z1.npy', 'z2.npy', '--limit', 'ulp:0')[0] == 0, 'but 0 ULP away')


def as_bf16(x, truncate=False):
    u = x.view('u4')
    return ((u if truncate else u + np.uint32(0x7fff) + (u >> np.uint32(16) & np.uint32(1))) &
            np.uint32(0xffff0000)).view('f4')


def planted():
    """Name, cause, both sides: tensors as bugs of that kind leave them."""
    x, f = rng.standard_normal((64, 96)).astype('f4'), np.float32
    codes, few = rng.integers(0, 256, (50, 64)).astype('u1'), rng.random((64, 96)) < .02

    def at(place, value, base=x):
        y = base.copy()
        y[place] = value
        return y
    words = x.view('u4')
    fresh = rng.standard_normal((64, 96)).astype('f4')
    tiny = at(5, x[5] * f(1e-39))
    small = (x * f(1e-38)).astype('f4')
    yield 'flush', 'denormal flush', tiny, np.where(np.abs(tiny) < 1.2e-38, f(0), tiny)
    yield 'flush of inputs', 'denormal flush', small * f(1e20), np.where(np.abs(small) < 1.1755e-38, f(0), small) * f(1e20)
    yield 'box', 'localised corruption', x, at(np.s_[8:12, 16:24], fresh[8:12, 16:24])
    yield 'zero tile', 'localised corruption', x, at(np.s_[32:48, 64:80], 0)
    yield 'lane', 'localised corruption', x, at(np.s_[:, 5::32], fresh[:, 5::32])
    yield 'corner of tiles', 'localised corruption', x, np.where((np.arange(64)[:, None] % 16 > 11) & (np.arange(96) % 32 > 27), fresh, x)
    yield 'tail with noise', 'localised corruption', x, at(np.s_[:, 90:], fresh[:, 90:], np.where(few, np.nextafter(x, f(9)), x))
    yield 'nan', 'NaN/Inf semantics', x, at(few, np.nan)
    yield 'saturates', 'NaN/Inf semantics', at(few, np.inf), at(few, np.finfo('f4').max)
    yield 'tf32', 'silent downcast/TF32', x, (words & np.uint32(0xffffe000)).view('f4')
    yield 'bf16', 'silent downcast/TF32', x, as_bf16(x)
    yield 'f32 in f64', 'silent downcast/TF32', x.astype('f8') * np.pi, (x.astype('f8') * np.pi).astype('f4').astype('f8')
    yield 'toward zero', 'rounding mode', x, (words - (rng.random(x.shape) < .3).astype('u4')).view('f4')
    yield 'floor', 'rounding mode', np.rint(x * 20).astype('i1'), np.floor(x * 20).astype('i1')
    halves = (np.floor(x * 20) + .5).astype('f4')
    yield 'ties', 'rounding mode', np.rint(halves).astype('i1'), np.where(halves > 0, np.floor(halves + f(.5)), np.ceil(halves - f(.5))).astype('i1')
    yield 'transposed', 'mask/semantics', x, x.T.reshape(x.shape).copy()
    yield 'mirrored', 'mask/semantics', x, x[:, ::-1].copy()
    yield 'shifted', 'mask/semantics', x.reshape(-1)[1:].copy(), x.reshape(-1)[:-1].copy()
    yield 'negated', 'mask/semantics', x, -x
    tril = np.tril(np.ones((64, 64), bool))
    yield 'causal', 'mask/semantics', np.where(tril, x[:, :64], f(-np.inf)), np.where(np.tril(tril, -1), x[:, :64], f(-np.inf))
    yield 'no mask', 'mask/semantics', np.where(tril, x[:, :64], f(0)), x[:, :64].copy()
    yield 'clamp', 'mask/semantics', x, np.minimum(x, f(1))
    flat = rng.standard_normal(90000).astype('f4')
    yield 'wrapped', 'index overflow', flat, np.concatenate([flat[:65536], flat[:90000 - 65536]])
    yield 'rows', 'index overflow', flat.reshape(300, 300), at(np.s_[256:], 0, flat.reshape(300, 300))
    yield 'pattern', 'uninitialised read', x, at(few, np.uint32(0xcdcdcdcd), words).view('f4')
    yield 'garbage', 'uninitialised read', x, at(few, rng.integers(0, 2**32, int(few.sum()), dtype='u4'), words).view('f4')
    yield 'nibbles', 'codebook/format mismatch', codes, (codes >> 4 | codes << 4).astype('u1')
    yield 'offset 128', 'codebook/format mismatch', codes, codes ^ 128
    yield 'one on', 'codebook/format mismatch', codes, codes + np.uint8(1)
    yield 'table', 'codebook/format mismatch', codes, rng.permutation(256).astype('u1')[codes]
    yield 'byte order', 'codebook/format mismatch', x, x.byteswap()
    four, book = rng.integers(0, 16, 6144), rng.standard_normal((2, 16)).astype('f4')
    scales = np.repeat(np.abs(fresh.reshape(-1, 64)[:, :1]) + f(.1), 64)
    yield 'book', 'codebook/format mismatch', book[0][four] * scales, book[1][four] * scales
    keep = rng.random((2, 64, 96)) < .8
    yield 'dropout', 'RNG mismatch', np.where(keep[0], x, f(0)), np.where(keep[1], x, f(0))
    yield 'keep masks', 'RNG mismatch', keep[0], keep[1]
    yield 'stream', 'RNG mismatch', x, np.concatenate([x.reshape(-1)[:1000], fresh.reshape(-1)[1000:]]).reshape(x.shape)
    yield 'factor', 'scale/absmax', x, x * f(1.0078125)
    yield 'rows scaled', 'scale/absmax', x, x * (f(1) + np.abs(fresh[:, :1]))
    yield 'blocks scaled', 'scale/absmax', x, (x.reshape(-1, 64) * (f(1) + np.abs(fresh.reshape(-1, 64)[:, :1]))).reshape(x.shape)
    yield 'offset', 'scale/absmax', x, x + f(.125)
    yield 'half scaled', 'scale/absmax', x.astype('f2'), x.astype('f2') * np.float16(8 ** .5)
    yield 'scattered', 'race/nondeterminism', x, at(few, x[few] * fresh[few])
    counts = rng.integers(0, 1000, 5000)
    yield 'lost counts', 'race/nondeterminism', counts, np.where(rng.random(5000) < .02, counts - rng.integers(1, 4, 5000), counts)
    terms = rng.standard_normal((3000, 256)).astype('f4')
    yield 'order', 'reduction order', np.cumsum(terms, 1, dtype='f4')[:, -1], np.cumsum(terms[:, ::-1], 1, dtype='f4')[:, -1]
    a, b = rng.standard_normal((2, 60, 64)).astype('f4')
    yield 'tf32 inputs', 'silent downcast/TF32', a @ b.T, (a.view('u4') & np.uint32(0xffffe000)).view('f4') @ (b.view('u4') & np.uint32(0xffffe000)).view('f4').T
    yield 'function', 'approximate function', x, (x.view('i4') + rng.integers(-2, 3, x.shape).astype('i4')).view('f4')
    # The same on top of rounding everywhere, as two vendors' dumps have it.
    wide = rng.standard_normal((64, 96)) * 10
    one, other = ((wide + rng.standard_normal(wide.shape) * 2e-6).astype('f4') for _ in range(2))
    yield 'noise and tile', 'localised corruption', one, at(np.s_[32:48, 64:80], fresh[32:48, 64:80], other)
    yield 'noise and zero tail', 'localised corruption', one, at(np.s_[:, 88:], 0, other)
    yield 'noise and pattern', 'uninitialised read', one, at(few, np.uint32(0xcdcdcdcd), other.view('u4')).view('f4')
    yield 'noise and nan', 'NaN/Inf semantics', one, at(few, np.nan, other)
    yield 'noise and transposed', 'mask/semantics', one, other.T.reshape(64, 96).copy()
    yield 'noise and written turned', 'mask/semantics', one, other.reshape(96, 64).T.copy()
    yield 'noise and rolled', 'mask/semantics', one, np.roll(other, 1, 0)
    yield 'noise and negated', 'mask/semantics', one, -other
    yield 'noise and relu', 'mask/semantics', np.maximum(one, 0), other
    yield 'noise and clamp', 'mask/semantics', one, np.clip(other, -10, 10)
    yield 'noise and factor', 'scale/absmax', one, other * f(1.01)
    yield 'noise and dropout', 'RNG mismatch', one * keep[0], other * keep[1]
    yield 'noise and lost sums', 'race/nondeterminism', one, at(few, other[few] * fresh[few], other)
    yield 'noise and limit', 'index overflow', one.repeat(10, 0), at(np.s_[512:], 0, other.repeat(10, 0))
    total = np.zeros(2000, 'f4')
    for k in range(64):
        total = as_bf16(total + as_bf16(terms[:2000, k].copy()))
    yield 'bf16 sum', 'reduced-precision accumulate', as_bf16(terms[:2000, :64].copy()).sum(1), total


def causes():
    """The primary cause of planted differences, without a reference; then that none is invented."""
    sides, want = ({}, {}), {}
    for name, cause, a, b in planted():
        sides[0][name], sides[1][name], want[name] = a, b, cause
    defects = {'localised corruption', 'index overflow', 'race/nondeterminism', 'uninitialised read', 'rounding mode',
               'codebook/format mismatch', 'mask/semantics', 'scale/absmax', 'silent downcast/TF32', 'RNG mismatch',
               'reduced-precision accumulate', 'denormal flush', 'NaN/Inf semantics'}
    for i in range(24):
        terms = rng.standard_normal((40 * (i + 1), 30 + 17 * i)).astype('f4' if i % 2 else 'f8')
        if i % 3 == 0:
            terms = np.abs(terms)
        sums = np.cumsum(terms, 1, dtype=terms.dtype)[:, -1], terms.sum(1)
        for side in range(2):
            sides[side]['clean %d' % i] = sums[side].reshape(40, -1) if i % 4 else sums[side]
    ends = np.array([2**63 - 1, -2**63, 5] * 30)
    sides[0]['clean ends'], sides[1]['clean ends'] = ends, ends[::-1] ^ 7
    np.savez('c1.npz', **sides[0])
    np.savez('c2.npz', **sides[1])
    for name, finding in compare('c1.npz', 'c2.npz')[1].items():
        claims = finding['outputs'][0]['causes']
        got = claims[0]['cause'] if claims else None
        if name in want:
            check(got == want[name], 'cause of %s: %s, should be %s' % (name, got, want[name]))
        else:
            check(got not in defects, 'cause of %s: %s' % (name, got))


def cells(page, title):
    """The level of each cell that is drawn in a map of an HTML report."""
    found = {}
    svg = re.search('aria-label="Map of the output, %s">(.*?)</svg>' % re.escape(title), page, re.S)
    for level, path in re.findall(r'class="m(\d)" d="([^"]*)"', svg[1] if svg else ''):
        for x, y, n in re.findall(r'M(\d+) (\d+)h(\d+)v1', path):
            found.update({(int(y), int(x) + i): int(level) for i in range(int(n))})
    return found


def pictures():
    """The maps of the HTML report against the same counted here; a tensor in Fortran order on both sides too."""
    x = rng.standard_normal((250, 380)).astype('f4')
    y = x.copy()
    y[64:96, 128:190] = rng.standard_normal((32, 62))
    y[200] = np.nextafter(y[200], np.float32(9))
    y[7, 300] = np.nan
    limits = (1, 4, 64, 65536, float('inf'))
    for order in 'CF':
        np.save('p1.npy', np.array(x, order=order))
        np.save('p2.npy', np.array(y, order=order))
        compare('p1.npy', 'p2.npy', '--report', 'p.html')
        with open('p.html', encoding='utf-8') as f:
            page = f.read()
        far = np.abs(positions(y).astype('f8') - positions(x))
        far[np.isnan(y)] = np.inf
        share, worst = {}, {}
        for row in range(0, 250, 11):
            for column in range(0, 380, 8):
                part = far[row:row + 11, column:column + 8]
                if part.any():
                    at, rate = (row // 11, column // 8), (part > 0).mean()
                    share[at] = 1 if rate <= .25 else 2 if rate <= .75 else 3
                    worst[at] = 1 + sum(part.max() > limit for limit in limits) if np.isfinite(part.max()) else 6
        check(cells(page, 'A \u2260 B') == share, order + ': map of differing bits')
        check(cells(page, '|B \u2212 A|') == worst, order + ': map of distances')
        check('Distance in ULP against magnitude' in page and not re.search('d="[^"]*(nan|inf)', page), 'plots')


def names():
    x = np.arange(6, dtype='f4').reshape(2, 3)
    np.savez('m1.npz', **{'old/a': x, 'old/b': x, 'c': x})
    np.savez('m2.npz', **{'new/a': x, 'new/b': x, 'd': x})
    check(compare('m1.npz', 'm2.npz', '--map', 'old/*=new/*', '--map', 'c=d')[0] == 0, 'maps')
    check(compare('m1.npz', 'm2.npz', '--map', 'c=d', '--common')[0] == 0, '--common')
    status, _, err = compare('m1.npz', 'm2.npz')
    check(status == 2 and len(err.splitlines()) == 7, 'six missing and a sum: ' + err)
    status, _, err = compare('m1.npz', 'm2.npz', '--map', 'x=y')
    check(status == 2 and 'no such tensor' in err, 'a map of nothing: ' + err)
    status, _, err = compare('m1.npz', 'm2.npz', '--common')
    check(status == 2 and 'nothing to compare' in err, 'no common tensor: ' + err)
    with h5py.File('k1.h5', 'w') as f:
        f['x'] = x
        f['s'] = 'text'
        f['soft'] = h5py.SoftLink('/x')
    with h5py.File('k2.h5', 'w') as f:
        f['x'] = x
        f['s'] = 'other text'
        f['soft'] = h5py.SoftLink('/x')
    status, found, err = compare('k1.h5', 'k2.h5')
    check(status == 0 and found['s']['verdict'] == found['soft']['verdict'] == 'UNTESTED', 'text: ' + err)
    for name, b in (('f64', x.astype('f8')), ('i32', x.astype('i4')), ('[3,2]', x.T.copy()), ('[6]', x.ravel())):
        np.save('s1.npy', x)
        np.save('s2.npy', b)
        status, _, err = compare('s1.npy', 's2.npy')
        check(status == 2 and name in err and len(err.splitlines()) == 1, 'other shape or type: ' + err)


def layouts():
    """What HDF5 can do and h5py's defaults do not."""
    x = np.arange(600, dtype='i4').reshape(20, 30)
    y = x.copy()
    y[19, 29] = -5
    with h5py.File('f1.h5', 'w') as f:
        d = f.create_dataset('fill', shape=(20, 30), dtype='i4', fillvalue=7)
        d = f.create_dataset('part', shape=(20, 30), dtype='i4', fillvalue=7, chunks=(4, 7))
        d[4:8, 7:14] = x[4:8, 7:14]
        f.create_dataset('big', data=y.astype('>i4'), chunks=(4, 7), compression='gzip')
        space, how = h5py.h5s.create_simple((20, 30)), h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        how.set_layout(h5py.h5d.COMPACT)
        h5py.h5d.create(f.id, b'compact', h5py.h5t.STD_I32LE, space, how).write(h5py.h5s.ALL, h5py.h5s.ALL, y)
        f.create_dataset('large', data=np.arange(1 << 20, dtype='f4').reshape(1 << 10, -1), chunks=(1 << 10, 1 << 9))
        # Chunks of several pieces, which begin within rows and, on the other side, within chunks.
        tall = rng.standard_normal((700, 999)).astype('f4')
        f.create_dataset('tall', data=tall, chunks=(300, 999), compression='lzf', shuffle=True)
    short = spoil(tall)
    for name, chunk in (('g1.h5', (77, 999)), ('g2.h5', (77, 50))):
        with h5py.File(name, 'w') as f:
            f.create_dataset('tall', data=short, chunks=chunk, compression='gzip', compression_opts=1)
    part = np.full((20, 30), 7, 'i4')
    part[4:8, 7:14] = x[4:8, 7:14]
    large = np.arange(1 << 20, dtype='f4').reshape(1 << 10, -1)
    large[1000, 1000] = -1
    np.savez('f2.npz', fill=np.full((20, 30), 8, 'i4'), part=part, big=x, compact=x, large=large, tall=short)
    status, found, err = compare('f1.h5', 'f2.npz')
    check(status == 1, 'layouts: ' + err)
    agrees(found['fill'], np.full((20, 30), 7, 'i4'), np.full((20, 30), 8, 'i4'), 'never written')
    agrees(found['part'], part, part, 'partly written')
    agrees(found['big'], y, x, 'big-endian, packed')
    agrees(found['compact'], y, x, 'compact')
    agrees(found['tall'], tall, short, 'several pieces a chunk')
    agrees(found['large'], np.arange(1 << 20, dtype='f4').reshape(1 << 10, -1), large, 'large chunks')
    check(found['large']['outputs'][0]['first']['coordinate'] == [1000, 1000], 'large chunks: place')
    for name in 'g1.h5', 'g2.h5':
        status, found, err = compare('f1.h5', name, '--case', 'tall')
        check(status == 1, name + ': ' + err)
        agrees(found['tall'], tall, short, name + ': other chunks')


def indices():
    """Every kind of index that HDF5 has for chunks, behind a block of the user's; chunks without
    filters and with, of which some were never written."""
    x = rng.standard_normal((70, 90)).astype('f4')
    y = spoil(x)
    y[60:] = x[60:] = 0
    early = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    early.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    early.set_chunk((8, 32))
    kinds = {'btree': dict(chunks=(8, 32)), 'single': dict(chunks=(70, 90)),
             'fixed': dict(chunks=(8, 32)), 'growing': dict(chunks=(8, 32), maxshape=(None, 90)),
             'twice': dict(chunks=(8, 32), maxshape=(None, None))}
    for packed in {}, {'compression': 'gzip', 'shuffle': True}:
        for libver in 'earliest', 'latest':
            with h5py.File('i1.h5', 'w', libver=libver, userblock_size=1024) as f:
                for name, how in kinds.items():
                    f.create_dataset(name, shape=x.shape, dtype='f4', **how, **packed)[:60] = x[:60]
                implicit = h5py.h5d.create(f.id, b'implicit', h5py.h5t.IEEE_F32LE,
                                           h5py.h5s.create_simple(x.shape), early)
                implicit.write(h5py.h5s.ALL, h5py.h5s.ALL, x)
            with h5py.File('i2.h5', 'w', libver=libver) as f: # the same chunks elsewhere
                for name, how in list(kinds.items())[::-1] + [('implicit', dict(chunks=(8, 32)))]:
                    f.create_dataset(name, data=y, **how, **packed)
            status, found, err = compare('i1.h5', 'i2.h5')
            check(status == 1 and len(found) == 6, 'indices: %d %s' % (len(found), err))
            for name in found:
                agrees(found[name], x, y, 'index %s, %s%s' % (name, libver, ', packed' if packed else ''))


def beyond_32_bits():
    """More than 2^32 elements, of which few lie in the file; memory stays small."""
    n = (1 << 32) + 4096
    for path, at in (('h1.h5', ()), ('h2.h5', (17, (1 << 31) + 1, n - 3))):
        with h5py.File(path, 'w') as f:
            d = f.create_dataset('x', shape=(n,), dtype='u1', chunks=(1 << 20,))
            for i in at:
                d[i] = 9
    status, found, err = compare('h1.h5', 'h2.h5')
    out = found['x']['outputs'][0]
    check(status == 1 and out['pair']['count'] == n and out['pair']['bits_equal'] == n - 3, 'beyond 2^32: ' + err)
    check(out['first']['index'] == 17 and '[17..%d]' % (n - 3) in out['reason'], 'beyond 2^32: ' + out['reason'])


def memory():
    """The most that a run takes, beyond what the program takes for next to nothing."""
    script = ('import resource, subprocess, sys\n'
              'subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)\n'
              'print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)')
    n = 1 << 24
    x = rng.standard_normal(n).astype('f4')
    with h5py.File('big.h5', 'w') as f:
        f.create_dataset('x', data=x.reshape(1 << 12, -1), chunks=(256, 512))
        f.create_dataset('y', data=x[:1 << 22].reshape(1 << 11, -1), chunks=(256, 512), compression='lzf')
    np.savez('big.npz', x=x.reshape(1 << 12, -1)[::-1], y=x[:1 << 22].reshape(1 << 11, -1)[::-1])
    done = subprocess.run([sys.executable, '-c', script, PROGRAM, 'compare', 'big.h5', 'big.npz', '-q'],
                          stdout=subprocess.PIPE)
    kilobytes = int(done.stdout)
    print('64 MiB in chunks against npz: %d KiB resident' % kilobytes)
    check(SANITIZED or kilobytes < 64 << 10, '%d KiB resident' % kilobytes)


def damaged():
    """One line and status 2, whatever is cut or turned over."""
    x = {'x': rng.standard_normal((40, 50)).astype('f4'), 'y': np.arange(3000)}
    for name, (ending, write) in WRITERS.items():
        write('good.' + ending, x)
        data = open('good.' + ending, 'rb').read()
        for k in range(2 if SANITIZED else 4):
            bad = bytearray(data)
            if k % 2:
                bad = bad[:int(len(bad) * k / 5)]
            for i in rng.integers(0, min(len(bad), 700), 3 if not k % 2 else 0):
                bad[i] ^= 1 << int(rng.integers(0, 8))
            open('bad.' + ending, 'wb').write(bad)
            done = subprocess.run([PROGRAM, 'compare', 'good.' + ending, 'bad.' + ending, '-q'],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            err = done.stderr.decode()
            fine = done.returncode in (0, 1) and not err or done.returncode == 2 and err.count('\n') >= 1
            check(fine and done.returncode in (0, 1, 2), '%s, damage %d: %d %s' % (name, k, done.returncode, err))
            check(k % 2 == 0 or done.returncode == 2, '%s cut at %d of 5: %d' % (name, k, done.returncode))


def zip_tricks():
    x = np.arange(1000, dtype='f4')
    np.savez_compressed('p.npz', x=x)
    data = bytearray(open('p.npz', 'rb').read())
    at = data.rfind(b'PK\1\2')
    bomb = bytearray(data)
    bomb[at + 24:at + 28] = struct.pack('<I', 1 << 31)
    secret = bytearray(data)
    secret[at + 8] |= 1
    wrong = bytearray(data)
    wrong[at + 16] ^= 1
    twice = 'twice.npz'
    with zipfile.ZipFile(twice, 'w') as z:
        import warnings
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')
            for _ in range(2):
                z.write('p.npz', 'notes.txt')
    pt = 'model.npz'
    with zipfile.ZipFile(pt, 'w') as z:
        z.writestr('model/data.pkl', b'x')
    big = zipfile.ZipFile('zip64.npz', 'w', zipfile.ZIP_STORED)
    with big.open('x.npy', 'w', force_zip64=True) as f:
        np.lib.format.write_array(f, x)
    big.close()
    check(compare('p.npz', 'zip64.npz')[0] == 0, 'zip64')
    for what, content, says in (('bomb', bomb, 'more than it can'), ('secret', secret, 'encrypted'),
                                ('wrong sum', wrong, 'checksum')):
        open('q.npz', 'wb').write(content)
        status, _, err = compare('p.npz', 'q.npz')
        check(status == 2 and says in err and err.count('\n') == 1, '%s: %d %s' % (what, status, err))
    for path, says in ((twice, 'two tensors named'), (pt, 'p.npz has no model/data.pkl')):
        status, _, err = compare('p.npz', path)
        check(status == 2 and says in err, '%s: %d %s' % (path, status, err))


for part in (mixtures, npy_orders, narrow_formats, verdicts, causes, pictures, names, layouts, indices, memory, damaged, zip_tricks):
    part()
if SANITIZED:
    skipped.add('more than 2^32 elements: not with sanitizers')
else:
    beyond_32_bits()
for s in sorted(skipped):
    print('skipped: ' + s)
total = sum(counts.values())
print('%d%%: Checks: %d, Failures: %d, Errors: 0' % (100 * counts[True] // max(total, 1), total, counts[False]))
sys.exit(counts[False] != 0)
