import AvatarCore
import AvatarFoundation
import AvatarIndex

/// The last outline of the contacts of a store, until it has to be made again.
package final class ContactOutlineMemory: Sendable {
    private struct Held {
        let outline: ContactOutline
        let moment: ReadMoment?
        let begin: ContinuousClock.Instant
        /// The time that it took.
        let cost: Duration
    }

    private let held = Locked<Held?>(nil)

    /// An outline that takes longer is not made again with each change.
    private static let mostCost = Duration.milliseconds(20)

    /// A memory without an outline.
    package init() {}

    /// The outline at `moment`, or one that is as old as a hundred times what it takes. Other callers wait while `make` makes it.
    func outline(at moment: ReadMoment?, make: () throws -> ContactOutline) throws -> ContactOutline {
        try held.withLock { held in
            let begin = ContinuousClock.now
            if let last = held {
                if let moment, last.moment == moment { return last.outline }
                if last.cost > Self.mostCost, begin - last.begin < last.cost * 100 { return last.outline }
            }
            let outline = try make()
            held = Held(outline: outline, moment: moment, begin: begin, cost: ContinuousClock.now - begin)
            return outline
        }
    }
}
