import AvatarMaintenance
import AvatarStore
import AvatarStoreTesting
import Testing

extension StoreFixture {
    /// Fails unless index and disk agree: each listed file exists with its length, there is no other file, the totals
    /// are the sums, and nothing is pending or left in staging.
    func expectConsistent(sourceLocation: SourceLocation = #_sourceLocation) throws {
        let items = try store.list(AvatarListQuery()).items
        let statistics = try store.statistics()
        for storageClass in StorageClass.allCases {
            let prefix = storageClass.rawValue + "/"
            let listed = Dictionary(
                items.compactMap { item in
                    item.localFile.flatMap { file in
                        file.hasPrefix(prefix) ? (String(file.dropFirst(prefix.count)), item.sizeBytes ?? 0) : nil
                    }
                },
                uniquingKeysWith: { first, _ in first }
            )
            #expect(files(in: storageClass) == listed, sourceLocation: sourceLocation)
            let bytes = storageClass == .caches ? statistics.cachesBytes : statistics.documentsBytes
            #expect(bytes == listed.values.reduce(0, +), sourceLocation: sourceLocation)
        }
        #expect(statistics.pendingBytes == 0, sourceLocation: sourceLocation)
    }
}
