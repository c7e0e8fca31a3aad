// differential: {}
const { AsyncResource, executionAsyncId } = require('async_hooks');
console.log(executionAsyncId(), new AsyncResource('mine').asyncId(), new AsyncResource('next').asyncId());
console.log(process._getActiveHandles().length, process._getActiveRequests().length, process.getActiveResourcesInfo());
