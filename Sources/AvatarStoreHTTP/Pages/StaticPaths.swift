import AvatarCore
import AvatarDigest
import AvatarMaintenance
import AvatarStore

/// The paths of an exported gallery, relative to the page that names them.
struct StaticPaths {
    /// Whether they are for the first page, which lies beside the images. All other pages lie in a folder.
    let isFirstPage: Bool

    /// The name of the icon in the folder of the pages.
    static let iconName = "icon.svg"
    /// The policy for a page. A file has no origin, so `'self'` alone would allow no image.
    private static let policy =
        "default-src 'none'; img-src 'self' file:; \(PageStyle.policy); form-action 'none'; base-uri 'none'"

    /// The first page.
    var home: String { (isFirstPage ? "" : "../") + ExportFolder.firstPageName }

    /// Page `number` of the gallery, from 1 on.
    func gallery(_ number: Int) -> String { number == 1 ? home : page("page-\(number).html") }

    /// The page about a contact. An id may have any length and any character, so the name is made from its digest.
    func contact(_ id: String) -> String { page(Self.digest(id) + ".html") }

    /// The file `name` in the folder of the pages.
    func page(_ name: String) -> String { (isFirstPage ? ExportFolder.pageFolderName + "/" : "") + name }

    /// The exported image `name`.
    func image(_ name: String) -> String { (isFirstPage ? "" : "../") + RequestTarget.encoded(name) }

    /// 128 bits of the SHA-256 of `text`, in hexadecimal digits.
    static func digest(_ text: String) -> String {
        Hexadecimal.text(SHA256.hash(text.utf8).prefix(16))
    }

    /// The frame of a page made at `now`.
    ///
    /// - Parameter count: what the pages show in all, such as `12 contacts`; `nil` to leave it out.
    func frame(_ now: Timestamp, count: String? = nil) -> PageFrame {
        PageFrame(
            home: home,
            icon: page(Self.iconName),
            search: nil,
            policy: Self.policy,
            footer: "\(count.map { "\($0), as" } ?? "As") of \(PageTime.date(now))."
        )
    }
}
