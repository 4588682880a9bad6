#include "set_tree.h"

enum { EVERYTHING = 0, BETTER = 1, STOPPED = 2, EXCEEDED = 3 };
/* Whether a node leads on. */
enum { NO = 0, YES = 1 };
/* Instead of the place of the next start: too much stays idle; or time is up, and it is to be looked for again. */
enum { IDLE = -1, PAUSED = -9 };
/* Members of a running set up to which it is remembered, places in which one thing may stand, low bits of its product
   that are not used for that; nodes, and choices that making sets has looked at, between two looks at the clock. */
enum { MOST_MEMBERS = 12, NEIGHBOURS = 8, LOW_BITS = 20, NODES_BETWEEN = 256, CHOICES_BETWEEN = 100000 };
/* Odd number by which what is remembered is multiplied for its place (Fibonacci hashing, D. Knuth). */
static const uint64_t MULTIPLIER = UINT64_C(0x9E3779B97F4A7C15);

/* The node of a level: its time, who waits, packed, how many have started, the next candidate to look at, how many may
   start, and how many run, those that have started last. */
typedef struct {
    double now;
    uint64_t waiting;
    int64_t count, place, num_candidates, num_members;
} set_node;

typedef struct {
    int64_t key;
    double end;
} member;

/* What a node is remembered by: who waited, when, the running set and the ends of its members; the size is their number
   plus 1: 0 is a free place. */
typedef struct {
    uint64_t waiting;
    double now;
    int32_t set, size;
    double ends[MOST_MEMBERS];
} known_node;

/* A kind: how far up it is among those that wait, packed, under which mask, the bits of the kinds that have to end before,
   when it arrives, by when it has to start and to end, and its least ticks. */
typedef struct {
    int64_t shift;
    uint64_t mask, before;
    double release, latest_start, latest_end, shortest;
} kind_of_jobs;

/* By level: members; running sets and first ends after so many starts; places of what has started among the candidates;
   what was lost at each price; and since when each key has room. `lasting` is what still runs, in the order of keys, then
   of ends. */
struct set_tree {
    running_sets *sets;
    int64_t num_kinds, num_keys, num_jobs, num_busy, num_levels, mirrored, memory, level;
    bool is_forward, has_begun, has_order;
    int64_t next_look;
    double ceiling, deadline;
    const double *slacks;
    int64_t *hits, num_prices;
    kind_of_jobs *kinds;
    int64_t *kind_of;
    double *ticks;
    set_node *nodes;
    int64_t *sets_of, *candidates, *started;
    double *firsts, *losses, *rooms;
    member *members, *lasting;
    known_node *known;
    arena kept;
};

static int64_t number_of(const set_tree *t, uint64_t waiting, int64_t kind) {
    return (int64_t)(waiting >> t->kinds[kind].shift & t->kinds[kind].mask);
}

static member *members_of(const set_tree *t, int64_t level) { return t->members + level * (t->num_jobs + t->num_busy); }

static double *firsts_of(const set_tree *t, int64_t level) { return t->firsts + level * (t->num_jobs + 1); }

static double *losses_of(const set_tree *t, int64_t level) { return t->losses + level * t->sets->num_prices; }

/* Return the running set of a level. */
static int64_t *set_of(const set_tree *t, int64_t level) {
    return t->sets_of + level * (t->num_jobs + 1) + t->nodes[level].count;
}

/* Whether a job that starts at a time and ends at another is too late for the ceiling, itself, or the first half. */
static bool is_too_late(const set_tree *t, int64_t kind, double start, double end) {
    const kind_of_jobs *of = t->kinds + kind;
    return end > t->ceiling || end > of->latest_end || start > of->latest_start ||
           (kind == t->mirrored && start + end > t->ceiling + t->nodes[0].now);
}

/* Return the bits of the kinds that wait or run at a level; none where nothing has to end before anything. */
static uint64_t unfinished(const set_tree *t, int64_t level) {
    uint64_t bits = 0;
    if (!t->has_order) return bits;
    const member *members = members_of(t, level);
    for (int64_t kind = 0; kind < t->num_kinds; kind++)
        if (number_of(t, t->nodes[level].waiting, kind)) bits |= UINT64_C(1) << kind;
    for (int64_t i = 0; i < t->nodes[level].num_members; i++)
        if (members[i].key < t->num_keys) bits |= UINT64_C(1) << t->kind_of[members[i].key];
    return bits;
}

/* Note which keys may start at a level, and when what runs there ends first, or another job arrives. What had room all
   the time before waits on, for it could have started then; so has all that was there where nothing has ended. What had
   to wait for another job until now could not have. */
static void enter(set_tree *t, int64_t level) {
    set_node *n = t->nodes + level;
    const member *members = members_of(t, level);
    const uint8_t *always = level ? t->sets->always + *set_of(t, level - 1) * t->num_keys : NULL;
    const bool has_ended = level && n->num_members < n[-1].num_members;
    const uint64_t open = unfinished(t, level), was_open = level ? unfinished(t, level - 1) : 0;
    int64_t number = 0, *candidates = t->candidates + level * t->num_keys;
    double first = HUGE_VAL;
    for (int64_t key = 0; key < t->num_keys; key++) {
        const int64_t kind = t->kind_of[key];
        const double release = t->kinds[kind].release;
        const uint64_t before = t->kinds[kind].before;
        if (number_of(t, n->waiting, kind) == 0) continue;
        if (release > n->now) {
            first = earlier(first, release);
            continue;
        }
        if (before & open || is_too_late(t, kind, n->now, n->now + t->ticks[key])) continue;
        if (!level || release == n->now || before & was_open || (has_ended && !always[key])) candidates[number++] = key;
    }
    n->num_candidates = number;
    n->count = n->place = 0;
    for (int64_t i = 0; i < n->num_members; i++) first = earlier(first, members[i].end);
    firsts_of(t, level)[0] = first;
}

/* Return the place of the next candidate that starts; their number if there is none, IDLE, PAUSED, or why a set cannot be
   made. */
static int64_t next_to_start(set_tree *t, int64_t level) {
    const set_node *n = t->nodes + level;
    const int64_t running = *set_of(t, level), *candidates = t->candidates + level * t->num_keys;
    double rate = t->sets->rates[running * t->sets->num_prices], step = firsts_of(t, level)[n->count] - n->now;
    int64_t found = n->num_candidates, last = -1;
    for (int64_t place = n->place; place < n->num_candidates; place++) {
        const int64_t key = candidates[place], kind = t->kind_of[key], waiting = number_of(t, n->waiting, kind);
        const int64_t set = waiting ? joined(t->sets, running, key) : NO_SET;
        if (set < NO_SET) return set;
        if (t->sets->num_looked_at > t->next_look) {
            if (clock_now() >= t->deadline) return PAUSED;
            t->next_look = t->sets->num_looked_at + CHOICES_BETWEEN;
        }
        if (set == NO_SET) continue;
        found = smaller(found, place);
        step = earlier(step, t->ticks[key]);
        if (kind == last) continue;
        rate += t->sets->key_rates[key] * (double)waiting; /* at the first duration that fits: at others it is worth less */
        last = kind;
        if (rate >= 1.0) return found;
    }
    return losses_of(t, level)[0] + (1.0 - rate) * step > t->slacks[0] ? IDLE : found;
}

/* Note what is lost at each price up to a time; return whether that is more than there is. */
static bool loses_too_much(set_tree *t, int64_t level, double until) {
    const double span = until - t->nodes[level].now, *losses = losses_of(t, level);
    const double *rates = t->sets->rates + *set_of(t, level) * t->sets->num_prices;
    double *next = losses_of(t, level + 1);
    for (int64_t p = 0; p < t->num_prices; p++) {
        const double lost = losses[p] + (1.0 - rates[p]) * span;
        if (lost > t->slacks[p]) {
            t->hits[p]++;
            return true;
        }
        next[p] = lost;
    }
    return false;
}

/* Note since when there is room for each key that waits, and may start; return whether one could have run, or will be too late. */
static bool has_a_hole(set_tree *t, int64_t level, double until) {
    const set_node *n = t->nodes + level;
    for (int64_t kind = 0; kind < t->num_kinds; kind++) {
        if (!number_of(t, n->waiting, kind)) continue;
        const double start = later(until, t->kinds[kind].release);
        if (is_too_late(t, kind, start, start + t->kinds[kind].shortest)) return true;
    }
    const uint64_t open = unfinished(t, level);
    const uint8_t *always = t->sets->always + *set_of(t, level) * t->num_keys;
    const double *rooms = t->rooms + level * t->num_keys;
    double *next = t->rooms + (level + 1) * t->num_keys;
    for (int64_t key = 0; key < t->num_keys; key++) {
        const int64_t kind = t->kind_of[key];
        if (!always[key] || t->kinds[kind].before & open) {
            next[key] = HUGE_VAL;
            continue;
        }
        const double since = earlier(rooms[key], n->now);
        if (later(since, t->kinds[kind].release) + t->ticks[key] <= until && number_of(t, n->waiting, kind)) return true;
        next[key] = since;
    }
    return false;
}

/* Put a member behind so many others, in the order of keys, then of ends. */
static void insert(member *sorted, int64_t size, member one) {
    int64_t k = size;
    for (; k > 0 && (sorted[k - 1].key > one.key || (sorted[k - 1].key == one.key && sorted[k - 1].end > one.end)); k--)
        sorted[k] = sorted[k - 1];
    sorted[k] = one;
}

/* Write what runs beyond a time, in the order of keys, then of ends; return how many. */
static int64_t write_lasting(set_tree *t, int64_t level, double until) {
    const member *members = members_of(t, level);
    int64_t size = 0;
    for (int64_t i = 0; i < t->nodes[level].num_members; i++)
        if (members[i].end > until) insert(t->lasting, size++, members[i]);
    return size;
}

/* Whether all that still runs of what is remembered runs here, too, and ends here no earlier. Both are looked at from the
   last of each key on: of those of one key the last ends are compared. */
static bool runs_no_longer(const set_tree *t, const known_node *known, int64_t size, double until) {
    const int64_t *keys = t->sets->sets[known->set].members;
    int64_t k = size - 1;
    for (int64_t i = known->size - 2; i >= 0; i--) {
        if (known->ends[i] <= until) continue;
        while (k >= 0 && t->lasting[k].key > keys[i]) k--;
        if (k < 0 || t->lasting[k].key != keys[i] || t->lasting[k].end < known->ends[i]) return false;
        k--;
    }
    return true;
}

/* Return whether what can follow a running set can follow what is remembered, or why a set cannot be made. Without what
   has ended, or runs here alone, the one must have all choices of the other. */
static int64_t is_no_worse(set_tree *t, const known_node *known, int64_t running, int64_t size, double until) {
    if (!runs_no_longer(t, known, size, until)) return NO;
    int64_t one = known->set, other = running, i = known->size - 2, k = size - 1;
    while (i >= 0 || k >= 0) {
        const int64_t key = i >= 0 ? t->sets->sets[known->set].members[i] : -1;
        const bool is_over = i >= 0 && known->ends[i] <= until, is_same = k >= 0 && t->lasting[k].key == key;
        if (is_over) one = left_by(t->sets, one, key);
        else if (!is_same) other = left_by(t->sets, other, t->lasting[k].key);
        if (smaller(one, other) < 0) return smaller(one, other);
        if (is_over || is_same) i--;
        if (!is_over) k--;
    }
    const running_set *of = t->sets->sets + other;
    const bool covers = of->number < t->sets->most_compared && (t->sets->sets[one].covers >> of->number & 1);
    return one == other || covers ? YES : NO;
}

/* Return whether the same jobs waited before, no later and beside no more, or why a set cannot be made. Remember this
   where not. */
static int64_t is_known(set_tree *t, int64_t level, double until, int64_t running) {
    const int64_t size = write_lasting(t, level, until);
    const uint64_t waiting = t->nodes[level].waiting;
    if (size > MOST_MEMBERS) return NO;
    const int64_t first = (int64_t)(waiting * MULTIPLIER >> LOW_BITS) % t->memory;
    known_node *place = t->known + first;
    for (int64_t k = 0; k < NEIGHBOURS; k++) {
        known_node *at = t->known + (first + k) % t->memory;
        if (!at->size) {
            place = at;
            break;
        }
        if (at->waiting == waiting && at->now <= until) {
            const int64_t known = is_no_worse(t, at, running, size, until);
            if (known != NO) return known;
        }
        if (at->now > place->now) place = at;
    }
    place->waiting = waiting;
    place->now = until;
    place->set = (int32_t)running;
    place->size = (int32_t)size + 1;
    for (int64_t k = 0; k < size; k++) place->ends[k] = t->lasting[k].end;
    return NO;
}

/* Return what still runs at a time, or why that set cannot be made. */
static int64_t after(const set_tree *t, int64_t level, double until) {
    const member *members = members_of(t, level);
    int64_t running = *set_of(t, level);
    for (int64_t i = 0; i < t->nodes[level].num_members && running >= 0; i++)
        if (members[i].end <= until) running = left_by(t->sets, running, members[i].key);
    return running;
}

/* Return whether what has started at a level may lead to a schedule that ends by the ceiling, or why a set cannot be
   made. */
static int64_t may_lead_on(set_tree *t, int64_t level, double until) {
    if (until > t->ceiling || isinf(until) || loses_too_much(t, level, until) || has_a_hole(t, level, until)) return NO;
    const int64_t running = after(t, level, until);
    if (running < 0) return running;
    t->sets_of[(level + 1) * (t->num_jobs + 1)] = running;
    if (!t->nodes[level].count) return YES; /* the same jobs wait at the level before, which is not yet seen to its end */
    const int64_t known = is_known(t, level, until, running);
    return known < 0 ? known : known == NO;
}

/* Start one of the candidate at a place. */
static void start(set_tree *t, int64_t level, int64_t place) {
    set_node *n = t->nodes + level;
    const int64_t key = t->candidates[level * t->num_keys + place];
    const double end = n->now + t->ticks[key];
    double *firsts = firsts_of(t, level);
    int64_t *set = set_of(t, level);
    set[1] = joined(t->sets, set[0], key);
    members_of(t, level)[n->num_members++] = (member){key, end};
    t->started[level * t->num_jobs + n->count] = place;
    firsts[n->count + 1] = earlier(firsts[n->count], end);
    n->waiting -= UINT64_C(1) << t->kinds[t->kind_of[key]].shift;
    n->count++;
    n->place = place;
}

/* Go on to the next time. */
static void go_on(set_tree *t, int64_t level, double until) {
    const set_node *n = t->nodes + level;
    const member *members = members_of(t, level);
    member *next = members_of(t, level + 1);
    int64_t number = 0;
    for (int64_t i = 0; i < n->num_members; i++)
        if (members[i].end > until) next[number++] = members[i];
    t->nodes[level + 1] = (set_node){.now = until, .waiting = n->waiting, .num_members = number};
    t->level = level + 1;
    enter(t, level + 1);
}

/* Take the last start back and pass its key over, or go to the level before; return whether there is none. */
static bool go_back(set_tree *t, int64_t level) {
    set_node *n = t->nodes + level;
    if (!n->count) {
        t->level = level - 1;
        return level == 0;
    }
    const int64_t place = t->started[level * t->num_jobs + --n->count];
    n->place = place + 1;
    n->num_members--;
    n->waiting += UINT64_C(1) << t->kinds[t->kind_of[t->candidates[level * t->num_keys + place]]].shift;
    t->is_forward = true;
    return false;
}

/* Whether all jobs that run end by the ceiling, which may have fallen since they started. */
static bool ends_in_time(const set_tree *t, int64_t level) {
    const member *members = members_of(t, level);
    for (int64_t i = 0; i < t->nodes[level].num_members; i++)
        if (members[i].key < t->num_keys && members[i].end > t->ceiling) return false;
    return true;
}

/* Search on, up to so many nodes; return how it ended, or why a set cannot be made. */
static int64_t search(set_tree *t, int64_t max_nodes, int64_t *nodes) {
    while (*nodes < max_nodes) {
        const int64_t level = t->level;
        if (!t->is_forward) {
            if (go_back(t, level)) return EVERYTHING;
            continue;
        }
        const int64_t place = next_to_start(t, level);
        if (place == PAUSED) break;
        if (place < IDLE) return place;
        if (place >= 0 && place < t->nodes[level].num_candidates) {
            start(t, level, place);
            if (t->nodes[level].waiting == 0) {
                t->is_forward = false;
                if (ends_in_time(t, level)) return BETTER;
            }
            continue;
        }
        const double until = firsts_of(t, level)[t->nodes[level].count];
        const int64_t leads_on = place == IDLE ? NO : may_lead_on(t, level, until);
        if (leads_on < 0) return leads_on;
        if (leads_on) go_on(t, level, until);
        else t->is_forward = false;
        if (++*nodes % NODES_BETWEEN == 0 && clock_now() >= t->deadline) break;
    }
    return STOPPED;
}

int64_t set_tree_run(
    set_tree *of, int64_t num_prices, int64_t max_nodes, double ceiling, double seconds,
    const double slacks[num_prices], int64_t hits[num_prices], int64_t nodes[1]) {
    if (num_prices < 1 || num_prices > of->sets->num_prices) return FAULT(OUT_OF_RANGE, 1);
    if (isnan(ceiling)) return FAULT(NOT_A_NUMBER, 3);
    for (int64_t p = 0; p < num_prices; p++)
        if (isnan(slacks[p])) return FAULT(NOT_A_NUMBER, 5);
    nodes[0] = 0;
    if (of->level < 0) return EVERYTHING;
    of->ceiling = ceiling;
    of->slacks = slacks;
    of->hits = hits;
    of->num_prices = num_prices;
    if (!of->has_begun) enter(of, 0);
    of->has_begun = true;
    of->deadline = clock_now() + seconds;
    of->next_look = of->sets->num_looked_at + CHOICES_BETWEEN;
    const int64_t ended = search(of, max_nodes, nodes);
    if (ended == OUT_OF_MEMORY) return FAULT(NO_MEMORY, 0);
    return ended == TOO_MANY ? EXCEEDED : ended;
}

int64_t set_tree_level(set_tree *of) { return of->level; }

int64_t set_tree_left(set_tree *of, int64_t level, int64_t num_kinds, double left[num_kinds], double now[1]) {
    if (level < 0 || level > of->level) return FAULT(OUT_OF_RANGE, 1);
    if (num_kinds != of->num_kinds) return FAULT(OUT_OF_RANGE, 2);
    const set_node *n = of->nodes + level;
    const member *members = members_of(of, level);
    for (int64_t kind = 0; kind < num_kinds; kind++) left[kind] = (double)number_of(of, n->waiting, kind);
    for (int64_t i = n->num_members - n->count; i < n->num_members; i++) left[of->kind_of[members[i].key]] += 1.0;
    for (int64_t i = 0; i < n->num_members - n->count; i++) {
        const int64_t key = members[i].key;
        if (key < of->num_keys) left[of->kind_of[key]] += (members[i].end - n->now) / of->ticks[key];
    }
    now[0] = n->now;
    return 0;
}

int64_t set_tree_lose(set_tree *of, int64_t row) {
    const int64_t num_prices = of->sets->num_prices;
    if (row < 0 || row >= num_prices) return FAULT(OUT_OF_RANGE, 1);
    for (int64_t level = 0; level < of->level; level++) {
        const double span = of->nodes[level + 1].now - of->nodes[level].now;
        const double rate = of->sets->rates[*set_of(of, level) * num_prices + row];
        losses_of(of, level + 1)[row] = losses_of(of, level)[row] + (1.0 - rate) * span;
    }
    return 0;
}

/* A member of a schedule: the level at which it started, when, its mode, and as which of all its mode was chosen, both -1
   where that is open. */
typedef struct {
    member of;
    double start;
    int64_t level, mode, rank;
} scheduled;

/* Write which members of a schedule run at a level, in the order of keys, then of ends; return how many. */
static int64_t write_running(scheduled *all, int64_t number, int64_t level, double now, scheduled **running) {
    int64_t size = 0;
    for (int64_t m = 0; m < number; m++) {
        const member one = all[m].of;
        if (all[m].level > level || (all[m].level < level && one.end <= now)) continue;
        int64_t k = size++;
        for (; k > 0; k--) {
            const member before = running[k - 1]->of;
            if (before.key < one.key || (before.key == one.key && before.end <= one.end)) break;
            running[k] = running[k - 1];
        }
        running[k] = all + m;
    }
    return size;
}

/* Give all that run in a set the modes of its first choice that agrees with those given already to `rank` members; return
   to how many they are given then. */
static int64_t choose(const running_set *set, scheduled **running, int64_t rank) {
    const int32_t *choice = set->choices;
    for (int64_t c = 0; c < set->num_choices; c++, choice += set->num_members) {
        int64_t i = 0;
        while (i < set->num_members && (running[i]->mode < 0 || running[i]->mode == choice[i])) i++;
        if (i < set->num_members) continue;
        for (i = 0; i < set->num_members; i++) {
            if (running[i]->mode < 0) running[i]->rank = rank++;
            running[i]->mode = choice[i];
        }
        break;
    }
    return rank;
}

/* Write all members of the path, those that run from the beginning first; return how many. */
static int64_t write_members(const set_tree *t, scheduled *all) {
    int64_t number = 0;
    for (int64_t level = 0; level <= t->level; level++) {
        const set_node *n = t->nodes + level;
        const int64_t before = n->num_members - n->count;
        for (int64_t i = level ? before : 0; i < n->num_members; i++)
            all[number++] = (scheduled){members_of(t, level)[i], n->now, i < before ? -1 : level, -1, -1};
    }
    return number;
}

static int compare_starts(const void *a, const void *b) {
    const scheduled *one = a, *other = b;
    if (one->start != other->start) return one->start < other->start ? -1 : 1;
    return one->rank < other->rank ? -1 : one->rank > other->rank;
}

int64_t set_tree_schedule(
    set_tree *of, int64_t num_jobs, int64_t keys[num_jobs], double starts[num_jobs], int64_t modes[num_jobs]) {
    if (num_jobs != of->num_jobs || of->level < 0 || of->nodes[of->level].waiting) return FAULT(OUT_OF_RANGE, 1);
    const int64_t most = of->num_jobs + of->num_busy;
    scheduled *all = malloc((size_t)most * sizeof(scheduled)), **running = malloc((size_t)most * sizeof(scheduled *));
    if (all && running) {
        const int64_t number = write_members(of, all);
        for (int64_t level = of->level, rank = 0; level >= 0; level--) {
            write_running(all, number, level, of->nodes[level].now, running);
            rank = choose(of->sets->sets + *set_of(of, level), running, rank);
        }
        qsort(all, (size_t)number, sizeof(scheduled), compare_starts);
        for (int64_t m = 0, j = 0; m < number; m++) {
            if (all[m].of.key >= of->num_keys) continue;
            keys[j] = all[m].of.key;
            starts[j] = all[m].start;
            modes[j++] = all[m].mode;
        }
    }
    const bool has_memory = all && running;
    free(all);
    free(running);
    return has_memory ? 0 : FAULT(NO_MEMORY, 0);
}

/* Return the fault in what a tree is made of, or 0; what runs from the beginning fits. */
static int64_t fault_of(
    const set_tree *t, double release, const int64_t *kinds, const double *ticks, const int64_t *counts,
    const double *releases, const double *latest_starts, const double *latest_ends, const double *shortest,
    const int64_t *busy_keys, const double *busy_ends) {
    if (t->num_kinds < 1 || t->num_kinds > 64) return FAULT(OUT_OF_RANGE, 2);
    if (t->num_keys != t->sets->num_job_keys) return FAULT(OUT_OF_RANGE, 3);
    if (t->num_busy < 0 || t->num_busy > t->sets->num_keys) return FAULT(OUT_OF_RANGE, 4);
    if (t->mirrored < -1 || t->mirrored >= t->num_kinds) return FAULT(OUT_OF_RANGE, 5);
    if (t->memory < 1 || t->memory > INT32_MAX) return FAULT(OUT_OF_RANGE, 6);
    if (isnan(release)) return FAULT(NOT_A_NUMBER, 7);
    for (int64_t key = 0; key < t->num_keys; key++) {
        if (kinds[key] < 0 || kinds[key] >= t->num_kinds) return FAULT(OUT_OF_RANGE, 8);
        if (!(ticks[key] > 0.0)) return FAULT(OUT_OF_RANGE, 9);
    }
    for (int64_t kind = 0, bits = 0; kind < t->num_kinds; kind++) {
        if (counts[kind] < 1 || counts[kind] > 64) return FAULT(OUT_OF_RANGE, 10);
        for (int64_t number = counts[kind]; number; number /= 2) bits++;
        if (bits > 64) return FAULT(TOO_LARGE, 10);
        if (isnan(releases[kind])) return FAULT(NOT_A_NUMBER, 11);
        if (isnan(latest_starts[kind])) return FAULT(NOT_A_NUMBER, 12);
        if (isnan(latest_ends[kind])) return FAULT(NOT_A_NUMBER, 13);
        if (isnan(shortest[kind])) return FAULT(NOT_A_NUMBER, 14);
    }
    for (int64_t b = 0; b < t->num_busy; b++) {
        if (busy_keys[b] < t->num_keys || busy_keys[b] >= t->sets->num_keys) return FAULT(OUT_OF_RANGE, 16);
        if (isnan(busy_ends[b])) return FAULT(NOT_A_NUMBER, 17);
    }
    return 0;
}

static void place_all(set_tree *t) {
    arena *kept = &t->kept;
    const int64_t levels = t->num_levels, members = t->num_jobs + t->num_busy;
    t->kinds = PLACE(kept, t->num_kinds, kind_of_jobs);
    t->kind_of = PLACE(kept, t->num_keys, int64_t);
    t->ticks = PLACE(kept, t->num_keys, double);
    t->nodes = PLACE(kept, levels, set_node);
    t->sets_of = PLACE(kept, levels * (t->num_jobs + 1), int64_t);
    t->candidates = PLACE(kept, levels * t->num_keys, int64_t);
    t->started = PLACE(kept, levels * t->num_jobs, int64_t);
    t->firsts = PLACE(kept, levels * (t->num_jobs + 1), double);
    t->losses = PLACE(kept, levels * t->sets->num_prices, double);
    t->rooms = PLACE(kept, levels * t->num_keys, double);
    t->members = PLACE(kept, levels * members, member);
    t->lasting = PLACE(kept, members, member);
    t->known = PLACE(kept, t->memory, known_node);
}

/* Write down kinds and keys; who waits at the first level follows from them. */
static void write_kinds(
    set_tree *t, const int64_t *kinds, const double *ticks, const int64_t *counts, const double *releases,
    const double *latest_starts, const double *latest_ends, const double *shortest, const uint64_t *before) {
    memcpy(t->kind_of, kinds, (size_t)t->num_keys * sizeof(int64_t));
    memcpy(t->ticks, ticks, (size_t)t->num_keys * sizeof(double));
    for (int64_t kind = 0, shift = 0; kind < t->num_kinds; kind++) {
        int64_t width = 0;
        while (counts[kind] >> width) width++;
        const uint64_t mask = (UINT64_C(1) << width) - 1;
        t->kinds[kind] = (kind_of_jobs){
            shift, mask, before[kind], releases[kind], latest_starts[kind], latest_ends[kind], shortest[kind]};
        t->has_order |= before[kind] != 0;
        t->nodes[0].waiting |= (uint64_t)counts[kind] << shift;
        shift += width;
    }
}

/* Let what runs from the beginning run at the first level; return its set, or why that cannot be made. */
static int64_t write_busy(set_tree *t, const int64_t *busy_keys, const double *busy_ends) {
    int64_t running = 0;
    for (int64_t b = 0; b < t->num_busy && running >= 0; b++) {
        running = running_sets_join(t->sets, running, busy_keys[b]);
        t->members[b] = (member){busy_keys[b], busy_ends[b]};
    }
    t->nodes[0].num_members = t->num_busy;
    t->sets_of[0] = running;
    return running;
}

int64_t set_tree_new(
    set_tree *made[1], running_sets *sets,
    int64_t num_kinds, int64_t num_job_keys, int64_t num_busy, int64_t mirrored, int64_t memory, double release,
    const int64_t kinds[num_job_keys], const double ticks[num_job_keys], const int64_t counts[num_kinds],
    const double releases[num_kinds], const double latest_starts[num_kinds], const double latest_ends[num_kinds],
    const double shortest[num_kinds], const uint64_t before[num_kinds],
    const int64_t busy_keys[num_busy], const double busy_ends[num_busy]) {
    set_tree given = {.sets = sets, .num_kinds = num_kinds, .num_keys = num_job_keys, .num_busy = num_busy,
                      .mirrored = mirrored, .memory = memory, .is_forward = true};
    const int64_t fault = fault_of(
        &given, release, kinds, ticks, counts, releases, latest_starts, latest_ends, shortest, busy_keys, busy_ends);
    if (fault) return fault;
    for (int64_t kind = 0; kind < num_kinds; kind++) given.num_jobs += counts[kind];
    given.num_levels = given.num_jobs + num_busy + num_kinds + 2; /* something ends or arrives at each but the first */
    set_tree *t = malloc(sizeof(set_tree));
    if (!t) return FAULT(NO_MEMORY, 0);
    *t = given;
    place_all(t);
    if (!make_room(&t->kept)) {
        free(t);
        return FAULT(NO_MEMORY, 0);
    }
    place_all(t);
    write_kinds(t, kinds, ticks, counts, releases, latest_starts, latest_ends, shortest, before);
    t->nodes[0].now = release;
    for (int64_t key = 0; key < num_job_keys; key++) t->rooms[key] = HUGE_VAL;
    const int64_t running = write_busy(t, busy_keys, busy_ends);
    if (running >= 0) {
        made[0] = t;
        return 0;
    }
    set_tree_free(t);
    return running == OUT_OF_MEMORY ? FAULT(NO_MEMORY, 0) : FAULT(TOO_LARGE, 16);
}

void set_tree_free(set_tree *of) {
    if (!of) return;
    free(of->kept.room);
    free(of);
}
