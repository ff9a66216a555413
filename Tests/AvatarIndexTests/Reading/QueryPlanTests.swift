import AvatarCore
import AvatarReports
import AvatarSQLite
import Testing

@testable import AvatarIndex

/// No hot statement walks a table or sorts: what it costs must not grow with the store.
@Suite(.timeLimit(.minutes(5))) struct QueryPlanTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// The indexes that the query plan must use.
        let indexes: [String]
        /// Whether it sorts what it found: the few rows of one contact or one file.
        let sorts: Bool
        /// The tables that it walks because they have few rows, and the constant row.
        let walks: [String]
        /// Whether it walks and sorts the renditions, whose number is bounded by their part of the budget.
        let walksRenditions: Bool
        let run: @Sendable (AvatarIndex) throws -> Void

        init(
            _ testDescription: String,
            _ indexes: String...,
            sorts: Bool = false,
            walks: [String] = [],
            walksRenditions: Bool = false,
            run: @escaping @Sendable (AvatarIndex) throws -> Void
        ) {
            self.testDescription = testDescription
            self.indexes = indexes
            self.sorts = sorts || walksRenditions
            self.walks = walks
            self.walksRenditions = walksRenditions
            self.run = run
        }
    }

    private static let key = AvatarKey.stored("https://example.com/a.png")
    private static let now = Timestamp(milliseconds: 1000)

    static let reads = [
        Case("hit", "sqlite_autoindex_avatar_1 (key=?)", "file USING INTEGER PRIMARY KEY") { _ = try $0.hit(for: key) },
        Case(
            "rendition",
            "sqlite_autoindex_avatar_1 (key=?)",
            "rendition USING PRIMARY KEY (original_id=? AND spec=?)",
            "undecodable USING INTEGER PRIMARY KEY"
        ) { index in
            _ = try index.hit(for: key, rendition: "png 32 inside", of: 1)
            _ = try index.undecodable(1)
        },
        Case("entry", "sqlite_autoindex_avatar_1 (key=?)", "file USING INTEGER PRIMARY KEY") {
            _ = try $0.entry(for: key)
        },
        Case(
            "basis of a fetch",
            "sqlite_autoindex_avatar_1 (key=?)",
            "partial_download USING PRIMARY KEY (key=?)",
            "sqlite_autoindex_host_1 (name=?)",
            walks: ["CONSTANT ROW", "(subquery-2)"]
        ) {
            _ = try $0.fetchBasis(of: nil, for: key, host: "example.com:443")
        },
        Case("entries", "sqlite_autoindex_avatar_1 (key=?)") { _ = try $0.entries(for: [key]) },
        Case("overview", "sqlite_autoindex_avatar_1 (key=?)", "owner_by_avatar (avatar_id=?)") {
            _ = try $0.overview(of: key)
        },
        Case("contacts", "contact_by_name ((sort_name,contact)>(?,?) AND sort_name<?)") {
            _ = try $0.contacts(StoredContactQuery(beginning: "a", limit: 10, after: "1 zzoe"))
        },
        Case(
            "contacts by words",
            "contact_by_name ((sort_name,contact)>(?,?) AND sort_name<?)",
            "contact_word USING PRIMARY KEY ((words,contact)>(?,?) AND words<?)",
            "contact USING PRIMARY KEY (contact=?)",
            "contact_by_name (sort_name>? AND sort_name<?)",
            "contact_word USING PRIMARY KEY (words>? AND words<?)"
        ) { index in
            var query = StoredContactQuery(
                beginning: "anna x",
                words: ["anna", "x"],
                namePart: "a",
                isWithoutImage: true,
                limit: 1
            )
            _ = try index.contacts(query)
            // The parts for contacts without a name.
            query.after = "w1 1 xanna"
            _ = try index.contacts(query)
        },
        Case(
            "contacts without an image",
            "contact_by_name ((sort_name,contact)>(?,?) AND sort_name<?)",
            "owner USING PRIMARY KEY (contact=?)",
            "avatar USING INTEGER PRIMARY KEY"
        ) { _ = try $0.contacts(StoredContactQuery(namePart: "a", isWithoutImage: true)) },
        Case("contact", "contact USING PRIMARY KEY (contact=?)", "owner USING PRIMARY KEY (contact=?)", sorts: true) {
            _ = try $0.contact("anna")
        },
        Case("picture of a contact", "owner USING PRIMARY KEY (contact=?)") {
            _ = try $0.image(of: "anna")
        },
        Case(
            "picture by address",
            "contact_address USING PRIMARY KEY (digest=?)",
            "owner USING PRIMARY KEY (contact=?)",
            sorts: true
        ) { _ = try $0.image(withAddress: Array(repeating: 1, count: 16)) },
        Case("contacts to record", "contact_address USING COVERING INDEX contact_address_by_contact (contact=?)") {
            index in
            try index.write { try $0.record(ListedContact(id: "anna", name: nil), sortName: nil) }
            _ = try index.unrecorded([ListedContact(id: "anna", name: nil, addresses: [[1]])])
        },
        Case("picture by digest", "sqlite_autoindex_file_1 (storage_class=? AND sha256=?)", sorts: true) {
            _ = try $0.image(withDigest: [])
        },
        Case("ignored picture", "ignored_picture USING PRIMARY KEY (sha256=?)") { _ = try $0.isIgnored([]) },
        Case("due hosts", "host_by_next_check (next_check_ms<?)") { _ = try $0.dueHosts(at: now) },
        Case("due entries", "avatar_due (host_id=? AND next_check_ms>? AND next_check_ms<?)") { index in
            var walks = [DueWalk(over: DueHost(id: 1, name: "example.com:443", health: HostHealth()))]
            _ = try index.dueEntries(of: &walks, at: now, limit: 10)
        },
        Case("due count", "avatar_due (host_id=? AND next_check_ms>? AND next_check_ms<?)") { index in
            _ = try index.dueCount(
                of: DueWalk(over: DueHost(id: 1, name: "example.com:443", health: HostHealth())),
                at: now
            )
        },
        Case("fetchable entries", "avatar USING INTEGER PRIMARY KEY (rowid>?)") {
            _ = try $0.fetchableEntries(after: 0, limit: 10)
        },
        Case("unlinked", "owner USING PRIMARY KEY (contact=?)", "avatar USING INTEGER PRIMARY KEY") {
            _ = try $0.unlinked([(contact: "anna", avatarID: 1)])
        },
        Case("photos of contacts", "owner USING PRIMARY KEY (contact=?)", "avatar USING INTEGER PRIMARY KEY") {
            _ = try $0.photoKeys(of: ["anna"])
        },
        Case(
            "eviction candidates",
            "eviction_queue USING PRIMARY KEY ((last_access_us,file_id)>(?,?)",
            walksRenditions: true
        ) { index in
            try index.write { try $0.forEachEvictionCandidate(accessedBefore: .max) { _ in false } }
            try index.forEachEvictionCandidate { _ in false }
        },
        Case("keys of a file", "avatar_by_file (file_id=?)", sorts: true) { _ = try $0.keys(usingFile: 1) },
        Case(
            "changes",
            "content_change USING INTEGER PRIMARY KEY (rowid>?)",
            "owner USING PRIMARY KEY (sequence>? AND sequence<?)",
            "contact USING PRIMARY KEY (contact=?)"
        ) { _ = try $0.changes(since: 0, limit: 10) },
        Case("images of a contact", "owner USING PRIMARY KEY (contact=?)", sorts: true) {
            _ = try $0.imageKeys(of: "anna")
        },
        Case("contacts of an image", "sqlite_autoindex_avatar_1 (key=?)", "owner_by_avatar (avatar_id=?)") {
            _ = try $0.contacts(using: key)
        },
        Case("page of contacts", "owner USING PRIMARY KEY (contact>?)") { _ = try $0.contacts(after: "a", limit: 10) },
        Case("total", "total USING INTEGER PRIMARY KEY", walks: ["pending_batch", "pending_file", "pending"]) {
            _ = try $0.total(of: .caches)
        },
        Case("next page by key", "sqlite_autoindex_avatar_1 (key>?)") { index in
            var query = AvatarListQuery()
            query.after = "a"
            _ = try index.list(query)
        },
        Case("page of a contact", "owner USING PRIMARY KEY (contact=?)", sorts: true) { index in
            var query = AvatarListQuery()
            query.contact = "anna"
            query.after = "a"
            _ = try index.list(query)
        },
    ]

    static let writes = [
        Case(
            "contact",
            "contact USING PRIMARY KEY (contact=?)",
            "contact_address USING COVERING INDEX contact_address_by_contact (contact=?)"
        ) { index in
            try index.write { transaction in
                let digest = [UInt8](repeating: 1, count: 16)
                try transaction.record(ListedContact(id: "anna", name: nil, addresses: [digest]), sortName: nil)
                _ = try transaction.addresses(of: "anna")
                try transaction.removeContact("anna")
            }
        },
        Case("words of a contact", "contact_word USING PRIMARY KEY (words=? AND contact=?)") { index in
            try index.write { transaction in
                for name in ["Anna Berg", "Anna Stein"] {
                    try transaction.record(ListedContact(id: "anna", name: name), sortName: name.lowercased())
                }
                try transaction.removeContact("anna")
            }
        },
        Case("forgotten addresses", "contact_address USING PRIMARY KEY ((digest,contact)<(?,?))") { index in
            try index.write { transaction in
                let digest = [UInt8](repeating: 1, count: 16)
                try transaction.record(ListedContact(id: "anna", name: nil, addresses: [digest]), sortName: nil)
                _ = try transaction.forgetAddresses(limit: 10)
            }
        },
        Case("state of an entry", "sqlite_autoindex_avatar_1 (key=?)") { index in
            _ = try index.write { try $0.state(of: key) }
        },
        Case("file with a digest", "sqlite_autoindex_file_1 (storage_class=? AND sha256=?)") { index in
            _ = try index.write { try $0.file(withDigest: FileRecord.sampleDigest(1), in: .caches) }
        },
        Case(
            "eviction candidates",
            "eviction_queue USING PRIMARY KEY ((last_access_us,file_id)>(?,?)",
            walksRenditions: true
        ) { index in
            try index.write { transaction in
                try transaction.forEachEvictionCandidate(accessedBefore: .min) { _ in false }
            }
        },
        Case("touch", "access USING INTEGER PRIMARY KEY") { index in
            try index.write { try $0.touch(fileID: 1, microseconds: 1) }
        },
        Case("retirement", "avatar_by_file (file_id=?)", "file USING INTEGER PRIMARY KEY") { index in
            try index.write { transaction in
                let file = try transaction.addFile(1)
                _ = try transaction.retireFileIfUnused(id: transaction.addFile(2), holder: "me")
                _ = try transaction.retireFile(id: file, absence: .evicted, holder: "me")
            }
        },
        Case("eviction", "avatar_by_file (file_id=?)", "file USING INTEGER PRIMARY KEY") { index in
            try index.write { transaction in
                _ = try transaction.retireFiles(ids: [transaction.addFile(1)], absence: .evicted, holder: "me")
            }
        },
        Case(
            "renditions of an original",
            "rendition USING PRIMARY KEY (original_id=?)",
            "rendition USING COVERING INDEX rendition_by_file (file_id=?)"
        ) { index in
            try index.write { transaction in
                let file = try transaction.addFile(1)
                try transaction.insertRendition("png 32 inside", of: file, file: transaction.addFile(2))
                try transaction.setThumbHash([1, 2, 3, 4, 5], ofFile: file)
                try transaction.noteUndecodable(file, decoder: 1, isDeath: true, reason: "It died.")
                _ = try transaction.retireFile(id: file, absence: .evicted, holder: "me")
            }
        },
        Case(
            "ignored picture",
            "ignored_picture USING PRIMARY KEY (sha256=?)",
            "sqlite_autoindex_file_1 (storage_class=? AND sha256=?)",
            "avatar_by_file (file_id=?)",
            "avatar_ignored (absent_sha256=?)",
            walks: ["CONSTANT ROW", "ignored_picture", "partial_download"]
        ) { index in
            let digest = FileRecord.sampleDigest(1)
            try index.write { transaction in
                try transaction.addIgnored(digest, at: now)
                _ = try transaction.isIgnored(digest)
                _ = try transaction.entries(withImage: digest, limit: 9)
                try transaction.ignoreImage(digest, of: transaction.add("a"))
                _ = try transaction.entries(ignoring: digest, limit: 9)
            }
        },
        Case("pending files of a holder", "pending_file_by_holder (holder=?)") { index in
            _ = try index.write { try $0.pendingFiles(of: "me") }
        },
        Case("end of a pending file", "pending_file USING PRIMARY KEY (storage_class=? AND path=?)") { index in
            try index.write { try $0.dropPending(.sample(1)) }
        },
        Case("due times", "host_by_next_check (next_check_ms<?)", "avatar_due (host_id=? AND next_check_ms>?)") {
            index in
            try index.write { try $0.refreshDueTimes(ofHostsDueAt: now) }
        },
        Case("owners", "owner USING PRIMARY KEY (contact=? AND avatar_id=?)") { index in
            try index.write { transaction in
                let id = try transaction.add("a")
                try transaction.link("anna", to: id)
                _ = try transaction.linkAmongOthers("anna", to: id)
                try transaction.unlinkOtherFetchedImages(of: "anna", keeping: id)
                _ = try transaction.images(of: "anna")
                _ = try transaction.unlink("anna", from: id)
                _ = try transaction.hasOwner(id)
                _ = try transaction.removeEntry(id: id, fileID: nil, holder: "me")
            }
        },
    ]

    @Test(arguments: reads)
    func aReadFindsItsRowsByAnIndex(_ example: Case) throws {
        try withIndex { index in
            try index.write { try $0.link("anna", to: $0.add(Self.key.rawValue, file: $0.addFile(1))) }
            try example.run(index)

            // One thread reads on the first connection.
            let plans = try index.readers.read { try Self.plans($0.connection) }
            expect(plans, toFit: example)
        }
    }

    /// A part of a name has no index, so the names are read. The page still walks the keys and sorts nothing.
    @Test func aSearchByNameGoesOnAtTheKeyOfThePage() throws {
        try withIndex { index in
            try index.write { try $0.link("anna", to: $0.add(Self.key.rawValue, file: $0.addFile(1))) }
            var query = AvatarListQuery()
            query.contactName = "ada"
            query.after = "a"
            _ = try index.list(query)

            let steps = try index.readers.read { try Self.plans($0.connection) }.joined(separator: "\n")
            #expect(steps.contains("avatar USING INDEX sqlite_autoindex_avatar_1 (key>?)"), "\(steps)")
            #expect(!steps.contains("TEMP B-TREE"), "\(steps)")
        }
    }

    @Test(arguments: writes)
    func aWriteFindsItsRowsByAnIndex(_ example: Case) throws {
        try withIndex { index in
            try example.run(index)

            let plans = try index.onWriteConnection("explaining", Self.plans)
            expect(plans, toFit: example)
        }
    }

    private func expect(
        _ plans: [String],
        toFit example: Case,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let steps = plans.joined(separator: "\n")
        for index in example.indexes {
            #expect(steps.contains(index), "\(steps)", sourceLocation: sourceLocation)
        }
        // A list of ids that is passed in as JSON is a table of its own.
        var scans = plans.filter { $0.contains("SCAN") && !$0.contains("VIRTUAL TABLE") }
        scans.removeAll { scan in example.walks.contains { scan.contains("SCAN " + $0) } }
        if example.walksRenditions {
            let walk = "SCAN rendition USING COVERING INDEX rendition_by_file"
            scans.removeAll { $0.hasSuffix(walk) || $0.contains("subquery") }
        }
        #expect(scans.isEmpty, "\(steps)", sourceLocation: sourceLocation)
        #expect(example.sorts || !steps.contains("TEMP B-TREE"), "\(steps)", sourceLocation: sourceLocation)
    }

    /// The steps of every statement that the connection has prepared so far.
    private static func plans(_ connection: Connection) throws -> [String] {
        try connection.preparedSQL.flatMap { try connection.queryPlan(of: $0) }
    }
}
