import AvatarMaintenance
import AvatarStore

/// The result for one image: the line that `fetch` and `save` print.
struct ImageResult: Sendable {
    /// The outcome, with the raw values of the JSON field.
    enum Outcome: String {
        /// The image comes from the store; no request was sent, or none succeeded.
        case stored
        /// The image comes from its origin.
        case fetched
        /// The image comes from the store; its origin confirmed it.
        case notModified
        /// There is no image.
        case failed
    }

    /// The image's key; without one, the redacted URL.
    var key: String
    /// Where the image comes from; `failed` without one.
    var outcome: Outcome
    /// Whether the image is past its freshness lifetime.
    var isStale = false
    /// Whether the image is in the store now; `nil` if there is no image.
    var isStored: Bool?
    /// The absolute path of the image's file; `nil` if it has none.
    var localFile: String?
    /// The size of the image in bytes.
    var sizeBytes: Int?
    /// The media type of the recognised format, whatever the server said; `nil` if there is no image.
    var mediaType: String?
    /// The width in pixels.
    var width: Int?
    /// The height in pixels.
    var height: Int?
    /// Why there is no image, or why a stale one was given; `nil` if nothing failed.
    var kind: FailureKind?
    /// The same as a sentence.
    var message: String?
    /// The message with advice that names commands and options; `nil` unless the outcome is `failed`.
    private var messageWithAdvice: String?

    /// The result of a read that gave `image`.
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

    /// The result of saving an image.
    init(_ saved: AvatarDetails) {
        key = saved.overview.key.rawValue
        outcome = .stored
        isStored = true
        localFile = saved.localFile
        sizeBytes = saved.overview.sizeBytes
        mediaType = saved.mediaType
        width = saved.width
        height = saved.height
    }

    /// The result where `error` left no image for `key`.
    init(_ key: String, failed error: AvatarStoreError) {
        self.key = key
        outcome = .failed
        kind = error.failure ?? (error.code == .unsupportedURL ? .unsupportedURL : .storage)
        message = error.message
        messageWithAdvice = error.messageWithAdvice
    }

    /// Whether the image comes from `host`, a name and a port.
    func isOf(_ host: String) -> Bool {
        do throws(AvatarStoreError) {
            return try AvatarKey(parsing: key).host?.description == host
        } catch {
            return false
        }
    }

    /// The fields as `--json` prints them.
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

    /// The cells of the result in `table`.
    var row: [Table.Cell] {
        let pixels = width.flatMap { width in height.map { "\(width)×\($0)" } }
        return [
            Table.Cell(words, colour), Table.Cell(sizeBytes.map(Wording.size) ?? "–"), Table.Cell(pixels ?? "–"),
            Table.Cell(key),
        ]
    }

    /// The outcome in words.
    private var words: String {
        switch outcome {
        case .failed: kind?.rawValue ?? "failed"
        case .notModified: "not modified"
        case .stored where isStale: "stale"
        case .fetched where isStored == false: "not stored"
        case .stored, .fetched: outcome.rawValue
        }
    }

    /// The colour of the outcome on a terminal.
    private var colour: Colour? {
        switch outcome {
        case .failed: .red
        case .stored where isStale, .fetched where isStored == false: .magenta
        default: .green
        }
    }

    /// Prints on standard error why there is no image, or why a stored one was used in its place.
    func report() {
        guard let message else { return }
        if outcome == .failed {
            Message.error(messageWithAdvice ?? message)
        } else {
            Message.warning("\(message) The stored copy is used.")
        }
    }

    /// A note that the image was not stored, and why; `nil` if it was stored or there is no image.
    var refusalNote: String? {
        guard isStored == false else { return nil }
        return "\(AvatarKey.redact(key)) was fetched but not stored: \(Self.refusalReason)"
    }

    /// The reason why `--strict` does not store an image.
    static let refusalReason =
        "the origin forbids storing (for example with Cache-Control: no-store), and --strict obeys it"
}
