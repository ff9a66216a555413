import AvatarStore

/// What came of one image: the line that `fetch` and `save` print.
struct ImageResult: Sendable {
    /// What came of it.
    enum Outcome: String {
        /// It is in the store; no request was answered.
        case stored
        /// It came from its origin.
        case fetched
        /// It is in the store, and its origin said that it did not change.
        case notModified
        /// There is none.
        case failed
    }

    var key: String
    var outcome: Outcome
    var isStale = false
    /// Whether the image is in the store now; `nil` if there is no image.
    var isStored: Bool?
    var localFile: String?
    var sizeBytes: Int?
    var mediaType: String?
    var width: Int?
    var height: Int?
    var kind: FailureKind?
    var message: String?
    /// The message with what a person at a shell can do about it.
    private var spokenMessage: String?

    /// A read gave an image.
    init(_ image: AvatarFile) {
        key = image.key.rawValue
        outcome =
            switch image.source {
            case .store: .stored
            case .origin: .fetched
            case .revalidated: .notModified
            }
        isStale = image.isStale
        isStored = image.storageClass != nil
        localFile = image.localFile
        sizeBytes = image.sizeBytes
        mediaType = image.mediaType
        width = image.width
        height = image.height
        kind = image.failure
        message = image.failureMessage
    }

    /// An image was saved.
    init(_ saved: AvatarDetails) {
        key = saved.overview.key
        outcome = .stored
        isStored = true
        localFile = saved.localFile
        sizeBytes = saved.overview.sizeBytes
        mediaType = saved.mediaType
        width = saved.width
        height = saved.height
    }

    /// There is no image of `key`.
    init(_ key: String, failed error: AvatarStoreError) {
        self.key = key
        outcome = .failed
        kind = error.failure ?? (error.code == .unsupportedURL ? .unsupportedURL : .storage)
        message = error.message
        spokenMessage = error.messageWithAdvice
    }

    var json: JSON {
        .object([
            "key": JSON(key),
            "outcome": JSON(outcome.rawValue),
            "stale": JSON(isStale),
            "stored": JSON(isStored),
            "localFile": JSON(localFile),
            "sizeBytes": JSON(sizeBytes),
            "mediaType": JSON(mediaType),
            "width": JSON(width),
            "height": JSON(height),
            "kind": JSON(kind?.rawValue),
            "message": JSON(message),
        ])
    }

    /// The columns of `row`.
    static let table = Table(.left("OUTCOME", 16), .right("SIZE", 8), .left("PIXELS", 9), .left("KEY"))

    var row: [Table.Cell] {
        let pixels = width.flatMap { width in height.map { "\(width)×\($0)" } }
        return [
            Table.Cell(words, colour), Table.Cell(sizeBytes.map(Wording.size) ?? "–"), Table.Cell(pixels ?? "–"),
            Table.Cell(key),
        ]
    }

    private var words: String {
        switch outcome {
        case .failed: kind?.rawValue ?? "failed"
        case .notModified: "not modified"
        case .stored where isStale: "stale"
        case .fetched where isStored == false: "not stored"
        case .stored, .fetched: outcome.rawValue
        }
    }

    private var colour: Colour? {
        switch outcome {
        case .failed: .red
        case .stored where isStale, .fetched where isStored == false: .magenta
        default: .green
        }
    }

    /// Says on standard error why there is no image, or no new one.
    func report() {
        guard let message else { return }
        if outcome == .failed {
            Message.error(spokenMessage ?? message)
        } else {
            Message.warning("\(message) What is stored is given.")
        }
    }

    /// Says why an image that was to be stored is not in the store; `nil` if it is there, or there is no image.
    var refusalNote: String? {
        guard isStored == false else { return nil }
        return "\(AvatarKey.redact(key)) was fetched but not stored: \(Self.refusalReason)"
    }

    /// Why `--strict` does not store an image.
    static let refusalReason =
        "the origin forbids storing (for example by Cache-Control: no-store), and --strict obeys"
}
