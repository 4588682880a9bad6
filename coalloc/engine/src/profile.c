#include "profile.h"

/* Share of a limit that adding and taking away loads may lose in floating point: as in coalloc.rules.profile. */
static const double SUBTRACTION_NOISE = 1e-12;

/* Steps up to which one block has room for all, and steps of a block otherwise: begins of blocks are multiples of it. */
enum { ONE_BLOCK = 512, MANY_BLOCKS = 128 };

/* A step: its block in order of time, and its place there. Behind the last one is place 0 of the block behind. */
typedef struct {
    int64_t block, step;
} place_of;

void profile_place(profile *made, arena *in, const problem *p) {
    const int64_t steps = 2 * (p->num_jobs + p->num_held) + 4;
    made->room = steps <= ONE_BLOCK ? steps : MANY_BLOCKS;
    /* a full block becomes two halves, so that all but one have at least half of the steps */
    const int64_t blocks = steps <= ONE_BLOCK ? 1 : 2 * steps / MANY_BLOCKS + 2, all = blocks * made->room;
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
    const size_t steps = (size_t)(from->num_blocks == 1 ? from->size : from->num_blocks * from->room);
    to->size = from->size;
    to->num_blocks = from->num_blocks;
    memcpy(to->times, from->times, steps * sizeof(double));
    memcpy(to->free, from->free, steps * classes * sizeof(int64_t));
    memcpy(to->left, from->left, steps * (size_t)from->num_loads * sizeof(double));
    memcpy(to->sizes, from->sizes, blocks * sizeof(int64_t));
    memcpy(to->firsts, from->firsts, blocks * sizeof(int64_t));
    memset(to->noted, 0, blocks);
}

static bool is_step(const profile *of, place_of at) { return at.block < of->num_blocks; }

static bool is_before(place_of at, place_of other) {
    return at.block < other.block || (at.block == other.block && at.step < other.step);
}

/* Return the place in the arrays of a step. */
static int64_t index_of(const profile *of, place_of at) { return of->firsts[at.block] + at.step; }

static place_of following(const profile *of, place_of at) {
    return at.step + 1 < of->sizes[at.block] ? (place_of){at.block, at.step + 1} : (place_of){at.block + 1, 0};
}

/* Return the first step that does not begin before a time. Where one would be inserted behind the last of a block, that
   is place `size` there. */
static place_of step_from(const profile *of, double time) {
    int64_t low = 0, high = of->num_blocks;
    while (high - low > 1) { /* the block before `high` is the last that begins before the time, or the first */
        const int64_t middle = (low + high) / 2;
        if (of->times[of->firsts[middle]] < time) low = middle;
        else high = middle;
    }
    const double *times = of->times + of->firsts[low];
    int64_t from = 0, until = of->sizes[low];
    while (from < until) {
        const int64_t middle = (from + until) / 2;
        if (times[middle] < time) from = middle + 1;
        else until = middle;
    }
    const bool is_next = from == of->sizes[low] && low + 1 < of->num_blocks && of->times[of->firsts[low + 1]] == time;
    return is_next ? (place_of){low + 1, 0} : (place_of){low, from};
}

/* Return the step in which a time is; the first one where it is before that. */
static place_of step_at(const profile *of, double time) {
    place_of at = step_from(of, time);
    if (at.step == of->sizes[at.block] || of->times[index_of(of, at)] > time) at.step -= at.step > 0;
    return at;
}

/* Copy steps of the arrays to another place. */
static inline void copy_steps(profile *of, int64_t to, int64_t from, int64_t size, int64_t classes, int64_t loads) {
    const size_t n = (size_t)size;
    memmove(of->times + to, of->times + from, n * sizeof(double));
    memmove(of->free + to * classes, of->free + from * classes, n * (size_t)classes * sizeof(int64_t));
    memmove(of->left + to * loads, of->left + from * loads, n * (size_t)loads * sizeof(double));
}

/* Let the second half of a full block be a block of its own. */
static void halve(profile *of, int64_t block) {
    const size_t behind = (size_t)(of->num_blocks - block - 1);
    memmove(of->sizes + block + 2, of->sizes + block + 1, behind * sizeof(int64_t));
    memmove(of->firsts + block + 2, of->firsts + block + 1, behind * sizeof(int64_t));
    const int64_t kept = of->room / 2, first = of->num_blocks * of->room;
    of->firsts[block + 1] = first;
    of->sizes[block + 1] = of->room - kept;
    of->sizes[block] = kept;
    copy_steps(of, first, of->firsts[block] + kept, of->room - kept, of->num_classes, of->num_loads);
    of->noted[of->firsts[block] / MANY_BLOCKS] = of->noted[first / MANY_BLOCKS] = 0;
    of->num_blocks++;
}

/* Make a step begin at a time, which is not before the first; return it. Numbers of classes and loads are parameters
   here and below, for where they are 1 and 0 compilers leave the loops out. */
static inline place_of split(profile *of, double time, int64_t classes, int64_t loads) {
    place_of at = step_from(of, time);
    if (at.step < of->sizes[at.block] && of->times[index_of(of, at)] == time) return at;
    if (of->sizes[at.block] == of->room) {
        halve(of, at.block);
        if (at.step > of->sizes[at.block]) at = (place_of){at.block + 1, at.step - of->sizes[at.block]};
    }
    const int64_t i = index_of(of, at);
    copy_steps(of, i + 1, i, of->sizes[at.block] - at.step, classes, loads);
    of->times[i] = time;
    memcpy(of->free + i * classes, of->free + (i - 1) * classes, (size_t)classes * sizeof(int64_t));
    memcpy(of->left + i * loads, of->left + (i - 1) * loads, (size_t)loads * sizeof(double));
    of->sizes[at.block]++;
    of->size++;
    return at;
}

static inline void hold(
    profile *of, double start, double end, const int64_t *allocation, const double *taken, int64_t classes,
    int64_t loads) {
    split(of, end, classes, loads);
    const place_of first = split(of, later(start, of->times[0]), classes, loads);
    const double *times = of->times;
    int64_t step = first.step, *free = of->free;
    double *left = of->left;
    for (int64_t block = first.block; block < of->num_blocks; block++, step = 0) {
        int64_t i = of->firsts[block] + step;
        of->noted[of->firsts[block] / MANY_BLOCKS] = 0;
        for (const int64_t last = of->firsts[block] + of->sizes[block]; i < last; i++) {
            if (times[i] >= end) return;
            for (int64_t g = 0; g < classes; g++) free[i * classes + g] -= allocation[g];
            for (int64_t k = 0; k < loads; k++) left[i * loads + k] -= taken[k];
        }
    }
}

void profile_hold(profile *of, double start, double end, const int64_t *allocation, const double *loads) {
    if (end <= start || end <= of->times[0]) return;
    if (of->num_classes == 1 && !of->num_loads) hold(of, start, end, allocation, loads, 1, 0);
    else hold(of, start, end, allocation, loads, of->num_classes, of->num_loads);
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
static inline place_of next_with(profile *of, place_of at, const demand *d, int64_t classes) {
    for (; at.block < of->num_blocks; at = (place_of){at.block + 1, 0}) {
        if (of->num_blocks > 1 && is_full(of, at.block, d, classes)) continue;
        const int64_t *free = of->free + of->firsts[at.block] * classes;
        for (; at.step < of->sizes[at.block]; at.step++)
            if (has_processors(free + at.step * classes, d, classes)) return at;
    }
    return at;
}

/* Return the first step from one on that has not the processors, or does not begin before a time. */
static inline place_of next_without(profile *of, place_of at, double end, const demand *d, int64_t classes) {
    for (; at.block < of->num_blocks; at = (place_of){at.block + 1, 0}) {
        const int64_t first = of->firsts[at.block], size = of->sizes[at.block], *free = of->free + first * classes;
        const double *times = of->times + first;
        if (of->num_blocks > 1 && times[size - 1] < end && is_free(of, at.block, d, classes)) continue;
        for (; at.step < size; at.step++)
            if (times[at.step] >= end || !has_processors(free + at.step * classes, d, classes)) return at;
    }
    return at;
}

/* Whether a member finds an allocation on what is free and left from a step to before another, of the first step at
   least. */
static inline bool finds(
    profile *of, const problem *p, place_of first, place_of last, int64_t member, const demand *d, int64_t rule,
    filling *found, room *room, int64_t classes, int64_t loads) {
    if (classes == 1 && !loads && is_before(first, last) && !found->spent) {
        found->allocation[0] = p->tasks[member]; /* every step has been found to have enough */
        return p->tasks[member] <= p->most[p->shape_of[member]];
    }
    int64_t i = index_of(of, first);
    for (int64_t g = 0; g < classes; g++) room->free[g] = of->free[i * classes + g];
    for (int64_t k = 0; k < loads; k++) room->left[k] = of->left[i * loads + k];
    for (place_of at = following(of, first); is_before(at, last); at = following(of, at)) {
        i = index_of(of, at);
        for (int64_t g = 0; g < classes; g++) room->free[g] = smaller(room->free[g], of->free[i * classes + g]);
        for (int64_t k = 0; k < loads; k++) room->left[k] = earlier(room->left[k], of->left[i * loads + k]);
    }
    if (!has_processors(room->free, d, classes)) return false;
    for (int64_t k = 0; k < loads; k++)
        room->left[k] = later(0.0, room->left[k]) + SUBTRACTION_NOISE * later(1.0, p->limits[k]);
    return filling_find(p, found, member, rule, room->free, room->left);
}

/* A member that takes no time is in nobody's way: what is free in the end counts for it. */
static inline double start_of(
    profile *of, const problem *p, int64_t member, int64_t rule, double release, double before, filling *found,
    room *room, int64_t classes, int64_t loads) {
    const uint8_t *inside = p->inside + p->set_of[member] * classes;
    const demand d = {inside, p->tasks[member], !memchr(inside, 0, (size_t)classes)};
    const double duration = p->ticks[member];
    if (duration <= 0.0) {
        const int64_t last = of->num_blocks - 1;
        const place_of end = {last, of->sizes[last] - 1};
        if (!(release + duration < before)) return INFINITY;
        return finds(of, p, end, end, member, &d, rule, found, room, classes, loads) ? release : INFINITY;
    }
    place_of first = step_at(of, release);
    place_of step = first; /* those from the first to before it have processors enough */
    double start = release;
    found->is_refused = false;
    while (start + duration < before) {
        const double end = start + duration;
        step = next_without(of, step, end, &d, classes);
        if (is_step(of, step) && of->times[index_of(of, step)] < end) {
            first = step = next_with(of, following(of, step), &d, classes);
        } else {
            if (finds(of, p, first, step, member, &d, rule, found, room, classes, loads)) return start;
            if (found->is_refused) return INFINITY; /* other allocations are tried as modes */
            first = following(of, first);
            if (is_before(step, first)) step = first;
        }
        if (!is_step(of, first)) return INFINITY;
        start = of->times[index_of(of, first)];
    }
    return INFINITY;
}

double profile_start(
    profile *of, const problem *p, int64_t member, int64_t rule, double release, double before, filling *found,
    room *room) {
    if (of->num_classes == 1 && !of->num_loads)
        return start_of(of, p, member, rule, release, before, found, room, 1, 0);
    return start_of(of, p, member, rule, release, before, found, room, of->num_classes, of->num_loads);
}

/* Whether an allocation, and its loads, are free in a step of the arrays. */
static bool has_room(const profile *of, const problem *p, int64_t i, const int64_t *allocation, const double *loads) {
    for (int64_t g = 0; g < of->num_classes; g++)
        if (of->free[i * of->num_classes + g] < allocation[g]) return false;
    for (int64_t k = 0; k < of->num_loads; k++) {
        const double left = later(0.0, of->left[i * of->num_loads + k]);
        if (loads[k] > left + SUBTRACTION_NOISE * later(1.0, p->limits[k])) return false;
    }
    return true;
}

double profile_fit(
    const profile *of, const problem *p, const int64_t *allocation, const double *loads, double release,
    double duration) {
    if (duration <= 0.0) return release;
    double start = release;
    for (place_of at = step_at(of, release); is_step(of, at) && of->times[index_of(of, at)] < start + duration;) {
        const bool is_free = has_room(of, p, index_of(of, at), allocation, loads);
        at = following(of, at);
        if (!is_free) start = is_step(of, at) ? of->times[index_of(of, at)] : INFINITY;
    }
    return start;
}
