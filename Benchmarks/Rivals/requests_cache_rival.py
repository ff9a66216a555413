"""Revalidates the URLs of a list with requests-cache. Usage: requests_cache_rival.py LIST DATABASE THREADS

The first run on a database stores all images; later runs revalidate each. Prints seconds and the count of 304s.
"""
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from requests.adapters import HTTPAdapter
from requests_cache import CachedSession

listing, database, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
urls = [line.split("\t")[0] for line in open(listing)]
# The fastest options: no waiting for the disk, and readers beside writers.
session = CachedSession(database, backend="sqlite", cache_control=True, fast_save=True, wal=True)
# One pool per host, so that connections are reused.
session.mount("http://", HTTPAdapter(pool_connections=64, pool_maxsize=8))


def ask(url):
    response = session.get(url, refresh=True, timeout=30)
    assert response.status_code == 200 and len(response.content) > 0
    return getattr(response, "revalidated", False)


began = time.perf_counter()
if threads == 1:
    confirmed = sum(ask(url) for url in urls)
else:
    with ThreadPoolExecutor(threads) as pool:
        confirmed = sum(pool.map(ask, urls))
print(time.perf_counter() - began, confirmed)
