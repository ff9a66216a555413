import ArgumentParser
import AvatarMaintenance
import AvatarStore

/// `avatars path`: prints the path of an image's file.
struct PathCommand: MostlySynchronousCommand {
    static let configuration = CommandConfiguration(
        commandName: "path",
        abstract: "Prints the path of an image's local file.",
        usage: """
            avatars path <key> [<options>]
            avatars path --contact <id> [<options>]
            """,
        discussion: """
            Exit code 1 if there is no file. This does not count as an access for eviction.

            With --without-metadata, the file is a copy without EXIF, XMP, IPTC, comments and thumbnails, which the store makes \
            if necessary and keeps. An image without metadata has no copy.

            With --size, --format, --square or --max-bytes, the file is a rendition: a smaller image, which the store \
            makes if necessary and keeps. If the image cannot be decoded, the path is that of the original. This counts as \
            an access.

            Example: avatars path https://example.com/ada.png
            Example: avatars path --contact ada --size 96 --square --format jpeg
            """
    )

    /// The command sends no request, so an image that is not stored has no path.
    @OptionGroup var image: ImageArgument

    @OptionGroup var metadata: MetadataOptions
    @OptionGroup(title: "Sizes") var renditions: RenditionOptions
    @OptionGroup(title: "Everywhere") var store: StoreOptions
    @OptionGroup var output: OutputOptions

    /// Prints the absolute path of the image's file, without recording an access.
    ///
    /// - Returns: false if the options request a rendition or a copy, which `run` prints.
    /// - Throws: `noSuchEntry` if there is no file.
    func runAtOnce() throws -> Bool {
        try image.requireValid()
        guard renditions.rendition == nil, !metadata.withoutMetadata else { return false }
        try store.withStoreToLookAt { store in
            let key = try image.key(in: store)
            guard let file = try store.localFile(for: key, recordsAccess: false) else {
                throw try noFile(key, in: store)
            }
            try write(key, file, [:])
        }
        return true
    }

    /// Prints the path of a rendition or of a copy without metadata, which is made if necessary.
    ///
    /// - Throws: `noSuchEntry` if there is no file; `overBudget` if there is no room for it.
    func run() async throws {
        let configure = { (configuration: inout AvatarStore.Configuration) in
            renditions.apply(to: &configuration)
            metadata.apply(to: &configuration, renditions.decoder)
        }
        try await store.withStore(.readWriteExisting, configure: configure) { store in
            guard let rendition = renditions.rendition else { return try await writeCopy(in: store) }
            let key = try image.key(in: store)
            guard let original = try store.storedFile(for: key) else { throw try noFile(key, in: store) }
            let options = FetchOptions(policy: .offline, mode: .offlineFirst, rendition: rendition)
            let file = try await store.file(for: original.key, options: options)
            guard let path = file.localFile else {
                throw AvatarStoreError(
                    .overBudget,
                    "The budget has no room for the rendition of \"\(key)\". Raise the budget, or use `avatars get`."
                )
            }
            guard file.rendition != nil || !metadata.withoutMetadata else { return try await writeCopy(in: store) }
            if let reason = file.renditionFailure { Message.warning("Using the original: \(reason)") }
            try write(key, path, ["rendition": JSON(file.rendition?.description ?? "original")])
        }
    }

    /// Prints the path of the image without its metadata.
    private func writeCopy(in store: AvatarStore) async throws {
        let key = try image.key(in: store)
        guard let file = try await store.fileWithoutMetadata(for: key), let path = file.localFile else {
            throw try noFile(key, in: store)
        }
        try write(key, path, file.rendition.map { ["rendition": JSON($0.description)] } ?? [:])
    }

    private func write(_ key: AvatarKey, _ file: String, _ more: [String: JSON]) throws {
        let fields = ["key": JSON(key.rawValue), "localFile": JSON(file)].merging(more) { first, _ in first }
        try Console.output.write(output.json ? JSON.object(fields).line : Array("\(file)\n".utf8))
    }

    /// The error for an image without a file.
    ///
    /// - Throws: an error of the disk if there may be a file that cannot be read.
    private func noFile(_ key: AvatarKey, in store: AvatarStore) throws -> AvatarStoreError {
        _ = try store.withFile(for: key) { _ in }
        let remedy = try remedy(for: key, store.details(for: key)).map { " \($0)" } ?? ""
        let error = AvatarStoreError(.noSuchEntry, "The store has no file for \"\(key)\".\(remedy)")
        return try image.hinting(error, in: store, command: "path")
    }

    /// The sentence with the command that brings in the file of `key`; `nil` for a custom key that is unknown.
    ///
    /// - Parameter details: those of its entry; `nil` without one.
    private func remedy(for key: AvatarKey, _ details: AvatarDetails?) -> String? {
        // A key that messages shorten has a secret part.
        let word = key.description == key.rawValue ? ShellWord.quoted(key.rawValue) : "KEY"
        let known = details != nil
        if let failure = details?.failure {
            return "Its last request failed (\(failure)); `avatars show \(word)` gives the reason."
        }
        if details?.overview.state == .ignored { return "`avatars show \(word)` gives the reason." }
        if key.isURL { return "\(known ? "" : "The key is unknown. ")`avatars fetch \(word)` fetches the image." }
        if key.isContactPhoto { return "`avatars sync` with a contact list that has the photo stores it." }
        if key.isOwnImage {
            let name = ShellWord.quoted(String(key.rawValue.dropFirst("name:".count)))
            return "`avatars save FILE --name \(name)` stores one."
        }
        return known ? "`avatars get \(word) --output FILE` fetches the image." : nil
    }
}
