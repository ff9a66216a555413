// The start of the process that runs the tests. It has nothing to call.
