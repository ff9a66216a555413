import Foundation

/// A small SQLite database of another program: `PRAGMA page_size = 512; CREATE TABLE song(title TEXT)`.
enum ForeignDatabase {
    static var bytes: [UInt8]? {
        let zeros = String(repeating: "A", count: 100)
        let text =
            "U1FMaXRlIGZvcm1hdCAzAAIAAQEAQCAgAAAAAQAAAAIAAAAAAAAAAAAAAAEAAAAEAAAAAAAAAAAAAAABAAAAAAAAAAAAAAAAAAAA"
            + "AAAAAAAAAAAAAAAAAAAAAAAAAAABAC5jAQ0AAAABAc0AAc0AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
            + String(repeating: zeros, count: 4)
            + "AAAAAAAAAAAAAAAxAQYXFRUBR3RhYmxlc29uZ3NvbmcCQ1JFQVRFIFRBQkxFIHNvbmcodGl0bGUgVEVYVCkNAAAAAAIAAAAAAAAA"
            + String(repeating: zeros, count: 6) + String(repeating: "A", count: 66) + "=="
        return Data(base64Encoded: text).map(Array.init)
    }
}
