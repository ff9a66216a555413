"""Revalidates the URLs of a list with hishel on httpx. Usage: hishel_rival.py LIST DATABASE

The first run on a database stores all images; later runs revalidate each. Prints seconds and the count of 304s.
"""
import sys
import time

from hishel import SqliteStorage
from hishel.httpx import CacheClient

listing, database = sys.argv[1], sys.argv[2]
urls = [line.split("\t")[0] for line in open(listing)]
client = CacheClient(storage=SqliteStorage(database_path=database), rfc=True, timeout=30)


def ask(url):
    response = client.get(url, headers={"Cache-Control": "no-cache"})
    assert response.status_code == 200 and len(response.content) > 0
    return response.extensions["caching"]["revalidated"]


began = time.perf_counter()
confirmed = sum(ask(url) for url in urls)
print(time.perf_counter() - began, confirmed)
