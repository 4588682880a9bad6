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

void profile_begin(profile *of, const problem *p) {
    of->times[0] = -INFINITY;
    of->size = 1;
    for (int64_t g = 0; g < p->num_classes; g++) of->free[g] = p->capacities[g];
    for (int64_t k = 0; k < p->num_loads; k++) of->left[k] = p->limits[k];
    for (int64_t b = 0; b < p->num_held; b++)
        profile_hold(of, -INFINITY, p->held_until[b], p->held + b * p->num_classes, p->held_loads + b * p->num_loads);
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

/* Make a step begin at a time, which is not before the first; return it. */
static int64_t split(profile *of, double time) {
    const int64_t i = profile_step(of, time), classes = of->num_classes, loads = of->num_loads;
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

void profile_hold(profile *of, double start, double end, const int64_t *allocation, const double *loads) {
    if (end <= start) return;
    const int64_t first = split(of, start), last = split(of, end);
    for (int64_t i = first; i < last; i++) {
        for (int64_t g = 0; g < of->num_classes; g++) of->free[i * of->num_classes + g] -= allocation[g];
        for (int64_t k = 0; k < of->num_loads; k++) of->left[i * of->num_loads + k] -= loads[k];
    }
}

/* Whether a step has as many free processors as a member takes, on the classes of its set. */
static bool has_processors(const problem *p, const int64_t *free, int64_t member) {
    const uint8_t *inside = p->inside + p->set_of[member] * p->num_classes;
    int64_t processors = 0;
    for (int64_t g = 0; g < p->num_classes; g++)
        if (inside[g]) processors += free[g];
    return processors >= p->tasks[member];
}

/* Note what is free and left from a step to before another, of the first step at least; return whether a member has
   processors enough then. */
static bool has_room(
    const profile *of, const problem *p, int64_t first, int64_t last, int64_t member, int64_t *free, double *left) {
    for (int64_t g = 0; g < of->num_classes; g++) {
        free[g] = of->free[first * of->num_classes + g];
        for (int64_t i = first + 1; i < last; i++) free[g] = smaller(free[g], of->free[i * of->num_classes + g]);
    }
    if (!has_processors(p, free, member)) return false;
    for (int64_t k = 0; k < of->num_loads; k++) {
        double lowest = of->left[first * of->num_loads + k];
        for (int64_t i = first + 1; i < last; i++) lowest = earlier(lowest, of->left[i * of->num_loads + k]);
        left[k] = later(0.0, lowest) + SUBTRACTION_NOISE * later(1.0, p->limits[k]);
    }
    return true;
}

/* A member that takes no time is in nobody's way: what is free in the end counts for it. */
double profile_start(
    const profile *of, const problem *p, int64_t member, int64_t rule, double release, double before,
    filling *found, int64_t *free, double *left) {
    const double duration = p->ticks[member];
    const bool lasts = duration > 0.0;
    int64_t first = profile_step(of, release);
    if (first == of->size || of->times[first] > release) first--;
    double start = release;
    int64_t step = first;
    while (start + duration < before) {
        bool is_free = true;
        while (lasts && step < of->size && of->times[step] < start + duration) {
            is_free = has_processors(p, of->free + step * of->num_classes, member);
            if (!is_free) break;
            step++;
        }
        if (!is_free) first = step;
        else if (
            has_room(of, p, lasts ? first : of->size - 1, step, member, free, left) &&
            filling_find(p, found, member, rule, free, left))
            return start;
        first++;
        if (!lasts || first >= of->size) return INFINITY;
        start = of->times[first];
        step = larger(step, first);
    }
    return INFINITY;
}
