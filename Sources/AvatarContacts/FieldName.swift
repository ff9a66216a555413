/// The rules for names of fields in JSON and of columns in CSV.
enum FieldName {
    /// The names of the field with the image's URL, without case, `_` and `-`.
    static let images: Set<String> = ["avatarurl", "avatar", "photo", "picture", "image"]

    /// The limit for a name, in bytes. A longer one is not read and not looked at.
    static let maximumBytes = 256

    /// The name without regard to case, `_`, `-` and spaces, in which lists may spell it differently.
    static func plain(_ name: String) -> String {
        String(decoding: name.utf8.lazy.filter { !ignored.contains($0) }, as: UTF8.self).lowercased()
    }

    private static let ignored = Array("_- ".utf8)

    /// Whether a name that is not read suggests the URL of an image.
    static func resemblance(_ name: String) -> Resemblance? {
        let plain = plain(name)
        if imageWords.contains(where: plain.contains) { return .image }
        return plain.hasSuffix("url") ? .address : nil
    }

    /// The reason to take a field for one with images.
    enum Resemblance {
        /// The name has a word for an image.
        case image
        /// The name only ends in `url`, which may be a web page.
        case address
    }

    private static let imageWords = [
        "avatar", "photo", "picture", "image", "portrait", "icon", "thumbnail", "logo",
    ]

    /// Whether a value begins like the URL of an image: `http:` or `https:`.
    static func isWebAddress(_ value: some Collection<UInt8>) -> Bool {
        value.prefix(5).spells("HTTP:") || value.prefix(6).spells("HTTPS:")
    }
}

/// Finds the field of a list that seems to have the images, but has a name that is not read.
struct UnreadImageField {
    private var image: String?
    private var address: String?
    /// Whether any contact had an image in a field that is read.
    private var hasImages = false

    /// Whether further fields cannot change the result.
    var isSettled: Bool { image != nil }

    /// The name of the field; `nil` without one.
    ///
    /// A field whose name only ends in `url` counts while no contact has an image in a field that is read.
    var name: String? { image ?? (hasImages ? nil : address) }

    /// Notes that a contact has an image in a field that is read.
    mutating func noteImage() {
        hasImages = true
    }

    /// Notes a field that is not read, of a contact without an image. Its value is a web address.
    mutating func note(_ name: String) {
        switch FieldName.resemblance(name) {
        case .image?: image = image ?? name
        case .address?: address = address ?? name
        case nil: break
        }
    }
}
