# SPDX-License-Identifier: Apache-2.0
"""bench_tensors.py GPUPARITY [MIB]: two f32 tensors of MIB MiB each (standard 256; 1024 is what the targets are about) in
page cache, compared by gpuparity, beside plain reading, h5diff and numpy, all in this run: seconds, best of three,
and how many times longer the others take. `few`: 1 % of the elements differ by one ULP; `all`: nearly all, by up to 3."""
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time

import h5py
import numpy as np

program, mib = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 256
folder = tempfile.TemporaryDirectory(prefix='gpuparity-bench-')
os.chdir(folder.name)


def cpu():
    """Seconds of processors that this process and those it waited for have used."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def best(run, times=3):
    """Seconds on the clock, and of processors: on a busy machine only these can be compared."""
    seconds, used = [], []
    for _ in range(times):
        start, before = time.perf_counter(), cpu()
        run()
        seconds.append(time.perf_counter() - start)
        used.append(cpu() - before)
    return min(seconds), min(used)


def make():
    rng = np.random.default_rng(1)
    side = 1 << (mib.bit_length() - 1 + 18) // 2
    shape = ((mib << 18) // side, side)
    a = rng.standard_normal(shape, dtype='f4')
    few, many = a.copy(), a.copy()
    few.view('i4')[rng.random(shape, dtype='f4') < 0.01] += 1
    many.view('i4')[...] += rng.integers(-3, 4, size=shape, dtype='i4')
    for name, x in (('a', a), ('same', a), ('few', few), ('all', many)):
        np.save(name + '.npy', x)
        with h5py.File(name + '.h5', 'w') as f:
            f['x'] = x
        with h5py.File(name + '_chunked.h5', 'w') as f:
            f.create_dataset('x', data=x, chunks=(512, 512))


def read(*paths):
    buffer = bytearray(1 << 20)
    for path in paths:
        with open(path, 'rb', buffering=0) as f:
            while f.readinto(buffer):
                pass


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


make()
plain, plain_cpu = best(lambda: read('a.npy', 'few.npy'), 5)
size = 2 * os.path.getsize('a.npy')
print('2 x %d MiB of f32, %d cores, load %.1f; plain reading %.3f s (%.1f GB/s), %.3f s of CPU'
      % (mib, os.cpu_count(), os.getloadavg()[0], plain, size / plain / 1e9, plain_cpu))
mine = {}
for b in ('same', 'few', 'all'):
    for ending in ('.npy', '.h5', '_chunked.h5'):
        t, busy = mine[b + ending] = best(lambda: compare('a' + ending, b + ending), 5)
        print('gpuparity %-16s %7.3f s, %4.2f of the speed of plain reading; %.3f s of CPU; %d MiB resident' % (
            b + ending, t, plain / t, busy, resident('a' + ending, b + ending) >> 10))


def other(name, run, of, target):
    t, busy = best(run, 1)
    print('%-24s %7.2f s: %.0f times as long (target %d); %.2f s of CPU: %.0f times' % (
        name, t, t / mine[of][0], target, busy, busy / mine[of][1]))


other('numpy, ULP and histogram', numpy_ulp, 'few.npy', 20)
if shutil.which('h5diff'):
    other('h5diff contiguous', lambda: h5diff('a.h5', 'few.h5'), 'few.h5', 3)
    other('h5diff chunked', lambda: h5diff('a_chunked.h5', 'few_chunked.h5'), 'few_chunked.h5', 10)
