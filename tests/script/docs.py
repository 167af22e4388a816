# SPDX-License-Identifier: Apache-2.0
"""docs.py SOURCE BUILD [PAGE...]: every command that README.md and docs/*.md show is run, in a folder
of its own a page, with the build's gpuparity first in PATH; new pages are found by themselves.

Blocks of a page run in order, in one folder. `sh`: must end with status 0, as with `sh -e`. `console`: after
"$ " a command (a line that ends in \\ goes on), below it what it prints, whose words must occur in this order; a
line "..." stands for any lines. `python`: run by $GPUPARITY_PYTHON or the Python of this script. Commands in the cells of
tables, in backquotes, run too, unless they hold a placeholder (capital letters, dots or brackets). A
comment before a block, <!-- docs: WORD ... -->, says otherwise:

  file NAME      the block is the content of that file
  exits N        the last command ends with status N
  needs NAME...  only where these programs, or Python modules (py:NAME), are; counted as skipped
  skip REASON    not run: needs hardware, root, the network; counted and printed
  run COMMAND    not a block: COMMAND runs here, unseen by readers
  shows          before a table: what a row's command prints has the row's first cell in it
  errors         before a table: a row's command fails with one line that has the second cell in it

Exits 1 with each page, line and output that is wrong."""
import concurrent.futures
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

SECONDS = 240
PYTHON = os.environ.get('GPUPARITY_PYTHON') or sys.executable
MARK = re.compile(r'<!-- docs: (\w+) ?(.*?) *-->$')
PLACEHOLDER = re.compile(r'\u2026|\.\.\.|\[|(?<![\w./:=-])[A-Z][A-Z0-9]*\b(?![\w=])|=[A-Z]')
RUN = {'sh', 'console', 'python', 'c'}


class Wrong(Exception):
    pass


class Block:
    def __init__(self, page, line, kind):
        self.page, self.line, self.kind, self.text, self.marks = page, line, kind, '', {}


def blocks_of(page):
    """What a page wants run: fenced blocks, hidden commands, commands in tables."""
    marks, block, found = {}, None, []
    for number, line in enumerate(open(page, encoding='utf-8').read().split('\n'), 1):
        mark = MARK.match(line)
        if block:
            if line == '```':
                found.append(block)
                block = None
            else:
                block.text += line + '\n'
        elif mark and mark[1] == 'run':
            hidden = Block(page, number, 'sh')
            hidden.text, hidden.marks, marks = mark[2] + '\n', marks, {}
            found.append(hidden)
        elif mark:
            if mark[1] not in ('file', 'exits', 'needs', 'skip', 'shows', 'errors'):
                raise Wrong('%s:%d: unknown mark %s' % (page, number, mark[1]))
            marks[mark[1]] = mark[2]
        elif line.startswith('```'):
            block = Block(page, number, line[3:].strip())
            block.marks, marks = marks, {}
        elif re.match(r'    (\$ |gpuparity |build/|nvcc |hipcc |h5\w+ )', line):
            raise Wrong('%s:%d: a command in an indented block is not run: fence it' % (page, number))
        elif line.startswith('|'):
            found += cells(page, number, line, marks)
        elif not line and ('shows' in marks or 'errors' in marks):
            marks = {}
    if block or marks:
        raise Wrong('%s: a block or a mark without end' % page)
    return found


def cells(page, number, line, marks):
    row = [c.strip().replace('\\|', '|') for c in re.split(r'(?<!\\)\|', line)[1:-1]]
    for command in re.findall(r'`((?:[A-Z_]+=\S+ )?gpuparity [^`]*)`', row[0] if 'errors' in marks else ' | '.join(row)):
        if 'errors' in marks or not PLACEHOLDER.search(command):
            block = Block(page, number, 'cell')
            block.text, block.marks, block.row = command + '\n', marks, row
            yield block


class Place:
    """A folder that looks like the source tree with a build in it; what is kept there may be changed."""

    def __init__(self, source, build, page):
        self.folder = tempfile.mkdtemp(prefix='docs-' + os.path.basename(page)[:-3] + '-')
        for name in ('cases', 'harness', 'docs', 'backends', 'tests'):
            os.symlink(os.path.join(source, name), os.path.join(self.folder, name))
        os.symlink(build, os.path.join(self.folder, 'build'))
        golden = os.path.join(self.folder, 'golden')
        shutil.copytree(os.path.join(source, 'golden'), golden)
        programs = os.path.join(self.folder, '.bin')
        os.mkdir(programs)
        os.symlink(os.path.join(build, 'gpuparity'), os.path.join(programs, 'gpuparity'))
        python = os.path.join(programs, 'python3')
        with open(python, 'w') as wrapper:
            wrapper.write('#!/bin/sh\nexec "%s" "$@"\n' % PYTHON)
        os.chmod(python, 0o755)
        self.environment = {k: v for k, v in os.environ.items()
                            if not k.startswith(('SLURM_', 'GTEST_', 'CUDA_', 'HIP_', 'ROCR_'))}
        self.environment.update(
            PYTHONPATH=os.path.join(source, 'backends', 'torch'),
            HOME=self.folder, TMPDIR=self.folder, GPUPARITY_GOLDEN=golden, NO_COLOR='1', SOURCE=source,
            BUILD=build, PYTHON=PYTHON, PKG_CONFIG_PATH=build, LD_LIBRARY_PATH=build, PATH=programs + ':' + self.environment.get('PATH', '/usr/bin:/bin'))

    def run(self, arguments):
        done = subprocess.run(arguments, cwd=self.folder, env=self.environment, timeout=SECONDS,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.returncode, done.stdout.decode('utf-8', 'replace')


def has(place, name):
    if name.startswith('py:'):
        return place.run([PYTHON, '-c', 'import ' + name[3:]])[0] == 0
    return shutil.which(name, path=place.environment['PATH']) is not None


def expect_status(block, what, status, wanted, output):
    if status not in wanted:
        raise Wrong('%s:%d: %s: exit status %d\n%s' % (block.page, block.line, what.strip(), status, output[-3000:]))


def run_console(place, block, status):
    """Commands with what they print."""
    steps = []
    for line in block.text.split('\n'):
        if line.startswith('$ '):
            steps.append([line[2:], []])
        elif steps and steps[-1][0].endswith('\\') and not steps[-1][1]:
            steps[-1][0] += '\n' + line
        elif steps:
            steps[-1][1].append(line)
        elif line:
            raise Wrong('%s:%d: console without "$ "' % (block.page, block.line))
    for n, (command, printed) in enumerate(steps):
        got, output = place.run(['sh', '-c', command])
        last = n == len(steps) - 1 and 'exits' in block.marks
        expect_status(block, command, got, status if last else {0, 1}, output)
        words, at = ' '.join(output.split()), 0
        for part in ('\n' + '\n'.join(printed)).split('\n...'):
            part = ' '.join(part.split())
            found = words.find(part, at)
            if found < 0:
                raise Wrong('%s:%d: %s: does not print "%s"\n%s' % (block.page, block.line, command, part, output[-3000:]))
            at = found + len(part)


def run_cell(place, block):
    got, output = place.run(['sh', '-e', '-c', block.text])
    words = ' '.join(output.split())
    if 'errors' in block.marks:
        expect_status(block, block.text, got, {2, 77}, output)
        wanted = block.row[1].strip('`').split('\u2026')
        if output.count('\n') != 1 or not all(w.strip() in words for w in wanted):
            raise Wrong('%s:%d: %s: does not say "%s":\n%s' % (block.page, block.line, block.text, block.row[1], output))
        return
    expect_status(block, block.text, got, {0, 1}, output)
    if 'shows' in block.marks and block.row[0] not in words:
        raise Wrong('%s:%d: %s: does not show "%s"\n%s' % (block.page, block.line, block.text, block.row[0], output[-3000:]))


def run_block(place, block):
    """Returns why it was not run, or None."""
    if 'skip' in block.marks:
        return block.marks['skip']
    for name in block.marks.get('needs', '').split():
        if not has(place, name):
            return name + ' is not here'
    if 'file' in block.marks:
        path = os.path.join(place.folder, block.marks['file'])
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w', encoding='utf-8') as out:
            out.write(block.text)
        return None
    status = {int(block.marks.get('exits', 0))}
    if block.kind == 'c':
        raise Wrong('%s:%d: say what becomes of C: <!-- docs: file NAME.c -->' % (block.page, block.line))
    if block.kind in ('console', 'cell'):
        run_console(place, block, status) if block.kind == 'console' else run_cell(place, block)
        return None
    runner = [PYTHON, '-c'] if block.kind == 'python' else ['sh', '-e', '-c']
    got, output = place.run(runner + [block.text])
    expect_status(block, block.text, got, status, output)
    return None


def run_page(source, build, page):
    """Returns (commands run, lines for the reader, what is wrong)."""
    count, said, wrong = 0, [], []
    try:
        blocks = blocks_of(page)
    except Wrong as e:
        return 0, [], [str(e)]
    place = Place(source, build, page)
    for block in blocks:
        if block.kind not in RUN and block.kind != 'cell' and 'file' not in block.marks:
            continue
        try:
            why = run_block(place, block)
            count += why is None
            if why:
                said.append('skipped: %s:%d: %s' % (os.path.relpath(page, source), block.line, why))
        except Wrong as e:
            wrong.append(str(e))
        except subprocess.TimeoutExpired:
            wrong.append('%s:%d: not finished after %d s' % (page, block.line, SECONDS))
    shutil.rmtree(place.folder)
    return count, said, wrong


def unlisted(source):
    """Pages that nobody would find from README."""
    text = open(os.path.join(source, 'README.md'), encoding='utf-8').read()
    return ['README.md does not link docs/%s' % name for name in sorted(os.listdir(os.path.join(source, 'docs')))
            if name.endswith('.md') and '(docs/%s' % name not in text]


def slug(heading):
    words = re.sub(r'[^\w\- ]', '', re.sub(r'\[([^]]*)\]\([^)]*\)', r'\1', heading).lower())
    return words.strip().replace(' ', '-')


def broken_links(page):
    """Links to files or headings that are not there."""
    text = open(page, encoding='utf-8').read()
    for target in re.findall(r'\]\(([^)\s]+)\)', re.sub(r'```.*?```', '', text, flags=re.S)):
        name, _, anchor = target.partition('#')
        if ':' in name:
            continue
        path = os.path.normpath(os.path.join(os.path.dirname(page), name)) if name else page
        if not os.path.exists(path):
            yield '%s: links %s, which is not there' % (page, target)
        elif anchor and anchor not in [slug(h) for h in re.findall(r'^#+ (.*)$', open(path, encoding='utf-8').read(), re.M)]:
            yield '%s: links %s, which has no such heading' % (page, target)


def main(source, build, *pages):
    pages = pages or [os.path.join(source, 'README.md')] + sorted(glob.glob(os.path.join(source, 'docs', '*.md')))
    total, wrongs = 0, unlisted(source) + [w for p in pages for w in broken_links(p)]
    print('\n'.join(wrongs), end='\n' if wrongs else '')
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for page, (count, said, wrong) in zip(pages, pool.map(lambda p: run_page(source, build, p), pages)):
            print('%s: %d blocks and commands run, %d not, %d wrong'
                  % (os.path.relpath(page, source), count, len(said), len(wrong)))
            print('\n'.join(said + wrong), end='\n' if said or wrong else '')
            total, wrongs = total + count, wrongs + wrong
    if wrongs or not total:
        sys.exit(1)


if __name__ == '__main__':
    main(*(os.path.abspath(x) for x in sys.argv[1:]))
