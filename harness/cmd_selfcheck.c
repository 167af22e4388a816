/* SPDX-License-Identifier: Apache-2.0 */
#include "command.h"
#include "selfcheck.h"
#include "session.h"

#include <string.h>

/* The card that --on names, or the first there is; ERR_MISSING says that nothing was tested. */
static enum err card_choose(const struct options *o, struct device_choice *ret_card,
                            struct errinfo *e)
{
    if (o->on) {
        TRY(device_parse(o->on, ret_card, e));
        if (ret_card->kind == DEVICE_CHOICE_SIMULATED)
            return err_set(e, ERR_USAGE, "--on %s: name a real card; the simulated one is the "
                                         "other side anyway",
                           o->on);
        ret_card->kind = DEVICE_CHOICE_REAL;
        enum err err = device_settle(ret_card, e);
        return err ? err_context(e, err, "UNTESTED") : ERR_OK;
    }
    struct errinfo why = {0};
    for (int i = 0; backends[i]; i++) {
        *ret_card = (struct device_choice){.backend = backends[i], .kind = DEVICE_CHOICE_REAL};
        if (!device_settle(ret_card, i ? e : &why))
            return ERR_OK;
    }
    return err_set(e, ERR_MISSING, "UNTESTED: no real card is here: %.500s", why.text);
}

/* Both sides run the kept code: a compiler would make another for another card. */
static enum err sides_run(struct session *s, const struct options *o,
                          const struct device_choice *card, struct errinfo *e)
{
    static struct options both; /* large */
    char name[32], on[80];
    device_print(card, name);
    snprintf(on, sizeof on, "%s,%s-sim", name, card->backend->name);
    both = *o;
    both.on = on;
    both.code = "golden";
    return session_run(s, &both, 2, NULL, true, e);
}

enum err cmd_selfcheck(const struct options *o, int *ret_exit, struct errinfo *e)
{
    struct device_choice card;
    struct session s = {0};
    if (o->code && strcmp(o->code, "golden") != 0)
        return err_set(e, ERR_USAGE, "--code %s: selfcheck runs the kept code on both sides",
                       o->code);
    TRY(card_choose(o, &card, e));
    static struct selfcheck t; /* large */
    enum err err = sides_run(&s, o, &card, e);
    if (!err) {
        t = (struct selfcheck){.record = s.record,
                              .card = s.run[0],
                              .simulated = s.run[1],
                              .backend = card.backend};
        err = selfcheck_report(&t, stdout, e);
    }
    session_release(&s);
    if (err)
        return err;
    *ret_exit = t.differ ? COMMAND_FAILS : t.equal ? COMMAND_GOOD : COMMAND_NOTHING;
    return ERR_OK;
}
