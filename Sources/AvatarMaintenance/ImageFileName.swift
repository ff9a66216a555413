package import AvatarCore
import AvatarDigest
package import AvatarImages
import AvatarFoundation

/// File names for exported images: derived from the image's name, and valid on all common systems.
package enum ImageFileName {
    /// The most bytes before the extension.
    static let maximumBytes = 100
    /// Names that Windows reserves for devices, with any extension.
    private static let devices: Set<String> = Set(
        ["con", "prn", "aux", "nul"] + (0...9).flatMap { ["com\($0)", "lpt\($0)"] }
    )

    /// A name for the image of `key`, such as `Ada.png`. Two keys may get the same name.
    package static func make(for key: AvatarKey, format: ImageFormat) -> String {
        make(title: withoutImageExtension(title(of: key)), format: format)
    }

    /// A name that differs for each key, by 48 bits of the key's digest: `Ada-0123456789ab.png`.
    package static func makeDistinct(for key: AvatarKey, format: ImageFormat) -> String {
        makeDistinct(title: withoutImageExtension(title(of: key)), identity: key.rawValue, format: format)
    }

    /// A name for an image with the title `title`, such as `Ada.png`. Two titles may get the same name.
    package static func make(title: String, format: ImageFormat) -> String {
        stem(title, format: format) + "." + format.fileExtension
    }

    /// A name that differs for each `identity`, by 48 bits of its digest: `Ada-0123456789ab.png`.
    package static func makeDistinct(title: String, identity: String, format: ImageFormat) -> String {
        let digest = Hexadecimal.text(SHA256.hash(identity.utf8).prefix(6))
        return stem(title, format: format) + "-" + digest + "." + format.fileExtension
    }

    /// Whether `make(title:format:)` gives this title a name that it gives no other title, and `makeDistinct` none.
    package static func isExact(_ title: String, format: ImageFormat) -> Bool {
        #if canImport(Darwin)
        // The file system may ignore case.
        guard title == title.lowercased() else { return false }
        #endif
        return stem(title, format: format).utf8.elementsEqual(title.utf8)
            && title.wholeMatch(of: /.*-[0-9a-f]{12}/.dotMatchesNewlines()) == nil
    }

    /// The image name for an imported file `name`: without its extension, in Unicode's composed form (NFC).
    package static func imageName(ofFile name: String) -> String {
        let stem = name.utf8.lastIndex(of: UInt8(ascii: ".")).map { String(name[..<$0]) } ?? name
        return (stem.isEmpty ? name : stem).composed
    }

    /// The name without its extension: safe on all common systems, at most `maximumBytes` long, and never empty.
    private static func stem(_ title: String, format: ImageFormat) -> String {
        var stem = safe(title)
        if stem.lowercased().hasSuffix("." + format.fileExtension) { stem.removeLast(format.fileExtension.count + 1) }
        while stem.utf8.count > maximumBytes { stem.removeLast() }
        // A leading dot hides the file, a leading dash looks like an option, and Windows drops trailing dots and spaces.
        stem = stem.trimmed { ".- ".unicodeScalars.contains($0) }
        if stem.isEmpty { stem = "image" }
        let device = stem.prefix { $0 != "." }.lowercased()
        return devices.contains(device) ? "_" + stem : stem
    }

    /// `title` without the extension of an image file, such as `p0` for `p0.png`: the format decides about the extension.
    ///
    /// Files of a mirror under the ids of contacts keep it, because there the name stands for the id.
    private static func withoutImageExtension(_ title: String) -> String {
        guard let dot = title.lastIndex(of: "."), dot > title.startIndex,
            ImageFormat.fileExtensions.contains(title[title.index(after: dot)...].lowercased())
        else { return title }
        return String(title[..<dot])
    }

    /// A readable name for the image: its own name, or the last path component of its URL.
    package static func title(of key: AvatarKey) -> String {
        let text = key.rawValue
        if key.isOwnImage { return String(Substring(text.utf8.drop { $0 != UInt8(ascii: ":") }.dropFirst())) }
        guard key.isURL else { return text }
        let path = text.prefix { $0 != "?" }.split(separator: "/").dropFirst(2)
        return path.last.map { $0.percentDecoded ?? String($0) } ?? key.host?.name ?? "image"
    }

    /// `text` with an underscore in place of each character other than letters, digits, marks, spaces and `-_.`.
    private static func safe(_ text: String) -> String {
        var safe = String.UnicodeScalarView()
        for scalar in text.composed.unicodeScalars {
            switch scalar.properties.generalCategory {
            case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter,
                .nonspacingMark, .spacingMark, .decimalNumber, .letterNumber, .otherNumber:
                safe.append(scalar)
            default:
                safe.append("-_. ".unicodeScalars.contains(scalar) ? scalar : "_")
            }
        }
        return String(safe)
    }
}
