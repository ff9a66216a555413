extension FailureKind {
    /// The failure that a response with `status` is; `nil` for one that may bring an image or confirms one (304).
    ///
    /// 200, 203 and unassigned 2xx bring one (RFC 9110 section 15). A 206 counts as a failure here: its fields decide
    /// whether it is whole.
    package init?(status: Int) {
        switch status {
        case 200, 203, 304: return nil
        case 200...299 where !Self.assignedSuccesses.contains(status): return nil
        case 404, 410: self = .gone
        case 401, 403: self = .refused
        case 429: self = .rateLimited
        case 500...599: self = .serverError
        default: self = .unexpectedStatus
        }
    }

    /// Other than 200 and 203. What they mean is more or less than that the body is the image.
    private static let assignedSuccesses: Set = [201, 202, 204, 205, 206, 207, 208, 226]

    /// Whose fault a failure is.
    package enum Blame: Hashable, Sendable {
        /// The image's own: others of its host may well be had.
        case image
        /// The host's: others would fare no better.
        case host
        /// Neither's: the network is not there, or our own disk failed. Nothing is kept of it.
        case nobody
    }

    package var blame: Blame {
        switch self {
        case .timeout, .unreachable, .serverError, .rateLimited: .host
        case .offline, .storage, .badRecord: .nobody
        default: .image
        }
    }
}
