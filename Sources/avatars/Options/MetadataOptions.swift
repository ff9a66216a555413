import ArgumentParser
import AvatarStore

/// The option of commands that give images as they are stored.
struct MetadataOptions: ParsableArguments {
    @Flag(help: "Give images without metadata: no EXIF, XMP, IPTC, comments, thumbnails. The pixels stay as they are.")
    var withoutMetadata = false

    /// Gives the store a decoder: an image whose metadata cannot be taken out becomes a rendition.
    func apply(to configuration: inout AvatarStore.Configuration, _ decoder: DecoderOptions) {
        if withoutMetadata { decoder.apply(to: &configuration) }
    }

    /// Reads the image of `key`, without its metadata if the option says so.
    ///
    /// - Throws: `AvatarStoreError` if there is no image, or its metadata cannot be taken out.
    func image(of key: AvatarKey, _ reads: StoreReads) async throws -> AvatarImage {
        let image = try await reads.image(of: key)
        guard withoutMetadata, image.rendition == nil else { return image }
        if let stripped = try image.withoutMetadata() { return stripped }
        var options = reads.options
        options.rendition = MetadataRemoval.largest
        if image.storageClass != nil { options.policy = .offline }
        let rendition = try await StoreReads(store: reads.store, options: options).image(of: key)
        guard rendition.rendition != nil else { throw AvatarStoreError.keepsMetadata(key) }
        return rendition
    }
}
