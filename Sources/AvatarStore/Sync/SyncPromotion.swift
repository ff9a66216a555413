import AvatarCore

/// Moves images to `documents`, in a sync that wants its images there.
///
/// A new image is published there at once. An image that is in `caches` and stays as it is, without a request or after a
/// 304, is moved.
final class SyncPromotion {
    /// Shared with the other parts.
    private let scope: SyncScope
    /// Images whose outcome is known, and that are moved after the commit.
    private var waiting: [AvatarKey] = []

    /// A promotion without a collected image.
    init(_ scope: SyncScope) { self.scope = scope }

    /// Collects an image for `promoteWaiting`.
    func add(_ key: AvatarKey) {
        if scope.usesDocuments { waiting.append(key) }
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
        guard scope.usesDocuments else { return }
        do {
            _ = try await scope.parts.move(key, to: .documents)
        } catch let error as AvatarStoreError where error.code == .noSuchEntry {
            // The image was removed or purged in between. The next sync finds it missing.
        }
    }
}
