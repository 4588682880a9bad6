/* What Python asks of the path: its nodes, and the schedule at its end. */

#include "set_tree_state.h"

int64_t set_tree_level(set_tree *of) { return of->level; }

int64_t set_tree_left(set_tree *of, int64_t level, int64_t num_kinds, double left[num_kinds], double now[1]) {
    if (level < 0 || level > of->level) return FAULT(OUT_OF_RANGE, 1);
    if (num_kinds != of->num_kinds) return FAULT(OUT_OF_RANGE, 2);
    const set_node *n = of->nodes + level;
    const member *members = members_of(of, level);
    for (int64_t kind = 0; kind < num_kinds; kind++) left[kind] = (double)number_of(of, n->waiting, kind);
    for (int64_t i = n->num_members - n->count; i < n->num_members; i++) left[of->kind_of[members[i].key]] += 1.0;
    for (int64_t i = 0; i < n->num_members - n->count; i++) {
        const int64_t key = members[i].key;
        if (key < of->num_keys) left[of->kind_of[key]] += (members[i].end - n->now) / of->ticks[key];
    }
    now[0] = n->now;
    return 0;
}

int64_t set_tree_node(
    set_tree *of, int64_t level, int64_t num_kinds, int64_t most, int64_t waiting[num_kinds], int64_t keys[most],
    double ends[most], double now[1], double spent[1]) {
    if (level < 0 || level > of->level) return FAULT(OUT_OF_RANGE, 1);
    if (num_kinds != of->num_kinds) return FAULT(OUT_OF_RANGE, 2);
    const set_node *n = of->nodes + level;
    const member *members = members_of(of, level);
    const int64_t number = n->num_members - n->count;
    if (most < number) return FAULT(OUT_OF_RANGE, 3);
    for (int64_t kind = 0; kind < num_kinds; kind++) waiting[kind] = number_of(of, n->waiting, kind);
    for (int64_t i = number; i < n->num_members; i++) waiting[of->kind_of[members[i].key]]++;
    for (int64_t i = 0; i < number; i++) {
        keys[i] = members[i].key;
        ends[i] = members[i].end;
    }
    now[0] = n->now;
    spent[0] = of->spent[level * (of->num_jobs + 1)];
    return number;
}

int64_t set_tree_lose(set_tree *of, int64_t row) {
    if (row < 0 || row >= of->sets->num_prices - of->first_price) return FAULT(OUT_OF_RANGE, 1);
    for (int64_t level = 0; level < of->level; level++) {
        const double span = of->nodes[level + 1].now - of->nodes[level].now;
        const double rate = rates_of(of, *set_of(of, level))[row];
        losses_of(of, level + 1)[row] = losses_of(of, level)[row] + (1.0 - rate) * span;
    }
    return 0;
}

/* A member of a schedule: the level at which it started, when, its mode, and as which of all its mode was chosen, both -1
   where that is open. */
typedef struct {
    member of;
    double start;
    int64_t level, mode, rank;
} scheduled;

/* Write which members of a schedule run at a level, in the order of keys, then of ends; return how many. */
static int64_t write_running(scheduled *all, int64_t number, int64_t level, double now, scheduled **running) {
    int64_t size = 0;
    for (int64_t m = 0; m < number; m++) {
        const member one = all[m].of;
        if (all[m].level > level || (all[m].level < level && one.end <= now)) continue;
        int64_t k = size++;
        for (; k > 0; k--) {
            const member before = running[k - 1]->of;
            if (before.key < one.key || (before.key == one.key && before.end <= one.end)) break;
            running[k] = running[k - 1];
        }
        running[k] = all + m;
    }
    return size;
}

/* Give all that run in a set the modes of its first choice that agrees with those given already to `rank` members; return
   to how many they are given then. */
static int64_t choose(const running_set *set, scheduled **running, int64_t rank) {
    const int32_t *choice = set->choices;
    for (int64_t c = 0; c < set->num_choices; c++, choice += set->num_members) {
        int64_t i = 0;
        while (i < set->num_members && (running[i]->mode < 0 || running[i]->mode == choice[i])) i++;
        if (i < set->num_members) continue;
        for (i = 0; i < set->num_members; i++) {
            if (running[i]->mode < 0) running[i]->rank = rank++;
            running[i]->mode = choice[i];
        }
        break;
    }
    return rank;
}

/* Whether a member of a level that did not start there was none of the level before: a block that begins there. */
static bool has_begun_at(const set_tree *t, int64_t level, int64_t key) {
    return !level || (key >= t->first_block && key - t->first_block >= t->nodes[level - 1].begun);
}

/* Write all members of the path, those that run from the beginning first; return how many. */
static int64_t write_members(const set_tree *t, scheduled *all) {
    int64_t number = 0;
    for (int64_t level = 0; level <= t->level; level++) {
        const set_node *n = t->nodes + level;
        const int64_t before = n->num_members - n->count;
        const member *members = members_of(t, level);
        for (int64_t i = 0; i < n->num_members; i++)
            if (i >= before || has_begun_at(t, level, members[i].key))
                all[number++] = (scheduled){members[i], n->now, i < before && !level ? -1 : level, -1, -1};
    }
    return number;
}

static int compare_starts(const void *a, const void *b) {
    const scheduled *one = a, *other = b;
    if (one->start != other->start) return one->start < other->start ? -1 : 1;
    return one->rank < other->rank ? -1 : one->rank > other->rank;
}

int64_t set_tree_schedule(
    set_tree *of, int64_t num_jobs, int64_t keys[num_jobs], double starts[num_jobs], int64_t modes[num_jobs]) {
    if (num_jobs != of->num_jobs || of->level < 0 || of->nodes[of->level].waiting) return FAULT(OUT_OF_RANGE, 1);
    const int64_t most = of->num_members;
    scheduled *all = malloc((size_t)most * sizeof(scheduled)), **running = malloc((size_t)most * sizeof(scheduled *));
    if (all && running) {
        const int64_t number = write_members(of, all);
        for (int64_t level = of->level, rank = 0; level >= 0; level--) {
            write_running(all, number, level, of->nodes[level].now, running);
            rank = choose(of->sets->sets + *set_of(of, level), running, rank);
        }
        qsort(all, (size_t)number, sizeof(scheduled), compare_starts);
        for (int64_t m = 0, j = 0; m < number; m++) {
            if (all[m].of.key >= of->num_keys) continue;
            keys[j] = all[m].of.key;
            starts[j] = all[m].start;
            modes[j++] = all[m].mode;
        }
    }
    const bool has_memory = all && running;
    free(all);
    free(running);
    return has_memory ? 0 : FAULT(NO_MEMORY, 0);
}
