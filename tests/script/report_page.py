# SPDX-License-Identifier: Apache-2.0
"""report_page.py REPORT.html FOLDER: looks at a report in Chromium, as wide as a desk and as a phone,
light and dark: scripts run without an error, nothing overflows, the plots are there and have ink,
filter, sort and copy buttons work. Leaves pictures in FOLDER. Exits 77 where there is no Chromium."""
import html
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

# Runs inside the page that holds the report in a frame: media queries follow the frame.
PROBE = r'''
const frame = document.querySelector('iframe'), found = {errors: []};
addEventListener('load', () => {
  const w = frame.contentWindow, d = frame.contentDocument, all = s => [...d.querySelectorAll(s)];
  w.addEventListener('error', e => found.errors.push(e.message));
  const width = d.documentElement.clientWidth;
  all('#cases details').forEach(x => { x.open = true; });
  found.wide = d.documentElement.scrollWidth - width;
  found.over = all('body *').filter(e => !e.closest('.scroll') && !e.closest('.hide') && !e.closest('svg') &&
    e.getBoundingClientRect().right > width + 1).map(e => e.tagName + '.' + e.className).slice(0, 5);
  found.texts = all('svg text').filter(t => { const a = t.getBoundingClientRect(),
    b = t.ownerSVGElement.getBoundingClientRect();
    return a.left < b.left - 2 || a.right > b.right + 2 || a.bottom > b.bottom + 2 || a.top < b.top - 2; })
    .map(t => t.textContent).slice(0, 5);
  found.plots = all('svg').length;
  const drawn = p => { const r = p.getBoundingClientRect(); return r.width > 4 && r.height + r.width > 20; };
  found.ink = all('svg').filter(s => [...s.querySelectorAll('.a, .m1, .m2, .m3, .m4, .m5, .m6')].some(drawn)).length;
  found.kinds = ['signed error', 'bound', 'magnitude', 'each step', 'Which codes', 'Map of the output, B']
    .filter(k => !all('svg').some(s => s.getAttribute('aria-label').includes(k)));
  found.nan = all('svg path, svg text, svg g').filter(p => /nan|inf/i.test(p.getAttribute('d') || '') ||
    /nan/i.test(p.getAttribute('transform') || '')).length;
  found.cases = all('#cases > tbody').length;
  found.js = d.documentElement.className;
  found.background = w.getComputedStyle(d.body).backgroundColor;
  found.colours = ['a', 'b'].map(c => w.getComputedStyle(d.querySelector('svg path.' + c)).stroke);
  const key = () => all('#cases > tbody').map(b => b.rows[0].cells[3].dataset.n).filter(Boolean).map(Number);
  d.querySelectorAll('thead button')[3].click();
  const down = key(); found.sorted = down.every((x, i) => !i || down[i - 1] >= x);
  d.querySelectorAll('thead button')[3].click();
  const up = key(); found.reversed = up.every((x, i) => !i || up[i - 1] <= x);
  d.querySelector('.counts button').click();
  found.shown = d.getElementById('shown').textContent;
  found.picked = all('#cases > tbody').filter(b => !b.hidden).map(b => b.dataset.v)
    .every(v => v === d.querySelector('.counts button').dataset.v);
  d.querySelector('.counts button').click();
  d.getElementById('fold').click();
  found.open = all('#cases details[open]').length;
  found.named = all('button, input').every(b => b.textContent.trim() || b.labels && b.labels.length);
  document.body.dataset.found = JSON.stringify(found);
});'''

# Shows the plots of the first case that has some at the top.
SHOW = r'''
const frame = document.querySelector('iframe');
addEventListener('load', () => {
  const d = frame.contentDocument, f = d.querySelector('figure');
  if (location.hash !== '#plot') return;
  f.closest('details').open = true;
  frame.contentWindow.scrollTo(0, f.querySelector('svg').getBoundingClientRect().top - 40);
});'''


def wrap(report, script, width, height, scheme):
    return ('<!DOCTYPE html><meta charset="utf-8"><body style="margin:0"><iframe style="border:0;width:%dpx;'
            'height:%dpx;color-scheme:%s" srcdoc="%s"></iframe><script>%s</script>'
            % (width, height, scheme, html.escape(report, quote=True), script))


def chromium(page, *options):
    program = shutil.which('chromium') or shutil.which('chromium-browser') or shutil.which('google-chrome')
    with tempfile.TemporaryDirectory() as home:
        done = subprocess.run(
            [program, '--headless', '--no-sandbox', '--disable-gpu', '--hide-scrollbars',
             '--disable-extensions', '--no-first-run', '--user-data-dir=' + home, *options, page],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=100)
    return done.stdout.decode('utf-8', 'replace')


def expect(truth, *what):
    if not truth:
        sys.exit(' '.join(str(w) for w in what))


def probe(report, folder, width, scheme):
    page = os.path.join(folder, 'probe-%d-%s.html' % (width, scheme))
    with open(page, 'w', encoding='utf-8') as out:
        out.write(wrap(report, PROBE, width, 900, scheme))
    dom = chromium('file://' + page, '--dump-dom', '--virtual-time-budget=8000')
    os.unlink(page)
    m = re.search(r'data-found="([^"]*)"', dom)
    expect(m, 'the page did not load', dom[-300:])
    found = json.loads(html.unescape(m[1]))
    where = '%d %s:' % (width, scheme)
    expect(found['js'] == 'js' and not found['errors'], where, 'script', found)
    expect(found['wide'] <= 0 and not found['over'], where, 'overflows', found['wide'], found['over'])
    expect(not found['texts'], where, 'text outside its plot', found['texts'])
    expect(found['plots'] > 0 and found['ink'] == found['plots'], where, 'plots', found)
    expect(not found['kinds'] and not found['nan'], where, 'no such plots, or numbers that are none', found)
    expect(found['sorted'] and found['reversed'] and found['picked'] and
           re.fullmatch(r'\d+ of %d cases' % found['cases'], found['shown']), where, 'sort, filter', found)
    expect(found['open'] == 0 and found['named'], where, 'fold, names of controls', found)
    return found


def pixels(path):
    """Rows of (red, green, blue) bytes of a PNG as Chromium writes it."""
    data, at, body = open(path, 'rb').read(), 8, b''
    while at < len(data):
        size, kind = struct.unpack('>I4s', data[at:at + 8])
        if kind == b'IHDR':
            width, height, depth, colour = struct.unpack('>IIBB', data[at + 8:at + 18])
        body += data[at + 8:at + 8 + size] if kind == b'IDAT' else b''
        at += 12 + size
    expect(depth == 8 and colour in (2, 6), 'PNG of another kind')
    step = 3 if colour == 2 else 4
    raw, stride = zlib.decompress(body), width * step
    before = bytearray(stride)
    for y in range(height):
        kind, row = raw[y * (stride + 1)], bytearray(raw[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
        unfilter(kind, row, before, step)
        yield [tuple(row[i:i + 3]) for i in range(0, stride, step)]
        before = row


def unfilter(kind, row, before, step):
    for i in range(len(row)):
        left = row[i - step] if i >= step else 0
        corner = before[i - step] if i >= step else 0
        up = before[i]
        if kind == 1:
            row[i] = row[i] + left & 255
        elif kind == 2:
            row[i] = row[i] + up & 255
        elif kind == 3:
            row[i] = row[i] + (left + up) // 2 & 255
        elif kind == 4:
            guess = min((left, up, corner), key=lambda v: abs(left + up - corner - v))
            row[i] = row[i] + guess & 255


def picture(report, folder, name, width, height, scheme, part=''):
    page, image = os.path.join(folder, 'show.html'), os.path.join(folder, name)
    with open(page, 'w', encoding='utf-8') as out:
        out.write(wrap(report, SHOW, width, height, scheme))
    chromium('file://' + page + part, '--screenshot=' + image, '--window-size=%d,%d' % (max(width, 500), height))
    os.unlink(page)
    expect(os.path.exists(image), 'no picture', image)
    return image


def ink_check(image, colours):
    counts = [0, 0]
    for row in pixels(image):
        for p in row:
            for k, c in enumerate(colours):
                counts[k] += all(abs(x - y) < 12 for x, y in zip(p, c))
    expect(min(counts) > 60, image, 'shows too little of the plots', counts, colours)


def main(path, folder):
    if not (shutil.which('chromium') or shutil.which('chromium-browser') or shutil.which('google-chrome')):
        print('skipped: no Chromium (apt install chromium)')
        sys.exit(77)
    report = open(path, encoding='utf-8').read()
    light = probe(report, folder, 1280, 'light')
    dark = probe(report, folder, 390, 'dark')
    expect(light['background'] != dark['background'], 'dark is not dark', dark['background'])
    colours = [tuple(int(x) for x in re.findall(r'\d+', c)[:3]) for c in light['colours']]
    ink_check(picture(report, folder, 'report-plot.png', 900, 420, 'light', '#plot'), colours)
    picture(report, folder, 'report-desktop.png', 1280, 1800, 'light')
    picture(report, folder, 'report-phone.png', 390, 1800, 'light')
    picture(report, folder, 'report-dark.png', 1280, 1800, 'dark')


if __name__ == '__main__':
    main(sys.argv[1], sys.argv[2])
