/// The state of an entry. The raw value is the word in the view `avatar_overview`, in JSON and on the command line.
public enum AvatarState: String, Sendable, CaseIterable, Codable {
    /// The stored image is within its freshness lifetime (RFC 9111 section 4.2).
    case fresh
    /// The freshness lifetime of the stored image is over: it is due for revalidation.
    case stale
    /// The last check failed, for another reason than `gone`. A stored image stays.
    case failing
    /// The origin reported that the image does not exist (404 or 410).
    case gone
    /// The file was evicted to keep the budget. A read or a sync fetches the image again.
    case evicted
    /// The file is lost: deleted by another program, or damaged.
    case missing
    /// The origin sends an ignored image, so the entry has no image (`AvatarStore.ignore(digests:dryRun:)`).
    case ignored
    /// An own image or an embedded photo. It has no origin.
    case own
}
