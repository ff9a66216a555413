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
