import Foundation

/// The environment variables that control long and random tests.
package enum TestMode {
    /// `AVATARS_THOROUGH=1`: the long tests run in full. `scripts/test --thorough` sets it.
    package static let isThorough = ProcessInfo.processInfo.environment["AVATARS_THOROUGH"] == "1"

    /// `AVATARS_TRACE=1`: the simulation prints each call that changes its disk.
    package static let traces = ProcessInfo.processInfo.environment["AVATARS_TRACE"] == "1"

    /// `AVATARS_STATES`: the number of states that the simulation checks. Default: 2,000, or a million if thorough.
    package static let states =
        ProcessInfo.processInfo.environment["AVATARS_STATES"].flatMap { Int($0) } ?? (isThorough ? 1_000_000 : 2000)

    /// `AVATARS_SEED`: repeats a failed run. Default: a new random seed.
    package static var seed: UInt64 {
        ProcessInfo.processInfo.environment["AVATARS_SEED"].flatMap { UInt64($0) } ?? .random(in: 0..<1_000_000_000)
    }
}
