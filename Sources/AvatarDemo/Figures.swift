import AvatarStore
import Foundation

/// Numbers for people.
enum Figures {
    /// `1,234`.
    static func count(_ number: Int) -> String {
        var digits = String(number.magnitude)
        var groups: [String] = []
        while digits.count > 3 {
            groups.insert(String(digits.suffix(3)), at: 0)
            digits.removeLast(3)
        }
        return (number < 0 ? "-" : "") + ([digits] + groups).joined(separator: ",")
    }

    /// `1 file`, `2 files`.
    static func count(_ number: Int, _ singular: String) -> String {
        "\(count(number)) \(number == 1 ? singular : singular + "s")"
    }

    /// `812 B`, `3.8 kB`, `2.9 MB`: powers of ten.
    static func bytes(_ number: Int) -> String { ByteSize.text(number) }

    /// `48 ms`, `3.4 s`.
    static func seconds(_ seconds: Double) -> String {
        seconds < 1 ? "\(Int((seconds * 1000).rounded())) ms" : "\(decimal(seconds)) s"
    }

    private static func decimal(_ number: Double) -> String {
        String(format: "%.1f", number)
    }
}
