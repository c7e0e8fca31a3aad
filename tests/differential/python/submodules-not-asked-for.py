# differential: {"verdict": "user_exception", "exit": 1}
# A package has its submodules as attributes only after somebody imported them.
import concurrent
import email
import html
import http
import importlib
import json
import logging
import multiprocessing
import os
import unittest
import urllib
import xml

for module in (concurrent, email, html, http, importlib, json, logging, multiprocessing, os, unittest, urllib, xml):
    print(module.__name__, [n for n, v in vars(module).items() if type(v) is type(os)])
urllib.error.URLError("not imported by anybody")
