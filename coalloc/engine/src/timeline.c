#include "timeline.h"

#include <float.h>

/* Steps are in blocks, in order of time. A block knows the least and the most of each row, so that searches and minima
   pass over whole blocks; a change touches the rows of those steps only that it is about. No sum of floats depends on
   how steps are in blocks: each is changed by each booking, in their order. */
enum { MOST_STEPS = 64, ROOM = 8 };

/* Seconds after which a long call returns. */
static const double LONGEST_CALL = 0.05;

/* Rows of a block: times; whole capacities, and the sum of all classes; parts. The least and the most of each follow. */
typedef struct {
    int64_t size;
    double *times, *parts, *least_part, *most_part;
    int64_t *whole, *least, *most;
} block;

struct timeline {
    int64_t num_classes, num_whole, num_parts, num_blocks, room;
    block **blocks;
    double *parts, *noise;
    int64_t *whole;
};

/* A step: its block and its place there. Behind the last one is place 0 of the block behind the last. */
typedef struct {
    int64_t block, step;
} place_of;

static const int64_t MOST = INT64_MAX / 2;

/* Return the size of the rows of a block, in bytes. */
static size_t size_of_rows(const timeline *t) {
    const size_t num_rows = (size_t)(t->num_whole + 1 + t->num_parts);
    return (MOST_STEPS * (1 + num_rows) + 2 * num_rows) * sizeof(double);
}

static block *block_new(const timeline *t) {
    const size_t num_whole = (size_t)t->num_whole + 1, num_parts = (size_t)t->num_parts;
    block *b = malloc(sizeof(block) + size_of_rows(t));
    if (!b) return NULL;
    b->size = 0;
    b->times = (double *)(void *)(b + 1);
    b->parts = b->times + MOST_STEPS;
    b->least_part = b->parts + MOST_STEPS * num_parts;
    b->most_part = b->least_part + num_parts;
    b->whole = (int64_t *)(void *)(b->most_part + num_parts);
    b->least = b->whole + MOST_STEPS * num_whole;
    b->most = b->least + num_whole;
    return b;
}

/* Copy steps of a block to another place of it, or of another block. */
static void copy_steps(const timeline *t, block *to, int64_t at, const block *from, int64_t first, int64_t size) {
    const size_t bytes = (size_t)size * sizeof(double);
    memmove(to->times + at, from->times + first, bytes);
    for (int64_t c = 0; c <= t->num_whole; c++)
        memmove(to->whole + c * MOST_STEPS + at, from->whole + c * MOST_STEPS + first, bytes);
    for (int64_t c = 0; c < t->num_parts; c++)
        memmove(to->parts + c * MOST_STEPS + at, from->parts + c * MOST_STEPS + first, bytes);
}

/* Note the least and the most of each row of a block. */
static void note(const timeline *t, block *b) {
    for (int64_t c = 0; c <= t->num_whole; c++) {
        const int64_t *row = b->whole + c * MOST_STEPS;
        int64_t least = row[0], most = row[0];
        for (int64_t i = 1; i < b->size; i++) {
            least = smaller(least, row[i]);
            most = larger(most, row[i]);
        }
        b->least[c] = least;
        b->most[c] = most;
    }
    for (int64_t c = 0; c < t->num_parts; c++) {
        const double *row = b->parts + c * MOST_STEPS;
        double least = row[0], most = row[0];
        for (int64_t i = 1; i < b->size; i++) {
            least = earlier(least, row[i]);
            most = later(most, row[i]);
        }
        b->least_part[c] = least;
        b->most_part[c] = most;
    }
}

/* Return the first step that begins at a time or behind it. */
static place_of step_from(const timeline *t, double time) {
    int64_t low = 0, high = t->num_blocks;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        const block *b = t->blocks[middle];
        if (b->times[b->size - 1] < time) low = middle + 1;
        else high = middle;
    }
    if (low == t->num_blocks) return (place_of){low, 0};
    const double *times = t->blocks[low]->times;
    int64_t from = 0, until = t->blocks[low]->size - 1;
    while (from < until) {
        const int64_t middle = (from + until) / 2;
        if (times[middle] < time) from = middle + 1;
        else until = middle;
    }
    return (place_of){low, from};
}

static bool is_step(const timeline *t, place_of at) { return at.block < t->num_blocks; }

static double time_of(const timeline *t, place_of at) { return t->blocks[at.block]->times[at.step]; }

static place_of following(const timeline *t, place_of at) {
    return at.step + 1 < t->blocks[at.block]->size ? (place_of){at.block, at.step + 1} : (place_of){at.block + 1, 0};
}

static place_of preceding(const timeline *t, place_of at) {
    return at.step ? (place_of){at.block, at.step - 1} : (place_of){at.block - 1, t->blocks[at.block - 1]->size - 1};
}

/* Return the step in which a time is; the first before the beginning. */
static place_of step_at(const timeline *t, double time) {
    const place_of at = step_from(t, time);
    if (is_step(t, at) && (time_of(t, at) == time || (!at.block && !at.step))) return at;
    return preceding(t, at);
}

/* Make room for a block behind a number of them; return it, NULL without memory. */
static block *insert_block(timeline *t, int64_t at) {
    if (t->num_blocks == t->room) {
        block **larger_room = realloc(t->blocks, (size_t)(2 * t->room) * sizeof(block *));
        if (!larger_room) return NULL;
        t->blocks = larger_room;
        t->room *= 2;
    }
    block *made = block_new(t);
    if (!made) return NULL;
    memmove(t->blocks + at + 1, t->blocks + at, (size_t)(t->num_blocks - at) * sizeof(block *));
    t->blocks[at] = made;
    t->num_blocks++;
    return made;
}

static void remove_blocks(timeline *t, int64_t first, int64_t size) {
    for (int64_t i = first; i < first + size; i++) free(t->blocks[i]);
    t->num_blocks -= size;
    memmove(t->blocks + first, t->blocks + first + size, (size_t)(t->num_blocks - first) * sizeof(block *));
}

/* Let a step begin at a time, where none does and the time is behind the beginning; return whether there was memory.
   Steps that are equal in all but time change no least nor most. */
static bool split(timeline *t, double time) {
    const place_of next = step_from(t, time);
    if ((is_step(t, next) && time_of(t, next) == time) || (!next.block && !next.step)) return true;
    place_of at = preceding(t, next);
    block *b = t->blocks[at.block];
    if (b->size == MOST_STEPS) {
        block *second = insert_block(t, at.block + 1);
        if (!second) return false;
        /* what comes in order of time fills blocks */
        const int64_t kept = at.step == MOST_STEPS - 1 ? MOST_STEPS - 1 : MOST_STEPS / 2;
        second->size = MOST_STEPS - kept;
        copy_steps(t, second, 0, b, kept, second->size);
        b->size = kept;
        note(t, b);
        note(t, second);
        if (at.step >= kept) {
            at = (place_of){at.block + 1, at.step - kept};
            b = second;
        }
    }
    copy_steps(t, b, at.step + 1, b, at.step, b->size - at.step);
    b->size++;
    b->times[at.step + 1] = time;
    return true;
}

/* Let the step that begins at a time be part of the one before it where the two are equal. */
static void merge(timeline *t, double time) {
    const place_of at = step_from(t, time);
    if (!is_step(t, at) || (!at.block && !at.step)) return;
    const place_of last = preceding(t, at);
    block *b = t->blocks[at.block];
    const block *before = t->blocks[last.block];
    for (int64_t c = 0; c < t->num_whole; c++)
        if (b->whole[c * MOST_STEPS + at.step] != before->whole[c * MOST_STEPS + last.step]) return;
    for (int64_t c = 0; c < t->num_parts; c++)
        if (b->parts[c * MOST_STEPS + at.step] != before->parts[c * MOST_STEPS + last.step]) return;
    if (b->size == 1) {
        remove_blocks(t, at.block, 1);
        return;
    }
    b->size--;
    copy_steps(t, b, at.step, b, at.step + 1, b->size - at.step);
    note(t, b);
    if (at.block && b->size + t->blocks[at.block - 1]->size <= MOST_STEPS / 2) {
        block *joined = t->blocks[at.block - 1];
        copy_steps(t, joined, joined->size, b, 0, b->size);
        joined->size += b->size;
        remove_blocks(t, at.block, 1);
        note(t, joined);
    }
}

int64_t timeline_new(
    timeline *made[1], int64_t num_classes, int64_t num_whole, int64_t num_parts,
    double since, const int64_t whole[num_whole], const double parts[num_parts], const double noise[num_parts]) {
    if (num_classes < 0) return FAULT(OUT_OF_RANGE, 1);
    if (num_whole < num_classes || num_whole > INT32_MAX) return FAULT(OUT_OF_RANGE, 2);
    if (num_parts < 0 || num_parts > INT32_MAX) return FAULT(OUT_OF_RANGE, 3);
    if (isnan(since)) return FAULT(NOT_A_NUMBER, 4);
    int64_t total = 0;
    for (int64_t c = 0; c < num_whole; c++) {
        const int64_t most = c < num_classes ? MOST / num_classes : MOST;
        if (whole[c] > most || whole[c] < -most) return FAULT(TOO_LARGE, 5);
        if (c < num_classes) total += whole[c];
    }
    for (int64_t c = 0; c < num_parts; c++) {
        if (isnan(parts[c])) return FAULT(NOT_A_NUMBER, 6);
        if (isnan(noise[c])) return FAULT(NOT_A_NUMBER, 7);
    }
    timeline *t = calloc(1, sizeof(timeline));
    if (!t) return FAULT(NO_MEMORY, 0);
    *t = (timeline){.num_classes = num_classes, .num_whole = num_whole, .num_parts = num_parts, .room = ROOM};
    t->blocks = malloc(ROOM * sizeof(block *));
    t->whole = malloc((size_t)(num_whole + 2 * num_parts + 1) * sizeof(double));
    block *first = t->blocks && t->whole ? insert_block(t, 0) : NULL;
    if (!first) {
        timeline_free(t);
        return FAULT(NO_MEMORY, 0);
    }
    t->parts = (double *)(void *)(t->whole + num_whole);
    t->noise = t->parts + num_parts;
    first->size = 1;
    first->times[0] = since;
    for (int64_t c = 0; c < num_whole; c++) first->whole[c * MOST_STEPS] = t->whole[c] = whole[c];
    first->whole[num_whole * MOST_STEPS] = total;
    for (int64_t c = 0; c < num_parts; c++) {
        first->parts[c * MOST_STEPS] = t->parts[c] = parts[c];
        t->noise[c] = noise[c];
    }
    note(t, first);
    made[0] = t;
    return 0;
}

int64_t timeline_copy(timeline *made[1], const timeline *of) {
    const block *first = of->blocks[0];
    const int64_t fault = timeline_new(
        made, 0, of->num_whole, of->num_parts, first->times[0], first->least, of->noise, of->noise);
    if (fault) return fault;
    timeline *t = made[0];
    t->num_classes = of->num_classes;
    for (int64_t i = 0; i < of->num_blocks; i++) {
        block *b = i ? insert_block(t, i) : t->blocks[0];
        if (!b) {
            timeline_free(t);
            return FAULT(NO_MEMORY, 0);
        }
        b->size = of->blocks[i]->size;
        memcpy(b + 1, of->blocks[i] + 1, size_of_rows(t));
    }
    return 0;
}

void timeline_free(timeline *of) {
    if (!of) return;
    for (int64_t i = 0; i < of->num_blocks; i++) free(of->blocks[i]);
    free(of->blocks);
    free(of->whole);
    free(of);
}

int64_t timeline_vector(timeline *of) { return (int64_t)(intptr_t)of->whole; }

/* Lower the vector to what steps of a block leave. */
static void lower(timeline *t, const block *b, int64_t first, int64_t last) {
    const bool is_whole = first == 0 && last == b->size;
    for (int64_t c = 0; c < t->num_whole; c++) {
        const int64_t *row = b->whole + c * MOST_STEPS;
        int64_t least = is_whole ? b->least[c] : t->whole[c];
        for (int64_t i = first; i < last && !is_whole; i++) least = smaller(least, row[i]);
        t->whole[c] = smaller(t->whole[c], least);
    }
    for (int64_t c = 0; c < t->num_parts; c++) {
        const double *row = b->parts + c * MOST_STEPS;
        double least = is_whole ? b->least_part[c] : t->parts[c];
        for (int64_t i = first; i < last && !is_whole; i++) least = earlier(least, row[i]);
        t->parts[c] = earlier(t->parts[c], least);
    }
}

void timeline_least(timeline *t, double start, double end) {
    place_of at = step_at(t, start);
    for (int64_t c = 0; c < t->num_whole; c++) t->whole[c] = INT64_MAX;
    for (int64_t c = 0; c < t->num_parts; c++) t->parts[c] = INFINITY;
    lower(t, t->blocks[at.block], at.step, at.step + 1);
    at = following(t, at);
    if (end > start && is_step(t, at) && time_of(t, at) < end) {
        const place_of last = step_from(t, end);
        for (int64_t i = at.block; i <= last.block && i < t->num_blocks; i++)
            lower(t, t->blocks[i], i == at.block ? at.step : 0, i == last.block ? last.step : t->blocks[i]->size);
    }
    for (int64_t c = 0; c < t->num_parts; c++) t->parts[c] = later(0.0, t->parts[c]) + t->noise[c];
}

/* Return whether the vector, or what gives it back, may be taken from all steps of a span. */
static bool is_takable(const timeline *t, place_of first, place_of last, int64_t sign) {
    for (int64_t c = 0; c < t->num_parts; c++)
        if (isnan(t->parts[c])) return false;
    for (int64_t c = 0; c < t->num_whole; c++) {
        const int64_t most = c < t->num_classes ? MOST / t->num_classes : MOST;
        if (t->whole[c] > most || t->whole[c] < -most) return false;
        const int64_t amount = sign * t->whole[c];
        for (int64_t i = first.block; amount && i <= last.block && i < t->num_blocks; i++)
            if (t->blocks[i]->least[c] < amount - most || t->blocks[i]->most[c] > amount + most) return false;
    }
    return true;
}

static void take_from(const timeline *t, block *b, int64_t first, int64_t last, int64_t sign) {
    int64_t total = 0;
    for (int64_t c = 0; c <= t->num_whole; c++) {
        const int64_t amount = c < t->num_whole ? sign * t->whole[c] : total;
        if (c < t->num_classes) total += amount;
        int64_t *row = b->whole + c * MOST_STEPS;
        for (int64_t i = first; amount && i < last; i++) row[i] -= amount;
    }
    for (int64_t c = 0; c < t->num_parts; c++) {
        const double amount = (double)sign * t->parts[c];
        double *row = b->parts + c * MOST_STEPS;
        for (int64_t i = first; amount != 0.0 && i < last; i++) row[i] -= amount;
    }
    note(t, b);
}

static int64_t book(timeline *t, double start, double end, int64_t sign) {
    if (isnan(start)) return FAULT(NOT_A_NUMBER, 1);
    if (isnan(end)) return FAULT(NOT_A_NUMBER, 2);
    if (end <= start) return 0;
    if (!is_takable(t, step_at(t, start), step_from(t, end), sign)) return FAULT(TOO_LARGE, 0);
    if (!split(t, start) || !split(t, end)) return FAULT(NO_MEMORY, 0);
    const place_of first = step_from(t, start), last = step_from(t, end);
    for (int64_t i = first.block; i <= last.block && i < t->num_blocks; i++) {
        const int64_t from = i == first.block ? first.step : 0;
        const int64_t until = i == last.block ? last.step : t->blocks[i]->size;
        if (from < until) take_from(t, t->blocks[i], from, until, sign);
    }
    if (sign < 0) {
        merge(t, end);
        merge(t, start);
    }
    return 0;
}

int64_t timeline_take(timeline *of, double start, double end) { return book(of, start, end, 1); }

int64_t timeline_give_back(timeline *of, double start, double end) { return book(of, start, end, -1); }

int64_t timeline_release(timeline *t, double time) {
    if (isnan(time)) return FAULT(NOT_A_NUMBER, 1);
    if (!is_takable(t, step_at(t, time), (place_of){t->num_blocks, 0}, -1)) return FAULT(TOO_LARGE, 0);
    if (!split(t, time)) return FAULT(NO_MEMORY, 0);
    const place_of first = step_from(t, time);
    for (int64_t i = first.block; i < t->num_blocks; i++)
        take_from(t, t->blocks[i], i == first.block ? first.step : 0, t->blocks[i]->size, -1);
    return 0;
}

/* What a start has to find at each step: so many processors of some classes together, or the vector. */
typedef struct {
    int64_t tasks, num_asked;
    const int64_t *asked;
    bool is_vector;
} demand;

/* Return whether steps have room for a demand, of which these are the numbers, a row apart so many. */
static bool has_room(
    const timeline *t, const demand *d, const int64_t *whole, const double *parts, int64_t apart) {
    if (d->is_vector) {
        for (int64_t c = 0; c < t->num_whole; c++)
            if (t->whole[c] > whole[c * apart]) return false;
        for (int64_t c = 0; c < t->num_parts; c++)
            if (t->parts[c] > later(0.0, parts[c * apart]) + t->noise[c]) return false;
        return true;
    }
    if (!d->num_asked) return whole[t->num_whole * apart] >= d->tasks;
    int64_t total = 0;
    for (int64_t i = 0; i < d->num_asked; i++) total += whole[d->asked[i] * apart];
    return total >= d->tasks;
}

/* Return the first start from which there is room for a demand at each step that begins before a last time. A step
   without room ends the search from all starts before it, unless they are over by then. Of a block of which the most is
   too little no step has room, of one of which the least is enough every step: both are passed over at once. */
static double search(
    const timeline *t, const demand *d, double release, bool is_after, double duration, double before) {
    place_of at = step_at(t, release);
    if (is_after) at = time_of(t, at) > release ? at : following(t, at);
    double start = INFINITY, end = INFINITY;
    while (is_step(t, at)) {
        const block *b = t->blocks[at.block];
        if (b->times[at.step] >= before) break;
        const bool is_free = has_room(t, d, b->least, b->least_part, 1);
        const bool is_full = !is_free && !has_room(t, d, b->most, b->most_part, 1);
        const int64_t size = is_free || is_full ? at.step + 1 : b->size;
        for (int64_t i = at.step; i < size; i++) {
            const double time = b->times[i];
            if (time >= end || time >= before) return start;
            if (is_full || (!is_free && !has_room(t, d, b->whole + i, b->parts + i, MOST_STEPS))) {
                start = end = INFINITY;
            } else if (start == INFINITY) {
                start = later(release, time);
                end = start + duration;
            }
        }
        at = (place_of){at.block + 1, 0};
    }
    return start;
}

double timeline_window(
    const timeline *of, double release, int64_t is_after, double duration, int64_t tasks, double before,
    int64_t num_asked, const int64_t asked[num_asked]) {
    for (int64_t i = 0; i < num_asked; i++)
        if (asked[i] < 0 || asked[i] >= of->num_whole) return INFINITY;
    const demand d = {.tasks = tasks, .num_asked = num_asked, .asked = asked};
    return search(of, &d, release, is_after != 0, duration, before);
}

/* Demands that have no window before a time, where room is looked at up to a limit. Nor have demands for as much or more
   and as long or longer: a window of such a demand, from before that time and looked at up to a limit no less, has room
   for the first demand as well, which the first search would have found. Where a span moves from s to an earlier e, room
   is gained in [g, s + d) alone, with g the later of s and e + d. A window that is new then ends after g, so it begins
   after g less its own length (forget_from). A first window begins where a step of the timeline does, so a search from a
   time on begins with the step in which that lies. */
enum { MOST_KNOWN = 32 };

typedef struct {
    int64_t tasks;
    double seconds, until, limit;
} known_demand;

typedef struct {
    int64_t size, next;
    known_demand of[MOST_KNOWN];
} known_demands;

/* Return before when a demand is known to have no window, with room looked at up to a limit. */
static double known_until(const known_demands *known, int64_t tasks, double seconds, double limit) {
    double until = -INFINITY;
    for (int64_t i = 0; i < known->size && until < limit; i++) {
        const known_demand *d = known->of + i;
        if (d->tasks <= tasks && d->seconds <= seconds && d->limit <= limit) until = later(until, d->until);
    }
    return until;
}

static void learn(known_demands *known, known_demand found) {
    for (int64_t i = 0; i < known->size; i++) {
        known_demand *d = known->of + i;
        if (found.tasks <= d->tasks && found.seconds <= d->seconds && found.until >= d->until && found.limit <= d->limit) {
            *d = found;
            return;
        }
    }
    known->of[known->next] = found;
    known->next = (known->next + 1) % MOST_KNOWN;
    known->size = smaller(known->size + 1, MOST_KNOWN);
}

/* Let room be gained from a time on: a new window has to reach beyond it, to rounding. */
static void forget_from(known_demands *known, double time) {
    for (int64_t i = 0; i < known->size; i++) {
        known_demand *d = known->of + i;
        d->until = earlier(d->until, time - d->seconds - 1e-12 * (fabs(time) + d->seconds));
    }
}

static int64_t move_span(timeline *t, double from, double to, double seconds, int64_t tasks) {
    t->whole[0] = tasks;
    const int64_t fault = book(t, from, from + seconds, -1);
    return fault ? fault : book(t, to, to + seconds, 1);
}

static int64_t advance_fault(
    int64_t num_seen, int64_t size, const int64_t *turn, const double *starts, const double *seconds,
    const int64_t *kinds, int64_t num_kinds) {
    if (num_seen < 0) return FAULT(OUT_OF_RANGE, 1);
    if (!are_within(turn, size, 0, size - 1)) return FAULT(OUT_OF_RANGE, 3);
    if (!are_within(kinds, size, 0, num_kinds - 1)) return FAULT(OUT_OF_RANGE, 7);
    for (int64_t i = 0; i < size; i++) {
        if (isnan(starts[i])) return FAULT(NOT_A_NUMBER, 4);
        if (isnan(seconds[i])) return FAULT(NOT_A_NUMBER, 5);
    }
    return 0;
}

int64_t timeline_advance(
    timeline *of, int64_t num_seen, int64_t size, const int64_t turn[size], double starts[size],
    const double seconds[size], const int64_t tasks[size], const int64_t kinds[size], int64_t num_kinds,
    double searched[num_kinds], int64_t is_by_start, double window[1]) {
    int64_t fault = advance_fault(num_seen, size, turn, starts, seconds, kinds, num_kinds);
    if (fault) return fault;
    const bool is_pool = of->num_classes == 1 && of->num_whole == 1 && !of->num_parts;
    const double limit = clock_now() + LONGEST_CALL;
    known_demands known = {0};
    window[0] = INFINITY;
    for (int64_t i = num_seen; i < size; i++) {
        const int64_t k = turn[i];
        const double start = starts[k], since = searched[kinds[k]];
        if (since >= start) continue;
        if (i % 64 == 63 && clock_now() > limit) return i;
        const double until = known_until(&known, tasks[k], seconds[k], start);
        double found = INFINITY;
        if (until < start) {
            const double first = until > -INFINITY ? time_of(of, step_at(of, until)) : until;
            const demand d = {.tasks = tasks[k]};
            found = search(of, &d, later(since, first), false, seconds[k], start);
        }
        const double kept = earlier(found, start);
        if (is_by_start) searched[kinds[k]] = kept;
        if (since <= until || since == -INFINITY)
            learn(&known, (known_demand){.tasks = tasks[k], .seconds = seconds[k], .until = kept, .limit = start});
        if (found >= start) continue;
        if (!is_pool) {
            window[0] = found;
            return i + 1;
        }
        fault = move_span(of, start, found, seconds[k], tasks[k]);
        if (fault) return fault;
        forget_from(&known, later(start, found + seconds[k]));
        starts[k] = found;
    }
    return size;
}

/* ---------------------------------------------------------------- spans of a pool that move forward, by start

   Before room is gained no span has a window before its start: it was put at its first one, and what has been taken
   since only lowers what is free. So its window has to meet a gain. Looked at by start, a span that moves gains room
   from its old start on alone, behind the starts of all spans before it: these have no window after it either. */

/* Times in which room was gained, in chunks. By level, a least number of processors, a gain knows how `long` a run of
   steps that meets it has so much free, at most, and the latest end of these, its `reach`: infinity until it is asked
   for. A demand that lasts longer, and starts behind the reach, has no window there. A chunk knows bounds of both. */
enum { LEVELS = 64, CHUNK = 64 };

typedef struct {
    double starts[CHUNK], ends[CHUNK], longest[LEVELS][CHUNK], reach[LEVELS][CHUNK], most_longest[LEVELS];
    double most_reach[LEVELS];
} chunk;

typedef struct {
    int64_t size, room, num_levels;
    chunk *of;
} gains;

/* Return the greatest level that a number of processors has. Levels have 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20
   processors, and so on. */
static int64_t level_of(int64_t tasks) {
    int64_t shift = 0;
    while (tasks >> (shift + 3)) shift++;
    return smaller(4 * shift + (tasks >> shift) - 1, LEVELS - 1);
}

static int64_t least_of(int64_t level) { return level < 3 ? level + 1 : (4 + (level + 1) % 4) << ((level + 1) / 4 - 1); }

/* Return the most that is free in a time. */
static int64_t most_free(const timeline *t, double start, double end) {
    int64_t most = INT64_MIN;
    for (place_of at = step_at(t, start); is_step(t, at) && time_of(t, at) < end;) {
        const block *b = t->blocks[at.block];
        if (!at.step && b->times[b->size - 1] < end) {
            most = larger(most, b->most[0]);
            at = (place_of){at.block + 1, 0};
        } else {
            most = larger(most, b->whole[at.step]);
            at = following(t, at);
        }
    }
    return most;
}

/* Add a gain; return whether there was memory. */
static bool add_gain(gains *all, const timeline *t, double start, double end) {
    const int64_t k = all->size % CHUNK;
    if (all->size == all->room) {
        chunk *of = realloc(all->of, (size_t)(2 * all->room / CHUNK + 1) * sizeof(chunk));
        if (!of) return false;
        all->of = of;
        all->room = 2 * all->room + CHUNK;
    }
    chunk *in = all->of + all->size++ / CHUNK;
    in->starts[k] = start;
    in->ends[k] = end;
    const int64_t most = most_free(t, start, end), known = most > 0 ? level_of(most) : -1;
    for (int64_t level = 0; level < all->num_levels; level++) {
        const double bound = level <= known ? INFINITY : -INFINITY;
        in->longest[level][k] = in->reach[level][k] = bound;
        in->most_longest[level] = k ? later(in->most_longest[level], bound) : bound;
        in->most_reach[level] = k ? later(in->most_reach[level], bound) : bound;
    }
    return true;
}

/* A run of steps in which so much is free. */
typedef struct {
    double start, end;
} run;

/* Return the run that a step with room is in, looked at up to a time; or up to as long as is asked. Write the step behind
   it. */
static run run_around(const timeline *t, place_of *at, int64_t tasks, double seconds, double before) {
    place_of first = *at;
    while (first.block || first.step) {
        const place_of one = preceding(t, first);
        if (t->blocks[one.block]->whole[one.step] < tasks) break;
        first = one;
    }
    const double start = time_of(t, first), until = earlier(start + seconds, before);
    do *at = following(t, *at);
    while (is_step(t, *at) && time_of(t, *at) < until && t->blocks[at->block]->whole[at->step] >= tasks);
    return (run){start, is_step(t, *at) ? time_of(t, *at) : INFINITY};
}

/* Go on to a step with room that begins before a time; return whether there is one. */
static bool find_room(const timeline *t, place_of *at, int64_t tasks, double before) {
    while (is_step(t, *at) && time_of(t, *at) < before) {
        const block *b = t->blocks[at->block];
        if (b->whole[at->step] >= tasks) return true;
        *at = b->most[0] < tasks ? (place_of){at->block + 1, 0} : following(t, *at);
    }
    return false;
}

/* The runs that meet a gain: how long they are at most, to rounding, and the latest end. */
typedef struct {
    double longest, reach;
} met;

static void meet(met *all, run found) {
    all->longest = later(all->longest, found.end - found.start + 1e-12 * (fabs(found.end) + fabs(found.start)));
    all->reach = later(all->reach, earlier(found.end, DBL_MAX));
}

/* Learn how long runs are of a level and those above it. */
static void learn_runs(gains *all, int64_t g, int64_t level, met found) {
    chunk *in = all->of + g / CHUNK;
    const int64_t k = g % CHUNK;
    for (; level < all->num_levels; level++) {
        if (in->longest[level][k] <= found.longest && in->reach[level][k] <= found.reach) break;
        in->longest[level][k] = earlier(in->longest[level][k], found.longest);
        in->reach[level][k] = earlier(in->reach[level][k], found.reach);
    }
}

/* Return the first window of a demand before a time that meets a gain, with room looked at before that time; infinity
   without one, after which it is known why. */
static double window_at(const timeline *t, gains *all, int64_t g, int64_t tasks, double seconds, double before) {
    const double begin = all->of[g / CHUNK].starts[g % CHUNK], end = all->of[g / CHUNK].ends[g % CHUNK];
    met seen = {-INFINITY, -INFINITY};
    for (place_of at = step_at(t, begin); find_room(t, &at, tasks, earlier(end, before));) {
        const run found = run_around(t, &at, tasks, seconds, before);
        if (found.end >= earlier(found.start + seconds, before)) return found.start;
        meet(&seen, found);
    }
    if (end > before) return INFINITY; /* for not all runs have been seen */
    const int64_t level = level_of(tasks), least = least_of(level);
    learn_runs(all, g, least < tasks ? level + 1 : level, seen);
    if (all->of[g / CHUNK].reach[level][g % CHUNK] == INFINITY) {
        for (place_of at = step_at(t, begin); find_room(t, &at, least, end);)
            meet(&seen, run_around(t, &at, least, INFINITY, INFINITY));
        learn_runs(all, g, level, seen);
    }
    return INFINITY;
}

/* Return the first window of a demand before a time that meets one of the gains. */
static double first_window(const timeline *t, gains *all, int64_t tasks, double seconds, double before) {
    const int64_t level = level_of(tasks);
    double first = INFINITY;
    for (int64_t c = 0; c * CHUNK < all->size; c++) {
        chunk *in = all->of + c;
        if (seconds > in->most_longest[level] && before > in->most_reach[level]) continue;
        double longest = -INFINITY, reach = -INFINITY;
        for (int64_t k = 0; k < smaller(all->size - c * CHUNK, CHUNK); k++) {
            const bool is_possible = seconds <= in->longest[level][k] || before <= in->reach[level][k];
            if (is_possible && in->starts[k] < earlier(before, first)) /* a run from before the first would hold it */
                first = earlier(first, window_at(t, all, c * CHUNK + k, tasks, seconds, before));
            longest = later(longest, in->longest[level][k]);
            reach = later(reach, in->reach[level][k]);
        }
        in->most_longest[level] = longest;
        in->most_reach[level] = reach;
    }
    return first;
}

/* Move a span of a pool to an earlier start; write the time that gains room. */
static int64_t move_forward(timeline *t, double from, double to, double seconds, int64_t tasks, double gained[2]) {
    t->whole[0] = tasks;
    gained[0] = later(from, to + seconds);
    gained[1] = from + seconds;
    int64_t fault = book(t, gained[0], gained[1], -1);
    if (!fault) fault = book(t, to, earlier(from, to + seconds), 1);
    merge(t, from);
    return fault;
}

/* Write the rows of spans by start, then by number: those that stayed are, and those that moved are put between them. */
static void order_rows(
    int64_t size, const double *starts, const int64_t *numbers, const uint8_t *has_moved, int64_t num_moved,
    int64_t *moved, int64_t *order) {
    for (int64_t i = 1; i < num_moved; i++) {
        const int64_t row = moved[i];
        int64_t k = i;
        for (; k; k--) {
            const int64_t one = moved[k - 1];
            if (starts[one] < starts[row] || (starts[one] == starts[row] && numbers[one] < numbers[row])) break;
            moved[k] = one;
        }
        moved[k] = row;
    }
    int64_t next = 0, number = 0;
    for (int64_t row = 0; row < size; row++) {
        if (has_moved[row]) continue;
        for (; next < num_moved; next++) {
            const int64_t one = moved[next];
            if (starts[row] < starts[one] || (starts[row] == starts[one] && numbers[row] < numbers[one])) break;
            order[number++] = one;
        }
        order[number++] = row;
    }
    while (next < num_moved) order[number++] = moved[next++];
}

int64_t timeline_compress(
    timeline *of, int64_t num_gains, const double gain_starts[num_gains], const double gain_ends[num_gains],
    int64_t size, double starts[size], const double seconds[size], const int64_t tasks[size],
    const int64_t numbers[size], int64_t order[size]) {
    if (of->num_classes != 1 || of->num_whole != 1 || of->num_parts) return FAULT(OUT_OF_RANGE, 0);
    if (!are_within(tasks, size, 1, MOST)) return FAULT(OUT_OF_RANGE, 7);
    gains all = {0};
    int64_t fault = 0, num_moved = 0;
    for (int64_t k = 0; k < size; k++) all.num_levels = larger(all.num_levels, 1 + level_of(tasks[k]));
    uint8_t *has_moved = calloc((size_t)size + 1, 1);
    int64_t *moved = malloc(((size_t)size + 1) * sizeof(int64_t));
    if (!has_moved || !moved) fault = FAULT(NO_MEMORY, 0);
    for (int64_t i = 0; i < num_gains && !fault; i++)
        if (!add_gain(&all, of, gain_starts[i], gain_ends[i])) fault = FAULT(NO_MEMORY, 0);
    for (int64_t k = 0; k < size && !fault; k++) {
        const double start = starts[k], found = first_window(of, &all, tasks[k], seconds[k], start);
        if (!(found < start)) continue;
        double gained[2];
        fault = move_forward(of, start, found, seconds[k], tasks[k], gained);
        if (!fault && !add_gain(&all, of, gained[0], gained[1])) fault = FAULT(NO_MEMORY, 0);
        starts[k] = found;
        has_moved[k] = 1;
        moved[num_moved++] = k;
    }
    if (!fault) order_rows(size, starts, numbers, has_moved, num_moved, moved, order);
    free(all.of);
    free(has_moved);
    free(moved);
    return fault ? fault : num_moved;
}

double timeline_first_start(const timeline *of, double release, double duration) {
    const demand d = {.is_vector = true};
    return duration <= 0.0 ? release : search(of, &d, release, false, duration, INFINITY);
}

int64_t timeline_num_changes(const timeline *of, double since) {
    const place_of at = step_from(of, since);
    int64_t number = -at.step;
    for (int64_t i = at.block; i < of->num_blocks; i++) number += of->blocks[i]->size;
    return number;
}

int64_t timeline_changes(const timeline *of, double since, int64_t size, double times[size]) {
    int64_t number = 0;
    for (place_of at = step_from(of, since); is_step(of, at) && number < size; at = following(of, at))
        times[number++] = time_of(of, at);
    return number;
}

int64_t timeline_forget(timeline *t, double now) {
    if (isnan(now)) return FAULT(NOT_A_NUMBER, 1);
    const place_of at = step_at(t, now);
    remove_blocks(t, 0, at.block);
    block *first = t->blocks[0];
    first->size -= at.step;
    if (at.step) copy_steps(t, first, 0, first, at.step, first->size);
    first->times[0] = now;
    note(t, first);
    return 0;
}
