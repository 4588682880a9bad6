#include "profile.h"

/* Share of a limit that adding and taking away loads may lose in floating point: as in coalloc.rules.profile. */
static const double SUBTRACTION_NOISE = 1e-12;

void profile_place(profile *made, arena *in, const problem *p) {
    const int64_t steps = 2 * (p->num_jobs + p->num_held) + 4;
    made->num_classes = p->num_classes;
    made->num_loads = p->num_loads;
    made->times = PLACE(in, steps, double);
    made->free = PLACE(in, steps * p->num_classes, int64_t);
    made->left = PLACE(in, steps * p->num_loads, double);
}

void room_place(room *made, arena *in, const problem *p) {
    made->free = PLACE(in, p->num_classes, int64_t);
    made->left = PLACE(in, p->num_loads, double);
}

void profile_begin(profile *of, const problem *p, double since) {
    of->times[0] = since;
    of->size = 1;
    for (int64_t g = 0; g < p->num_classes; g++) of->free[g] = p->capacities[g];
    for (int64_t k = 0; k < p->num_loads; k++) of->left[k] = p->limits[k];
    for (int64_t b = 0; b < p->num_held; b++)
        profile_hold(
            of, p->held_since[b], p->held_until[b], p->held + b * p->num_classes, p->held_loads + b * p->num_loads);
}

void profile_copy(profile *to, const profile *from) {
    const size_t size = (size_t)from->size;
    to->size = from->size;
    memcpy(to->times, from->times, size * sizeof(double));
    memcpy(to->free, from->free, size * (size_t)from->num_classes * sizeof(int64_t));
    memcpy(to->left, from->left, size * (size_t)from->num_loads * sizeof(double));
}

int64_t profile_step(const profile *of, double time) {
    int64_t low = 0, high = of->size;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (of->times[middle] < time) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* Make a step begin at a time, which is not before the first; return it. Numbers of classes and loads are parameters
   here and below, for where they are 1 and 0 compilers leave the loops out. */
static inline int64_t split(profile *of, double time, int64_t classes, int64_t loads) {
    const int64_t i = profile_step(of, time);
    if (i < of->size && of->times[i] == time) return i;
    const size_t behind = (size_t)(of->size - i);
    memmove(of->times + i + 1, of->times + i, behind * sizeof(double));
    memmove(of->free + (i + 1) * classes, of->free + i * classes, behind * (size_t)classes * sizeof(int64_t));
    memmove(of->left + (i + 1) * loads, of->left + i * loads, behind * (size_t)loads * sizeof(double));
    of->times[i] = time;
    memcpy(of->free + i * classes, of->free + (i - 1) * classes, (size_t)classes * sizeof(int64_t));
    memcpy(of->left + i * loads, of->left + (i - 1) * loads, (size_t)loads * sizeof(double));
    of->size++;
    return i;
}

static inline void hold(
    profile *of, double start, double end, const int64_t *allocation, const double *taken, int64_t classes,
    int64_t loads) {
    const int64_t first = split(of, later(start, of->times[0]), classes, loads), last = split(of, end, classes, loads);
    for (int64_t i = first; i < last; i++) {
        for (int64_t g = 0; g < classes; g++) of->free[i * classes + g] -= allocation[g];
        for (int64_t k = 0; k < loads; k++) of->left[i * loads + k] -= taken[k];
    }
}

void profile_hold(profile *of, double start, double end, const int64_t *allocation, const double *loads) {
    if (end <= start || end <= of->times[0]) return;
    if (of->num_classes == 1 && !of->num_loads) hold(of, start, end, allocation, loads, 1, 0);
    else hold(of, start, end, allocation, loads, of->num_classes, of->num_loads);
}

/* Whether so many processors are free on the classes of a set. */
static inline bool has_processors(const int64_t *free, const uint8_t *inside, int64_t tasks, int64_t classes) {
    int64_t processors = 0;
    for (int64_t g = 0; g < classes; g++)
        if (inside[g]) processors += free[g];
    return processors >= tasks;
}

/* Whether a member finds an allocation on what is free and left from a step to before another, of the first step at
   least. */
static inline bool finds(
    const profile *of, const problem *p, int64_t first, int64_t last, int64_t member, int64_t rule, filling *found,
    room *room, int64_t classes, int64_t loads) {
    if (classes == 1 && !loads && first < last && !found->spent) { /* every step has been found to have enough */
        found->allocation[0] = p->tasks[member];
        return p->tasks[member] <= p->most[p->shape_of[member]];
    }
    for (int64_t g = 0; g < classes; g++) {
        room->free[g] = of->free[first * classes + g];
        for (int64_t i = first + 1; i < last; i++) room->free[g] = smaller(room->free[g], of->free[i * classes + g]);
    }
    if (!has_processors(room->free, p->inside + p->set_of[member] * classes, p->tasks[member], classes)) return false;
    for (int64_t k = 0; k < loads; k++) {
        double lowest = of->left[first * loads + k];
        for (int64_t i = first + 1; i < last; i++) lowest = earlier(lowest, of->left[i * loads + k]);
        room->left[k] = later(0.0, lowest) + SUBTRACTION_NOISE * later(1.0, p->limits[k]);
    }
    return filling_find(p, found, member, rule, room->free, room->left);
}

/* A member that takes no time is in nobody's way: what is free in the end counts for it. */
static inline double start_of(
    const profile *of, const problem *p, int64_t member, int64_t rule, double release, double before, filling *found,
    room *room, int64_t classes, int64_t loads) {
    const uint8_t *inside = p->inside + p->set_of[member] * classes;
    const int64_t tasks = p->tasks[member], size = of->size, *free = of->free;
    const double duration = p->ticks[member], *times = of->times;
    const bool lasts = duration > 0.0;
    int64_t first = profile_step(of, release);
    if (first == size || times[first] > release) first--;
    double start = release;
    found->is_refused = false;
    int64_t step = first; /* those from the first to before it have processors enough */
    while (start + duration < before) {
        const double end = start + duration;
        bool is_free = true;
        for (; lasts && step < size && times[step] < end; step++) {
            is_free = has_processors(free + step * classes, inside, tasks, classes);
            if (!is_free) break;
        }
        if (!is_free) {
            first = step + 1;
            while (first < size && !has_processors(free + first * classes, inside, tasks, classes)) first++;
        } else {
            if (finds(of, p, lasts ? first : size - 1, step, member, rule, found, room, classes, loads)) return start;
            if (found->is_refused) return INFINITY; /* other allocations are tried as modes */
            first++;
        }
        if (!lasts || first >= size) return INFINITY;
        start = times[first];
        step = larger(step, first);
    }
    return INFINITY;
}

double profile_start(
    const profile *of, const problem *p, int64_t member, int64_t rule, double release, double before, filling *found,
    room *room) {
    if (of->num_classes == 1 && !of->num_loads)
        return start_of(of, p, member, rule, release, before, found, room, 1, 0);
    return start_of(of, p, member, rule, release, before, found, room, of->num_classes, of->num_loads);
}
