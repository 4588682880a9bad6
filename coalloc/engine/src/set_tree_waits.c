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

/* Return the time of a kind, of one job, that has started. */
static double time_of(const set_tree *t, int64_t kind, bool is_end) {
    return is_end ? t->kinds[kind].end : t->kinds[kind].start;
}

bool keeps_rows(const set_tree *t, uint64_t waiting, int64_t kind, double start, double end, bool may_wait) {
    for (int64_t r = 0; r < t->num_rows; r++) {
        const time_row *row = t->rows + r;
        const bool is_late = row->late == kind, is_early = row->early == kind;
        if ((!is_late && !is_early) || (is_late && may_wait)) continue;
        if (is_late != is_early && number_of(t, waiting, is_late ? row->early : row->late)) continue;
        const double late = is_late ? (row->is_late_end ? end : start) : time_of(t, row->late, row->is_late_end);
        const double early = is_early ? (row->is_early_end ? end : start) : time_of(t, row->early, row->is_early_end);
        if (late - early < row->least - t->early) return false;
    }
    return true;
}

double binding(const set_tree *t, const time_row *row, uint64_t waiting, double now) {
    const bool late_waits = number_of(t, waiting, row->late) > 0, early_waits = number_of(t, waiting, row->early) > 0;
    if (late_waits == early_waits) return -HUGE_VAL;
    if (early_waits) return row->least - time_of(t, row->late, row->is_late_end);
    return later(now, time_of(t, row->early, row->is_early_end) + row->least);
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

/* Return the first of a time and those beyond one that are an offset of a kind before a known time. */
static double first_before(const set_tree *t, int64_t kind, double known, double now, double first) {
    for (int64_t o = t->offset_first[kind]; o < t->offset_first[kind + 1]; o++) {
        const double start = known - t->offsets[o];
        if (start > now + t->early) first = earlier(first, start);
    }
    return first;
}

/* Whether a kind has room beside what runs at a level. */
static bool has_room(const set_tree *t, int64_t level, int64_t kind) {
    for (int64_t key = 0; key < t->num_keys; key++)
        if (t->kind_of[key] == kind && joined(t->sets, *set_of(t, level), key) != NO_SET) return true;
    return false;
}

/* Return when the next kind that floats may start for the sake of one that starts after it: an offset before something ends
   that runs or will, or before another may start. */
static double next_float(const set_tree *t, int64_t level) {
    const set_node *n = t->nodes + level;
    const member *members = members_of(t, level);
    double first = HUGE_VAL;
    for (int64_t kind = 0; kind < t->num_kinds; kind++) {
        if (t->offset_first[kind] == t->offset_first[kind + 1] || !number_of(t, n->waiting, kind)) continue;
        if (t->kinds[kind].apart & n->apart || !has_room(t, level, kind)) continue;
        for (int64_t i = 0; i < n->num_members; i++) first = first_before(t, kind, members[i].end, n->now, first);
        for (int64_t b = n->begun; b < t->num_blocks; b++) first = first_before(t, kind, t->block_ends[b], n->now, first);
        for (int64_t other = 0; other < t->num_kinds; other++) {
            if (!number_of(t, n->waiting, other)) continue;
            const double since = later(t->kinds[other].release, lags_over(t, n->waiting, other, 0.0));
            first = first_before(t, kind, since, n->now, first);
        }
    }
    return first;
}

double next_wait(const set_tree *t, int64_t level) {
    const set_node *n = t->nodes + level;
    double first = t->num_offsets ? next_float(t, level) : HUGE_VAL;
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
        if (t->floating >> kind & 1) return n->now;
        const double start = start_of_wait(t, level, kind);
        if (start > n->now) first = earlier(first, start);
        for (int64_t l = t->lag_first[kind]; l < t->lag_first[kind + 1]; l++)
            if (t->lags[l].least > 0.0) first = earlier(first, n->now + t->lags[l].least);
    }
    return first;
}
