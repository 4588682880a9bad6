/* When jobs may start: calendars, lags, those that must not run together. */

#include "set_tree_state.h"

double allowed_from(const set_tree *t, int64_t kind, double now) {
    int64_t low = t->span_first[kind], high = t->span_first[kind + 1];
    if (low == high) return now;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (t->closes[middle] < now) low = middle + 1;
        else high = middle;
    }
    if (low == t->span_first[kind + 1]) return HUGE_VAL;
    return t->opens[low] - t->early <= now ? now : t->opens[low];
}

/* Whether a kind waits for another that has not started, though it may start with some. */
static bool awaits(const set_tree *t, uint64_t waiting, int64_t kind, bool may_join) {
    for (int64_t l = t->lag_first[kind]; l < t->lag_first[kind + 1]; l++) {
        const time_lag *lag = t->lags + l;
        if (number_of(t, waiting, lag->of) && (lag->is_end || lag->least > 0.0 || !may_join)) return true;
    }
    return false;
}

double lags_over(const set_tree *t, uint64_t waiting, int64_t kind, double least) {
    double over = -HUGE_VAL;
    for (int64_t l = t->lag_first[kind]; l < t->lag_first[kind + 1]; l++) {
        const time_lag *lag = t->lags + l;
        const kind_of_jobs *of = t->kinds + lag->of;
        if (lag->least < least || number_of(t, waiting, lag->of)) continue;
        over = later(over, (lag->is_end ? of->end : of->start) + lag->least);
    }
    return over;
}

bool lacks_partner(const set_tree *t, int64_t level) {
    const uint64_t waiting = t->nodes[level].waiting;
    for (int64_t kind = 0; kind < t->num_kinds; kind++)
        if (!number_of(t, waiting, kind) && awaits(t, waiting, kind, false)) return true;
    return false;
}

uint64_t barred_kinds(const set_tree *t, int64_t level, bool may_join) {
    const set_node *n = t->nodes + level;
    uint64_t bits = 0;
    for (int64_t kind = 0; kind < t->num_kinds; kind++) {
        const kind_of_jobs *of = t->kinds + kind;
        if (!number_of(t, n->waiting, kind)) continue;
        const bool is_held = of->release > n->now || of->apart & n->apart || awaits(t, n->waiting, kind, may_join) ||
                             lags_over(t, n->waiting, kind, 0.0) > n->now || allowed_from(t, kind, n->now) > n->now;
        if (is_held) bits |= UINT64_C(1) << kind;
    }
    return bits;
}

/* Return when a kind may start for all but room and those that run, at a level or later; infinity while it waits for one
   that has not started. */
static double start_of_wait(const set_tree *t, int64_t level, int64_t kind) {
    const set_node *n = t->nodes + level;
    if (awaits(t, n->waiting, kind, true)) return HUGE_VAL;
    const double since = later(t->kinds[kind].release, lags_over(t, n->waiting, kind, 0.0));
    return allowed_from(t, kind, later(since, n->now));
}

double next_wait(const set_tree *t, int64_t level) {
    const set_node *n = t->nodes + level;
    double first = HUGE_VAL;
    for (int64_t key = 0; key < t->num_keys; key++) {
        const int64_t kind = t->kind_of[key];
        if (!number_of(t, n->waiting, kind) || t->kinds[kind].apart & n->apart) continue;
        const double start = start_of_wait(t, level, kind);
        if (start <= n->now || start >= first) continue;
        if (joined(t->sets, *set_of(t, level), key) != NO_SET) first = start;
    }
    return first;
}

double soonest_wait(const set_tree *t, int64_t level) {
    const set_node *n = t->nodes + level;
    double first = HUGE_VAL;
    for (int64_t kind = 0; kind < t->num_kinds; kind++) {
        if (!number_of(t, n->waiting, kind)) continue;
        const double start = start_of_wait(t, level, kind);
        if (start > n->now) first = earlier(first, start);
        for (int64_t l = t->lag_first[kind]; l < t->lag_first[kind + 1]; l++)
            if (t->lags[l].least > 0.0) first = earlier(first, n->now + t->lags[l].least);
    }
    return first;
}
