import ArgumentParser
import AvatarStore

/// The image that a command is about: a KEY, or the image of a contact.
struct ImageArgument: ParsableArguments {
    /// `requireValid` refuses a text that is not a key.
    @Argument(help: "A URL, name:NAME, contact:ID, or your own key.", completion: .storeKey)
    var key: String?

    /// The photo embedded in the contact comes first, then the image at its URL, then that of an e-mail source.
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("The image of this contact.", valueName: "id"),
        completion: .storeContact
    )
    var contact: String?

    /// - Throws: `ValidationError` unless exactly one of the two is given.
    func validate() throws {
        guard (key == nil) != (contact == nil) else { throw ValidationError("Name either a key or --contact.") }
    }

    /// Checks the key before the store is opened.
    ///
    /// - Throws: `invalidKey` or `unsupportedURL` for a text that is not a key.
    func requireValid() throws(AvatarStoreError) {
        if let key { _ = try AvatarKey(parsing: key) }
    }

    /// `error`, which says that the store has nothing for the key. If the key is the id of a contact, the message also has the
    /// command for the contact's image.
    ///
    /// - Parameter command: the name of this command.
    func hinting(_ error: AvatarStoreError, in store: AvatarStore, command: String) throws -> AvatarStoreError {
        guard let key, try store.contact(key) != nil else { return error }
        var error = error
        error.message += " \"\(key)\" is a contact: `avatars \(command) --contact \(ShellWord.quoted(key))`."
        return error
    }

    /// The key of the image.
    ///
    /// - Throws: `noSuchEntry` for a contact without an image; `invalidKey` for a text that is not a key; an error of the
    ///   index.
    func key(in store: AvatarStore) throws -> AvatarKey {
        if let key { return try AvatarKey(parsing: key) }
        guard let contact else { preconditionFailure("`validate()` requires a key or a contact.") }
        if let key = try store.imageKeys(ofContact: contact).first { return key }
        guard try store.contact(contact) != nil else { throw try AvatarStoreError.unknownContact(contact, in: store) }
        throw AvatarStoreError(
            .noSuchEntry,
            """
            The store has no image of the contact "\(contact)". Its list gave none, or a URL that the store refuses \
            (`avatars sync LIST --dry-run` names these), or it was removed, or the last sync did not fetch it (`avatars doctor` says why). \
            `avatars get --placeholder` writes the initials of the contact.
            """
        )
    }
}
