import AvatarCore
import AvatarFiles
import AvatarIndex
import AvatarProviders
import AvatarWriter
public import AvatarStore

/// Something that is in the store, or in its shared tier, although a receipt says that it was erased.
public struct ErasureRemnant: Hashable, Sendable {
    /// The kinds of remnants. The raw value is the word in JSON.
    public enum Kind: String, Sendable, CaseIterable {
        /// The contact: by name, by a link to an image, or by a digest of its e-mail address.
        case contact
        /// A card of an address book with the contact.
        case card
        /// A change in the feed.
        case change
        /// An entry, or an interrupted download.
        case entry
        /// The bytes of an image, under another key, or in a file that the index does not know.
        case image
        /// An object in the shared tier, or an erasure that still waits for it.
        case tier
    }

    /// The kind.
    public var kind: Kind
    /// A sentence without its period that tells where it is. URLs in it have no query.
    public var place: String

    init(_ kind: Kind, _ place: String) {
        (self.kind, self.place) = (kind, place)
    }
}

extension AvatarStore {
    /// Looks for what `receipt` says was erased: in the index, in the folders of the files, and in the shared tier. Reads all keys.
    ///
    /// A contact list that still has the contact brings it back, and another contact may get an image with the same bytes: both count.
    ///
    /// - Returns: what was found; empty if nothing of it is left.
    /// - Throws: an error of the index or the disk; `SharedTierError`; `CancellationError`.
    public func remnants(of receipt: ErasureReceipt) async throws -> [ErasureRemnant] {
        let check = RemnantCheck(parts.index, parts.roots, receipt)
        return try check.contact() + check.entries() + check.images() + check.waitingErasures()
            + (await check.tier(configuration.sharedTier))
    }
}

/// The search for what a receipt names.
private struct RemnantCheck {
    private let index: AvatarIndex
    private let roots: StoredRoots
    private let receipt: ErasureReceipt
    private let keys: Set<String>

    private static let pageSize = 4096

    init(_ index: AvatarIndex, _ roots: StoredRoots, _ receipt: ErasureReceipt) {
        (self.index, self.roots, self.receipt) = (index, roots, receipt)
        keys = Set(receipt.keys)
    }

    private func isErased(_ key: AvatarKey) -> Bool {
        !keys.isEmpty && keys.contains(ErasedContact.hash(key.rawValue, salt: receipt.salt))
    }

    // MARK: The index

    func contact() throws -> [ErasureRemnant] {
        guard let id = receipt.id else { return [] }
        var found: [ErasureRemnant] = []
        let traces = try index.traces(ofContact: id)
        if traces.isKnown { found.append(ErasureRemnant(.contact, "the index has the contact")) }
        if traces.links > 0 {
            let images = traces.links == 1 ? "1 image" : "\(traces.links) images"
            found.append(ErasureRemnant(.contact, "the contact uses \(images)"))
        }
        if traces.changes > 0 {
            found.append(ErasureRemnant(.change, "\(traces.changes) changes of the feed name the contact"))
        }
        for source in try index.sources() {
            let count = try cards(of: source, with: id)
            guard count > 0 else { continue }
            found.append(ErasureRemnant(.card, "\(count) cards of \(AvatarKey.redact(source.name)) have the contact"))
        }
        return found
    }

    private func cards(of source: SourceRecord, with id: String) throws -> Int {
        var count = 0
        for book in try index.books(of: source.id) {
            var last = ""
            while true {
                let page = try index.cards(in: book.id, after: last, limit: Self.pageSize)
                guard let end = page.last else { break }
                last = end.path
                count += page.count { card in card.contactIDs.contains(id) }
            }
        }
        return count
    }

    func entries() throws -> [ErasureRemnant] {
        guard !keys.isEmpty else { return [] }
        var found: [ErasureRemnant] = []
        var last: Int64 = 0
        while true {
            let page = try index.keys(after: last, limit: Self.pageSize)
            guard let end = page.last else { break }
            last = end.id
            for entry in page where isErased(entry.key) {
                found.append(ErasureRemnant(.entry, "the store has the entry \(entry.key)"))
            }
        }
        for record in try index.partialDownloads() where isErased(record.key) {
            found.append(ErasureRemnant(.entry, "the store has an interrupted download of \(record.key)"))
        }
        for key in try index.changedKeys() where isErased(key) {
            found.append(ErasureRemnant(.change, "a change of the feed names \(key)"))
        }
        return found
    }

    // MARK: Files

    func images() throws -> [ErasureRemnant] {
        var found: [ErasureRemnant] = []
        for text in receipt.images {
            guard let digest = Hexadecimal.bytes(text), let first = digest.first else { continue }
            let keys = try index.keys(withDigest: digest)
            for key in keys { found.append(ErasureRemnant(.image, "\(key) has the bytes \(text.prefix(16))…")) }
            guard keys.isEmpty else { continue }
            for storageClass in StorageClass.allCases {
                let folder = FilePath.folder(forDigestByte: first)
                let names = try roots.files(of: storageClass).names(inFolder: folder) ?? []
                for name in names where FilePath.matches("\(folder)/\(name)", sha256: digest) {
                    guard try roots.files(of: storageClass).digest(of: "\(folder)/\(name)") == digest else { continue }
                    found.append(
                        ErasureRemnant(.image, "the file \(storageClass.rawValue)/\(folder)/\(name) has its bytes")
                    )
                }
            }
        }
        return found
    }

    // MARK: The shared tier

    private var urls: [TierURL] { receipt.tierURLs.compactMap { TierURL($0) } }

    func waitingErasures() throws -> [ErasureRemnant] {
        let urls = Set(urls)
        return try index.tierErasures().filter { $0.deleted == nil && urls.contains($0.url) }.map { _ in
            ErasureRemnant(.tier, "an erasure waits for the shared tier")
        }
    }

    func tier(_ tier: (any SharedTier)?) async throws -> [ErasureRemnant] {
        guard !receipt.tierURLs.isEmpty else { return [] }
        guard let tier else { return [ErasureRemnant(.tier, "the shared tier was not looked at: none is configured")] }
        var found: [ErasureRemnant] = []
        for url in urls {
            for prefix in [TierLayout.records(of: url), TierLayout.claims(of: url)] {
                for key in try await Self.keys(prefix, in: tier) {
                    found.append(ErasureRemnant(.tier, "the shared tier has the object \(key)"))
                }
            }
        }
        var bytes: Set<String> = []
        for digest in receipt.images.compactMap({ Hexadecimal.bytes($0) }) {
            bytes.formUnion(try await Self.keys(TierLayout.bytes(digest), in: tier))
        }
        guard !bytes.isEmpty else { return found }
        // Bytes that another image of the tier has too stay.
        for key in try await Self.keys(TierLayout.records, in: tier) {
            guard let name = TierLayout.split(key, prefix: TierLayout.records)?.rest,
                let digest = TierGeneration(name: name)?.digest
            else { continue }
            bytes.remove(TierLayout.bytes(digest))
        }
        return found + bytes.sorted().map { ErasureRemnant(.tier, "the shared tier has the object \($0)") }
    }

    private static func keys(_ prefix: String, in tier: any SharedTier) async throws -> [String] {
        var keys: [String] = []
        try await SharedTierCheck(tier).forEachKey(prefix) { keys.append($0) }
        return keys
    }
}
