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
    /// The ids so far, without prefixes and numbers; `nil` before the first, because most cards of an address book have an id, and
    /// each makes a list of its own.
    private var seen: FingerprintSet?
    /// The number of records so far with each identity that occurred more than once.
    private var counts: [ContactIdentity.Digest: Int] = [:]

    /// Returns the id of the next record with the identity `digest`: `prefix` and 32 hexadecimal digits.
    ///
    /// From the second record with the same identity on, `-2`, `-3` and so on follow. The same list gives the same ids,
    /// but for a collision in one of 18 million lists of a million records.
    mutating func id(of digest: ContactIdentity.Digest, prefix: String) -> String {
        let bytes = [digest.high, digest.low].flatMap { word in withUnsafeBytes(of: word.bigEndian, Array.init) }
        let text = Hexadecimal.text(bytes)
        if seen == nil { seen = FingerprintSet() }
        var number = 1
        if seen?.insert(text) == false {
            number = counts[digest, default: 1] + 1
            counts[digest] = number
        }
        return prefix + text + (number > 1 ? "-\(number)" : "")
    }
}
