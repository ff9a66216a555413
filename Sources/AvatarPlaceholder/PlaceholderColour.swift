/// A background for white letters.
public struct PlaceholderColour: Hashable, Sendable {
    /// How much red there is, in sRGB.
    public let red: UInt8
    /// How much green there is, in sRGB.
    public let green: UInt8
    /// How much blue there is, in sRGB.
    public let blue: UInt8

    /// The colour that belongs to `id`: the same on each machine and in each version.
    public init(of id: String) {
        self = Self.palette[Int(Self.hash(id) % UInt64(Self.palette.count))]
    }

    private init(_ rgb: UInt32) {
        red = UInt8(truncatingIfNeeded: rgb >> 16)
        green = UInt8(truncatingIfNeeded: rgb >> 8)
        blue = UInt8(truncatingIfNeeded: rgb)
    }

    /// As `#1f6f8b`.
    public var text: String {
        "#" + [red, green, blue].map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    /// Dark enough that white letters can be read (a contrast of 4.5 or more). Never changed: colours are remembered.
    static let palette: [PlaceholderColour] = [
        0xB3261E, 0xA63A00, 0x8A5000, 0x6B5E00, 0x486800, 0x1F6E2E, 0x006C4C, 0x006A6A,
        0x00658B, 0x1A5FB4, 0x3D57C0, 0x5B4FC4, 0x7A42B8, 0x9A3591, 0xA8326A, 0x5C5F62,
    ].map(PlaceholderColour.init)

    /// FNV-1a with 64 bits (http://www.isthe.com/chongo/tech/comp/fnv/): Swift's own hash differs in each process.
    private static func hash(_ text: String) -> UInt64 {
        text.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }
}
