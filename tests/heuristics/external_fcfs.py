"""A scheduler of its own: first come, first served, on clusters in the order of the platform, without coalloc."""

import json
import sys

waiting = []
for message in map(json.loads, sys.stdin):
    if message["event"] == "begin":
        continue
    waiting = [job for job in waiting if job["id"] not in message["left"]] + message["arrived"]
    free, start = message["free"], []
    while waiting and waiting[0]["tasks"] <= sum(free):
        job, counts = waiting.pop(0), []
        left = job["tasks"]
        for there in free:
            counts.append(min(there, left))
            left -= counts[-1]
        free = [there - taken for there, taken in zip(free, counts, strict=True)]
        start.append({"job": job["id"], "counts": counts})
    print(json.dumps({"start": start}), flush=True)
