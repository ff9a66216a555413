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
