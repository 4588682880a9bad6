#include "lists.h"
#include "profile.h"

/* Probabilities of two of the moves, else a job is given another way; and that another way is one level alone. */
static const double INSERT = 0.5, SWAP = 0.3, ALONE = 0.3;
/* Probability that such a move is aimed: at a job that waits and one that starts while it does. */
static const double AIMED = 0.8;
/* Jobs that are drawn, at most, for one that waits; steps after which a list is decoded from its beginning; placements
   between two looks at the clock; parts of a list before each of which its profile is kept. */
enum { TRIALS = 8, TIDIED = 1000, LOOKS = 16, NUM_PARTS = 16 };

/* Numbers of parameters, for faults. */
enum { NUM_JOBS = 2, NUM_CLASSES, NUM_SHAPES, RAMPS = 7, WEIGHTS, LEAST, LATEST, ORDER = 2, WAYS, STEPS, HEATS };

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

/* A place of the current list. From it on, when the first job may start, what all cost at least, and the greatest cost;
   before it, the objective, and what ends cost beside. */
typedef struct {
    double release, alone, greatest, before, early;
} sums;

/* A list that is being decoded: the next place, what has been placed so far costs and costs beside, what the rest costs
   at least, the limit for all, and by when the last job ends that is placed otherwise than in the current schedule. */
typedef struct {
    int64_t next;
    double value, early, rest, limit, differs;
} decoding;

/* A move: of the job at place i to place k, a swap of both, or of another way for the job at place i. */
typedef struct {
    enum { NONE, INSERTION, EXCHANGE, OTHER_WAY } kind;
    int64_t i, k, way;
} change;

struct lists {
    const problem *of;
    const double *ramps, *weights, *alone, *latest;
    bool is_sum, has_ways, is_decoding;
    uint64_t seed;
    double best, now, heats[2];
    int64_t step, steps, tidied;
    int64_t *order, *ways, *best_order, *best_ways, *best_allocations;
    double *best_starts;
    sums *sums;
    schedule placed, tried;
    decoding decoding;
    change change;
    profile profile, parts[NUM_PARTS]; /* those of size 0 are to be made anew */
    room room;
    filling filling;
    arena kept;
};

static void schedule_place(schedule *made, arena *in, const problem *p) {
    made->times = PLACE(in, p->num_jobs, placement);
    made->allocations = PLACE(in, p->num_jobs * p->num_classes, int64_t);
    made->loads = PLACE(in, p->num_jobs * p->num_loads, double);
}

static void place_all(
    lists *of, const double *ramps, const double *weights, const double *alone, const double *latest) {
    const problem *p = of->of;
    of->ramps = COPIED(&of->kept, ramps, p->num_shapes * p->num_classes * 3);
    of->weights = COPIED(&of->kept, weights, p->num_jobs);
    of->alone = COPIED(&of->kept, alone, p->num_jobs);
    of->latest = COPIED(&of->kept, latest, p->num_jobs);
    of->order = PLACE(&of->kept, p->num_jobs, int64_t);
    of->ways = PLACE(&of->kept, p->num_jobs, int64_t);
    of->best_order = PLACE(&of->kept, p->num_jobs, int64_t);
    of->best_ways = PLACE(&of->kept, p->num_jobs, int64_t);
    of->best_allocations = PLACE(&of->kept, p->num_jobs * p->num_classes, int64_t);
    of->best_starts = PLACE(&of->kept, p->num_jobs, double);
    of->sums = PLACE(&of->kept, p->num_jobs + 1, sums);
    room_place(&of->room, &of->kept, p);
    schedule_place(&of->placed, &of->kept, p);
    schedule_place(&of->tried, &of->kept, p);
    profile_place(&of->profile, &of->kept, p);
    for (int64_t part = 0; part < NUM_PARTS; part++) profile_place(of->parts + part, &of->kept, p);
    filling_place(&of->filling, &of->kept, p);
}

int64_t lists_new(
    lists *made[1], const problem *p, int64_t num_jobs, int64_t num_classes, int64_t num_shapes, int64_t is_sum,
    uint64_t seed, const double ramps[num_shapes * num_classes * 3], const double weights[num_jobs],
    const double alone[num_jobs], const double latest[num_jobs]) {
    if (num_jobs != p->num_jobs || !num_jobs) return FAULT(OUT_OF_RANGE, NUM_JOBS);
    if (num_classes != p->num_classes) return FAULT(OUT_OF_RANGE, NUM_CLASSES);
    if (num_shapes != p->num_shapes) return FAULT(OUT_OF_RANGE, NUM_SHAPES);
    if (!are_numbers(ramps, num_shapes * num_classes * 3)) return FAULT(NOT_A_NUMBER, RAMPS);
    if (!are_numbers(weights, num_jobs)) return FAULT(NOT_A_NUMBER, WEIGHTS);
    if (!are_numbers(alone, num_jobs)) return FAULT(NOT_A_NUMBER, LEAST);
    if (!are_numbers(latest, num_jobs)) return FAULT(NOT_A_NUMBER, LATEST);
    for (int64_t j = 0; j < num_jobs; j++) /* a job without a member has no way */
        if (p->member_first[j] == p->member_first[j + 1]) return FAULT(OUT_OF_RANGE, NUM_JOBS);
    lists *new = calloc(1, sizeof(lists));
    if (!new) return FAULT(NO_MEMORY, 0);
    new->of = p;
    new->is_sum = is_sum;
    new->seed = seed;
    new->best = INFINITY;
    place_all(new, ramps, weights, alone, latest);
    if (!make_room(&new->kept)) { /* nobody holds anything yet */
        free(new);
        return FAULT(NO_MEMORY, 0);
    }
    place_all(new, ramps, weights, alone, latest);
    for (int64_t j = 0; j < num_jobs; j++) {
        new->best_order[j] = j;
        new->has_ways = new->has_ways || p->num_classes > 1 || p->member_first[j + 1] - p->member_first[j] > 1;
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

/* Place a job where it ends first in its way, or in any where that has no place for it by its latest end, as
   coalloc.rules.serial_sgs does; return the member, -1 where it has none. */
static int64_t place_job(lists *of, int64_t j, placement *times, int64_t *allocation) {
    const problem *p = of->of;
    const int64_t first = p->member_first[j], num_levels = p->member_first[j + 1] - first;
    const int64_t slowest = of->ways[j] / p->num_rules, rule = of->ways[j] % p->num_rules;
    int64_t found = -1;
    times->start = INFINITY;
    times->end = nextafter(of->latest[j], INFINITY); /* what is found ends before that */
    for (int is_any = 0; is_any < 2 && found < 0; is_any++) {
        const int64_t lowest = is_any || slowest < num_levels ? 0 : slowest - num_levels;
        const int64_t highest = is_any ? num_levels - 1 : slowest % num_levels;
        for (int64_t member = first + lowest; member <= first + highest; member++) {
            const double start = profile_start(
                &of->profile, p, member, is_any ? 0 : rule, p->releases[j], times->end, &of->filling, &of->room);
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

static double joined(const lists *of, double value, double other) {
    return of->is_sum ? value + other : later(value, other);
}

static int64_t first_of(const lists *of, int64_t part) { return part * of->of->num_jobs / NUM_PARTS; }

/* Take the jobs of the current schedule from a place to before another. */
static void hold(lists *of, int64_t first, int64_t behind) {
    const problem *p = of->of;
    for (int64_t i = first; i < behind; i++) {
        const int64_t j = of->order[i];
        const placement *times = of->placed.times + j;
        if (times->end > of->profile.times[0])
            profile_hold(
                &of->profile, times->start, times->end, of->placed.allocations + j * p->num_classes,
                of->placed.loads + j * p->num_loads);
    }
}

/* Make the profile before a part: of that before an earlier one, unless it goes back further than it needs to. */
static void make_part(lists *of, int64_t part) {
    const double since = of->sums[first_of(of, part)].release;
    int64_t from = part;
    while (from > 0 && !of->parts[from].size) from--;
    if (of->parts[from].size && of->parts[from].times[0] == since) {
        profile_copy(&of->profile, of->parts + from);
        hold(of, first_of(of, from), first_of(of, part));
    } else {
        profile_begin(&of->profile, of->of, since);
        hold(of, 0, first_of(of, part));
    }
}

/* Decode the list anew from a place on. Nothing that follows starts before the least release of it, so the profile need
   not go back further. */
static void decode_from(lists *of, int64_t first, double limit) {
    int64_t part = NUM_PARTS - 1;
    while (first_of(of, part) > first) part--;
    const int64_t begins = first_of(of, part);
    profile *kept = of->parts + part;
    if (!kept->size) {
        make_part(of, part);
        profile_copy(kept, &of->profile);
    } else {
        profile_copy(&of->profile, kept);
    }
    hold(of, begins, first);
    const sums *here = of->sums + first;
    of->decoding = (decoding){first, here->before, here->early, here->alone, limit, -INFINITY};
    of->is_decoding = true;
}

/* Place the next job; return whether it has a place. */
static bool place_next(lists *of) {
    const problem *p = of->of;
    decoding *now = &of->decoding;
    const int64_t j = of->order[now->next++];
    if (!try_job(of, j, &of->tried)) return false;
    const placement *times = of->tried.times + j, *before = of->placed.times + j;
    const int64_t *allocation = of->tried.allocations + j * p->num_classes;
    profile_hold(&of->profile, times->start, times->end, allocation, of->tried.loads + j * p->num_loads);
    now->value = joined(of, now->value, times->cost);
    now->early += of->weights[j] * times->end;
    now->rest -= of->alone[j];
    const int64_t *held = of->placed.allocations + j * p->num_classes;
    if (times->start != before->start || memcmp(allocation, held, (size_t)p->num_classes * sizeof(int64_t)))
        now->differs = later(now->differs, later(times->end, before->end));
    return true;
}

/* Decode on, and return whether that is done, with the cost of the list: infinity above the limit. No job costs less
   than alone, so a list above it on the way stays above. Behind the last place that has changed nothing changes any
   more once all that is placed otherwise has ended, now as before, when the next may start: those that follow see the
   same profile. */
static bool decode_on(lists *of, int64_t last, double until, double *cost) {
    const int64_t n = of->of->num_jobs;
    decoding *now = &of->decoding;
    *cost = INFINITY;
    for (int64_t placed = 1; now->next < n; placed++) {
        if (placed % LOOKS == 0 && clock_now() >= until) return false;
        if (!place_next(of) || now->value + now->early + (of->is_sum ? now->rest : 0.0) > now->limit) return true;
        const sums *next = of->sums + now->next, *end = of->sums + n;
        if (now->next > last && now->next < n && now->differs <= next->release) {
            now->value = of->is_sum ? now->value + end->before - next->before : later(now->value, next->greatest);
            now->early = now->early + end->early - next->early;
            break;
        }
    }
    *cost = now->value + now->early;
    return true;
}

/* Sum up over places of the current list, from the last before `behind` down to the first, what follows each. */
static void sum_up(lists *of, int64_t first, int64_t behind) {
    for (int64_t i = behind - 1; i >= first; i--) {
        const sums *next = of->sums + i + 1;
        const int64_t j = of->order[i];
        of->sums[i].release = earlier(of->of->releases[j], next->release);
        of->sums[i].alone = next->alone + of->alone[j];
    }
}

/* Forget the profiles before parts that begin behind a place. */
static void forget(lists *of, int64_t place) {
    for (int64_t part = NUM_PARTS - 1; part >= 0 && first_of(of, part) > place; part--) of->parts[part].size = 0;
}

/* Make what was tried of places of the list, from the first to before the next to be decoded, part of its schedule. */
static void keep(lists *of, int64_t first) {
    const size_t num_classes = (size_t)of->of->num_classes, num_loads = (size_t)of->of->num_loads;
    const int64_t n = of->of->num_jobs, behind = of->decoding.next;
    const sums before = of->sums[behind];
    for (int64_t i = first; i < behind; i++) {
        const size_t j = (size_t)of->order[i];
        const schedule *from = &of->tried, *to = &of->placed;
        to->times[j] = from->times[j];
        memcpy(to->allocations + j * num_classes, from->allocations + j * num_classes, num_classes * sizeof(int64_t));
        memcpy(to->loads + j * num_loads, from->loads + j * num_loads, num_loads * sizeof(double));
        of->sums[i + 1].before = joined(of, of->sums[i].before, to->times[j].cost);
        of->sums[i + 1].early = of->sums[i].early + of->weights[j] * to->times[j].end;
    }
    sum_up(of, first, behind);
    forget(of, first);
    const double shift = of->sums[behind].before - before.before, early = of->sums[behind].early - before.early;
    for (int64_t i = behind + 1; i <= n; i++) {
        sums *at = of->sums + i;
        at->before = of->is_sum ? at->before + shift : later(at[-1].before, of->placed.times[of->order[i - 1]].cost);
        at->early += early;
    }
    for (int64_t i = behind - 1; i >= 0 && !of->is_sum; i--)
        of->sums[i].greatest = later(of->placed.times[of->order[i]].cost, of->sums[i + 1].greatest);
}

static void copy_list(const lists *of, const int64_t *order, const int64_t *ways, int64_t *to_order, int64_t *to_ways) {
    const size_t size = (size_t)of->of->num_jobs * sizeof(int64_t);
    memcpy(to_order, order, size);
    memcpy(to_ways, ways, size);
}

/* Take the cost of the current list, and keep it where its objective is the least. */
static void take(lists *of, double cost) {
    of->now = cost;
    if (of->decoding.value >= of->best) return;
    of->best = of->decoding.value;
    copy_list(of, of->order, of->ways, of->best_order, of->best_ways);
    for (int64_t j = 0; j < of->of->num_jobs; j++) of->best_starts[j] = of->placed.times[j].start;
    const size_t size = (size_t)(of->of->num_jobs * of->of->num_classes) * sizeof(int64_t);
    memcpy(of->best_allocations, of->placed.allocations, size);
}

/* Begin to decode the current list from its beginning. */
static void open_list(lists *of) {
    const int64_t n = of->of->num_jobs;
    of->sums[n] = (sums){INFINITY, 0.0, -INFINITY, 0.0, 0.0};
    sum_up(of, 0, n);
    forget(of, -1);
    of->sums[0].before = of->is_sum ? 0.0 : -INFINITY;
    of->sums[0].early = 0.0;
    of->change = (change){NONE, 0, 0, 0};
    decode_from(of, 0, INFINITY);
}

static bool is_permutation(int64_t *marks, const int64_t *order, int64_t size) {
    for (int64_t j = 0; j < size; j++) marks[j] = -1;
    for (int64_t i = 0; i < size; i++) {
        if (order[i] < 0 || order[i] >= size || marks[order[i]] >= 0) return false;
        marks[order[i]] = i;
    }
    return true;
}

int64_t lists_begin(
    lists *of, int64_t num_jobs, const int64_t order[num_jobs], const int64_t ways[num_jobs], int64_t steps,
    double first_heat, double last_heat) {
    const problem *p = of->of;
    if (num_jobs != p->num_jobs) return FAULT(OUT_OF_RANGE, 1);
    if (steps < 0) return FAULT(OUT_OF_RANGE, STEPS);
    if (steps && !(first_heat > 0.0 && first_heat < INFINITY)) return FAULT(OUT_OF_RANGE, HEATS);
    if (steps && !(last_heat > 0.0 && last_heat < INFINITY)) return FAULT(OUT_OF_RANGE, HEATS + 1);
    for (int64_t j = 0; j < num_jobs; j++)
        if (ways[j] < 0 || ways[j] / p->num_rules >= 2 * (p->member_first[j + 1] - p->member_first[j]))
            return FAULT(OUT_OF_RANGE, WAYS);
    of->is_decoding = false;
    of->step = of->steps = 0;
    if (!is_permutation(of->order, order, num_jobs)) return FAULT(OUT_OF_ORDER, ORDER);
    copy_list(of, order, ways, of->order, of->ways);
    of->steps = steps;
    of->tidied = of->is_sum && !of->has_ways ? -1 : 0;
    of->heats[0] = first_heat;
    of->heats[1] = last_heat;
    open_list(of);
    return 0;
}

/* Return a random number from 0 to below another. */
static int64_t draw_below(lists *of, int64_t number) { return (int64_t)(draw(&of->seed) * (double)number); }

/* Draw two places of a list, mostly few apart. */
static void draw_places(lists *of, int64_t *i, int64_t *k) {
    const int64_t n = of->of->num_jobs;
    *i = draw_below(of, n);
    const int64_t width = (int64_t)exp(draw(&of->seed) * log((double)larger(2, n)));
    *k = smaller(n - 1, larger(0, *i + (draw(&of->seed) < 0.5 ? width : -width)));
}

/* Draw the places of a job that waits and of one that starts meanwhile, in either order; equal ones where none is
   found. The list is about in the order of its starts. */
static void draw_aimed(lists *of, int64_t *i, int64_t *k) {
    const placement *times = of->placed.times;
    for (int64_t trial = 0; trial < TRIALS; trial++) {
        const int64_t waits = draw_below(of, of->of->num_jobs), j = of->order[waits];
        const double release = of->of->releases[j];
        if (!waits || times[j].start <= release) continue;
        int64_t first = waits - 1;
        while (first > 0 && times[of->order[first - 1]].start >= release) first--;
        const int64_t other = first + draw_below(of, waits - first);
        const bool is_first = draw(&of->seed) < 0.5;
        *i = is_first ? waits : other;
        *k = is_first ? other : waits;
        return;
    }
    *i = *k = 0;
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
    int64_t level = draw_below(of, num_levels);
    if (draw(&of->seed) < ALONE) level += num_levels;
    return level * p->num_rules + draw_below(of, p->num_rules);
}

/* Put the list, which nearly is, in the order of its starts, by insertion. */
static void sort(lists *of) {
    const placement *times = of->placed.times;
    for (int64_t i = 1; i < of->of->num_jobs; i++) {
        const int64_t j = of->order[i];
        int64_t k = i;
        for (; k > 0 && times[of->order[k - 1]].start > times[j].start; k--) of->order[k] = of->order[k - 1];
        of->order[k] = j;
    }
}

static void propose(lists *of) {
    const double share = (double)of->step / (double)of->steps;
    const double heat = of->heats[0] * pow(of->heats[1] / of->heats[0], share);
    const double limit = of->now - heat * log(1.0 - draw(&of->seed));
    const double kind = draw(&of->seed) * (of->has_ways ? 1.0 : INSERT + SWAP);
    const int64_t i = draw_below(of, of->of->num_jobs);
    change *by = &of->change;
    *by = (change){OTHER_WAY, i, i, 0};
    if (kind < INSERT + SWAP) {
        by->kind = kind < INSERT ? INSERTION : EXCHANGE;
        if (of->is_sum && !of->has_ways && draw(&of->seed) < AIMED) draw_aimed(of, &by->i, &by->k);
        else draw_places(of, &by->i, &by->k);
        if (by->i == by->k) by->kind = NONE;
        else move(of->order, by->i, by->k, by->kind == INSERTION);
    } else {
        int64_t *way = of->ways + of->order[i];
        by->way = *way;
        *way = another_way(of, of->order[i]);
        if (*way == by->way) by->kind = NONE;
    }
    if (by->kind == NONE) of->step++;
    else decode_from(of, smaller(by->i, by->k), limit);
}

static void undo(lists *of) {
    const change *by = &of->change;
    if (by->kind == OTHER_WAY) of->ways[of->order[by->i]] = by->way;
    else move(of->order, by->k, by->i, by->kind == INSERTION);
}

/* Take a decoded list, of a cost, if it is below its limit, or else return to the one before. Where the current one has
   no schedule there is nothing to anneal. */
static void settle(lists *of, double cost) {
    const change *by = &of->change;
    of->is_decoding = false;
    if (by->kind != NONE) of->step++;
    if (cost <= of->decoding.limit && cost < INFINITY) {
        keep(of, smaller(by->i, by->k));
        take(of, cost);
    } else if (by->kind != NONE) {
        undo(of);
    } else {
        of->steps = of->step;
    }
}

/* Begin a step of annealing. Sums of costs lose digits from step to step, so they are made anew now and then. */
static void begin_step(lists *of) {
    if (of->step % TIDIED || of->tidied == of->step) {
        propose(of);
        return;
    }
    of->tidied = of->step;
    if (of->is_sum && !of->has_ways) sort(of);
    open_list(of);
}

int64_t lists_go_on(lists *of, double seconds) {
    const double until = clock_now() + seconds;
    for (int64_t begun = 1; of->is_decoding || of->step < of->steps; begun++) {
        if (begun % LOOKS == 0 && clock_now() >= until) return 1;
        if (!of->is_decoding) begin_step(of);
        double cost;
        const change *by = &of->change;
        if (!of->is_decoding) continue;
        if (!decode_on(of, by->kind == NONE ? of->of->num_jobs : larger(by->i, by->k), until, &cost)) return 1;
        settle(of, cost);
    }
    return 0;
}

int64_t lists_best(
    const lists *of, int64_t num_jobs, int64_t num_classes, int64_t order[num_jobs], int64_t ways[num_jobs],
    double starts[num_jobs], int64_t allocations[num_jobs * num_classes]) {
    if (num_jobs != of->of->num_jobs) return FAULT(OUT_OF_RANGE, 1);
    if (num_classes != of->of->num_classes) return FAULT(OUT_OF_RANGE, 2);
    copy_list(of, of->best_order, of->best_ways, order, ways);
    memcpy(starts, of->best_starts, (size_t)num_jobs * sizeof(double));
    memcpy(allocations, of->best_allocations, (size_t)(num_jobs * num_classes) * sizeof(int64_t));
    return 0;
}
