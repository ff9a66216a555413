/// The parts of a file that show its image, as a parser finds them. Everything else is metadata.
///
/// A check only notes whether there is anything else. To take the metadata out, the parser runs with a recorder, which
/// keeps the parts.
struct ImageParts {
    /// A piece of the file without metadata.
    enum Part: Sendable {
        /// Bytes of the original, by their offsets.
        case source(Range<Int64>)
        /// Bytes that take the place of others, such as a block with the orientation alone.
        case bytes([UInt8])

        /// The length of the piece.
        var byteCount: Int64 {
            switch self {
            case .source(let range): Int64(range.count)
            case .bytes(let bytes): Int64(bytes.count)
            }
        }
    }

    /// The maximum number of pieces. Real images have a few dozen; the limit bounds memory for hostile files.
    static let maximumParts = 16_384

    /// Whether the file holds anything but these parts.
    private(set) var hasMetadata = false
    /// The parts in the order of the file, adjacent ones joined; empty unless they are recorded.
    private(set) var list: [Part] = []
    /// Whether the file has more parts than are recorded.
    private(set) var isTooLong = false
    /// Whether the parts are recorded.
    private let isRecording: Bool

    /// Notes only whether there is metadata.
    static let noting = ImageParts(isRecording: false)
    /// Records the parts.
    static let recording = ImageParts(isRecording: true)

    private init(isRecording: Bool) {
        self.isRecording = isRecording
    }

    /// The bytes in `range` show the image.
    mutating func keep(_ range: Range<Int64>) {
        guard isRecording, !range.isEmpty else { return }
        if case .source(let last) = list.last, last.upperBound == range.lowerBound {
            list[list.count - 1] = .source(last.lowerBound..<range.upperBound)
        } else {
            append(.source(range))
        }
    }

    /// Bytes that the parser passed over are metadata.
    mutating func omit() {
        hasMetadata = true
    }

    /// Bytes that the parser passed over are metadata, except what `bytes` say.
    mutating func replace(by bytes: [UInt8]) {
        hasMetadata = true
        put(bytes)
    }

    /// Adds `bytes`, which the file lacks or says in other words.
    mutating func put(_ bytes: [UInt8]) {
        if isRecording { append(.bytes(bytes)) }
    }

    /// Puts `bytes` before all parts: a header that depends on them.
    mutating func setHeader(_ bytes: [UInt8]) {
        if isRecording { list.insert(.bytes(bytes), at: 0) }
    }

    /// The length of all parts.
    var byteCount: Int64 { list.reduce(0) { $0 + $1.byteCount } }

    private mutating func append(_ part: Part) {
        guard list.count < Self.maximumParts else {
            isTooLong = true
            return
        }
        list.append(part)
    }
}

/// A parser of a format from which metadata can be taken without decoding a pixel.
protocol ImagePartsParser: ImageParser {
    /// The parts found by `pixelSize()`.
    var parts: ImageParts { get set }
}

extension ImagePartsParser {
    var hasMetadata: Bool { parts.hasMetadata }
}
