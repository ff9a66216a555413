import AvatarStore

/// What is behind a person's image URL: an image, or one of the things that happen instead.
enum Picture: Hashable, Sendable {
    /// A picture of their own.
    case portrait(Format)
    /// The logo of their company: one URL for all who work there.
    case companyLogo
    /// The picture that a service shows for people without one: a URL each, and the same bytes.
    case placeholder
    /// A redirect to the image, on another host.
    case moved
    /// An image that says it is plain text.
    case mislabelled
    /// An image that takes its time.
    case slow
    /// No picture at all: the contact has no URL.
    case none
    /// 404.
    case deleted
    /// 500.
    case brokenServer
    /// A sign-in page, with status 200.
    case webPage
    /// An image whose second half never comes.
    case cutShort
    /// A connection on which nothing ever comes.
    case silence
    /// A photo straight from a camera, or a film.
    case enormous

    enum Format: Hashable, Sendable {
        case png
        case gif
        case bmp
    }

    /// What person `number` has; the first rule that fits counts.
    init(ofPerson number: Int) {
        self = Self.rules.first { number % $0.modulus == $0.remainder }?.picture ?? .portrait(.png)
    }

    private static let rules: [(modulus: Int, remainder: Int, picture: Picture)] = [
        (1000, 17, .silence), (1000, 250, .enormous), (1000, 333, .slow),
        (100, 3, .deleted), (100, 23, .brokenServer), (100, 43, .webPage), (100, 63, .cutShort),
        (100, 83, .moved), (100, 31, .mislabelled),
        (20, 7, .none), (20, 13, .companyLogo), (40, 19, .placeholder),
        (10, 4, .portrait(.bmp)), (5, 1, .portrait(.gif)),
    ]

    /// Why the image cannot be had; `nil` if it can.
    var failure: FailureKind? {
        switch self {
        case .deleted: .gone
        case .brokenServer: .serverError
        case .webPage: .notImage
        case .cutShort: .truncated
        case .silence: .timeout
        case .enormous: .tooLarge
        case .portrait, .companyLogo, .placeholder, .moved, .mislabelled, .slow, .none: nil
        }
    }
}
