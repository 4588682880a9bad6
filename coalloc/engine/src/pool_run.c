#include "pool_run.h"

/* Numbers of parameters, for faults. */
enum { JOBS = 1, RUNNING, CLASSES, NUM_TAKES, PASSING, TOLERANCE = 8, LATEST, SHARE, CAPACITIES, SLOWNESS, ORDER };
enum { ARRIVALS = 14, TASKS, SHARES, BASE_TIMES, ESTIMATES, KEYS, TURNS, RUNNING_ENDS };
enum passing { NONE, ANY, EASY, EASY_IN_TURN, CHOSEN };
enum { CHOICE = 1, SHORTEST, CHOICES, SEEN = 5, NUMBERS = 5, OF_JOB = 3, OF_RUNNING = 2 };
static const int64_t MOST = (int64_t)1 << 40, MOST_CLASSES = (int64_t)1 << 20;

/* A job that runs, by when its estimate lets it end. */
typedef struct {
    double end;
    int64_t job;
} estimate;

struct pool_run {
    int64_t num_jobs, num_held, num_classes, most_takes, passing; /* held: by jobs that run already, behind the others */
    bool is_per_event, are_killed;
    double tolerance, latest, share;
    const int64_t *capacities, *order, *tasks;
    const double *slowness, *arrivals, *shares, *base_times, *estimates, *keys, *turns, *running_ends;

    double now, *starts, *ends, *limits;
    uint8_t *killed, *has_started, *runs;
    int64_t free, num_arrived, num_waiting, num_running, num_ended;
    int64_t *waiting, *sizes, *by_turn; /* the queue, its tasks, and the same jobs in the other order */
    estimate *running;
    int64_t *heap, num_expected; /* jobs whose ends are expected */
    int64_t *room, *counts, *extra, *both; /* by class: what is free, is chosen, is spare, and is free and spare */
    int64_t *taker, *take_class, *take_size, *first_take, num_takes, num_started, *steps, num_steps;
    int64_t num_instants, num_passes;
    double pass_seconds, longest_pass, shortest, waited, slowdowns;
    arena kept;
};

/* ---------------------------------------------------------------- ends that are expected: a binary heap */

/* Whether one end comes before another: by time, then by start, arrival and number. */
static bool is_before(const pool_run *p, int64_t a, int64_t b) {
    if (p->ends[a] != p->ends[b]) return p->ends[a] < p->ends[b];
    if (p->starts[a] != p->starts[b]) return p->starts[a] < p->starts[b];
    if (p->arrivals[a] != p->arrivals[b]) return p->arrivals[a] < p->arrivals[b];
    return a < b;
}

static void expect(pool_run *p, int64_t job) {
    int64_t at = p->num_expected++;
    for (int64_t above; at && is_before(p, job, p->heap[above = (at - 1) / 2]); at = above) p->heap[at] = p->heap[above];
    p->heap[at] = job;
}

static int64_t next_to_end(pool_run *p) {
    const int64_t first = p->heap[0], last = p->heap[--p->num_expected];
    int64_t at = 0;
    for (int64_t below; (below = 2 * at + 1) < p->num_expected; at = below) {
        if (below + 1 < p->num_expected && is_before(p, p->heap[below + 1], p->heap[below])) below++;
        if (!is_before(p, p->heap[below], last)) break;
        p->heap[at] = p->heap[below];
    }
    p->heap[at] = last;
    return first;
}

/* ---------------------------------------------------------------- what happens to a job */

static double tolerance_at(const pool_run *p, double time) {
    return time <= p->latest ? p->tolerance : later(p->tolerance, p->share * time);
}

static void insert(int64_t *list, int64_t size, int64_t place, int64_t content) {
    memmove(list + place + 1, list + place, (size_t)(size - place) * sizeof(int64_t));
    list[place] = content;
}

/* Return where a job goes in an order by keys: behind those with the same. */
static int64_t place_in(const pool_run *p, const int64_t *list, const double *keys, int64_t job) {
    int64_t low = 0, high = p->num_waiting;
    if (high && keys[list[high - 1]] <= keys[job]) return high;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (keys[list[middle]] <= keys[job]) low = middle + 1;
        else high = middle;
    }
    return low;
}

static void arrive(pool_run *p) {
    const int64_t job = p->order[p->num_arrived++];
    const int64_t place = place_in(p, p->waiting, p->keys, job);
    if (p->passing == EASY_IN_TURN) insert(p->by_turn, p->num_waiting, place_in(p, p->by_turn, p->turns, job), job);
    insert(p->waiting, p->num_waiting, place, job);
    insert(p->sizes, p->num_waiting, place, p->tasks[job]);
    p->num_waiting++;
}

/* Return the place of the first running job that ends after a time, by its estimate. */
static int64_t first_after(const pool_run *p, double time) {
    int64_t low = 0, high = p->num_running;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (p->running[middle].end <= time) low = middle + 1;
        else high = middle;
    }
    return low;
}

static void hold(pool_run *p, int64_t job, double end) {
    const int64_t place = first_after(p, end);
    memmove(p->running + place + 1, p->running + place, (size_t)(p->num_running - place) * sizeof(estimate));
    p->running[place] = (estimate){end, job};
    p->num_running++;
    p->runs[job] = 1;
    p->free -= p->tasks[job];
    expect(p, job);
}

/* Choose processors for so many tasks: classes are filled one after the other. Return whether there are enough. */
static bool choose(pool_run *p, const int64_t *free, int64_t tasks) {
    for (int64_t g = 0; g < p->num_classes; g++) {
        p->counts[g] = smaller(tasks, free[g]);
        tasks -= p->counts[g];
    }
    return !tasks;
}

/* Return what a job takes by its base time (s) where its slowest processor has a slowness. */
static double time_at(const pool_run *p, int64_t job, double base_time, double slowness) {
    const double share = p->shares[job];
    return base_time * (share * slowness + (share < 1.0 ? 1.0 - share : 0.0));
}

/* Return what it takes on what is chosen, s. */
static double time_of(const pool_run *p, int64_t job, double base_time) {
    double slowness = 0.0;
    for (int64_t g = 0; g < p->num_classes; g++)
        if (p->counts[g]) slowness = later(slowness, p->slowness[g]);
    return time_at(p, job, base_time, slowness);
}

/* Add the processors of a running job to numbers by class. */
static void add_taken(const pool_run *p, int64_t job, int64_t *to) {
    if (job >= p->num_jobs) to[0] += p->tasks[job]; /* which is so in one class only */
    else
        for (int64_t t = p->first_take[job]; t < p->num_takes && p->taker[t] == job; t++)
            to[p->take_class[t]] += p->take_size[t];
}

/* Start a job on what is chosen. */
static void start(pool_run *p, int64_t job) {
    const double limit = p->now + time_of(p, job, p->estimates[job]);
    double end = p->now + time_of(p, job, p->base_times[job]);
    if (p->are_killed && end > limit + tolerance_at(p, limit)) {
        p->killed[job] = 1;
        end = later(limit, p->now);
    }
    p->starts[job] = p->now;
    p->waited += p->now - p->arrivals[job];
    p->ends[job] = end;
    p->has_started[job] = 1;
    p->limits[job] = limit;
    p->num_started++;
    p->first_take[job] = p->num_takes;
    for (int64_t g = 0; g < p->num_classes; g++) {
        if (!p->counts[g]) continue;
        p->room[g] -= p->counts[g];
        p->taker[p->num_takes] = job, p->take_class[p->num_takes] = g, p->take_size[p->num_takes] = p->counts[g];
        p->steps[p->num_steps++] = p->num_takes++;
    }
    hold(p, job, limit);
}

/* Start a job that fits on the first classes that are free. */
static void start_first(pool_run *p, int64_t job) {
    choose(p, p->room, p->tasks[job]);
    start(p, job);
}

static double bounded_slowdown(const pool_run *p, int64_t job) {
    const double run = later(p->ends[job] - p->starts[job], p->shortest);
    return run > 0.0 ? later(1.0, (p->ends[job] - p->arrivals[job]) / run) : 1.0;
}

/* End a running job, which has a place in the order of estimates. */
static void finish(pool_run *p, int64_t place) {
    const int64_t job = p->running[place].job;
    memmove(p->running + place, p->running + place + 1, (size_t)(--p->num_running - place) * sizeof(estimate));
    p->runs[job] = 0;
    p->free += p->tasks[job];
    p->num_ended++;
    add_taken(p, job, p->room);
    if (job >= p->num_jobs) {
        p->steps[p->num_steps++] = 2 * p->most_takes + job - p->num_jobs;
        return;
    }
    p->slowdowns += bounded_slowdown(p, job);
    for (int64_t t = p->first_take[job]; t < p->num_takes && p->taker[t] == job; t++)
        p->steps[p->num_steps++] = p->most_takes + t;
}

/* End the job that is next to end, unless it counts as finished already. */
static void end_next(pool_run *p) {
    const int64_t job = next_to_end(p);
    p->now = later(p->now, p->ends[job]);
    if (!p->runs[job]) return;
    const double by_estimate = job < p->num_jobs ? p->limits[job] : p->ends[job];
    int64_t place = first_after(p, by_estimate) - 1;
    while (p->running[place].job != job) place--;
    finish(p, place);
}

/* End the jobs whose estimated end has come, if they do end now. */
static void end_as_estimated(pool_run *p) {
    for (int64_t place = 0; place < p->num_running && p->running[place].end <= p->now;) {
        if (p->ends[p->running[place].job] <= p->now) finish(p, place);
        else place++;
    }
}

/* ---------------------------------------------------------------- which jobs start */

/* A start that is kept for the first job that waits, and the processors that are free then besides its own: by class
   these are `extra`. */
typedef struct {
    double start;
    int64_t spare;
} reservation;

static reservation reserved(pool_run *p, int64_t size) {
    int64_t room = p->free, num_over = 0;
    double since = INFINITY;
    for (; num_over < p->num_running; num_over++) {
        const double end = later(p->running[num_over].end, p->now);
        if (room >= size && end > since) break;
        room += p->tasks[p->running[num_over].job];
        since = end;
    }
    if (p->num_classes > 1) {
        memcpy(p->extra, p->room, (size_t)p->num_classes * sizeof(int64_t));
        for (int64_t k = 0; k < num_over; k++) add_taken(p, p->running[k].job, p->extra);
        choose(p, p->extra, size);
        for (int64_t g = 0; g < p->num_classes; g++) p->extra[g] -= p->counts[g];
    }
    return (reservation){since, room - size};
}

/* Choose processors that are free and not those that are kept: the first ones if they are so, else others. */
static bool choose_spare(pool_run *p, int64_t size) {
    bool is_spare = true;
    for (int64_t g = 0; g < p->num_classes; g++) {
        p->both[g] = smaller(p->room[g], p->extra[g]);
        is_spare = is_spare && p->counts[g] <= p->extra[g];
    }
    if (!is_spare && !choose(p, p->both, size)) return false;
    for (int64_t g = 0; g < p->num_classes; g++) p->extra[g] -= p->counts[g];
    return true;
}

/* Start a job that fits, unless it delays the first that waits. */
static void start_beside(pool_run *p, int64_t job, reservation *kept) {
    const int64_t size = p->tasks[job];
    choose(p, p->room, size);
    if (p->now + time_of(p, job, p->estimates[job]) > kept->start) {
        if (size > kept->spare || (p->num_classes > 1 && !choose_spare(p, size))) return;
        kept->spare -= size;
    }
    start(p, job);
}

static void backfill(pool_run *p, int64_t head) {
    const bool is_in_turn = p->passing == EASY_IN_TURN;
    const int64_t *list = is_in_turn ? p->by_turn : p->waiting;
    reservation kept;
    bool is_reserved = false;
    for (int64_t k = is_in_turn ? 0 : head + 1; k < p->num_waiting && p->free; k++) {
        if ((is_in_turn ? p->tasks[list[k]] : p->sizes[k]) > p->free) continue;
        if (p->has_started[list[k]] || list[k] == p->waiting[head]) continue;
        if (!is_reserved) kept = reserved(p, p->sizes[head]);
        is_reserved = true;
        start_beside(p, list[k], &kept);
    }
}

/* Take the jobs that have started off the queue, the first of which is at a place. */
static void leave_queue(pool_run *p) {
    int64_t left = 0, left_in_turn = 0;
    for (int64_t k = 0; k < p->num_waiting; k++) {
        if (p->passing == EASY_IN_TURN && !p->has_started[p->by_turn[k]]) p->by_turn[left_in_turn++] = p->by_turn[k];
        if (p->has_started[p->waiting[k]]) continue;
        p->sizes[left] = p->sizes[k];
        p->waiting[left++] = p->waiting[k];
    }
    p->num_waiting = left;
}

static void decide(pool_run *p) {
    const int64_t before = p->num_started;
    int64_t head = 0;
    while (head < p->num_waiting && p->sizes[head] <= p->free) start_first(p, p->waiting[head++]);
    if (head < p->num_waiting && p->passing >= EASY) {
        backfill(p, head);
    } else if (p->passing == ANY) {
        for (int64_t k = head + 1; k < p->num_waiting && p->free; k++)
            if (p->sizes[k] <= p->free) start_first(p, p->waiting[k]);
    }
    if (p->num_started > before) leave_queue(p);
}

/* ---------------------------------------------------------------- the clock */

/* Let all happen that comes at the next instant; return whether something comes. */
static bool advance(pool_run *p) {
    const double arrival = p->num_arrived < p->num_jobs ? p->arrivals[p->order[p->num_arrived]] : INFINITY;
    const double end = p->num_expected ? p->ends[p->heap[0]] : INFINITY, time = earlier(arrival, end);
    if (p->num_arrived == p->num_jobs && !p->num_expected) return false;
    p->now = later(p->now, time);
    if (p->is_per_event) {
        if (arrival <= end) arrive(p);
        else end_next(p);
        end_as_estimated(p);
        return true;
    }
    const double limit = time + tolerance_at(p, time);
    while (p->num_expected && p->ends[p->heap[0]] <= limit) end_next(p);
    while (p->num_arrived < p->num_jobs && p->arrivals[p->order[p->num_arrived]] <= limit) {
        p->now = later(p->now, p->arrivals[p->order[p->num_arrived]]);
        arrive(p);
    }
    return true;
}

int64_t pool_run_go(pool_run *p, double seconds, int64_t instants) {
    const double until = clock_now() + seconds;
    while (p->num_instants < instants && advance(p)) {
        p->num_instants++;
        if (p->num_waiting) {
            const double began = clock_now();
            decide(p);
            const double passed = clock_now() - began;
            p->num_passes++;
            p->pass_seconds += passed;
            p->longest_pass = later(p->longest_pass, passed);
        }
        if (p->num_instants % LOOKS == 0 && clock_now() > until) break;
    }
    return p->num_ended;
}

/* ---------------------------------------------------------------- jobs that somebody else chooses */

/* Return the first job in the window that fits, by its place; the size of the window where none does. */
static int64_t first_fitting(const pool_run *p, int64_t window) {
    for (int64_t k = 0; k < smaller(window, p->num_waiting); k++)
        if (p->sizes[k] <= p->free) return k;
    return window;
}

static void start_in_queue(pool_run *p, int64_t place) {
    const size_t behind = (size_t)(p->num_waiting - place - 1) * sizeof(int64_t);
    start_first(p, p->waiting[place]);
    memmove(p->waiting + place, p->waiting + place + 1, behind);
    memmove(p->sizes + place, p->sizes + place + 1, behind);
    p->num_waiting--;
}

static bool is_last_instant(const pool_run *p) { return p->num_arrived == p->num_jobs && !p->num_expected; }

static void show(const pool_run *p, int64_t window, uint8_t *is_possible, double *seen) {
    double *of_job = seen + NUMBERS, *of_running = of_job + OF_JOB * window;
    const double numbers[NUMBERS] = {p->now, (double)p->num_waiting, p->waited, p->slowdowns, (double)p->free};
    memset(seen, 0, (size_t)(NUMBERS + (OF_JOB + OF_RUNNING) * window) * sizeof(double));
    memset(is_possible, 0, (size_t)window);
    memcpy(seen, numbers, sizeof(numbers));
    for (int64_t k = 0; k < smaller(window, p->num_waiting); k++, of_job += OF_JOB) {
        const int64_t job = p->waiting[k];
        of_job[0] = (double)p->sizes[k], of_job[1] = time_at(p, job, p->estimates[job], p->slowness[0]);
        of_job[2] = p->now - p->arrivals[job];
        is_possible[k] = p->sizes[k] <= p->free;
    }
    for (int64_t k = 0; k < smaller(window, p->num_running); k++, of_running += OF_RUNNING) {
        of_running[0] = later(p->running[k].end - p->now, 0.0);
        of_running[1] = (double)p->tasks[p->running[k].job];
    }
    is_possible[window] = !is_last_instant(p);
}

int64_t pool_run_choose(
    pool_run *p, int64_t choice, double shortest, int64_t num_choices, uint8_t *is_possible, int64_t num_seen,
    double *seen) {
    const int64_t window = num_choices - 1;
    if (p->passing != CHOSEN) return FAULT(OUT_OF_ORDER, 0);
    if (num_choices < 2 || num_choices > MOST) return FAULT(OUT_OF_RANGE, CHOICES);
    if (num_seen != NUMBERS + (OF_JOB + OF_RUNNING) * window) return FAULT(OUT_OF_RANGE, SEEN);
    if (choice > window) return FAULT(OUT_OF_RANGE, CHOICE);
    if (!(shortest >= 0.0)) return FAULT(OUT_OF_RANGE, SHORTEST);
    p->shortest = shortest;
    if (choice >= 0) {
        const bool is_start = choice < smaller(window, p->num_waiting) && p->sizes[choice] <= p->free;
        const int64_t place = is_start || !is_last_instant(p) ? choice : first_fitting(p, window);
        if (place < p->num_waiting && place < window && p->sizes[place] <= p->free) start_in_queue(p, place);
        else advance(p);
    }
    while (first_fitting(p, window) == window && advance(p)) continue;
    show(p, window, is_possible, seen);
    return p->num_jobs - p->num_started;
}

int64_t pool_run_position(const pool_run *p, double now[1], int64_t counts[4]) {
    now[0] = p->now;
    counts[0] = p->num_ended, counts[1] = p->num_running, counts[2] = p->num_waiting, counts[3] = p->num_instants;
    return 0;
}

int64_t pool_run_num_takes(const pool_run *p) { return p->num_takes; }

int64_t pool_run_num_steps(const pool_run *p) { return p->num_steps; }

int64_t pool_run_read(
    const pool_run *p, int64_t num_jobs, int64_t num_takes, int64_t num_steps, double *starts, double *ends,
    uint8_t *killed, int64_t *taker, int64_t *take_class, int64_t *take_size, int64_t *steps, double passes[3]) {
    if (num_jobs != p->num_jobs) return FAULT(OUT_OF_RANGE, 1);
    if (p->num_ended < num_jobs + p->num_held) return FAULT(OUT_OF_ORDER, 0);
    if (num_takes != p->num_takes) return FAULT(OUT_OF_RANGE, 2);
    if (num_steps != p->num_steps) return FAULT(OUT_OF_RANGE, 3);
    memcpy(starts, p->starts, (size_t)num_jobs * sizeof(double));
    memcpy(ends, p->ends, (size_t)num_jobs * sizeof(double));
    memcpy(killed, p->killed, (size_t)num_jobs);
    memcpy(taker, p->taker, (size_t)num_takes * sizeof(int64_t));
    memcpy(take_class, p->take_class, (size_t)num_takes * sizeof(int64_t));
    memcpy(take_size, p->take_size, (size_t)num_takes * sizeof(int64_t));
    for (int64_t k = 0; k < num_steps; k++) { /* releases are numbered behind all takes that there might have been */
        const int64_t kind = p->most_takes ? p->steps[k] / p->most_takes : 2;
        steps[k] = p->steps[k] - smaller(kind, 2) * (p->most_takes - p->num_takes);
    }
    passes[0] = (double)p->num_passes, passes[1] = p->pass_seconds, passes[2] = p->longest_pass;
    return 0;
}

/* ---------------------------------------------------------------- making it */

static void lay_out(pool_run *p) {
    arena *in = &p->kept;
    const int64_t n = p->num_jobs, all = n + p->num_held, most = p->most_takes;
    int64_t num_processors = 0;
    for (int64_t g = 0; g < p->num_classes; g++) num_processors += p->capacities[g];
    KEEP(in, p->capacities, p->num_classes);
    KEEP(in, p->slowness, p->num_classes);
    KEEP(in, p->order, n);
    KEEP(in, p->arrivals, all);
    KEEP(in, p->tasks, all);
    KEEP(in, p->shares, n);
    KEEP(in, p->base_times, n);
    KEEP(in, p->estimates, n);
    KEEP(in, p->keys, n);
    KEEP(in, p->turns, n);
    KEEP(in, p->running_ends, p->num_held);
    p->starts = PLACE(in, all, double);
    p->ends = PLACE(in, all, double);
    p->killed = PLACE(in, all, uint8_t);
    p->has_started = PLACE(in, all, uint8_t);
    p->runs = PLACE(in, all, uint8_t);
    p->waiting = PLACE(in, n + 1, int64_t);
    p->sizes = PLACE(in, n + 1, int64_t);
    p->by_turn = PLACE(in, n + 1, int64_t);
    p->running = PLACE(in, smaller(all, num_processors) + 1, estimate);
    p->heap = PLACE(in, all + 1, int64_t);
    p->limits = PLACE(in, n, double);
    p->room = PLACE(in, p->num_classes, int64_t);
    p->counts = PLACE(in, p->num_classes, int64_t);
    p->extra = PLACE(in, p->num_classes, int64_t);
    p->both = PLACE(in, p->num_classes, int64_t);
    p->taker = PLACE(in, most, int64_t);
    p->take_class = PLACE(in, most, int64_t);
    p->take_size = PLACE(in, most, int64_t);
    p->first_take = PLACE(in, n, int64_t);
    p->steps = PLACE(in, 2 * most + p->num_held, int64_t);
}

/* Whether jobs are in the order of their arrivals, then of their numbers: then each is there once. */
static bool are_by_arrival(const pool_run *p) {
    for (int64_t k = 1; k < p->num_jobs; k++) {
        const int64_t one = p->order[k - 1], next = p->order[k];
        const bool is_tie = p->arrivals[one] == p->arrivals[next];
        if (is_tie ? one >= next : p->arrivals[one] > p->arrivals[next]) return false;
    }
    return true;
}

/* Whether times are finite, and not below one. */
static bool are_times(const double *times, int64_t size, double least) {
    for (int64_t i = 0; i < size; i++)
        if (!(times[i] >= least) || isinf(times[i])) return false;
    return true;
}

static int64_t fault_of(const pool_run *p) {
    const int64_t n = p->num_jobs, all = n + p->num_held;
    int64_t held = 0, num_processors = 0, num_takes = 0;
    if (!are_within(p->capacities, p->num_classes, 1, MOST)) return FAULT(OUT_OF_RANGE, CAPACITIES);
    for (int64_t g = 0; g < p->num_classes; g++) {
        if (!(p->slowness[g] > 0.0) || isinf(p->slowness[g])) return FAULT(OUT_OF_RANGE, SLOWNESS);
        num_processors += p->capacities[g];
    }
    if (!(p->tolerance >= 0.0)) return FAULT(OUT_OF_RANGE, TOLERANCE);
    if (isnan(p->latest)) return FAULT(NOT_A_NUMBER, LATEST);
    if (!(p->share >= 0.0)) return FAULT(OUT_OF_RANGE, SHARE);
    if (!are_times(p->arrivals, all, -INFINITY)) return FAULT(OUT_OF_RANGE, ARRIVALS);
    if (!are_within(p->order, n, 0, n - 1)) return FAULT(OUT_OF_RANGE, ORDER);
    if (!are_by_arrival(p)) return FAULT(OUT_OF_ORDER, ORDER);
    if (!are_within(p->tasks, all, 1, num_processors)) return FAULT(OUT_OF_RANGE, TASKS);
    for (int64_t job = n; job < all; job++) held += p->tasks[job];
    if (held > num_processors) return FAULT(TOO_LARGE, TASKS);
    for (int64_t job = 0; job < n; job++) num_takes += smaller(p->tasks[job], p->num_classes);
    if (num_takes != p->most_takes) return FAULT(OUT_OF_RANGE, NUM_TAKES);
    for (int64_t job = 0; job < n; job++)
        if (!(p->shares[job] >= 0.0 && p->shares[job] <= 1.0)) return FAULT(OUT_OF_RANGE, SHARES);
    if (!are_times(p->base_times, n, 0.0)) return FAULT(OUT_OF_RANGE, BASE_TIMES);
    if (!are_times(p->estimates, n, 0.0)) return FAULT(OUT_OF_RANGE, ESTIMATES);
    if (!are_numbers(p->keys, n)) return FAULT(NOT_A_NUMBER, KEYS);
    if (!are_numbers(p->turns, n)) return FAULT(NOT_A_NUMBER, TURNS);
    if (!are_times(p->running_ends, p->num_held, 0.0)) return FAULT(OUT_OF_RANGE, RUNNING_ENDS);
    return 0;
}

int64_t pool_run_new(
    pool_run *made[1], int64_t num_jobs, int64_t num_running, int64_t num_classes, int64_t num_takes, int64_t passing,
    int64_t is_per_event, int64_t are_killed, double tolerance, double latest, double share, const int64_t *capacities,
    const double *slowness, const int64_t *order, const double *arrivals, const int64_t *tasks, const double *shares,
    const double *base_times, const double *estimates, const double *keys, const double *turns,
    const double *running_ends) {
    if (num_jobs < 0 || num_jobs > MOST) return FAULT(OUT_OF_RANGE, JOBS);
    if (num_classes < 1 || num_classes > MOST_CLASSES) return FAULT(OUT_OF_RANGE, CLASSES);
    if (num_running < 0 || num_running > (num_classes > 1 ? 0 : MOST)) return FAULT(OUT_OF_RANGE, RUNNING);
    if (passing < NONE || passing > CHOSEN) return FAULT(OUT_OF_RANGE, PASSING);
    const pool_run given = {
        .num_jobs = num_jobs, .num_held = num_running, .num_classes = num_classes, .most_takes = num_takes,
        .passing = passing, .is_per_event = is_per_event, .are_killed = are_killed, .tolerance = tolerance,
        .latest = latest, .share = share, .capacities = capacities, .slowness = slowness, .order = order,
        .arrivals = arrivals, .tasks = tasks, .shares = shares, .base_times = base_times, .estimates = estimates,
        .keys = keys, .turns = turns, .running_ends = running_ends};
    const int64_t fault = fault_of(&given);
    if (fault) return fault;
    pool_run *p = malloc(sizeof(pool_run));
    if (!p) return FAULT(NO_MEMORY, 0);
    *p = given;
    lay_out(p);
    if (!make_room(&p->kept)) {
        free(p);
        return FAULT(NO_MEMORY, 0);
    }
    lay_out(p);
    for (int64_t g = 0; g < num_classes; g++) p->free += p->room[g] = p->capacities[g];
    for (int64_t k = 0; k < num_running; k++) {
        p->room[0] -= p->tasks[num_jobs + k];
        p->ends[num_jobs + k] = p->running_ends[k];
        hold(p, num_jobs + k, p->running_ends[k]);
    }
    made[0] = p;
    return 0;
}

void pool_run_free(pool_run *p) {
    if (!p) return;
    free(p->kept.room);
    free(p);
}
