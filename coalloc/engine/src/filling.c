#include "filling.h"

/* Steps after which a search for a filling only finishes what it has begun: as in coalloc.rules.serial_sgs. */
enum { FILL_STEPS = 2000 };

void filling_place(filling *made, arena *in, const problem *p) {
    made->allocation = PLACE(in, p->num_classes, int64_t);
    made->room = PLACE(in, p->num_classes, int64_t);
    made->left = PLACE(in, p->num_classes + 1, int64_t);
    made->next = PLACE(in, p->num_classes + 1, int64_t);
    made->least = PLACE(in, p->num_classes + 1, int64_t);
    made->rooms = PLACE(in, p->num_classes + 1, int64_t);
    made->others = PLACE(in, p->num_closings, int64_t);
}

/* Whether what closes at a place can carry so many tasks there. */
static bool can_carry(
    const problem *p, const filling *f, int64_t shape, int64_t place, int64_t count, const double *left) {
    for (int64_t q = p->closing_first[place]; q < p->closing_first[place + 1]; q++) {
        const int64_t k = p->closing[q];
        if (p->entries[p->entry_first[shape * p->num_loads + k] + f->others[q] + count] > left[k]) return false;
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

bool filling_find(
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
    for (int64_t order = orders[0]; order < orders[1]; order++)
        if (fill(p, f, order, shape, p->tasks[member], left)) return true;
    return false;
}
