#include "lists.h"
#include "constraints.h"
#include "profile.h"

/* Probabilities of two of the moves, else a job is given another way; and that another way is one level alone. */
static const double INSERT = 0.5, SWAP = 0.3, ALONE = 0.3;
/* Probability that such a move is aimed: at a job that waits and one that starts while it does. */
static const double AIMED = 0.8;
/* Numbers that profiles before parts of a list hold at most, all together, where there is more than one part. */
static const double MOST_KEPT = 3e7;
/* Jobs that are drawn, at most, for one that waits; steps after which a list is decoded from its beginning; parts
   of a list before each of which its profile is kept, at most. */
enum { TRIALS = 8, TIDIED = 1000, MOST_PARTS = 16 };

/* Numbers of parameters, for faults. */
enum {
    CONSTRAINTS = 2, NUM_JOBS, NUM_CLASSES, NUM_SHAPES, SCALE = 11, PIECE_FIRST, ENDS, COSTS, SLOPES, WEIGHTS, LEAST,
    ORDER = 2, WAYS, STEPS, HEATS, ALLOCATIONS = 3
};

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

/* What decoding waits for: the modes of a job that finds no filling, or the cost of one that has a place. */
typedef enum { NOTHING, MODES, COST } question;

/* What becomes of a job, and of a list. */
typedef enum { PLACED, NOWHERE, ASKING } outcome;
typedef enum { DECODED, PAUSED, ASKED } progress;

/* The allocations of a job, one after the other, and the shape of each; without allocations they are not known. */
typedef struct {
    int64_t size, *allocations, *shapes;
} modes;

/* A move: of the job at place i to place k, a swap of both, or of another way for the job at place i. */
typedef struct {
    enum { NONE, INSERTION, EXCHANGE, OTHER_WAY } kind;
    int64_t i, k, way;
} change;

/* No job of the current list starts before `since`. */
struct lists {
    const problem *of;
    const constraints *constraints;
    const int64_t *piece_first;
    const double *ends, *costs, *slopes, *weights, *alone;
    spent spent;
    double scale, since, *fastest, *mode_loads, answer;
    bool is_sum, is_end, is_asked, asks_modes, has_ways, is_decoding, is_answered, is_hurried;
    question asked;
    modes *modes;
    span *spans;
    uint64_t seed;
    double best, now, heats[2];
    int64_t step, steps, tidied;
    int64_t *order, *ways, *best_order, *best_ways, *best_allocations;
    double *best_starts;
    sums *sums;
    schedule placed, tried;
    decoding decoding;
    change change;
    int64_t num_parts;
    profile profile, parts[MOST_PARTS]; /* those of size 0 are to be made anew */
    room room;
    filling filling;
    arena kept;
};

static void schedule_place(schedule *made, arena *in, const problem *p) {
    made->times = PLACE(in, p->num_jobs, placement);
    made->allocations = PLACE(in, p->num_jobs * p->num_classes, int64_t);
    made->loads = PLACE(in, p->num_jobs * p->num_loads, double);
}

/* Lay out a copy of what was given, and the rest. */
static void lay_out(lists *of, const lists *given) {
    const problem *p = of->of;
    arena *kept = &of->kept;
    const int64_t num_costs = p->num_shapes * p->num_classes;
    const int64_t num_points = given->piece_first[num_costs];
    of->ends = COPIED(kept, given->ends, num_points);
    of->costs = COPIED(kept, given->costs, num_points);
    of->slopes = COPIED(kept, given->slopes, num_costs);
    of->weights = COPIED(kept, given->weights, p->num_jobs);
    of->alone = COPIED(kept, given->alone, p->num_jobs);
    of->piece_first = COPIED(kept, given->piece_first, num_costs + 1);
    of->fastest = PLACE(kept, p->num_shapes, double);
    of->mode_loads = PLACE(kept, p->num_loads, double);
    of->modes = PLACE(kept, p->num_jobs, modes);
    of->spans = PLACE(kept, p->num_jobs, span);
    of->order = PLACE(kept, p->num_jobs, int64_t);
    of->ways = PLACE(kept, p->num_jobs, int64_t);
    of->best_order = PLACE(kept, p->num_jobs, int64_t);
    of->best_ways = PLACE(kept, p->num_jobs, int64_t);
    of->best_allocations = PLACE(kept, p->num_jobs * p->num_classes, int64_t);
    of->best_starts = PLACE(kept, p->num_jobs, double);
    of->sums = PLACE(kept, p->num_jobs + 1, sums);
    room_place(&of->room, kept, p);
    schedule_place(&of->placed, kept, p);
    schedule_place(&of->tried, kept, p);
    profile_place(&of->profile, kept, p);
    for (int64_t part = 0; part < of->num_parts; part++) profile_place(of->parts + part, kept, p);
    filling_place(&of->filling, kept, p);
    if (!of->constraints->spending) return;
    spent_place(&of->spent, kept, of->constraints->spending);
    of->filling.spent = &of->spent;
}

static int64_t fault_of(const lists *given, int64_t num_points) {
    const problem *p = given->of;
    const int64_t num_costs = p->num_shapes * p->num_classes;
    if (given->constraints->num_jobs != p->num_jobs ||
        (given->constraints->spending && given->constraints->spending->of != p))
        return FAULT(OUT_OF_RANGE, CONSTRAINTS);
    if (!isfinite(given->scale)) return FAULT(NOT_A_NUMBER, SCALE);
    if (!are_firsts(given->piece_first, num_costs + 1, num_points)) return FAULT(OUT_OF_ORDER, PIECE_FIRST);
    if (!are_numbers(given->ends, num_points)) return FAULT(NOT_A_NUMBER, ENDS);
    if (!are_numbers(given->costs, num_points)) return FAULT(NOT_A_NUMBER, COSTS);
    if (!are_numbers(given->slopes, num_costs)) return FAULT(NOT_A_NUMBER, SLOPES);
    if (!are_numbers(given->weights, p->num_jobs)) return FAULT(NOT_A_NUMBER, WEIGHTS);
    if (!are_numbers(given->alone, p->num_jobs)) return FAULT(NOT_A_NUMBER, LEAST);
    for (int64_t j = 0; j < p->num_jobs; j++) /* a job without a member has no way */
        if (p->member_first[j] == p->member_first[j + 1]) return FAULT(OUT_OF_RANGE, NUM_JOBS);
    for (int64_t i = 0; i < num_costs && !given->is_end && !given->is_asked; i++)
        if (given->piece_first[i] == given->piece_first[i + 1]) return FAULT(OUT_OF_ORDER, PIECE_FIRST);
    return 0;
}

int64_t lists_new(
    lists *made[1], const problem *p, const constraints *c, int64_t num_jobs, int64_t num_classes, int64_t num_shapes,
    int64_t num_points, int64_t is_sum, int64_t cost, int64_t asks_modes, uint64_t seed, double scale,
    const int64_t *piece_first, const double *ends, const double *costs, const double *slopes, const double *weights,
    const double *alone) {
    if (num_jobs != p->num_jobs || !num_jobs) return FAULT(OUT_OF_RANGE, NUM_JOBS);
    if (num_classes != p->num_classes) return FAULT(OUT_OF_RANGE, NUM_CLASSES);
    if (num_shapes != p->num_shapes) return FAULT(OUT_OF_RANGE, NUM_SHAPES);
    lists given = {
        .of = p, .constraints = c, .is_sum = is_sum, .is_end = cost == 0, .is_asked = cost == 2,
        .asks_modes = asks_modes, .seed = seed, .scale = scale, .since = -INFINITY, .best = INFINITY, .piece_first = piece_first,
        .ends = ends, .costs = costs, .slopes = slopes, .weights = weights, .alone = alone,
    };
    const int64_t fault = fault_of(&given, num_points);
    if (fault) return fault;
    const double each = 2.0 * (double)(p->num_jobs + p->num_held + 2) * (double)(1 + p->num_classes + p->num_loads);
    given.num_parts = (int64_t)later(1.0, earlier(MOST_PARTS, MOST_KEPT / each));
    lists *new = malloc(sizeof(lists));
    if (!new) return FAULT(NO_MEMORY, 0);
    *new = given;
    lay_out(new, &given);
    if (!make_room(&new->kept)) { /* nobody holds anything yet */
        free(new);
        return FAULT(NO_MEMORY, 0);
    }
    lay_out(new, &given);
    for (int64_t j = 0; j < num_jobs; j++) {
        new->best_order[j] = j;
        new->has_ways = new->has_ways || p->num_classes > 1 || p->member_first[j + 1] - p->member_first[j] > 1;
    }
    for (int64_t shape = 0; shape < num_shapes; shape++) {
        new->fastest[shape] = INFINITY;
        for (int64_t g = 0; g < num_classes; g++)
            new->fastest[shape] = earlier(new->fastest[shape], p->durations[shape * num_classes + g]);
    }
    made[0] = new;
    return 0;
}

void lists_free(lists *of) {
    if (!of) return;
    for (int64_t j = 0; j < of->of->num_jobs; j++) free(of->modes[j].allocations);
    free(of->kept.room);
    free(of);
}

double lists_value(const lists *of) { return of->best; }

/* Return how long a shape takes on the slowest class that it uses, and which that is. */
static double duration_of(const lists *of, int64_t shape, const int64_t *allocation, int64_t *slowest) {
    const problem *p = of->of;
    const double *durations = p->durations + shape * p->num_classes;
    double duration = -1.0;
    *slowest = 0;
    for (int64_t g = 0; g < p->num_classes; g++)
        if (allocation[g] > 0 && durations[g] > duration) {
            duration = durations[g];
            *slowest = g;
        }
    return later(0.0, duration);
}

/* Place a job at a level if it ends before times->end, as early as its constraints let it; return whether it does. */
static bool place_member(lists *of, int64_t member, int64_t rule, placement *times, int64_t *allocation) {
    const problem *p = of->of;
    const int64_t j = p->job_of[member], shape = p->shape_of[member];
    const double latest = of->constraints->latest[j] - of->fastest[shape] + p->ticks[member];
    const double before = latest < times->end ? nextafter(latest, INFINITY) : times->end; /* on the fastest class */
    double release = later(p->releases[j], of->since);
    while (true) {
        const double start =
            profile_start(&of->profile, p, member, rule, release, before, &of->filling, &of->room);
        if (start == INFINITY) return false;
        int64_t slowest;
        const double duration = duration_of(of, shape, of->filling.allocation, &slowest);
        release = constraints_start(of->constraints, j, start, duration, of->spans);
        if (release == INFINITY) return false;
        if (release > start) continue;
        memcpy(allocation, of->filling.allocation, (size_t)p->num_classes * sizeof(int64_t));
        times->start = start;
        times->end = start + duration;
        return true;
    }
}

/* Place a job in the mode in which it ends first; return whether there is one. */
static bool place_mode(lists *of, int64_t j, placement *times, int64_t *allocation, int64_t *shape) {
    const problem *p = of->of;
    const modes *known = of->modes + j;
    bool is_found = false;
    for (int64_t m = 0; m < known->size; m++) {
        const int64_t *tried = known->allocations + m * p->num_classes;
        int64_t slowest;
        const double duration = duration_of(of, known->shapes[m], tried, &slowest);
        double start = -INFINITY, release = later(p->releases[j], of->since);
        if (release + duration >= times->end) continue;
        if (of->filling.spent && !spent_affords(&of->spent, j, tried)) continue;
        for (int64_t k = 0; k < p->num_loads; k++) of->mode_loads[k] = load_of(p, known->shapes[m], k, tried);
        while (release > start && release < INFINITY) {
            start = profile_fit(&of->profile, p, tried, of->mode_loads, release, duration);
            release = start < INFINITY ? constraints_start(of->constraints, j, start, duration, of->spans) : INFINITY;
        }
        if (!(release + duration < times->end)) continue;
        is_found = true;
        *shape = known->shapes[m];
        times->start = release;
        times->end = release + duration;
        memcpy(allocation, tried, (size_t)p->num_classes * sizeof(int64_t));
    }
    return is_found;
}

/* Place a job where it ends first in its way, or at any level where that has no place for it, or else in any mode, as
   coalloc.rules.serial_sgs does; note its shape. */
static outcome place_job(lists *of, int64_t j, placement *times, int64_t *allocation, int64_t *shape) {
    const problem *p = of->of;
    const int64_t first = p->member_first[j], num_levels = p->member_first[j + 1] - first;
    const int64_t slowest = of->ways[j] / p->num_rules, rule = of->ways[j] % p->num_rules;
    bool is_found = false;
    times->start = times->end = INFINITY;
    if (!constraints_admit(of->constraints, j, of->spans)) return NOWHERE;
    for (int is_any = 0; is_any < 2 && !is_found; is_any++) {
        const int64_t lowest = is_any || slowest < num_levels ? 0 : slowest - num_levels;
        const int64_t highest = is_any ? num_levels - 1 : slowest % num_levels;
        for (int64_t member = first + lowest; member <= first + highest; member++) {
            if (!place_member(of, member, is_any ? 0 : rule, times, allocation)) continue;
            is_found = true;
            *shape = p->shape_of[member];
        }
    }
    if (is_found) return PLACED;
    if (!of->asks_modes) return NOWHERE;
    if (!of->modes[j].allocations) {
        of->asked = MODES;
        return ASKING;
    }
    return place_mode(of, j, times, allocation, shape) ? PLACED : NOWHERE;
}

/* Return what a job costs by its end, in pieces of its shape on the slowest class that it uses: they are linear between
   points, the first of two at one end counts there. */
static double cost_of(const lists *of, int64_t shape, int64_t slowest, double at) {
    if (of->is_end) return at;
    const int64_t number = shape * of->of->num_classes + slowest;
    const int64_t first = of->piece_first[number], behind = of->piece_first[number + 1];
    const double end = at * of->scale, *ends = of->ends, *costs = of->costs;
    int64_t i = first;
    while (i < behind && ends[i] < end) i++;
    if (i == first) return costs[first];
    if (i == behind) return costs[i - 1] + of->slopes[number] * (end - ends[i - 1]);
    if (ends[i] == end) return costs[i];
    return costs[i - 1] + (costs[i] - costs[i - 1]) * (end - ends[i - 1]) / (ends[i] - ends[i - 1]);
}

/* Note a job in the schedule that is tried. */
static outcome try_job(lists *of, int64_t j) {
    const problem *p = of->of;
    placement *times = of->tried.times + j;
    int64_t *allocation = of->tried.allocations + j * p->num_classes, shape = 0, slowest;
    if (of->is_answered) {
        of->is_answered = false;
        times->cost = of->answer;
        return PLACED;
    }
    const outcome found = place_job(of, j, times, allocation, &shape);
    if (found != PLACED) return found;
    for (int64_t k = 0; k < p->num_loads; k++)
        of->tried.loads[j * p->num_loads + k] = load_of(p, shape, k, allocation);
    duration_of(of, shape, allocation, &slowest);
    if (of->is_asked) {
        of->asked = COST;
        return ASKING;
    }
    times->cost = cost_of(of, shape, slowest, times->end);
    return PLACED;
}

static double joined(const lists *of, double value, double other) {
    return of->is_sum ? value + other : later(value, other);
}

static int64_t first_of(const lists *of, int64_t part) { return part * of->of->num_jobs / of->num_parts; }

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

/* Note when the jobs before a place run. */
static void note_spans(lists *of, int64_t behind) {
    for (int64_t i = 0; i < of->of->num_jobs; i++) {
        const placement *times = of->placed.times + of->order[i];
        of->spans[of->order[i]] = i < behind ? (span){times->start, times->end} : (span){INFINITY, INFINITY};
    }
}

/* Count what the jobs before a place have spent. */
static void spend(lists *of, int64_t behind) {
    spent_begin(&of->spent);
    for (int64_t i = 0; i < behind; i++)
        spent_take(&of->spent, of->order[i], of->placed.allocations + of->order[i] * of->of->num_classes);
}

/* Decode the list anew from a place on. Nothing that follows starts before the least release of it, so the profile need
   not go back further. */
static void decode_from(lists *of, int64_t first, double limit) {
    int64_t part = of->num_parts - 1;
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
    if (of->constraints->num_rows) note_spans(of, first);
    if (of->filling.spent) spend(of, first);
    const sums *here = of->sums + first;
    of->decoding = (decoding){first, here->before, here->early, here->alone, limit, -INFINITY};
    of->is_decoding = true;
}

/* Place the next job. What follows one that is placed otherwise may be the same once that has ended; but not where a
   row says something of its times. */
static outcome place_next(lists *of) {
    const problem *p = of->of;
    decoding *now = &of->decoding;
    const int64_t j = of->order[now->next];
    const outcome found = try_job(of, j);
    if (found != PLACED) return found;
    now->next++;
    const placement *times = of->tried.times + j, *before = of->placed.times + j;
    const int64_t *allocation = of->tried.allocations + j * p->num_classes;
    profile_hold(&of->profile, times->start, times->end, allocation, of->tried.loads + j * p->num_loads);
    of->spans[j] = (span){times->start, times->end};
    if (of->filling.spent) spent_take(&of->spent, j, allocation);
    if (of->is_hurried) of->since = later(of->since, times->start);
    now->value = joined(of, now->value, times->cost);
    now->early += of->weights[j] * times->end;
    now->rest -= of->alone[j];
    const int64_t *held = of->placed.allocations + j * p->num_classes;
    if (times->start != before->start || memcmp(allocation, held, (size_t)p->num_classes * sizeof(int64_t)))
        now->differs =
            of->constraints->is_timed[j] || of->filling.spent ? INFINITY : later(now->differs, later(times->end, before->end));
    return PLACED;
}

/* Decode on; note the cost of a list that is decoded: infinity above the limit. No job costs less than alone, so a list
   above it on the way stays above. Behind the last place that has changed nothing changes any
   more once all that is placed otherwise has ended, now as before, when the next may start: those that follow see the
   same profile. */
static progress decode_on(lists *of, int64_t last, double until, double *cost) {
    const int64_t n = of->of->num_jobs;
    decoding *now = &of->decoding;
    *cost = INFINITY;
    for (int64_t placed = 1; now->next < n; placed++) {
        if (placed % LOOKS == 0 && clock_now() >= until) return PAUSED;
        const outcome found = place_next(of);
        if (found == ASKING) return ASKED;
        if (found == NOWHERE || now->value + now->early + (of->is_sum ? now->rest : 0.0) > now->limit) return DECODED;
        const sums *next = of->sums + now->next, *end = of->sums + n;
        if (now->next > last && now->next < n && now->differs <= next->release) {
            now->value = of->is_sum ? now->value + end->before - next->before : later(now->value, next->greatest);
            now->early = now->early + end->early - next->early;
            break;
        }
    }
    *cost = now->value + now->early;
    return DECODED;
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
    for (int64_t part = of->num_parts - 1; part >= 0 && first_of(of, part) > place; part--) of->parts[part].size = 0;
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

/* Whether lists are put in the order of their starts now and then: rows may forbid that. */
static bool is_sorted(const lists *of) { return of->is_sum && !of->has_ways && !of->constraints->num_rows; }

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
    of->is_decoding = of->is_answered = of->is_hurried = false;
    of->since = -INFINITY;
    of->asked = NOTHING;
    of->step = of->steps = 0;
    if (!is_permutation(of->order, order, num_jobs)) return FAULT(OUT_OF_ORDER, ORDER);
    copy_list(of, order, ways, of->order, of->ways);
    of->steps = steps;
    of->tidied = is_sorted(of) ? -1 : 0;
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

/* Return how far the job at place i may go towards place k, so that no job is before one that it awaits. */
static int64_t reach(const lists *of, int64_t i, int64_t k) {
    const int64_t j = of->order[i], step = i < k ? 1 : -1;
    for (; i != k; i += step) {
        const int64_t other = of->order[i + step];
        if (step > 0 ? constraints_await(of->constraints, other, j) : constraints_await(of->constraints, j, other)) break;
    }
    return i;
}

/* Let a move keep jobs behind those that they await: an insertion ends before that, a swap is given up. */
static void restrain(const lists *of, change *by) {
    const int64_t end = reach(of, by->i, by->k);
    if (by->kind == INSERTION) by->k = end;
    else if (end != by->k || reach(of, by->k, by->i) != by->i) by->k = by->i;
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
        if (of->constraints->awaited_first[of->of->num_jobs]) restrain(of, by);
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
    if (is_sorted(of)) sort(of);
    open_list(of);
}

void lists_hurry(lists *of) { of->is_hurried = true; }

int64_t lists_go_on(lists *of, double seconds) {
    const double until = clock_now() + seconds;
    for (int64_t begun = 1; of->is_decoding || of->step < of->steps; begun++) {
        if (begun % LOOKS == 0 && clock_now() >= until) return 1;
        if (!of->is_decoding) begin_step(of);
        double cost;
        const change *by = &of->change;
        if (!of->is_decoding) continue;
        if (of->asked) return 2;
        const progress come = decode_on(of, by->kind == NONE ? of->of->num_jobs : larger(by->i, by->k), until, &cost);
        if (come == DECODED) settle(of, cost);
        else return come == PAUSED ? 1 : 2;
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

int64_t lists_question(const lists *of, int64_t *asked, double *times) {
    if (!of->is_decoding || !of->asked) return FAULT(OUT_OF_ORDER, 0);
    const int64_t j = of->order[of->decoding.next];
    asked[0] = of->asked == COST;
    asked[1] = j;
    times[0] = of->tried.times[j].start;
    times[1] = of->tried.times[j].end;
    return 0;
}

int64_t lists_answer_cost(lists *of, double cost) {
    if (!of->is_decoding || of->asked != COST) return FAULT(OUT_OF_ORDER, 0);
    if (isnan(cost)) return FAULT(NOT_A_NUMBER, 1);
    of->asked = NOTHING;
    of->is_answered = true;
    of->answer = cost;
    return 0;
}

/* Return the shape of a job with as many tasks as an allocation has; -1 where it has none. */
static int64_t shape_with(const problem *p, int64_t j, const int64_t *allocation) {
    int64_t tasks = 0;
    for (int64_t g = 0; g < p->num_classes; g++) tasks += allocation[g];
    for (int64_t member = p->member_first[j]; member < p->member_first[j + 1]; member++)
        if (p->tasks[member] == tasks) return p->shape_of[member];
    return -1;
}

int64_t lists_answer_modes(lists *of, int64_t num_modes, int64_t num_classes, const int64_t *allocations) {
    const problem *p = of->of;
    if (!of->is_decoding || of->asked != MODES) return FAULT(OUT_OF_ORDER, 0);
    if (num_classes != p->num_classes) return FAULT(OUT_OF_RANGE, 2);
    const int64_t size = num_modes * num_classes, j = of->order[of->decoding.next];
    for (int64_t i = 0; i < size; i++)
        if (allocations[i] < 0 || allocations[i] > p->capacities[i % num_classes]) return FAULT(OUT_OF_RANGE, ALLOCATIONS);
    for (int64_t m = 0; m < num_modes; m++)
        if (shape_with(p, j, allocations + m * num_classes) < 0) return FAULT(OUT_OF_RANGE, ALLOCATIONS);
    int64_t *room = malloc((size_t)(size + num_modes + 1) * sizeof(int64_t));
    if (!room) return FAULT(NO_MEMORY, 0);
    of->modes[j] = (modes){num_modes, room, room + size};
    if (size) memcpy(room, allocations, (size_t)size * sizeof(int64_t));
    for (int64_t m = 0; m < num_modes; m++) room[size + m] = shape_with(p, j, allocations + m * num_classes);
    of->asked = NOTHING;
    return 0;
}
