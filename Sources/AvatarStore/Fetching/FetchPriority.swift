/// How urgently an image is wanted. What waits for a connection goes in this order.
public enum FetchPriority: Int, Sendable, Comparable, CaseIterable {
    /// Nobody is waiting: a sync.
    case background
    /// Somebody asked for it.
    case normal
    /// A person is looking at the place where it belongs.
    case high

    /// Whether the left one goes later.
    public static func < (left: FetchPriority, right: FetchPriority) -> Bool {
        left.rawValue < right.rawValue
    }
}
