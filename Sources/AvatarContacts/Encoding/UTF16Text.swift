/// Reads UTF-16 as bytes.
enum UTF16Text {
    /// Drops the byte order mark that `bytes` begin with, and says which one it was; `nil` if there is none.
    static func dropMark(of bytes: inout [UInt8]) -> Bool? {
        let isBigEndian = bytes.starts(with: [0xFE, 0xFF])
        guard isBigEndian || bytes.starts(with: [0xFF, 0xFE]) else { return nil }
        bytes.removeFirst(2)
        return isBigEndian
    }

    /// The same text as UTF-8, and the bytes at the end that begin a character of which more must come.
    static func utf8(
        of bytes: [UInt8],
        isBigEndian: Bool
    ) throws(ListIntakeFault) -> (text: [UInt8], rest: [UInt8]) {
        var units: [UInt16] = []
        units.reserveCapacity(bytes.count / 2)
        for index in stride(from: 0, to: bytes.count - 1, by: 2) {
            let (first, second) = (UInt16(bytes[index]), UInt16(bytes[index + 1]))
            units.append(isBigEndian ? first << 8 | second : second << 8 | first)
        }
        if let last = units.last, UTF16.isLeadSurrogate(last) { units.removeLast() }
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count)
        let isBroken = transcode(
            units.makeIterator(),
            from: UTF16.self,
            to: UTF8.self,
            stoppingOnError: true
        ) { text.append($0) }
        guard !isBroken else {
            throw ListIntakeFault(
                problem: "there are bytes that are not UTF-16",
                lineFeedsBefore: text.count { $0 == .lineFeed }
            )
        }
        return (text, Array(bytes[(units.count * 2)...]))
    }
}
