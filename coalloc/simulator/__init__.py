"""Engine of the simulator, protocols of policies and brokers; whole runs in C (``simulator/pool_run.py``)."""
