/// Why an image could not be had: the word that is kept with the entry and printed by the commands.
///
/// More kinds may be added; compare with the members below.
public struct FailureKind: RawRepresentable, Hashable, Sendable, Codable, CustomStringConvertible {
    /// The stable spelling, as in JSON output.
    public let rawValue: String

    /// The kind spelled `rawValue`.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// The stable spelling.
    public var description: String { rawValue }

    /// 404 or 410: the origin says there is no such image.
    public static let gone = FailureKind(rawValue: "gone")
    /// 401 or 403: the origin does not give the image to us.
    public static let refused = FailureKind(rawValue: "refused")
    /// 429: the origin asks for fewer requests.
    public static let rateLimited = FailureKind(rawValue: "rateLimited")
    /// Any 5xx answer.
    public static let serverError = FailureKind(rawValue: "serverError")
    /// An answer with a status that gives no image.
    public static let unexpectedStatus = FailureKind(rawValue: "unexpectedStatus")
    /// The bytes are no image of a known format.
    public static let notImage = FailureKind(rawValue: "notImage")
    /// More bytes than the limit for one image, or than the whole budget.
    public static let tooLarge = FailureKind(rawValue: "tooLarge")
    /// More pixels than the limit.
    public static let tooManyPixels = FailureKind(rawValue: "tooManyPixels")
    /// The image ends before its own end.
    public static let truncated = FailureKind(rawValue: "truncated")
    /// The deadline for one image passed.
    public static let timeout = FailureKind(rawValue: "timeout")
    /// No connection to this host, or it broke.
    public static let unreachable = FailureKind(rawValue: "unreachable")
    /// There is no network, or a read asked for no request.
    public static let offline = FailureKind(rawValue: "offline")
    /// More redirects than the limit, or a circle of them.
    public static let tooManyRedirects = FailureKind(rawValue: "tooManyRedirects")
    /// The host has an address that may not be contacted.
    public static let forbiddenAddress = FailureKind(rawValue: "forbiddenAddress")
    /// Not http or https, with user info, or no URL at all.
    public static let unsupportedURL = FailureKind(rawValue: "unsupportedURL")
    /// The image could not be written or indexed.
    public static let storage = FailureKind(rawValue: "storage")
    /// A record of a contact list cannot be read.
    public static let badRecord = FailureKind(rawValue: "badRecord")
}

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
