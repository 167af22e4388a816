/* SPDX-License-Identifier: Apache-2.0 */
#include "casefile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* `like:`, a built-in case whose tensors, inputs and right answers are those of the file. Its
 * distribution and seed are the id's; its mode is what `like` says unless the id says another.
 */

static enum err like_id(const struct case_id *id, struct case_id *ret_like, struct errinfo *e)
{
    const struct casefile *f = id->family->file;
    char text[2 * CASEFILE_TEXT_MAX];
    struct case_mode standard;
    enum err err = casefile_expand(f, id, f->like->text, text, sizeof text, e);
    if (!err)
        err = caseid_parse(text, ret_like, e);
    if (!err)
        err = caseid_parse_mode("default", &standard, e);
    if (err)
        return yamltree_context(&f->tree, f->like, e, err);
    ret_like->dist = id->dist;
    ret_like->seed = id->seed;
    if (memcmp(&id->mode, &standard, sizeof standard))
        ret_like->mode = id->mode;
    return ERR_OK;
}

enum err casefile_like_plan(const struct case_id *id, struct case_id *ret_like,
                            struct case_plan *ret_plan, struct errinfo *e)
{
    const struct casefile *f = id->family->file;
    TRY(like_id(id, ret_like, e));
    if (ret_like->family->plan(ret_like, ret_plan, e))
        return yamltree_context(&f->tree, f->like, e, ERR_USAGE);
    bool same = ret_plan->n_tensor == f->n_tensor;
    for (int i = 0; i < f->n_tensor && same; i++)
        same = !strcmp(ret_plan->tensor[i].name, f->tensor[i].node->key) &&
               ret_plan->tensor[i].role == f->tensor[i].role;
    return same
               ? ERR_OK
               : yamltree_fail(&f->tree, f->like, e,
                               "the tensors of like: must be the same ones for all parameters");
}

static enum err tensors_take(struct casefile *f, const struct case_plan *p)
{
    for (f->n_tensor = 0; f->n_tensor < p->n_tensor; f->n_tensor++) {
        int i = f->n_tensor;
        snprintf(f->like_name[i], sizeof f->like_name[i], "%s", p->tensor[i].name);
        f->like_node[i] = *f->like;
        f->like_node[i].key = f->like_name[i];
        f->tensor[i].node = &f->like_node[i];
        f->tensor[i].role = p->tensor[i].role;
        f->tensor[i].dtype = (struct casefile_dtype){-1, p->tensor[i].dtype};
        f->tensor[i].of = f->tensor[i].answer = -1;
    }
    return ERR_OK;
}

static bool models_apply(const struct case_id *id, const struct case_plan *plan,
                         const struct tensor *const *input, int which, int model, int64_t n,
                         const int64_t *index, uint64_t *ret_bits)
{
    struct case_id like;
    (void)plan;
    struct case_plan *p = calloc(1, sizeof *p);
    bool good = p && !casefile_like_plan(id, &like, p, NULL) &&
                like.family->model(&like, p, input, which, model, n, index, ret_bits);
    free(p);
    return good;
}

enum err casefile_read_like(struct casefile *f, struct errinfo *e)
{
    static const char *const taken[] = {"tensors", "reference", "limits"};
    struct case_id id, like;
    f->like = yamlnode_get(f->tree.root, "like");
    if (!f->like)
        return ERR_OK;
    TRY(casefile_want(f, f->like, YAML_TEXT, "like", e));
    if (!yamlnode_get(f->tree.root, "library"))
        return yamltree_fail(&f->tree, f->like, e, "like: is for files with library:");
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        if (yamlnode_get(f->tree.root, taken[i]))
            return yamltree_fail(&f->tree, yamlnode_get(f->tree.root, taken[i]), e,
                                 "the %s are those of like:", taken[i]);
    struct case_plan *p = calloc(1, sizeof *p);
    if (!p)
        return err_set(e, ERR_NOMEM, "out of memory");
    enum err err = caseid_parse_values(&f->family, f->path, "", &id, e);
    if (!err)
        err = like_id(&id, &like, e);
    if (!err && like.family->plan(&like, p, e))
        err = yamltree_context(&f->tree, f->like, e, ERR_FORMAT);
    if (!err)
        err = tensors_take(f, p);
    free(p);
    if (err)
        return err;
    f->family.functions = like.family->functions;
    f->family.models = like.family->models;
    f->family.model = like.family->model ? models_apply : NULL;
    return ERR_OK;
}

/* The built-in case's own inputs. */
bool casefile_like_fill(const struct case_id *id, int i, struct case_span span, struct tensor *t)
{
    struct case_id like;
    struct case_plan *p = calloc(1, sizeof *p);
    bool good = p && !casefile_like_plan(id, &like, p, NULL);
    if (good)
        case_input_part(&like, p, i, span, t);
    free(p);
    return good;
}

bool casefile_like_needs(const struct case_id *id, int which, int i, struct case_span span,
                         struct case_span *ret_need)
{
    struct case_id like;
    struct case_plan *p = calloc(1, sizeof *p);
    bool good = p && !casefile_like_plan(id, &like, p, NULL) && like.family->needs &&
                like.family->needs(&like, p, which, i, span, ret_need);
    free(p);
    return good;
}

enum err casefile_like_oracle(const struct case_id *id, const struct tensor *const *input,
                              int which, struct case_span span, int threads, struct oracle *o,
                              struct errinfo *e)
{
    struct case_id like;
    struct case_plan *p = calloc(1, sizeof *p);
    if (!p)
        return err_set(e, ERR_NOMEM, "out of memory");
    enum err err = casefile_like_plan(id, &like, p, e);
    if (!err)
        err = like.family->oracle(&like, p, input, which, span, threads, o, e);
    free(p);
    return err;
}
