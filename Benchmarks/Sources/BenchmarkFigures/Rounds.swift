import Foundation

/// Two ways to do the same work, measured in turns.
package struct Rounds {
    /// Nanoseconds per piece of work, one value per round.
    package private(set) var ours: [Double] = []
    package private(set) var theirs: [Double] = []

    /// The median of the ratios of neighbouring rounds.
    package var ratio: Double { median(zip(ours, theirs).map { $0 / $1 }) }

    /// None yet.
    package init() {}

    /// Runs both sides `rounds` times, each with the number of the round.
    package init(_ rounds: Int, of work: Int, _ our: (Int) throws -> Void, _ their: (Int) throws -> Void) throws {
        for round in 0..<rounds { try add(round, of: work, { try our(round) }, { try their(round) }) }
    }

    /// Runs both sides once; in odd rounds the other side first.
    ///
    /// - Parameter prepare: Runs before each side, and is not measured.
    package mutating func add(
        _ round: Int,
        of work: Int,
        prepare: () throws -> Void = {},
        _ our: () throws -> Void,
        _ their: () throws -> Void
    ) throws {
        for isOurs in round % 2 == 0 ? [true, false] : [false, true] {
            try prepare()
            let begun = ContinuousClock.now
            try isOurs ? our() : their()
            let time = (ContinuousClock.now - begun) / .nanoseconds(1) / Double(work)
            if isOurs { ours.append(time) } else { theirs.append(time) }
        }
    }
}

/// Pseudorandom numbers below `limit`, the same in each run.
package func randomNumbers(_ count: Int, below limit: Int, seed: UInt64 = 1) -> [Int] {
    var state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
    return (0..<count).map { _ in
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return Int(state % UInt64(limit))
    }
}
