import AvatarCore
import AvatarDigest
package import AvatarImages
import CAvatarSystem

/// Names of published files: `ab/cdef01-0123456789abcdef.png`.
///
/// The folder is the first two hex digits of the SHA-256. The name is the next six digits, 64 random bits and the
/// extension of the image format. A name is never used twice.
package enum FilePath {
    /// Makes a new name, relative to the root.
    ///
    /// - Parameters:
    ///   - sha256: The digest of the bytes; the first four bytes are used.
    ///   - format: Decides the extension.
    ///   - words: Gives the random bits.
    package static func make(sha256: [UInt8], format: ImageFormat, _ words: inout RandomWords) -> String {
        var name: [UInt8] = []
        name.reserveCapacity(32)
        for (place, byte) in sha256.prefix(4).enumerated() {
            if place == 1 { name.append(UInt8(ascii: "/")) }
            Hexadecimal.append(byte, to: &name)
        }
        name.append(UInt8(ascii: "-"))
        let word = words.next()
        for shift in stride(from: 0, to: UInt64.bitWidth, by: 8) {
            Hexadecimal.append(UInt8(truncatingIfNeeded: word >> UInt64(shift)), to: &name)
        }
        name.append(UInt8(ascii: "."))
        name += format.fileExtension.utf8
        return String(decoding: name, as: UTF8.self)
    }

    /// The folder of a published file: `path` up to its first slash.
    static func folder(of path: String) -> String {
        String(path[..<(path.utf8.firstIndex(of: UInt8(ascii: "/")) ?? path.endIndex)])
    }

    /// The name of a published file in its folder: `path` behind its first slash.
    static func name(of path: String) -> String {
        path.utf8.firstIndex(of: UInt8(ascii: "/")).map { String(path[path.utf8.index(after: $0)...]) } ?? path
    }

    /// The first digest byte of the files in the folder `name`; `nil` if `name` is not two lowercase hex digits.
    package static func digestByte(ofFolder name: String) -> UInt8? {
        guard name.utf8.count == 2, name.utf8.allSatisfy(isHexadecimal) else { return nil }
        return UInt8(name, radix: 16)
    }

    /// The name of the folder for digests that begin with `byte`.
    package static func folder(forDigestByte byte: UInt8) -> String {
        Hexadecimal.text([byte])
    }

    /// Whether `path` has the form of `make`'s names. The store reads, links and unlinks no other path of an index, because
    /// an index may come from elsewhere.
    package static func isPublishedName(_ path: String) -> Bool {
        var path = path
        return path.withUTF8 { name in
            guard name.count > 27, name[2] == UInt8(ascii: "/"), name[9] == UInt8(ascii: "-"),
                name[26] == UInt8(ascii: ".")
            else { return false }
            return name[..<2].allSatisfy(isHexadecimal) && name[3..<9].allSatisfy(isHexadecimal)
                && name[10..<26].allSatisfy(isHexadecimal)
                && name[27...].allSatisfy { $0 > 0x20 && $0 != UInt8(ascii: "/") }
        }
    }

    /// The first four bytes of the digest in a published name.
    package static func digestPrefix(of path: String) -> [UInt8] {
        let digits = Array(path.utf8.filter { $0 != UInt8(ascii: "/") }.prefix(8))
        return stride(from: 0, to: digits.count, by: 2).compactMap { start in
            UInt8(String(decoding: digits[start..<min(start + 2, digits.count)], as: UTF8.self), radix: 16)
        }
    }

    /// Whether a published name was made for bytes with the digest `sha256`.
    package static func matches(_ path: String, sha256: [UInt8]) -> Bool {
        path.utf8.filter { $0 != UInt8(ascii: "/") }.starts(with: Hexadecimal.text(sha256.prefix(4)).utf8)
    }

    /// Whether `name` is a single path component, other than `.` and `..`.
    package static func isPlain(_ name: String) -> Bool {
        staysInside(name) && !name.utf8.contains(UInt8(ascii: "/"))
    }

    /// Whether `path` is relative and has no empty, `.` or `..` component.
    package static func staysInside(_ path: String) -> Bool {
        var path = path
        return path.withUTF8 { bytes in
            var start = 0
            for end in 0...bytes.count where end == bytes.count || bytes[end] == UInt8(ascii: "/") {
                let part = bytes[start..<end]
                // No part longer than `..` consists of dots only.
                guard !part.isEmpty, part.count > 2 || !part.allSatisfy({ $0 == UInt8(ascii: ".") }), !part.contains(0)
                else { return false }
                start = end + 1
            }
            return true
        }
    }

    /// Whether `byte` is a lowercase hex digit.
    static func isHexadecimal(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"): true
        default: false
        }
    }
}

extension Hexadecimal {
    /// 16 random hex digits, for names that must be unique.
    package static func random64() -> String {
        let value = UInt64.random(in: .min ... .max)
        return String(unsafeUninitializedCapacity: 16) { digits in
            for place in 0..<16 { digits[place] = digit(UInt8(truncatingIfNeeded: value >> (4 * UInt64(place))) & 15) }
            return 16
        }
    }
}

/// Random words, for the names of a batch and for jitter. They are read from the system several at a time, because each
/// read is a system call.
package struct RandomWords: ~Copyable {
    /// The words that are left.
    private var words: [UInt64] = []
    /// The most words read at once, in a call that the system never interrupts.
    private static let most = 32

    /// Reads nothing yet.
    package init() {}

    /// The next word.
    package mutating func next() -> UInt64 {
        if let word = words.popLast() { return word }
        words = [UInt64](repeating: 0, count: Self.most)
        let isFilled = words.withUnsafeMutableBytes { avatar_random_bytes($0.baseAddress, $0.count) == 0 }
        guard isFilled, let word = words.popLast() else {
            words = []
            return .random(in: .min ... .max)
        }
        return word
    }
}

/// The digest that identifies a file's bytes.
package enum ContentDigest {
    /// The SHA-256 of `bytes`: 32 bytes.
    package static func sha256(_ bytes: [UInt8]) -> [UInt8] {
        SHA256.hash(bytes)
    }
}
