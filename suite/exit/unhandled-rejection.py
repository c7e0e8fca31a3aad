# airlock-case: {"expect":"user_exception","exit":1,"stdout":"before\n","err":"LookupError: nobody","note":"an exception that crosses an event loop still ends the program"}
import asyncio


async def fail():
    await asyncio.sleep(0.01)
    raise LookupError("nobody")


async def main():
    print("before")
    await asyncio.gather(fail(), asyncio.sleep(600))


asyncio.run(main())
