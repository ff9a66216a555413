import ArgumentParser
import AvatarStore

/// The option that selects the images of one contact.
struct ContactFilter: ParsableArguments {
    /// An array, because ArgumentParser would take the last of several values without a word.
    @Option(
        name: [.customLong("owner"), .customLong("contact")],
        parsing: .unconditionalSingleValue,
        help: ArgumentHelp("Only images of this contact.", valueName: "id"),
        completion: .storeContact
    )
    private var contacts: [String] = []

    /// The id of the contact; `nil` for all.
    var id: String? { contacts.first }

    /// Checks that the store has the contact, if one is named.
    ///
    /// - Throws: `noSuchEntry`; an error of the index.
    func require(in store: AvatarStore) throws {
        if let id, try store.contact(id) == nil { throw try AvatarStoreError.unknownContact(id, in: store) }
    }

    /// - Throws: `ValidationError` for more than one contact, and for an empty id.
    func validate() throws {
        guard id?.isEmpty != true else {
            throw ValidationError("--contact must not be empty. Give the id of a contact.")
        }
        guard contacts.count <= 1 else {
            throw ValidationError("--contact was given \(contacts.count) times. Name one contact per command.")
        }
    }
}
