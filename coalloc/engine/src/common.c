#define _POSIX_C_SOURCE 200809L

#include "common.h"

#ifdef _WIN32
#include <windows.h>
double clock_now(void) {
    LARGE_INTEGER count, frequency;
    QueryPerformanceCounter(&count);
    QueryPerformanceFrequency(&frequency);
    return (double)count.QuadPart / (double)frequency.QuadPart;
}
void give_way(void) { SwitchToThread(); }
#else
#include <sched.h>
#include <time.h>
double clock_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
void give_way(void) { sched_yield(); }
#endif

const char *engine_sources(void) { return ENGINE_SOURCES; }
