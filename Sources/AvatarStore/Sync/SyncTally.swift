import AvatarCore
import AvatarIndex

/// The result of a sync so far: its counts, or its first error. Reports progress and events to the caller.
final class SyncTally {
    /// Names the contacts of an image that failed, if the list does not.
    private let index: AvatarIndex
    /// The report so far.
    private(set) var report = SyncReport()
    /// The first error of the store or the list. It ends the sync, which throws it.
    private(set) var failure: (any Error)?
    /// Settled contacts, or settled entries if the sync has no list.
    private var done = 0
    /// The number of contacts or entries; `nil` if unknown.
    private let total: Int?
    /// Called on the task of the sync, so it must return soon.
    private let progress: @Sendable (SyncProgress) -> Void
    /// Delivers an event, and returns when its reader has received it; `nil` without a reader.
    private let emit: (@Sendable (SyncEvent) async -> Void)?
    /// Events not delivered yet.
    private var events: [SyncEvent] = []

    /// A tally without counts.
    ///
    /// - Parameters:
    ///   - total: the number of contacts or entries; `nil` if unknown.
    ///   - progress: called after each page and each commit.
    ///   - emit: delivers an event; `nil` without a reader.
    init(
        _ index: AvatarIndex,
        total: Int?,
        progress: @escaping @Sendable (SyncProgress) -> Void,
        emit: (@Sendable (SyncEvent) async -> Void)?
    ) {
        (self.index, self.total) = (index, total)
        (self.progress, self.emit) = (progress, emit)
    }

    // MARK: The end

    /// Records an error of the store or the list. The first one counts.
    func fail(_ error: any Error) {
        failure = failure ?? error
    }

    /// Whether the sync sends no more requests: it failed, was cancelled, or its time is up.
    var shouldStop: Bool { Task.isCancelled || failure != nil || report.ranOutOfTime }

    /// Whether requests under way are cancelled too. After an error they run to their end.
    var isCutShort: Bool { Task.isCancelled || report.ranOutOfTime }

    /// The report of a sync that has ended.
    ///
    /// - Throws: the first error.
    func result() throws -> SyncReport {
        if let failure { throw failure }
        return report
    }

    // MARK: Telling

    /// Reports the progress of the sync.
    func tellProgress() {
        let now = SyncProgress(done: done, total: total, report: report)
        progress(now)
        if emit != nil { events.append(.progress(now)) }
    }

    /// Delivers the gathered events, and waits for their reader.
    func tellEvents() async {
        guard let emit, !events.isEmpty else { return }
        let told = events
        events = []
        for event in told { await emit(event) }
    }

    /// Gathers the event for one outcome, if a reader wants events.
    private func note(_ key: AvatarKey, _ outcome: FetchOutcome) {
        if emit != nil { events.append(.image(key, outcome)) }
    }

    // MARK: Counting

    /// Changes counts that need no event.
    func update(_ change: (inout SyncReport) -> Void) {
        change(&report)
    }

    /// Counts `count` contacts or entries as settled; a negative one takes that back.
    func settle(_ count: Int = 1) {
        done += count
    }

    /// Adds the requests and the bytes of one fetch.
    package func count(requests: Int, bytesReceived: Int) {
        report.requests += requests
        report.bytesReceived += bytesReceived
    }

    /// Counts the outcome of a fetch, except a failure.
    package func count(_ outcome: FetchOutcome, _ key: AvatarKey) {
        report.count(outcome)
        note(key, outcome)
    }

    /// Counts a saved photo. `isChanged`: it replaced other bytes.
    func countSaved(_ key: AvatarKey, isChanged: Bool) {
        report.saved += 1
        note(key, .stored(isChanged: isChanged))
    }

    /// Counts the failure of an image, and reports it with its contact.
    ///
    /// - Parameters:
    ///   - listed: the contact in the list; `nil` to look it up in the index.
    ///   - place: its record; `nil` if it is not known.
    package func count(_ failure: FetchFailure, _ key: AvatarKey, of listed: String?, at place: ListPlace?) {
        let contact = contact(of: key, listed)
        // The missing network is reported once. It is not a failure of an image.
        guard failure.kind != .offline else { return report.skip(.offline) }
        report.count(.failed(failure))
        note(key, .failed(failure))
        report.add(.init(failure, key, contact: contact, at: place))
    }

    /// Reports why the image of `key` is not stored, without counting it.
    ///
    /// - Parameters:
    ///   - listed: the contact in the list; `nil` to look it up in the index.
    ///   - place: its record; `nil` if it is not known.
    func add(_ failure: FetchFailure, _ key: AvatarKey, of listed: String?, at place: ListPlace?) {
        let contact = contact(of: key, listed)
        report.add(.init(failure, key, contact: contact, at: place))
    }

    /// The contact to report with `key`: the one in the list, else the first one in the index.
    private func contact(of key: AvatarKey, _ listed: String?) -> String? {
        guard listed == nil, reportsMore else { return listed }
        do {
            return try index.contacts(using: key).first
        } catch {
            fail(error)
            return nil
        }
    }

    /// Whether the report has room for another failure. The rest is only counted.
    private var reportsMore: Bool { report.failures.count < SyncReport.largestFailureCount }
}

extension SyncReport.Failure {
    /// The failure to fetch an image.
    ///
    /// - Parameters:
    ///   - contact: the contact of the image. It is left out if it is the image's URL, as in a list of bare URLs.
    ///   - place: the record of the contact.
    init(_ failure: FetchFailure, _ key: AvatarKey, contact: String?, at place: ListPlace?) {
        let isURL = contact.flatMap(AvatarKey.init(listed:)) == key
        self.init(key: key.rawValue, kind: failure.kind, message: failure.message, contact: isURL ? nil : contact)
        name(place)
        host = failure.redirectedHost ?? AvatarKey(stored: key.url ?? "").host?.description
    }

    /// A listed text that is not a URL.
    init(refused text: String, _ error: AvatarStoreError, contact: String?, at place: ListPlace?) {
        self.init(key: text, kind: .unsupportedURL, message: error.message, contact: contact)
        name(place)
    }

    private mutating func name(_ place: ListPlace?) {
        guard let place else { return }
        if let card = place.card { list = card } else { (list, line, record) = (place.list, place.line, place.record) }
    }

    /// A record that cannot be read. The place is `nil` if the list's reader did not state it.
    init(unreadable reason: String, at place: ListPlace?) {
        let message = "\(reason)."
        self = place?.failure(.badRecord, message) ?? Self(key: nil, kind: .badRecord, message: message)
    }
}

extension SyncReport.Failure {
    /// An embedded photo that was refused.
    init(_ photo: ContactPhoto, _ error: AvatarStoreError, key: AvatarKey, of listed: ListedPhotos) {
        let place = listed.place(of: photo)
        self = place.failure(.notImage, error.message, key: key.rawValue, contact: listed.contact)
    }

    /// An embedded image that cannot be read.
    ///
    /// - Throws: `invalidKey` for a contact's id that cannot be part of a key.
    init(_ image: UnreadableContactImage, of listed: ListedPhotos) throws(AvatarStoreError) {
        var key: String?
        if let number = image.number { key = try listed.key(of: number).rawValue }
        let kind = key == nil ? FailureKind.badRecord : .notImage
        self = listed.place(of: image).failure(kind, "\(image.reason).", key: key, contact: listed.contact)
    }
}

extension ListPlace {
    /// A report's failure for `reason` at this place: `people.vcf, line 4: reason`, or
    /// `people.json, line 1, record 37: reason`.
    func failure(
        _ kind: FailureKind,
        _ reason: String,
        key: String? = nil,
        contact: String? = nil
    ) -> SyncReport.Failure {
        let record = record.map { ", record \($0)" } ?? ""
        let message = "\(list.map { "\($0), line" } ?? "Line") \(line)\(record): \(reason)"
        var failure = SyncReport.Failure(
            key: key,
            kind: kind,
            message: message,
            contact: contact,
            list: list,
            line: line
        )
        failure.record = self.record
        return failure
    }
}
