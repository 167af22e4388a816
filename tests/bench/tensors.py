# SPDX-License-Identifier: Apache-2.0
"""bench_tensors.py GPUPARITY [MIB]: two f32 tensors of MIB MiB each (standard 256; 1024 is what the targets are about) in
page cache, compared by gpuparity, beside plain reading, h5diff and numpy, all in this run. `few` and `tenth`: 1 % and
10 % of the elements differ by one ULP; `all`: nearly all, by up to 3; `noise`: all, by a thousandth. Rounds of all in
turn; what is printed are medians over the rounds: of seconds, and of how many times longer something else took in the
same round. On a busy machine only seconds of processors can be compared. Then packed chunks, against reading and
inflating them by Python's zlib in one thread, and files of many small tensors, for each of which 0.2 ms is allowed."""
import json
import mmap
import os
import resource
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time
import zlib

import h5py
import numpy as np

program, mib = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 256
folder = tempfile.TemporaryDirectory(prefix='gpuparity-bench-')
os.chdir(folder.name)
rng = np.random.default_rng(1)
ROUNDS, MANY = 5, 10000
PACKED = {'gzip': dict(compression='gzip', compression_opts=1), 'lzf': dict(compression='lzf'),
          'shuffled': dict(compression='gzip', compression_opts=1, shuffle=True)}


def cpu():
    """Seconds of processors that this process and those it waited for have used."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def once(run):
    """Seconds on the clock, and of processors."""
    start, before = time.perf_counter(), cpu()
    run()
    return time.perf_counter() - start, cpu() - before


def write(name, x, chunked=True):
    np.save(name + '.npy', x)
    if chunked:
        with h5py.File(name + '_chunked.h5', 'w') as f:
            f.create_dataset('x', data=x, chunks=(512, 512))


def make():
    side = 1 << (mib.bit_length() - 1 + 18) // 2
    shape = ((mib << 18) // side, side)
    a = rng.standard_normal(shape, dtype='f4')
    write('a', a)
    write('same', a)
    for name, share in ('few', 0.01), ('tenth', 0.1):
        b = a.copy()
        b.view('i4')[rng.random(shape, dtype='f4') < share] += 1
        write(name, b)
        if name == 'few':
            for which, x in ('a', a), ('few', b):
                with h5py.File(which + '.h5', 'w') as f:
                    f['x'] = x
                for how, options in PACKED.items():
                    with h5py.File('%s_%s.h5' % (which, how), 'w') as f:
                        f.create_dataset('x', data=x[:len(x) // 8], chunks=(512, 512), **options)
    b = a.copy()
    b.view('i4')[...] += rng.integers(-3, 4, size=shape, dtype='i4')
    write('all', b)
    a *= 1 + 1e-3 * rng.standard_normal(shape, dtype='f4')
    write('noise', a)


def make_many():
    a = {'layer%05d.weight' % i: rng.standard_normal(256, dtype='f4') for i in range(MANY)}
    b = {k: v.copy() for k, v in a.items()}
    for k in list(b)[::10]:
        b[k].view('i4')[7] += 1
    for which, tensors in ('many_a', a), ('many_b', b):
        for ending, options in ('.h5', {}), ('_packed.h5', dict(chunks=(256,), compression='gzip')):
            with h5py.File(which + ending, 'w') as f:
                for k, v in tensors.items():
                    f.create_dataset(k, data=v, **options)
        np.savez(which + '.npz', **tensors)
        np.savez_compressed(which + '_packed.npz', **tensors)
        head = json.dumps({k: {'dtype': 'F32', 'shape': [256], 'data_offsets': [1024 * i, 1024 * (i + 1)]}
                           for i, k in enumerate(tensors)}).encode()
        with open(which + '.safetensors', 'wb') as f:
            f.write(struct.pack('<Q', len(head)) + head + b''.join(v.tobytes() for v in tensors.values()))


def read(*paths):
    buffer = mmap.mmap(-1, 1 << 20) # of whole pages: others are several times slower on some processors
    for path in paths:
        with open(path, 'rb', buffering=0) as f:
            while f.readinto(buffer):
                pass


def inflate(*paths):
    for path in paths:
        with h5py.File(path) as f:
            d = f['x'].id
            for i in range(d.get_num_chunks()):
                zlib.decompress(d.read_direct_chunk(d.get_chunk_info(i).chunk_offset)[1])


def compare(a, b):
    subprocess.run([program, 'compare', a, b, '-q'], stdout=subprocess.DEVNULL)


def h5diff(a, b):
    subprocess.run(['h5diff', '-q', '-d', '1e-30', a, b], stdout=subprocess.DEVNULL)


def numpy_ulp():
    """Largest distance and a histogram of distances, as numpy users do it."""
    def positions(path):
        bits = np.load(path).view('i4').astype('i8')
        return np.where(bits < 0, -(bits & 0x7fffffff), bits)
    d = positions('few.npy') - positions('a.npy')
    np.abs(d).max()
    np.histogram(d, bins=256)


def resident(a, b):
    script = ('import resource, subprocess, sys; subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL); '
              'print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)')
    return int(subprocess.run([sys.executable, '-c', script, program, 'compare', a, b, '-q'],
                              stdout=subprocess.PIPE).stdout)


def median(values):
    return statistics.median(values)


def rounds(yardstick, pairs):
    """Each pair's times and the yardstick's, by turns: [(clock, cpu, clock of the yardstick, its cpu)...]"""
    found = {pair: [] for pair in pairs}
    for _ in range(ROUNDS):
        for pair in pairs:
            plain = once(lambda: yardstick(*pair))
            found[pair].append(once(lambda: compare(*pair)) + plain)
    return found


make()
print('2 x %d MiB of f32, %d cores, load %.1f' % (mib, os.cpu_count(), os.getloadavg()[0]))
pairs = [('a' + ending, b + ending) for ending in ('.npy', '_chunked.h5') for b in ('same', 'few', 'tenth', 'all', 'noise')]
mine = rounds(read, pairs + [('a.h5', 'few.h5')])
for (a, b), times in mine.items():
    print('gpuparity %-17s %7.3f s, %4.2f of the speed of plain reading (target 0.5); %.3f s of CPU: %.1f times; %d MiB' % (
        b, median(t[0] for t in times), median(t[2] / t[0] for t in times), median(t[1] for t in times),
        median(t[1] / max(t[3], 1e-3) for t in times), resident(a, b) >> 10))


def other(name, run, pair, target):
    t, busy = once(run)
    own = [median(x[i] for x in mine[pair]) for i in range(2)]
    print('%-27s %7.2f s: %.0f times as long (target %d); %.2f s of CPU: %.0f times' % (
        name, t, t / own[0], target, busy, busy / own[1]))


other('numpy, ULP and histogram', numpy_ulp, ('a.npy', 'few.npy'), 20)
if shutil.which('h5diff'):
    other('h5diff contiguous', lambda: h5diff('a.h5', 'few.h5'), ('a.h5', 'few.h5'), 3)
    other('h5diff chunked', lambda: h5diff('a_chunked.h5', 'few_chunked.h5'), ('a_chunked.h5', 'few_chunked.h5'), 10)
for how in PACKED:
    pair = 'a_%s.h5' % how, 'few_%s.h5' % how
    plain = rounds(read, [pair])[pair]
    line = 'packed by %-9s %7.3f s for 2 x %d MiB, %.3f of the speed of reading the packed files' % (
        how, median(t[0] for t in plain), mib // 8, median(t[2] / t[0] for t in plain))
    if how != 'lzf':
        both = rounds(inflate, [pair])[pair]
        line += ', %.2f of reading and inflating; %.2f times its CPU' % (
            median(t[2] / t[0] for t in both), median(t[1] / t[3] for t in both))
    print(line)
make_many()
for ending in '.h5', '_packed.h5', '.npz', '_packed.npz', '.safetensors':
    pair = 'many_a' + ending, 'many_b' + ending
    times = rounds(read, [pair])[pair]
    print('%d tensors of 1 KiB, %-12s %7.3f s; %.3f ms of the clock each (target 0.2), %.3f ms of CPU' % (
        MANY, ending, median(t[0] for t in times), 1e3 * median(t[0] - t[2] for t in times) / MANY,
        1e3 * median(t[1] - t[3] for t in times) / MANY))
