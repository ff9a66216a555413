import AvatarCore
import AvatarMaintenance
import AvatarStore
import Foundation
import Testing

/// Pages give limits as the program prints them: powers of two in KiB and MiB, others in kB and MB.
@Suite(.timeLimit(.minutes(5)))
struct SizeTests {
    @Test func pagesGiveNoPowerOfTwoInDecimalUnits() throws {
        let articles = try Page.all(in: "Sources/AvatarStore/AvatarStore.docc")
        #expect(articles.count > 5)
        // 8.2 kB is the size of the images in the examples.
        let wrong = (14..<40).map { ByteSize.text(1 << $0) } + [20, 200].map { ByteSize.text($0 << 20) }
        for page in try [Page("README.md")] + articles {
            for size in wrong { #expect(!page.text.contains(size), "\(page.path)") }
        }
    }

    @Test(arguments: [Setting.budget, .maximumImageBytes])
    func defaultsAreInTheTableOfSettings(setting: Setting) throws {
        let page = try Page("Sources/AvatarStore/AvatarStore.docc/SettingsAndTuning.md")
        let limit = ByteSize.limit(Int(try #require(setting.defaultValue)))
        #expect(page.text.contains("| `\(setting.name)` | \(limit) |"))
    }
}
