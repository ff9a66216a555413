import CAvatarSystem

/// The arguments of the program, its name included.
enum ProgramArguments {
    /// From the system if it hands them over when the program starts, else from Swift's runtime. Empty if neither knows
    /// them, which is not the same as a call without arguments: such a call has the program's name.
    static var all: [String] {
        var arguments: [String] = []
        while let argument = avatar_argument(Int32(arguments.count)) { arguments.append(String(cString: argument)) }
        return arguments.isEmpty ? CommandLine.arguments : arguments
    }
}
