internal import AvatarCore

/// A line of a list, without its line end and the white space around it.
struct Line {
    /// The number of the line, counted from 1.
    let number: Int
    /// The bytes of the line, or the first of them if it is too long.
    let bytes: ArraySlice<UInt8>
    /// Whether the line is longer than the limit of its reader.
    let isTooLong: Bool
    /// The last byte that is not white space, even if the line is too long.
    let lastVisible: UInt8?
    /// Whether a line feed ends the line; `false` for a last line without one.
    let isEnded: Bool
}

/// Reads a list line by line. A line ends with LF or CR LF, and the last line may end with the list.
struct LineReader {
    private var cursor: ListCursor
    private let limit: Int

    /// Creates a reader for the list at `cursor`.
    ///
    /// - Parameters:
    ///   - cursor: The beginning of the list.
    ///   - limit: The number of bytes to keep of each line.
    init(cursor: ListCursor, limit: Int) {
        self.cursor = cursor
        self.limit = limit
    }

    /// Returns the next line that is not blank, or `nil` after the last one.
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

    /// Makes the error that the list is unreadable because of `problem` in `line`.
    func fault(_ problem: String, line: Int) -> AvatarStoreError {
        cursor.fault(problem, line: line)
    }
}
