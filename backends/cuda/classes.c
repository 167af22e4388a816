/* SPDX-License-Identifier: Apache-2.0 */
#include "../driver.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Kinds of instruction out of PTX text. What computes with floating point is a kind of its own,
 * by its name and the words that change its result; the rest is three kinds. */

struct text {
    const char *at, *end;
};

static bool is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '%' || c == '.';
}

/* Words may have a double colon (shared::cta); a single one ends a label. */
static size_t name_size(const struct text *t)
{
    size_t n = 0, left = (size_t)(t->end - t->at);
    for (;;) {
        if (n < left && is_name(t->at[n]))
            n++;
        else if (n + 1 < left && t->at[n] == ':' && t->at[n + 1] == ':')
            n += 2;
        else
            return n;
    }
}

static void skip_until(struct text *t, const char *stops)
{
    while (t->at < t->end && *t->at && !strchr(stops, *t->at))
        t->at++;
}

/* Blanks and both kinds of comment. */
static void skip_blank(struct text *t)
{
    while (t->at < t->end) {
        if (isspace((unsigned char)*t->at)) {
            t->at++;
        } else if (t->end - t->at > 1 && t->at[0] == '/' && t->at[1] == '/') {
            skip_until(t, "\n");
        } else if (t->end - t->at > 1 && t->at[0] == '/' && t->at[1] == '*') {
            for (t->at += 2; t->end - t->at > 1 && (t->at[0] != '*' || t->at[1] != '/');)
                t->at++;
            t->at = t->end - t->at > 1 ? t->at + 2 : t->end;
        } else {
            return;
        }
    }
}

static bool listed(const char *list, const char *word, size_t n)
{
    for (const char *p = list; *p;) {
        size_t size = strcspn(p, " ");
        if (size == n && !memcmp(p, word, n))
            return true;
        p += size + (p[size] == ' ');
    }
    return false;
}

/* Appends a word to a list of `room` bytes unless it is there or there is no room. */
static void list_add(char *list, size_t room, const char *word)
{
    size_t have = strlen(list), n = strlen(word);
    if (!listed(list, word, n) && have + n + 2 <= room)
        snprintf(list + have, room - have, "%s%s", have ? " " : "", word);
}

/* "fma.rn.ftz.f32" of all the words of an instruction: what does not change the result goes. */
static void class_name(const char *inst, size_t size, char *ret_name, size_t room)
{
    static const char dropped[] =
        "sync aligned relaxed acquire release acq_rel cta cluster gpu sys noftz row col";
    size_t have = 0;
    for (size_t at = 0; at < size;) {
        size_t n = 0;
        while (at + n < size && inst[at + n] != '.')
            n++;
        if (!listed(dropped, inst + at, n) && have + n + 2 <= room)
            have += (size_t)snprintf(ret_name + have, room - have, "%s%.*s", have ? "." : "",
                                     (int)n, inst + at);
        at += n + 1;
    }
}

static bool has_float(const char *inst, size_t size)
{
    static const char types[] = "f16 f16x2 bf16 bf16x2 tf32 f32 f64 e4m3 e5m2 e4m3x2 e5m2x2";
    for (size_t at = 0; at < size;) {
        size_t n = 0;
        while (at + n < size && inst[at + n] != '.')
            n++;
        if (listed(types, inst + at, n))
            return true;
        at += n + 1;
    }
    return false;
}

static void inst_class(const char *inst, size_t size, char *list, size_t room)
{
    static const char moves[] = "ld ldu st mov cvta cp prefetch prefetchu ldmatrix stmatrix "
                                "movmatrix isspacep selp slct prmt",
                      flow[] = "bra brx call ret exit trap bar barrier membar fence shfl vote "
                               "match activemask redux nanosleep elect setp";
    char name[80] = "integer";
    const char *dot = memchr(inst, '.', size);
    size_t op = dot ? (size_t)(dot - inst) : size;
    bool wmma_memory = size > 8 && (!memcmp(inst, "wmma.loa", 8) || !memcmp(inst, "wmma.sto", 8));
    if (wmma_memory || listed(moves, inst, op))
        snprintf(name, sizeof name, "moves");
    else if (listed(flow, inst, op))
        snprintf(name, sizeof name, "flow");
    else if (has_float(inst, size) || listed("mma wmma", inst, op))
        class_name(inst, size, name, sizeof name);
    list_add(list, room, name);
}

/* A body, from behind its brace to behind the one that ends it. */
static void body_read(struct text *t, bool wanted, char *list, size_t room)
{
    for (int depth = 1; depth > 0;) {
        skip_blank(t);
        if (t->at >= t->end)
            return;
        size_t n = name_size(t);
        if (*t->at == '{' || *t->at == '}') {
            depth += *t->at++ == '{' ? 1 : -1;
        } else if (*t->at == '@') {
            t->at += 1 + (t->end - t->at > 1 && t->at[1] == '!');
            t->at += name_size(t);
        } else if (n && t->at + n < t->end && t->at[n] == ':') {
            t->at += n + 1; /* a label */
        } else if (n && *t->at == '.') { /* directives end with a line or a semicolon */
            skip_until(t, ";\n");
        } else {
            if (n && wanted && isalpha((unsigned char)*t->at))
                inst_class(t->at, n, list, room);
            skip_until(t, ";");
            t->at += t->at < t->end;
        }
        t->at += t->at < t->end && *t->at == ';';
    }
}

/* Functions belong to every entry: any may call them. */
void vendor_classes_cuda(const void *code, size_t size, const char *entry, char *ret_text,
                         size_t room)
{
    struct text t = {code, (const char *)code + size};
    bool header = false, wanted = false;
    for (ret_text[0] = 0; skip_blank(&t), t.at < t.end;) {
        size_t n = name_size(&t);
        if (*t.at == '{' && header) {
            t.at++;
            body_read(&t, wanted, ret_text, room);
            header = wanted = false;
            continue;
        }
        bool is_entry = n == 6 && !memcmp(t.at, ".entry", 6),
             is_func = n == 5 && !memcmp(t.at, ".func", 5);
        wanted |= is_func || (header && n == strlen(entry) && !memcmp(t.at, entry, n));
        header |= is_entry || is_func;
        if (*t.at == ';')
            header = wanted = false;
        t.at += n ? n : 1;
    }
}
