/* Iterated local search: H. R. Lourenço, O. C. Martin, T. Stützle, Handbook of Metaheuristics (2003). */

#include "machine_swaps.h"

enum parameter { NUM_JOBS, NUM_MACHINES, NUM_NEAR, TIMES, NEAR, MACHINE_OF, LEAST, ATTEMPTS };

#define MOST_MOVED 6
/* Share by which the longest of two loads has to fall: less may be an error of rounding. */
#define WORTH 1e-12

typedef struct {
    int64_t num_jobs, num_machines;
    const double *times;
    int64_t *machine_of;
    double *loads;
    int64_t *own; /* scratch */
    double deadline;
} search;

static inline double time_of(const search *s, int64_t j, int64_t i) { return s->times[j * s->num_machines + i]; }

static void sum_loads(search *s) {
    for (int64_t i = 0; i < s->num_machines; i++) s->loads[i] = 0.0;
    for (int64_t j = 0; j < s->num_jobs; j++) s->loads[s->machine_of[j]] += time_of(s, j, s->machine_of[j]);
}

static int64_t longest_of(const search *s) {
    int64_t longest = 0;
    for (int64_t i = 1; i < s->num_machines; i++)
        if (s->loads[i] > s->loads[longest]) longest = i;
    return longest;
}

static double excess(const search *s, double least) {
    double sum = 0.0;
    for (int64_t i = 0; i < s->num_machines; i++) {
        const double above = later(s->loads[i] - least, 0.0);
        sum += above * above;
    }
    return sum;
}

/* List the jobs of a machine; return how many. */
static int64_t list_own(search *s, int64_t machine) {
    int64_t count = 0;
    for (int64_t j = 0; j < s->num_jobs; j++)
        if (s->machine_of[j] == machine) s->own[count++] = j;
    return count;
}

static void move(search *s, int64_t j, int64_t to) {
    s->loads[s->machine_of[j]] -= time_of(s, j, s->machine_of[j]);
    s->loads[to] += time_of(s, j, to);
    s->machine_of[j] = to;
}

/* Do the move, or the swap, of a job of the longest machine after which the two work least; return whether it helps.
   Nothing is done at the deadline, which many jobs on few machines may meet within one look at all swaps. */
static bool step(search *s) {
    const int64_t longest = longest_of(s), count = list_own(s, longest);
    double best = s->loads[longest] * (1.0 - WORTH);
    int64_t moved = -1, swapped = -1, to = -1;
    for (int64_t a = 0; a < count; a++) {
        const int64_t j = s->own[a];
        const double left = s->loads[longest] - time_of(s, j, longest);
        for (int64_t i = 0; i < s->num_machines; i++) {
            const double most = later(left, s->loads[i] + time_of(s, j, i));
            if (i != longest && most < best) best = most, moved = j, to = i, swapped = -1;
        }
    }
    for (int64_t k = 0; k < s->num_jobs; k++) {
        if (k % LOOKS == 0 && clock_now() >= s->deadline) return false;
        const int64_t there = s->machine_of[k];
        const double here = time_of(s, k, longest), left = s->loads[there] - time_of(s, k, there);
        if (there == longest || left >= best) continue;
        for (int64_t a = 0; a < count; a++) {
            const int64_t j = s->own[a];
            const double most = later(s->loads[longest] - time_of(s, j, longest) + here, left + time_of(s, j, there));
            if (most < best) best = most, moved = j, to = there, swapped = k;
        }
    }
    if (moved < 0) return false;
    move(s, moved, to);
    if (swapped >= 0) move(s, swapped, longest);
    return true;
}

static void descend(search *s) {
    sum_loads(s);
    while (step(s)) {}
}

static int64_t drawn(uint64_t *seed, int64_t below) { return (int64_t)(draw(seed) * (double)below); }

static void move_near(search *s, const int64_t *near, int64_t num_near, uint64_t *seed) {
    const int64_t own = s->own[drawn(seed, list_own(s, longest_of(s)))], moved = 2 + drawn(seed, MOST_MOVED - 1);
    for (int64_t k = 0; k < moved; k++) {
        const int64_t j = k ? drawn(seed, s->num_jobs) : own;
        s->machine_of[j] = near[j * num_near + drawn(seed, num_near)];
    }
}

int64_t machine_swaps_search(
    int64_t num_jobs, int64_t num_machines, int64_t num_near, const double *times, const int64_t *near,
    int64_t *machine_of, double least, int64_t attempts, uint64_t seed, double seconds) {
    if (num_jobs < 1) return FAULT(OUT_OF_RANGE, NUM_JOBS);
    if (num_machines < 1) return FAULT(OUT_OF_RANGE, NUM_MACHINES);
    if (num_near < 1) return FAULT(OUT_OF_RANGE, NUM_NEAR);
    if (!are_numbers(times, num_jobs * num_machines)) return FAULT(NOT_A_NUMBER, TIMES);
    for (int64_t k = 0; k < num_jobs * num_machines; k++) /* so that the longest machine has a job */
        if (times[k] <= 0.0) return FAULT(OUT_OF_RANGE, TIMES);
    if (!are_within(near, num_jobs * num_near, 0, num_machines - 1)) return FAULT(OUT_OF_RANGE, NEAR);
    if (!are_within(machine_of, num_jobs, 0, num_machines - 1)) return FAULT(OUT_OF_RANGE, MACHINE_OF);
    for (int64_t j = 0; j < num_jobs; j++) {
        if (isinf(times[j * num_machines + machine_of[j]])) return FAULT(OUT_OF_RANGE, MACHINE_OF);
        for (int64_t k = 0; k < num_near; k++)
            if (isinf(times[j * num_machines + near[j * num_near + k]])) return FAULT(OUT_OF_RANGE, NEAR);
    }
    if (isnan(least)) return FAULT(NOT_A_NUMBER, LEAST);
    const size_t size = (size_t)num_jobs * sizeof(int64_t);
    int64_t *const room = malloc(3 * size + (size_t)num_machines * sizeof(double));
    if (!room) return FAULT(NO_MEMORY, 0);
    int64_t *const known = room + num_jobs;
    double *const loads = (double *)(room + 3 * num_jobs);
    search s = {num_jobs, num_machines, times, room, loads, room + 2 * num_jobs, clock_now() + seconds};
    memcpy(s.machine_of, machine_of, size);
    descend(&s);
    memcpy(machine_of, s.machine_of, size);
    memcpy(known, s.machine_of, size);
    double best = loads[longest_of(&s)], above = excess(&s, least);
    int64_t made = 0;
    seed = (2 * seed + 1) * 0x9e3779b97f4a7c15u; /* odd: xorshift needs another number than 0 */
    while (made < attempts && best > least && clock_now() < s.deadline) {
        memcpy(s.machine_of, known, size);
        sum_loads(&s);
        move_near(&s, near, num_near, &seed);
        descend(&s);
        made++;
        const double end = loads[longest_of(&s)];
        if (end < best) {
            best = end;
            memcpy(machine_of, s.machine_of, size);
        }
        if (excess(&s, least) <= above) {
            above = excess(&s, least);
            memcpy(known, s.machine_of, size);
        }
    }
    free(room);
    return made;
}
