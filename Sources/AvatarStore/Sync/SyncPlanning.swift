import AvatarCore
import AvatarFiles
import AvatarIndex
import AvatarWriter

/// Reads the source of one sync, and plans what to do about its items: `SyncPlanner` with the inputs that it needs.
final class SyncPlanning {
    /// Classifies items, and remembers what the source named so far.
    private var planner: SyncPlanner
    /// The one walk over the source that the sync plans by.
    private let walk: SyncSource.Walk
    /// Whether the source has been read to its end, or the sync has stopped reading it.
    private(set) var isExhausted = false

    /// Shared with the other parts.
    private let scope: SyncScope
    private let lookup: SyncLookup
    /// Keeps the contacts of the list in the index.
    private let roster: SyncRoster
    /// Knows the health of the hosts, and whether there is a network.
    private let dispatcher: SyncDispatcher
    private let room: SyncRoom
    /// Contacts whose URLs keep their volatile parameters.
    private(set) var clashes = QueryClashes()
    /// Hosts whose URLs change with each list.
    private(set) var changes = QueryChanges()
    /// The answers that the source of answers lists; `nil` without a source.
    private var listing: (any AnswerListing)?

    /// The number of items in one page. Signals are handled between two pages, and the client runs out of requests during
    /// a long one.
    private static let pageSize = 64

    /// A planning that has read nothing.
    init(_ scope: SyncScope, rules: SyncRules, roster: SyncRoster, dispatcher: SyncDispatcher, room: SyncRoom) {
        (self.scope, self.roster, self.dispatcher, self.room) = (scope, roster, dispatcher, room)
        listing = scope.answers?.listing()
        planner = SyncPlanner(rules)
        walk = scope.source.makeWalk()
        lookup = SyncLookup(parts: scope.parts)
    }

    // MARK: Steps

    /// Reads one page of the source, and returns the steps for its items.
    ///
    /// - Throws: an error of the index, the disk or the source.
    func nextSteps() async throws -> [SyncStep] {
        // A source that can count its rest is not read on once all requests are planned.
        let items = try await walk(planner.hasReachedLimit && scope.source.countsRest ? 0 : Self.pageSize)
        isExhausted = items.isEmpty
        try await roster.note(items)
        try await note(items)
        for case .entry(let entry) in items {
            // Once settled, the entry is no longer due, and a second walk would not find its file.
            if let file = entry.file { room.protect(file.id) }
        }
        var (known, lost) = try lookup.snapshot(for: items)
        let former = SyncPlanner.formerImages(of: items, known)
        if !former.isEmpty {
            try await scope.writer.unlink(inBatches: former)
            (known, lost) = try lookup.snapshot(for: items)
        }
        try await room.retire(lost)
        try changes.note(items, known, scope.index)
        if listing != nil, !dispatcher.isOffline {
            await listing?.extend(to: known.urlsToAsk(for: items, at: dispatcher.circumstances.now))
        }
        let circumstances = try await circumstances(lacksImage: known.lacksImage(for: items))
        return try planner.plan(items, known: known, in: circumstances)
    }

    /// Records the URLs whose keys leave out volatile parameters.
    private func note(_ items: [SyncItem]) async throws {
        clashes.note(items)
        let news = items.compactMap { item -> ReducedURL? in
            if case .reduced(let url) = item, url.isNews { url } else { nil }
        }
        if !news.isEmpty { try await scope.writer.adopt(news) }
    }

    /// The steps for the next candidate of `chain`, whose candidate turned out to have no image.
    ///
    /// - Throws: an error of the index, the disk or the source.
    func steps(advancing chain: CandidateChain) async throws -> [SyncStep] {
        let (known, lost) = try lookup.snapshot(for: chain)
        try await room.retire(lost)
        return try await planner.advance(chain, known: known, in: circumstances(lacksImage: true))
    }

    /// Reads no more of the source: the sync ends early.
    func stop() {
        isExhausted = true
    }

    /// The circumstances for the planner: hosts, time, network and room.
    ///
    /// - Parameter lacksImage: whether some image is not stored yet. Only then does it matter whether there is room.
    private func circumstances(lacksImage: Bool) async throws -> SyncCircumstances {
        var circumstances = dispatcher.circumstances
        circumstances.listed = listing?.view
        // Documents have no budget.
        if lacksImage, !scope.usesDocuments, !dispatcher.isOffline {
            circumstances.hasRoom = try await room.hasRoom()
        }
        return circumstances
    }

    // MARK: The outcome of planned requests

    /// Whether a request for `key` is planned or under way.
    func isInFlight(_ key: AvatarKey) -> Bool { planner.isInFlight(key) }

    /// Records that the outcome for `key` is known.
    func settle(_ key: AvatarKey) {
        planner.settle(key)
    }

    /// Records that a planned request was not sent. The request limit counts requests sent, so another target may use
    /// this one.
    func returnRequest() {
        planner.returnRequest()
    }

    // MARK: Contacts that the list omits

    /// Whether the list tells which contacts it omits, and the sync prunes.
    var mayPrune: Bool { planner.mayPrune }

    /// Those of `contacts` for which the list has no image.
    func leavers(among contacts: [String]) -> [String] {
        planner.leavers(among: contacts)
    }
}
