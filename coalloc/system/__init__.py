"""Interface to Python and the machine: processes, versions, the garbage collector, imports on demand."""
