# SPDX-License-Identifier: Apache-2.0
"""report_check.py EXPECTED SCHEMA FORMAT=REPORT...: reads reports with other people's parsers.

EXPECTED (written by test_report.c beside the report) is a line a case: verdict, fails (0/1), outputs, mean error
of A in ULP as a hexadecimal float, id and reason as hexadecimal bytes. Exits 1 with the first
thing that is wrong; a check whose module is missing is named and left out."""
import csv
import html.parser
import json
import math
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as tree


def expect(truth, *what):
    if not truth:
        sys.exit(' '.join(str(w) for w in what))


def text_of(hexbytes):
    return bytes.fromhex(hexbytes).decode('utf-8', 'replace')


class Case:
    def __init__(self, line):
        self.verdict, fails, outputs, mean, name, reason = line.rstrip('\n').split('\t')
        self.fails, self.outputs = fails == '1', int(outputs)
        self.mean = float.fromhex(mean)
        self.id, self.reason = text_of(name), text_of(reason)


def markup(s):
    """What XML and HTML can show of a text."""
    def one(c):
        n = ord(c)
        control = (n < 32 and c not in '\n\t') or 127 <= n < 160 or n in (0x2028, 0x2029)
        bidi = 0x202a <= n <= 0x202e or 0x2066 <= n <= 0x2069
        nothing = n & 0xfffe == 0xfffe or 0xfdd0 <= n <= 0xfdef or n == 0xfeff
        return '\ufffd' if control or bidi or nothing else c
    return ''.join(one(c) for c in s)


def same(a, b):
    return a == b or (math.isnan(a) and math.isnan(b))


def schema_check(schema, values):
    try:
        import jsonschema
    except ImportError:
        print('skipped: schema validation (apt install python3-jsonschema)')
        return
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    for value in values:
        error = next(validator.iter_errors(value), None)
        expect(error is None, 'schema:', error and (list(error.absolute_path), error.message[:300]))


def json_finding(f, case):
    expect((f['id'], f['verdict'], f['reason']) == (case.id, case.verdict, case.reason), f['id'])
    expect(f['fails'] == case.fails and len(f['outputs']) == case.outputs, f['verdict'], f['fails'])
    for o in f['outputs'][:1]:
        expect(same(float(o['a']['ulp']['mean']), case.mean), 'mean', o['a']['ulp']['mean'])
        if case.id.startswith('gemm'):
            bins = o['a']['ulp']['histogram']
            expect(sum(n + p for _, n, p in bins) == o['a']['ulp']['count'], bins)
            expect(sum(n for _, n, p in bins) == o['a']['ulp']['negative'], bins)


def strict_json(text):
    def refuse(word):
        raise ValueError('bare ' + word)
    return json.loads(text, parse_constant=refuse)


def tally_check(t, cases):
    expect(t['count'] == len(cases) and t['failing'] == sum(c.fails for c in cases), t)
    for v, n in t['verdicts'].items():
        expect(n == sum(c.verdict == v for c in cases), v, n)


def check_json(path, cases, schema):
    report = strict_json(open(path, encoding='utf-8').read())
    schema_check(schema, [report])
    expect(len(report['findings']) == len(cases), len(report['findings']))
    for f, case in zip(report['findings'], cases):
        json_finding(f, case)
    tally_check(report['tally'], cases)
    expect(report['tags'] == {'branch': 'a=b', 'who "we"': '<&>,\n'}, report['tags'])


def check_jsonl(path, cases, schema):
    lines = [strict_json(x) for x in open(path, encoding='utf-8').read().split('\n')[:-1]]
    schema_check({**schema['$defs']['line'], '$defs': schema['$defs']}, lines)
    kinds = [x['type'] for x in lines]
    expect(kinds == ['sides'] + ['finding'] * len(cases) + ['tally'], kinds)
    for f, case in zip(lines[1:-1], cases):
        json_finding(f, case)
    tally_check(lines[-1], cases)


def junit_valid(path):
    """By tests/script/junit.rng: what Jenkins' strict schema takes."""
    grammar = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'junit.rng')
    if not shutil.which('xmllint'):
        return print('skipped: JUnit against its schema (apt install libxml2-utils)')
    done = subprocess.run(['xmllint', '--noout', '--relaxng', grammar, path], stderr=subprocess.PIPE)
    expect(done.returncode == 0, done.stderr.decode('utf-8', 'replace')[:1000])


def check_junit(path, cases, schema):
    root = tree.parse(path).getroot()
    expect(root.tag == 'testsuites' and len(root) == 1, root.tag)
    junit_valid(path)
    suite = root[0]
    tests = suite.findall('testcase')
    expect(len(tests) == len(cases), len(tests))
    for test, case in zip(tests, cases):
        kind = ('skipped' if case.verdict == 'UNTESTED' else 'error' if case.verdict == 'BROKEN' else
                'failure' if case.fails else None)
        found = [c for c in test if c.tag != 'system-out']
        expect([c.tag for c in found] == ([kind] if kind else []), case.verdict, found)
        expect(test.get('name') == markup(case.id), test.get('name'))
        expect(not found or found[0].get('message') == markup(case.reason), found)
        expect(not found or found[0].get('type') == case.verdict, found)
    for name, tag in (('tests', 'testcase'), ('failures', 'failure'), ('errors', 'error'),
                      ('skipped', 'skipped')):
        expect(int(suite.get(name)) == len(list(suite.iter(tag))), name, suite.get(name))
    properties = {p.get('name'): p.get('value') for p in suite.iter('property')}
    expect(properties['a.device'] == 'cuda-sim' and properties['tag.branch'] == 'a=b', properties)


def check_csv(path, cases, schema):
    rows = list(csv.DictReader(open(path, encoding='utf-8', newline=''), strict=True))
    expect(len(rows) == sum(max(c.outputs, 1) for c in cases), len(rows))
    at = 0
    for case in cases:
        for row in rows[at:at + max(case.outputs, 1)]:
            expect(None not in row and None not in row.values(), 'fields', len(row))
            expect(row['case'] == case.id and row['reason'] == case.reason, row['case'])
            expect(row['verdict'] == case.verdict and row['fails'] == str(int(case.fails)), row)
            expect(row['tag_branch'] == 'a=b' and row['tag_who "we"'] == '<&>,\n', row)
        if case.outputs:
            expect(same(float(rows[at]['a_ulp_mean']), case.mean), rows[at]['a_ulp_mean'])
        else:
            expect(rows[at]['output'] == rows[at]['a_ulp_mean'] == '', rows[at])
        at += max(case.outputs, 1)
    names = list(rows[0])
    expect(names[:4] == ['schema', 'number', 'case', 'verdict'], names[:4])
    expect(names[-2:] == ['tag_branch', 'tag_who "we"'] and len(set(names)) == len(names), names)


def check_tap(path, cases, schema):
    lines = open(path, encoding='utf-8', newline='\n').read().split('\n')
    expect(lines[0] == 'TAP version 14' and lines[-1] == '', lines[0])
    expect(lines[-2] == '1..%d' % len(cases), lines[-2])
    points = [(i, x) for i, x in enumerate(lines) if re.match('(not )?ok ', x)]
    expect(len(points) == len(cases), len(points))
    for n, ((at, line), case) in enumerate(zip(points, cases), 1):
        m = re.fullmatch(r'(not )?ok (\d+) - ((?:[^#\\]|\\[#\\])*)( # (SKIP|TODO) .*)?', line)
        expect(m and int(m[2]) == n, line)
        directive = {'UNTESTED': 'SKIP', 'KNOWN': 'TODO'}.get(case.verdict)
        expect(m[5] == directive, case.verdict, line)
        expect((m[1] is None) == (not case.fails and case.verdict != 'KNOWN'), case.verdict, line)
        expect((lines[at + 1] == '  ---') == (case.verdict != 'SAME'), lines[at + 1])
        if lines[at + 1] == '  ---':
            tap_diagnostic(lines[at + 2:lines.index('  ...', at)], case)


def tap_diagnostic(lines, case):
    try:
        import yaml
    except ImportError:
        return print('skipped: YAML of TAP (apt install python3-yaml)')
    block = yaml.safe_load('\n'.join(lines))
    expect(block['verdict'] == case.verdict and block['message'] == case.reason, block)
    expect(len(block.get('outputs', [])) == case.outputs, block)


VOID = {'meta', 'br', 'wbr', 'input', 'hr', 'img', 'link'}


class Page(html.parser.HTMLParser):
    """Holds the page against: every element closed in order, ids unique, nothing from outside."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.stack, self.ids, self.counts, self.texts = [], set(), {}, {}

    def handle_starttag(self, tag, attributes):
        self.counts[tag] = self.counts.get(tag, 0) + 1
        expect(tag not in ('link', 'img', 'iframe', 'object', 'embed', 'base', 'audio', 'video'), tag)
        for name, value in attributes:
            expect(name not in ('src', 'href', 'srcset', 'action', 'background', 'xlink:href'), name)
            expect(not name.startswith('on') or value == 'return false', tag, name, value)
            if name == 'id':
                expect(value not in self.ids, 'id twice', value)
                self.ids.add(value)
            if name == 'd':
                expect(re.fullmatch(r'[MHVLvhz0-9. -]+', value), 'path', value[:80])
            if name in ('x', 'y', 'data-n'):
                float(value)
        if tag not in VOID:
            self.stack.append((tag, dict(attributes)))

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.stack.pop()

    def handle_endtag(self, tag):
        expect(self.stack and self.stack[-1][0] == tag, self.getpos(), 'closes', tag, self.stack[-1:])
        self.stack.pop()

    def handle_data(self, data):
        for depth, (tag, attributes) in enumerate(self.stack):
            key = attributes.get('id') if tag == 'tbody' else tag if tag in ('h1', 'style', 'script') else None
            if key:
                self.texts[key] = self.texts.get(key, '') + data


def check_html(path, cases, schema):
    page, source = Page(), open(path, encoding='utf-8', newline='').read()
    page.feed(source)
    page.close()
    expect(not page.stack, 'open at the end:', page.stack)
    expect(page.counts['script'] == page.counts['style'] == 1, page.counts)
    for part in ('style', 'script'):
        outside = re.search(r'url\(|@import|https?:|fetch\(|XMLHttp|import\(', page.texts[part])
        expect(not outside, part, outside)
    failing = sum(c.fails for c in cases)
    expect(page.texts['h1'] == '%d of %d cases fail.' % (failing, len(cases)), page.texts['h1'])
    for n, case in enumerate(cases):
        text = page.texts.get('c%d' % n, '')
        expect(case.verdict in text and markup(case.id) in text, n, case.verdict)
        expect(markup(case.reason) in text, n, 'reason')
    # device, name, arch, library, driver, runtime, created and one variable on each side
    two_sides = 'Environment: 9 of 16 rows differ</summary>' in source
    expect(two_sides or ('Environment</summary>' in source and '\u2260' not in source), 'environment')
    # errors and bounds; magnitude, steps and codes where something differs; maps where it matters
    maps = 3 if two_sides else 1
    drawn = sum(c.outputs * {'SAME': 2, 'EQUIVALENT': 5, 'WITHIN_LIMITS': 5}.get(c.verdict, 5 + maps) for c in cases)
    expect(page.counts['svg'] == drawn, page.counts['svg'], 'plots, not', drawn)


if __name__ == '__main__':
    expected, schema_path, *reports = sys.argv[1:]
    with open(expected, encoding='ascii') as lines:
        all_cases = [Case(line) for line in lines]
    with open(schema_path, encoding='utf-8') as text:
        report_schema = json.load(text)
    for kind, report in (r.split('=', 1) for r in reports):
        globals()['check_' + kind](report, all_cases, report_schema)
