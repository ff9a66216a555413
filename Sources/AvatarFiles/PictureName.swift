package import AvatarCore
package import AvatarImages
import Crypto
import Foundation

/// File names for pictures in people's folders: after what the image is called, and safe wherever the folder is taken.
package enum PictureName {
    /// The most bytes of what comes before the ending.
    static let maximumBytes = 100
    /// What Windows takes for a device, whatever the ending.
    private static let devices: Set<String> = Set(
        ["con", "prn", "aux", "nul"] + (0...9).flatMap { ["com\($0)", "lpt\($0)"] }
    )

    /// A name for the image of `key`, such as `Ada.png`. Two keys may have the same one.
    package static func make(for key: AvatarKey, format: ImageFormat) -> String {
        stem(for: key, format: format) + "." + format.fileExtension
    }

    /// A name that no other key has: `Ada-0123456789ab.png`.
    package static func makeDistinct(for key: AvatarKey, format: ImageFormat) -> String {
        let digest = Hexadecimal.text(SHA256.hash(data: Data(key.rawValue.utf8)).prefix(6))
        return stem(for: key, format: format) + "-" + digest + "." + format.fileExtension
    }

    /// What an own picture in the file `name` is called: the name without its ending.
    package static func imageName(ofFile name: String) -> String {
        let stem = name.utf8.lastIndex(of: UInt8(ascii: ".")).map { String(name[..<$0]) } ?? name
        return (stem.isEmpty ? name : stem).precomposedStringWithCanonicalMapping
    }

    private static func stem(for key: AvatarKey, format: ImageFormat) -> String {
        var stem = safe(title(of: key))
        if stem.lowercased().hasSuffix("." + format.fileExtension) { stem.removeLast(format.fileExtension.count + 1) }
        while stem.utf8.count > maximumBytes { stem.removeLast() }
        // A dot at the front hides a file, a dash makes it an option, and Windows drops what is at the end.
        stem = stem.trimmingCharacters(in: CharacterSet(charactersIn: ".- "))
        if stem.isEmpty { stem = "image" }
        let device = stem.prefix { $0 != "." }.lowercased()
        return devices.contains(device) ? "_" + stem : stem
    }

    /// What a person would call the image.
    private static func title(of key: AvatarKey) -> String {
        let text = key.rawValue
        if key.isOwnImage { return String(Substring(text.utf8.drop { $0 != UInt8(ascii: ":") }.dropFirst())) }
        guard key.isURL else { return text }
        let path = text.prefix { $0 != "?" }.split(separator: "/").dropFirst(2)
        return path.last.map { $0.removingPercentEncoding ?? String($0) } ?? key.host?.name ?? "image"
    }

    /// `text` with an underscore for whatever is no letter, digit, mark, space or one of `-_.`.
    private static func safe(_ text: String) -> String {
        var safe = String.UnicodeScalarView()
        for scalar in text.precomposedStringWithCanonicalMapping.unicodeScalars {
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
