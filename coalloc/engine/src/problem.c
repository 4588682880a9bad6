#include "spreads.h"

/* More than any memory holds, so that products of sizes, of which one may be 0, are numbers. */
static const int64_t MOST_SIZE = INT64_C(1) << 40;

/* Numbers of parameters of problem_new, for faults. */
enum {
    RELEASES = 15, LEAST_TASKS, ARRIVALS, MEMBER_FIRST, JOB_OF, EFFICIENCY, TICKS, LEVEL_OF, TASKS, SET_OF, SHAPE_OF,
    ORDER_FIRST, PLACE_FIRST, PLACE_CLASS, CLOSING_FIRST, CLOSING, BELOW, SHAPE_TASKS, PART, TASK_PART,
    MEMORY_CLASS, MEMORY_ASKED, MOST, INSIDE, DURATIONS, LIMITS, HELD, HELD_LOADS, HELD_SINCE, HELD_UNTIL, CAPACITIES
};

static bool is_sum_within(const int64_t *numbers, int64_t size, int64_t most) {
    for (int64_t i = 0; i < size; most -= numbers[i++])
        if (numbers[i] > most) return false;
    return true;
}

/* Whether no class comes twice in an order, and what closes at a place has the class of the place. Fillings rely on
   both: they count the tasks of a job on all classes of a load. */
static bool are_fillable(const problem *p) {
    for (int64_t order = 0; order < p->num_orders; order++)
        for (int64_t i = p->place_first[order]; i < p->place_first[order + 1]; i++) {
            const int64_t g = p->place_class[i];
            for (int64_t before = p->place_first[order]; before < i; before++)
                if (p->place_class[before] == g) return false;
            for (int64_t q = p->closing_first[i]; q < p->closing_first[i + 1]; q++)
                if (!p->below[p->closing[q] * p->num_classes + g]) return false;
        }
    return true;
}

static int64_t fault_of(const problem *p) {
    const int64_t most = INT64_MAX / 4;
#define WITHIN(array, size, lowest, highest, parameter) \
    if (!are_within(p->array, size, lowest, highest)) return FAULT(OUT_OF_RANGE, parameter)
#define NUMBERS(array, size, parameter) \
    if (!are_numbers(p->array, size)) return FAULT(NOT_A_NUMBER, parameter)
#define FIRSTS(array, size, last, parameter) \
    if (!are_firsts(p->array, size, last)) return FAULT(OUT_OF_ORDER, parameter)
    NUMBERS(releases, p->num_jobs, RELEASES);
    NUMBERS(arrivals, p->num_releases, ARRIVALS);
    NUMBERS(efficiency, p->num_members, EFFICIENCY);
    NUMBERS(ticks, p->num_members, TICKS);
    NUMBERS(part, p->num_shapes * p->num_loads, PART);
    NUMBERS(task_part, p->num_shapes * p->num_loads, TASK_PART);
    NUMBERS(memory_asked, p->num_shapes, MEMORY_ASKED);
    NUMBERS(durations, p->num_shapes * p->num_classes, DURATIONS);
    NUMBERS(limits, p->num_loads, LIMITS);
    NUMBERS(held_loads, p->num_held * p->num_loads, HELD_LOADS);
    NUMBERS(held_since, p->num_held, HELD_SINCE);
    NUMBERS(held_until, p->num_held, HELD_UNTIL);
    WITHIN(least_tasks, p->num_jobs, 0, most, LEAST_TASKS);
    FIRSTS(member_first, p->num_jobs + 1, p->num_members, MEMBER_FIRST);
    WITHIN(job_of, p->num_members, 0, p->num_jobs - 1, JOB_OF);
    for (int64_t j = 0; j < p->num_jobs; j++)
        if (!are_within(p->job_of + p->member_first[j], p->member_first[j + 1] - p->member_first[j], j, j))
            return FAULT(OUT_OF_ORDER, JOB_OF);
    WITHIN(level_of, p->num_members, 0, p->num_members - 1, LEVEL_OF);
    WITHIN(tasks, p->num_members, 0, most, TASKS);
    WITHIN(set_of, p->num_members, 0, p->num_sets - 1, SET_OF);
    WITHIN(shape_of, p->num_members, 0, p->num_shapes - 1, SHAPE_OF);
    WITHIN(order_first, p->num_rules * (p->num_sets + 1), 0, p->num_orders, ORDER_FIRST);
    FIRSTS(place_first, p->num_orders + 1, p->num_places, PLACE_FIRST);
    WITHIN(place_class, p->num_places, 0, p->num_classes - 1, PLACE_CLASS);
    for (int64_t o = 0; o < p->num_orders; o++) /* a filling notes one number per class */
        if (p->place_first[o + 1] - p->place_first[o] > p->num_classes) return FAULT(TOO_LARGE, PLACE_FIRST);
    FIRSTS(closing_first, p->num_places + 1, p->num_closings, CLOSING_FIRST);
    WITHIN(closing, p->num_closings, 0, p->num_loads - 1, CLOSING);
    WITHIN(shape_tasks, p->num_shapes, 0, most, SHAPE_TASKS);
    WITHIN(memory_class, p->num_memories, 0, p->num_classes - 1, MEMORY_CLASS);
    WITHIN(most, p->num_shapes * p->num_classes, 0, most, MOST);
    WITHIN(held, p->num_held * p->num_classes, 0, most, HELD);
    WITHIN(capacities, p->num_classes, 0, most, CAPACITIES);
    if (!is_sum_within(p->capacities, p->num_classes, most)) return FAULT(TOO_LARGE, CAPACITIES);
    if (!is_sum_within(p->held, p->num_held * p->num_classes, most)) return FAULT(TOO_LARGE, HELD);
    if (!are_fillable(p)) return FAULT(OUT_OF_ORDER, PLACE_CLASS);
    return 0;
#undef WITHIN
#undef NUMBERS
#undef FIRSTS
}

int64_t problem_new(
    problem *made[1],
    int64_t num_jobs, int64_t num_classes, int64_t num_members, int64_t num_shapes, int64_t num_sets,
    int64_t num_rules, int64_t num_orders, int64_t num_places, int64_t num_closings, int64_t num_loads,
    int64_t num_memories, int64_t first_memory, int64_t num_held, int64_t num_releases,
    const double releases[num_jobs], const int64_t least_tasks[num_jobs], const double arrivals[num_releases],
    const int64_t member_first[num_jobs + 1], const int64_t job_of[num_members],
    const double efficiency[num_members], const double ticks[num_members], const int64_t level_of[num_members],
    const int64_t tasks[num_members], const int64_t set_of[num_members], const int64_t shape_of[num_members],
    const int64_t order_first[num_rules * (num_sets + 1)],
    const int64_t place_first[num_orders + 1], const int64_t place_class[num_places],
    const int64_t closing_first[num_places + 1], const int64_t closing[num_closings],
    const uint8_t below[num_loads * num_classes],
    const int64_t shape_tasks[num_shapes], const double part[num_shapes * num_loads],
    const double task_part[num_shapes * num_loads],
    const int64_t memory_class[num_memories], const double memory_asked[num_shapes],
    const int64_t most[num_shapes * num_classes],
    const uint8_t inside[num_sets * num_classes], const double durations[num_shapes * num_classes],
    const double limits[num_loads],
    const int64_t held[num_held * num_classes], const double held_loads[num_held * num_loads],
    const double held_since[num_held], const double held_until[num_held], const int64_t capacities[num_classes]) {
    const problem given = {
        num_jobs, num_classes, num_members, num_shapes, num_sets, num_rules, num_orders, num_places, num_closings,
        num_loads, num_memories, first_memory, num_held, num_releases,
        releases, arrivals, efficiency, ticks, part, task_part, memory_asked, durations, limits, held_loads, held_since,
        held_until, least_tasks, member_first, job_of, level_of, tasks, set_of, shape_of, order_first, place_first, place_class,
        closing_first, closing, shape_tasks, memory_class, most, held, capacities, below, inside, NULL, {NULL, 0}
    };
    const int64_t sizes[] = {num_jobs, num_classes, num_members, num_shapes, num_sets, num_rules, num_orders, num_places,
                             num_closings, num_loads, num_memories, first_memory, num_held, num_releases};
    for (int64_t i = 0; i < (int64_t)(sizeof(sizes) / sizeof(*sizes)); i++)
        if (sizes[i] < 0 || sizes[i] > MOST_SIZE) return FAULT(OUT_OF_RANGE, i + 1);
    if (first_memory > num_loads - num_memories) return FAULT(OUT_OF_RANGE, 12);
    const int64_t fault = fault_of(&given);
    if (fault) return fault;
    problem *p = malloc(sizeof(problem));
    if (!p) return FAULT(NO_MEMORY, 0);
    *p = given;
    for (int pass = 0; pass < 2; pass++) {
        arena *kept = &p->kept;
        KEEP(kept, p->releases, num_jobs);
        KEEP(kept, p->least_tasks, num_jobs);
        KEEP(kept, p->arrivals, num_releases);
        KEEP(kept, p->member_first, num_jobs + 1);
        KEEP(kept, p->job_of, num_members);
        KEEP(kept, p->efficiency, num_members);
        KEEP(kept, p->ticks, num_members);
        KEEP(kept, p->level_of, num_members);
        KEEP(kept, p->tasks, num_members);
        KEEP(kept, p->set_of, num_members);
        KEEP(kept, p->shape_of, num_members);
        KEEP(kept, p->order_first, num_rules * (num_sets + 1));
        KEEP(kept, p->place_first, num_orders + 1);
        KEEP(kept, p->place_class, num_places);
        KEEP(kept, p->closing_first, num_places + 1);
        KEEP(kept, p->closing, num_closings);
        KEEP(kept, p->below, num_loads * num_classes);
        KEEP(kept, p->shape_tasks, num_shapes);
        KEEP(kept, p->part, num_shapes * num_loads);
        KEEP(kept, p->task_part, num_shapes * num_loads);
        KEEP(kept, p->memory_class, num_memories);
        KEEP(kept, p->memory_asked, num_shapes);
        KEEP(kept, p->most, num_shapes * num_classes);
        KEEP(kept, p->inside, num_sets * num_classes);
        KEEP(kept, p->durations, num_shapes * num_classes);
        KEEP(kept, p->limits, num_loads);
        KEEP(kept, p->held, num_held * num_classes);
        KEEP(kept, p->held_loads, num_held * num_loads);
        KEEP(kept, p->held_since, num_held);
        KEEP(kept, p->held_until, num_held);
        KEEP(kept, p->capacities, num_classes);
        if (pass) break;
        if (!make_room(kept)) {
            free(p);
            return FAULT(NO_MEMORY, 0);
        }
    }
    made[0] = p;
    return 0;
}

void problem_free(problem *of) {
    if (!of) return;
    if (of->spreads) free(of->spreads->kept.room);
    free(of->spreads);
    free(of->kept.room);
    free(of);
}
