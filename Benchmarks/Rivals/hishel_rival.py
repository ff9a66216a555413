"""Revalidates the URLs of a list with hishel on httpx. Usage: hishel_rival.py LIST DATABASE TASKS

The first run on a database stores all of them, later ones ask for each again. Prints seconds and the count of 304s.
With TASKS 1 its synchronous client is used, else the asynchronous one.
"""
import asyncio
import sys
import time

from hishel import AsyncSqliteStorage, SqliteStorage
from hishel.httpx import AsyncCacheClient, CacheClient

listing, database, tasks = sys.argv[1], sys.argv[2], int(sys.argv[3])
urls = [line.split("\t")[0] for line in open(listing)]
ask = {"Cache-Control": "no-cache"}


def count(response):
    assert response.status_code == 200 and len(response.content) > 0
    return bool(response.extensions["caching"]["revalidated"])


async def together():
    confirmed = 0
    waiting = iter(urls)

    async def work(client):
        nonlocal confirmed
        for url in waiting:
            confirmed += count(await client.get(url, headers=ask))

    async with AsyncCacheClient(storage=AsyncSqliteStorage(database_path=database), rfc=True, timeout=30) as client:
        await asyncio.gather(*(work(client) for _ in range(tasks)))
    return confirmed


def one_by_one():
    with CacheClient(storage=SqliteStorage(database_path=database), rfc=True, timeout=30) as client:
        return sum(count(client.get(url, headers=ask)) for url in urls)


began = time.perf_counter()
confirmed = one_by_one() if tasks == 1 else asyncio.run(together())
print(time.perf_counter() - began, confirmed)
