package import AvatarCore
import AvatarSQLite

/// The contacts that lists named or that images are linked to, with their names.
extension AvatarIndex {
    /// One page of the contacts that `query` selects, each with the image that it shows, from one snapshot.
    ///
    /// Each page is a range of `contact_by_name`, and with words of `contact_word` too, so it costs the same at the beginning and at
    /// the end. Contacts that `namePart` or `isWithoutImage` leave out are read too, but only once in all pages together.
    ///
    /// - Parameter query: its texts are as the table spells sort names.
    /// - Throws: `invalidConfiguration` if the limit is below 1, or for an `after` that no page returned.
    package func contacts(_ query: StoredContactQuery) throws -> StoredContactPage {
        guard query.limit > 0 else {
            throw AvatarStoreError(
                .invalidConfiguration,
                "`limit` cannot be \(query.limit): it must be at least 1."
            )
        }
        return try readers.read { connection in
            try connection.snapshot {
                try query.words.isEmpty ? Self.listed(query, on: connection) : Self.found(query, on: connection)
            }
        }
    }

    /// The page of a query without words.
    private static func listed(_ query: StoredContactQuery, on connection: ReadConnection) throws -> StoredContactPage {
        let beginning = ContactPosition(sortName: query.beginning, contact: "")
        var position = try query.after.map(ContactPosition.init) ?? beginning
        if let mark = query.mark { position = ContactPosition(sortName: mark.sortName, contact: mark.contact) }
        if query.skipped > 0 {
            let last = try Self.position(query.skipped, after: position, on: connection)
            guard let last else { return StoredContactPage(contacts: [], next: nil) }
            position = last
        }
        // A contact more than the limit tells that there is another page.
        let count = min(query.limit, .max - 1) + 1
        var values: [any Bindable] = [position.sortName, position.contact, query.beginning, count]
        if let part = query.namePart { values.append(part) }
        let rows = try connection.rows(contactPage(query), values) {
            (
                id: $0.text("contact"), name: $0.optionalText("name"), sortName: $0.text("sort_name"),
                namedBy: $0.integer("named_by", in: IndexNumber.lists)
            )
        }
        let shown = rows.prefix(query.limit)
        let names = try SourceNames(on: connection)
        let contacts = try shown.map {
            try contact($0.id, name: $0.name, sources: names[$0.namedBy], on: connection)
        }
        guard rows.count > query.limit, let last = shown.last else {
            return StoredContactPage(contacts: contacts, next: nil)
        }
        return StoredContactPage(
            contacts: contacts,
            next: ContactPosition(sortName: last.sortName, contact: last.id).description
        )
    }

    /// The position `count` contacts after `start`; `nil` if there are not as many.
    private static func position(
        _ count: Int,
        after start: ContactPosition,
        on connection: ReadConnection
    ) throws -> ContactPosition? {
        try connection.firstRow(
            """
            SELECT sort_name, contact FROM contact WHERE (sort_name, contact) > (?, ?)
            ORDER BY sort_name, contact LIMIT 1 OFFSET ?
            """,
            [start.sortName, start.contact, count - 1]
        ) { ContactPosition(sortName: $0.text("sort_name"), contact: $0.text("contact")) }
    }

    /// The contacts by the first letters of their sort names, from one snapshot. Reads an index of all contacts, a tenth of a second
    /// per million.
    package func contactOutline() throws -> ContactOutline {
        try readers.read { connection in
            try connection.snapshot {
                var letters: [ContactOutline.Letter] = []
                var place = 0
                var next: String? = ""
                while let beginning = next, let name = try connection.text(Self.firstName, [beginning]) {
                    // A folded name has a character, unless another program wrote it.
                    let first = name.unicodeScalars.first ?? "\0"
                    next = Self.character(after: first)
                    // SQLite orders every text before every blob.
                    let end: any Bindable = next ?? [UInt8]([0])
                    let count = try connection.integer(Self.nameCount, [beginning, end]) ?? 0
                    letters.append(.init(first: first, place: place, count: Int(count)))
                    place += Int(count)
                }
                return ContactOutline(letters: letters, marks: try Self.marks(on: connection))
            }
        }
    }

    private static func marks(on connection: ReadConnection) throws -> [ContactOutline.Mark] {
        var marks: [ContactOutline.Mark] = []
        var last = ContactPosition(sortName: "", contact: "")
        while let next = try position(markDistance, after: last, on: connection) {
            let place = (marks.count + 1) * markDistance
            marks.append(ContactOutline.Mark(place: place, sortName: next.sortName, contact: next.contact))
            last = next
        }
        return marks
    }

    /// The number of contacts between two marks.
    private static let markDistance = 1000

    private static let firstName = "SELECT sort_name FROM contact WHERE sort_name >= ? ORDER BY sort_name LIMIT 1"
    private static let nameCount = "SELECT count(*) FROM contact WHERE sort_name >= ? AND sort_name < ?"

    /// The text before which all texts are that begin with `scalar`; `nil` if that is the last one.
    private static func character(after scalar: Unicode.Scalar) -> String? {
        let value = scalar.value == 0xD7FF ? 0xE000 : scalar.value + 1
        return Unicode.Scalar(value).map { String($0) }
    }

    /// The state of the index that reads see now; `nil` if it cannot be told from others.
    package func readMoment() throws -> ReadMoment? {
        try readers.read { ReadMoment(of: $0) }
    }

    /// The page of a query with words.
    private static func found(_ query: StoredContactQuery, on connection: ReadConnection) throws -> StoredContactPage {
        let search = try ContactSearch(query, on: connection)
        let found = try search.page(on: connection)
        let names = try SourceNames(on: connection)
        return StoredContactPage(
            contacts: try found.shown.map {
                try contact($0.id, name: $0.name, sources: names[$0.namedBy], on: connection)
            },
            next: found.next
        )
    }

    /// The query of a page. Its parameters are the position, the beginning, the limit and the part of the name. No name has
    /// the character U+10FFFF, so it comes after all names with the beginning. The sort name of a contact without a name is
    /// its id.
    static func contactPage(_ query: StoredContactQuery) -> String {
        """
        SELECT contact, name, sort_name, named_by FROM contact
        WHERE (sort_name, contact) > (?1, ?2) AND sort_name < ?3 || char(0x10FFFF)
        \(query.namePart == nil ? "" : "AND name IS NOT NULL AND instr(sort_name, ?5) > 0")
        \(withoutImage(query))
        ORDER BY sort_name, contact LIMIT ?4
        """
    }

    /// The condition that leaves out contacts with an image, if `query` does; else empty.
    static func withoutImage(_ query: StoredContactQuery) -> String {
        query.isWithoutImage ? "AND NOT EXISTS (\(storedImage))" : ""
    }

    /// The query of a stored image of the contact in the row of an outer query.
    private static let storedImage = """
        SELECT 1 FROM owner JOIN avatar ON avatar.id = owner.avatar_id
        WHERE owner.contact = contact.contact AND avatar.file_id IS NOT NULL
        """

    /// The query of the image that a contact shows, in the order of `imageKeys(of:)`. Its parameter is the contact.
    private static let shownImage = """
        SELECT overview.key, overview.state, avatar.file_id IS NOT NULL AS has_file, avatar.failure, avatar.failure_message,
            avatar.thumb_hash
        FROM owner JOIN avatar ON avatar.id = owner.avatar_id JOIN avatar_overview AS overview ON overview.key = avatar.key
        WHERE owner.contact = ?
        ORDER BY \(contactOrder) LIMIT 1
        """

    /// The contact `id` and the image that it shows, from one snapshot; `nil` if the index does not have it.
    package func contact(_ id: String) throws -> StoredContact? {
        try readers.read { connection in
            try connection.snapshot {
                let row = try connection.firstRow("SELECT name, named_by FROM contact WHERE contact = ?", [id]) {
                    (name: $0.optionalText("name"), namedBy: $0.integer("named_by", in: IndexNumber.lists))
                }
                guard let row else { return nil }
                let sources = try SourceNames(on: connection)[row.namedBy]
                return try Self.contact(id, name: row.name, sources: sources, on: connection)
            }
        }
    }

    /// The contact with the image that it shows.
    private static func contact(
        _ id: String,
        name: String?,
        sources: [String],
        on connection: ReadConnection
    ) throws -> StoredContact {
        let shown = try connection.firstRow(shownImage, [id]) { row in
            StoredContact(
                id: id,
                name: name,
                key: AvatarKey(stored: row.text("key")),
                state: try AvatarState(word: row.text("state")),
                hasFile: row.bool("has_file"),
                failure: row.optionalText("failure").map(FailureKind.init(rawValue:)),
                failureMessage: row.optionalText("failure_message"),
                thumbHash: row.optionalBlob("thumb_hash"),
                sources: sources
            )
        }
        return shown ?? StoredContact(id: id, name: name, sources: sources)
    }

    /// The names of those of `contacts` that have one.
    package func names(of contacts: [String]) throws -> [String: String] {
        try readers.read { connection in
            try connection.snapshot {
                var names: [String: String] = [:]
                for contact in contacts {
                    names[contact] = try connection.text("SELECT name FROM contact WHERE contact = ?", [contact])
                }
                return names
            }
        }
    }

    /// The names of the sources of those of `contacts` that a source names.
    package func sources(ofContacts contacts: [String]) throws -> [String: [String]] {
        try readers.read { connection in
            try connection.snapshot {
                let names = try SourceNames(on: connection)
                return try contacts.reduce(into: [:]) { sources, contact in
                    let sql = "SELECT named_by FROM contact WHERE contact = ? AND named_by <> 0"
                    let namedBy = try connection.firstRow(sql, [contact]) {
                        $0.integer("named_by", in: IndexNumber.lists)
                    }
                    if let namedBy { sources[contact] = names[namedBy] }
                }
            }
        }
    }

    /// Those of `listed` that the index does not have in this form.
    package func unrecorded(_ listed: [ListedContact]) throws -> [ListedContact] {
        try readers.read { connection in
            try connection.snapshot {
                try listed.filter { contact in
                    let isRecorded = try connection.firstRow(
                        "SELECT name, is_listed, named_by FROM contact WHERE contact = ?",
                        [contact.id]
                    ) { row in
                        row.bool("is_listed") && row.optionalText("name") == contact.name
                            && row.integer("named_by") & contact.namedBy == contact.namedBy
                    }
                    guard isRecorded == true else { return true }
                    guard let addresses = contact.addresses else { return false }
                    let recorded = try connection.rows(Self.addressesOfContact, [contact.id]) { $0.blob("digest") }
                    return Set(recorded) != addresses
                }
            }
        }
    }

    /// The query of the digests of a contact's addresses. Its parameter is the contact.
    private static let addressesOfContact = "SELECT digest FROM contact_address WHERE contact = ?"

    /// A page of the contacts that the lists with the bits of `mask` name and no other list, in the order of their bytes.
    package func contacts(namedOnlyBy mask: Int64, after contact: String, limit: Int) throws -> [String] {
        try readers.read { connection in
            try connection.rows(
                "SELECT contact FROM contact WHERE contact > ? AND named_by = ? ORDER BY contact LIMIT ?",
                [contact, mask, limit]
            ) { $0.text("contact") }
        }
    }

    /// The bits of those of the lists `names` that the index knows.
    package func mask(ofLists names: some Sequence<String>) throws -> Int64 {
        try readers.read { connection in
            try names.reduce(0) { mask, name in
                guard let number = try connection.integer("SELECT id FROM source WHERE name = ?", [name]),
                    (0...61).contains(number)
                else { return mask }
                return mask | 1 << number
            }
        }
    }

    /// Those of `contacts` that named lists name, apart from the lists with the bits of `mask`.
    package func named(_ contacts: [String], byOthersThan mask: Int64) throws -> Set<String> {
        guard !contacts.isEmpty else { return [] }
        return try readers.read { connection in
            try connection.snapshot {
                try Set(
                    contacts.filter { contact in
                        try connection.hasRow(
                            "SELECT 1 FROM contact WHERE contact = ? AND named_by & ~? <> 0",
                            [contact, mask]
                        )
                    }
                )
            }
        }
    }

    /// Whether the index has digests of addresses.
    package func hasAddresses() throws -> Bool {
        try readers.read { try $0.integer("SELECT 1 FROM contact_address LIMIT 1") != nil }
    }

    /// A page of the contacts that a list named, in the order of their bytes.
    ///
    /// - Parameters:
    ///   - contact: the last contact of the page before; empty for the first page.
    ///   - limit: the maximum number of contacts. An empty page is the last one.
    package func listedContacts(after contact: String, limit: Int) throws -> [String] {
        try readers.read { connection in
            try connection.rows(
                "SELECT contact FROM contact WHERE contact > ? AND is_listed ORDER BY contact LIMIT ?",
                [contact, limit]
            ) { $0.text("contact") }
        }
    }
}

/// The end of a page of contacts.
struct ContactPosition: CustomStringConvertible {
    /// The sort name of the last contact.
    let sortName: String
    /// The id of the last contact; empty before the first.
    let contact: String
}

extension ContactPosition {
    /// Reads the `next` of a page.
    ///
    /// - Throws: `invalidConfiguration` if no page has returned `text`.
    init(_ text: String) throws {
        let bytes = Array(text.utf8)
        guard let space = bytes.firstIndex(of: UInt8(ascii: " ")), let count = Int(text.prefix(space)), count >= 0,
            count <= bytes.count - space - 1
        else { throw AvatarStoreError.noPosition(text) }
        let end = space + 1 + count
        self.init(
            sortName: String(decoding: bytes[(space + 1)..<end], as: UTF8.self),
            contact: String(decoding: bytes[end...], as: UTF8.self)
        )
    }

    /// The position as the `next` of a page: the number of bytes of the sort name, a space, the sort name and the contact.
    var description: String { "\(sortName.utf8.count) \(sortName)\(contact)" }
}
