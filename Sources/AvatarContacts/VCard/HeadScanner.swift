/// Finds where a property's name and parameters end and its value begins, however many lines they are folded over.
struct HeadScanner {
    /// The most bytes of a name with its parameters.
    static let maximumBytes = 65_536

    /// What was taken of the name and parameters; all of it once the value has begun.
    private(set) var head: ArraySlice<UInt8> = []
    /// The beginning of the value: the rest of the line that was taken last; `nil` as long as no colon was met.
    private(set) var value: ArraySlice<UInt8>?
    private var isInQuotes = false

    /// Whether the next line belongs to the head too, if it is folded.
    var isOpen: Bool { value == nil && !isTooLong }

    /// Whether there is more than a head may have.
    var isTooLong: Bool { head.count > Self.maximumBytes }

    /// Takes the next line, without the blank that folds it.
    mutating func take(_ line: ArraySlice<UInt8>) {
        let colon = line.firstIndex { byte in
            if byte == .quote { isInQuotes.toggle() }
            return byte == .colon && !isInQuotes
        }
        let part = line[..<(colon ?? line.endIndex)].prefix(Self.maximumBytes + 1)
        // Nearly all heads are one line, of which no copy is needed.
        if head.isEmpty { head = part } else { head += part }
        value = colon.map { line[($0 + 1)...] }
    }

    /// Says that no line follows. If a quote was opened and never closed, it is a character like any other.
    mutating func finish() {
        guard isOpen, let colon = head.firstIndex(of: .colon) else { return }
        value = head[(colon + 1)...]
        head = head[..<colon]
    }
}
