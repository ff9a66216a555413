public import AvatarCore
import AvatarIndex
public import AvatarReports
public import AvatarStore
import AvatarWriter

/// An ignored image; see `AvatarStore.ignore(digests:dryRun:)`.
public struct IgnoredImage: Hashable, Sendable {
    /// The SHA-256 of its bytes, 64 lower-case hexadecimal digits.
    public var digest: String
    /// The time since which it is ignored.
    public var since: Timestamp
    /// The number of entries whose origin sends it.
    public var entries: Int
    /// The number of their contacts, each counted once per entry.
    public var contacts: Int
}

extension AvatarStore {
    /// Ignores the images with these digests, at any key and from any host. Use it for the default image that a service
    /// sends for contacts without one.
    ///
    /// Entries lose an ignored image, the feed reports `removed`, and their state is `ignored`. They are still revalidated:
    /// an unchanged image costs one response without a body, and another image is stored as usual. A sync of a list tries
    /// the contact's next URL, then the e-mail sources. Embedded photos with these bytes are left out, and imports refuse
    /// them. Own images (`name:…`) are not affected.
    ///
    /// On return all changes are in the index and on disk. If the call is interrupted, the next sync continues it.
    /// - Parameter digests: SHA-256 digests of 64 hexadecimal digits each. The store may have no image with such a digest
    ///   yet. A digest that is ignored already is not an error.
    /// - Parameter dryRun: changes nothing and returns the same report; possible in a store that is open for reading only.
    ///   Default: no.
    /// - Returns: the numbers of entries, contacts and files that lost an image.
    /// - Throws: `invalidKey` for a text that is not such a digest; `readOnly` in a store that is open for reading only; an
    ///   error of the index or the disk.
    @discardableResult
    public func ignore(digests: [String], dryRun: Bool = false) async throws -> IgnoreReport {
        let bytes = try digests.map(Self.bytes(of:))
        if dryRun { return try loss(ignoring: bytes) }
        return try await requireWritable().writer.ignore(bytes, at: clock.now())
    }

    /// Stops ignoring the images with these digests. Their entries are due at once, and the next sync fetches them. The next
    /// sync of a list restores its embedded photos.
    ///
    /// - Parameter digests: as `ignore(digests:dryRun:)`.
    /// - Parameter dryRun: changes nothing and returns the same report; possible in a store that is open for reading only.
    ///   Default: no.
    /// - Returns: the numbers of entries and contacts that are due again, and the digests that were not ignored.
    /// - Throws: as `ignore(digests:dryRun:)`.
    @discardableResult
    public func unignore(digests: [String], dryRun: Bool = false) async throws -> IgnoreReport {
        var named: Set<[UInt8]> = []
        let bytes = try digests.map(Self.bytes(of:)).filter { named.insert($0).inserted }
        if dryRun { return try gain(ofNoLongerIgnoring: bytes) }
        var (report, unknown) = try await requireWritable().writer.unignore(bytes, at: clock.now())
        report.unknown = unknown.map(Hexadecimal.text)
        return report
    }

    /// The report that `ignore(digests:dryRun:)` would return.
    private func loss(ignoring digests: [[UInt8]]) throws -> IgnoreReport {
        var report = IgnoreReport()
        for digest in Set(digests) { report.add(try index.partToIgnore(digest)) }
        return report
    }

    /// The report that `unignore(digests:dryRun:)` would return.
    private func gain(ofNoLongerIgnoring digests: [[UInt8]]) throws -> IgnoreReport {
        var report = IgnoreReport()
        for digest in digests {
            guard let part = try index.ignoredPart(digest) else {
                report.unknown.append(Hexadecimal.text(digest))
                continue
            }
            report.add(part)
        }
        return report
    }

    /// The ignored images, in the order of their digests.
    ///
    /// - Throws: an error of the index.
    public func ignoredImages() throws -> [IgnoredImage] {
        try index.ignoredImages().map { record in
            IgnoredImage(
                digest: Hexadecimal.text(record.sha256),
                since: record.since,
                entries: record.entries,
                contacts: record.contacts
            )
        }
    }

    /// Completes a digest: returns the only digest of a stored or ignored image that begins with `text`. A text of 64 digits
    /// is returned in lower case, even if the store has no such image.
    ///
    /// - Parameter text: 8 to 64 hexadecimal digits of either case.
    /// - Throws: `invalidKey` for any other text, and if several digests begin with it; `noSuchEntry` if no digest does; an
    ///   error of the index.
    public func imageDigest(matching text: String) throws -> String {
        let isHexadecimal = text.utf8.allSatisfy { Hexadecimal.value(of: $0) != nil }
        guard isHexadecimal, (8...64).contains(text.utf8.count) else { throw AvatarStoreError.notADigest(text) }
        func padded(_ digit: String) throws -> [UInt8] {
            try Self.bytes(of: text + String(repeating: digit, count: 64 - text.utf8.count))
        }
        if text.utf8.count == 64 { return Hexadecimal.text(try Self.bytes(of: text)) }
        let found = try index.digests(from: padded("0"), through: padded("f"), limit: 2)
        guard let digest = found.first else {
            throw AvatarStoreError(
                .noSuchEntry,
                "No stored or ignored image has a digest that begins with \"\(text)\". `avatars show KEY` prints the digest "
                    + "of an image. For an image that is not stored, pass all 64 digits."
            )
        }
        guard found.count == 1 else {
            throw AvatarStoreError(
                .invalidKey,
                "The digests of several images begin with \"\(text)\". Pass more of the 64 digits."
            )
        }
        return Hexadecimal.text(digest)
    }

    /// The bytes of a digest in 64 hexadecimal digits.
    ///
    /// - Throws: `invalidKey` for any other text.
    private static func bytes(of digest: String) throws(AvatarStoreError) -> [UInt8] {
        guard let bytes = Hexadecimal.bytes(digest), bytes.count == 32 else { throw .notADigest(digest) }
        return bytes
    }
}

extension IgnoreReport {
    fileprivate mutating func add(_ part: IgnoredPart) {
        entries += part.entries
        contacts += part.contacts
        files += part.files
        bytes += part.bytes
    }
}

extension AvatarStoreError {
    fileprivate static func notADigest(_ text: String) -> AvatarStoreError {
        AvatarStoreError(
            .invalidKey,
            "\"\(text.prefix(80))\" must be the SHA-256 of an image: 64 hexadecimal digits. For a stored image the first 8 "
                + "or more digits suffice."
        )
    }
}
