internal import AvatarCore
internal import AvatarDigest

/// The identity of a contact whose record has no id: a hash of its names, e-mail addresses, telephone numbers and such.
///
/// Other values do not count, nor does the order of the values, so a contact with a new image keeps its id. A contact
/// whose name, address or number changes gets a new id. Records with the same identity are told apart by their order
/// (`Namesakes`).
///
/// Stored ids depend on this hash, so no later version may compute it differently.
struct ContactIdentity {
    /// The first 128 bits of a SHA-256 hash.
    struct Digest: Hashable {
        let high: UInt64
        let low: UInt64
    }

    /// The differences in spelling that do not count.
    enum Spelling {
        case text, email, telephone
    }

    private var hash = SHA256()
    /// Whether nothing has been added yet.
    private var isEmpty = true

    /// Creates an identity without any values.
    init() {}

    /// Creates the identity of a record that has nothing usable but its images. Only the first image counts.
    init(of images: [ContactImage]) {
        for case .url(let url) in images.prefix(1) { add(Array(url.utf8)) }
        for case .photo(let photo) in images.prefix(1) { add(photo.bytes) }
    }

    /// Adds all values of one kind. Their order, duplicates and empty values do not count.
    ///
    /// - Parameters:
    ///   - values: The decoded values.
    ///   - kind: The kind, which is part of the hash, so that a nickname differs from the same text as a name.
    ///   - spelling: The spelling of the values.
    mutating func add(_ values: [String], of kind: String, spelledAs spelling: Spelling) {
        let plain = Set(values.map { Self.plain($0, spelling) }.filter { !$0.isEmpty }).sorted()
        guard !plain.isEmpty else { return }
        add(Array(kind.utf8))
        for value in plain { add(Array(value.utf8)) }
    }

    /// The hash of the values added; `nil` if nothing was added.
    var digest: Digest? {
        guard !isEmpty else { return nil }
        let bytes = hash.finalize()
        let word = { (bytes: ArraySlice<UInt8>) in bytes.reduce(0) { $0 << 8 | UInt64($1) } }
        return Digest(high: word(bytes[..<8]), low: word(bytes[8..<16]))
    }

    /// Hashes a value after its length, so that no two lists of values hash the same bytes.
    private mutating func add(_ bytes: [UInt8]) {
        isEmpty = false
        withUnsafeBytes(of: UInt64(bytes.count).littleEndian) { hash.update($0) }
        hash.update(bytes)
    }

    /// Removes the differences in spelling between programs: Unicode normalization, schemes, case and punctuation.
    private static func plain(_ value: String, _ spelling: Spelling) -> String {
        let value = value.composed
        switch spelling {
        case .email:
            return value.lowercased().replacing(/^mailto:/, with: "")
        case .telephone:
            // A `tel:` URI may end in parameters. Their letters and digits stay in: removing them would change stored ids.
            return value.lowercased().replacing(/^tel:/, with: "").filter { $0.isLetter || $0.isNumber || $0 == "+" }
        case .text:
            return value
        }
    }
}

/// Assigns ids to the records without one, so that no two of them become one contact.
///
/// The records are remembered for the whole read, across lists that are read as one.
struct Namesakes {
    /// The identities so far.
    private var seen = DigestSet()
    /// The number of records so far with each identity that occurred more than once.
    private var counts: [ContactIdentity.Digest: Int] = [:]

    /// Returns the id of the next record with the identity `digest`: `prefix` and 32 hexadecimal digits.
    ///
    /// From the second record with the same identity on, `-2`, `-3` and so on follow. The same list gives the same ids.
    mutating func id(of digest: ContactIdentity.Digest, prefix: String) -> String {
        var number = 1
        if !seen.insert(digest.high) {
            number = counts[digest, default: 1] + 1
            counts[digest] = number
        }
        let bytes = [digest.high, digest.low].flatMap { word in withUnsafeBytes(of: word.bigEndian, Array.init) }
        return prefix + Hexadecimal.text(bytes) + (number > 1 ? "-\(number)" : "")
    }
}

/// A set of hashes of 64 bits, at 10 to 13 bytes each: 13 MB for a million records without ids.
///
/// A `Set` takes up to 21 bytes for each, and three times that while it grows. Two of a million records have the same 64
/// bits with a probability of 1 to 37 million; the second one then gets the suffix `-2`.
struct DigestSet {
    /// The hashes, in a shard by their upper bits. Each shard grows for itself, so that no large table is copied.
    private var shards = [Shard](repeating: Shard(), count: 256)

    /// Adds a hash. Returns `false` if it was there.
    mutating func insert(_ hash: UInt64) -> Bool {
        // Zero marks a free slot, so the hash zero shares the entry of another one.
        shards[Int(hash >> 56)].insert(max(hash, 1))
    }

    /// A hash table with linear probing.
    private struct Shard {
        private var slots: [UInt64] = []
        private var count = 0

        mutating func insert(_ hash: UInt64) -> Bool {
            if count * 5 >= slots.count * 4 { grow() }
            let slot = Self.slot(for: hash, in: slots)
            guard slots[slot] == 0 else { return false }
            slots[slot] = hash
            count += 1
            return true
        }

        private mutating func grow() {
            var larger = [UInt64](repeating: 0, count: max(16, slots.count + slots.count / 4))
            for hash in slots where hash != 0 { larger[Self.slot(for: hash, in: larger)] = hash }
            slots = larger
        }

        /// The slot that holds `hash`, or the free one where it belongs.
        private static func slot(for hash: UInt64, in slots: [UInt64]) -> Int {
            // The upper 8 bits are the same in a shard.
            var slot = Int((hash << 8).multipliedFullWidth(by: UInt64(slots.count)).high)
            while slots[slot] != 0 && slots[slot] != hash {
                slot += 1
                if slot == slots.count { slot = 0 }
            }
            return slot
        }
    }
}
