internal import AvatarCore

/// One line of a list, without its end.
struct Line {
    /// Counted from 1.
    let number: Int
    /// The line's bytes without blanks around them, or the first of them if the line is too long.
    let bytes: ArraySlice<UInt8>
    /// Whether the line is longer than what is kept of a line.
    let isTooLong: Bool
    /// The last byte that is not blank, also of a line that is too long.
    let lastVisible: UInt8?
    /// Whether a line feed ends the line, and not the end of the list.
    let isEnded: Bool
}

/// Reads a list line by line; a line ends with LF or CR LF, the last one also with the list.
struct LineReader {
    private var cursor: ListCursor
    private let limit: Int

    /// Reads what lies behind `cursor` and keeps up to `limit` bytes of each line.
    init(cursor: ListCursor, limit: Int) {
        self.cursor = cursor
        self.limit = limit
    }

    /// The next line that is not blank; `nil` after the last one.
    mutating func next() throws(AvatarStoreError) -> Line? {
        while try cursor.peek() != nil {
            let number = cursor.line
            var held = HeldBytes(limit: limit)
            let isEnded = try cursor.pass(keeping: &held) { byte, _ in byte == .lineFeed }
            if isEnded { cursor.advance() }
            guard held.lastVisible != nil else { continue }
            return Line(
                number: number,
                bytes: held.bytes.trimmed,
                isTooLong: held.isTooLong,
                lastVisible: held.lastVisible,
                isEnded: isEnded
            )
        }
        return nil
    }

    /// The error that the list cannot be read because of `problem` in `line`.
    func fault(_ problem: String, line: Int) -> AvatarStoreError {
        cursor.fault(problem, line: line)
    }
}
