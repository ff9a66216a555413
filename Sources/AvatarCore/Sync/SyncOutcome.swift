/// The outcome of a sync.
public enum SyncOutcome: String, Hashable, Sendable {
    /// Every image is stored or confirmed, or was skipped for a reason that is not a failure.
    case complete
    /// Some images failed, a record of the list is unreadable, or the network was missing at the end.
    case incomplete
    /// The sync had images to request, but got no response: there was no network, or every host was down. No image was fresh
    /// or fetched. Of the last sync of a store also: an address book gave no response.
    case unreached
    /// The sync was cancelled. The images that had arrived are stored.
    case interrupted
    /// The sync threw an error of the contact list, the index or the disk. Of the last sync of a store also: an address book could not be
    /// read.
    case failed

    /// The exit code of `avatars sync` with this outcome.
    package var exitStatus: Int {
        switch self {
        case .complete: 0
        case .incomplete: 1
        case .unreached: 69
        case .interrupted: 130
        case .failed: 2
        }
    }
}
