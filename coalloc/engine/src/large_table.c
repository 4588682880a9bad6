#include "large_table.h"

/* Numbers of parameters of large_table_add_job, for faults. */
enum { NUM_SPEEDS, NUM_STATES, NUM_LEVELS, SHAPE, BOUNDS, PRICES, BEFORE, AFTER, CHOICES, FIRST };

/* States are in order of their free processors, those of the last speed next to each other: a row is the states that
   have as many of the others free. */
typedef struct {
    int64_t num_speeds, num_levels;
    const int64_t *shape, *bounds;
    const double *prices, *before;
    double *after;
    uint8_t *choices;
    int64_t *strides, *free, *rest;
} table;

/* Entries between two looks at the clock. */
enum { ENTRIES = 1 << 20 };

/* Take tasks from the free processors of a speed, then of faster ones; return how many find none. */
static int64_t take(int64_t *free, int64_t tasks, int64_t last) {
    for (int64_t speed = last; speed >= 0; speed--) {
        const int64_t taken = smaller(free[speed], tasks);
        free[speed] -= taken;
        tasks -= taken;
    }
    return tasks;
}

/* Return where the row of free processors begins. */
static int64_t place_of(const table *t, const int64_t *free) {
    int64_t found = 0;
    for (int64_t speed = 0; speed < t->num_speeds - 1; speed++) found += free[speed] * t->strides[speed];
    return found;
}

/* Return whether the first prefixes of a row hold what a level needs of them; `free` is what is left. */
static bool take_prefixes(const table *t, int64_t row, int64_t level) {
    int64_t left = row;
    for (int64_t speed = 0; speed < t->num_speeds - 1; speed++) {
        t->free[speed] = left / t->strides[speed];
        left -= t->free[speed] * t->strides[speed];
    }
    for (int64_t prefix = 0; prefix < t->num_speeds - 1; prefix++)
        if (take(t->free, t->bounds[level * t->num_speeds + prefix], prefix) > 0) return false;
    return true;
}

static void offer(const table *t, int64_t state, double value, int64_t level) {
    if (value <= t->after[state]) return;
    t->after[state] = value;
    t->choices[state] = (uint8_t)(level + 1);
}

/* Let the states of a row have a job at a level: on free processors of the last speed, then of faster ones. */
static void add_level(const table *t, int64_t row, int64_t level) {
    const int64_t last = t->num_speeds - 1, length = t->shape[last];
    const double price = t->prices[level];
    if (!(price > 0.0) || !take_prefixes(t, row, level)) return;
    const int64_t tasks = t->bounds[level * t->num_speeds + last], begin = place_of(t, t->free);
    for (int64_t i = tasks; i < length; i++) offer(t, row + i, price + t->before[begin + i - tasks], level);
    for (int64_t i = smaller(tasks, length) - 1; i >= 0; i--) {
        for (int64_t speed = 0; speed < last; speed++) t->rest[speed] = t->free[speed];
        if (take(t->rest, tasks - i, last - 1) > 0) break;
        offer(t, row + i, price + t->before[place_of(t, t->rest)], level);
    }
}

static int64_t fault_of(const table *t, int64_t num_states, int64_t first) {
    int64_t states = 1;
    for (int64_t speed = 0; speed < t->num_speeds; speed++) {
        if (t->shape[speed] < 1 || t->shape[speed] > num_states / states) return FAULT(OUT_OF_RANGE, SHAPE);
        states *= t->shape[speed];
    }
    if (states != num_states) return FAULT(OUT_OF_RANGE, SHAPE);
    for (int64_t i = 0; i < t->num_levels * t->num_speeds; i++)
        if (t->bounds[i] < 0) return FAULT(OUT_OF_RANGE, BOUNDS);
    if (first < 0 || first > num_states || first % t->shape[t->num_speeds - 1]) return FAULT(OUT_OF_RANGE, FIRST);
    return 0;
}

int64_t large_table_add_job(
    int64_t num_speeds, int64_t num_states, int64_t num_levels, const int64_t *shape, const int64_t *bounds,
    const double *prices, const double *before, double *after, uint8_t *choices, int64_t first, double seconds) {
    if (num_speeds < 1) return FAULT(OUT_OF_RANGE, NUM_SPEEDS);
    if (num_states < 1) return FAULT(OUT_OF_RANGE, NUM_STATES);
    if (num_levels > UINT8_MAX) return FAULT(TOO_LARGE, NUM_LEVELS);
    table t = {num_speeds, num_levels, shape, bounds, prices, before, after, choices, NULL, NULL, NULL};
    const int64_t fault = fault_of(&t, num_states, first);
    if (fault) return fault;
    int64_t *scratch = malloc(3 * (size_t)num_speeds * sizeof(int64_t));
    if (!scratch) return FAULT(NO_MEMORY, 0);
    t.strides = scratch;
    t.free = scratch + num_speeds;
    t.rest = scratch + 2 * num_speeds;
    int64_t stride = 1;
    for (int64_t speed = num_speeds - 1; speed >= 0; speed--) {
        t.strides[speed] = stride;
        stride *= shape[speed];
    }
    const double until = clock_now() + seconds;
    const int64_t length = shape[num_speeds - 1];
    int64_t looked_at = 0;
    for (; first < num_states; first += length) {
        if (looked_at > ENTRIES) {
            if (clock_now() > until) break;
            looked_at = 0;
        }
        memcpy(after + first, before + first, (size_t)length * sizeof(double));
        memset(choices + first, 0, (size_t)length);
        for (int64_t level = 0; level < num_levels; level++) add_level(&t, first, level);
        looked_at += length * (num_levels + 1);
    }
    free(scratch);
    return first;
}
