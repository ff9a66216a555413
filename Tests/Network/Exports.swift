// The network tests run the program, nginx and proxies.
@_exported import ProgramRunning
