# SPDX-License-Identifier: Apache-2.0
"""ci_recipes.py GITHUB.yml GITLAB.yml: runs the scripts of the CI examples as their schedulers would, each job in a
folder of its own, artifacts carried between them; simulated cards stand in for the real ones."""
import glob
import os
import shutil
import subprocess
import sys
import tempfile

import yaml


def run(folder, line):
    line = line.replace('cuda:0', 'cuda-sim').replace('hip:0', 'hip-sim')
    done = subprocess.run(['sh', '-e', '-c', line], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        sys.exit('%s: exit status %d\n%s' % (line, done.returncode, done.stdout.decode()))


def carry(pattern, source, target):
    files = glob.glob(os.path.join(source, pattern))
    if not files:
        sys.exit('no artifact %s' % pattern)
    for path in files:
        shutil.copy(path, target)


def expect_report(folder, name):
    if '<testsuite ' not in open(os.path.join(folder, name), encoding='utf-8').read():
        sys.exit('no JUnit report in ' + name)


def github(path, top):
    jobs, done, store = yaml.safe_load(open(path, encoding='utf-8'))['jobs'], [], os.path.join(top, 'store')
    os.makedirs(store)
    while len(done) < len(jobs):
        name = next(n for n, j in jobs.items() if n not in done and all(x in done for x in j.get('needs', [])))
        folder = os.path.join(top, name)
        os.makedirs(folder)
        for step in jobs[name]['steps']:
            if 'run' in step:
                run(folder, step['run'])
            elif 'upload' in step['uses']:
                carry(step['with']['path'], folder, store)
            else:
                carry('*', store, folder)
        done.append(name)
    expect_report(store, 'parity.xml')


def gitlab(path, top):
    recipe = yaml.safe_load(open(path, encoding='utf-8'))
    stages, store = recipe.pop('stages'), os.path.join(top, 'store')
    os.makedirs(store)
    for stage in stages:
        for name, job in recipe.items():
            if job['stage'] != stage:
                continue
            folder = os.path.join(top, name)
            shutil.copytree(store, folder)
            for line in job['script']:
                run(folder, line)
            reports = job['artifacts'].get('reports', {})
            for pattern in job['artifacts']['paths'] + list(reports.values()):
                carry(pattern, folder, store)
    expect_report(store, 'parity.xml')


with tempfile.TemporaryDirectory() as folder:
    github(sys.argv[1], os.path.join(folder, 'github'))
    gitlab(sys.argv[2], os.path.join(folder, 'gitlab'))
