internal import AvatarCore

/// A place in the text of a list, which is read a chunk at a time and looked at by `intake` before anyone sees it.
struct ListCursor {
    static let chunkBytes = 65_536

    /// The line of the next byte, counted from 1; a line ends after its line feed.
    private(set) var line = 1
    private let source: ListSource
    private var intake: any ListIntake
    /// Where in the source the next chunk begins.
    private var offset = 0
    private var chunk: [UInt8] = []
    /// The next byte's place in the chunk.
    private var index = 0

    /// The beginning of the list in `source`.
    init(source: ListSource, intake: any ListIntake = UTF8Intake()) {
        self.source = source
        self.intake = intake
    }

    /// What messages call the list.
    var name: String { source.name }

    /// The error that the list cannot be read because of `problem` in `line`, or in the line of the next byte.
    func fault(_ problem: String, line: Int? = nil) -> AvatarStoreError {
        .unreadableList(name, line: line ?? self.line, problem)
    }

    /// The next byte, which stays the next one; `nil` at the end.
    mutating func peek() throws(AvatarStoreError) -> UInt8? {
        try fill() ? chunk[index] : nil
    }

    /// Moves past the byte that `peek()` gave.
    mutating func advance() {
        if chunk[index] == .lineFeed { line += 1 }
        index += 1
    }

    /// Moves to the first byte that `stops`, given with its line, says yes to, and keeps the bytes passed.
    ///
    /// - Returns: Whether there was such a byte before the list's end.
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

    /// Reads the next chunk if this one is used up; false at the end of the list.
    private mutating func fill() throws(AvatarStoreError) -> Bool {
        while index == chunk.count {
            let bytes = try source.bytes(at: offset, count: Self.chunkBytes)
            guard !bytes.isEmpty else {
                guard !intake.holdsPartOfCharacter else {
                    throw fault("the list is cut short: it ends in the middle of a character")
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

/// The bytes of one record, up to a limit: what goes beyond is counted as too much and not kept.
struct HeldBytes {
    private(set) var bytes: [UInt8] = []
    /// Whether there were more bytes than the limit; `bytes` then holds the first of them.
    private(set) var isTooLong = false
    /// The last byte that is not blank, kept or not.
    private(set) var lastVisible: UInt8?
    private let limit: Int

    /// No bytes, with room for `limit`.
    init(limit: Int) {
        self.limit = limit
    }

    mutating func append(_ more: ArraySlice<UInt8>) {
        lastVisible = more.last { !$0.isBlank } ?? lastVisible
        let fitting = more.prefix(limit - bytes.count)
        bytes.append(contentsOf: fitting)
        if fitting.count < more.count { isTooLong = true }
    }
}

/// Turns the bytes of a list, a chunk at a time, into the text that its reader sees.
protocol ListIntake {
    /// The text that the next bytes of the list hold. The beginning of a character that needs more bytes is kept for
    /// the next call.
    mutating func text(of bytes: ArraySlice<UInt8>) throws(ListIntakeFault) -> [UInt8]

    /// Whether the beginning of a character is kept: at the end of the list, it was cut short.
    var holdsPartOfCharacter: Bool { get }
}

/// Why bytes are not the text that was expected.
struct ListIntakeFault: Error {
    let problem: String
    /// How many line feeds come before the fault in the bytes that were to be turned into text.
    var lineFeedsBefore = 0
}

/// Takes a list that must be UTF-8, and proves it before anyone sees the text.
struct UTF8Intake: ListIntake {
    private var hasBegun = false
    /// The beginning of a character that the end of a chunk cut in two.
    private var cutCharacter: [UInt8] = []

    var holdsPartOfCharacter: Bool { !cutCharacter.isEmpty }

    mutating func text(of bytes: ArraySlice<UInt8>) throws(ListIntakeFault) -> [UInt8] {
        var text = cutCharacter + bytes
        if !hasBegun { try passEncodingMark(of: &text) }
        hasBegun = true
        let whole = text.count - UTF8Check.cutCharacterCount(atEndOf: text)
        cutCharacter = Array(text[whole...])
        text.removeSubrange(whole...)
        if let lineFeeds = UTF8Check.lineFeedsBeforeFault(in: text) {
            throw ListIntakeFault(
                problem: "there are bytes that are not UTF-8; UTF-8 text was expected",
                lineFeedsBefore: lineFeeds
            )
        }
        return text
    }

    /// Drops the mark of UTF-8, and refuses what begins as UTF-16 or UTF-32 does.
    private func passEncodingMark(of text: inout [UInt8]) throws(ListIntakeFault) {
        let isWide = text.starts(with: [0xFF, 0xFE]) || text.starts(with: [0xFE, 0xFF]) || text.prefix(2).contains(0)
        guard !isWide else {
            throw ListIntakeFault(problem: "the list is UTF-16 or UTF-32, or no text at all; UTF-8 was expected")
        }
        if text.starts(with: UTF8Check.mark) { text.removeFirst(UTF8Check.mark.count) }
    }
}

/// Proves that chunks of bytes are UTF-8 (RFC 3629).
enum UTF8Check {
    /// What some programs put in front of UTF-8 text.
    static let mark: [UInt8] = [0xEF, 0xBB, 0xBF]

    /// How many bytes at the end of `bytes` begin a character that needs more bytes than there are.
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

    /// The number of line feeds before the first byte that is not UTF-8; `nil` if all are.
    fileprivate static func lineFeedsBeforeFault(in bytes: [UInt8]) -> Int? {
        guard String(validating: bytes, as: UTF8.self) == nil else { return nil }
        var parser = Unicode.UTF8.ForwardParser()
        var rest = bytes.makeIterator()
        var count = 0
        while case .valid(let scalar) = parser.parseScalar(from: &rest) {
            if scalar.first == .lineFeed { count += 1 }
        }
        return count
    }
}
