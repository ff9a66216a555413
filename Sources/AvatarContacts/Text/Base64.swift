internal import AvatarCore

/// Decodes base64 (RFC 4648 section 4) as found in vCards: broken into lines anywhere, with or without padding.
enum Base64 {
    /// Whether `byte` is a base64 digit or padding.
    static func uses(_ byte: UInt8) -> Bool {
        let meaning = meanings[Int(byte)]
        return meaning < 64 || meaning == padding
    }

    /// Decodes `text`, skipping white space.
    ///
    /// - Throws: `DecodingFault` if the text has a byte that is not base64, digits after padding, or one digit too many.
    static func bytes(of text: ArraySlice<UInt8>) throws(DecodingFault) -> [UInt8] {
        let meanings = meanings
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count / 4 * 3 + 3)
        var group: UInt32 = 0
        var digits = 0
        var isPadded = false
        for byte in text {
            let meaning = meanings[Int(byte)]
            guard meaning < 64 else {
                guard meaning != foreign else {
                    throw DecodingFault(problem: "is not base64: it contains \(byte.spelling)")
                }
                if meaning == padding { isPadded = true }
                continue
            }
            guard !isPadded else { throw DecodingFault(problem: "is not base64: it continues after its padding") }
            group = group << 6 | UInt32(meaning)
            digits += 1
            guard digits == 4 else { continue }
            bytes.append(UInt8(truncatingIfNeeded: group >> 16))
            bytes.append(UInt8(truncatingIfNeeded: group >> 8))
            bytes.append(UInt8(truncatingIfNeeded: group))
            digits = 0
        }
        switch digits {
        case 0: break
        case 2: bytes.append(UInt8(truncatingIfNeeded: group >> 4))
        case 3:
            bytes.append(UInt8(truncatingIfNeeded: group >> 10))
            bytes.append(UInt8(truncatingIfNeeded: group >> 2))
        default: throw DecodingFault(problem: "is base64 that is cut short: one digit is left over")
        }
        return bytes
    }

    /// The meaning of each byte: the value of a digit from 0 to 63, or one of the three constants below.
    private static let meanings: [UInt8] = {
        var meanings = [UInt8](repeating: foreign, count: 256)
        let digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8
        for (value, digit) in digits.enumerated() { meanings[Int(digit)] = UInt8(value) }
        meanings[Int(UInt8.equals)] = padding
        for byte in UInt8.min...UInt8.max where byte.isBlank { meanings[Int(byte)] = blank }
        return meanings
    }()
    private static let padding: UInt8 = 64
    private static let blank: UInt8 = 65
    private static let foreign: UInt8 = 66
}

/// The reason why an encoded value cannot be decoded.
struct DecodingFault: Error {
    /// The predicate of a sentence whose subject is the value, such as `is not base64`.
    let problem: String
}

extension ContactImage {
    /// The image in a field of a JSON or CSV list: at a URL, or embedded as a `data:` URL (RFC 2397); `nil` for one without data.
    ///
    /// - Parameters:
    ///   - text: The text of the field, which is not blank.
    ///   - line: The line in which the record begins.
    static func listed(_ text: String, line: Int) -> ContactImage? {
        let uri = Array(text.utf8)[...].trimmed
        guard uri.prefix(5).spells("DATA:") else { return .url(text) }
        do throws(DecodingFault) {
            let bytes = try DataURI.bytes(of: uri)
            return bytes.isEmpty ? nil : .photo(ContactPhoto(bytes: bytes, line: line))
        } catch {
            return .unreadable(UnreadableContactImage(number: 1, line: line, reason: "the image \(error.problem)"))
        }
    }
}

/// Decodes `data:` URIs (RFC 2397).
enum DataURI {
    /// Decodes the data of a URI, which may be empty.
    ///
    /// - Parameter uri: A URI that begins with `data:`.
    /// - Throws: `DecodingFault` if the comma before the data is missing, or the data is not valid percent-encoding or base64.
    static func bytes(of uri: ArraySlice<UInt8>) throws(DecodingFault) -> [UInt8] {
        guard let comma = uri.firstIndex(of: .comma) else {
            throw DecodingFault(problem: "is a `data:` URI without a comma before its data")
        }
        guard let data = PercentEncoding.decode(uri[(comma + 1)...]) else {
            throw DecodingFault(problem: "is a `data:` URI with a `%` without two hexadecimal digits")
        }
        // `base64` is the last parameter. White space around it is a common mistake.
        guard let mark = uri[..<comma].lastIndex(of: .semicolon),
            uri[(mark + 1)..<comma].trimmed.spells("BASE64")
        else { return data }
        return try Base64.bytes(of: data[...])
    }
}
