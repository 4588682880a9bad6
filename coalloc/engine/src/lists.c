#include "lists.h"
#include "profile.h"

/* Probabilities of two of the moves, else a job is given another way; and that another way is one level alone. */
static const double INSERT = 0.5, SWAP = 0.3, ALONE = 0.3;

/* Numbers of parameters, for faults. */
enum { NUM_JOBS = 2, NUM_CLASSES, NUM_SHAPES, RAMPS = 7, WEIGHTS, LEAST, ORDER = 2, WAYS, STEPS = 1, HEATS };

/* A job in a schedule. */
typedef struct {
    double start, end, cost;
} placement;

/* Jobs in schedules: by job its placement, allocation and loads. */
typedef struct {
    placement *times;
    int64_t *allocations;
    double *loads;
} schedule;

struct lists {
    const problem *of;
    const double *ramps, *weights, *alone;
    bool is_sum;
    uint64_t seed;
    double best, now, objective, heats[2];
    int64_t step, steps;
    int64_t *order, *ways, *best_order, *best_ways, *free;
    double *left;
    schedule placed, tried;
    profile profile;
    filling filling;
    arena kept;
};

static void schedule_place(schedule *made, arena *in, const problem *p) {
    made->times = PLACE(in, p->num_jobs, placement);
    made->allocations = PLACE(in, p->num_jobs * p->num_classes, int64_t);
    made->loads = PLACE(in, p->num_jobs * p->num_loads, double);
}

static const double *copied(arena *in, const double *numbers, int64_t size) {
    double *copy = PLACE(in, size, double);
    if (in->room && size) memcpy(copy, numbers, (size_t)size * sizeof(double));
    return copy;
}

static void place_all(lists *of, const double *ramps, const double *weights, const double *alone) {
    const problem *p = of->of;
    of->kept.used = 0;
    of->ramps = copied(&of->kept, ramps, p->num_shapes * p->num_classes * 3);
    of->weights = copied(&of->kept, weights, p->num_jobs);
    of->alone = copied(&of->kept, alone, p->num_jobs);
    of->order = PLACE(&of->kept, p->num_jobs, int64_t);
    of->ways = PLACE(&of->kept, p->num_jobs, int64_t);
    of->best_order = PLACE(&of->kept, p->num_jobs, int64_t);
    of->best_ways = PLACE(&of->kept, p->num_jobs, int64_t);
    of->free = PLACE(&of->kept, p->num_classes, int64_t);
    of->left = PLACE(&of->kept, p->num_loads, double);
    schedule_place(&of->placed, &of->kept, p);
    schedule_place(&of->tried, &of->kept, p);
    profile_place(&of->profile, &of->kept, p);
    filling_place(&of->filling, &of->kept, p);
}

static bool has_nan(const double *numbers, int64_t size) {
    for (int64_t i = 0; i < size; i++)
        if (isnan(numbers[i])) return true;
    return false;
}

int64_t lists_new(
    lists *made[1], const problem *p, int64_t num_jobs, int64_t num_classes, int64_t num_shapes, int64_t is_sum,
    uint64_t seed, const double *ramps, const double *weights, const double *alone) {
    if (num_jobs != p->num_jobs || !num_jobs) return FAULT(OUT_OF_RANGE, NUM_JOBS);
    if (num_classes != p->num_classes) return FAULT(OUT_OF_RANGE, NUM_CLASSES);
    if (num_shapes != p->num_shapes) return FAULT(OUT_OF_RANGE, NUM_SHAPES);
    if (has_nan(ramps, num_shapes * num_classes * 3)) return FAULT(NOT_A_NUMBER, RAMPS);
    if (has_nan(weights, num_jobs)) return FAULT(NOT_A_NUMBER, WEIGHTS);
    if (has_nan(alone, num_jobs)) return FAULT(NOT_A_NUMBER, LEAST);
    for (int64_t j = 0; j < num_jobs; j++) /* a job without a member has no way */
        if (p->member_first[j] == p->member_first[j + 1]) return FAULT(OUT_OF_RANGE, NUM_JOBS);
    lists *new = calloc(1, sizeof(lists));
    if (!new) return FAULT(NO_MEMORY, 0);
    new->of = p;
    new->is_sum = is_sum;
    new->seed = seed;
    new->best = INFINITY;
    place_all(new, ramps, weights, alone);
    new->kept.room = calloc(1, new->kept.used); /* nobody holds anything yet */
    if (!new->kept.room) {
        free(new);
        return FAULT(NO_MEMORY, 0);
    }
    place_all(new, ramps, weights, alone);
    for (int64_t j = 0; j < num_jobs; j++) {
        new->best_order[j] = j;
        new->best_ways[j] = 0;
    }
    made[0] = new;
    return 0;
}

void lists_free(lists *of) {
    if (!of) return;
    free(of->kept.room);
    free(of);
}

double lists_value(const lists *of) { return of->best; }

/* Place a job where it ends first in its way, or in any where that has no place for it, as coalloc.rules.serial_sgs
   does; return the member, -1 where it has none. */
static int64_t place_job(lists *of, int64_t j, placement *times, int64_t *allocation) {
    const problem *p = of->of;
    const int64_t first = p->member_first[j], num_levels = p->member_first[j + 1] - first;
    const int64_t slowest = of->ways[j] / p->num_rules, rule = of->ways[j] % p->num_rules;
    int64_t found = -1;
    times->start = times->end = INFINITY;
    for (int is_any = 0; is_any < 2 && found < 0; is_any++) {
        const int64_t lowest = is_any || slowest < num_levels ? 0 : slowest - num_levels;
        const int64_t highest = is_any ? num_levels - 1 : slowest % num_levels;
        for (int64_t member = first + lowest; member <= first + highest; member++) {
            const double start = profile_start(
                &of->profile, p, member, is_any ? 0 : rule, p->releases[j], times->end, &of->filling, of->free, of->left);
            if (start == INFINITY) continue;
            const double *durations = p->durations + p->shape_of[member] * p->num_classes;
            double duration = 0.0;
            for (int64_t g = 0; g < p->num_classes; g++) {
                allocation[g] = of->filling.allocation[g];
                if (allocation[g] > 0) duration = later(duration, durations[g]);
            }
            found = member;
            times->start = start;
            times->end = start + duration;
        }
    }
    return found;
}

/* Return what a job costs by its start, on the slowest class that it uses. */
static double cost_of(const lists *of, int64_t shape, double start, const int64_t *allocation) {
    const problem *p = of->of;
    const double *durations = p->durations + shape * p->num_classes;
    double duration = -1.0;
    int64_t slowest = 0;
    for (int64_t g = 0; g < p->num_classes; g++)
        if (allocation[g] > 0 && durations[g] > duration) {
            duration = durations[g];
            slowest = g;
        }
    const double *ramp = of->ramps + (shape * p->num_classes + slowest) * 3;
    return later(ramp[0], ramp[1] * start + ramp[2]);
}

/* Note a job in a schedule; return whether it has a place. */
static bool try_job(lists *of, int64_t j, schedule *in) {
    const problem *p = of->of;
    placement *times = in->times + j;
    int64_t *allocation = in->allocations + j * p->num_classes;
    const int64_t member = place_job(of, j, times, allocation);
    if (member < 0) return false;
    const int64_t shape = p->shape_of[member];
    for (int64_t k = 0; k < p->num_loads; k++) in->loads[j * p->num_loads + k] = load_of(p, shape, k, allocation);
    times->cost = cost_of(of, shape, times->start, allocation);
    return true;
}

/* Place what follows a place of the list, the others as they are; note its objective, and return what it costs, infinity
   above a limit. No job costs less than alone, so a list above it on the way stays above. */
static double decode(lists *of, int64_t first, double limit, double *objective) {
    const problem *p = of->of;
    double value = of->is_sum ? 0.0 : -INFINITY, early = 0.0, rest = 0.0;
    *objective = INFINITY;
    profile_begin(&of->profile, p);
    for (int64_t j = 0; j < p->num_jobs && of->is_sum; j++) rest += of->alone[j];
    for (int64_t i = 0; i < p->num_jobs; i++) {
        const int64_t j = of->order[i];
        const schedule *in = i < first ? &of->placed : &of->tried;
        if (i >= first && !try_job(of, j, &of->tried)) return INFINITY;
        const placement *times = in->times + j;
        profile_hold(
            &of->profile, times->start, times->end, in->allocations + j * p->num_classes, in->loads + j * p->num_loads);
        early += of->weights[j] * times->end;
        if (of->is_sum) {
            value += times->cost;
            rest -= of->alone[j];
        } else {
            value = later(value, times->cost);
        }
        if (value + early + rest > limit) return INFINITY;
    }
    *objective = value;
    return value + early;
}

/* Make what was tried from a place of the list on part of its schedule. */
static void keep(lists *of, int64_t first) {
    const size_t num_classes = (size_t)of->of->num_classes, num_loads = (size_t)of->of->num_loads;
    for (int64_t i = first; i < of->of->num_jobs; i++) {
        const size_t j = (size_t)of->order[i];
        const schedule *from = &of->tried, *to = &of->placed;
        to->times[j] = from->times[j];
        memcpy(to->allocations + j * num_classes, from->allocations + j * num_classes, num_classes * sizeof(int64_t));
        memcpy(to->loads + j * num_loads, from->loads + j * num_loads, num_loads * sizeof(double));
    }
}

static void copy_list(const lists *of, const int64_t *order, const int64_t *ways, int64_t *to_order, int64_t *to_ways) {
    const size_t size = (size_t)of->of->num_jobs * sizeof(int64_t);
    memcpy(to_order, order, size);
    memcpy(to_ways, ways, size);
}

static void keep_if_best(lists *of) {
    if (of->objective >= of->best) return;
    of->best = of->objective;
    copy_list(of, of->order, of->ways, of->best_order, of->best_ways);
}

/* Make a list the current one. */
static void go_to(lists *of, const int64_t *order, const int64_t *ways) {
    copy_list(of, order, ways, of->order, of->ways);
    of->now = decode(of, 0, INFINITY, &of->objective);
    keep(of, 0);
}

static bool is_list(const lists *of, const int64_t *order) {
    for (int64_t j = 0; j < of->of->num_jobs; j++) of->order[j] = -1;
    for (int64_t i = 0; i < of->of->num_jobs; i++) {
        if (order[i] < 0 || order[i] >= of->of->num_jobs || of->order[order[i]] == order[i]) return false;
        of->order[order[i]] = order[i];
    }
    return true;
}

int64_t lists_consider(lists *of, int64_t num_jobs, const int64_t *order, const int64_t *ways) {
    const problem *p = of->of;
    if (num_jobs != p->num_jobs) return FAULT(OUT_OF_RANGE, 1);
    of->steps = of->step = 0;
    if (!is_list(of, order)) return FAULT(OUT_OF_ORDER, ORDER);
    for (int64_t j = 0; j < num_jobs; j++)
        if (ways[j] < 0 || ways[j] / p->num_rules >= 2 * (p->member_first[j + 1] - p->member_first[j]))
            return FAULT(OUT_OF_RANGE, WAYS);
    go_to(of, order, ways);
    keep_if_best(of);
    return 0;
}

int64_t lists_begin(lists *of, int64_t steps, double first_heat, double last_heat) {
    if (steps < 0) return FAULT(OUT_OF_RANGE, STEPS);
    if (of->best < INFINITY && !isfinite(first_heat)) return FAULT(NOT_A_NUMBER, HEATS);
    if (of->best < INFINITY && !isfinite(last_heat)) return FAULT(NOT_A_NUMBER, HEATS + 1);
    of->step = 0;
    of->steps = of->best < INFINITY ? steps : 0;
    of->heats[0] = first_heat;
    of->heats[1] = last_heat;
    go_to(of, of->best_order, of->best_ways);
    return 0;
}

/* Draw two places of a list, mostly few apart. */
static void draw_places(lists *of, int64_t *i, int64_t *k) {
    const int64_t n = of->of->num_jobs;
    *i = (int64_t)(draw(&of->seed) * (double)n);
    const int64_t width = (int64_t)exp(draw(&of->seed) * log((double)larger(2, n)));
    *k = smaller(n - 1, larger(0, *i + (draw(&of->seed) < 0.5 ? width : -width)));
}

/* Take the job at place i to place k, or swap the two. */
static void move(int64_t *order, int64_t i, int64_t k, bool is_insert) {
    const int64_t j = order[i];
    if (!is_insert) order[i] = order[k];
    else if (i < k) memmove(order + i, order + i + 1, (size_t)(k - i) * sizeof(int64_t));
    else memmove(order + k + 1, order + k, (size_t)(i - k) * sizeof(int64_t));
    order[k] = j;
}

static int64_t another_way(lists *of, int64_t j) {
    const problem *p = of->of;
    const int64_t num_levels = p->member_first[j + 1] - p->member_first[j];
    int64_t level = (int64_t)(draw(&of->seed) * (double)num_levels);
    if (draw(&of->seed) < ALONE) level += num_levels;
    return level * p->num_rules + (int64_t)(draw(&of->seed) * (double)p->num_rules);
}

/* Make one step of annealing. */
static void step(lists *of) {
    const double share = (double)of->step / (double)of->steps;
    const double heat = of->heats[0] + (of->heats[1] - of->heats[0]) * share;
    const double limit = of->now - heat * log(1.0 - draw(&of->seed)), kind = draw(&of->seed);
    int64_t i = (int64_t)(draw(&of->seed) * (double)of->of->num_jobs), k = i, way = 0;
    const int64_t j = of->order[i];
    if (kind < INSERT + SWAP) {
        draw_places(of, &i, &k);
        if (i == k) return;
        move(of->order, i, k, kind < INSERT);
    } else {
        way = of->ways[j];
        of->ways[j] = another_way(of, j);
        if (of->ways[j] == way) return;
    }
    double objective;
    const double cost = decode(of, smaller(i, k), limit, &objective);
    if (cost <= limit) {
        keep(of, smaller(i, k));
        of->now = cost;
        of->objective = objective;
    } else if (kind < INSERT + SWAP) {
        move(of->order, k, i, kind < INSERT);
    } else {
        of->ways[j] = way;
    }
}

int64_t lists_anneal(lists *of, double seconds) {
    const double until = clock_now() + seconds;
    while (of->step < of->steps) {
        step(of);
        of->step++;
        keep_if_best(of);
        if (clock_now() >= until) break;
    }
    return of->steps - of->step;
}

int64_t lists_best(
    lists *of, int64_t num_jobs, int64_t num_classes, int64_t *order, int64_t *ways, double *starts,
    int64_t *allocations) {
    if (num_jobs != of->of->num_jobs) return FAULT(OUT_OF_RANGE, 1);
    if (num_classes != of->of->num_classes) return FAULT(OUT_OF_RANGE, 2);
    of->steps = of->step = 0;
    go_to(of, of->best_order, of->best_ways);
    copy_list(of, of->order, of->ways, order, ways);
    for (int64_t j = 0; j < num_jobs; j++) starts[j] = of->placed.times[j].start;
    memcpy(allocations, of->placed.allocations, (size_t)(num_jobs * num_classes) * sizeof(int64_t));
    return 0;
}
