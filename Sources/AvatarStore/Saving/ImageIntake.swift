import AvatarCore
package import AvatarFiles
package import AvatarImages
package import AvatarIndex
package import AvatarWriter

/// Checks images that come from a caller or a list instead of an origin, and stages them.
package struct ImageIntake: Sendable {
    /// The limits on the bytes and pixels of one image, and whether an SVG counts as one.
    package let limits: Limits

    /// Writes `bytes` to a staged file of `storageClass` and checks that they are an image within the limits.
    ///
    /// - Throws: `imageRefused`; an error of the disk.
    package func stage(_ bytes: [UInt8], in storageClass: StorageClass, at places: StorePlaces) throws -> StagedImage {
        try requireSize(bytes)
        let file = try places.files(of: storageClass).staging.stage()
        try file.write(bytes)
        return file.finish(as: try inspect(file))
    }

    /// Checks that `stage` would accept `bytes`, without writing them.
    ///
    /// - Throws: `imageRefused`.
    func requireImage(_ bytes: [UInt8]) throws {
        try requireSize(bytes)
        _ = try inspect(ByteArraySource(bytes))
    }

    /// The format and size of an image. Does not compare its bytes with the limit.
    ///
    /// - Throws: `imageRefused` for bytes that are not an image, or have too many pixels.
    package func inspect(_ source: some ByteSource) throws -> ImageDescription {
        let inspector = ImageInspector(maximumPixels: limits.maximumPixels, allowsSVG: limits.allowsSVG)
        do {
            return try inspector.inspect(source)
        } catch let rejection as ImageRejection {
            throw AvatarStoreError(.imageRefused, rejection.message, failure: rejection.kind)
        }
    }

    /// - Throws: `imageRefused` if the bytes exceed `Setting.maximumImageBytes`.
    private func requireSize(_ bytes: [UInt8]) throws {
        guard bytes.count > limits.maximumImageBytes else { return }
        throw AvatarStoreError(
            .imageRefused,
            "The image is larger than \(ByteSize.limit(limits.maximumImageBytes)), the limit of the setting `max-image-bytes`.",
            failure: .tooLarge
        )
    }
}

extension StoreParts {
    /// Stages and commits one image with its contacts.
    ///
    /// - Throws: `imageRefused`, `overBudget`; an error of the index or the disk.
    package func commit(
        _ bytes: [UInt8],
        for key: AvatarKey,
        from sourceURL: String?,
        host: String?,
        validation: ValidationRecord?,
        owners: [String],
        in storageClass: StorageClass,
        checkedBy intake: ImageIntake
    ) async throws {
        let writable = try requireWritable()
        let staged = try intake.stage(bytes, in: storageClass, at: writable.places)
        let change = Change(
            key: key,
            sourceURL: sourceURL,
            host: host,
            owners: owners,
            content: .image(staged, validation: validation)
        )
        try await writable.writer.commitNow(change, RoomRules(intake.limits)).requireStored(key)
    }
}

extension StoreParts {
    /// The check of images that callers pass in, as `limits` say.
    package func intake(_ limits: Limits) -> ImageIntake {
        ImageIntake(limits: limits)
    }
}
