#include "link_pricing.h"

/* Russian dolls: jobs stand in an order, and the best set among the last of them is found for ever more of these, for
   each with the first of them in it. What the later ones can add is no more than their best set, and no more than fills
   the processors that are left with the jobs that fit beside each member, in parts if need be. Source: G. Verfaillie,
   M. Lemaitre, T. Schiex, "Russian doll search for solving constraint optimization problems", AAAI-96. */

/* Numbers of parameters, for faults. */
enum { NUM_JOBS = 1, NUM_LEVELS, NUM_CLASSES, NUM_RESOURCES, NUM_CHOICES, MOST, NUM_REMEMBERED, ALLOCATIONS, LOADS,
       SPANS, IS_RUNNING, FREE, LEFT };
enum { JOBS_COMPARED = 1, SLOWEST };
enum { NUM_PLACES = 1, LEVELS_OF_PLACES, NUM_ROOMS, NUM_PROCESSORS, ORDER, TASKS, LEVELS_OF, LEVELS, VALUES, DENSITIES,
       ROOMS, WITHOUT_LINKS };
enum { JOBS_OF_SETS = 1, NUM_SETS };

enum { MOST_JOBS = 64 }; /* bits of a word */
enum { MOST_KEPT = 64 }; /* good sets that are kept in a search */
enum { NEIGHBOURS = 4 }; /* places of the memory in which one set may stand */
enum { UNKNOWN = 0, FITS = 1, FITS_NOT = 2 };
enum { STEPS = 1 << 16 }; /* choices that are tried, or places looked at, between two looks at the clock */

/* Odd number by which keys are multiplied for their place in the memory (Fibonacci hashing, D. Knuth). */
#define MULTIPLIER 0x9E3779B97F4A7C15u

typedef struct {
    int64_t job, level;
} member;

/* The search after so many members: the next place and its level, the worth, who fits beside all (bits of places), the
   processors that are left, and their room. */
typedef struct {
    int64_t place, level, processors, room;
    double worth;
    uint64_t later;
} depth;

/* A check: in which order members are placed, how many choices each has, the next one, and what is left before. */
typedef struct {
    int64_t *order, *sizes, *following, *free;
    double *left;
} trial;

/* The jobs that are worth something, by places. */
typedef struct {
    int64_t num_places, num_levels, num_rooms;
    int64_t *order, *tasks, *levels_of, *levels, *rooms;
    double *values, *densities, *without_links;
    arena kept;
} items;

struct link_pricing {
    int64_t num_jobs, num_levels, num_classes, num_resources, num_choices, most, num_remembered, num_words, bits;
    int64_t compared; /* pairs so far */
    int64_t looked_at;
    int64_t *allocations, *spans;
    double *loads;
    uint8_t *is_running, *known;
    uint64_t *beside, *remembered, *keys; /* beside: by jobs */
    uint64_t fitting[MOST_JOBS];          /* by places */
    trial at;
    depth *depths;
    member *members, *kept_members;
    items of;
    int64_t doll, d, tried, num_kept, sizes[MOST_KEPT];
    double dolls[MOST_JOBS], worths[MOST_KEPT];
    arena kept;
};

/* Return whether a choice fits into the room before the i-th member, and write what it leaves. A running job holds what
   it holds, and more than there is leaves nothing. */
static bool takes(const link_pricing *p, int64_t choice, int64_t i, bool is_running) {
    const int64_t *free = p->at.free + i * p->num_classes, *allocation = p->allocations + choice * p->num_classes;
    const double *left = p->at.left + i * p->num_resources, *load = p->loads + choice * p->num_resources;
    int64_t *rest_free = p->at.free + (i + 1) * p->num_classes;
    double *rest_left = p->at.left + (i + 1) * p->num_resources;
    for (int64_t g = 0; g < p->num_classes; g++) {
        rest_free[g] = free[g] - allocation[g];
        if (rest_free[g] < 0 && !is_running) return false;
    }
    for (int64_t k = 0; k < p->num_resources; k++) {
        rest_left[k] = left[k] - load[k];
        if (rest_left[k] < 0.0 && !is_running) return false;
        rest_left[k] = later(rest_left[k], 0.0);
    }
    return true;
}

static const int64_t *span_of(const link_pricing *p, int64_t i) {
    const member *m = p->members + p->at.order[i];
    return p->spans + 2 * (m->job * p->num_levels + m->level);
}

/* Put the first members in order: those that run already first, then those with the fewest choices. */
static void arrange_order(link_pricing *p, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        const member *m = p->members + i;
        const int64_t *span = p->spans + 2 * (m->job * p->num_levels + m->level);
        const int64_t size = p->is_running[m->job] ? -1 : span[1] - span[0];
        int64_t place = i;
        for (; place > 0 && p->at.sizes[place - 1] > size; place--) {
            p->at.order[place] = p->at.order[place - 1];
            p->at.sizes[place] = p->at.sizes[place - 1];
        }
        p->at.order[place] = i;
        p->at.sizes[place] = size;
    }
}

/* Return whether some choice fits for each of the first members; true as well where more than so many were tried. */
static bool are_arranged(link_pricing *p, int64_t count) {
    arrange_order(p, count);
    int64_t steps = 0, i = 0;
    p->at.following[0] = span_of(p, 0)[0];
    while (i < count && steps <= p->most) {
        const bool is_running = p->is_running[p->members[p->at.order[i]].job];
        const int64_t end = span_of(p, i)[1];
        int64_t choice = p->at.following[i];
        while (choice < end && !takes(p, choice, i, is_running)) choice++;
        p->looked_at += choice - p->at.following[i] + 1;
        if (choice >= end) {
            if (--i < 0) return false;
            continue;
        }
        steps++;
        p->at.following[i] = choice + 1;
        if (++i < count) p->at.following[i] = span_of(p, i)[0];
    }
    return true;
}

int64_t link_pricing_compare(link_pricing *of, int64_t num_jobs, const int64_t *slowest, double seconds) {
    if (num_jobs != of->num_jobs) return FAULT(OUT_OF_RANGE, JOBS_COMPARED);
    for (int64_t j = 0; j < num_jobs; j++)
        if (slowest[j] < 0 || slowest[j] >= of->num_levels) return FAULT(OUT_OF_RANGE, SLOWEST);
    const double until = clock_now() + seconds;
    of->looked_at = 0;
    for (; of->compared < num_jobs * num_jobs; of->compared++) {
        const int64_t one = of->compared / num_jobs, other = of->compared % num_jobs;
        if (other >= one) continue;
        if (of->looked_at > STEPS) {
            if (clock_now() > until) return 0;
            of->looked_at = 0;
        }
        of->members[0] = (member){one, slowest[one]};
        of->members[1] = (member){other, slowest[other]};
        if (!are_arranged(of, 2)) continue;
        of->beside[one] |= (uint64_t)1 << other;
        of->beside[other] |= (uint64_t)1 << one;
    }
    return 1;
}

/* Return what jobs, as bits of their places from one on, bring at most in so many processors. */
static double most_of(const items *of, uint64_t later, int64_t begin, int64_t free) {
    double most = 0.0;
    for (int64_t place = begin; place < of->num_places; place++) {
        if (!(later >> place & 1)) continue;
        if (of->tasks[place] >= free) {
            const double part = of->densities[place] * (double)free;
            return most + (part > 0.0 ? part : 0.0);
        }
        free -= of->tasks[place];
        most += of->values[place * of->num_levels];
    }
    return most;
}

/* Return whether the first members have choices that fit together; what was found is remembered. */
static bool do_fit(link_pricing *p, int64_t count) {
    const uint64_t *key = p->keys + count * p->num_words;
    const size_t size = (size_t)p->num_words * sizeof(uint64_t);
    uint64_t product = 0;
    for (int64_t w = 0; w < p->num_words; w++) {
        product = (product ^ key[w]) * MULTIPLIER;
        product ^= product >> 32;
    }
    const int64_t first = (int64_t)(product >> 1) % p->num_remembered;
    int64_t place = first;
    for (int64_t i = 0; i < NEIGHBOURS; i++) {
        const int64_t at = (first + i) % p->num_remembered;
        if (p->known[at] == UNKNOWN) {
            place = at;
            break;
        }
        if (!memcmp(p->remembered + at * p->num_words, key, size)) return p->known[at] == FITS;
    }
    const bool fits = are_arranged(p, count);
    p->known[place] = fits ? FITS : FITS_NOT;
    memcpy(p->remembered + place * p->num_words, key, size);
    return fits;
}

/* Make a member of a place at a level the last of so many; return whether they all fit. */
static bool add_member(link_pricing *p, int64_t d, int64_t place, int64_t level) {
    const member made = {p->of.order[place], p->of.levels[place * p->of.num_levels + level]};
    const int64_t per_word = 64 / p->bits;
    uint64_t *key = p->keys + (d + 1) * p->num_words;
    memcpy(key, p->keys + d * p->num_words, (size_t)p->num_words * sizeof(uint64_t));
    key[made.job / per_word] |= (uint64_t)(made.level + 1) << (made.job % per_word * p->bits);
    p->members[d] = made;
    return do_fit(p, d + 1);
}

/* Keep the present set, the best yet. */
static void keep(link_pricing *p, int64_t count, double worth) {
    p->dolls[p->doll] = worth;
    const int64_t at = p->num_kept++ % MOST_KEPT;
    p->worths[at] = worth;
    p->sizes[at] = count;
    memcpy(p->kept_members + at * (p->num_jobs + 1), p->members, (size_t)count * sizeof(member));
}

/* Return whether no set that goes on from here with places from one on is worth more than `least` beyond. */
static bool is_beyond(const link_pricing *p, const depth *here, int64_t place, double least) {
    const items *of = &p->of;
    return (place < of->num_places ? p->dolls[place] : 0.0) <= least ||
           of->without_links[place * of->num_rooms + here->room] <= least ||
           most_of(of, here->later, place, here->processors) <= least;
}

/* Try the present place at its level: go a member deeper if that fits and may be worth it, else to the next level. */
static void try_member(link_pricing *p, int64_t place) {
    const items *of = &p->of;
    const depth *here = p->depths + p->d;
    const int64_t level = here->level;
    const depth next = {
        place + 1, 0, here->processors - of->tasks[place],
        of->rooms[(place * of->num_levels + level) * of->num_rooms + here->room],
        here->worth + of->values[place * of->num_levels + level], here->later & p->fitting[place]};
    if (next.room == of->num_rooms - 1 || is_beyond(p, &next, place + 1, p->dolls[p->doll] - next.worth)) {
        p->depths[p->d].level++;
        return;
    }
    p->tried++;
    if (!add_member(p, p->d, place, level)) {
        p->depths[p->d].level++;
        return;
    }
    p->d++;
    if (next.worth > p->dolls[p->doll]) keep(p, p->d, next.worth);
    p->depths[p->d] = next;
}

/* Leave the present depth: for the next level of the member before, or for the next doll. */
static void leave(link_pricing *p) {
    if (p->d > 0) {
        p->depths[--p->d].level++;
        return;
    }
    p->depths[0].level = 0;
    if (p->doll > 0) p->dolls[p->doll - 1] = p->dolls[p->doll];
    p->doll--;
}

/* Take one step of the search. */
static void step(link_pricing *p) {
    const items *of = &p->of;
    depth *here = p->depths + p->d;
    const int64_t place = p->d ? here->place : p->doll;
    bool is_over = p->d ? place == of->num_places : here->level == of->levels_of[place];
    if (!is_over && p->d) {
        if (here->level == of->levels_of[place] || !(here->later >> place & 1)) {
            here->place++;
            here->level = 0;
            return;
        }
        is_over = here->level == 0 && is_beyond(p, here, place, p->dolls[p->doll] - here->worth);
    }
    if (is_over)
        leave(p);
    else
        try_member(p, place);
}

int64_t link_pricing_search(link_pricing *of, int64_t most_sets, double seconds, double *value) {
    const double until = clock_now() + seconds;
    of->looked_at = 0;
    while (of->doll >= 0 && of->tried < most_sets) {
        if (of->looked_at > STEPS) {
            if (clock_now() > until) return 0;
            of->looked_at = 0;
        }
        of->looked_at += of->of.num_places;
        step(of);
    }
    value[0] = of->of.num_places ? of->dolls[0] : 0.0;
    return of->doll < 0 ? 2 : 1;
}

int64_t link_pricing_best(
    link_pricing *of, int64_t num_jobs, int64_t num_sets, int64_t *sizes, int64_t *members) {
    if (num_jobs != of->num_jobs) return FAULT(OUT_OF_RANGE, JOBS_OF_SETS);
    if (num_sets < 0) return FAULT(OUT_OF_RANGE, NUM_SETS);
    const int64_t count = smaller(of->num_kept, MOST_KEPT);
    bool is_written[MOST_KEPT] = {false};
    int64_t written = 0;
    for (; written < smaller(num_sets, count); written++) {
        int64_t best = -1;
        for (int64_t k = 0; k < count; k++)
            if (!is_written[k] && (best < 0 || of->worths[k] > of->worths[best])) best = k;
        is_written[best] = true;
        sizes[written] = of->sizes[best];
        for (int64_t i = 0; i < of->sizes[best]; i++) {
            const member *m = of->kept_members + best * (num_jobs + 1) + i;
            members[2 * (written * num_jobs + i)] = m->job;
            members[2 * (written * num_jobs + i) + 1] = m->level;
        }
    }
    return written;
}

static int64_t fault_of_items(const link_pricing *p, const items *of, int64_t num_processors) {
    const int64_t size = of->num_places * of->num_levels;
    if (of->num_places < 0 || of->num_places > p->num_jobs) return FAULT(OUT_OF_RANGE, NUM_PLACES);
    if (of->num_levels < 1) return FAULT(OUT_OF_RANGE, LEVELS_OF_PLACES);
    if (of->num_rooms < 2) return FAULT(OUT_OF_RANGE, NUM_ROOMS);
    if (num_processors < 0 || num_processors > INT64_MAX / 4) return FAULT(OUT_OF_RANGE, NUM_PROCESSORS);
    if (!are_within(of->order, of->num_places, 0, p->num_jobs - 1)) return FAULT(OUT_OF_RANGE, ORDER);
    uint64_t found = 0;
    for (int64_t place = 0; place < of->num_places; place++) { /* a job twice would spoil the key of its set */
        if (found >> of->order[place] & 1) return FAULT(OUT_OF_ORDER, ORDER);
        found |= (uint64_t)1 << of->order[place];
    }
    if (!are_within(of->tasks, of->num_places, 0, INT64_MAX / 256)) return FAULT(OUT_OF_RANGE, TASKS);
    if (!are_within(of->levels_of, of->num_places, 1, of->num_levels)) return FAULT(OUT_OF_RANGE, LEVELS_OF);
    if (!are_within(of->levels, size, 0, p->num_levels - 1)) return FAULT(OUT_OF_RANGE, LEVELS);
    if (!are_numbers(of->values, size)) return FAULT(NOT_A_NUMBER, VALUES);
    if (!are_numbers(of->densities, of->num_places)) return FAULT(NOT_A_NUMBER, DENSITIES);
    if (!are_within(of->rooms, size * of->num_rooms, 0, of->num_rooms - 1)) return FAULT(OUT_OF_RANGE, ROOMS);
    if (!are_numbers(of->without_links, (of->num_places + 1) * of->num_rooms))
        return FAULT(NOT_A_NUMBER, WITHOUT_LINKS);
    return 0;
}

static void place_items(items *kept) {
    arena *in = &kept->kept;
    KEEP(in, kept->order, kept->num_places);
    KEEP(in, kept->tasks, kept->num_places);
    KEEP(in, kept->levels_of, kept->num_places);
    KEEP(in, kept->levels, kept->num_places * kept->num_levels);
    KEEP(in, kept->values, kept->num_places * kept->num_levels);
    KEEP(in, kept->densities, kept->num_places);
    KEEP(in, kept->rooms, kept->num_places * kept->num_levels * kept->num_rooms);
    KEEP(in, kept->without_links, (kept->num_places + 1) * kept->num_rooms);
}

int64_t link_pricing_begin(
    link_pricing *of, int64_t num_places, int64_t num_levels, int64_t num_rooms, int64_t num_processors,
    const int64_t *order, const int64_t *tasks, const int64_t *levels_of, const int64_t *levels, const double *values,
    const double *densities, const int64_t *rooms, const double *without_links) {
    const items given = {num_places, num_levels, num_rooms, (int64_t *)order, (int64_t *)tasks, (int64_t *)levels_of,
                         (int64_t *)levels, (int64_t *)rooms, (double *)values, (double *)densities,
                         (double *)without_links, {NULL, 0}};
    const int64_t fault = fault_of_items(of, &given, num_processors);
    if (fault) return fault;
    free(of->of.kept.room);
    of->of = (items){.num_places = 0};
    of->doll = -1;
    items kept = given;
    place_items(&kept);
    if (!make_room(&kept.kept)) return FAULT(NO_MEMORY, 0);
    place_items(&kept);
    of->of = kept;
    for (int64_t place = 0; place < num_places; place++) {
        of->fitting[place] = 0;
        for (int64_t other = 0; other < num_places; other++)
            of->fitting[place] |= (of->beside[order[place]] >> order[other] & 1) << other;
        of->dolls[place] = 0.0;
    }
    of->doll = num_places - 1;
    of->d = of->tried = of->num_kept = 0;
    of->depths[0] = (depth){0, 0, num_processors, num_rooms - 2, 0.0, UINT64_MAX};
    return 0;
}

static int64_t fault_of(const link_pricing *p, const int64_t *free, const double *left) {
    if (p->num_jobs < 0 || p->num_jobs > MOST_JOBS) return FAULT(OUT_OF_RANGE, NUM_JOBS);
    if (p->num_levels < 1) return FAULT(OUT_OF_RANGE, NUM_LEVELS);
    if (p->most < 0) return FAULT(OUT_OF_RANGE, MOST);
    if (p->num_remembered < 1) return FAULT(OUT_OF_RANGE, NUM_REMEMBERED);
    const int64_t size = p->num_jobs * p->num_levels, most = INT64_MAX / 256;
    if (!are_within(p->allocations, p->num_choices * p->num_classes, 0, most)) return FAULT(OUT_OF_RANGE, ALLOCATIONS);
    if (!are_numbers(p->loads, p->num_choices * p->num_resources)) return FAULT(NOT_A_NUMBER, LOADS);
    if (!are_within(p->spans, 2 * size, 0, p->num_choices)) return FAULT(OUT_OF_RANGE, SPANS);
    if (!are_within(free, p->num_classes, 0, most)) return FAULT(OUT_OF_RANGE, FREE);
    if (!are_numbers(left, p->num_resources)) return FAULT(NOT_A_NUMBER, LEFT);
    return 0;
}

static void place_all(link_pricing *p) {
    arena *in = &p->kept;
    const int64_t deepest = p->num_jobs + 2; /* two members are compared even of one job */
    KEEP(in, p->allocations, p->num_choices * p->num_classes);
    KEEP(in, p->loads, p->num_choices * p->num_resources);
    KEEP(in, p->spans, 2 * p->num_jobs * p->num_levels);
    KEEP(in, p->is_running, p->num_jobs);
    p->beside = PLACE(in, p->num_jobs, uint64_t);
    p->keys = PLACE(in, deepest * p->num_words, uint64_t);
    p->at.order = PLACE(in, deepest, int64_t);
    p->at.sizes = PLACE(in, deepest, int64_t);
    p->at.following = PLACE(in, deepest, int64_t);
    p->at.free = PLACE(in, deepest * p->num_classes, int64_t);
    p->at.left = PLACE(in, deepest * p->num_resources, double);
    p->depths = PLACE(in, deepest, depth);
    p->members = PLACE(in, deepest, member);
    p->kept_members = PLACE(in, MOST_KEPT * (p->num_jobs + 1), member);
    p->remembered = PLACE(in, p->num_remembered * p->num_words, uint64_t);
    p->known = PLACE(in, p->num_remembered, uint8_t);
}

int64_t link_pricing_new(
    link_pricing *made[1], int64_t num_jobs, int64_t num_levels, int64_t num_classes, int64_t num_resources,
    int64_t num_choices, int64_t most, int64_t num_remembered, const int64_t *allocations, const double *loads,
    const int64_t *spans, const uint8_t *is_running, const int64_t *free_processors, const double *left) {
    link_pricing given = {.num_jobs = num_jobs, .num_levels = num_levels, .num_classes = num_classes,
                          .num_resources = num_resources, .num_choices = num_choices, .most = most,
                          .num_remembered = num_remembered, .doll = -1};
    given.allocations = (int64_t *)allocations;
    given.loads = (double *)loads;
    given.spans = (int64_t *)spans;
    given.is_running = (uint8_t *)is_running;
    const int64_t fault = fault_of(&given, free_processors, left);
    if (fault) return fault;
    for (given.bits = 1; given.bits < 63 && num_levels >> given.bits; given.bits++) continue;
    const int64_t per_word = 64 / given.bits;
    given.num_words = (num_jobs + per_word - 1) / per_word;
    if (num_remembered > INT64_MAX / 1024 / larger(given.num_words, 1)) return FAULT(TOO_LARGE, NUM_REMEMBERED);
    link_pricing *p = malloc(sizeof(link_pricing));
    if (!p) return FAULT(NO_MEMORY, 0);
    *p = given;
    place_all(p);
    if (!make_room(&p->kept)) { /* nothing is beside anything, nothing is known */
        free(p);
        return FAULT(NO_MEMORY, 0);
    }
    place_all(p);
    if (num_classes) memcpy(p->at.free, free_processors, (size_t)num_classes * sizeof(int64_t));
    if (num_resources) memcpy(p->at.left, left, (size_t)num_resources * sizeof(double));
    made[0] = p;
    return 0;
}

void link_pricing_free(link_pricing *of) {
    if (!of) return;
    free(of->of.kept.room);
    free(of->kept.room);
    free(of);
}
