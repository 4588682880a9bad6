/* Branching: depth first, from start to start and from time to time. */

#include "set_tree_state.h"

enum { EVERYTHING = 0, BETTER = 1, STOPPED = 2, EXCEEDED = 3, AWAITED = 4 };
/* Instead of the place of the next start: too much stays idle; or time is up, and it is to be looked for again. */
enum { IDLE = -1, PAUSED = -9 };
/* Choices that making sets has looked at between two looks at the clock. */
enum { CHOICES_BETWEEN = 100000 };

/* Return the bits of the kinds that run at a level of those that must not run beside some. */
static uint64_t running_apart(const set_tree *t, int64_t level) {
    const member *members = members_of(t, level);
    uint64_t bits = 0;
    for (int64_t i = 0; i < t->nodes[level].num_members && t->has_apart; i++)
        if (members[i].key < t->num_keys) bits |= UINT64_C(1) << t->kind_of[members[i].key];
    return bits;
}

/* Note which keys may start at a level, and when what runs there ends first, another job arrives, or a block begins. What
   had room all the time since it could have started waits on, for it could have started then; so has what could have
   since something has ended last. */
static void enter(set_tree *t, int64_t level) {
    set_node *n = t->nodes + level;
    const member *members = members_of(t, level);
    const double *rooms = t->rooms + level * t->num_keys;
    n->apart = running_apart(t, level);
    const uint64_t held = barred(t, level, true) | (n->settled & ~t->floating);
    int64_t number = 0, *candidates = t->candidates + level * t->num_keys;
    double first = next_begin(t, level);
    for (int64_t key = 0; key < t->num_keys; key++) {
        const int64_t kind = t->kind_of[key];
        if (number_of(t, n->waiting, kind) == 0) continue;
        if (t->kinds[kind].release > n->now) first = earlier(first, t->kinds[kind].release);
        if (held >> kind & 1 || rooms[key] < HUGE_VAL || is_too_late(t, kind, n->now, n->now + t->ticks[key])) continue;
        candidates[number++] = key;
    }
    n->num_candidates = number;
    n->count = n->place = 0;
    n->soonest = t->has_waits ? soonest_wait(t, level) : HUGE_VAL;
    for (int64_t i = 0; i < n->num_members; i++) first = earlier(first, members[i].end);
    firsts_of(t, level)[0] = first;
}

static int64_t looked_at(set_tree *t) { return atomic_load_explicit(&t->sets->num_looked_at, memory_order_relaxed); }

/* Return the place of the next candidate that starts; their number if there is none, IDLE, PAUSED, or why a set cannot be
   made. */
static int64_t next_to_start(set_tree *t, int64_t level) {
    const set_node *n = t->nodes + level;
    const int64_t running = *set_of(t, level), *candidates = t->candidates + level * t->num_keys;
    const double *key_rates = t->sets->key_rates + t->first_price * t->num_keys;
    double rate = *rates_of(t, running), step = earlier(firsts_of(t, level)[n->count], n->soonest) - n->now;
    int64_t found = n->num_candidates, last = -1;
    for (int64_t place = n->place; place < n->num_candidates; place++) {
        const int64_t key = candidates[place], kind = t->kind_of[key], waiting = number_of(t, n->waiting, kind);
        const bool may_run = waiting && !(t->kinds[kind].apart & n->apart) &&
                             (!t->num_rows || keeps_rows(t, n->waiting, kind, n->now, n->now + t->ticks[key], false));
        const int64_t set = may_run ? joined(t->sets, running, key) : NO_SET;
        if (set < NO_SET) return set;
        if (looked_at(t) > t->next_look) {
            if (clock_now() >= t->deadline) return PAUSED;
            t->next_look = looked_at(t) + CHOICES_BETWEEN;
        }
        if (set == NO_SET) continue;
        found = smaller(found, place);
        if (t->costs) return found;
        step = earlier(step, t->ticks[key]);
        if (kind == last) continue;
        rate += key_rates[key] * (double)waiting; /* at the first duration that fits: at others it is worth less */
        last = kind;
        if (rate >= 1.0) return found;
    }
    return losses_of(t, level)[0] + (1.0 - rate) * step > t->slacks[0] ? IDLE : found;
}

/* Start one of the candidate at a place. */
static void start(set_tree *t, int64_t level, int64_t place) {
    set_node *n = t->nodes + level;
    const int64_t key = t->candidates[level * t->num_keys + place];
    const double end = n->now + t->ticks[key];
    kind_of_jobs *of = t->kinds + t->kind_of[key];
    double *firsts = firsts_of(t, level);
    int64_t *set = set_of(t, level);
    set[1] = joined(t->sets, set[0], key);
    members_of(t, level)[n->num_members++] = (member){key, end};
    t->started[level * t->num_jobs + n->count] = place;
    t->given[level * t->num_jobs + n->count] = false;
    firsts[n->count + 1] = earlier(firsts[n->count], end);
    if (t->costs) spent_at(t, level)[1] = spent_with(t->costs, *spent_at(t, level), cost_at(t->costs, key, n->now));
    n->waiting -= UINT64_C(1) << of->shift;
    if (of->apart) n->apart |= UINT64_C(1) << t->kind_of[key];
    of->start = n->now;
    of->end = end;
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
    const bool has_ended = number < n->num_members;
    const int64_t begun = begun_by(t, n->begun, until);
    for (int64_t b = n->begun; b < begun; b++)
        if (t->block_ends[b] > until) next[number++] = (member){t->first_block + b, t->block_ends[b]};
    t->nodes[level + 1] = (set_node){
        .now = until, .waiting = n->waiting, .num_members = number, .begun = begun,
        .settled = has_ended ? 0 : n->settled | ~n->barred};
    *spent_at(t, level + 1) = *spent_at(t, level);
    t->level = level + 1;
    enter(t, level + 1);
}

bool go_back(set_tree *t, int64_t level) {
    set_node *n = t->nodes + level;
    if (!n->count) return --t->level < 0;
    const int64_t place = t->started[level * t->num_jobs + --n->count];
    n->place = place + 1;
    n->num_members--;
    const int64_t kind = t->kind_of[t->candidates[level * t->num_keys + place]];
    n->waiting += UINT64_C(1) << t->kinds[kind].shift;
    if (t->kinds[kind].apart) n->apart &= ~(UINT64_C(1) << kind); /* it is one job */
    t->is_forward = !t->given[level * t->num_jobs + n->count];
    return false;
}

/* Whether all jobs that run end by a time. */
static bool end_by(const set_tree *t, int64_t level, double until) {
    const member *members = members_of(t, level);
    for (int64_t i = 0; i < t->nodes[level].num_members; i++)
        if (members[i].key < t->num_keys && members[i].end > until) return false;
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
        if (!t->nodes[level].waiting && end_by(t, level, next_begin(t, level))) {
            t->is_forward = false;
            if (end_by(t, level, t->ceiling) && (!t->costs || is_affordable(t->costs, *spent_at(t, level))))
                return BETTER; /* ceilings may have fallen since they started */
            continue;
        }
        const int64_t place = next_to_start(t, level);
        if (place == PAUSED) break;
        if (place < IDLE) return place;
        if (place >= 0 && place < t->nodes[level].num_candidates) {
            start(t, level, place);
            continue;
        }
        const double end = firsts_of(t, level)[t->nodes[level].count];
        const double until = place == IDLE || !t->has_waits ? end : earlier(end, next_wait(t, level));
        const int64_t leads_on = place == IDLE ? NO : may_lead_on(t, level, until);
        if (leads_on < 0) return leads_on;
        if (leads_on) go_on(t, level, until);
        else t->is_forward = false;
        if (++*nodes % LOOKS) continue;
        if (atomic_load_explicit(&t->memory->has_ended, memory_order_relaxed)) return AWAITED;
        if (clock_now() >= t->deadline) break;
    }
    return STOPPED;
}

int64_t set_tree_run(
    set_tree *of, int64_t num_prices, int64_t max_nodes, double ceiling, double seconds,
    const double slacks[num_prices], int64_t hits[num_prices], int64_t nodes[1]) {
    if (num_prices < 1 || num_prices > of->sets->num_prices - of->first_price) return FAULT(OUT_OF_RANGE, 1);
    if (isnan(ceiling)) return FAULT(NOT_A_NUMBER, 3);
    for (int64_t p = 0; p < num_prices; p++)
        if (isnan(slacks[p])) return FAULT(NOT_A_NUMBER, 5);
    nodes[0] = 0;
    if (of->level < 0) return EVERYTHING;
    of->ceiling = ceiling;
    if (!of->is_divided) of->half = ceiling + of->nodes[0].now;
    of->slacks = slacks;
    of->hits = hits;
    of->num_prices = num_prices;
    if (!of->has_begun) enter(of, 0);
    of->has_begun = true;
    of->deadline = clock_now() + seconds;
    of->next_look = looked_at(of) + CHOICES_BETWEEN;
    const int64_t ended = search(of, max_nodes, nodes);
    if (ended == EVERYTHING && of->memory->is_shared) of->memory->has_ended = true;
    if (ended == OUT_OF_MEMORY) return FAULT(NO_MEMORY, 0);
    if (of->costs && has_failed(of->costs)) return FAULT(NOT_A_NUMBER, 0);
    return ended == TOO_MANY ? EXCEEDED : ended;
}
