internal import AvatarCore

/// A row of comma-separated values.
struct CSVRow: UndecodedRecord {
    let bytes: [UInt8]
    /// The columns of its list.
    let columns: CSVColumns
    /// The line in which the row begins, counted from 1.
    let line: Int

    func contact(after earlier: inout EarlierRecords) -> ContactRecord {
        let decoder = RowDecoder(bytes, columns: columns)
        let record = decoder.record(in: line, among: &earlier.namesakes, unread: &earlier.unreadImage)
        guard case .contact = record else { return record }
        if columns.photo == nil { earlier.imageFields.note(columns.allNames, hasEmails: !columns.emails.isEmpty) }
        if earlier.columnsWithoutIdentity == nil, !columns.haveIdentity {
            earlier.columnsWithoutIdentity = columns.allNames
        }
        return record
    }
}

/// Decodes a row of comma-separated values into a contact.
///
/// A row without an id gets one that is derived from its name, e-mail addresses and telephone numbers, as a vCard without
/// `UID` does. An e-mail address itself would be in URLs and logs, and families share addresses.
struct RowDecoder {
    private let fields: CSVFields
    private let columns: CSVColumns

    /// Creates a decoder for a row.
    init(_ row: [UInt8], columns: CSVColumns) {
        fields = CSVFields(of: row, separator: columns.separator)
        self.columns = columns
    }

    /// Returns the contact of the row, or the reason why the row is unreadable.
    ///
    /// - Parameters:
    ///   - line: The line in which the row begins.
    ///   - namesakes: The records without an id before this one. This row is added if it has none either.
    ///   - unread: Receives the columns that seem to have an image, but are not read.
    func record(
        in line: Int,
        among namesakes: inout Namesakes,
        unread: inout UnreadImageField
    ) -> ContactRecord {
        do throws(RecordFault) {
            let image = avatarURL.flatMap { ContactImage.listed($0, line: line) }
            var contact = Contact(id: "", name: name, emails: emails, images: image.map { [$0] } ?? [])
            let id = columns.id.map(fields.text) ?? (columns.idIsEmail ? emails.first : nil) ?? ""
            contact.id =
                id.isEmpty
                ? namesakes.id(of: identity(of: contact), prefix: "row-")
                : try ContactID.checked(firstAddress(id), called: "`id`")
            noteImages(of: contact, in: &unread)
            return contact.record(in: line)
        } catch {
            return .unreadable(line: line, reason: error.reason)
        }
    }

    /// The display name: of its own column, else from its parts, else what may stand for it; `nil` if all are empty.
    private var name: String? {
        if let name = columns.names.lazy.map(fields.text).first(where: { !$0.isEmpty }) { return name }
        let parts = columns.nameParts.map(fields.text).filter { !$0.isEmpty }
        guard parts.isEmpty else { return parts.joined(separator: " ") }
        return columns.nameFallbacks.lazy.map(fields.text).first { !$0.isEmpty }
    }

    /// The first of several addresses in one field, which Google writes with three colons between them.
    private func firstAddress(_ id: String) -> String {
        guard let column = columns.id, columns.emails.contains(column) else { return id }
        return Self.addresses(in: id).first ?? id
    }

    private var avatarURL: String? {
        let url = columns.photo.map(fields.text) ?? ""
        return url.isEmpty ? nil : url
    }

    /// The e-mail addresses in the order of the columns, without duplicates.
    private var emails: [String] {
        let addresses = columns.emails.flatMap { Self.addresses(in: fields.text($0)) }
        // Outlook writes addresses of Exchange too, which are paths.
        return addresses.filter { $0.contains("@") }.uniqueTexts
    }

    /// The addresses in a field: Google writes several with three colons between them.
    private static func addresses(in text: String) -> [String] {
        guard text.contains(":::") else { return [text] }
        return text.split(separator: ":::").map { String($0).trimmed }
    }

    /// The identity of a row without an id. If it has neither name nor address nor number, the image decides, and then all
    /// fields.
    private func identity(of contact: Contact) -> ContactIdentity.Digest {
        var identity = ContactIdentity()
        identity.add([contact.name ?? ""], of: "name", spelledAs: .text)
        identity.add(contact.emails, of: "email", spelledAs: .email)
        identity.add(columns.telephones.map(fields.text), of: "telephone", spelledAs: .telephone)
        if let digest = identity.digest ?? ContactIdentity(of: contact.images).digest { return digest }
        identity.add((0..<fields.count).map(fields.text), of: "row", spelledAs: .text)
        return identity.digest ?? ContactIdentity.Digest(high: 0, low: 0)
    }

    private func noteImages(of contact: Contact, in unread: inout UnreadImageField) {
        if !contact.images.isEmpty { return unread.noteImage() }
        guard !unread.isSettled else { return }
        for (column, name) in columns.unreadImages where FieldName.isWebAddress(fields[column]) {
            unread.note(name, isImageAddress: FieldName.isImageAddress(fields[column]))
        }
    }
}
