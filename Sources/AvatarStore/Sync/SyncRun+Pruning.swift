import AvatarCore
import AvatarIndex

/// People who left the list are unlinked from their images, if the sync is asked to.
extension SyncRun {
    /// Notes that the list has a picture for `contact`, or somewhere to ask for one.
    func noteName(_ contact: String) {
        if options.prunes { namedContacts.insert(KeyFingerprint(contact)) }
    }

    /// Only a list that was read to its end, and all of it, says who is not in it; one without contacts says nothing.
    var mayPrune: Bool {
        options.prunes && !shouldStop && !hasUnreadableRecord && report.contacts > 0
    }

    func prune() async throws {
        guard mayPrune else {
            report.hasKeptLeavers = options.prunes
            return
        }
        try await writer.unlink(formerImages)
        report.unlinked += Set(formerImages.map(\.contact)).count
        var last = ""
        while true {
            let page = try store.index.contacts(after: last, limit: 512)
            guard let end = page.last else { return }
            last = end
            let gone = page.filter { !namedContacts.contains(KeyFingerprint($0)) }
            let links = try gone.flatMap { contact in
                try store.index.imageKeys(of: contact).map { (contact: contact, key: $0) }
            }
            try await writer.unlink(links)
            report.unlinked += gone.count
            if Task.isCancelled { return }
        }
    }
}
