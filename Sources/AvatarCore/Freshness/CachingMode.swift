/// How closely the store follows the origin's word on what may be kept and served.
public enum CachingMode: String, Hashable, Sendable, CaseIterable {
    /// An old picture is better than none. These are the knowing departures from RFC 9111:
    ///
    /// - What says `no-store` is kept too, unless `respectsNoStore` is set (section 5.2.2.5), and so is what says
    ///   `Vary: *`.
    /// - A stale image is served whenever the origin cannot confirm it, also against `must-revalidate` and `no-cache`
    ///   (sections 4.2.4, 5.2.2.2 and 5.2.2.4), and also where the origin answered with an error or with something that
    ///   is no image (section 4.3.3).
    /// - The configured minimum keeps an image fresh for longer than the origin says (section 4.2.1).
    /// - A redirect that is not permanent and says nothing is followed for the default lifetime without being asked again
    ///   (section 4.2; RFC 9110 section 15.4).
    /// - A 304 is believed also where it names the same tag with or without `W/`, or a date where none is stored
    ///   (section 4.3.4).
    /// - An Expires that is nearly a date counts as that date (section 5.3).
    /// - Vary is ignored, except that `Vary: *` makes an image stale at once: a stored image is reused whatever
    ///   User-Agent, Accept or credentials requests carry now (section 4.1). After a change of these, the policy `reload`
    ///   fetches the image in full.
    case offlineFirst
    /// RFC 9111 to the letter, as a private cache, and where it leaves a choice, the more careful one: `Pragma: no-cache`
    /// counts as `Cache-Control: no-cache` (section 5.4), and an image is as old as the older of Age and Date says
    /// (section 4.2.3).
    ///
    /// A 304 without a validator confirms the stored image, as it answers the image's own validators (section 4.3.3).
    /// `stale-while-revalidate` is ignored, which RFC 5861 section 3 permits: a stale image is revalidated before it is
    /// served. A `sync` revalidates in the background.
    case strict
}
