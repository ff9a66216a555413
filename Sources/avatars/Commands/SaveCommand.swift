import ArgumentParser
import AvatarMaintenance
import AvatarStore

/// `avatars save`: stores an image of the caller's own under a name, or for a contact.
struct SaveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "save",
        abstract: "Stores your own image under a name, or for a contact.",
        usage: "avatars save <file> (--name <name> | --contact <id>) [<options>]",
        discussion: """
            The key is name:NAME; an image with that key is replaced. NAME is never used as a path. A file that is not \
            an image is refused with exit code 1.

            With --contact, the image is shown for the contact before all others, and its key is name:contact/ID. Syncs leave it \
            alone; `avatars remove name:contact/ID` removes it.

            Example: avatars save me.png --name me
            Example: avatars save ada.png --contact 12345
            """
    )

    /// Read in full before it is stored, up to the setting `max-image-bytes`.
    @Argument(help: "The image file, or - for standard input.", completion: .file())
    var file: String

    /// `.unconditional`, so that a name may begin with a dash.
    @Option(parsing: .unconditional, help: ArgumentHelp("The name: 1 to 1,024 bytes without NUL.", valueName: "name"))
    var name: String?

    /// The contact need not be in the store.
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("The contact: an id of 1 to 1,016 bytes without NUL.", valueName: "id"),
        completion: .storeContact
    )
    var contact: String?

    /// Default: `documents`, because no origin can give the image again.
    @Option(name: .customLong("class"), help: "The storage class of the image.")
    var storageClass = StorageClass.documents

    @OptionGroup(title: "Everywhere") var store: StoreOptions
    @OptionGroup var output: OutputOptions

    /// - Throws: `ValidationError` unless there is a name or a contact, and it can be part of a key.
    func validate() throws {
        guard (name == nil) != (contact == nil) else {
            throw ValidationError("`avatars save` needs either --name or --contact.")
        }
        do {
            _ = try name.map(AvatarKey.init(name:))
            _ = try contact.map(AvatarKey.init(savedForContact:))
        } catch {
            throw ValidationError(error.message)
        }
    }

    /// Stores the image and prints its result.
    ///
    /// - Throws: `ExitCode.someFailed` if the file is not an image or is over a limit of the store.
    func run() async throws {
        let file = try await InputFile.open(path: file)
        let result = try await store.withStore(.readWrite) { store in
            do {
                let limit = Int(try store.value(of: .maximumImageBytes) ?? .max)
                let bytes = try await file.bytes(limit: limit)
                let key = try await save(bytes, in: store)
                guard let saved = try store.details(for: key) else { throw AvatarStoreError.unknown(key) }
                return ImageResult(saved)
            } catch let error as AvatarStoreError where error.exitCode == .someFailed {
                return ImageResult("name:" + (name ?? contact.map { "contact/" + $0 } ?? ""), failed: error)
            }
        }
        result.report()
        let text = ImageResult.table.heading + ImageResult.table.line(result.row)
        try output.print(result.json, text: text, quiet: store.quiet)
        if result.outcome == .failed { throw ExitCode.someFailed }
    }

    /// Stores the image. A note says if no list has named the contact: the id may be mistyped.
    private func save(_ bytes: [UInt8], in store: AvatarStore) async throws -> AvatarKey {
        guard let contact else { return try await store.save(bytes, named: name ?? "", in: storageClass) }
        let isKnown = try store.contact(contact) != nil
        let key = try await store.save(bytes, forContact: contact, in: storageClass)
        if !isKnown { self.store.note("the store had no contact \"\(contact)\"; `avatars contacts` lists it now") }
        return key
    }
}
