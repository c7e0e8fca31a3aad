# airlock-case: {"expect":"timeout","which":"cpu","stdout":"starving\n","limits":{"cpu_s":1,"wall_s":60},"note":"callbacks that only queue the next callback: a timeout inside the same loop would never strike"}
import asyncio


async def forever():
    while True:
        pass


async def main():
    print("starving", flush=True)
    try:
        await asyncio.wait_for(forever(), 0.5)
    finally:
        print("timed out by itself", flush=True)


asyncio.run(main())
