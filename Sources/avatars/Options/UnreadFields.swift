import AvatarContacts
import AvatarFoundation

/// Contact lists of which something is not read. A field that seems to have the images has an unknown name, or the list has no field
/// for images, or no column for ids and names. Each list is named once for each of these.
final class UnreadFields: Sendable {
    private let notes = Locked<[Note]>([])

    /// A warning about a list.
    private struct Note: Equatable {
        let text: String
        /// Whether a source of images by e-mail address makes the warning void.
        var isVoidWithEmails = false
    }

    /// The most fields of a list that a warning names.
    private static let mostNames = 10

    /// Notes a list that has been read to its end by `records`, if a part of it is not read.
    func note(_ list: ContactList, named name: String, after records: ContactList.AsyncIterator) {
        let subject = name == "-" ? "Standard input" : "\"\(name)\""
        // A list without a header has URLs where names should be.
        if let field = records.unreadImageField.map(Wording.redacted) {
            var text = "\(subject): the field \"\(field)\" is not read; did you mean avatarURL?"
            if list.format == .csv { text += " Name the column with --column photo=\"\(field)\"." }
            add(Note(text: text))
        } else if let fields = records.fieldsWithoutImage {
            let text = Self.warning(subject, fields, isCSV: list.format == .csv)
            add(Note(text: text, isVoidWithEmails: fields.hasEmails))
        }
        if let columns = records.columnsWithoutIdentity {
            let text =
                "\(subject) has no column for ids or names; its columns are \(Self.quoted(columns)). Each contact gets an id from "
                + "its e-mail addresses, telephone numbers or image, and another one when these change. Name the columns with "
                + "--column id=\"COLUMN\" or --column name=\"COLUMN\"."
            add(Note(text: text))
        }
    }

    /// Adds a warning, unless it is there: a sync may read a list twice.
    private func add(_ note: Note) {
        notes.withLock { notes in
            if !notes.contains(note) { notes.append(note) }
        }
    }

    /// The names in quotation marks, as many as a warning has.
    private static func quoted(_ names: [String]) -> String {
        let rest = names.count - mostNames
        return names.prefix(mostNames).map { "\"\(Wording.redacted($0).prefix(60))\"" }.joined(separator: ", ")
            + (rest > 0 ? " and \(rest) more" : "")
    }

    /// The warning about a list without a field for images: its fields, and the names that are read.
    private static func warning(_ subject: String, _ fields: ContactList.FieldsWithoutImage, isCSV: Bool) -> String {
        let names = quoted(fields.names)
        let known = ContactList.imageFieldNames
        let choices = known.dropLast().joined(separator: ", ") + " or " + known.suffix(1).joined()
        let text =
            isCSV
            ? "no column for images; its columns are \(names). Put the URLs in a column named \(choices), or name "
                + "theirs with --column photo=\"COLUMN\"."
            : "no field for images; its first contact has \(names). Put the URL in a field named \(choices)."
        let advice = " --email-source can ask a service for images by e-mail address."
        return "\(subject) has \(text)\(fields.hasEmails ? advice : "")"
    }

    /// Prints a warning for each such list.
    ///
    /// - Parameter asksByEmail: whether the sync has sources of images by e-mail address. A list with addresses needs no field
    ///   for images then.
    func report(asksByEmail: Bool) {
        for note in notes.withLock({ $0 }) where !(asksByEmail && note.isVoidWithEmails) { Message.warning(note.text) }
    }
}
