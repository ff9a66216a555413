import AvatarCore

/// Moves images to `documents`, in a sync that wants its images there.
///
/// A fetched image is published in the storage class of its entry. An image that was in `caches` before the sync is
/// moved once it needs no request, or its response is committed.
final class SyncPromotion {
    private let parts: StoreParts
    /// Whether the sync wants its images as documents. If not, nothing is moved.
    private let isWanted: Bool
    /// Images whose outcome is known, and that are moved after the commit.
    private var waiting: [AvatarKey] = []

    init(_ parts: StoreParts, isWanted: Bool) {
        self.parts = parts
        self.isWanted = isWanted
    }

    /// Collects an image for `promoteWaiting`.
    func add(_ key: AvatarKey) {
        if isWanted { waiting.append(key) }
    }

    /// Moves the collected images, unless they are documents already.
    ///
    /// - Throws: as `promote`. The images not moved by then are dropped.
    func promoteWaiting() async throws {
        let keys = waiting
        waiting = []
        for key in keys { try await promote(key) }
    }

    /// Moves one image now, unless it is a document already.
    ///
    /// - Throws: an error of the index or the disk.
    func promote(_ key: AvatarKey) async throws {
        guard isWanted else { return }
        do {
            _ = try await parts.move(key, to: .documents)
        } catch let error as AvatarStoreError where error.code == .noSuchEntry {
            // The image was removed or purged in between. The next sync finds it missing.
        }
    }
}
