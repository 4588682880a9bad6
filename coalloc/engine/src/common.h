/* What all parts of the engine share: arithmetic, random numbers, the clock, locks, memory. */

#ifndef COMMON_H
#define COMMON_H

#include <math.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"

static inline int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }
static inline double earlier(double a, double b) { return a < b ? a : b; }
static inline double later(double a, double b) { return a > b ? a : b; }

/* Return the greatest whole number whose product with b is at most a, as Python does: a / b may round above it. */
static inline double quotient(double a, double b) { return floor((a - fmod(a, b)) / b + 0.5); }

/* Return a random number from 0 to 1, and go on (xorshift, G. Marsaglia 2003). */
static inline double draw(uint64_t *seed) {
    uint64_t x = *seed;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    *seed = x;
    return (double)(x >> 11) / 9007199254740992.0;
}

/* Return seconds of a clock that only goes forward. */
double clock_now(void);

/* Let another thread go on. */
void give_way(void);

/* A lock of what several threads write: short, for those that wait for it do nothing else. Zero is open. */
typedef atomic_uchar spin_lock;

static inline void take_lock(spin_lock *of) {
    while (atomic_exchange_explicit(of, 1, memory_order_acquire)) give_way();
}

static inline void open_lock(spin_lock *of) { atomic_store_explicit(of, 0, memory_order_release); }

/* Room for many arrays, allocated at once. First all are asked for with `place`, then the room is made, then they are
   asked for again in the same order: `place` returns NULL until there is room. */
typedef struct {
    char *room;
    size_t used;
} arena;

/* Steps of a search between two looks at the clock. */
enum { LOOKS = 64 };
/* More than there ever is. */
#define TOO_MUCH_ROOM (SIZE_MAX / 4)

static inline void *place(arena *of, int64_t number, size_t size) {
    char *here = of->room ? of->room + of->used : NULL;
    const bool is_much = number < 0 || of->used >= TOO_MUCH_ROOM || (size_t)number > (TOO_MUCH_ROOM - of->used) / size;
    of->used = is_much ? TOO_MUCH_ROOM : of->used + ((size_t)number * size + 15) / 16 * 16;
    return here;
}

#define PLACE(of, number, type) ((type *)place(of, number, sizeof(type)))

/* Place a copy of what was given. */
static inline void *copied(arena *in, const void *given, int64_t number, size_t size) {
    void *copy = place(in, number, size);
    if (copy && number) memcpy(copy, given, (size_t)number * size);
    return copy;
}

#define COPIED(in, given, number) copied(in, given, number, sizeof(*(given)))

/* Let a pointer to what was given point to a copy, once there is room. */
#define KEEP(in, pointer, number) \
    do { \
        void *copy = COPIED(in, pointer, number); \
        if (copy) (pointer) = copy; \
    } while (0)

/* Make the room that was asked for, all zero, to be placed from its beginning; return whether there is memory. */
static inline bool make_room(arena *of) {
    of->room = of->used < TOO_MUCH_ROOM ? calloc(of->used + 1, 1) : NULL;
    of->used = 0;
    return of->room != NULL;
}

static inline bool are_within(const int64_t *numbers, int64_t size, int64_t lowest, int64_t highest) {
    for (int64_t i = 0; i < size; i++)
        if (numbers[i] < lowest || numbers[i] > highest) return false;
    return true;
}

/* Whether numbers rise from 0 (not strictly) to a last one. */
static inline bool are_firsts(const int64_t *numbers, int64_t size, int64_t last) {
    for (int64_t i = 1; i < size; i++)
        if (numbers[i] < numbers[i - 1]) return false;
    return numbers[0] == 0 && numbers[size - 1] == last;
}

static inline bool are_numbers(const double *numbers, int64_t size) {
    for (int64_t i = 0; i < size; i++)
        if (isnan(numbers[i])) return false;
    return true;
}

#endif
