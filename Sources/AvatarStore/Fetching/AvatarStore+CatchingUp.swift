import AvatarCore
import AvatarFiles
import AvatarIndex

extension AvatarStore {
    /// The right to ask the origin for `key`; waits at most `bound` for another process that has it.
    ///
    /// - Returns: `nil` if it could not be had: the caller asks all the same.
    func lease(of key: AvatarKey, within bound: Duration) async throws -> FetchLease? {
        try await requireWritable().places.leases.take(key, within: bound, configuration.logger)
    }

    /// Looks at the entry again, now that nobody else fetches it: between the last look and the lease somebody may have.
    ///
    /// - Returns: what came of it, if the origin was asked since the last look; `nil` if it has to be asked now.
    func catchUp(_ target: inout FetchTarget) throws -> FetchOutcome? {
        let seen = target.entry
        let found = try index.entryToFetch(for: target.key)
        target.update(found?.entry, isPartial: found?.isPartial ?? false)
        guard let entry = target.entry, let checked = entry.validation.checked,
            checked != seen?.validation.checked
        else { return nil }
        if let kind = entry.validation.failure {
            let message = "Another process asked for \(target.key) at the same moment, and failed: \(kind.rawValue)."
            return .failed(FetchFailure(kind: kind, message: message))
        }
        guard let file = entry.file, roots.contains(file) else { return nil }
        guard entry.validation.fetched == checked else { return .notModified }
        return .stored(isChanged: seen?.file.map { $0.id != file.id } ?? false)
    }
}
