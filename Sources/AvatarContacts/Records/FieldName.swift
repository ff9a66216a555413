/// The rules for names of fields in JSON and of columns in CSV.
enum FieldName {
    /// The names of the field with the image's URL, without case, `_` and `-`.
    static let images = Set(ContactList.imageFieldNames.map(plain))

    /// The limit for a name, in bytes. A longer one is not read and not looked at.
    static let maximumBytes = 256

    /// The name without regard to case, `_`, `-` and spaces, in which lists may spell it differently.
    static func plain(_ name: String) -> String {
        String(decoding: name.utf8.lazy.filter { !ignored.contains($0) }, as: UTF8.self).lowercased()
    }

    private static let ignored = Array("_- ".utf8)

    /// Whether a name that is not read suggests the URL of an image, or its value, a web address, does.
    static func resemblance(_ name: String, isImageAddress: Bool) -> Resemblance? {
        let plain = plain(name)
        if imageWords.contains(where: plain.contains) { return .image }
        return isImageAddress || plain.hasSuffix("url") ? .address : nil
    }

    /// The reason to take a field for one with images.
    enum Resemblance {
        /// The name has a word for an image.
        case image
        /// The name only ends in `url`, which may be a web page, or the address ends like that of an image file.
        case address
    }

    private static let imageWords = [
        "avatar", "photo", "picture", "image", "portrait", "icon", "thumbnail", "logo", "foto", "bild",
    ]

    /// Whether a value begins like the URL of an image: `http:` or `https:`.
    static func isWebAddress(_ value: some Collection<UInt8>) -> Bool {
        value.prefix(5).spells("HTTP:") || value.prefix(6).spells("HTTPS:")
    }

    /// Whether the path of a web address ends like the name of an image file.
    static func isImageAddress(_ value: some Collection<UInt8>) -> Bool {
        let path = value.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        return imageEndings.contains { ending in path.suffix(ending.utf8CodeUnitCount).spells(ending) }
    }

    private static let imageEndings: [StaticString] = [
        ".JPG", ".JPEG", ".PNG", ".GIF", ".WEBP", ".AVIF", ".HEIC", ".SVG",
    ]
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
    /// A field whose name has no word for an image counts while no contact has an image in a field that is read.
    var name: String? { image ?? (hasImages ? nil : address) }

    /// Notes that a contact has an image in a field that is read.
    mutating func noteImage() {
        hasImages = true
    }

    /// Notes a field that is not read, of a contact without an image. Its value is a web address.
    mutating func note(_ name: String, isImageAddress: Bool) {
        switch FieldName.resemblance(name, isImageAddress: isImageAddress) {
        case .image?: image = image ?? name
        case .address?: address = address ?? name
        case nil: break
        }
    }
}

/// Finds out whether a list has a field for images, and which fields it has if not.
struct ImageFieldSurvey {
    private var hasImageField = false
    private var fields: ContactList.FieldsWithoutImage?

    /// The fields of a list without one for images; `nil` if it has one, or no contact yet.
    var fieldsWithoutImage: ContactList.FieldsWithoutImage? { hasImageField ? nil : fields }

    /// Notes that a contact has a field for images, even if it is empty.
    mutating func noteImageField() {
        hasImageField = true
    }

    /// Notes a contact without such a field.
    ///
    /// - Parameters:
    ///   - names: The names of the fields of its record, which are wanted of the first contact only.
    ///   - hasEmails: Whether the record has a field for e-mail addresses.
    mutating func note(_ names: @autoclosure () -> [String], hasEmails: Bool) {
        guard !hasImageField else { return }
        if fields == nil { fields = ContactList.FieldsWithoutImage(names: names(), hasEmails: false) }
        if hasEmails { fields?.hasEmails = true }
    }
}
