"""Fillings, compiled: on which classes a job goes that finds so much free, and what it then asks of links.

The rules, and the order of every sum, are those of the fillings of :mod:`coalloc.rules.serial_sgs`. Compiled by
numba, for which functions take plain arrays: those of a :class:`coalloc.solvers.search.problem_tables.Tables`.
"""

from __future__ import annotations

from coalloc.rules.serial_sgs import FILL_STEPS
from coalloc.solvers.machine_code import inlined


@inlined
def _fill(order, shape, tasks, room, left, fillings, loads, scratch):
    """Fill the classes of an order, most tasks on the first, as links can carry it; return whether that is possible.

    ``scratch`` are the allocation that is found, and by place: tasks left, the next number and the least one, room from
    there on; and by closing link the tasks on its other classes.
    """
    place_first, place_class, closing_first, closing, below = fillings
    offsets, table = loads
    allocation, rest, following, least, rooms, others = scratch
    first = place_first[order]
    length = place_first[order + 1] - first
    rooms[length] = 0
    for i in range(length - 1, -1, -1):
        rooms[i] = rooms[i + 1] + room[place_class[first + i]]
    if rooms[0] < tasks:
        return False
    for g in range(len(allocation)):
        allocation[g] = 0
    steps, i, is_new = 0, 0, True
    rest[0] = tasks
    while i >= 0:
        if is_new:
            is_new = False
            steps += 1
            if i == length:
                if rest[i] == 0:
                    return True
                i -= 1
                continue
            if steps > FILL_STEPS:
                i -= 1
                continue
            for q in range(closing_first[first + i], closing_first[first + i + 1]):
                others[q] = 0
                for h in range(len(room)):
                    if below[closing[q], h]:
                        others[q] += allocation[h]
            following[i] = min(rest[i], room[place_class[first + i]])
            least[i] = max(0, rest[i] - rooms[i + 1])
        g, count = place_class[first + i], following[i]
        while count >= least[i]:
            fits = True
            for q in range(closing_first[first + i], closing_first[first + i + 1]):
                k = closing[q]
                if table[offsets[shape, k] + others[q] + count] > left[k]:
                    fits = False
                    break
            if fits:
                break
            count -= 1
        if count < least[i]:
            allocation[g] = 0
            i -= 1
            continue
        allocation[g] = count
        following[i] = count - 1
        rest[i + 1] = rest[i] - count
        i, is_new = i + 1, True
    return False


@inlined
def find(member, rule, free, left, levels, orders, fillings, loads, memories, room, scratch):
    """Look for the preferred allocation of a job at a level; return whether there is one."""
    tasks, sets, shapes = levels[4], levels[5], levels[6]
    order_first = orders[rule, sets[member]]
    last = orders[rule, sets[member] + 1]
    memory_class, asked, num_links, most = memories
    shape = shapes[member]
    for g in range(len(free)):
        room[g] = min(free[g], most[shape, g])
    for m in range(len(memory_class)):
        g = memory_class[m]
        if asked[shape] > 0.0 and room[g] * asked[shape] > left[num_links + m]:
            room[g] = int(left[num_links + m] // asked[shape])
    for order in range(order_first, last):
        if _fill(order, shape, tasks[member], room, left, fillings, loads, scratch):
            return True
    return False


@inlined
def load(shape, k, allocation, fillings, loads):
    """Return what an allocation asks of a contended resource."""
    below = fillings[4]
    offsets, table = loads
    inside = 0
    for g in range(len(allocation)):
        if below[k, g]:
            inside += allocation[g]
    return table[offsets[shape, k] + inside]
