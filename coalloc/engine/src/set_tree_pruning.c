/* The rules by which a node is left: what is lost at prices, holes, costs, latest ends. */

#include "set_tree_state.h"

/* Note what is lost at each price up to a time; return whether that is more than there is. */
static bool loses_too_much(set_tree *t, int64_t level, double until) {
    const double span = until - t->nodes[level].now, *losses = losses_of(t, level);
    const double *rates = rates_of(t, *set_of(t, level));
    double *next = losses_of(t, level + 1);
    for (int64_t p = 0; p < t->num_prices; p++) {
        const double lost = losses[p] + (1.0 - rates[p]) * span;
        if (lost > t->slacks[p]) {
            t->hits[p]++;
            return true;
        }
        next[p] = lost;
    }
    return false;
}

/* Whether what has started at a level and what waits cost too much, if the next starts at a time. */
static bool costs_too_much(set_tree *t, int64_t level, double until) {
    if (!t->costs) return false;
    const set_node *n = t->nodes + level;
    const member *members = members_of(t, level);
    int64_t num_held = 0;
    for (int64_t kind = 0; kind < t->num_kinds; kind++) t->counts[kind] = number_of(t, n->waiting, kind);
    for (int64_t i = 0; i < n->num_members; i++)
        if (members[i].end > until) t->holding[num_held++] = (held){members[i].end, 0.0, members[i].key};
    return cost_too_much(t->costs, *spent_at(t, level), t->counts, until, t->holding, num_held);
}

/* Whether a job costs no more if it starts at a time with a key than if it does at another or later. */
static bool costs_no_more(set_tree *t, int64_t key, double start, double other) {
    return !t->costs || cost_at(t->costs, key, start) <= cost_alone(t->costs, t->kind_of[key], other);
}

/* Whether a job that waits at a level will be too late at a time. */
static bool will_be_late(const set_tree *t, int64_t level, double until) {
    const uint64_t waiting = t->nodes[level].waiting;
    for (int64_t kind = 0; kind < t->num_kinds; kind++) {
        if (!number_of(t, waiting, kind)) continue;
        double start = later(until, t->kinds[kind].release);
        if (t->has_waits) start = allowed_from(t, kind, later(start, lags_over(t, waiting, kind, 0.0)));
        const double end = start + t->kinds[kind].shortest;
        if (is_too_late(t, kind, start, end)) return true;
        if (t->num_rows && !keeps_rows(t, waiting, kind, start, end, true)) return true;
    }
    return false;
}

/* Note since when there is room for each key that waits, from when it could have started; return whether one could have
   run. */
static bool has_a_hole(set_tree *t, int64_t level, double until) {
    set_node *n = t->nodes + level;
    n->barred = barred(t, level, false);
    const uint8_t *always = t->sets->always + *set_of(t, level) * t->num_keys;
    const double *rooms = t->rooms + level * t->num_keys;
    double *next = t->rooms + (level + 1) * t->num_keys;
    for (int64_t key = 0; key < t->num_keys; key++) {
        const int64_t kind = t->kind_of[key];
        if (!always[key] || t->kinds[kind].apart & n->apart || t->floating >> kind & 1) {
            next[key] = HUGE_VAL;
            continue;
        }
        const double since = n->barred >> kind & 1 ? rooms[key] : earlier(rooms[key], n->now);
        if (since + t->ticks[key] <= until && number_of(t, n->waiting, kind) && costs_no_more(t, key, since, until))
            return true;
        next[key] = since;
    }
    return false;
}

int64_t set_after(const set_tree *t, int64_t level, double until) {
    const member *members = members_of(t, level);
    int64_t running = *set_of(t, level);
    for (int64_t i = 0; i < t->nodes[level].num_members && running >= 0; i++)
        if (members[i].end <= until) running = left_by(t->sets, running, members[i].key);
    const int64_t begun = begun_by(t, t->nodes[level].begun, until);
    for (int64_t b = t->nodes[level].begun; b < begun && running >= 0; b++)
        if (t->block_ends[b] > until) running = joined(t->sets, running, t->first_block + b);
    return running;
}

int64_t may_lead_on(set_tree *t, int64_t level, double until) {
    if (until > t->ceiling || isinf(until) || loses_too_much(t, level, until) || (t->has_waits && lacks_partner(t, level)) ||
        will_be_late(t, level, until) || has_a_hole(t, level, until) || costs_too_much(t, level, until))
        return NO;
    if (level + 1 == t->num_levels) return TOO_MANY;
    const int64_t running = set_after(t, level, until);
    if (running < 0) return running == NO_SET ? NO : running;
    t->sets_of[(level + 1) * (t->num_jobs + 1)] = running;
    if (!t->nodes[level].count) return YES; /* the same jobs wait at the level before, which is not yet seen to its end */
    const int64_t known = is_known(t, level, until, running);
    return known < 0 ? known : known == NO;
}
