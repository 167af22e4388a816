/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_ERR_H
#define GPUPARITY_ERR_H

/* How functions fail.
 *
 * A fallible function returns `enum err` (0 = fine) and takes `struct errinfo *e` last; its
 * results come just before it, are named `ret_...` and stay untouched on failure. The text is
 * one line for a person: what went wrong, where, and what to do next.
 *
 * An unequal number, a failed kernel build or a crash of a vendor library is a *result* (a
 * status in a record, a verdict in a finding), never an `err`. */
enum err {
    ERR_OK,
    ERR_USAGE,   /* the user asked for something that does not exist or does not make sense */
    ERR_IO,      /* the operating system refused: open, read, write, space, process */
    ERR_FORMAT,  /* a file's content is damaged, foreign or of an unknown schema */
    ERR_NOMEM,   /* out of memory */
    ERR_MISSING, /* something optional is not here: a device, a compiler, a library */
    ERR_COUNT_
};

/* `e` may be NULL everywhere: then only the code is reported. */
struct errinfo {
    enum err code;
    char text[512];
};

/* Sets the code and the text; returns the code, for `return err_set(e, ERR_IO, ...)`. */
enum err err_set(struct errinfo *e, enum err code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts `format...: ` before the text that is there; returns `code`, the failed call's. */
enum err err_context(struct errinfo *e, enum err code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Returns from the calling function with the error of `call`, if there is one. */
#define TRY(call)                                                                              \
    do {                                                                                       \
        enum err try_err_ = (call);                                                            \
        if (try_err_)                                                                          \
            return try_err_;                                                                   \
    } while (0)

#endif
