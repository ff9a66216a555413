internal import AvatarCore

/// The columns of a list of comma-separated values: which of them hold which part of a contact.
///
/// Columns are known by the names that Google Contacts, Outlook, Thunderbird and address books of that kind give them,
/// without regard to case, spaces, `_` and `-`. The caller may name others.
final class CSVColumns: Sendable {
    /// The limit for the number of columns. Exports of address books have up to 200.
    static let maximumCount = 1_000
    /// The limit for the first row, in bytes: 1 MiB.
    static let maximumHeaderBytes = 1_048_576

    let separator: UInt8
    /// The number of columns.
    let count: Int
    let id: Int?
    /// Whether the first e-mail address is the id, because the caller names `email` as its column, and no column has that name.
    let idIsEmail: Bool
    /// The columns with a whole display name. The first one with a text counts.
    let names: [Int]
    /// The columns with parts of the name, in their order in a name.
    let nameParts: [Int]
    /// The columns that may stand for a missing name. The first one with a text counts.
    let nameFallbacks: [Int]
    let emails: [Int]
    let telephones: [Int]
    /// The column with the URL of the image.
    let photo: Int?
    /// The columns that are not read and may have images, with their names; none if `photo` is there.
    let unreadImages: [(column: Int, name: String)]
    /// The names of all columns that have one.
    let allNames: [String]

    /// Whether a column has ids or names.
    var haveIdentity: Bool { id != nil || idIsEmail || !(names + nameParts + nameFallbacks).isEmpty }

    /// Finds the columns by the header of a list.
    ///
    /// - Parameters:
    ///   - header: The first row.
    ///   - separator: The separator.
    ///   - named: The names of columns that the caller gives.
    /// - Throws: `RecordFault` if the header has no column that is read, lacks a named one, or leaves open which one is meant.
    init(header: [UInt8], separator: UInt8, named: [ContactList.Column: [String]]) throws(RecordFault) {
        let fields = CSVFields(of: header, separator: separator)
        let header = CSVHeader(names: (0..<fields.count).map(fields.text))
        self.separator = separator
        count = fields.count
        let addresses = try header.columns(.email, named: named[.email] ?? [])
        emails = addresses.isEmpty ? header.columns(where: CSVHeader.isEmail) : addresses
        idIsEmail =
            named[.id].map { $0.map(FieldName.plain) == ["email"] } == true && !emails.isEmpty && !header.has("email")
        id = idIsEmail ? nil : try header.single(.id, named: named[.id] ?? []) { $0 == "id" }
        photo = try header.single(.photo, named: named[.photo] ?? [], known: FieldName.images.contains)
        let given = try header.columns(.name, named: named[.name] ?? [])
        names = given.isEmpty ? header.columns(["name", "fullname"]) : []
        nameParts = given.isEmpty ? header.columns(CSVHeader.nameParts) : given
        nameFallbacks = header.columns(CSVHeader.nameFallbacks)
        telephones = header.columns(where: CSVHeader.isTelephone)
        allNames = header.names.filter { !$0.isEmpty }.map { String($0.prefix(FieldName.maximumBytes)) }
        unreadImages =
            photo != nil
            ? []
            : header.names.enumerated().filter { [id, names, emails] in
                $0.offset != id && !names.contains($0.offset) && !emails.contains($0.offset) && !$0.element.isEmpty
            }
            .map { (column: $0.offset, name: String($0.element.prefix(FieldName.maximumBytes))) }
        guard id != nil || photo != nil || !(names + nameParts + nameFallbacks + emails).isEmpty else {
            throw RecordFault(
                reason: "the first row must name the columns, but \(header.quoted(0)) is not a known name; "
                    + "name the columns with --column, such as --column photo=\"Photo URL\""
            )
        }
    }
}

/// The names in the first row of a list.
private struct CSVHeader {
    /// The names as the list spells them.
    let names: [String]
    /// The names without regard to case, spaces, `_` and `-`.
    private let plain: [String]

    init(names: [String]) {
        self.names = names
        plain = names.map(FieldName.plain)
    }

    // MARK: Known names

    /// The parts of a name in their order.
    static let nameParts = [
        "nameprefix", "firstname", "givenname", "middlename", "additionalname", "lastname", "familyname", "surname",
        "namesuffix",
    ]
    static let nameFallbacks = [
        "fileas", "displayname", "nickname", "organizationname", "organization1name", "organization", "company",
    ]
    private static let emailNames: Set = [
        "email", "emails", "mail", "emailvalue", "emailaddress", "emailaddresses", "primaryemail", "secondaryemail",
    ]

    /// Whether a column has an address: `E-mail Address`, `E-mail 2 Address`, `E-mail 1 - Value`.
    static func isEmail(_ plain: String) -> Bool {
        emailNames.contains(plain.filter { !("0"..."9").contains($0) })
    }

    /// Whether a column has a telephone number: `Phone 1 - Value`, `Mobile Phone`; not `Phone 1 - Type` or `Phonetic Name`.
    static func isTelephone(_ plain: String) -> Bool {
        guard plain.contains("phone") else { return ["tel", "telephone", "mobile"].contains(plain) }
        return !["phonetic", "type", "label"].contains(where: plain.contains)
    }

    /// Whether a column has this plain name.
    func has(_ name: String) -> Bool { plain.contains(name) }

    /// The columns with these names, in the order of `known`.
    func columns(_ known: [String]) -> [Int] {
        known.flatMap { name in columns { $0 == name } }
    }

    /// The columns whose plain name fits, in their order.
    func columns(where fits: (String) -> Bool) -> [Int] {
        plain.indices.filter { fits(plain[$0]) }
    }

    // MARK: Names that the caller gives

    /// The columns that the caller names.
    ///
    /// - Throws: `RecordFault` if one is missing or two columns have the name.
    func columns(_ part: ContactList.Column, named given: [String]) throws(RecordFault) -> [Int] {
        var columns: [Int] = []
        for name in given { columns.append(try column(part, name)) }
        return columns
    }

    /// The column of a part that can have only one; `nil` without one.
    ///
    /// - Throws: `RecordFault` if several columns could be meant, or the one that the caller names is missing.
    func single(
        _ part: ContactList.Column,
        named given: [String],
        known: (String) -> Bool
    ) throws(RecordFault) -> Int? {
        guard given.count <= 1 else {
            throw RecordFault(reason: "--column \(part.rawValue)=… must be given only once")
        }
        if let name = given.first { return try column(part, name) }
        let columns = columns(where: known)
        guard columns.count <= 1 else { throw ambiguous(part, columns) }
        return columns.first
    }

    private func column(_ part: ContactList.Column, _ name: String) throws(RecordFault) -> Int {
        let exact = names.indices.filter { names[$0] == name }
        let plainName = FieldName.plain(name)
        let columns = exact.isEmpty ? columns { $0 == plainName } : exact
        guard columns.count <= 1 else { throw ambiguous(part, columns) }
        guard let column = columns.first else {
            throw RecordFault(
                reason: "--column \(part.rawValue)=\"\(name)\" names no column of the list; it has "
                    + names.indices.prefix(20).map(quoted).joined(separator: ", ") + (names.count > 20 ? ", …" : "")
            )
        }
        return column
    }

    private func ambiguous(_ part: ContactList.Column, _ columns: [Int]) -> RecordFault {
        let what = part == .photo ? "image" : part == .email ? "e-mail address" : part.rawValue
        guard Set(columns.map { names[$0] }).count > 1 else {
            let name = quoted(columns[0])
            return RecordFault(reason: "\(columns.count) columns have the name \(name); rename all but one")
        }
        let choices = columns.prefix(5).map(quoted).joined(separator: " and ")
        return RecordFault(
            reason: "the columns \(choices) could be the \(what); choose one, such as "
                + "--column \(part.rawValue)=\(quoted(columns[0]))"
        )
    }

    /// The name of a column for messages.
    func quoted(_ column: Int) -> String {
        "\"\(names[column].prefix(60))\""
    }
}
