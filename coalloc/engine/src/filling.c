#include "filling.h"

/* Steps after which a search for a filling only finishes what it has begun: as in coalloc.rules.serial_sgs. */
enum { FILL_STEPS = 2000 }; /* TRIED in coalloc/rules/tuning.py */

void filling_place(filling *made, arena *in, const problem *p) {
    made->allocation = PLACE(in, p->num_classes, int64_t);
    made->room = PLACE(in, p->num_classes, int64_t);
    made->left = PLACE(in, p->num_classes + 1, int64_t);
    made->next = PLACE(in, p->num_classes + 1, int64_t);
    made->least = PLACE(in, p->num_classes + 1, int64_t);
    made->rooms = PLACE(in, p->num_classes + 1, int64_t);
    made->others = PLACE(in, p->num_closings, int64_t);
    spread_room_place(&made->spreads, in, p);
    made->masked = PLACE(in, p->num_classes, int64_t);
}

/* Whether what closes at a place can carry so many tasks there. */
static bool can_carry(
    const problem *p, const filling *f, int64_t shape, int64_t place, int64_t count, const double *left) {
    for (int64_t q = p->closing_first[place]; q < p->closing_first[place + 1]; q++) {
        const int64_t k = p->closing[q];
        if (load_with(p, shape, k, f->others[q] + count) > left[k]) return false;
    }
    return true;
}

/* Begin with a place: which numbers of tasks it may have, and what those before it ask of what closes here. */
static void enter(const problem *p, filling *f, int64_t i, int64_t place) {
    for (int64_t q = p->closing_first[place]; q < p->closing_first[place + 1]; q++) {
        const uint8_t *below = p->below + p->closing[q] * p->num_classes;
        f->others[q] = 0;
        for (int64_t g = 0; g < p->num_classes; g++)
            if (below[g]) f->others[q] += f->allocation[g];
    }
    f->next[i] = smaller(f->left[i], f->room[p->place_class[place]]);
    f->least[i] = larger(0, f->left[i] - f->rooms[i + 1]);
}

/* Fill the classes of an order, most tasks on the first, as links can carry it; return whether that is possible. */
static bool fill(const problem *p, filling *f, int64_t order, int64_t shape, int64_t tasks, const double *left) {
    const int64_t first = p->place_first[order], length = p->place_first[order + 1] - first;
    f->rooms[length] = 0;
    for (int64_t i = length - 1; i >= 0; i--) f->rooms[i] = f->rooms[i + 1] + f->room[p->place_class[first + i]];
    if (f->rooms[0] < tasks) return false;
    for (int64_t g = 0; g < p->num_classes; g++) f->allocation[g] = 0;
    int64_t steps = 0, i = 0;
    bool is_new = true;
    f->left[0] = tasks;
    while (i >= 0) {
        if (is_new) {
            is_new = false;
            steps++;
            if (i == length) {
                if (f->left[i] == 0) return true;
                i--;
                continue;
            }
            if (steps > FILL_STEPS) {
                i--;
                continue;
            }
            enter(p, f, i, first + i);
        }
        const int64_t g = p->place_class[first + i];
        int64_t count = f->next[i];
        while (count >= f->least[i] && !can_carry(p, f, shape, first + i, count, left)) count--;
        if (count < f->least[i]) {
            f->allocation[g] = 0;
            i--;
            continue;
        }
        f->allocation[g] = count;
        f->next[i] = count - 1;
        f->left[i + 1] = f->left[i] - count;
        i++;
        is_new = true;
    }
    return false;
}

/* An order in which the classes of a spread are filled, for a shape, as what is left allows. */
typedef struct {
    const problem *p;
    filling *f;
    const int64_t *classes;
    int64_t length, shape, num_tried;
    const double *left;
    bool is_found;
} spread_filling;

/* Whether what is left can carry the allocation; memories have been looked at. */
static bool carries(const problem *p, const filling *f, int64_t shape, const double *left) {
    for (int64_t k = 0; k < p->num_loads; k++) {
        const bool is_memory = k >= p->first_memory && k < p->first_memory + p->num_memories;
        if (!is_memory && load_of(p, shape, k, f->allocation) > left[k]) return false;
    }
    return true;
}

/* Fill the classes of each cluster with its tasks, in the order; the last spread is one that can be carried. */
static bool fill_clusters(void *with, const int64_t *tasks) {
    spread_filling *by = with;
    const problem *p = by->p;
    filling *f = by->f;
    int64_t *rest = f->spreads.rest, missing = 0;
    if (by->num_tried++ == FILL_STEPS) return true;
    for (int64_t g = 0; g < p->num_classes; g++) f->allocation[g] = 0;
    for (int64_t c = 0; c < f->spreads.by->num_clusters; c++) missing += rest[c] = tasks[c];
    for (int64_t i = 0; i < by->length; i++) {
        const int64_t g = by->classes[i], c = f->spreads.by->cluster_of[g];
        f->allocation[g] = smaller(rest[c], f->room[g]);
        rest[c] -= f->allocation[g];
        missing -= f->allocation[g];
    }
    by->is_found = !missing && carries(p, f, by->shape, by->left);
    return by->is_found;
}

/* Fill the classes of an order by the first spread of the shape that can be carried; return whether there is one. */
static bool fill_spread(
    const problem *p, filling *f, int64_t order, int64_t shape, int64_t tasks, const double *left) {
    const int64_t *classes = p->place_class + p->place_first[order];
    spread_filling by = {p, f, classes, p->place_first[order + 1] - p->place_first[order], shape, 0, left, false};
    spreads_hold(&f->spreads, f->room, classes, by.length);
    spreads_visit(&f->spreads, f->spreads.by->spread_of[shape], tasks, fill_clusters, &by);
    return by.is_found;
}

/* Look for the preferred allocation of a member in a rule, whatever is spent. */
static bool find(
    const problem *p, filling *f, int64_t member, int64_t rule, const int64_t *free, const double *left) {
    const int64_t shape = p->shape_of[member];
    for (int64_t g = 0; g < p->num_classes; g++) f->room[g] = smaller(free[g], p->most[shape * p->num_classes + g]);
    const double asked = p->memory_asked[shape];
    for (int64_t m = 0; m < p->num_memories && asked > 0.0; m++) {
        const int64_t g = p->memory_class[m];
        const double most = left[p->first_memory + m];
        if ((double)f->room[g] * asked > most) f->room[g] = (int64_t)quotient(most, asked);
    }
    const int64_t *orders = p->order_first + rule * (p->num_sets + 1) + p->set_of[member];
    const bool is_spread = f->spreads.by && f->spreads.by->spread_of[shape] >= 0;
    for (int64_t order = orders[0]; order < orders[1]; order++)
        if ((is_spread ? fill_spread : fill)(p, f, order, shape, p->tasks[member], left)) return true;
    return false;
}

bool filling_find(
    const problem *p, filling *f, int64_t member, int64_t rule, const int64_t *free, const double *left) {
    if (!f->spent) return find(p, f, member, rule, free, left);
    bool is_found = false;
    for (int is_narrow = 0; is_narrow < 2; is_narrow++) {
        spent_mask(f->spent, member, free, is_narrow, f->masked);
        if (!find(p, f, member, rule, f->masked, left)) continue;
        if (spent_affords(f->spent, p->job_of[member], f->allocation)) return true;
        is_found = true;
    }
    f->is_refused = is_found && f->spent->by->is_few;
    return false;
}
