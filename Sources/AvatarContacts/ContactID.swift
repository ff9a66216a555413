import AvatarCore

/// What the id of a contact may be, in every format.
enum ContactID {
    /// The most bytes of UTF-8.
    static let maximumBytes = AvatarKey.maximumNameBytes

    /// `id`, if it can be one. Messages call it `name`.
    static func checked(_ id: String, called name: String) throws(RecordFault) -> String {
        guard !id.isEmpty else { throw RecordFault(reason: "\(name) is empty") }
        guard id.utf8.count <= maximumBytes else {
            throw RecordFault(reason: "\(name) is longer than \(maximumBytes) bytes")
        }
        guard !id.utf8.contains(0) else { throw RecordFault(reason: "\(name) contains a NUL character") }
        return id
    }
}

/// Why a record describes no contact.
struct RecordFault: Error {
    let reason: String
}
