/* Sharing what is left of a search with another tree, which goes through it at the same time. Derivation:
   docs/mathematics/exact-tree.md, "Parallel search". */

#include "set_tree_state.h"

enum { EXCEEDED = 3 };

/* A start of the path, the one after so many others at a level. */
typedef struct {
    int64_t level, count;
} step;

/* Whether the branch that passes over some start of the path is open; write the last start of those at which so many jobs
   wait, or the first of all. */
static bool has_open_branch(const set_tree *t, int64_t least_waiting, step *found) {
    bool is_found = false;
    int64_t waiting = t->num_jobs;
    for (int64_t level = 0; level <= t->level; level++)
        for (int64_t count = 0; count < t->nodes[level].count; count++, waiting--) {
            if (t->given[level * t->num_jobs + count] || (is_found && waiting < least_waiting)) continue;
            *found = (step){level, count};
            is_found = true;
        }
    return is_found;
}

/* Whether trees have the same sizes, so that the path of one may be that of the other. */
static bool are_alike(const set_tree *one, const set_tree *other) {
    return one != other && (one->sets != other->sets || one->sets->is_shared) && one->num_kinds == other->num_kinds &&
           one->num_keys == other->num_keys && one->num_jobs == other->num_jobs && one->num_levels == other->num_levels &&
           one->num_members == other->num_members && one->num_delayed == other->num_delayed &&
           one->num_rows == other->num_rows &&
           one->sets->num_prices == other->sets->num_prices && !one->costs == !other->costs &&
           (!one->costs || one->costs != other->costs);
}

/* Copy the path up to a level, but for running sets, and what is lost at prices. */
static void copy_path(set_tree *to, const set_tree *from, int64_t level) {
    const size_t levels = (size_t)level + 1, jobs = (size_t)from->num_jobs, keys = (size_t)from->num_keys;
    memcpy(to->kinds, from->kinds, (size_t)from->num_kinds * sizeof(kind_of_jobs));
    memcpy(to->nodes, from->nodes, levels * sizeof(set_node));
    memcpy(to->candidates, from->candidates, levels * keys * sizeof(int64_t));
    memcpy(to->rooms, from->rooms, levels * keys * sizeof(double));
    memcpy(to->started, from->started, levels * jobs * sizeof(int64_t));
    memcpy(to->firsts, from->firsts, levels * (jobs + 1) * sizeof(double));
    memcpy(to->spent, from->spent, levels * (jobs + 1) * sizeof(double));
    memcpy(to->members, from->members, levels * (size_t)from->num_members * sizeof(member));
    to->half = from->half;
    to->level = level;
    to->has_begun = true;
}

/* Write the running sets of the path, the first of which is there; return 0, or why one cannot be made. */
static int64_t write_sets(set_tree *t) {
    for (int64_t level = 0; level <= t->level; level++) {
        int64_t *sets = t->sets_of + level * (t->num_jobs + 1);
        for (int64_t i = 0; i < t->nodes[level].count; i++) {
            const int64_t place = t->started[level * t->num_jobs + i];
            sets[i + 1] = joined(t->sets, sets[i], t->candidates[level * t->num_keys + place]);
            if (sets[i + 1] < 0) return sets[i + 1];
        }
        if (level == t->level) break;
        const int64_t next = set_after(t, level, t->nodes[level + 1].now);
        if (next < 0) return next;
        t->sets_of[(level + 1) * (t->num_jobs + 1)] = next;
    }
    return 0;
}

int64_t set_tree_share(set_tree *of, set_tree *with, int64_t least_waiting) {
    if (!are_alike(of, with)) return FAULT(OUT_OF_RANGE, 1);
    of->memory->has_ended = false;
    step last;
    if (!has_open_branch(of, least_waiting, &last)) return 0;
    copy_path(with, of, last.level);
    const int64_t fault = write_sets(with);
    if (fault) {
        with->level = -1;
        return fault == OUT_OF_MEMORY ? FAULT(NO_MEMORY, 0) : EXCEEDED;
    }
    for (int64_t row = 0; row < with->sets->num_prices - with->first_price; row++) set_tree_lose(with, row);
    if (with->sets == of->sets) remember_together(with, of);
    with->is_divided = of->is_divided = true;
    memset(with->given, true, (size_t)((last.level + 1) * with->num_jobs));
    with->given[last.level * with->num_jobs + last.count] = false;
    while (with->nodes[last.level].count > last.count) go_back(with, last.level);
    of->given[last.level * of->num_jobs + last.count] = true;
    return 1;
}
