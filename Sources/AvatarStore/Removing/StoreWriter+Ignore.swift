package import AvatarCore
import AvatarFiles
import AvatarIndex
package import AvatarReports
package import AvatarWriter

/// Ignored images: removes them from entries. `Publication` does not store them after a fetch.
extension StoreWriter {
    /// The limit on the entries that one transaction changes, because other processes wait for it.
    private static let ignoreBatchSize = 512

    /// Ignores the images with these digests, and removes them from all entries, 512 per transaction.
    ///
    /// The first transaction for an image records its digest, so that no other process stores it again. The last one deletes
    /// its file. If the process is killed in between, the next sync or another call continues.
    package nonisolated func ignore(_ digests: [[UInt8]], at now: Timestamp) async throws -> IgnoreReport {
        var report = IgnoreReport()
        for digest in digests {
            var begin: Timestamp? = now
            while true {
                let step = try await takeStored(digest, beginningAt: begin)
                report.add(step)
                begin = nil
                if step.isLast { break }
            }
            // An evicted entry still has the image.
            let remembering = try index.entriesRemembering(digest)
            for start in stride(from: 0, to: remembering.count, by: Self.ignoreBatchSize) {
                let batch = remembering[start..<min(start + Self.ignoreBatchSize, remembering.count)]
                report.add(try await takeRemembered(digest, from: batch))
            }
            try await completeIgnoring(digest)
        }
        try await settle()
        return report
    }

    /// Continues the work of a process that was killed while it ignored an image, and repairs entries whose ignored image is
    /// no longer in the list.
    nonisolated func finishIgnoring(at now: Timestamp) async throws {
        let unfinished = try index.incompletelyIgnored()
        if !unfinished.isEmpty { _ = try await ignore(unfinished, at: now) }
        while let digest = try index.digestIgnoredInVain() { try await seekAgain(digest, at: now) }
    }

    /// Makes the next entries that ignore the image due, unless the list has it again.
    private func seekAgain(_ sha256: [UInt8], at now: Timestamp) throws {
        try write { transaction in
            guard try !transaction.isIgnored(sha256) else { return }
            for id in try transaction.entries(ignoring: sha256, limit: Self.ignoreBatchSize) {
                try transaction.seekAgain(id, at: now)
            }
        }
    }

    /// Removes the image from the next entries that have its file. The last step deletes the file.
    ///
    /// - Parameter time: the time of the call, in the first step; `nil` in later steps.
    private func takeStored(_ sha256: [UInt8], beginningAt time: Timestamp?) throws -> IgnoreStep {
        let step = try write(.power) { transaction in
            var step = IgnoreStep()
            if let time { try transaction.addIgnored(sha256, at: time) }
            // Another process may have stopped ignoring it since the previous step.
            guard try transaction.isIgnored(sha256) else {
                step.isLast = true
                return step
            }
            let entries = try transaction.entries(withImage: sha256, limit: Self.ignoreBatchSize)
            for (id, key) in entries { try take(sha256, from: id, key: key, in: transaction, adding: &step) }
            step.isLast = entries.count < Self.ignoreBatchSize
            guard step.isLast else { return step }
            for storageClass in StorageClass.allCases {
                guard let file = try transaction.file(withDigest: sha256, in: storageClass) else { continue }
                if let unused = try places.release(file.id, in: transaction) { step.retired.append(unused) }
            }
            return step
        }
        try pending.unlink(step.retired)
        return step
    }

    /// Removes the image from entries whose file was evicted or purged.
    private func takeRemembered(
        _ sha256: [UInt8],
        from entries: ArraySlice<(id: Int64, key: AvatarKey)>
    ) throws -> IgnoreStep {
        try write { transaction in
            var step = IgnoreStep()
            guard try transaction.isIgnored(sha256) else { return step }
            for (id, key) in entries {
                try take(sha256, from: id, key: key, ifEvicted: true, in: transaction, adding: &step)
            }
            return step
        }
    }

    private func completeIgnoring(_ sha256: [UInt8]) throws {
        try write { try $0.completeIgnoring(sha256) }
    }

    /// Removes the image from one entry. For an embedded photo, removes the entry.
    private func take(
        _ sha256: [UInt8],
        from id: Int64,
        key: AvatarKey,
        ifEvicted: Bool = false,
        in transaction: IndexTransaction,
        adding step: inout IgnoreStep
    ) throws {
        let contacts = try transaction.contactCount(of: id)
        if key.isContactPhoto {
            // A sync may have stored another photo since the evicted one was looked up.
            if ifEvicted, try transaction.state(of: key)?.fileID != nil { return }
            try transaction.removeEntry(id: id)
        } else {
            guard try transaction.ignoreImage(sha256, of: id, ifEvicted: ifEvicted) else { return }
        }
        step.entries += 1
        step.contacts += contacts
    }

    /// Stops ignoring the images with these digests. Their entries become `missing` and due at once.
    ///
    /// - Returns: the numbers of entries and contacts, and the digests that were not ignored.
    package nonisolated func unignore(
        _ digests: [[UInt8]],
        at now: Timestamp
    ) async throws -> (report: IgnoreReport, unknown: [[UInt8]]) {
        var (report, unknown) = (IgnoreReport(), [[UInt8]]())
        for digest in digests {
            while true {
                let (step, wasIgnored) = try await giveBack(digest, at: now)
                report.add(step)
                if !wasIgnored { unknown.append(digest) }
                if step.isLast { break }
            }
        }
        return (report, unknown)
    }

    /// Makes the next entries that ignore the image due. The last step removes its digest from the list, so another call
    /// continues if this process is killed before.
    private func giveBack(_ sha256: [UInt8], at now: Timestamp) throws -> (step: IgnoreStep, wasIgnored: Bool) {
        try write(.power) { transaction in
            var step = IgnoreStep()
            let entries = try transaction.entries(ignoring: sha256, limit: Self.ignoreBatchSize)
            for id in entries {
                step.entries += 1
                step.contacts += try transaction.contactCount(of: id)
                try transaction.seekAgain(id, at: now)
            }
            step.isLast = entries.count < Self.ignoreBatchSize
            return (step, try step.isLast ? transaction.removeIgnored(sha256) : true)
        }
    }
}

/// One transaction of `ignore` or `unignore`.
private struct IgnoreStep {
    var entries = 0
    var contacts = 0
    /// Files that no entry uses any more, to be deleted after the commit.
    var retired: [PendingFile] = []
    /// Whether no entries are left.
    var isLast = false
}

extension IgnoreReport {
    fileprivate mutating func add(_ step: IgnoreStep) {
        entries += step.entries
        contacts += step.contacts
        files += step.retired.count
        bytes += step.retired.reduce(0) { $0 + $1.sizeBytes }
    }
}
