import AvatarCore

@testable import AvatarIndex

extension IndexTransaction {
    /// Makes an entry; `host: nil` makes an own image.
    @discardableResult
    func add(
        _ key: String,
        host: String? = "example.com:443",
        storageClass: StorageClass = .caches,
        file: Int64? = nil,
        dueAt nextCheck: Int64? = nil
    ) throws -> Int64 {
        let id = try insertEntry(
            AvatarKey(stored: key),
            sourceURL: host == nil ? nil : key,
            host: host,
            storageClass: storageClass
        )
        if let file { try setFile(file, storageClass: storageClass, of: id) }
        if let nextCheck { try schedule(id, at: nextCheck) }
        return id
    }

    /// Publishes the file `number`, whose digest and path are its own.
    @discardableResult
    func addFile(
        _ number: Int,
        bytes: Int = 1000,
        storageClass: StorageClass = .caches,
        lastAccess: Int64 = 0
    ) throws -> Int64 {
        try insertFile(
            .sample(number, bytes: bytes, storageClass: storageClass),
            sha256: FileRecord.sampleDigest(number),
            hasMetadata: nil,
            lastAccessMicroseconds: lastAccess
        )
    }

    /// Says when the entry is due, and nothing else of the origin's answers.
    func schedule(_ id: Int64, at nextCheck: Int64?) throws {
        var validation = ValidationRecord()
        validation.nextCheck = nextCheck.map(Timestamp.init(milliseconds:))
        try setValidation(validation, of: id)
    }
}

extension FileRecord {
    /// The file `number`, not yet in the index.
    static func sample(_ number: Int, bytes: Int = 1000, storageClass: StorageClass = .caches) -> FileRecord {
        FileRecord(
            id: 0,
            storageClass: storageClass,
            path: "ab/\(number).png",
            sizeBytes: bytes,
            mediaType: "image/png",
            width: 40,
            height: 30
        )
    }

    /// 32 bytes that no other number has.
    static func sampleDigest(_ number: Int) -> [UInt8] {
        (0..<32).map { $0 < 8 ? UInt8(truncatingIfNeeded: number >> (8 * $0)) : 0xA5 }
    }
}

extension PendingFile {
    /// The pending file `number` of `holder`.
    static func sample(
        _ number: Int,
        bytes: Int = 1000,
        storageClass: StorageClass = .caches,
        holder: String = "me"
    ) -> PendingFile {
        PendingFile(storageClass: storageClass, path: "cd/\(number).png", sizeBytes: bytes, holder: holder)
    }
}

extension AvatarKey {
    /// The key with the bytes of `text`.
    static func stored(_ text: String) -> AvatarKey {
        AvatarKey(stored: text)
    }
}

extension IndexTransaction {
    /// Removes the entry and its owners, and gives its file if no other entry uses it.
    func removeEntry(id: Int64, fileID: Int64?, holder: String) throws -> PendingFile? {
        try removeEntry(id: id)
        return try fileID.flatMap { try retireFileIfUnused(id: $0, holder: holder) }
    }
}
