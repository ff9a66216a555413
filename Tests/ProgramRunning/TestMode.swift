import Foundation

/// How long the long tests run, and what they are repeated with.
package enum TestMode {
    /// `AVATARS_THOROUGH=1`: as long as it takes to trust them. `scripts/test --thorough` sets it.
    package static let isThorough = ProcessInfo.processInfo.environment["AVATARS_THOROUGH"] == "1"

    /// `AVATARS_SEED`: repeats a run that failed; else a new one.
    package static var seed: UInt64 {
        ProcessInfo.processInfo.environment["AVATARS_SEED"].flatMap { UInt64($0) } ?? .random(in: 0..<1_000_000_000)
    }
}
