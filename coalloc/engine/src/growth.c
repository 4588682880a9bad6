#include "growth.h"

/* More room than memory has. */
static const double MOST_BYTES = 1e15;

/* What becomes of a schedule, or of a part of its way. */
typedef enum { DONE, LEFT_OUT, PAUSED, OUT_OF_MEMORY } outcome;

/* Tasks of a job on a class; an end of a member (or of what is held, as -1 minus its number), in order of begins. */
typedef struct { int64_t class, tasks; } part;
typedef struct { double at; int64_t turn, owner; } end;
typedef struct { double urgency; int64_t job; } urgent;

/* A schedule that has come to an instant: starts are infinite where jobs wait; parts of a job follow its first. */
typedef struct {
    double now;
    int64_t num_ends, num_turns, next_arrival, num_parts, room_for_parts;
    double *starts, *ticks, *used;
    int64_t *free, *first, *num_of;
    end *ends;
    part *parts;
} schedule;

/* In which ways schedules go on, an entry or a row per parent: by plans, or by knapsacks where jobs have worths. */
typedef struct {
    const int64_t *parents;
    double until, before, stop;
    const double *urgencies, *thresholds, *relaxed, *latest;
    const int64_t *rules;
    const double *worths, *bonuses, *nearness, *prices;
    int64_t unit;
} ways;

struct growth {
    const problem *p;
    int64_t room, number, num_done;
    schedule *schedules;
    urgent *by_urgency;
    int64_t *waiting, *candidates, unit;
    double *left, *values;
    filling found;
    /* Knapsacks: what is worth most by units, and whether a candidate is in it. */
    double *best, *next;
    uint8_t *is_taken;
    /* Where the schedule that is made has come to: of those that wait now, the next to look at, and the kept. */
    bool is_begun, is_relaxed, is_looking;
    int64_t num_waiting, looked_at, num_kept, member, processors, num_looks;
    arena kept;
};

static bool is_before(const end *a, const end *b) { return a->at < b->at || (a->at == b->at && a->turn < b->turn); }

/* Put an end into the heap of a schedule. */
static void push(schedule *s, end added) {
    int64_t i = s->num_ends++;
    for (; i > 0 && !is_before(&s->ends[(i - 1) / 2], &added); i = (i - 1) / 2) s->ends[i] = s->ends[(i - 1) / 2];
    s->ends[i] = added;
}

/* Take the first end off the heap. */
static void pop(schedule *s) {
    const end last = s->ends[--s->num_ends];
    int64_t i = 0;
    for (int64_t k = 1; k < s->num_ends; k = 2 * i + 1) {
        if (k + 1 < s->num_ends && is_before(&s->ends[k + 1], &s->ends[k])) k++;
        if (is_before(&last, &s->ends[k])) break;
        s->ends[i] = s->ends[k];
        i = k;
    }
    s->ends[i] = last;
}

/* Note what is left of each contended resource. */
static void set_left(const problem *p, const schedule *s, double *left) {
    for (int64_t k = 0; k < p->num_loads; k++) left[k] = usable(p->limits[k] - s->used[k], p->limits[k]);
}

/* Return what a job that has started asks of a contended resource. */
static double asked_by(const problem *p, const schedule *s, int64_t member, int64_t k) {
    const int64_t j = p->job_of[member];
    const uint8_t *below = p->below + k * p->num_classes;
    int64_t tasks = 0;
    for (const part *q = s->parts + s->first[j]; q < s->parts + s->first[j] + s->num_of[j]; q++)
        if (below[q->class]) tasks += q->tasks;
    return load_with(p, p->shape_of[member], k, tasks);
}

/* Make room for so many parts; return whether there is memory. */
static bool has_room(schedule *s, int64_t num_parts) {
    if (num_parts <= s->room_for_parts) return true;
    const int64_t room = larger(num_parts, 2 * s->room_for_parts);
    part *made = realloc(s->parts, (size_t)room * sizeof(part));
    if (!made) return false;
    s->parts = made;
    s->room_for_parts = room;
    return true;
}

/* Start a member now on the allocation that was found; its end is the last in the heap. */
static outcome start(growth *g, schedule *s, int64_t member, const ways *by) {
    const problem *p = g->p;
    const int64_t j = p->job_of[member];
    const double *durations = p->durations + p->shape_of[member] * p->num_classes;
    if (!has_room(s, s->num_parts + p->num_classes)) return OUT_OF_MEMORY;
    double duration = 0.0;
    s->first[j] = s->num_parts;
    for (int64_t c = 0; c < p->num_classes; c++) {
        const int64_t tasks = g->found.allocation[c];
        if (tasks <= 0) continue;
        duration = later(duration, durations[c]);
        s->free[c] -= tasks;
        g->processors -= tasks;
        s->parts[s->num_parts++] = (part){c, tasks};
    }
    s->num_of[j] = s->num_parts - s->first[j];
    for (int64_t k = 0; k < p->num_loads; k++) s->used[k] += asked_by(p, s, member, k);
    s->starts[j] = s->now;
    s->ticks[j] = duration;
    push(s, (end){s->now + duration, s->num_turns++, member});
    set_left(p, s, g->left);
    return s->now + duration >= by->before ? LEFT_OUT : DONE;
}

/* Free what one holds that ends. */
static void release(const problem *p, schedule *s, int64_t owner) {
    if (owner < 0) {
        for (int64_t c = 0; c < p->num_classes; c++) s->free[c] += p->held[(-1 - owner) * p->num_classes + c];
        for (int64_t k = 0; k < p->num_loads; k++) s->used[k] -= p->held_loads[(-1 - owner) * p->num_loads + k];
        return;
    }
    const int64_t j = p->job_of[owner];
    for (int64_t i = s->first[j]; i < s->first[j] + s->num_of[j]; i++) s->free[s->parts[i].class] += s->parts[i].tasks;
    for (int64_t k = 0; k < p->num_loads; k++) s->used[k] -= asked_by(p, s, owner, k);
}

/* Go to the next instant at which something ends or arrives; return whether there is one. */
static bool advance(const problem *p, schedule *s) {
    while (s->next_arrival < p->num_releases && p->arrivals[s->next_arrival] <= s->now) s->next_arrival++;
    const bool has_arrival = s->next_arrival < p->num_releases;
    if (!s->num_ends && !has_arrival) return false;
    s->now = has_arrival ? p->arrivals[s->next_arrival] : INFINITY;
    if (s->num_ends) s->now = earlier(s->now, s->ends[0].at);
    while (s->num_ends && s->ends[0].at <= s->now) {
        release(p, s, s->ends[0].owner);
        pop(s);
    }
    return true;
}

static bool is_time_up(growth *g, const ways *by) { return ++g->num_looks % LOOKS == 0 && clock_now() > by->stop; }

/* Look for the most efficient member of a job that fits now, from g->member on, and for its allocation. */
static outcome startable(growth *g, const schedule *s, int64_t j, const ways *by) {
    const problem *p = g->p;
    const int64_t i = g->num_done;
    const double threshold = g->is_relaxed || s->now >= by->relaxed[i] ? 0.0 : by->thresholds[i];
    const double latest = g->is_relaxed ? INFINITY : by->latest[i];
    for (; g->member < p->member_first[j + 1]; g->member++) {
        const int64_t m = g->member;
        if (p->efficiency[m] < threshold) return LEFT_OUT;
        if (p->level_of[m] > 0 && s->now + p->ticks[m] > latest) continue;
        int64_t inside = 0;
        for (int64_t c = 0; c < p->num_classes; c++)
            if (p->inside[p->set_of[m] * p->num_classes + c]) inside += s->free[c];
        if (inside < p->tasks[m]) continue;
        if (filling_find(p, &g->found, m, by->rules[i], s->free, g->left)) return DONE;
    }
    return LEFT_OUT;
}

/* Start those that fit now, in the order in which they wait; goes on where it has paused. */
static outcome start_in_order(growth *g, schedule *s, const ways *by) {
    const problem *p = g->p;
    for (; g->looked_at < g->num_waiting; g->looked_at++) {
        const int64_t j = g->waiting[g->looked_at];
        outcome of = LEFT_OUT;
        if (p->least_tasks[j] <= g->processors && p->releases[j] <= s->now) {
            if (g->member < 0 && is_time_up(g, by)) return PAUSED;
            if (g->member < 0) g->member = p->member_first[j];
            of = startable(g, s, j, by);
        }
        const int64_t member = g->member;
        g->member = -1;
        if (of == LEFT_OUT) {
            g->waiting[g->num_kept++] = j;
        } else {
            of = start(g, s, member, by);
            if (of != DONE) return of;
        }
    }
    return DONE;
}

/* List the jobs that wait, have arrived and are no wider than what is free, with what each is worth per tick; return
   how many. One that ends near something that runs is worth more: what ends together leaves room for wide jobs. */
static int64_t list_candidates(growth *g, const schedule *s, const ways *by) {
    const problem *p = g->p;
    const double *worths = by->worths + g->num_done * p->num_jobs;
    const double bonus = by->bonuses[g->num_done], nearness = by->nearness[g->num_done];
    int64_t size = 0;
    for (int64_t w = 0; w < g->num_waiting; w++) {
        const int64_t j = g->waiting[w], m = p->member_first[j];
        if (p->tasks[m] > g->processors || p->releases[j] > s->now) continue;
        g->values[size] = worths[j];
        if (bonus > 0.0) {
            double nearest = nearness;
            for (int64_t q = 0; q < s->num_ends; q++)
                nearest = earlier(nearest, fabs(s->ends[q].at - s->now - p->ticks[m]));
            g->values[size] *= 1.0 + bonus * (1.0 - nearest / nearness);
        }
        g->candidates[size++] = j;
    }
    return size;
}

/* Return what is worth most of a candidate and those before it, by units, and whether the candidate is in it. */
static void add_candidate(
    int64_t units, int64_t tasks, double value, const double *restrict best, double *restrict next,
    uint8_t *restrict is_taken) {
    for (int64_t c = 0; c < tasks; c++) {
        next[c] = best[c];
        is_taken[c] = 0;
    }
    for (int64_t c = tasks; c <= units; c++) {
        const double worth = best[c - tasks] + value;
        is_taken[c] = worth > best[c];
        next[c] = is_taken[c] ? worth : best[c];
    }
}

/* Choose those of the candidates that are worth most among all that fit (they become the first); return how many. */
static int64_t choose(growth *g, int64_t num_candidates, const ways *by) {
    const problem *p = g->p;
    const int64_t units = g->processors / by->unit;
    for (int64_t c = 0; c <= units; c++) g->best[c] = 0.0;
    for (int64_t i = 0; i < num_candidates; i++) {
        const int64_t tasks = p->tasks[p->member_first[g->candidates[i]]] / by->unit;
        add_candidate(units, tasks, g->values[i], g->best, g->next, g->is_taken + i * (units + 1));
        double *const other = g->best;
        g->best = g->next;
        g->next = other;
    }
    int64_t left = units, first = num_candidates;
    for (int64_t i = num_candidates - 1; i >= 0; i--) {
        if (!g->is_taken[i * (units + 1) + left]) continue;
        left -= p->tasks[p->member_first[g->candidates[i]]] / by->unit;
        g->candidates[--first] = g->candidates[i];
    }
    memmove(g->candidates, g->candidates + first, (size_t)(num_candidates - first) * sizeof(*g->candidates));
    return num_candidates - first;
}

/* Start those that wait and are worth most together. */
static outcome start_packed(growth *g, schedule *s, const ways *by) {
    if (is_time_up(g, by)) return PAUSED;
    const int64_t num_chosen = choose(g, list_candidates(g, s, by), by);
    for (int64_t i = 0; i < num_chosen; i++) {
        const int64_t m = g->p->member_first[g->candidates[i]];
        if (!filling_find(g->p, &g->found, m, 0, s->free, g->left)) continue;
        const outcome of = start(g, s, m, by);
        if (of != DONE) return of;
    }
    for (int64_t w = 0; w < g->num_waiting; w++)
        if (s->starts[g->waiting[w]] == INFINITY) g->waiting[g->num_kept++] = g->waiting[w];
    return DONE;
}

/* Go on with a schedule until every job has started, or the next event is at by->until or later. It is left out where
   it cannot end in time, or where a job finds no place even when any level will do. */
static outcome extend(growth *g, schedule *s, const ways *by) {
    const problem *p = g->p;
    while (g->num_waiting && s->now < by->until) {
        if (!g->is_looking) {
            g->is_looking = true;
            g->looked_at = g->num_kept = g->processors = 0;
            g->member = -1;
            for (int64_t c = 0; c < p->num_classes; c++) g->processors += s->free[c];
            set_left(p, s, g->left);
        }
        const outcome of = by->worths ? start_packed(g, s, by) : start_in_order(g, s, by);
        if (of != DONE) return of;
        g->is_looking = false;
        const bool has_started = g->num_kept < g->num_waiting;
        g->num_waiting = g->num_kept;
        if (g->num_waiting && !advance(p, s)) {
            if (g->is_relaxed && !has_started) return LEFT_OUT;
            g->is_relaxed = true;
        }
    }
    return DONE;
}

/* Return the latest end of a schedule in which nothing waits; of another a bound on it, at prices per tick. */
static double least_end(const problem *p, const schedule *s, const ways *by) {
    double latest = 0.0, left = 0.0;
    bool waits = false;
    for (int64_t j = 0; j < p->num_jobs; j++) {
        if (s->starts[j] == INFINITY) {
            waits = true;
            left += by->prices[j] * p->ticks[p->member_first[j]];
            continue;
        }
        const double ends = s->starts[j] + s->ticks[j];
        latest = later(latest, ends);
        left += by->prices[j] * later(0.0, ends - later(by->until, s->starts[j]));
    }
    return waits ? later(latest, by->until + left) : latest;
}

/* Make a schedule what another is; return whether there is memory. */
static bool copy(const problem *p, schedule *to, const schedule *from) {
    if (!has_room(to, from->num_parts)) return false;
    const schedule had = *to;
    *to = *from;
    to->starts = had.starts, to->ticks = had.ticks, to->used = had.used, to->free = had.free, to->first = had.first;
    to->num_of = had.num_of, to->ends = had.ends, to->parts = had.parts, to->room_for_parts = had.room_for_parts;
#define COPY(array, size) if (size) memcpy(to->array, from->array, (size_t)(size) * sizeof(*to->array))
    COPY(starts, p->num_jobs);
    COPY(ticks, p->num_jobs);
    COPY(used, p->num_loads);
    COPY(free, p->num_classes);
    COPY(first, p->num_jobs);
    COPY(num_of, p->num_jobs);
    COPY(ends, from->num_ends);
    COPY(parts, from->num_parts);
#undef COPY
    return true;
}

/* Begin a schedule in which nothing has started, beside what is held; return whether that can be counted. */
static bool begin(const problem *p, schedule *s) {
    s->now = p->num_jobs ? INFINITY : 0.0;
    for (int64_t j = 0; j < p->num_jobs; j++) {
        s->now = earlier(s->now, p->releases[j]);
        s->starts[j] = INFINITY;
        s->ticks[j] = 0.0;
        s->first[j] = s->num_of[j] = 0;
    }
    for (int64_t c = 0; c < p->num_classes; c++) s->free[c] = p->capacities[c];
    for (int64_t k = 0; k < p->num_loads; k++) s->used[k] = 0.0;
    s->num_ends = s->num_turns = s->next_arrival = s->num_parts = 0;
    for (int64_t b = 0; b < p->num_held; b++) {
        if (!(p->held_until[b] > s->now)) continue;
        for (int64_t c = 0; c < p->num_classes; c++)
            if ((s->free[c] -= p->held[b * p->num_classes + c]) < INT64_MIN / 4) return false;
        for (int64_t k = 0; k < p->num_loads; k++) s->used[k] += p->held_loads[b * p->num_loads + k];
        push(s, (end){p->held_until[b], s->num_turns++, -1 - b});
    }
    return true;
}

/* Return how many things may run at a time: no more than processors, where every job takes one. */
static int64_t most_ends(const problem *p) {
    int64_t processors = 0;
    for (int64_t c = 0; c < p->num_classes; c++) processors += p->capacities[c];
    for (int64_t m = 0; m < p->num_members; m++)
        if (p->tasks[m] < 1) processors = p->num_jobs;
    return smaller(p->num_jobs, processors) + p->num_held;
}

static void lay_out(growth *g) {
    const problem *p = g->p;
    const int64_t num_ends = most_ends(p);
    arena *kept = &g->kept;
    g->schedules = PLACE(kept, g->room, schedule);
    g->by_urgency = PLACE(kept, p->num_jobs, urgent);
    g->waiting = PLACE(kept, p->num_jobs, int64_t);
    g->candidates = PLACE(kept, p->num_jobs, int64_t);
    g->values = PLACE(kept, p->num_jobs, double);
    g->left = PLACE(kept, p->num_loads, double);
    filling_place(&g->found, kept, p);
    for (int64_t i = 0; i < g->room; i++) {
        const schedule made = {
            .starts = PLACE(kept, p->num_jobs, double),
            .ticks = PLACE(kept, p->num_jobs, double),
            .used = PLACE(kept, p->num_loads, double),
            .free = PLACE(kept, p->num_classes, int64_t),
            .first = PLACE(kept, p->num_jobs, int64_t),
            .num_of = PLACE(kept, p->num_jobs, int64_t),
            .ends = PLACE(kept, num_ends, end),
        };
        if (g->schedules) g->schedules[i] = made;
    }
}

int64_t growth_new(growth *made[1], const problem *of, int64_t room) {
    const double each = 200.0 + 56.0 * (double)of->num_jobs + 24.0 * (double)of->num_held + 8.0 * (double)of->num_loads;
    if (room < 1) return FAULT(OUT_OF_RANGE, 2);
    if ((double)room * (each + 8.0 * (double)of->num_classes) > MOST_BYTES) return FAULT(TOO_LARGE, 2);
    growth *g = calloc(1, sizeof(growth));
    if (!g) return FAULT(NO_MEMORY, 0);
    g->p = of;
    g->room = room;
    lay_out(g);
    if (!make_room(&g->kept)) {
        free(g);
        return FAULT(NO_MEMORY, 0);
    }
    lay_out(g);
    g->number = 1;
    if (!begin(of, g->schedules)) {
        growth_free(g);
        return FAULT(TOO_LARGE, 1);
    }
    made[0] = g;
    return 0;
}

void growth_free(growth *of) {
    if (!of) return;
    for (int64_t i = 0; i < of->room; i++) free(of->schedules[i].parts);
    free(of->best < of->next ? of->best : of->next);
    free(of->is_taken);
    free(of->kept.room);
    free(of);
}

int64_t growth_take(growth *of, const growth *from, int64_t num_taken, const int64_t *taken) {
    if (of == from || of->p != from->p) return FAULT(OUT_OF_RANGE, 1);
    if (num_taken > of->room) return FAULT(OUT_OF_RANGE, 2);
    of->number = 0;
    for (int64_t i = 0; i < num_taken; i++) {
        if (taken[i] < 0 || taken[i] >= from->number) return FAULT(OUT_OF_RANGE, 3);
        if (!copy(of->p, of->schedules + i, from->schedules + taken[i])) return FAULT(NO_MEMORY, 0);
        of->number++;
    }
    return 0;
}

static int compare_urgencies(const void *a, const void *b) {
    const urgent *one = a, *other = b;
    if (one->urgency != other->urgency) return one->urgency > other->urgency ? -1 : 1;
    return one->job < other->job ? -1 : 1;
}

/* Begin to go on with a schedule: list those that wait, by urgency or by number. */
static void list_waiting(growth *g, const schedule *s, const double *urgencies) {
    g->num_waiting = 0;
    for (int64_t j = 0; j < g->p->num_jobs; j++) {
        const double urgency = urgencies && !isnan(urgencies[j]) ? urgencies[j] : 0.0;
        if (s->starts[j] == INFINITY) g->by_urgency[g->num_waiting++] = (urgent){urgency, j};
    }
    if (urgencies) qsort(g->by_urgency, (size_t)g->num_waiting, sizeof(urgent), compare_urgencies);
    for (int64_t w = 0; w < g->num_waiting; w++) g->waiting[w] = g->by_urgency[w].job;
    g->is_begun = true;
    g->is_relaxed = g->is_looking = false;
}

/* Go on with the next parent; return 1 where it pauses, 0 where it is done, or a fault. */
static int64_t grow(growth *g, const growth *from, const ways *by, int64_t *kept) {
    schedule *const s = g->schedules + g->number;
    if (!g->is_begun) {
        const int64_t i = g->num_done, parent = by->parents[i];
        if (parent < 0 || parent >= from->number) return FAULT(OUT_OF_RANGE, by->worths ? 5 : 4);
        if (!copy(g->p, s, from->schedules + parent)) return FAULT(NO_MEMORY, 0);
        list_waiting(g, s, by->worths ? NULL : by->urgencies + i * g->p->num_jobs);
    }
    const outcome of = extend(g, s, by);
    if (of == OUT_OF_MEMORY) return FAULT(NO_MEMORY, 0);
    if (of == PAUSED) return 1;
    g->is_begun = false;
    if (of == DONE && (!by->worths || least_end(g->p, s, by) < by->before)) kept[g->number++] = g->num_done;
    g->num_done++;
    return 0;
}

/* Go on with parents until all are done, or the time is up; return 0, or a fault. */
static int64_t grow_all(
    growth *g, const growth *from, int64_t num_plans, const ways *by, int64_t *kept, int64_t *progress) {
    int64_t result = 0;
    while (!result && g->num_done < num_plans) {
        result = grow(g, from, by, kept);
        if (!result && is_time_up(g, by)) result = 1;
    }
    progress[0] = g->num_done;
    progress[1] = g->number;
    return smaller(result, 0);
}

/* Return the fault of what growths by plans and by knapsacks have in common. */
static int64_t fault_of(growth *g, const growth *from, int64_t num_plans, int64_t num_jobs) {
    if (g == from || g->p != from->p) return FAULT(OUT_OF_RANGE, 1);
    if (num_plans > g->room || num_plans < g->num_done) return FAULT(OUT_OF_RANGE, 2);
    if (num_jobs != g->p->num_jobs) return FAULT(OUT_OF_RANGE, 3);
    if (!g->num_done && !g->is_begun) g->number = 0;
    return 0;
}

int64_t growth_by_plans(
    growth *of, const growth *from, int64_t num_plans, int64_t num_jobs, const int64_t *parents,
    const double *urgencies, const double *thresholds, const double *relaxed, const double *latest,
    const int64_t *rules, double until, double before, double seconds, int64_t *kept, int64_t *progress) {
    const int64_t fault = fault_of(of, from, num_plans, num_jobs);
    if (fault) return fault;
    for (int64_t i = of->num_done; i < num_plans; i++)
        if (rules[i] < 0 || rules[i] >= of->p->num_rules) return FAULT(OUT_OF_RANGE, 9);
    const ways by = {
        .parents = parents, .until = until, .before = before, .stop = clock_now() + seconds, .urgencies = urgencies,
        .thresholds = thresholds, .relaxed = relaxed, .latest = latest, .rules = rules,
    };
    return grow_all(of, from, num_plans, &by, kept, progress);
}

/* Make room for knapsacks; return 0, or a fault. */
static int64_t make_knapsacks(growth *g, int64_t unit) {
    const problem *p = g->p;
    if (unit < 1) return FAULT(OUT_OF_RANGE, 4);
    int64_t processors = 0;
    for (int64_t c = 0; c < p->num_classes; c++) processors += p->capacities[c];
    for (int64_t j = 0; j < p->num_jobs; j++) {
        const int64_t tasks = p->tasks[smaller(p->member_first[j], p->num_members - 1)];
        if (p->member_first[j + 1] != p->member_first[j] + 1 || tasks < unit || tasks % unit)
            return FAULT(OUT_OF_RANGE, 4);
    }
    const int64_t units = processors / unit + 1;
    if ((double)units * (double)larger(p->num_jobs, 16) > MOST_BYTES) return FAULT(TOO_LARGE, 4);
    g->is_taken = malloc((size_t)(units * larger(p->num_jobs, 1)));
    g->best = malloc((size_t)(2 * units) * sizeof(double));
    g->next = g->best ? g->best + units : NULL;
    g->unit = unit;
    if (g->best && g->is_taken) return 0;
    free(g->best);
    free(g->is_taken);
    g->best = g->next = NULL;
    g->is_taken = NULL;
    return FAULT(NO_MEMORY, 0);
}

int64_t growth_by_knapsacks(
    growth *of, const growth *from, int64_t num_plans, int64_t num_jobs, int64_t unit, const int64_t *parents,
    const double *worths, const double *bonuses, const double *nearness, const double *prices, double until,
    double before, double seconds, int64_t *kept, int64_t *progress) {
    int64_t fault = fault_of(of, from, num_plans, num_jobs);
    if (!fault && !of->is_taken) fault = make_knapsacks(of, unit);
    if (!fault && of->unit != unit) fault = FAULT(OUT_OF_RANGE, 4);
    if (fault) return fault;
    const ways by = {
        .parents = parents, .until = until, .before = before, .stop = clock_now() + seconds, .worths = worths,
        .bonuses = bonuses, .nearness = nearness, .prices = prices, .unit = unit,
    };
    return grow_all(of, from, num_plans, &by, kept, progress);
}

int64_t growth_times(
    const growth *of, int64_t num_schedules, int64_t num_jobs, double *starts, double *ends) {
    if (num_schedules != of->number) return FAULT(OUT_OF_RANGE, 1);
    if (num_jobs != of->p->num_jobs) return FAULT(OUT_OF_RANGE, 2);
    for (int64_t i = 0; i < num_schedules; i++)
        for (int64_t j = 0; j < num_jobs; j++) {
            starts[i * num_jobs + j] = of->schedules[i].starts[j];
            ends[i * num_jobs + j] = of->schedules[i].starts[j] + of->schedules[i].ticks[j];
        }
    return 0;
}

int64_t growth_allocations(
    const growth *of, int64_t schedule_asked, int64_t num_asked, int64_t num_classes, const int64_t *jobs,
    int64_t *allocations) {
    if (schedule_asked < 0 || schedule_asked >= of->number) return FAULT(OUT_OF_RANGE, 1);
    if (num_classes != of->p->num_classes) return FAULT(OUT_OF_RANGE, 3);
    const schedule *s = of->schedules + schedule_asked;
    for (int64_t i = 0; i < num_asked * num_classes; i++) allocations[i] = 0;
    for (int64_t i = 0; i < num_asked; i++) {
        if (jobs[i] < 0 || jobs[i] >= of->p->num_jobs) return FAULT(OUT_OF_RANGE, 4);
        for (int64_t q = s->first[jobs[i]]; q < s->first[jobs[i]] + s->num_of[jobs[i]]; q++)
            allocations[i * num_classes + s->parts[q].class] = s->parts[q].tasks;
    }
    return 0;
}
