// The tests of the commands all run the program.
@_exported import ProgramRunning
