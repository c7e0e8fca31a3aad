# differential: {"varies": [["0x[0-9a-f]+", "0xN", "an address"]]}
# Modules that keep something while they are used: all must be as after a first import.
import asyncio
import atexit
import codecs
import copyreg
import decimal
import functools
import linecache
import locale
import logging
import mimetypes
import multiprocessing
import os
import re
import sched
import socket
import ssl
import tempfile
import threading
import time
import traceback
import typing
import warnings

print(tempfile.tempdir, tempfile._name_sequence, tempfile.template)
print(logging.root.handlers, logging.root.level, logging.Logger.manager.loggerDict, logging.lastResort.level, logging.raiseExceptions)
print(linecache.cache.keys(), mimetypes.inited, socket.getdefaulttimeout())
print(decimal.getcontext(), locale.localeconv()["decimal_point"], locale.setlocale(locale.LC_ALL))
print(warnings.filters, warnings.onceregistry, warnings.defaultaction)
print(multiprocessing.get_start_method(allow_none=True), multiprocessing.current_process(), multiprocessing.active_children())
print(threading.enumerate()[0].name, threading.active_count(), threading.stack_size(), threading.excepthook is threading.__excepthook__)
print(asyncio.get_event_loop_policy().__class__.__name__, len(copyreg.dispatch_table), re._cache.__class__)
print(os.umask(0o22), time.tzname, functools.cache.__module__, ssl.OPENSSL_VERSION)
print(atexit._ncallbacks(), threading._counter(), threading.Thread().name)
