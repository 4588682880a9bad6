#include "pool_tree.h"

enum { WAITING = 0, RUNNING = 1, DONE = 2 };
enum { EVERYTHING = 0, BETTER = 1, STOPPED = 2 };
enum { BITS = 64 };
/* Places of the memory in which one thing may stand. */
enum { NEIGHBOURS = 4 };
/* Odd number by which what is remembered is multiplied for its place (Fibonacci hashing, D. Knuth). */
static const uint64_t MULTIPLIER = UINT64_C(0x9E3779B97F4A7C15);

/* The node of a level: its time, how many processors are free there and were just before, the next candidate to look
   at, and how many have started, may start, and ended at the time. */
typedef struct {
    int64_t now, free, before, place, count, num_candidates, num_ended;
} pool_node;

typedef struct {
    int32_t end, tasks;
} held_step;

/* What a node is remembered by: who waited, when, and the number of steps of what ran, plus 1: 0 is a free place. */
typedef struct {
    uint64_t waiting;
    int64_t now, size;
} known_node;

/* By level and job: `started` are places among the `candidates`, `rooms` since when there is room, -1 where there is
   none, `firsts` the first ends after so many starts; `ended` is by level and member, `losses` by level and price. */
struct pool_tree {
    int64_t num_jobs, num_members, num_prices, capacity, ceiling, mirrored, memory, most_held, num_words;
    int64_t level, num_waiting;
    bool is_forward;
    int64_t *tasks, *ticks, *twins, *status, *starts, *ends;
    double *rates, *losses;
    pool_node *nodes;
    int64_t *started, *ended, *rooms, *candidates, *firsts;
    known_node *known;
    held_step *steps, *profile;
    uint64_t *words;
    arena kept;
};

static int64_t *of_level(const pool_tree *t, int64_t *array, int64_t level) { return array + level * t->num_jobs; }

static int64_t *firsts_of(const pool_tree *t, int64_t level) { return t->firsts + level * (t->num_jobs + 1); }

/* Whether a job that may start at one time, or a later one, ends too late for the ceiling or for the first half. */
static bool is_too_late(const pool_tree *t, int64_t j, int64_t time) {
    const int64_t end = time + t->ticks[j];
    return end > t->ceiling || (j == t->mirrored && time + end > t->ceiling);
}

/* Note who may start at a level, and when what runs there ends first; beyond the ceiling where nothing does. What had
   room all the time before waits on, for it could have started then. */
static void enter(pool_tree *t, int64_t level) {
    pool_node *n = t->nodes + level;
    int64_t first = t->ceiling + 1, number = 0, *candidates = of_level(t, t->candidates, level);
    for (int64_t i = 0; i < t->num_members; i++) {
        if (t->status[i] == RUNNING) {
            first = smaller(first, t->ends[i]);
        } else if (t->status[i] == WAITING && n->before < t->tasks[i] && t->tasks[i] <= n->free) {
            if (!is_too_late(t, i, n->now)) candidates[number++] = i;
        }
    }
    firsts_of(t, level)[0] = first;
    n->num_candidates = number;
    n->count = n->place = 0;
}

/* Return the place of the next candidate that starts; their number if there is none, -1 if too much stays idle. */
static int64_t next_to_start(const pool_tree *t, int64_t level, double slack) {
    const pool_node *n = t->nodes + level;
    const int64_t *candidates = of_level(t, t->candidates, level);
    int64_t found = n->num_candidates, idle = n->free, step = firsts_of(t, level)[n->count] - n->now;
    for (int64_t place = found - 1; place >= n->place; place--) {
        const int64_t j = candidates[place];
        if (t->tasks[j] > n->free) continue;
        idle -= t->tasks[j];
        step = smaller(step, t->ticks[j]);
        if (t->twins[j] < 0 || t->status[t->twins[j]] != WAITING) found = place;
    }
    const double lost = t->losses[level * t->num_prices];
    return idle > 0 && lost + (double)(idle * step) / (double)t->capacity > slack ? -1 : found;
}

/* Note what is lost at each price up to a time; return whether that is more than there is. */
static bool loses_too_much(pool_tree *t, int64_t level, int64_t until, const double *slacks) {
    const double span = (double)(until - t->nodes[level].now);
    double *losses = t->losses + level * t->num_prices;
    for (int64_t p = 0; p < t->num_prices; p++) {
        double rate = 0.0;
        for (int64_t i = 0; i < t->num_members; i++)
            if (t->status[i] == RUNNING) rate += t->rates[p * t->num_members + i];
        const double lost = losses[p] + (1.0 - rate) * span;
        if (lost > slacks[p]) return true;
        losses[t->num_prices + p] = lost;
    }
    return false;
}

/* Note since when there is room for each waiting job; return whether one could have run, or will be too late. */
static bool has_a_hole(pool_tree *t, int64_t level, int64_t until) {
    const pool_node *n = t->nodes + level;
    const int64_t *rooms = of_level(t, t->rooms, level);
    int64_t *next = of_level(t, t->rooms, level + 1);
    for (int64_t j = 0; j < t->num_jobs; j++) {
        if (t->status[j] != WAITING) continue;
        if (is_too_late(t, j, until)) return true;
        if (t->tasks[j] > n->free) {
            next[j] = -1;
            continue;
        }
        const int64_t since = rooms[j] >= 0 ? rooms[j] : n->now;
        if (until - since >= t->ticks[j]) return true;
        next[j] = since;
    }
    return false;
}

/* Let sums be, or not be, so many ticks more: sums are the bits of words. */
static void add_up(uint64_t *words, int64_t size, int64_t ticks) {
    const int64_t shift = ticks / BITS, rest = ticks % BITS;
    for (int64_t k = size - 1; k >= shift; k--) {
        uint64_t moved = words[k - shift] << rest;
        if (rest && k > shift) moved |= words[k - shift - 1] >> (BITS - rest);
        words[k] |= moved;
    }
}

/* Return the greatest sum that is no more than a number of ticks. */
static int64_t greatest_sum(const uint64_t *words, int64_t most) {
    int64_t k = most / BITS, bit = 0;
    uint64_t word = words[k] & (~UINT64_C(0) >> (BITS - 1 - most % BITS));
    while (!word) word = words[--k]; /* 0 is a sum */
    for (int64_t step = BITS / 2; step; step /= 2) {
        if (word >> step) {
            word >>= step;
            bit += step;
        }
    }
    return k * BITS + bit;
}

/* Return the processor units that stay idle after what runs has ended, for no waiting jobs last just as long. */
static int64_t idle_in_the_end(pool_tree *t, int64_t level, int64_t until) {
    const int64_t most = t->ceiling - until, size = most / BITS + 1;
    memset(t->words, 0, (size_t)size * sizeof(uint64_t));
    t->words[0] = 1;
    for (int64_t j = 0; j < t->num_jobs; j++)
        if (t->status[j] == WAITING) add_up(t->words, size, t->ticks[j]);
    int64_t idle = (most - greatest_sum(t->words, most)) * t->nodes[level].free;
    for (int64_t i = 0; i < t->num_members; i++) {
        if (t->status[i] != RUNNING || t->ends[i] >= t->ceiling) continue;
        const int64_t left = t->ceiling - t->ends[i];
        idle += (left - greatest_sum(t->words, left)) * t->tasks[i];
    }
    return idle;
}

/* Write ends and tasks of what runs beyond a time, in the order of ends; return how many. */
static int64_t profile_of(pool_tree *t, int64_t until) {
    int64_t size = 0;
    for (int64_t i = 0; i < t->num_members; i++) {
        if (t->status[i] != RUNNING || t->ends[i] <= until) continue;
        int64_t k = size++;
        for (; k > 0 && t->profile[k - 1].end > t->ends[i]; k--) t->profile[k] = t->profile[k - 1];
        t->profile[k] = (held_step){(int32_t)t->ends[i], (int32_t)t->tasks[i]};
    }
    return size;
}

/* Whether one profile never holds more than another from a time on; both end in the order of ends. */
static bool holds_no_more(const held_step *known, int64_t num_known, const held_step *profile, int64_t size, int64_t until) {
    int64_t a = 0, excess = 0;
    for (int64_t k = 0; k < num_known; k++) {
        if (known[k].end > until) excess += known[k].tasks;
        else a = k + 1;
    }
    for (int64_t b = 0; b < size; b++) excess -= profile[b].tasks;
    if (excess > 0) return false;
    for (int64_t b = 0; b < size; b++) { /* what the other holds ends: by then as much of the one must have */
        excess += profile[b].tasks;
        while (a < num_known && known[a].end <= profile[b].end) excess -= known[a++].tasks;
        if (excess > 0 && (b + 1 == size || profile[b + 1].end > profile[b].end)) return false;
    }
    return true;
}

/* Whether the same jobs waited before, no later and beside no more; remember this where not. */
static bool is_known(pool_tree *t, int64_t until) {
    const int64_t size = profile_of(t, until);
    if (size > t->most_held) return false;
    uint64_t waiting = 0;
    for (int64_t j = 0; j < t->num_jobs; j++)
        if (t->status[j] == WAITING) waiting |= UINT64_C(1) << j;
    const int64_t first = (int64_t)(waiting * MULTIPLIER % (uint64_t)t->memory);
    int64_t place = first;
    for (int64_t k = 0; k < NEIGHBOURS; k++) {
        const int64_t at = (first + k) % t->memory;
        const known_node *known = t->known + at;
        if (!known->size) {
            place = at;
            break;
        }
        if (known->waiting == waiting && known->now <= until &&
            holds_no_more(t->steps + at * t->most_held, known->size - 1, t->profile, size, until)) return true;
        if (known->now > t->known[place].now) place = at;
    }
    t->known[place] = (known_node){waiting, until, size + 1};
    memcpy(t->steps + place * t->most_held, t->profile, (size_t)size * sizeof(held_step));
    return false;
}

/* Whether what has started at a level may lead to a schedule that ends by the ceiling. */
static bool may_lead_on(pool_tree *t, int64_t level, int64_t until, const double *slacks) {
    if (until > t->ceiling || loses_too_much(t, level, until, slacks) || has_a_hole(t, level, until)) return false;
    if (t->num_words) {
        const double idle = (double)idle_in_the_end(t, level, until) / (double)t->capacity;
        if (t->losses[(level + 1) * t->num_prices] + idle > slacks[0]) return false;
    }
    /* Where nothing has started the same jobs wait at the level before: that one is not yet seen to its end. */
    return t->nodes[level].count == 0 || !is_known(t, until);
}

/* Start the candidate at a place. */
static void start(pool_tree *t, int64_t level, int64_t place) {
    pool_node *n = t->nodes + level;
    const int64_t j = of_level(t, t->candidates, level)[place], end = n->now + t->ticks[j];
    int64_t *firsts = firsts_of(t, level);
    t->status[j] = RUNNING;
    t->starts[j] = n->now;
    t->ends[j] = end;
    n->free -= t->tasks[j];
    of_level(t, t->started, level)[n->count] = place;
    firsts[n->count + 1] = smaller(firsts[n->count], end);
    n->count++;
    n->place = place + 1;
    t->num_waiting--;
}

/* Go on to the next time. */
static void go_on(pool_tree *t, int64_t level, int64_t until) {
    const pool_node *n = t->nodes + level;
    pool_node *next = t->nodes + level + 1;
    int64_t *ended = t->ended + (level + 1) * t->num_members;
    next->num_ended = 0;
    next->now = until;
    next->free = next->before = n->free;
    for (int64_t i = 0; i < t->num_members; i++) {
        if (t->status[i] != RUNNING || t->ends[i] != until) continue;
        t->status[i] = DONE;
        ended[next->num_ended++] = i;
        next->free += t->tasks[i];
    }
    t->level = level + 1;
    enter(t, level + 1);
}

/* Take the last start back and pass the job over, or go to the level before; return whether there is none. */
static bool go_back(pool_tree *t, int64_t level) {
    pool_node *n = t->nodes + level;
    if (n->count) {
        const int64_t place = of_level(t, t->started, level)[--n->count];
        const int64_t j = of_level(t, t->candidates, level)[place];
        t->status[j] = WAITING;
        n->place = place + 1;
        n->free += t->tasks[j];
        t->num_waiting++;
        t->is_forward = true;
        return false;
    }
    for (int64_t k = 0; k < n->num_ended; k++) t->status[t->ended[level * t->num_members + k]] = RUNNING;
    if (level == 0) return true;
    t->level = level - 1;
    return false;
}

/* Whether all jobs end by the ceiling, which may have fallen since they started. */
static bool ends_in_time(const pool_tree *t) {
    for (int64_t j = 0; j < t->num_jobs; j++)
        if (t->ends[j] > t->ceiling) return false;
    return true;
}

static int64_t search(pool_tree *t, const double *slacks, int64_t max_nodes, double deadline, int64_t *nodes) {
    while (true) {
        const int64_t level = t->level;
        if (!t->is_forward) {
            if (go_back(t, level)) return EVERYTHING;
            continue;
        }
        const int64_t place = next_to_start(t, level, slacks[0]);
        if (place >= 0 && place < t->nodes[level].num_candidates) {
            start(t, level, place);
            if (t->num_waiting == 0) {
                t->is_forward = false;
                if (ends_in_time(t)) return BETTER;
            }
            continue;
        }
        const int64_t until = firsts_of(t, level)[t->nodes[level].count];
        if (place >= 0 && may_lead_on(t, level, until, slacks)) go_on(t, level, until);
        else t->is_forward = false;
        ++*nodes;
        if (*nodes >= max_nodes || (*nodes % LOOKS == 0 && clock_now() >= deadline)) return STOPPED;
    }
}

int64_t pool_tree_run(
    pool_tree *of, int64_t num_jobs, int64_t num_prices, int64_t ceiling, int64_t max_nodes, double seconds,
    const double slacks[num_prices], int64_t starts[num_jobs], int64_t nodes[1]) {
    if (num_jobs != of->num_jobs) return FAULT(OUT_OF_RANGE, 1);
    if (num_prices != of->num_prices) return FAULT(OUT_OF_RANGE, 2);
    if (ceiling > of->ceiling) return FAULT(OUT_OF_RANGE, 3);
    for (int64_t p = 0; p < num_prices; p++)
        if (isnan(slacks[p])) return FAULT(NOT_A_NUMBER, 6);
    nodes[0] = 0;
    of->ceiling = ceiling;
    const pool_node *root = of->nodes;
    if (of->level == 0 && of->num_waiting == num_jobs && root->count == 0 && root->place == 0) enter(of, 0);
    const int64_t ended = search(of, slacks, max_nodes, clock_now() + seconds, nodes);
    if (ended == BETTER) memcpy(starts, of->starts, (size_t)num_jobs * sizeof(int64_t));
    return ended;
}

/* Return the fault in what a pool is made of, or 0. Ends and tasks fit into 32 bits, and products of both into 64. */
static int64_t fault_of(
    const pool_tree *t, int64_t num_busy, int64_t most_words, const int64_t *tasks, const int64_t *ticks,
    const int64_t *twins, const int64_t *busy_ends, const double *rates) {
    const int64_t most = INT64_C(1) << 30;
    if (t->num_jobs < 1 || t->num_jobs > BITS) return FAULT(OUT_OF_RANGE, 1);
    if (num_busy < 0 || num_busy > most) return FAULT(OUT_OF_RANGE, 2);
    if (t->num_prices < 1 || t->num_prices > most) return FAULT(OUT_OF_RANGE, 3);
    if (t->capacity < 1 || t->capacity > most) return FAULT(OUT_OF_RANGE, 4);
    if (t->ceiling > most) return FAULT(TOO_LARGE, 5);
    if (t->mirrored < -1 || t->mirrored >= t->num_jobs) return FAULT(OUT_OF_RANGE, 6);
    if (t->memory < 1 || t->memory > most) return FAULT(OUT_OF_RANGE, 7);
    if (t->most_held < 0 || t->most_held > BITS) return FAULT(OUT_OF_RANGE, 8);
    if (most_words < 0) return FAULT(OUT_OF_RANGE, 9);
    int64_t held = 0;
    for (int64_t i = 0; i < t->num_members; i++) {
        if (tasks[i] < 0 || tasks[i] > t->capacity) return FAULT(OUT_OF_RANGE, 10);
        if (i >= t->num_jobs && (held += tasks[i]) > t->capacity) return FAULT(TOO_LARGE, 10);
    }
    for (int64_t j = 0; j < t->num_jobs; j++) {
        if (ticks[j] < 1 || ticks[j] > most) return FAULT(OUT_OF_RANGE, 11);
        if (twins[j] < -1 || twins[j] >= t->num_jobs) return FAULT(OUT_OF_RANGE, 12);
    }
    for (int64_t b = 0; b < num_busy; b++)
        if (busy_ends[b] < 1 || busy_ends[b] > most) return FAULT(OUT_OF_RANGE, 13);
    for (int64_t i = 0; i < t->num_prices * t->num_members; i++)
        if (isnan(rates[i])) return FAULT(NOT_A_NUMBER, 14);
    return 0;
}

static void place_all(pool_tree *t) {
    const int64_t levels = 2 * t->num_jobs + (t->num_members - t->num_jobs) + 2;
    arena *kept = &t->kept;
    t->tasks = PLACE(kept, t->num_members, int64_t);
    t->ticks = PLACE(kept, t->num_jobs, int64_t);
    t->twins = PLACE(kept, t->num_jobs, int64_t);
    t->status = PLACE(kept, t->num_members, int64_t);
    t->starts = PLACE(kept, t->num_jobs, int64_t);
    t->ends = PLACE(kept, t->num_members, int64_t);
    t->rates = PLACE(kept, t->num_prices * t->num_members, double);
    t->losses = PLACE(kept, levels * t->num_prices, double);
    t->nodes = PLACE(kept, levels, pool_node);
    t->started = PLACE(kept, levels * t->num_jobs, int64_t);
    t->ended = PLACE(kept, levels * t->num_members, int64_t);
    t->rooms = PLACE(kept, levels * t->num_jobs, int64_t);
    t->candidates = PLACE(kept, levels * t->num_jobs, int64_t);
    t->firsts = PLACE(kept, levels * (t->num_jobs + 1), int64_t);
    t->known = PLACE(kept, t->memory, known_node);
    t->steps = PLACE(kept, t->memory * t->most_held, held_step);
    t->profile = PLACE(kept, t->num_members, held_step);
    t->words = PLACE(kept, t->num_words, uint64_t);
}

int64_t pool_tree_new(
    pool_tree *made[1],
    int64_t num_jobs, int64_t num_busy, int64_t num_prices, int64_t capacity, int64_t ceiling, int64_t mirrored,
    int64_t memory, int64_t most_held, int64_t most_words,
    const int64_t tasks[num_jobs + num_busy], const int64_t ticks[num_jobs], const int64_t twins[num_jobs],
    const int64_t busy_ends[num_busy], const double rates[num_prices * (num_jobs + num_busy)]) {
    pool_tree given = {0};
    given.num_jobs = given.num_waiting = num_jobs;
    given.num_members = num_jobs + num_busy;
    given.num_prices = num_prices;
    given.capacity = capacity;
    given.ceiling = ceiling;
    given.mirrored = mirrored;
    given.memory = memory;
    given.most_held = most_held;
    given.is_forward = true;
    const int64_t fault = fault_of(&given, num_busy, most_words, tasks, ticks, twins, busy_ends, rates);
    if (fault) return fault;
    given.num_words = ceiling >= 0 && ceiling / BITS + 1 <= most_words ? ceiling / BITS + 1 : 0;
    pool_tree *t = malloc(sizeof(pool_tree));
    if (!t) return FAULT(NO_MEMORY, 0);
    *t = given;
    place_all(t);
    if (!make_room(&t->kept)) {
        free(t);
        return FAULT(NO_MEMORY, 0);
    }
    place_all(t);
    memcpy(t->tasks, tasks, (size_t)t->num_members * sizeof(int64_t));
    memcpy(t->ticks, ticks, (size_t)num_jobs * sizeof(int64_t));
    memcpy(t->twins, twins, (size_t)num_jobs * sizeof(int64_t));
    memcpy(t->rates, rates, (size_t)(num_prices * t->num_members) * sizeof(double));
    t->nodes[0].free = capacity;
    t->nodes[0].before = -1;
    for (int64_t j = 0; j < num_jobs; j++) of_level(t, t->rooms, 0)[j] = -1;
    for (int64_t b = 0; b < num_busy; b++) {
        t->status[num_jobs + b] = RUNNING;
        t->ends[num_jobs + b] = busy_ends[b];
        t->nodes[0].free -= tasks[num_jobs + b];
    }
    made[0] = t;
    return 0;
}

void pool_tree_free(pool_tree *of) {
    if (!of) return;
    free(of->kept.room);
    free(of);
}
