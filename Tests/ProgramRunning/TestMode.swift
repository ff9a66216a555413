import Foundation

/// The environment variables that control long and random tests.
package enum TestMode {
    /// `AVATARS_THOROUGH=1`: the long tests run in full. `scripts/test --thorough` sets it.
    package static let isThorough = ProcessInfo.processInfo.environment["AVATARS_THOROUGH"] == "1"

    /// `AVATARS_SEED`: repeats a failed run. Default: a new random seed.
    package static var seed: UInt64 {
        ProcessInfo.processInfo.environment["AVATARS_SEED"].flatMap { UInt64($0) } ?? .random(in: 0..<1_000_000_000)
    }
}
