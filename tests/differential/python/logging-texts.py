# differential: {"varies": [["\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d,\\d+", "WHEN", "time"], ["thread=\\d+", "thread=N", "an address"]]}
import logging
import os

logging.warning("by the handler of last resort")
logging.getLogger("a.b").info("not shown")
logging.root.handlers.clear()
logging.basicConfig(level=1, format="%(asctime)s %(name)s %(levelname)s %(pathname)s %(module)s %(lineno)d %(funcName)s "
                    "%(processName)s thread=%(thread)d %(threadName)s %(message)s")
print(logging.getLogger("a"), logging.Logger.manager.loggerDict)


def speak():
    try:
        {}["missing"]
    except KeyError:
        logging.getLogger("a.b").exception("with a traceback, pid %d", os.getpid())


speak()
logging.error("%d %s", "wrong", 1)
record = logging.makeLogRecord({})
print(record.process == os.getpid(), 0 <= record.relativeCreated < 60000)
