import AvatarCore
package import AvatarImages
import Crypto

/// Names of published files: `ab/cdef01-0123456789abcdef.png`.
///
/// Two hex digits of the digest as folder, six more of it, 64 random bits, and an ending that fits the type. None is
/// ever used twice.
package enum FilePath {
    /// A new name.
    package static func make(sha256: [UInt8], format: ImageFormat) -> String {
        let digest = Hexadecimal.text(sha256.prefix(4))
        return "\(digest.prefix(2))/\(digest.dropFirst(2))-\(Hexadecimal.random64()).\(format.fileExtension)"
    }

    /// The folder part of a published file's name.
    static func folder(of path: String) -> String {
        String(path[..<(path.utf8.firstIndex(of: UInt8(ascii: "/")) ?? path.endIndex)])
    }

    /// The first byte of the digests whose files lie in the folder `name`; `nil` for a name that `make` does not give.
    package static func digestByte(ofFolder name: String) -> UInt8? {
        guard name.utf8.count == 2, name.utf8.allSatisfy(isHexadecimal) else { return nil }
        return UInt8(name, radix: 16)
    }

    /// The name of the folder for digests that begin with `byte`.
    package static func folder(forDigestByte byte: UInt8) -> String {
        Hexadecimal.text([byte])
    }

    /// Whether `path` has the form of the names that `make` gives. No other path from an index is read, linked or unlinked.
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

    /// The first four bytes of the digest that `path`, which has the form of a published name, was made for.
    package static func digestPrefix(of path: String) -> [UInt8] {
        let digits = Array(path.utf8.filter { $0 != UInt8(ascii: "/") }.prefix(8))
        return stride(from: 0, to: digits.count, by: 2).compactMap { start in
            UInt8(String(decoding: digits[start..<min(start + 2, digits.count)], as: UTF8.self), radix: 16)
        }
    }

    /// Whether `path`, which has the form of a published name, was made for bytes with the digest `sha256`.
    package static func matches(_ path: String, sha256: [UInt8]) -> Bool {
        path.utf8.filter { $0 != UInt8(ascii: "/") }.starts(with: Hexadecimal.text(sha256.prefix(4)).utf8)
    }

    /// Whether `name` names something that lies in a folder itself.
    package static func isPlain(_ name: String) -> Bool {
        staysInside(name) && !name.utf8.contains(UInt8(ascii: "/"))
    }

    /// Whether `path` is relative and leads nowhere but down.
    package static func staysInside(_ path: String) -> Bool {
        let parts = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        return parts.allSatisfy { part in
            !part.isEmpty && !part.contains(0) && !part.elementsEqual(".".utf8) && !part.elementsEqual("..".utf8)
        }
    }

    static func isHexadecimal(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"): true
        default: false
        }
    }
}

extension Hexadecimal {
    /// 16 random digits, for names that are used once.
    package static func random64() -> String {
        let value = UInt64.random(in: .min ... .max)
        return text((0..<8).map { UInt8(truncatingIfNeeded: value >> (8 * UInt64($0))) })
    }
}

/// The digest that files are known by.
package enum ContentDigest {
    /// The SHA-256 of `bytes`.
    package static func sha256(_ bytes: [UInt8]) -> [UInt8] {
        Array(SHA256.hash(data: bytes))
    }
}
