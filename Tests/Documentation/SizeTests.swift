import Foundation
import Testing

/// Pages give sizes as the program prints them, in powers of ten (MB, not MiB).
struct SizeTests {
    @Test func pagesUsePowersOfTen() throws {
        let articles = try Page.all(in: "Sources/AvatarStore/AvatarStore.docc")
        #expect(articles.count > 5)
        for page in try [Page("README.md")] + articles {
            #expect(!page.text.contains(/\d ?[KMGT]iB\b/), "\(page.path)")
        }
    }
}
