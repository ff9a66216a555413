// The tests of the network run the program, nginx and proxies.
@_exported import ProgramRunning
