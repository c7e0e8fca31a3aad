# differential: {"verdict": "user_exception", "exit": 1}
import asyncio
import sys


async def tick(name, seconds, log):
    await asyncio.sleep(seconds)
    log.append(name)
    return asyncio.current_task().get_name()


async def fail():
    raise ValueError('in a task')


async def main():
    log = []
    print(await asyncio.gather(tick('b', 0.2, log), tick('a', 0.02, log)), log, type(asyncio.get_running_loop()))
    process = await asyncio.create_subprocess_exec('cat', stdin=-1, stdout=-1)
    print(await process.communicate(b'through a child'))
    print(await asyncio.to_thread(sys.getrecursionlimit))
    task = asyncio.create_task(fail())
    await asyncio.sleep(0)
    try:
        async with asyncio.timeout(0.05):
            await asyncio.sleep(5)
    except TimeoutError as error:
        print(repr(error))
    del task
    r, w = await asyncio.open_connection(sock=None, host='127.0.0.1', port=9)


asyncio.run(main())
