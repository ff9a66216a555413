/// The keys of the objects in a shared tier.
///
/// ```
/// bytes/DIGEST                     the bytes of an image
/// meta/URL/GENERATION              the record of an origin's answer for a URL, the newest one first
/// claims/URL/ANSWERED-ATTEMPT      the claim of one machine to ask the origin for the answer after ANSWERED
/// erased/URL/ERASURE-MACHINE       a tombstone that this machine has passed; MACHINE is all zeros in the tombstone itself
/// machines/MACHINE/DAY             a machine that used the tier on this day
/// ```
///
/// `URL` and `DIGEST` are SHA-256, in 64 hexadecimal digits. No key is the folder of another one, and the segments at one level
/// have one length, except the last one of `meta`, whose first 12 digits differ or mean the same.
package enum TierLayout {
    /// The prefix of all records.
    package static let records = "meta/"
    /// The prefix of all bytes.
    package static let allBytes = "bytes/"
    /// The prefix of all claims.
    package static let claims = "claims/"
    /// The prefix of all tombstones.
    package static let tombstones = "erased/"
    /// The prefix of all machines.
    package static let machines = "machines/"
    /// In place of a machine, the tombstone itself.
    package static let tombstoneName = String(repeating: "0", count: 32)

    /// The key of the bytes with the digest `sha256`.
    package static func bytes(_ sha256: [UInt8]) -> String { allBytes + Hexadecimal.text(sha256) }

    /// The prefix of the records of a URL.
    package static func records(of url: TierURL) -> String { "\(records)\(url.text)/" }

    /// The key of a record.
    package static func record(of url: TierURL, _ generation: TierGeneration) -> String {
        records(of: url) + generation.name
    }

    /// The key of the claim to ask for the answer after the one of `time`. Default of `time`: the claim to the first answer.
    package static func claim(of url: TierURL, after time: Timestamp?, attempt: Int) -> String {
        "\(claims)\(url.text)/\(TierNumber.text(time?.milliseconds ?? 0))-\(attempt)"
    }

    /// The prefix of the claims of a URL.
    package static func claims(of url: TierURL) -> String { "\(claims)\(url.text)/" }

    /// The key of the tombstone of an erasure.
    package static func tombstone(of url: TierURL, _ erasure: String) -> String {
        pass(of: url, erasure, by: tombstoneName)
    }

    /// The key that says that `machine` has passed the tombstone of an erasure.
    package static func pass(of url: TierURL, _ erasure: String, by machine: String) -> String {
        "\(tombstones)\(url.text)/\(erasure)-\(machine)"
    }

    /// The tombstone and the machine of `key`; `nil` for a key of another form. The machine of the tombstone itself is all zeros.
    package static func tombstone(_ key: String) -> (tombstone: TierTombstone, machine: String)? {
        guard let (url, name) = split(key, prefix: tombstones) else { return nil }
        let parts = name.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].utf8.count == 16, parts[1].utf8.count == 32 else { return nil }
        return (TierTombstone(url: url, name: String(parts[0])), String(parts[1]))
    }

    /// Whether `key` is that of a tombstone itself.
    package static func isTombstone(_ key: String) -> Bool { tombstone(key)?.machine == tombstoneName }

    /// The prefix of the objects of a machine.
    package static func objects(ofMachine name: String) -> String { "\(machines)\(name)/" }

    /// The key of a machine that used the tier on `day`, counted from 1970.
    package static func machine(_ name: String, day: Int64) -> String {
        let digits = String(max(0, day))
        return "\(objects(ofMachine: name))\(String(repeating: "0", count: max(0, 6 - digits.count)))\(digits)"
    }

    /// The machine and the day of `key`; `nil` for a key of another form.
    package static func machine(_ key: String) -> (name: String, day: Int64)? {
        let parts = key.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[1].utf8.count == 32, let day = Int64(parts[2]) else { return nil }
        return (String(parts[1]), day)
    }

    /// The URL and the generation of a record's key; `nil` for a key of another form.
    package static func record(_ key: String) -> (url: TierURL, generation: TierGeneration)? {
        split(key, prefix: records).flatMap { url, name in TierGeneration(name: name).map { (url, $0) } }
    }

    /// The URL and the rest of `key`, which begins with `prefix`; `nil` for a key of another form.
    package static func split(_ key: String, prefix: String) -> (url: TierURL, rest: Substring)? {
        guard key.hasPrefix(prefix) else { return nil }
        let parts = key.dropFirst(prefix.count).split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let url = TierURL(parts[0]) else { return nil }
        return (url, parts[1])
    }
}

/// One erasure of a URL.
package struct TierTombstone: Hashable, Sendable {
    /// The URL.
    package let url: TierURL
    /// The name of the erasure: 16 hexadecimal digits.
    package let name: String

    /// The tombstone of an erasure.
    package init(url: TierURL, name: String) {
        (self.url, self.name) = (url, name)
    }
}

/// A URL in the tier: its SHA-256, which tells no one the URL.
package struct TierURL: Hashable, Sendable {
    /// The digest, 32 bytes.
    package let sha256: [UInt8]

    /// A URL with the digest `sha256`, 32 bytes.
    package init(sha256: [UInt8]) {
        self.sha256 = sha256
    }

    /// Reads 64 hexadecimal digits in lower case; `nil` for another text.
    package init?(_ text: some StringProtocol) {
        guard text.utf8.count == 64, let bytes = Hexadecimal.bytes(String(text)), Hexadecimal.text(bytes) == text else {
            return nil
        }
        sha256 = bytes
    }

    /// The digest in 64 hexadecimal digits.
    package var text: String { Hexadecimal.text(sha256) }
}

/// One answer of an origin for a URL, as far as the key of its record tells.
package struct TierGeneration: Hashable, Sendable {
    /// The content of the answer.
    package enum Content: Hashable, Sendable {
        /// The image with this digest, 32 bytes.
        case image([UInt8])
        /// No image: the origin answered 404 or 410.
        case gone
    }

    /// The time of the answer, by the clock of the machine that got it.
    package let time: Timestamp
    /// The image is fresh before this time; without an image, the time of the next request.
    package let freshUntil: Timestamp
    /// The content of the answer.
    package let content: Content

    /// A generation with these values.
    package init(time: Timestamp, freshUntil: Timestamp, content: Content) {
        (self.time, self.freshUntil, self.content) = (time, freshUntil, content)
    }

    /// The last segment of the record's key: `TIME-FRESH-CONTENT`. The time is counted backwards, so that the newest record comes
    /// first in a listing.
    package var name: String {
        let last =
            switch content {
            case .image(let sha256): Hexadecimal.text(sha256)
            case .gone: Self.gone
            }
        return
            "\(TierNumber.text(TierNumber.limit - time.milliseconds))-\(TierNumber.text(freshUntil.milliseconds))-\(last)"
    }

    /// Reads the last segment of a record's key; `nil` for another form.
    package init?(name: some StringProtocol) {
        let parts = name.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 3, let backwards = TierNumber.value(parts[0]), let fresh = TierNumber.value(parts[1])
        else {
            return nil
        }
        time = Timestamp(milliseconds: TierNumber.limit - backwards)
        freshUntil = Timestamp(milliseconds: fresh)
        if let sha256 = TierURL(parts[2])?.sha256 {
            content = .image(sha256)
        } else if parts[2] == Self.gone {
            content = .gone
        } else {
            return nil
        }
    }

    /// The word for `Content.gone`.
    private static let gone = "gone"

    /// The digest of the image; `nil` without one.
    package var digest: [UInt8]? {
        if case .image(let sha256) = content { sha256 } else { nil }
    }

    /// Whether the answer still counts at `now`. One of a clock that runs ahead does not.
    package func isFresh(at now: Timestamp) -> Bool { freshUntil > now && !time.isAhead(of: now) }
}

/// The answer of the shared tier for an image, as far as it is known before a request to it. It is behind a reference, because a sync hands each target on
/// many times.
package indirect enum ListedAnswer: Hashable, Sendable {
    /// Nothing.
    case unknown
    /// The newest answer in the tier tells nothing new, or is stale; `nil`: the tier has none.
    case known(TierGeneration?)
    /// The newest answer in the tier is newer than the stored one, and fresh.
    case answer(TierGeneration)
}

/// Times in keys: 12 hexadecimal digits, enough until the year 10889.
private enum TierNumber {
    /// The greatest number.
    static let limit: Int64 = (1 << 48) - 1

    static func text(_ number: Int64) -> String {
        let digits = String(min(max(0, number), limit), radix: 16)
        return String(repeating: "0", count: 12 - digits.count) + digits
    }

    static func value(_ text: some StringProtocol) -> Int64? {
        guard text.utf8.count == 12, text.utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) })
        else {
            return nil
        }
        return Int64(text, radix: 16)
    }
}
