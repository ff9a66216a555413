import AvatarContacts
import Synchronization

/// The fields of contact lists that seem to have images, but are not read. Each list is named once.
final class UnreadFields: Sendable {
    private let fields = Mutex<[(list: String, text: String)]>([])

    /// Notes the field of a list that has been read to its end.
    func note(_ field: String, in list: ContactList, named name: String) {
        let subject = name == "-" ? "Standard input" : "\"\(name)\""
        var text = "\(subject): the field \"\(field)\" is not read; did you mean avatarURL?"
        if list.format == .csv { text += " Name the column with --column photo=\"\(field)\"." }
        fields.withLock { fields in
            if !fields.contains(where: { $0.list == name }) { fields.append((name, text)) }
        }
    }

    /// Prints a warning for each list with such a field.
    func report() {
        for field in fields.withLock({ $0 }) { Message.warning(field.text) }
    }
}
