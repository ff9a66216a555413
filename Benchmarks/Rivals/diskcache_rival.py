"""Measures lookups in diskcache, one round for each line on standard input.

Usage: diskcache_rival.py DIRECTORY ENTRIES BYTES LOOKUPS
"""

import random
import sys
import time

from diskcache import Cache

directory, entries, size, lookups = sys.argv[1], *map(int, sys.argv[2:])
cache = Cache(directory, eviction_policy="least-recently-used", size_limit=1 << 40)


def url(number):
    return f"https://pictures{number % 97}.example.org/people/{number}/photo-{number}.png"


if len(cache) < entries:
    with cache.transact():
        for number in range(entries):
            cache.set(url(number), number.to_bytes(8, "little") + bytes(size - 8))
print("ready", flush=True)
for _ in sys.stdin:
    wanted = [url(random.randrange(entries)) for _ in range(lookups)]
    begun = time.perf_counter_ns()
    for key in wanted:
        assert len(cache.get(key)) == size
    print((time.perf_counter_ns() - begun) / lookups, flush=True)
