#include "running_sets.h"

enum { FIRST_ROOM = 64, LEAST_INDEX = 4 };

/* Spread the bits of a number (the last steps of splitmix64, S. Vigna). */
static uint64_t mixed(uint64_t x) {
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

static uint64_t hash_of_choice(const int32_t *choice, int64_t size) {
    uint64_t hash = UINT64_C(0x9E3779B97F4A7C15);
    for (int64_t i = 0; i < size; i++) hash = mixed(hash + (uint64_t)choice[i]);
    return hash;
}

static uint64_t hash_of_members(const running_set *of) {
    uint64_t hash = UINT64_C(0x9E3779B97F4A7C15);
    for (int64_t i = 0; i < of->num_members; i++) hash = mixed(hash + (uint64_t)of->members[i]);
    return hash;
}

/* Return the place in the index of a set at which a choice is, or would be. */
static int64_t place_of(const running_set *of, const int32_t *choice, uint64_t hash) {
    const int64_t size = of->num_members, mask = of->index_size - 1;
    int64_t at = (int64_t)(hash & (uint64_t)mask);
    for (; of->index[at] >= 0; at = (at + 1) & mask)
        if (memcmp(of->choices + of->index[at] * size, choice, (size_t)size * sizeof(int32_t)) == 0) break;
    return at;
}

/* Whether a set has all choices of another with the same members. */
static bool has_all(const running_set *one, const running_set *other) {
    if (one->num_choices < other->num_choices) return false;
    for (int64_t c = 0; c < other->num_choices; c++) {
        const int32_t *choice = other->choices + c * other->num_members;
        if (one->index[place_of(one, choice, hash_of_choice(choice, one->num_members))] < 0) return false;
    }
    return true;
}

static bool have_same_members(const running_set *one, const running_set *other) {
    return one->members_hash == other->members_hash && one->num_members == other->num_members &&
           memcmp(one->members, other->members, (size_t)one->num_members * sizeof(int64_t)) == 0;
}

static bool are_equal(const running_set *one, const running_set *other) {
    return one->hash == other->hash && have_same_members(one, other) && one->num_choices == other->num_choices &&
           has_all(one, other);
}

/* Whether an array has room for so many, once it has grown where it had not. */
static bool has_room(void **array, int64_t *room, int64_t number, size_t size) {
    if (number <= *room) return true;
    const int64_t more = larger(number, larger(FIRST_ROOM, 2 * *room));
    void *grown = realloc(*array, (size_t)more * size);
    if (!grown) return false;
    *array = grown;
    *room = more;
    return true;
}

/* Index all choices of the draft anew, in twice as many places; return whether there is memory. */
static bool index_anew(running_sets *s, int64_t size) {
    running_set *d = &s->draft;
    if (!has_room((void **)&d->index, &s->room_of_index, size, sizeof(int32_t))) return false;
    d->index_size = size;
    memset(d->index, 0xFF, (size_t)size * sizeof(int32_t));
    for (int64_t c = 0; c < d->num_choices; c++) {
        const int32_t *choice = d->choices + c * d->num_members;
        d->index[place_of(d, choice, hash_of_choice(choice, d->num_members))] = (int32_t)c;
    }
    return true;
}

/* Make the draft a set of so many members, none of which is written, without choices; return whether there is memory. */
static bool begin(running_sets *s, int64_t num_members) {
    running_set *d = &s->draft;
    d->num_members = num_members;
    d->num_choices = 0;
    d->hash = 0;
    return has_room((void **)&d->members, &s->room_of_members, num_members + 1, sizeof(int64_t)) &&
           index_anew(s, LEAST_INDEX);
}

/* Whether the draft has room for another choice behind its last one. */
static bool has_room_for_choice(running_sets *s) {
    running_set *d = &s->draft;
    const int64_t number = d->num_choices + 1;
    return has_room((void **)&d->choices, &s->room_of_choices, number * d->num_members + 1, sizeof(int32_t)) &&
           has_room((void **)&d->rooms, &s->room_of_rooms, number * s->num_words, sizeof(uint64_t)) &&
           (2 * number <= d->index_size || index_anew(s, 2 * d->index_size));
}

/* Take the choice that was written behind the last one of the draft, unless it is there already. */
static void take_choice(running_sets *s) {
    running_set *d = &s->draft;
    const int32_t *choice = d->choices + d->num_choices * d->num_members;
    const uint64_t hash = hash_of_choice(choice, d->num_members);
    const int64_t at = place_of(d, choice, hash);
    if (d->index[at] >= 0) return;
    d->index[at] = (int32_t)d->num_choices++;
    d->hash += hash;
}

static bool fits(const running_sets *s, const uint64_t *room, const uint64_t *used) {
    for (int64_t w = 0; w < s->num_words; w++)
        if (((room[w] - used[w]) & s->guards[w]) != s->guards[w]) return false;
    return true;
}

static void add_bit(atomic_uint_fast64_t *bits, int32_t number) {
    atomic_fetch_or_explicit(bits, UINT64_C(1) << number, memory_order_relaxed);
}

/* Note which of the sets with the same members have all choices of a set, and which of them it has. */
static void compare(running_sets *s, int64_t number) {
    running_set *of = s->sets + number;
    int64_t at = (int64_t)(of->members_hash & (uint64_t)(s->num_places - 1));
    while (s->heads[at] && !have_same_members(s->sets + s->heads[at] - 1, of)) at = (at + 1) & (s->num_places - 1);
    if (!s->heads[at]) s->heads[at] = (int32_t)number + 1;
    of->head = s->heads[at] - 1;
    running_set *head = s->sets + of->head;
    of->next = -1;
    of->number = 0;
    if (head != of) {
        running_set *last = s->sets + head->last;
        of->number = last->number + 1;
        last->next = (int32_t)number;
    }
    head->last = (int32_t)number;
    atomic_init(&of->covers, 0);
    if (of->number >= s->most_compared) return;
    for (int64_t other = of->head; other >= 0; other = s->sets[other].next) {
        running_set *with = s->sets + other;
        if (has_all(of, with)) add_bit(&of->covers, with->number);
        if (has_all(with, of)) add_bit(&with->covers, of->number);
    }
}

/* Write down what is known of a set at once. */
static void list(running_sets *s, int64_t number) {
    const running_set *of = s->sets + number;
    const int64_t keys = s->num_job_keys;
    for (int64_t i = number * s->num_keys; i < (number + 1) * s->num_keys; i++) {
        atomic_init(s->joined + i, UNKNOWN);
        atomic_init(s->left + i, UNKNOWN);
    }
    for (int64_t p = 0; p < s->num_prices; p++) {
        double rate = 0.0;
        for (int64_t i = 0; i < of->num_members; i++)
            if (of->members[i] < keys) rate += s->key_rates[p * keys + of->members[i]];
        s->rates[number * s->num_prices + p] = rate;
    }
    int64_t free = s->processors;
    for (int64_t i = 0; i < of->num_members; i++) free -= s->tasks[of->members[i]];
    for (int64_t key = 0; key < keys; key++) {
        if (s->tasks[key] > free) atomic_init(s->joined + number * s->num_keys + key, NO_SET);
        int64_t c = 0;
        while (c < of->num_choices && fits(s, of->rooms + c * s->num_words, s->most + key * s->num_words)) c++;
        s->always[number * keys + key] = c == of->num_choices;
    }
}

/* Whether the tables have room for another set. */
static bool has_room_for_set(running_sets *s) {
    if (s->num_sets < s->room_of_sets) return true;
    const int64_t number = s->is_shared ? s->max_sets : smaller(larger(FIRST_ROOM, 2 * s->room_of_sets), s->max_sets);
    const struct {
        void **array;
        size_t size;
    } tables[] = {
        {(void **)&s->sets, sizeof(running_set)},
        {(void **)&s->joined, (size_t)s->num_keys * sizeof(*s->joined)},
        {(void **)&s->left, (size_t)s->num_keys * sizeof(*s->left)},
        {(void **)&s->rates, (size_t)s->num_prices * sizeof(double)},
        {(void **)&s->always, (size_t)s->num_job_keys},
    };
    for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
        int64_t room = s->room_of_sets;
        if (!has_room(tables[i].array, &room, number, tables[i].size)) return false;
    }
    s->room_of_sets = number;
    return true;
}

/* Return a copy of the draft in one piece of memory, which its members are at the beginning of. */
static bool copy_draft(const running_sets *s, running_set *made) {
    const running_set *d = &s->draft;
    *made = *d;
    const size_t members = (size_t)d->num_members * sizeof(int64_t);
    const size_t rooms = (size_t)(d->num_choices * s->num_words) * sizeof(uint64_t);
    const size_t choices = (size_t)(d->num_choices * d->num_members) * sizeof(int32_t);
    const size_t index = (size_t)d->index_size * sizeof(int32_t);
    char *piece = malloc(members + rooms + choices + index);
    if (!piece) return false;
    made->members = (int64_t *)piece;
    made->rooms = (uint64_t *)(piece + members);
    made->choices = (int32_t *)(piece + members + rooms);
    made->index = (int32_t *)(piece + members + rooms + choices);
    memcpy(made->members, d->members, members);
    memcpy(made->rooms, d->rooms, rooms);
    if (choices) memcpy(made->choices, d->choices, choices);
    memcpy(made->index, d->index, index);
    return true;
}

/* Return the number of the set that was written into the draft, which is made where there is none like it. */
static int64_t number_of_draft(running_sets *s) {
    running_set *d = &s->draft;
    d->members_hash = hash_of_members(d);
    int64_t at = (int64_t)(mixed(d->hash ^ d->members_hash) & (uint64_t)(s->num_places - 1));
    for (; s->known[at]; at = (at + 1) & (s->num_places - 1))
        if (are_equal(s->sets + s->known[at] - 1, d)) return s->known[at] - 1;
    if (s->num_sets == s->max_sets) return TOO_MANY;
    if (!has_room_for_set(s) || !copy_draft(s, s->sets + s->num_sets)) return OUT_OF_MEMORY;
    const int64_t number = s->num_sets++;
    s->known[at] = (int32_t)number + 1;
    list(s, number);
    compare(s, number);
    return number;
}

/* Write the choices of a set with another member at a place into the draft; return whether there is memory. */
static bool draft_joined(running_sets *s, const running_set *from, int64_t key, int64_t place) {
    running_set *d = &s->draft;
    const int64_t size = from->num_members;
    if (!begin(s, size + 1)) return false;
    memcpy(d->members, from->members, (size_t)place * sizeof(int64_t));
    d->members[place] = key;
    memcpy(d->members + place + 1, from->members + place, (size_t)(size - place) * sizeof(int64_t));
    for (int64_t c = 0; c < from->num_choices; c++) {
        const uint64_t *room = from->rooms + c * s->num_words;
        for (int64_t u = s->use_first[key]; u < s->use_first[key + 1]; u++) {
            const uint64_t *used = s->uses + u * s->num_words;
            if (!fits(s, room, used)) continue;
            if (!has_room_for_choice(s)) return false;
            uint64_t *rest = d->rooms + d->num_choices * s->num_words;
            for (int64_t w = 0; w < s->num_words; w++) rest[w] = room[w] - used[w];
            int32_t *choice = d->choices + d->num_choices * (size + 1);
            const int32_t *before = from->choices + c * size;
            for (int64_t i = 0; i <= size; i++) choice[i] = i == place ? (int32_t)(u - s->use_first[key]) : *before++;
            take_choice(s);
        }
    }
    return true;
}

static void note_looked_at(running_sets *s, int64_t number) {
    atomic_fetch_add_explicit(&s->num_looked_at, number, memory_order_relaxed);
}

/* Return which set another is once a key joins, or why there is none. */
static int64_t made_by_joining(running_sets *of, int64_t set, int64_t key) {
    const running_set from = of->sets[set];
    const int64_t uses = of->use_first[key + 1] - of->use_first[key];
    of->num_pairs += uses * from.num_choices;
    note_looked_at(of, uses * from.num_choices);
    if (uses * from.num_choices > of->max_pairs_of_one || of->num_pairs > of->max_pairs) return TOO_MANY;
    int64_t place = 0;
    while (place < from.num_members && from.members[place] <= key) place++;
    if (!draft_joined(of, &from, key, place)) return OUT_OF_MEMORY;
    return of->draft.num_choices ? number_of_draft(of) : NO_SET;
}

/* Write the choices of a set without the member at a place into the draft; return whether there is memory. */
static bool draft_left(running_sets *s, const running_set *from, int64_t place) {
    running_set *d = &s->draft;
    const int64_t size = from->num_members - 1;
    if (!begin(s, size)) return false;
    memcpy(d->members, from->members, (size_t)place * sizeof(int64_t));
    memcpy(d->members + place, from->members + place + 1, (size_t)(size - place) * sizeof(int64_t));
    for (int64_t c = 0; c < from->num_choices; c++) {
        if (!has_room_for_choice(s)) return false;
        const int32_t *before = from->choices + c * (size + 1);
        const uint64_t *room = from->rooms + c * s->num_words;
        const uint64_t *used = s->uses + (s->use_first[from->members[place]] + before[place]) * s->num_words;
        int32_t *choice = d->choices + d->num_choices * size;
        uint64_t *rest = d->rooms + d->num_choices * s->num_words;
        for (int64_t i = 0; i < size; i++) choice[i] = before[i + (i >= place)];
        for (int64_t w = 0; w < s->num_words; w++) rest[w] = room[w] + used[w];
        take_choice(s);
    }
    return true;
}

/* Return which set another is without the first of a key, or why there is none. */
static int64_t made_by_leaving(running_sets *of, int64_t set, int64_t key) {
    const running_set from = of->sets[set];
    note_looked_at(of, from.num_choices);
    int64_t place = 0;
    while (from.members[place] != key) place++;
    if (!draft_left(of, &from, place)) return OUT_OF_MEMORY;
    return number_of_draft(of);
}

/* Work out which set another becomes as a key joins or leaves, unless another thread has by now. */
static int64_t work_out(running_sets *s, int64_t set, int64_t key, bool joins) {
    const int64_t at = set * s->num_keys + key;
    if (s->is_shared) take_lock(&s->lock);
    int64_t number = atomic_load_explicit((joins ? s->joined : s->left) + at, memory_order_relaxed);
    if (number == UNKNOWN) {
        number = joins ? made_by_joining(s, set, key) : made_by_leaving(s, set, key); /* the tables may move */
        if (number >= NO_SET)
            atomic_store_explicit((joins ? s->joined : s->left) + at, (int32_t)number, memory_order_release);
    }
    if (s->is_shared) open_lock(&s->lock);
    return number;
}

int64_t running_sets_join(running_sets *of, int64_t set, int64_t key) { return work_out(of, set, key, true); }

int64_t running_sets_leave(running_sets *of, int64_t set, int64_t key) { return work_out(of, set, key, false); }

int64_t running_sets_price(running_sets *of, int64_t num_job_keys, int64_t row, const double rates[num_job_keys]) {
    if (num_job_keys != of->num_job_keys) return FAULT(OUT_OF_RANGE, 1);
    if (row < 0 || row >= of->num_prices) return FAULT(OUT_OF_RANGE, 2);
    for (int64_t key = 0; key < num_job_keys; key++)
        if (isnan(rates[key])) return FAULT(NOT_A_NUMBER, 3);
    if (of->is_shared) take_lock(&of->lock);
    memcpy(of->key_rates + row * num_job_keys, rates, (size_t)num_job_keys * sizeof(double));
    for (int64_t set = 0; set < of->num_sets; set++) {
        double rate = 0.0;
        for (int64_t i = 0; i < of->sets[set].num_members; i++)
            if (of->sets[set].members[i] < num_job_keys) rate += rates[of->sets[set].members[i]];
        of->rates[set * of->num_prices + row] = rate;
    }
    if (of->is_shared) open_lock(&of->lock);
    return 0;
}

/* Return the fault in what running sets are made of, or 0. */
static int64_t fault_of(
    const running_sets *s, int64_t num_uses, const uint64_t *everything, const uint64_t *guards,
    const int64_t *use_first, const uint64_t *uses, const uint64_t *most, const int64_t *tasks) {
    const int64_t many = INT64_C(1) << 24;
    if (s->num_job_keys < 0 || s->num_job_keys > many) return FAULT(OUT_OF_RANGE, 1);
    if (s->num_keys < s->num_job_keys || s->num_keys > many) return FAULT(OUT_OF_RANGE, 2);
    if (s->num_words < 1 || s->num_words > many) return FAULT(OUT_OF_RANGE, 3);
    if (num_uses < 0 || num_uses > many) return FAULT(OUT_OF_RANGE, 4);
    if (s->num_prices < 1 || s->num_prices > many) return FAULT(OUT_OF_RANGE, 5);
    if (s->processors < 0 || s->processors > INT64_MAX / 4) return FAULT(OUT_OF_RANGE, 6);
    if (s->max_sets < 1 || s->max_sets > many) return FAULT(OUT_OF_RANGE, 7);
    if (s->max_pairs_of_one < 1 || s->max_pairs_of_one > INT32_MAX / 4) return FAULT(OUT_OF_RANGE, 9);
    if (s->most_compared < 0 || s->most_compared > 64) return FAULT(OUT_OF_RANGE, 10);
    for (int64_t w = 0; w < s->num_words; w++)
        if ((everything[w] & guards[w]) != guards[w]) return FAULT(OUT_OF_RANGE, 12);
    if (!are_firsts(use_first, s->num_keys + 1, num_uses)) return FAULT(OUT_OF_ORDER, 14);
    for (int64_t u = 0; u < num_uses; u++)
        if (!fits(s, everything, uses + u * s->num_words)) return FAULT(OUT_OF_RANGE, 15);
    for (int64_t key = 0; key < s->num_job_keys; key++)
        if (!fits(s, everything, most + key * s->num_words)) return FAULT(OUT_OF_RANGE, 16);
    for (int64_t key = 0; key < s->num_keys; key++)
        if (tasks[key] < 0 || tasks[key] > INT64_MAX / (4 * many)) return FAULT(OUT_OF_RANGE, 17);
    return 0;
}

static void place_all(running_sets *s, int64_t num_uses) {
    arena *kept = &s->kept;
    s->everything = PLACE(kept, s->num_words, uint64_t);
    s->guards = PLACE(kept, s->num_words, uint64_t);
    s->use_first = PLACE(kept, s->num_keys + 1, int64_t);
    s->uses = PLACE(kept, num_uses * s->num_words, uint64_t);
    s->most = PLACE(kept, s->num_job_keys * s->num_words, uint64_t);
    s->tasks = PLACE(kept, s->num_keys, int64_t);
    s->key_rates = PLACE(kept, s->num_prices * s->num_job_keys, double);
    s->known = PLACE(kept, s->num_places, int32_t);
    s->heads = PLACE(kept, s->num_places, int32_t);
}

int64_t running_sets_new(
    running_sets *made[1],
    int64_t num_job_keys, int64_t num_keys, int64_t num_words, int64_t num_uses, int64_t num_prices,
    int64_t processors, int64_t max_sets, int64_t max_pairs, int64_t max_pairs_of_one, int64_t most_compared,
    int64_t is_shared,
    const uint64_t everything[num_words], const uint64_t guards[num_words], const int64_t use_first[num_keys + 1],
    const uint64_t uses[num_uses * num_words], const uint64_t most[num_job_keys * num_words],
    const int64_t tasks[num_keys]) {
    running_sets given = {0};
    given.num_job_keys = num_job_keys;
    given.num_keys = num_keys;
    given.num_words = num_words;
    given.num_prices = num_prices;
    given.processors = processors;
    given.max_sets = max_sets;
    given.max_pairs = max_pairs;
    given.max_pairs_of_one = max_pairs_of_one;
    given.most_compared = most_compared;
    given.is_shared = is_shared != 0;
    given.guards = (uint64_t *)guards;
    const int64_t fault = fault_of(&given, num_uses, everything, guards, use_first, uses, most, tasks);
    if (fault) return fault;
    for (given.num_places = 1; given.num_places < 2 * max_sets; given.num_places *= 2) {}
    running_sets *s = malloc(sizeof(running_sets));
    if (!s) return FAULT(NO_MEMORY, 0);
    *s = given;
    place_all(s, num_uses);
    if (!make_room(&s->kept)) {
        free(s);
        return FAULT(NO_MEMORY, 0);
    }
    place_all(s, num_uses);
    memcpy(s->everything, everything, (size_t)num_words * sizeof(uint64_t));
    memcpy(s->guards, guards, (size_t)num_words * sizeof(uint64_t));
    memcpy(s->use_first, use_first, (size_t)(num_keys + 1) * sizeof(int64_t));
    memcpy(s->uses, uses, (size_t)(num_uses * num_words) * sizeof(uint64_t));
    memcpy(s->most, most, (size_t)(num_job_keys * num_words) * sizeof(uint64_t));
    memcpy(s->tasks, tasks, (size_t)num_keys * sizeof(int64_t));
    bool has_memory = begin(s, 0) && has_room_for_choice(s);
    if (has_memory) {
        memcpy(s->draft.rooms, everything, (size_t)num_words * sizeof(uint64_t));
        take_choice(s);
        has_memory = number_of_draft(s) == 0;
    }
    if (!has_memory) {
        running_sets_free(s);
        return FAULT(NO_MEMORY, 0);
    }
    made[0] = s;
    return 0;
}

void running_sets_free(running_sets *of) {
    if (!of) return;
    for (int64_t set = 0; set < of->num_sets; set++) free(of->sets[set].members);
    void *const pieces[] = {
        of->draft.members, of->draft.choices, of->draft.rooms, of->draft.index,
        of->sets, of->joined, of->left, of->rates, of->always, of->kept.room, of,
    };
    for (size_t i = 0; i < sizeof(pieces) / sizeof(*pieces); i++) free(pieces[i]);
}
