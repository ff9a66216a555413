internal import AvatarCore

/// A position in the text of a list.
///
/// The cursor reads the list in chunks, has its intake check or convert each chunk, and hands out the text byte by byte.
struct ListCursor {
    /// The line of the next byte, counted from 1. Each line feed ends a line.
    private(set) var line = 1
    private let source: ListSource
    private var intake: any ListIntake
    /// The offset of the next chunk in the source, in bytes.
    private var offset = 0
    /// The text of the current chunk, as the intake returned it.
    private var chunk: [UInt8] = []
    /// The index of the next byte in the chunk.
    private var index = 0

    /// Creates a cursor at the beginning of a list.
    ///
    /// - Parameters:
    ///   - source: The bytes of the list.
    ///   - intake: Checks or converts the bytes. By default they must be UTF-8.
    init(source: ListSource, intake: any ListIntake = UTF8Intake()) {
        self.source = source
        self.intake = intake
    }

    /// The name of the list in messages.
    var name: String { source.name }

    /// Makes the error that the list is unreadable.
    ///
    /// - Parameters:
    ///   - problem: The problem as a sentence without its full stop.
    ///   - line: The line with the problem; `nil` for the line of the next byte.
    func fault(_ problem: String, line: Int? = nil) -> AvatarStoreError {
        .unreadableList(name, line: line ?? self.line, problem)
    }

    /// Returns the next byte without moving past it; `nil` at the end of the list.
    mutating func peek() throws(AvatarStoreError) -> UInt8? {
        try fill() ? chunk[index] : nil
    }

    /// Moves past the next byte. Call it only after `peek()` returned one.
    mutating func advance() {
        if chunk[index] == .lineFeed { line += 1 }
        index += 1
    }

    /// Moves to the first byte for which `stops` returns `true`.
    ///
    /// - Parameters:
    ///   - kept: Receives the bytes passed.
    ///   - stops: Decides by a byte and its line.
    /// - Returns: `false` if the list ended first.
    mutating func pass(
        keeping kept: inout HeldBytes,
        until stops: (_ byte: UInt8, _ line: Int) -> Bool
    ) throws(AvatarStoreError) -> Bool {
        while try fill() {
            let start = index
            while index < chunk.count {
                let byte = chunk[index]
                if stops(byte, line) {
                    kept.append(chunk[start..<index])
                    return true
                }
                if byte == .lineFeed { line += 1 }
                index += 1
            }
            kept.append(chunk[start...])
        }
        return false
    }

    // MARK: Chunks

    /// Reads the next chunk if the current one is used up. Returns `false` at the end of the list.
    private mutating func fill() throws(AvatarStoreError) -> Bool {
        while index == chunk.count {
            let bytes = try source.bytes(at: offset, count: ListFile.chunkBytes)
            guard !bytes.isEmpty else {
                guard !intake.holdsPartOfCharacter else {
                    throw fault("the list is cut short: it ends inside a character")
                }
                return false
            }
            offset += bytes.count
            do {
                chunk = try intake.text(of: bytes)
                index = 0
            } catch {
                throw fault(error.problem, line: line + error.lineFeedsBefore)
            }
        }
        return true
    }
}

/// The first bytes of a record, up to a limit. Bytes over the limit are noted and dropped, which bounds memory use.
struct HeldBytes {
    /// The bytes kept.
    private(set) var bytes: [UInt8] = []
    /// Whether bytes were dropped because of the limit.
    private(set) var isTooLong = false
    /// The last byte that is not white space, even if it was dropped; `nil` if all are.
    private(set) var lastVisible: UInt8?
    private let limit: Int

    /// Creates an empty buffer.
    ///
    /// - Parameter limit: The number of bytes to keep.
    init(limit: Int) {
        self.limit = limit
    }

    /// Appends bytes as far as the limit allows.
    mutating func append(_ more: ArraySlice<UInt8>) {
        lastVisible = more.last { !$0.isBlank } ?? lastVisible
        let fitting = more.prefix(limit - bytes.count)
        bytes.append(contentsOf: fitting)
        if fitting.count < more.count { isTooLong = true }
    }
}

/// Checks or converts the bytes of a list, chunk by chunk, before a splitter sees them.
protocol ListIntake {
    /// Returns the text in the next bytes of the list.
    ///
    /// An incomplete character at the end is held back until the next call.
    ///
    /// - Throws: `ListIntakeFault` if the bytes are not in the expected encoding.
    mutating func text(of bytes: ArraySlice<UInt8>) throws(ListIntakeFault) -> [UInt8]

    /// Whether an incomplete character is held back. At the end of the list it means that the list is cut short.
    var holdsPartOfCharacter: Bool { get }
}

/// The reason why bytes are not in the expected encoding.
struct ListIntakeFault: Error {
    /// The problem as a sentence without its full stop.
    let problem: String
    /// The number of line feeds before the fault in the bytes passed in, for the line in the message.
    var lineFeedsBefore = 0
}

/// Passes a list through that must be UTF-8, and rejects any other encoding.
struct UTF8Intake: ListIntake {
    /// Whether the first chunk has been checked for a byte order mark.
    private var hasBegun = false
    /// The first bytes of a character that continues in the next chunk.
    private var cutCharacter: [UInt8] = []
    /// The number of bytes in the earlier chunks.
    private var passed = 0

    var holdsPartOfCharacter: Bool { !cutCharacter.isEmpty }

    mutating func text(of bytes: ArraySlice<UInt8>) throws(ListIntakeFault) -> [UInt8] {
        var text = cutCharacter + bytes
        passed += bytes.count
        if !hasBegun { try passEncodingMark(of: &text) }
        let start = passed - text.count
        hasBegun = true
        let whole = text.count - UTF8Check.cutCharacterCount(atEndOf: text)
        cutCharacter = Array(text[whole...])
        text.removeSubrange(whole...)
        if let place = UTF8Check.fault(in: text) {
            // Older exports are in Latin-1 nearly always. The intake does not guess, because a wrong guess spoils names.
            throw ListIntakeFault(
                problem: "the text is not valid UTF-8: byte \(start + place + 1) of the list is "
                    + "0x\(String(text[place], radix: 16, uppercase: true)). Convert the list with "
                    + "`iconv -f LATIN1 -t UTF-8`, or save it as UTF-8",
                lineFeedsBefore: text[..<place].count { $0 == .lineFeed }
            )
        }
        return text
    }

    /// Drops the byte order mark of UTF-8, and rejects text that begins like UTF-16 or UTF-32.
    private func passEncodingMark(of text: inout [UInt8]) throws(ListIntakeFault) {
        let isWide = text.starts(with: [0xFF, 0xFE]) || text.starts(with: [0xFE, 0xFF]) || text.prefix(2).contains(0)
        guard !isWide else {
            throw ListIntakeFault(problem: "the list is UTF-16, UTF-32 or binary data; save it as UTF-8")
        }
        if text.starts(with: UTF8Check.mark) { text.removeFirst(UTF8Check.mark.count) }
    }
}

/// Checks chunks of bytes against UTF-8 (RFC 3629).
enum UTF8Check {
    /// The byte order mark, which some programs write in front of UTF-8 text.
    static let mark: [UInt8] = [0xEF, 0xBB, 0xBF]

    /// The number of bytes at the end that begin a character without completing it, 0 to 3.
    fileprivate static func cutCharacterCount(atEndOf bytes: [UInt8]) -> Int {
        for (index, byte) in bytes.suffix(3).reversed().enumerated() where byte & 0b1100_0000 != 0b1000_0000 {
            let needed =
                switch byte {
                case 0b1100_0000..<0b1110_0000: 2
                case 0b1110_0000..<0b1111_0000: 3
                case 0b1111_0000..<0b1111_1000: 4
                default: 1
                }
            return needed > index + 1 ? index + 1 : 0
        }
        return 0
    }

    /// The index of the first byte that does not begin or continue a character; `nil` if all do.
    fileprivate static func fault(in bytes: [UInt8]) -> Int? {
        guard String(validating: bytes, as: UTF8.self) == nil else { return nil }
        var parser = Unicode.UTF8.ForwardParser()
        var rest = bytes.makeIterator()
        var count = 0
        while case .valid(let scalar) = parser.parseScalar(from: &rest) {
            count += scalar.count
        }
        return count < bytes.count ? count : nil
    }
}
