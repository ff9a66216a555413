/// The rules for keys of a `SharedTier`, which hold on all known engines.
package enum SharedTierKey {
    /// Whether `key` has 1 to 512 bytes of `a` to `z`, `0` to `9`, `-`, `.` and `/`, in segments of 1 to 200 bytes that are not
    /// `.` or `..`.
    package static func isValid(_ key: String) -> Bool {
        (1...512).contains(key.utf8.count)
            && key.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).allSatisfy(isSegment)
    }

    private static func isSegment(_ segment: Substring.UTF8View) -> Bool {
        (1...200).contains(segment.count) && !segment.elementsEqual(".".utf8) && !segment.elementsEqual("..".utf8)
            && segment.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
                    UInt8(ascii: "."):
                    true
                default: false
                }
            }
    }
}
