public import AvatarCore
import AvatarIndex

/// A picture that the store takes for none, see `AvatarStore.ignore(digests:)`.
public struct IgnoredPicture: Hashable, Sendable {
    /// The SHA-256 of its bytes in hexadecimal digits.
    public var digest: String
    /// Since when it is ignored.
    public var since: Timestamp
    /// The entries whose origin gives it.
    public var entries: Int
    /// The contacts of these entries, counted once for each entry.
    public var contacts: Int
}

/// The entries and files that a change of the ignored pictures concerned, or would concern.
public struct IgnoreReport: Hashable, Sendable {
    /// The entries that lost their picture; with `unignore(digests:)`, those that are due again.
    public var entries = 0
    /// The contacts of these entries, counted once for each entry.
    public var contacts = 0
    /// The files that were removed.
    public var files = 0
    /// The bytes of those files.
    public var bytes = 0
    /// The digests that `unignore(digests:)` did not find among the ignored ones.
    public var unknown: [String] = []

    /// A report with these counts.
    package init(entries: Int = 0, contacts: Int = 0, files: Int = 0, bytes: Int = 0) {
        (self.entries, self.contacts, self.files, self.bytes) = (entries, contacts, files, bytes)
    }
}

extension IgnoreReport: CustomStringConvertible {
    /// The counts that are not 0, on one line. For logs: the text may change between versions.
    public var description: String {
        ReportText.counts([
            (entries, "entries"), (contacts, "contacts"), (files, "files removed"), (bytes, "bytes"),
            (unknown.count, "digests not ignored"),
        ])
    }
}

extension AvatarStore {
    /// Takes the pictures with these digests for none from now on, whichever key or host gives them: the silhouette that a
    /// service gives everybody who has no picture there.
    ///
    /// Entries that have such a picture lose it, the feed says `removed`, and their state is `ignored`. They are still
    /// revalidated: an unchanged picture costs one request without a body, and another picture is stored as usual. A sync
    /// of a list goes on to the next URL of the contact, then to the e-mail sources. Embedded photos with these bytes are
    /// left out, and imports refuse them. Own images (`name:…`) are not concerned.
    ///
    /// On return all of this is in the index and on disk. If it is interrupted, the next sync goes on.
    /// - Parameter digests: SHA-256 digests of 64 hexadecimal digits each. No entry needs to have one yet. A digest that is
    ///   ignored already is not an error.
    /// - Throws: `invalidKey` for a text that is not such a digest; `readOnly` in a store that is open for reading only; an
    ///   error of the index or the disk.
    @discardableResult
    public func ignore(digests: [String]) async throws -> IgnoreReport {
        let bytes = try digests.map(Self.bytes(of:))
        return try await requireWritable().writer.ignore(bytes, at: clock.now())
    }

    /// Takes the pictures with these digests for pictures again. Their entries are due at once, and the next sync fetches
    /// them; embedded photos come back with the next sync of their list.
    ///
    /// - Parameter digests: as `ignore(digests:)`. The report lists those that were not ignored.
    /// - Throws: as `ignore(digests:)`.
    @discardableResult
    public func unignore(digests: [String]) async throws -> IgnoreReport {
        let bytes = try digests.map(Self.bytes(of:))
        var (report, unknown) = try await requireWritable().writer.unignore(bytes, at: clock.now())
        report.unknown = unknown.map(Hexadecimal.text)
        return report
    }

    /// The report that `ignore(digests:)` would return. Changes nothing; possible in a store that is open for reading only.
    ///
    /// - Throws: `invalidKey` for a text that is not a digest; an error of the index.
    public func ignorePreview(digests: [String]) throws -> IgnoreReport {
        var report = IgnoreReport()
        for digest in try Set(digests.map(Self.bytes(of:))) { report.add(try index.partToIgnore(digest)) }
        return report
    }

    /// The report that `unignore(digests:)` would return. Changes nothing; possible in a store that is open for reading only.
    ///
    /// - Throws: `invalidKey` for a text that is not a digest; an error of the index.
    public func unignorePreview(digests: [String]) throws -> IgnoreReport {
        var report = IgnoreReport()
        for digest in try digests.map(Self.bytes(of:)) {
            guard let part = try index.ignoredPart(digest) else {
                report.unknown.append(Hexadecimal.text(digest))
                continue
            }
            report.add(part)
        }
        return report
    }

    /// The pictures that the store takes for none, in the order of their digests.
    ///
    /// - Throws: an error of the index.
    public func ignoredPictures() throws -> [IgnoredPicture] {
        try index.ignoredPictures().map { record in
            IgnoredPicture(
                digest: Hexadecimal.text(record.sha256),
                since: record.since,
                entries: record.entries,
                contacts: record.contacts
            )
        }
    }

    /// The digest that `text` stands for: itself, if it has 64 hexadecimal digits; else the only digest of a stored or an
    /// ignored picture that begins with it.
    ///
    /// - Parameter text: 8 to 64 hexadecimal digits of either case.
    /// - Throws: `invalidKey` for any other text, and if several digests begin with it; `noSuchEntry` if none does; an error
    ///   of the index.
    public func pictureDigest(matching text: String) throws -> String {
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
                "No stored picture has a digest that begins with \"\(text)\". `avatars show KEY` prints the digest of a "
                    + "picture; one that is not stored needs all 64 digits."
            )
        }
        guard found.count == 1 else {
            throw AvatarStoreError(
                .invalidKey,
                "The digests of several pictures begin with \"\(text)\". Give more of the 64 digits."
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
            "\"\(text.prefix(80))\" must be the SHA-256 of a picture: 64 hexadecimal digits, or the first 8 or more of a "
                + "stored one."
        )
    }

    /// The bytes that were passed in are those of an ignored picture.
    static func ignoredPicture(_ key: AvatarKey) -> AvatarStoreError {
        AvatarStoreError(.imageRefused, FetchFailure.ignored(key).message, failure: .ignored)
    }
}
