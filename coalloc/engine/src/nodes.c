#include "nodes.h"

/* Numbers of parameters, for faults. */
enum { TAKES = 2, CAPACITIES = 5, CLASS_OF, COUNTS, HELD_CLASS, HELD_FIRST, HELD_STOP, STEPS };
/* 64 to the power of LEVELS is more than any capacity. */
enum { LEVELS = 7 };
static const int64_t MOST = (int64_t)1 << 40;

/* The free processors of a class: a bit for each, above it a bit for each word that is not 0, and so on. */
typedef struct {
    int64_t height, free;
    uint64_t *words[LEVELS];
} bits;

typedef struct {
    int64_t first, stop;
} interval;

struct naming {
    int64_t num_classes, num_takes, num_steps, done, num_taken, size, room;
    bits *classes;
    const int64_t *class_of, *counts, *held_class, *steps;
    int64_t *begins;
    interval *held, *taken;
    arena kept;
};

/* Set the bits of an interval, and those above: what lies above an interval is one. */
static void set(bits *of, interval in) {
    of->free += in.stop - in.first;
    for (int64_t level = 0; level < of->height; level++) {
        const int64_t last = in.stop - 1;
        for (int64_t w = in.first / 64; w <= last / 64; w++) {
            const int64_t low = w == in.first / 64 ? in.first % 64 : 0, high = w == last / 64 ? last % 64 : 63;
            of->words[level][w] |= (~(uint64_t)0 << low) & (~(uint64_t)0 >> (63 - high));
        }
        in = (interval){in.first / 64, last / 64 + 1};
    }
}

/* Clear bits of one word, which are set, and those above that stand for nothing any more. */
static void clear(bits *of, int64_t word, uint64_t mask) {
    of->free -= __builtin_popcountll(mask);
    for (int64_t level = 0; level < of->height; level++) {
        of->words[level][word] &= ~mask;
        if (of->words[level][word]) return;
        mask = (uint64_t)1 << word % 64;
        word /= 64;
    }
}

/* Clear an interval of bits that are set. */
static void clear_all(bits *of, interval in) {
    while (in.first < in.stop) {
        const int64_t low = in.first % 64, count = smaller(64 - low, in.stop - in.first);
        clear(of, in.first / 64, (~(uint64_t)0 >> (64 - count)) << low);
        in.first += count;
    }
}

/* Clear the lowest bits that are set, those of one word that follow each other, at most so many; return them. */
static interval clear_lowest(bits *of, int64_t most) {
    int64_t word = 0;
    for (int64_t level = of->height - 1; level > 0; level--)
        word = word * 64 + __builtin_ctzll(of->words[level][word]);
    const int64_t low = __builtin_ctzll(of->words[0][word]);
    const uint64_t others = ~(of->words[0][word] >> low);
    const int64_t count = smaller(most, others ? __builtin_ctzll(others) : 64);
    clear(of, word, (~(uint64_t)0 >> (64 - count)) << low);
    return (interval){word * 64 + low, word * 64 + low + count};
}

static bool append(naming *n, interval in) {
    if (n->size > n->begins[n->num_taken] && n->taken[n->size - 1].stop == in.first) {
        n->taken[n->size - 1].stop = in.stop;
        return true;
    }
    if (n->size == n->room) {
        const int64_t room = 2 * n->room + 64;
        interval *more = realloc(n->taken, (size_t)room * sizeof(interval));
        if (!more) return false;
        n->taken = more;
        n->room = room;
    }
    n->taken[n->size++] = in;
    return true;
}

/* Take the lowest free processors for the next take; return 0, or below where there is no memory. */
static int64_t take(naming *n) {
    bits *of = &n->classes[n->class_of[n->num_taken]];
    n->size = n->begins[n->num_taken];
    for (int64_t left = n->counts[n->num_taken]; left > 0;) {
        const interval in = clear_lowest(of, left);
        if (!append(n, in)) return FAULT(NO_MEMORY, 0);
        left -= in.stop - in.first;
    }
    n->begins[++n->num_taken] = n->size;
    return 0;
}

static void release(naming *n, int64_t step) {
    if (step >= 2 * n->num_takes) {
        set(&n->classes[n->held_class[step - 2 * n->num_takes]], n->held[step - 2 * n->num_takes]);
        return;
    }
    const int64_t t = step - n->num_takes;
    for (int64_t i = n->begins[t]; i < n->begins[t + 1]; i++) set(&n->classes[n->class_of[t]], n->taken[i]);
}

int64_t naming_go(naming *n, double seconds) {
    const double until = clock_now() + seconds;
    for (int64_t made = 0; n->done < n->num_steps; made++) {
        const int64_t step = n->steps[n->done];
        if (made && made % LOOKS == 0 && clock_now() > until) break;
        if (step >= n->num_takes) {
            release(n, step);
        } else {
            if (n->counts[step] > n->classes[n->class_of[step]].free) break;
            const int64_t fault = take(n);
            if (fault) return fault;
        }
        n->done++;
    }
    return n->done;
}

int64_t naming_size(const naming *n) { return n->size; }

int64_t naming_read(
    const naming *n, int64_t num_takes, int64_t num_intervals, int64_t begins[num_takes + 1],
    int64_t first[num_intervals], int64_t stop[num_intervals]) {
    if (num_takes != n->num_takes || n->num_taken < num_takes) return FAULT(OUT_OF_ORDER, 1);
    if (num_intervals != n->size) return FAULT(OUT_OF_RANGE, 2);
    memcpy(begins, n->begins, (size_t)(num_takes + 1) * sizeof(int64_t));
    for (int64_t i = 0; i < num_intervals; i++) first[i] = n->taken[i].first, stop[i] = n->taken[i].stop;
    return 0;
}

static void lay_out(naming *n, int64_t num_held, const int64_t *capacities) {
    n->classes = PLACE(&n->kept, n->num_classes, bits);
    KEEP(&n->kept, n->class_of, n->num_takes);
    KEEP(&n->kept, n->counts, n->num_takes);
    KEEP(&n->kept, n->held_class, num_held);
    KEEP(&n->kept, n->steps, n->num_steps);
    n->held = PLACE(&n->kept, num_held, interval);
    n->begins = PLACE(&n->kept, n->num_takes + 1, int64_t);
    for (int64_t g = 0; g < n->num_classes; g++) {
        int64_t height = 0, size = capacities[g];
        do {
            size = (size + 63) / 64;
            uint64_t *words = PLACE(&n->kept, size, uint64_t);
            if (words) n->classes[g].words[height] = words;
            height++;
        } while (size > 1);
        if (n->classes) n->classes[g].height = height;
    }
}

/* Whether takes come in their order, and each release once, behind what it releases. */
static bool are_in_order(int64_t num_takes, int64_t num_held, int64_t num_steps, const int64_t *steps, bool *ended) {
    int64_t next = 0;
    for (int64_t s = 0; s < num_steps; s++) {
        const int64_t place = steps[s] - num_takes;
        if (place < 0 && steps[s] != next++) return false;
        if (place >= num_takes + num_held || (place >= next && place < num_takes)) return false;
        if (place < 0) continue;
        if (ended[place]) return false;
        ended[place] = true;
    }
    return next == num_takes;
}

static int64_t fault_of(
    int64_t num_classes, int64_t num_takes, int64_t num_held, const int64_t *capacities, const int64_t *class_of,
    const int64_t *counts, const int64_t *held_class, const int64_t *held_first, const int64_t *held_stop) {
    int64_t total = 0;
    for (int64_t g = 0; g < num_classes; g++) {
        if (capacities[g] < 0 || capacities[g] > MOST - total) return FAULT(TOO_LARGE, CAPACITIES);
        total += capacities[g];
    }
    for (int64_t t = 0; t < num_takes; t++) {
        if (class_of[t] < 0 || class_of[t] >= num_classes) return FAULT(OUT_OF_RANGE, CLASS_OF);
        if (counts[t] < 0) return FAULT(OUT_OF_RANGE, COUNTS);
    }
    for (int64_t h = 0; h < num_held; h++) {
        const int64_t g = held_class[h];
        if (g < 0 || g >= num_classes) return FAULT(OUT_OF_RANGE, HELD_CLASS);
        if (held_first[h] < 0 || held_stop[h] <= held_first[h]) return FAULT(OUT_OF_RANGE, HELD_FIRST);
        if (held_stop[h] > capacities[g]) return FAULT(OUT_OF_RANGE, HELD_STOP);
        const bool is_apart = !h || g > held_class[h - 1] || (g == held_class[h - 1] && held_first[h] >= held_stop[h - 1]);
        if (!is_apart) return FAULT(OUT_OF_ORDER, HELD_FIRST);
    }
    return 0;
}

int64_t naming_new(
    naming *made[1], int64_t num_classes, int64_t num_takes, int64_t num_held, int64_t num_steps,
    const int64_t capacities[num_classes], const int64_t class_of[num_takes], const int64_t counts[num_takes],
    const int64_t held_class[num_held], const int64_t held_first[num_held], const int64_t held_stop[num_held],
    const int64_t steps[num_steps]) {
    if (num_classes < 0 || num_takes < 0 || num_held < 0 || num_steps < 0) return FAULT(OUT_OF_RANGE, TAKES);
    int64_t fault =
        fault_of(num_classes, num_takes, num_held, capacities, class_of, counts, held_class, held_first, held_stop);
    if (fault) return fault;
    bool *ended = calloc((size_t)(num_takes + num_held + 1), sizeof(bool));
    if (!ended) return FAULT(NO_MEMORY, 0);
    if (!are_in_order(num_takes, num_held, num_steps, steps, ended)) fault = FAULT(OUT_OF_ORDER, STEPS);
    free(ended);
    if (fault) return fault;
    naming *n = calloc(1, sizeof(naming));
    if (!n) return FAULT(NO_MEMORY, 0);
    n->num_classes = num_classes, n->num_takes = num_takes, n->num_steps = num_steps;
    n->class_of = class_of, n->counts = counts, n->held_class = held_class, n->steps = steps;
    lay_out(n, num_held, capacities);
    if (!make_room(&n->kept)) {
        free(n);
        return FAULT(NO_MEMORY, 0);
    }
    lay_out(n, num_held, capacities);
    for (int64_t g = 0; g < num_classes; g++)
        if (capacities[g]) set(&n->classes[g], (interval){0, capacities[g]});
    for (int64_t h = 0; h < num_held; h++) {
        n->held[h] = (interval){held_first[h], held_stop[h]};
        clear_all(&n->classes[held_class[h]], n->held[h]);
    }
    made[0] = n;
    return 0;
}

void naming_free(naming *n) {
    if (!n) return;
    free(n->taken);
    free(n->kept.room);
    free(n);
}
