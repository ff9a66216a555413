"""Measures storing images in diskcache, one round for each line on standard input.

Usage: diskcache_set_rival.py DIRECTORY BYTES IMAGES IMAGES-IN-A-TRANSACTION
"""

import sys
import time

from diskcache import Cache

directory, size, images, batch = sys.argv[1], *map(int, sys.argv[2:])
cache = Cache(directory, eviction_policy="least-recently-used", size_limit=1 << 40)
print("ready", flush=True)
for seed, _ in enumerate(sys.stdin, 1):
    rest = bytes(size - 8)
    made = [(f"person-{seed}-{number}", (seed << 32 | number).to_bytes(8, "little") + rest) for number in range(images)]
    begun = time.perf_counter_ns()
    if batch == 1:
        for key, value in made:
            cache.set(key, value)
    else:
        for first in range(0, images, batch):
            with cache.transact():
                for key, value in made[first : first + batch]:
                    cache.set(key, value)
    print((time.perf_counter_ns() - begun) / images, flush=True)
