import BenchmarkFigures
import Foundation

/// Two ways of doing the same, in turns.
struct Rounds {
    /// Nanoseconds of one piece of work, in each round.
    private(set) var ours: [Double] = []
    private(set) var theirs: [Double] = []

    /// The median of the ratios of neighbouring rounds.
    var ratio: Double { median(zip(ours, theirs).map { $0 / $1 }) }

    /// Runs both `rounds` times, the one that begins by turns; each is told the number of the round.
    init(_ rounds: Int, of work: Int, _ our: (Int) throws -> Void, _ their: (Int) throws -> Void) rethrows {
        for round in 0..<rounds {
            if round % 2 == 0 {
                ours.append(try Self.time(round, our) / Double(work))
                theirs.append(try Self.time(round, their) / Double(work))
            } else {
                theirs.append(try Self.time(round, their) / Double(work))
                ours.append(try Self.time(round, our) / Double(work))
            }
        }
    }

    private static func time(_ round: Int, _ work: (Int) throws -> Void) rethrows -> Double {
        let begun = ContinuousClock.now
        try work(round)
        return (ContinuousClock.now - begun) / .nanoseconds(1)
    }
}

/// Numbers below `limit` in no order, the same in each run.
func randomNumbers(_ count: Int, below limit: Int, seed: UInt64 = 1) -> [Int] {
    var state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
    return (0..<count).map { _ in
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return Int(state % UInt64(limit))
    }
}
