extension StringProtocol where SubSequence == Substring, UTF8View: BidirectionalCollection {
    /// The text without spaces and tabs at its ends (OWS, RFC 9110 section 5.6.3).
    package var withoutBlanks: Substring {
        let isBlank = { (byte: UInt8) in byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        guard let start = utf8.firstIndex(where: { !isBlank($0) }),
            let last = utf8.lastIndex(where: { !isBlank($0) })
        else { return "" }
        return self[start..<utf8.index(after: last)]
    }
}
