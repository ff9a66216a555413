import AvatarCore
import AvatarFiles
import AvatarIndex

extension AvatarEntry {
    /// Whether a source said that it has no picture for an address: asked about anew by the sync of a list that has the
    /// address, when the time has come.
    var isKnownNone: Bool {
        key.isEmailImage && file == nil && validation.failure == .gone
    }
}

extension SyncOptions {
    /// Whether the source of `none` need not be asked again: it said so not long ago.
    func believes(_ none: AvatarEntry, at now: Timestamp) -> Bool {
        guard policy != .reload, let checked = none.validation.checked else { return false }
        let age = now.milliseconds - checked.milliseconds
        // A clock that was set back is no reason to wait.
        return age >= 0 && age < Int64(emailRecheck / .milliseconds(1))
    }
}

/// Contacts without a picture of their own: sources are asked for their e-mail addresses, one after the other.
///
/// Each candidate is one of a chain (`CandidateChain`). "None" is kept with the entry, which belongs to the contact as a
/// picture would: it goes when the contact goes.
extension SyncRun {
    func sort(_ emails: [String], of contact: String) async throws {
        let candidates = try options.emailCandidates(for: emails)
        report.contacts += 1
        guard !candidates.isEmpty else { return countWithoutImage() }
        noteName(contact)
        let linked = Set(try store.index.imageKeys(of: contact))
        let photos = linked.filter(\.isContactPhoto)
        if !photos.isEmpty { replacedImages.append((contact, Array(photos), candidates)) }
        try await forget(linked.filter { $0.isEmailImage && !candidates.contains($0) }, of: contact)
        try await advance(CandidateChain(contact: contact, candidates: candidates, linked: linked))
    }

    /// Whether the source need not be asked again: it had none, and that is not long ago.
    func isBelieved(_ entry: AvatarEntry) -> Bool {
        guard entry.isKnownNone else { return false }
        return seen.contains(KeyFingerprint(entry.key.rawValue)) || options.believes(entry, at: store.clock.now())
    }

    /// What is known of addresses that the contact has no more; a picture stays until another one has come.
    private func forget(_ former: Set<AvatarKey>, of contact: String) async throws {
        let none = try former.filter { try store.index.entry(for: $0)?.file == nil }
        try await writer.unlink(none.map { (contact, $0) })
    }

    func countWithoutImage() {
        report.withoutImage += 1
        done += 1
    }
}
