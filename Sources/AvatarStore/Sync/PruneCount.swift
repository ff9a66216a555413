import AvatarIndex

/// The contacts that pruning would unlink, counted before any is.
struct PruneCount {
    /// The contacts that the list or source names or named before: for a list, those with an image.
    private(set) var contacts = 0
    /// Those of them that would lose their images, and that no other list or source names.
    private(set) var leavers = 0

    /// Whether the list or source may be at fault: more than half of the contacts, and more than 20, would lose their images.
    var isTooMany: Bool { leavers > 20 && 2 * leavers > contacts }
}

extension PruneCount {
    /// Counts the contacts of `index`.
    ///
    /// - Parameters:
    ///   - mask: the bits of the lists of the sync.
    ///   - withoutImage: contacts of the lists that lose their images, because no source has one for them.
    ///   - omitted: those of some contacts that the lists omit.
    /// - Throws: an error of the index.
    init(
        _ index: AvatarIndex,
        mask: Int64,
        withoutImage: [String],
        omitted: ([String]) -> [String]
    ) throws {
        let former = Set(withoutImage).subtracting(omitted(withoutImage))
        self.init()
        leavers = try former.count - index.named(Array(former), byOthersThan: mask).count
        var last = ""
        while true {
            let page = try index.contacts(after: last, limit: 512)
            guard let end = page.last else { return }
            last = end
            let omitted = omitted(page)
            let kept = try index.named(omitted, byOthersThan: mask)
            contacts += page.count - kept.count
            leavers += omitted.count - kept.count
        }
    }
}
