#include "profile.h"

/* Steps up to which one block has room for all, and steps of a block otherwise: blocks begin at multiples of it. */
enum { ONE_BLOCK = 512, MANY_BLOCKS = 128 };

/* How a profile is laid out. Functions have it as a parameter, for where it is constant compilers leave out loops and
   blocks. */
typedef struct {
    int64_t classes, loads;
    bool is_one; /* block */
} layout;

static inline layout layout_of(const profile *of) { return (layout){of->num_classes, of->num_loads, of->is_one}; }

void profile_place(profile *made, arena *in, const problem *p) {
    const int64_t steps = 2 * (p->num_jobs + p->num_held) + 4;
    made->is_one = steps <= ONE_BLOCK;
    /* a full block becomes two halves, so that all but one have at least half of the steps */
    const int64_t blocks = made->is_one ? 1 : 2 * steps / MANY_BLOCKS + 2;
    const int64_t all = made->is_one ? steps : blocks * MANY_BLOCKS;
    made->num_classes = p->num_classes;
    made->num_loads = p->num_loads;
    made->times = PLACE(in, all, double);
    made->free = PLACE(in, all * p->num_classes, int64_t);
    made->left = PLACE(in, all * p->num_loads, double);
    made->sizes = PLACE(in, blocks, int64_t);
    made->firsts = PLACE(in, blocks, int64_t);
    made->least = PLACE(in, blocks * (p->num_classes + 1), int64_t);
    made->most = PLACE(in, blocks * (p->num_classes + 1), int64_t);
    made->noted = PLACE(in, blocks, uint8_t);
}

void room_place(room *made, arena *in, const problem *p) {
    made->free = PLACE(in, p->num_classes, int64_t);
    made->left = PLACE(in, p->num_loads, double);
}

void profile_begin(profile *of, const problem *p, double since) {
    of->times[0] = since;
    of->size = of->num_blocks = of->sizes[0] = 1;
    of->firsts[0] = of->noted[0] = 0;
    for (int64_t g = 0; g < p->num_classes; g++) of->free[g] = p->capacities[g];
    for (int64_t k = 0; k < p->num_loads; k++) of->left[k] = p->limits[k];
    for (int64_t b = 0; b < p->num_held; b++)
        profile_hold(
            of, p->held_since[b], p->held_until[b], p->held + b * p->num_classes, p->held_loads + b * p->num_loads);
}

void profile_copy(profile *to, const profile *from) {
    const size_t blocks = (size_t)from->num_blocks, classes = (size_t)from->num_classes;
    const size_t steps = from->is_one ? (size_t)from->size : blocks * MANY_BLOCKS;
    to->size = from->size;
    to->num_blocks = from->num_blocks;
    memcpy(to->times, from->times, steps * sizeof(double));
    memcpy(to->free, from->free, steps * classes * sizeof(int64_t));
    memcpy(to->left, from->left, steps * (size_t)from->num_loads * sizeof(double));
    if (from->is_one) return;
    memcpy(to->sizes, from->sizes, blocks * sizeof(int64_t));
    memcpy(to->firsts, from->firsts, blocks * sizeof(int64_t));
    memset(to->noted, 0, blocks);
}

/* A step is named by its place: MANY_BLOCKS times its block, in order of time, and its number in the block. So steps
   behind others have greater places, and behind the last is the place where the next block would begin. Where there is
   one block, of any size, places are numbers of steps. */
static inline int64_t block_of(int64_t at, layout by) { return by.is_one ? 0 : at / MANY_BLOCKS; }
static inline int64_t number_of(int64_t at, layout by) { return by.is_one ? at : at % MANY_BLOCKS; }

/* Return the number of steps in a block, which is never full, and the first of them in the arrays. */
static inline int64_t size_of(const profile *of, int64_t block, layout by) {
    return by.is_one ? of->size : of->sizes[block];
}
static inline int64_t first_of(const profile *of, int64_t block, layout by) {
    return by.is_one ? 0 : of->firsts[block];
}

static inline int64_t index_of(const profile *of, int64_t at, layout by) {
    return first_of(of, block_of(at, by), by) + number_of(at, by);
}

/* Return the place at which the next block begins. */
static inline int64_t next_block(const profile *of, int64_t block, layout by) {
    return by.is_one ? of->size : (block + 1) * MANY_BLOCKS;
}

static inline bool is_step(const profile *of, int64_t at, layout by) {
    return at < (by.is_one ? of->size : of->num_blocks * MANY_BLOCKS);
}

static inline int64_t following(const profile *of, int64_t at, layout by) {
    const int64_t block = block_of(at, by);
    return number_of(at, by) + 1 < size_of(of, block, by) ? at + 1 : next_block(of, block, by);
}

/* Return the place of the first step that does not begin before a time; where one would be inserted behind the last of
   a block, the place there. */
static inline int64_t step_from(const profile *of, double time, layout by) {
    int64_t block = 0, above = by.is_one ? 1 : of->num_blocks;
    while (above - block > 1) { /* the block before `above` is the last that begins before the time, or the first */
        const int64_t middle = (block + above) / 2;
        if (of->times[of->firsts[middle]] < time) block = middle;
        else above = middle;
    }
    const double *times = of->times + first_of(of, block, by);
    const int64_t size = size_of(of, block, by);
    int64_t number = 0, until = size;
    while (number < until) {
        const int64_t middle = (number + until) / 2;
        if (times[middle] < time) number = middle + 1;
        else until = middle;
    }
    if (by.is_one) return number;
    const bool is_next = number == size && block + 1 < of->num_blocks && of->times[of->firsts[block + 1]] == time;
    return is_next ? (block + 1) * MANY_BLOCKS : block * MANY_BLOCKS + number;
}

/* Return the step in which a time is; the first one where it is before that. */
static inline int64_t step_at(const profile *of, double time, layout by) {
    if (time <= of->times[0]) return 0;
    const int64_t at = step_from(of, time, by), number = number_of(at, by);
    const bool begins = number < size_of(of, block_of(at, by), by) && of->times[index_of(of, at, by)] == time;
    return begins || !number ? at : at - 1;
}

/* Copy steps of the arrays to another place. */
static inline void copy_steps(profile *of, int64_t to, int64_t from, int64_t size, layout by) {
    const size_t n = (size_t)size;
    memmove(of->times + to, of->times + from, n * sizeof(double));
    memmove(of->free + to * by.classes, of->free + from * by.classes, n * (size_t)by.classes * sizeof(int64_t));
    memmove(of->left + to * by.loads, of->left + from * by.loads, n * (size_t)by.loads * sizeof(double));
}

/* Let the second half of a full block be a block of its own. */
static void halve(profile *of, int64_t block) {
    const size_t behind = (size_t)(of->num_blocks - block - 1);
    memmove(of->sizes + block + 2, of->sizes + block + 1, behind * sizeof(int64_t));
    memmove(of->firsts + block + 2, of->firsts + block + 1, behind * sizeof(int64_t));
    const int64_t half = MANY_BLOCKS / 2, first = of->num_blocks * MANY_BLOCKS;
    of->firsts[block + 1] = first;
    of->sizes[block + 1] = of->sizes[block] = half;
    copy_steps(of, first, of->firsts[block] + half, half, layout_of(of));
    of->noted[of->firsts[block] / MANY_BLOCKS] = of->noted[first / MANY_BLOCKS] = 0;
    of->num_blocks++;
}

/* Make a step begin at a time, which is not before the first; return its place. */
static inline int64_t split(profile *of, double time, layout by) {
    const int64_t at = step_from(of, time, by), block = block_of(at, by), number = number_of(at, by);
    const int64_t i = index_of(of, at, by), size = size_of(of, block, by);
    if (number < size && of->times[i] == time) return at;
    copy_steps(of, i + 1, i, size - number, by);
    of->times[i] = time;
    memcpy(of->free + i * by.classes, of->free + (i - 1) * by.classes, (size_t)by.classes * sizeof(int64_t));
    memcpy(of->left + i * by.loads, of->left + (i - 1) * by.loads, (size_t)by.loads * sizeof(double));
    of->size++;
    if (by.is_one || ++of->sizes[block] < MANY_BLOCKS) return at;
    halve(of, block);
    return number < of->sizes[block] ? at : (block + 1) * MANY_BLOCKS + number - of->sizes[block];
}

static inline void hold(
    profile *of, double start, double end, const int64_t *allocation, const double *taken, layout by) {
    split(of, end, by);
    const double *times = of->times;
    double *left = of->left;
    int64_t *free = of->free;
    int64_t at = split(of, later(start, times[0]), by);
    for (; is_step(of, at, by); at = next_block(of, block_of(at, by), by)) {
        const int64_t block = block_of(at, by), last = first_of(of, block, by) + size_of(of, block, by);
        if (!by.is_one) of->noted[of->firsts[block] / MANY_BLOCKS] = 0;
        for (int64_t i = index_of(of, at, by); i < last; i++) {
            if (times[i] >= end) return;
            for (int64_t g = 0; g < by.classes; g++) free[i * by.classes + g] -= allocation[g];
            for (int64_t k = 0; k < by.loads; k++) left[i * by.loads + k] -= taken[k];
        }
    }
}

void profile_hold(profile *of, double start, double end, const int64_t *allocation, const double *loads) {
    if (end <= start || end <= of->times[0]) return;
    const int64_t classes = of->num_classes, num_loads = of->num_loads;
    if (!of->is_one) hold(of, start, end, allocation, loads, layout_of(of));
    else if (classes == 1 && !num_loads) hold(of, start, end, allocation, loads, (layout){1, 0, true});
    else hold(of, start, end, allocation, loads, (layout){classes, num_loads, true});
}

/* Note the least and the most of a block: of each class, and behind them of all together. */
static inline void note(profile *of, int64_t block, int64_t classes) {
    const int64_t first = of->firsts[block], which = first / MANY_BLOCKS;
    if (of->noted[which]) return;
    of->noted[which] = 1;
    int64_t *least = of->least + which * (classes + 1), *most = of->most + which * (classes + 1);
    for (int64_t i = first; i < first + of->sizes[block]; i++) {
        int64_t total = 0;
        for (int64_t g = 0; g <= classes; g++) {
            const int64_t here = g < classes ? of->free[i * classes + g] : total;
            total += here;
            least[g] = i == first ? here : smaller(least[g], here);
            most[g] = i == first ? here : larger(most[g], here);
        }
    }
}

/* What a start has to find at each step: so many processors on the classes of a set, which may be all of them. */
typedef struct {
    const uint8_t *inside;
    int64_t tasks;
    bool is_all;
} demand;

static inline bool has_processors(const int64_t *free, const demand *d, int64_t classes) {
    int64_t processors = 0;
    for (int64_t g = 0; g < classes; g++)
        if (d->inside[g]) processors += free[g];
    return processors >= d->tasks;
}

/* Whether a row of the least or the most of a block has the processors. */
static inline bool block_has(const int64_t *row, const demand *d, int64_t classes) {
    return d->is_all ? row[classes] >= d->tasks : has_processors(row, d, classes);
}

/* Whether every step of a block has the processors, and whether none has, as far as noted numbers say. */
static inline bool is_free(profile *of, int64_t block, const demand *d, int64_t classes) {
    note(of, block, classes);
    return block_has(of->least + of->firsts[block] / MANY_BLOCKS * (classes + 1), d, classes);
}

static inline bool is_full(profile *of, int64_t block, const demand *d, int64_t classes) {
    note(of, block, classes);
    return !block_has(of->most + of->firsts[block] / MANY_BLOCKS * (classes + 1), d, classes);
}

/* Return the first step from one on that has the processors. */
static inline int64_t next_with(profile *of, int64_t at, const demand *d, layout by) {
    for (; is_step(of, at, by); at = next_block(of, block_of(at, by), by)) {
        const int64_t block = block_of(at, by), size = size_of(of, block, by);
        if (!by.is_one && is_full(of, block, d, by.classes)) continue;
        const int64_t *free = of->free + index_of(of, at, by) * by.classes;
        for (int64_t number = number_of(at, by); number < size; number++, at++, free += by.classes)
            if (has_processors(free, d, by.classes)) return at;
    }
    return at;
}

/* Return the first step from one on that has not the processors, or does not begin before a time. */
static inline int64_t next_without(profile *of, int64_t at, double end, const demand *d, layout by) {
    for (; is_step(of, at, by); at = next_block(of, block_of(at, by), by)) {
        const int64_t block = block_of(at, by), first = first_of(of, block, by), size = size_of(of, block, by);
        if (!by.is_one && of->times[first + size - 1] < end && is_free(of, block, d, by.classes)) continue;
        const int64_t *free = of->free + first * by.classes;
        const double *times = of->times + first;
        for (int64_t number = number_of(at, by); number < size; number++)
            if (times[number] >= end || !has_processors(free + number * by.classes, d, by.classes))
                return block * MANY_BLOCKS + number;
    }
    return at;
}

/* Whether a member finds an allocation on what is free and left from a step to before another, of the first step at
   least. */
static inline bool finds(
    const profile *of, const problem *p, int64_t first, int64_t last, int64_t member, const demand *d, int64_t rule,
    filling *found, room *room, layout by) {
    if (by.classes == 1 && !by.loads && first < last && !found->spent) {
        found->allocation[0] = p->tasks[member]; /* every step has been found to have enough */
        return p->tasks[member] <= p->most[p->shape_of[member]];
    }
    int64_t i = index_of(of, first, by);
    for (int64_t g = 0; g < by.classes; g++) room->free[g] = of->free[i * by.classes + g];
    for (int64_t k = 0; k < by.loads; k++) room->left[k] = of->left[i * by.loads + k];
    for (int64_t at = following(of, first, by); at < last; at = following(of, at, by)) {
        i = index_of(of, at, by);
        for (int64_t g = 0; g < by.classes; g++) room->free[g] = smaller(room->free[g], of->free[i * by.classes + g]);
        for (int64_t k = 0; k < by.loads; k++) room->left[k] = earlier(room->left[k], of->left[i * by.loads + k]);
    }
    if (!has_processors(room->free, d, by.classes)) return false;
    for (int64_t k = 0; k < by.loads; k++) room->left[k] = usable(room->left[k], p->limits[k]);
    return filling_find(p, found, member, rule, room->free, room->left);
}

/* A member that takes no time is in nobody's way: what is free in the end counts for it. */
static inline double start_of(
    profile *of, const problem *p, int64_t member, int64_t rule, double release, double before, filling *found,
    room *room, layout by) {
    const uint8_t *inside = p->inside + p->set_of[member] * by.classes;
    const demand d = {inside, p->tasks[member], !by.is_one && !memchr(inside, 0, (size_t)by.classes)};
    const double duration = p->ticks[member];
    found->is_refused = false;
    if (duration <= 0.0) {
        const int64_t block = of->num_blocks - 1, last = block * MANY_BLOCKS + size_of(of, block, by) - 1;
        if (!(release + duration < before)) return INFINITY;
        return finds(of, p, last, last, member, &d, rule, found, room, by) ? release : INFINITY;
    }
    int64_t first = step_at(of, release, by), step = first; /* those before it have processors enough */
    double start = release;
    while (start + duration < before) {
        const double end = start + duration;
        step = next_without(of, step, end, &d, by);
        if (is_step(of, step, by) && of->times[index_of(of, step, by)] < end) {
            first = step = next_with(of, following(of, step, by), &d, by);
        } else {
            if (finds(of, p, first, step, member, &d, rule, found, room, by)) return start;
            if (found->is_refused) return INFINITY; /* other allocations are tried as modes */
            first = following(of, first, by);
            step = larger(step, first);
        }
        if (!is_step(of, first, by)) return INFINITY;
        start = of->times[index_of(of, first, by)];
    }
    return INFINITY;
}

double profile_start(
    profile *of, const problem *p, int64_t member, int64_t rule, double release, double before, filling *found,
    room *room) {
    const int64_t classes = of->num_classes, loads = of->num_loads;
    const bool is_simple = classes == 1 && !loads;
    if (!of->is_one && is_simple)
        return start_of(of, p, member, rule, release, before, found, room, (layout){1, 0, false});
    if (!of->is_one) return start_of(of, p, member, rule, release, before, found, room, layout_of(of));
    if (is_simple) return start_of(of, p, member, rule, release, before, found, room, (layout){1, 0, true});
    return start_of(of, p, member, rule, release, before, found, room, (layout){classes, loads, true});
}

/* Whether an allocation, and its loads, are free in a step of the arrays. */
static bool has_room(const profile *of, const problem *p, int64_t i, const int64_t *allocation, const double *loads) {
    for (int64_t g = 0; g < of->num_classes; g++)
        if (of->free[i * of->num_classes + g] < allocation[g]) return false;
    for (int64_t k = 0; k < of->num_loads; k++)
        if (loads[k] > usable(of->left[i * of->num_loads + k], p->limits[k])) return false;
    return true;
}

double profile_fit(
    const profile *of, const problem *p, const int64_t *allocation, const double *loads, double release,
    double duration) {
    if (duration <= 0.0) return release;
    const layout by = layout_of(of);
    double start = release;
    for (int64_t at = step_at(of, release, by); is_step(of, at, by);) {
        const int64_t i = index_of(of, at, by);
        if (of->times[i] >= start + duration) break;
        at = following(of, at, by);
        if (!has_room(of, p, i, allocation, loads))
            start = is_step(of, at, by) ? of->times[index_of(of, at, by)] : INFINITY;
    }
    return start;
}
