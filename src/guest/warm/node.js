// The preloaded module of a Node.js that waits for its job (warm.h).
//
// Node requires it before it looks at process.argv[1]. It waits, puts the job's arguments and
// environment where a start would have put them, removes its own traces and returns: Node goes on
// to the program by itself, with nothing of this file on the stack. Workers require it again and
// find an empty file.
'use strict';
const fs = require('fs');
const path = require('path');
const v8 = require('v8');
const vm = require('vm');

// Buffers of their own: the pool is the program's.
function read(fd, size) {
  const data = Buffer.allocUnsafeSlow(size);
  for (let length = 0, n; length < size; length += n) {
    n = fs.readSync(fd, data, length, size - length);
    if (n === 0)
      throw new Error('the job ended early');
  }
  return data.toString();
}

function receive(fd) {
  const strings = read(fd, Number(read(fd, 11).slice(2))).split('\0');
  strings.pop();
  const count = Number(strings.shift());
  return [strings.slice(0, count), strings.slice(count)];
}

// Generators of this process that were seeded when it started are those of every clone.  Math.random
// takes its seed from a flag when a context calls it for the first time, if the flag is set.
// OpenSSL's generator reseeds itself: the clock has jumped ahead.
function seedContext(first) {
  const bytes = Buffer.allocUnsafeSlow(4);
  const fd = fs.openSync('/dev/urandom');
  fs.readSync(fd, bytes);
  fs.closeSync(fd);
  v8.setFlagsFromString('--random-seed=' + (bytes.readUInt32LE() >>> 1 || 1));
  first();
  v8.setFlagsFromString('--random-seed=0');
}

// Contexts of vm are seeded when they are made; Node itself makes these two of the steps that are
// public.
function wrapContexts() {
  const first = new vm.Script('Math.random()');
  const { createContext, runInContext, runInNewContext, isContext, Script } = vm;
  const prototype = Script.prototype;
  const scriptIn = prototype.runInContext;
  const scriptInNew = prototype.runInNewContext;
  const like = (value, other) => Object.defineProperties(value, {
    name: { value: other.name, configurable: true },
    length: { value: other.length, configurable: true },
  });
  const create = (...args) => {
    const known = typeof args[0] === 'object' && args[0] !== null && isContext(args[0]);
    const context = createContext(...args);
    if (!known)
      seedContext(() => scriptIn.call(first, context));
    return context;
  };
  const options = (given) => {
    if (given === null || typeof given !== 'object')
      return {};
    return {
      name: given.contextName, origin: given.contextOrigin, codeGeneration: given.contextCodeGeneration,
      microtaskMode: given.microtaskMode,
    };
  };
  vm.createContext = like(create, createContext);
  vm.runInNewContext = like((code, object, given) => {
    if (typeof given === 'string')
      given = { filename: given };
    return runInContext(code, create(object === undefined ? {} : object, options(given)), given);
  }, runInNewContext);
  prototype.runInNewContext = like(function(object, given) {
    return scriptIn.call(this, create(object === undefined ? {} : object, options(given)), given);
  }, scriptInNew);
}

function setTimeOrigin() {
  let origin = 0;
  for (let i = 0; i < 3; i++)  // the first time takes its time between the two
    origin = Date.now() - performance.now();
  let holder = performance;
  while (!Object.hasOwn(holder, 'timeOrigin'))
    holder = Object.getPrototypeOf(holder);
  const is = Object.getOwnPropertyDescriptor(holder, 'timeOrigin');
  if ('value' in is)
    is.value = origin;
  else
    is.get = { get() { return origin; } }.get;
  Object.defineProperty(holder, 'timeOrigin', is);
}

function become(argv, env) {
  const now = [];
  for (const key of Object.keys(process.env))
    now.push(key + '=' + process.env[key]);
  if (now.join('\0') !== env.join('\0')) {
    for (const key of Object.keys(process.env))
      delete process.env[key];
    for (const entry of env) {
      const end = entry.indexOf('=');
      process.env[entry.slice(0, end)] = entry.slice(end + 1);
    }
  }
  process.chdir('/work');
  process.argv.splice(1, process.argv.length, path.resolve(argv[1]), ...argv.slice(2));
  setTimeOrigin();
  seedContext(Math.random);
}

try {
  delete require.cache[__filename];
  delete module.constructor._pathCache[`${__filename}\0`];
  Object.defineProperty(process, '_preload_modules',
    { ...Object.getOwnPropertyDescriptor(process, '_preload_modules'), value: [] });
  module.parent?.children?.splice(0);
  delete process.env.NODE_OPTIONS;
  delete process.env.AIRLOCK_ROOM;
  wrapContexts();
  fs.writeSync(63, 'r');
  become(...receive(62));
  fs.closeSync(62);
  fs.writeSync(63, 'g');
  fs.closeSync(63);
} catch (error) {
  fs.writeSync(2, String(error.stack));
  process.reallyExit(127);
}
