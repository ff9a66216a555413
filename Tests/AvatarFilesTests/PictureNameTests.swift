import AvatarCore
import AvatarFiles
import Testing

@Suite struct PictureNameTests {
    @Test(
        "names are what a person would call the image, and safe everywhere",
        arguments: [
            ("name:Ada", "Ada.png"), ("name:me.png", "me.png"), ("name:me.jpg", "me.jpg.png"),
            ("name:../../etc/passwd", "_.._etc_passwd.png"), ("name:/", "_.png"), ("name:..", "image.png"),
            ("name:.hidden", "hidden.png"), ("name:-rf", "rf.png"), ("name:CON", "_CON.png"),
            ("name:lpt1.x", "_lpt1.x.png"), ("name:a\u{202E}gnp", "a_gnp.png"), ("name:a\nb\u{7F}", "a_b_.png"),
            ("name:Z\u{030C}ofie", "\u{17D}ofie.png"), ("name:a:b*c?", "a_b_c_.png"), ("name: x ", "x.png"),
            ("contact:42#2", "42_2.png"), ("https://example.com/p/ada.png?size=9", "ada.png"),
            ("https://example.com/p/Eva%20M.PNG", "Eva M.png"), ("https://example.com/%2e%2e%2fx", "_x.png"),
            ("https://example.com/", "example.com.png"), ("my key", "my key.png"),
        ]
    )
    func names(key: String, name: String) throws {
        #expect(PictureName.make(for: AvatarKey(stored: key), format: .png) == name)
    }

    @Test("a name fits into a folder, whole characters only, however long its key")
    func length() throws {
        let key = try AvatarKey(name: String(repeating: "👩‍👩‍👧Ž", count: 40))
        let name = PictureName.makeDistinct(for: key, format: .jpeg)
        #expect(name.utf8.count < 128)
        #expect(name.hasSuffix(".jpg"))
        #expect(PictureFolder.isPlain(name))
    }

    @Test("two keys of one name are told apart")
    func distinct() throws {
        let keys = ["https://a.example/ada.png", "https://b.example/ada.png"].map(AvatarKey.init(stored:))
        #expect(Set(keys.map { PictureName.make(for: $0, format: .png) }).count == 1)
        #expect(Set(keys.map { PictureName.makeDistinct(for: $0, format: .png) }).count == 2)
    }

    @Test(arguments: [
        ("Ada.png", "Ada"), ("a.b.jpg", "a.b"), ("noending", "noending"), ("Z\u{030C}.png", "\u{17D}"),
        (".png", ".png"),
    ])
    func imagesAreCalledAfterTheirFiles(file: String, name: String) {
        #expect(PictureName.imageName(ofFile: file) == name)
    }

    @Test(arguments: [
        ("..", false), (".", false), ("", false), ("a/b", false), ("../x", false), ("a\0b", false), ("..a", true),
    ])
    func onlyPlainNamesLieInTheFolder(name: String, isPlain: Bool) {
        #expect(PictureFolder.isPlain(name) == isPlain)
    }
}
