#include "spreads.h"

/* Numbers of parameters, for faults. */
enum {
    SHAPES = 1, CLASSES, CLUSTERS, SPREADS, SETS, ALLOWED_SIZE, CLUSTER_OF = 8, SPREAD_OF, MOST_CLUSTERS, LEAST, SLICES,
    SET_FIRST = 14, ALLOWED_FIRST = 17, ALLOWED
};

static int64_t fault_of(const problem *p, const spreads *s, int64_t num_spreads, int64_t num_sets, int64_t num_allowed) {
    const int64_t most = INT64_MAX / 4;
    if (!are_within(s->cluster_of, p->num_classes, 0, s->num_clusters - 1)) return FAULT(OUT_OF_RANGE, CLUSTER_OF);
    if (!are_within(s->spread_of, p->num_shapes, -1, num_spreads - 1)) return FAULT(OUT_OF_RANGE, SPREAD_OF);
    if (!are_within(s->most_clusters, num_spreads, 0, most)) return FAULT(OUT_OF_RANGE, MOST_CLUSTERS);
    if (!are_within(s->least, num_spreads, 1, most / (s->num_clusters + 1))) return FAULT(OUT_OF_RANGE, LEAST);
    if (!are_within(s->slices, num_spreads, 0, most)) return FAULT(OUT_OF_RANGE, SLICES);
    if (!are_firsts(s->set_first, num_spreads + 1, num_sets)) return FAULT(OUT_OF_ORDER, SET_FIRST);
    if (!are_firsts(s->allowed_first, num_spreads + 1, num_allowed)) return FAULT(OUT_OF_ORDER, ALLOWED_FIRST);
    if (!are_within(s->allowed, num_allowed * s->num_clusters, 0, most)) return FAULT(OUT_OF_RANGE, ALLOWED);
    return 0;
}

int64_t spreads_restrict(
    problem *of, int64_t num_shapes, int64_t num_classes, int64_t num_clusters, int64_t num_spreads, int64_t num_sets,
    int64_t num_allowed, int64_t is_by_node, const int64_t *cluster_of, const int64_t *spread_of,
    const int64_t *most_clusters, const int64_t *least, const int64_t *slices, const uint8_t *has_sets,
    const int64_t *set_first, const uint8_t *sets, const uint8_t *is_listed, const int64_t *allowed_first,
    const int64_t *allowed) {
    const spreads given = {
        num_clusters, is_by_node != 0, cluster_of, spread_of, most_clusters, least, slices, set_first, allowed_first, allowed,
        has_sets, sets, is_listed, {NULL, 0}
    };
    if (num_shapes != of->num_shapes) return FAULT(OUT_OF_RANGE, SHAPES);
    if (num_classes != of->num_classes) return FAULT(OUT_OF_RANGE, CLASSES);
    if (num_clusters < 1 || num_clusters > larger(1, num_classes)) return FAULT(OUT_OF_RANGE, CLUSTERS);
    if (of->spreads) return FAULT(OUT_OF_ORDER, 0);
    const int64_t fault = fault_of(of, &given, num_spreads, num_sets, num_allowed);
    if (fault) return fault;
    spreads *s = malloc(sizeof(spreads));
    if (!s) return FAULT(NO_MEMORY, 0);
    *s = given;
    for (int pass = 0; pass < 2; pass++) {
        KEEP(&s->kept, s->cluster_of, num_classes);
        KEEP(&s->kept, s->spread_of, num_shapes);
        KEEP(&s->kept, s->most_clusters, num_spreads);
        KEEP(&s->kept, s->least, num_spreads);
        KEEP(&s->kept, s->slices, num_spreads);
        KEEP(&s->kept, s->has_sets, num_spreads);
        KEEP(&s->kept, s->set_first, num_spreads + 1);
        KEEP(&s->kept, s->sets, num_sets * num_clusters);
        KEEP(&s->kept, s->is_listed, num_spreads);
        KEEP(&s->kept, s->allowed_first, num_spreads + 1);
        KEEP(&s->kept, s->allowed, num_allowed * num_clusters);
        if (!pass && !make_room(&s->kept)) {
            free(s);
            return FAULT(NO_MEMORY, 0);
        }
    }
    of->spreads = s;
    return 0;
}

void spread_room_place(spread_room *made, arena *in, const problem *p) {
    const int64_t size = p->spreads ? p->spreads->num_clusters : 0;
    made->by = p->spreads;
    made->held = PLACE(in, size, int64_t);
    made->tasks = PLACE(in, size, int64_t);
    made->order = PLACE(in, size, int64_t);
    made->within = PLACE(in, size, int64_t);
    made->left = PLACE(in, size + 1, int64_t);
    made->unused = PLACE(in, size + 1, int64_t);
    made->usable = PLACE(in, size + 1, int64_t);
    made->sums = PLACE(in, (size + 1) * (size + 1), int64_t);
    made->widest = PLACE(in, size, int64_t);
    made->rest = PLACE(in, size, int64_t);
}

void spreads_hold(spread_room *in, const int64_t *room, const int64_t *classes, int64_t num_classes) {
    const spreads *of = in->by;
    int64_t number = 0;
    for (int64_t c = 0; c < of->num_clusters; c++) in->held[c] = -1;
    for (int64_t i = 0; i < num_classes; i++) {
        const int64_t c = of->cluster_of[classes[i]], more = larger(0, room[classes[i]]);
        if (in->held[c] < 0) {
            in->order[number++] = c;
            in->held[c] = more;
        } else {
            in->held[c] = of->is_by_node ? larger(in->held[c], more) : in->held[c] + more;
        }
    }
    for (int64_t c = 0; c < of->num_clusters; c++)
        if (in->held[c] < 0) {
            in->order[number++] = c;
            in->held[c] = 0;
        }
}

/* Whether a spread is allowed, where those that are allowed are listed. */
static bool is_allowed(const spreads *s, int64_t spread, const int64_t *tasks) {
    if (!s->is_listed[spread]) return true;
    int64_t low = s->allowed_first[spread], high = s->allowed_first[spread + 1];
    while (low < high) {
        const int64_t middle = (low + high) / 2, *other = s->allowed + middle * s->num_clusters;
        int64_t c = 0;
        while (c < s->num_clusters && other[c] == tasks[c]) c++;
        if (c == s->num_clusters) return true;
        if (other[c] < tasks[c]) low = middle + 1;
        else high = middle;
    }
    return false;
}

static bool visit_one(const spreads *s, int64_t spread, const int64_t *tasks, visitor *visit, void *with) {
    return is_allowed(s, spread, tasks) && visit(with, tasks);
}

/* Visit the spreads in equal slices over clusters, by combination of those that hold one. */
static bool visit_slices(
    const spreads *s, spread_room *in, int64_t spread, int64_t size, int64_t number, visitor *visit, void *with) {
    const int64_t slices = s->slices[spread];
    const int64_t each = number / slices;
    if (number % slices || each < s->least[spread] || slices > smaller(s->most_clusters[spread], size)) return false;
    int64_t num_wide = 0, *wide = in->usable, *chosen = in->left;
    for (int64_t i = 0; i < size; i++)
        if (in->held[in->within[i]] >= each) wide[num_wide++] = in->within[i];
    if (num_wide < slices) return false;
    for (int64_t i = 0; i < slices; i++) chosen[i] = i;
    while (true) {
        for (int64_t i = 0; i < slices; i++) in->tasks[wide[chosen[i]]] = each;
        if (visit_one(s, spread, in->tasks, visit, with)) return true;
        for (int64_t i = 0; i < slices; i++) in->tasks[wide[chosen[i]]] = 0;
        int64_t last = slices - 1;
        while (last >= 0 && chosen[last] == num_wide - slices + last) last--;
        if (last < 0) return false;
        chosen[last]++;
        for (int64_t i = last + 1; i < slices; i++) chosen[i] = chosen[i - 1] + 1;
    }
}

/* Note what the widest clusters from each place on hold, by their number; those that hold nothing are left out. */
static void sum_widest(spread_room *in, int64_t size, int64_t row) {
    int64_t *widest = in->widest;
    int64_t number = 0;
    for (int64_t i = size; i >= 0; i--) {
        if (i < size && in->usable[i]) {
            int64_t k = number++;
            for (; k > 0 && widest[k - 1] < in->usable[i]; k--) widest[k] = widest[k - 1];
            widest[k] = in->usable[i];
        }
        int64_t *sums = in->sums + i * row;
        sums[0] = 0;
        for (int64_t k = 1; k < row; k++) sums[k] = k <= number ? sums[k - 1] + widest[k - 1] : -1;
    }
}

/* Whether clusters from a place on, of which so many are used at most, can take what is left. */
static bool can_end(const spread_room *in, int64_t i, int64_t rest, int64_t unused, int64_t least, int64_t row) {
    const int64_t *sums = in->sums + i * row;
    for (int64_t k = 0; k < row && k <= unused && sums[k] >= 0; k++)
        if (k * least <= rest && rest <= sums[k]) return true;
    return false;
}

/* Visit the spreads over clusters, most tasks on the first ones first. */
static bool visit_counts(
    const spreads *s, spread_room *in, int64_t spread, int64_t size, int64_t number, visitor *visit, void *with) {
    const int64_t least = s->least[spread], row = s->num_clusters + 1;
    for (int64_t i = 0; i < size; i++) {
        const int64_t held = in->held[in->within[i]];
        in->usable[i] = held >= least ? held : 0;
    }
    sum_widest(in, size, row);
    in->left[0] = number;
    in->unused[0] = smaller(s->most_clusters[spread], size);
    if (!can_end(in, 0, number, in->unused[0], least, row)) return false;
    for (int64_t i = 0, is_new = 1; i >= 0;) {
        if (i == size) {
            if (visit_one(s, spread, in->tasks, visit, with)) return true;
            i--;
            is_new = 0;
            continue;
        }
        int64_t *tasks = in->tasks + in->within[i];
        int64_t count = is_new ? (in->unused[i] ? smaller(in->left[i], in->usable[i]) : 0) : *tasks - 1;
        for (; count >= 0; count--)
            if ((!count || count >= least) &&
                can_end(in, i + 1, in->left[i] - count, in->unused[i] - (count > 0), least, row))
                break;
        *tasks = larger(0, count);
        is_new = count >= 0;
        if (is_new) {
            in->left[i + 1] = in->left[i] - count;
            in->unused[i + 1] = in->unused[i] - (count > 0);
            i++;
        } else {
            i--;
        }
    }
    return false;
}

/* Return the place in the order of the first cluster of a set. */
static int64_t first_of(const spreads *s, const spread_room *in, int64_t set) {
    for (int64_t i = 0; i < s->num_clusters; i++)
        if (s->sets[set * s->num_clusters + in->order[i]]) return i;
    return s->num_clusters;
}

static bool visit_within(
    const spreads *s, spread_room *in, int64_t spread, int64_t size, int64_t tasks, visitor *visit, void *with) {
    for (int64_t c = 0; c < s->num_clusters; c++) in->tasks[c] = 0;
    return (s->slices[spread] ? visit_slices : visit_counts)(s, in, spread, size, tasks, visit, with);
}

bool spreads_visit(spread_room *in, int64_t spread, int64_t tasks, visitor *visit, void *with) {
    const spreads *of = in->by;
    const int64_t num_clusters = of->num_clusters;
    if (!of->has_sets[spread]) {
        memcpy(in->within, in->order, (size_t)num_clusters * sizeof(int64_t));
        return visit_within(of, in, spread, num_clusters, tasks, visit, with);
    }
    /* sets by their first cluster in the order; those with the same one as they come */
    for (int64_t first = 0; first <= num_clusters; first++)
        for (int64_t set = of->set_first[spread]; set < of->set_first[spread + 1]; set++) {
            if (first_of(of, in, set) != first) continue;
            int64_t size = 0;
            for (int64_t i = first; i < num_clusters; i++)
                if (of->sets[set * num_clusters + in->order[i]]) in->within[size++] = in->order[i];
            if (visit_within(of, in, spread, size, tasks, visit, with)) return true;
        }
    return false;
}
