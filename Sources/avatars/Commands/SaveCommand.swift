import ArgumentParser
import AvatarMaintenance
import AvatarStore

/// `avatars save`: stores an image of the caller's own under a name.
struct SaveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "save",
        abstract: "Stores your own image under a name.",
        usage: "avatars save <file> --name <name> [--class <class>] [<options>]",
        discussion: """
            The key is name:NAME; an image with that key is replaced. NAME is never used as a path. A file that is not \
            an image is refused with exit code 1.

            Example: avatars save me.png --name me
            """
    )

    /// Read in full before it is stored, up to the setting `max-image-bytes`.
    @Argument(help: "The image file, or - for standard input.", completion: .file())
    var file: String

    /// `.unconditional`, so that a name may begin with a dash.
    @Option(parsing: .unconditional, help: ArgumentHelp("The name: 1 to 1,024 bytes without NUL.", valueName: "name"))
    var name: String

    /// Default: `documents`, because no origin can give the image again.
    @Option(name: .customLong("class"), help: "The storage class of the image.")
    var storageClass = StorageClass.documents

    @OptionGroup(title: "Everywhere") var store: StoreOptions
    @OptionGroup var output: OutputOptions

    /// - Throws: `ValidationError` if the name cannot be part of a key.
    func validate() throws {
        do {
            _ = try AvatarKey(name: name)
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
                let key = try await store.save(bytes, named: name, in: storageClass)
                guard let saved = try store.details(for: key) else { throw AvatarStoreError.unknown(key) }
                return ImageResult(saved)
            } catch let error as AvatarStoreError where error.exitCode == .someFailed {
                return ImageResult("name:" + name, failed: error)
            }
        }
        result.report()
        let text = ImageResult.table.heading + ImageResult.table.line(result.row)
        try output.print(result.json, text: text, quiet: store.quiet)
        if result.outcome == .failed { throw ExitCode.someFailed }
    }
}
