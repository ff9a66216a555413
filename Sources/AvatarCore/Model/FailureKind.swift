/// The reason why the store has no current image: the word that the index records and the commands print.
///
/// Later versions may add kinds, so compare with the members below instead of expecting a complete list.
public struct FailureKind: RawRepresentable, Hashable, Sendable, Codable, CustomStringConvertible {
    /// The spelling of the kind, the same in all versions and in JSON output.
    public let rawValue: String

    /// The kind spelled `rawValue`.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// The same as `rawValue`.
    public var description: String { rawValue }

    /// 404 or 410: the origin has no such image.
    public static let gone = FailureKind(rawValue: "gone")
    /// 401 or 403: the origin refuses this client the image.
    public static let refused = FailureKind(rawValue: "refused")
    /// 429: the origin asks for fewer requests.
    public static let rateLimited = FailureKind(rawValue: "rateLimited")
    /// Any 5xx status.
    public static let serverError = FailureKind(rawValue: "serverError")
    /// Any other status that does not deliver an image.
    public static let unexpectedStatus = FailureKind(rawValue: "unexpectedStatus")
    /// The body is not an image of a known format.
    public static let notImage = FailureKind(rawValue: "notImage")
    /// The image has more bytes than the limit for one image, or than the whole byte budget.
    public static let tooLarge = FailureKind(rawValue: "tooLarge")
    /// The image has more pixels than the limit.
    public static let tooManyPixels = FailureKind(rawValue: "tooManyPixels")
    /// The image is incomplete.
    public static let truncated = FailureKind(rawValue: "truncated")
    /// The deadline for one image passed.
    public static let timeout = FailureKind(rawValue: "timeout")
    /// No connection to the host came up, or it broke.
    public static let unreachable = FailureKind(rawValue: "unreachable")
    /// The image is ignored (`AvatarStore.ignore(digests:dryRun:)`).
    public static let ignored = FailureKind(rawValue: "ignored")
    /// There is no network, or the read policy forbade a request.
    public static let offline = FailureKind(rawValue: "offline")
    /// More redirects than the limit, or redirects in a circle.
    public static let tooManyRedirects = FailureKind(rawValue: "tooManyRedirects")
    /// The rules forbid the host, its port or its address.
    public static let forbiddenAddress = FailureKind(rawValue: "forbiddenAddress")
    /// The URL is not http or https, contains user info, or is not a URL.
    public static let unsupportedURL = FailureKind(rawValue: "unsupportedURL")
    /// The image could not be written to disk or to the index.
    public static let storage = FailureKind(rawValue: "storage")
    /// This process has as many files and connections open as its limit allows.
    public static let tooManyOpenFiles = FailureKind(rawValue: "tooManyOpenFiles")
    /// A record of the contact list cannot be read.
    public static let badRecord = FailureKind(rawValue: "badRecord")
}

extension FailureKind {
    /// The failure that the status of a response means; `nil` if it delivers an image or confirms one (304).
    ///
    /// 200, 203 and unassigned 2xx deliver one (RFC 9110 section 15). A 206 counts as a failure here; `holdWholeBody`
    /// decides from its fields whether it is complete.
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

    /// The assigned 2xx other than 200 and 203: their body is not the image, or not all of it.
    private static let assignedSuccesses: Set = [201, 202, 204, 205, 206, 207, 208, 226]

    /// The party that caused a failure.
    package enum Blame: Hashable, Sendable {
        /// The image. Other images of the host may well be available.
        case image
        /// The host. Its other images would fail too.
        case host
        /// Neither: there is no network, the local disk failed, or this process is short of descriptors. The index does not
        /// record such a failure.
        case neither
    }

    /// The party that caused this failure. Kinds of later versions count as the image's.
    package var blame: Blame {
        switch self {
        case .timeout, .unreachable, .serverError, .rateLimited: .host
        case .offline, .storage, .tooManyOpenFiles, .badRecord: .neither
        default: .image
        }
    }
}
