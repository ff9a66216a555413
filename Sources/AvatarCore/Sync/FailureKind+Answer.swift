extension FailureKind {
    /// What an answer with `status` is, if it brings no image; `nil` for one that may (200, 203) or that confirms one
    /// (304). A 206 counts as a failure: a part was not asked for, or else it is judged by its `ResumePlan`.
    package init?(status: Int) {
        switch status {
        case 200, 203, 304: return nil
        case 404, 410: self = .gone
        case 401, 403: self = .refused
        case 429: self = .rateLimited
        case 500...599: self = .serverError
        default: self = .unexpectedStatus
        }
    }

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
