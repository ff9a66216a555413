internal import AvatarCore

/// Reads a list of vCards line by line. A line ends with CR LF, LF or CR; some programs write CR CR LF.
struct CardLineReader {
    private var cursor: ListCursor
    private let limit: Int
    /// How many lines were read.
    private var count = 0
    /// How many empty lines come next: carriage returns that were read already.
    private var emptyLines = 0
    /// Lines that were read already, the next one first.
    private var waiting: [CardLine] = []

    /// Reads what lies behind `cursor` and keeps up to `limit` bytes of each line.
    init(cursor: ListCursor, limit: Int) {
        self.cursor = cursor
        self.limit = limit
    }

    /// The next line, or the one `distance` lines after it; all of them stay. `nil` if the list ends before.
    mutating func peek(_ distance: Int = 0) throws(AvatarStoreError) -> CardLine? {
        while waiting.count <= distance {
            guard let line = try read() else { return nil }
            waiting.append(line)
        }
        return waiting[distance]
    }

    /// The next line; `nil` after the last one.
    mutating func next() throws(AvatarStoreError) -> CardLine? {
        waiting.isEmpty ? try read() : waiting.removeFirst()
    }

    /// Makes `line`, the latest one, the next one again.
    mutating func putBack(_ line: CardLine) {
        waiting.insert(line, at: 0)
    }

    /// The error that the list cannot be read because of `problem` in `line`, or in the line that was read last.
    func fault(_ problem: String, line: Int? = nil) -> AvatarStoreError {
        cursor.fault(problem, line: line ?? max(count, 1))
    }

    private mutating func read() throws(AvatarStoreError) -> CardLine? {
        if emptyLines > 0 {
            emptyLines -= 1
            count += 1
            return CardLine(number: count, bytes: [], isTooLong: false, isEnded: true)
        }
        guard try cursor.peek() != nil else { return nil }
        count += 1
        var held = HeldBytes(limit: limit)
        let isEnded = try cursor.pass(keeping: &held) { byte, _ in byte == .lineFeed || byte == .carriageReturn }
        if isEnded { try passLineEnd() }
        // Files that were joined have the mark of UTF-8 in their midst.
        let isMarked = held.bytes.starts(with: UTF8Check.mark)
        let bytes = isMarked ? Array(held.bytes.dropFirst(UTF8Check.mark.count)) : held.bytes
        return CardLine(number: count, bytes: bytes, isTooLong: held.isTooLong, isEnded: isEnded)
    }

    private mutating func passLineEnd() throws(AvatarStoreError) {
        var returns = 0
        while try cursor.peek() == .carriageReturn {
            cursor.advance()
            returns += 1
        }
        if try cursor.peek() == .lineFeed {
            cursor.advance()
        } else {
            emptyLines = returns - 1
        }
    }
}
