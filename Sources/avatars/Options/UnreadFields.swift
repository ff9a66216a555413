import AvatarContacts
import Synchronization

/// Contact lists whose images are not read: a field that seems to have them has an unknown name, or the list has no field for
/// images. Each list is named once.
final class UnreadFields: Sendable {
    private let notes = Mutex<[Note]>([])

    /// The warning about a list.
    private struct Note {
        let list: String
        let text: String
        /// Whether a source of images by e-mail address can give the contacts of the list their images.
        let hasEmails: Bool
    }

    /// The most fields of a list that a warning names.
    private static let mostNames = 10

    /// Notes a list that has been read to its end by `records`, if its images are not read.
    func note(_ list: ContactList, named name: String, after records: ContactList.AsyncIterator) {
        let subject = name == "-" ? "Standard input" : "\"\(name)\""
        let note: Note
        // A list without a header has URLs where names should be.
        if let field = records.unreadImageField.map(Wording.redacted) {
            var text = "\(subject): the field \"\(field)\" is not read; did you mean avatarURL?"
            if list.format == .csv { text += " Name the column with --column photo=\"\(field)\"." }
            note = Note(list: name, text: text, hasEmails: false)
        } else if let fields = records.fieldsWithoutImage {
            let text = Self.warning(subject, fields, isCSV: list.format == .csv)
            note = Note(list: name, text: text, hasEmails: fields.hasEmails)
        } else {
            return
        }
        notes.withLock { notes in
            if !notes.contains(where: { $0.list == name }) { notes.append(note) }
        }
    }

    /// The warning about a list without a field for images: its fields, and the names that are read.
    private static func warning(_ subject: String, _ fields: ContactList.FieldsWithoutImage, isCSV: Bool) -> String {
        let rest = fields.names.count - mostNames
        let names =
            fields.names.prefix(mostNames).map { "\"\(Wording.redacted($0).prefix(60))\"" }.joined(separator: ", ")
            + (rest > 0 ? " and \(rest) more" : "")
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
        for note in notes.withLock({ $0 }) where !(asksByEmail && note.hasEmails) { Message.warning(note.text) }
    }
}
