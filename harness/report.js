/* SPDX-License-Identifier: Apache-2.0 */
(function () {
    'use strict';
    var root = document.documentElement, table = document.getElementById('cases');
    var bodies = Array.prototype.slice.call(table.tBodies), recorded;
    var find = document.getElementById('find'), shown = document.getElementById('shown');
    var picked = {}, heads = table.tHead.rows[0].cells, timer;
    root.classList.add('js');
    bodies.forEach(function (body, i) { body.place = i; });

    function text(body) {
        if (!body.words) {
            var row = body.rows[0], more = body.rows[1].querySelector('summary');
            body.words = (row.cells[0].textContent + ' ' + row.cells[1].textContent + ' ' +
                more.textContent).toLowerCase();
        }
        return body.words;
    }
    function filter() {
        var words = find.value.toLowerCase().split(/\s+/).filter(Boolean), n = 0;
        var any = Object.keys(picked).length > 0;
        bodies.forEach(function (body) {
            var ok = (!any || picked[body.dataset.v] === true) && words.every(function (w) {
                return text(body).indexOf(w) >= 0;
            });
            if (body.hidden === ok) body.hidden = !ok;
            n += ok;
        });
        shown.textContent = (n === bodies.length ? '' : n + ' of ') + bodies.length +
            (bodies.length === 1 ? ' case' : ' cases');
    }
    function place(order) {
        var all = document.createDocumentFragment();
        order.forEach(function (body) { all.appendChild(body); });
        table.appendChild(all);
    }
    function value(body, column) {
        if (column === 0) return body.place; /* as written: what asks for attention first */
        var cell = body.rows[0].cells[column];
        return cell.dataset.n !== undefined ? Number(cell.dataset.n) : cell.className === 'n' ? NaN : cell.textContent;
    }
    function sort(column, head) {
        var number = head.className === 'n';
        var was = head.getAttribute('aria-sort');
        var down = was ? was === 'ascending' : number && column !== 2;
        var keyed = bodies.map(function (body, i) { return { body: body, key: value(body, column), i: i }; });
        keyed.sort(function (x, y) {
            if (number) {
                if (isNaN(x.key) || isNaN(y.key)) return isNaN(x.key) - isNaN(y.key) || x.i - y.i;
                return (down ? y.key - x.key : x.key - y.key) || x.i - y.i;
            }
            var d = x.key < y.key ? -1 : x.key > y.key ? 1 : 0;
            return (down ? -d : d) || x.i - y.i;
        });
        mark(head, down ? 'descending' : 'ascending');
        place(keyed.map(function (k) { return k.body; }));
    }
    function mark(head, how) {
        Array.prototype.forEach.call(heads, function (h) { h.removeAttribute('aria-sort'); });
        if (head) head.setAttribute('aria-sort', how);
    }
    function copied(button, ok) {
        button.textContent = ok ? 'Copied' : 'Press Ctrl+C';
        setTimeout(function () { button.textContent = 'Copy'; }, 1500);
    }
    function select(code) {
        var range = document.createRange();
        range.selectNodeContents(code);
        getSelection().removeAllRanges();
        getSelection().addRange(range);
    }
    function copy(button) {
        var code = button.parentNode.querySelector('code');
        function by_selection() {
            select(code);
            var ok = false;
            try { ok = document.execCommand('copy'); } catch (e) { ok = false; }
            copied(button, ok);
        }
        if (!navigator.clipboard) return by_selection();
        navigator.clipboard.writeText(code.textContent).then(function () { copied(button, true); }, by_selection);
    }

    Array.prototype.forEach.call(heads, function (head, i) {
        head.querySelector('button').addEventListener('click', function () { sort(i, head); });
    });
    document.querySelectorAll('.counts button').forEach(function (button) {
        button.addEventListener('click', function () {
            var on = button.getAttribute('aria-pressed') !== 'true';
            button.setAttribute('aria-pressed', on);
            if (on) picked[button.dataset.v] = true; else delete picked[button.dataset.v];
            filter();
        });
    });
    document.addEventListener('click', function (event) {
        if (event.target.className === 'copy') copy(event.target);
    });
    document.getElementById('order').addEventListener('click', function () {
        recorded = recorded || bodies.slice().sort(function (x, y) { return x.id.slice(1) - y.id.slice(1); });
        mark(null);
        place(recorded);
    });
    document.getElementById('fold').addEventListener('click', function () {
        table.querySelectorAll('details[open]').forEach(function (d) { d.open = false; });
    });
    find.addEventListener('input', function () {
        clearTimeout(timer);
        timer = setTimeout(filter, 120);
    });
    function jump() {
        var at = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
        var more = at && at.querySelector('details');
        if (more) more.open = true;
    }
    addEventListener('hashchange', jump);
    jump();
    filter();
}());
