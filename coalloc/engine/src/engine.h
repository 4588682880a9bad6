/* How Python calls the engine: coalloc/engine/library.py reads what the headers here declare so.

   A function is declared as ENGINE(result) name(parameters). An array says its size in terms of numbers that come
   before it, and Python refuses others; what is in an array is checked here. A result below zero is a fault: which kind
   and, counted from 0, in which parameter. Long calls return after about so many seconds, and are called again. There is
   no global state. */

#ifndef ENGINE_H
#define ENGINE_H

#include <stdint.h>

#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 11 /* sizes are for Python: definitions have pointers */
#pragma GCC diagnostic ignored "-Wvla-parameter"
#pragma GCC diagnostic ignored "-Warray-parameter"
#endif

#if defined(_WIN32)
#define ENGINE(result) __declspec(dllexport) result
#else
#define ENGINE(result) __attribute__((visibility("default"))) result
#endif

/* Kinds of faults: NO_MEMORY concerns no parameter. */
enum fault { NO_MEMORY = 1, OUT_OF_RANGE = 2, OUT_OF_ORDER = 3, NOT_A_NUMBER = 4, TOO_LARGE = 5 };
#define FAULT(kind, parameter) (-(int64_t)((kind) * 256 + (parameter)))

/* Digest of the sources that the library was built of. */
ENGINE(const char *) engine_sources(void);

#endif
