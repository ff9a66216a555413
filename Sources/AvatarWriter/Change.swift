package import AvatarCore
package import AvatarFiles
package import AvatarIndex

/// A change of one entry, to be committed with others.
package struct Change: Sendable {
    /// The key of the entry.
    package var key: AvatarKey
    /// The URL that the image comes from; `nil` for an own image.
    package var sourceURL: String?
    /// The name and port of the source URL's host.
    package var host: String?
    /// The URL of a smaller image for metered networks.
    package var lowDataURL: String?
    /// Whether the image is that smaller one.
    package var isLowData = false
    /// Whether only a sync that found the entry asked for the image: if the entry was removed meanwhile, the change is
    /// dropped.
    package var isRefresh = false
    /// Whether the caller passed in the image. If a later response is stored, the change is superseded.
    package var isSupplied = false
    /// The ids of the contacts to link to the image.
    package var owners: [String] = []
    /// Whether these contacts stay linked to URLs that are gone and have no file. They are candidates that come before
    /// this image, and replace it once they are back.
    package var keepsGone = false
    /// The times that tell whether another response was stored meanwhile; `nil` without a request.
    package var order: AnswerOrder?
    /// The response as a sign of its host's health; `nil` if that is recorded already.
    package var hostNote: HostNote?
    /// The name and port of the host that was asked: for a smaller image it may differ from `host`.
    package var askedHost: String?
    /// The URL that was requested, if the writer's sink is to have the answer; else `nil`.
    package var sharedURL: String?
    /// Whether the result has the image as reads find it.
    package var wantsHit = false
    /// The change itself.
    package var content: Content

    /// The kinds of changes. They are behind a reference, because a sync hands each change on many times.
    package indirect enum Content: Sendable {
        /// A new image; `validation` is `nil` for an own image.
        case image(StagedImage, validation: ValidationRecord?)
        /// The entry's own bytes, staged for another storage class. Valid only while the entry's file is `file`.
        case moved(StagedImage, file: Int64)
        /// The origin confirmed the entry's file `file`, or without a file the entry's ignored image.
        case confirmed(ValidationRecord, file: Int64?)
        /// No image was received. The stored image stays.
        case failed(FetchFailure, checked: Timestamp)
        /// Only links to contacts are added.
        case linked
        /// A rendition of the entry's file. Valid only while that file is published.
        case rendition(StagedImage, of: RenditionSource)
    }

    /// A change of the entry of `key`; `content` says which. The source is that of a new image.
    package init(
        key: AvatarKey,
        sourceURL: String? = nil,
        host: String? = nil,
        owners: [String] = [],
        content: Content
    ) {
        (self.key, self.sourceURL, self.host) = (key, sourceURL, host)
        (self.owners, self.content) = (owners, content)
    }

    /// The staged image that the change brings; `nil` if it brings none.
    package var image: StagedImage? {
        switch content {
        case .image(let image, _), .moved(let image, _), .rendition(let image, _): image
        case .confirmed, .failed, .linked: nil
        }
    }
}

/// The original of a rendition.
package struct RenditionSource: Sendable {
    /// The row id of the original's file.
    package var file: Int64
    /// The size, format and fit, as the index names them.
    package var spec: String
    /// The ThumbHash of the original; empty for a copy without metadata.
    package var thumbHash: [UInt8]
    /// Whether a decoder made it.
    package var isDecoded: Bool

    package init(file: Int64, spec: String, thumbHash: [UInt8], isDecoded: Bool = true) {
        (self.file, self.spec, self.thumbHash, self.isDecoded) = (file, spec, thumbHash, isDecoded)
    }
}

/// Times that tell whether another response reached the index first.
package struct AnswerOrder: Sendable {
    /// The time at which the request was sent.
    package var requested: Timestamp
    /// The entry's last check as known at that time.
    package var lastCheck: Timestamp?

    package init(requested: Timestamp, lastCheck: Timestamp?) {
        (self.requested, self.lastCheck) = (requested, lastCheck)
    }
}

extension Change {
    /// The change that a response for `target` leads to.
    ///
    /// - Parameter requested: the time at which the request was sent.
    package init(_ content: Content, of target: FetchTarget, requested: Timestamp) {
        self.init(
            key: target.key,
            sourceURL: target.sourceKey.rawValue,
            host: target.sourceHost,
            owners: target.owners,
            content: content
        )
        lowDataURL = target.lowDataURL
        isLowData = target.isLowData
        isRefresh = target.isRefresh
        keepsGone = target.keepsGone
        askedHost = target.originHost
        order = AnswerOrder(requested: requested, lastCheck: target.entry?.validation.checked)
    }

    /// The time of the origin's answer; `nil` for a change without one.
    package var answered: Timestamp? {
        switch content {
        case .image(_, let validation): validation?.response
        case .confirmed(let validation, _): validation.response
        case .failed(_, let checked): checked
        case .moved, .linked, .rendition: nil
        }
    }

    /// The result if the change stores no new image.
    var recorded: Committed {
        switch content {
        case .image, .moved, .rendition: Committed(outcome: .notStored)
        case .confirmed: Committed(outcome: .notModified)
        case .failed(let failure, _): Committed(outcome: .failed(failure))
        case .linked: Committed()
        }
    }

    /// Whether the change brings a rendition.
    var isRendition: Bool {
        if case .rendition = content { true } else { false }
    }

    /// The bytes of the image that are in memory rather than in a file.
    package var bytesInMemory: Int {
        image.map { $0.isInMemory ? $0.sizeBytes : 0 } ?? 0
    }

    /// The bytes that the change may add to the budget's total.
    package var cacheBytes: Int {
        image.map { $0.storageClass == .caches ? $0.sizeBytes : 0 } ?? 0
    }
}

extension Change {
    /// Whether the image that the change brings is ignored. An own image never is, because the caller chose it.
    func isIgnored(_ image: StagedImage, in transaction: IndexTransaction) throws -> Bool {
        guard case .image = content, host != nil || key.isContactPhoto else { return false }
        return try transaction.isIgnored(image.sha256)
    }
}

/// The result of one committed change.
package struct Committed: Sendable {
    /// The outcome for the image; `nil` for a change that only links contacts.
    package var outcome: FetchOutcome?
    /// The row id of the file that holds the image, if one is stored.
    package var file: Int64?

    /// Whether the entry keeps another image than the one of the change: a newer one, or a document.
    package var keepsOther = false

    /// The image of the change as reads find it in the index; `nil` if the change does not want it, and if its image is not stored.
    package var hit: IndexHit?

    /// The entry keeps the image in `file`, and not the one of the change.
    static func keeping(_ file: Int64) -> Committed {
        Committed(outcome: .stored(isChanged: false), file: file, keepsOther: true)
    }

    /// The image is stored in `file`. `isChanged`: it replaced other bytes.
    static func stored(file: Int64, isChanged: Bool) -> Committed {
        Committed(outcome: .stored(isChanged: isChanged), file: file)
    }

    /// The image was discarded: there is no room for it, and none may be made.
    static func overBudget(_ error: AvatarStoreError) -> Committed {
        Committed(outcome: .overBudget(error))
    }

    /// The change was made for another state of the entry, or the entry has a newer image than the supplied one. Nothing
    /// was done.
    static func failed(_ error: AvatarStoreError) -> Committed {
        let failure = FetchFailure(kind: .storage, message: error.message, storeError: error)
        return Committed(outcome: .failed(failure))
    }

    /// Whether the change was made for another state of the entry, so that it may be made again for the present one.
    package var wasChangedMeanwhile: Bool {
        guard case .failed(let failure) = outcome else { return false }
        return failure.storeError?.code == .busy
    }

    /// - Parameter key: the key of the image.
    /// - Throws: the error for the caller of a save or a move, if the image is not stored.
    package func requireStored(_ key: AvatarKey) throws(AvatarStoreError) {
        switch outcome {
        case .overBudget(let error): throw error
        case .failed(let failure): throw failure.error
        case .ignored: throw .ignoredImage(key)
        case .stored, .notModified, .notStored, nil: break
        }
    }
}

/// The results of changes that were committed together.
package struct CommitSummary: Sendable {
    /// In the order of the changes.
    package var results: [Committed]
    /// The number of files evicted to make room.
    package var evicted = 0
    /// The bytes of the published files in `caches` after the commit; `nil`: no change was committed.
    package var cachesBytes: Int?

    /// The results of both, in this order.
    package static func + (left: CommitSummary, right: CommitSummary) -> CommitSummary {
        CommitSummary(
            results: left.results + right.results,
            evicted: left.evicted + right.evicted,
            cachesBytes: right.cachesBytes ?? left.cachesBytes
        )
    }
}

/// The rules for making room in a commit.
package struct RoomRules: Sendable {
    /// The limits of the work that commits.
    package var limits: Limits
    /// Only files last used before this time, in microseconds, may be evicted. Default: any.
    package var accessedBefore = Int64.max
    /// The files that must not be evicted. Default: none.
    package var protection = Protection.none

    /// Whether the new file is a rendition. It is kept within their share of the budget, and evicts only other renditions.
    /// Default: no.
    package var isRendition = false

    /// The files that must not be evicted.
    package enum Protection: Sendable {
        /// Any file may be evicted.
        case none
        /// The files to keep are not known yet: if something has to be evicted, `ProtectionNeeded` is thrown.
        case unknown
        /// These files, by row id, must not be evicted.
        case files(Set<Int64>)
        /// No file may be evicted.
        case everything
    }

    package init(_ limits: Limits) {
        self.limits = limits
    }

    /// Whether the file with this row id may be evicted, as far as `protection` tells.
    func allowsEviction(of file: Int64) -> Bool {
        switch protection {
        case .none, .unknown: true
        case .files(let files): !files.contains(file)
        case .everything: false
        }
    }
}

/// A file has to be evicted, and the caller must first name the files to keep. Nothing was changed.
package struct ProtectionNeeded: Error {}
