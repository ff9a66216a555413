#if os(Linux)
import AvatarStoreTesting
import ProgramRunning
import Testing

/// The libraries that the program loads when it starts. The build of the tests links those of Swift as shared ones.
@Suite(.timeLimit(.minutes(5))) struct LinkedLibraryTests {
    /// The tables of ICU are half of a program that has them.
    @Test func programLoadsNeitherFoundationNorICU() async throws {
        // The loader lists the libraries and ends.
        let run = try await Workplace().run("--version", environment: ["LD_TRACE_LOADED_OBJECTS": "1"])
        let libraries = run.lines.compactMap { $0.split(whereSeparator: \.isWhitespace).first }

        #expect(libraries.contains("libswiftCore.so"))
        for name in ["libFoundation.so", "libFoundationInternationalization.so", "lib_FoundationICU.so"] {
            #expect(!libraries.contains { $0 == name }, "\(name)")
        }
    }
}
#endif
