import Foundation

/// How long the long tests run, and what they are repeated with.
enum TestMode {
    /// `AVATARS_THOROUGH=1`: as long as it takes to trust them.
    static let isThorough = ProcessInfo.processInfo.environment["AVATARS_THOROUGH"] == "1"

    /// `AVATARS_SEED`: repeats a run that failed; else a new one.
    static var seed: UInt64 {
        ProcessInfo.processInfo.environment["AVATARS_SEED"].flatMap { UInt64($0) } ?? .random(in: 0..<1_000_000_000)
    }
}

/// Removes a folder of a test.
func removeFolder(_ path: String) {
    do {
        try FileManager.default.removeItem(atPath: path)
    } catch {
        // What is left lies in the temporary directory; the test's own result matters more.
    }
}
