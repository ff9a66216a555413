import Foundation
import ProgramRunning
import Testing

private let exiftool = ["/usr/bin/exiftool", "/usr/local/bin/exiftool", "/opt/homebrew/bin/exiftool"]
    .first(where: FileManager.default.isExecutableFile)

/// `--without-metadata`, `--with-metadata` and `serve-metadata`.
@Suite(.timeLimit(.minutes(5))) struct MetadataCommandTests {
    /// The folder of images with metadata.
    private static let images = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "AvatarImagesTests/Fixtures/metadata").path(percentEncoded: false)

    private static let strippable = [
        "jpeg-turned.jpg", "jpeg-upright.jpg", "jpeg-adobe.jpg", "png-turned.png", "png-text.png", "gif-comment.gif",
        "webp-turned.webp", "webp-frames.webp",
    ]

    /// Runs `body` with a store that has these images under their names.
    private func withImages(_ names: [String], _ body: (Workplace) async throws -> Void) async throws {
        let workplace = try Workplace()
        for name in names {
            try await workplace.run("save", Self.images + "/" + name, "--name", name).requireSuccess()
        }
        try await body(workplace)
        #expect(try await workplace.run("verify").status == 0)
    }

    @Test func getAndPathGiveWhatIsStored_unlessAskedNotTo() async throws {
        try await withImages(["jpeg-turned.jpg"]) { workplace in
            let stored = try workplace.read(Self.images + "/jpeg-turned.jpg")
            let plain = try await workplace.run("get", "name:jpeg-turned.jpg")
            let bare = try await workplace.run("get", "name:jpeg-turned.jpg", "--without-metadata")
            let path = try await workplace.run("path", "name:jpeg-turned.jpg", "--without-metadata")
            let show = try await workplace.run("show", "name:jpeg-turned.jpg", "--json")

            #expect(plain.bytes == stored && bare.status == 0 && bare.bytes.count < stored.count)
            #expect(try workplace.read(path.text.trimmingCharacters(in: .newlines)) == bare.bytes)
            #expect(show.text.contains(#""hasMetadata":true"#))
            #expect(!String(decoding: bare.bytes, as: UTF8.self).contains("Geneva"))
        }
    }

    @Test func imageThatKeepsItsMetadataIsNotGiven() async throws {
        try await withImages(["avif-exif.avif"]) { workplace in
            for command in ["get", "path"] {
                let run = try await workplace.run(command, "name:avif-exif.avif", "--without-metadata")
                #expect(run.status == 1 && run.bytes.isEmpty)
                #expect(run.messages.contains("has metadata, which can only be taken out of JPEG, PNG, GIF and WebP"))
            }
            let export = try await workplace.run("export", "out", "--without-metadata", "--json")
            #expect(export.status == 0 && export.text.contains(#""withheld":1"#))
            #expect(export.messages.contains("1 image left out"))
            #expect(try await workplace.run("get", "name:avif-exif.avif").status == 0)
        }
    }

    @Test func serverGivesNoMetadata_unlessAskedTo() async throws {
        try await withImages(["jpeg-turned.jpg"]) { workplace in
            let photo = Data(try workplace.read(Self.images + "/jpeg-turned.jpg")).base64EncodedString()
            try workplace.write(
                "a.vcf",
                "BEGIN:VCARD\r\nVERSION:3.0\r\nUID:ada\r\nFN:Ada\r\nPHOTO;ENCODING=b;TYPE=JPEG:\(photo)\r\nEND:VCARD\r\n"
            )
            try await workplace.run("sync", "a.vcf").requireSuccess()
            let bare = try await workplace.run("get", "--contact", "ada", "--without-metadata")
            let cases: [(options: [String], isBare: Bool)] = [([], true), (["--with-metadata"], false)]
            for (options, isBare) in cases {
                try await RunningServer.with(options, in: workplace) { server in
                    let reply = try await server.ask("/contacts/ada/picture")
                    #expect(reply.status == 200 && (reply.body == bare.bytes) == isBare)
                }
            }
        }
    }

    @Test(.enabled(if: exiftool != nil, "needs exiftool: apt-get install libimage-exiftool-perl"))
    func nothingIsLeftThatExifToolFinds() async throws {
        try await withImages(Self.strippable) { workplace in
            try await workplace.run("export", "out", "--without-metadata").requireSuccess()
            let run = try await workplace.run(tool: exiftool ?? "", ["-a", "-G1", "-s", "-r", workplace.path("out")])

            let lines = run.text.split(separator: "\n").filter { $0.hasPrefix("[") }
            #expect(lines.count > 100)
            #expect(lines.filter { !Self.isOfTheImage($0) } == [])
            #expect(lines.contains { $0.contains("Orientation") })
        }
    }

    /// Whether a line of ExifTool, such as `[JFIF] XResolution : 72`, tells of the file, of the format, or the only field of EXIF
    /// that stays.
    private static func isOfTheImage(_ line: Substring) -> Bool {
        let words = line.split(separator: " ").map(String.init)
        guard words.count > 1 else { return false }
        let (group, tag) = (words[0], words[1])
        if tag == "Orientation" { return true }
        if ["Comment", "Author", "ThumbnailImage"].contains(tag) { return false }
        let groups = ["ExifTool", "System", "File", "JFIF", "PNG", "PNG-pHYs", "GIF", "RIFF", "Adobe", "Composite"]
        return groups.contains { group == "[\($0)]" } || group.hasPrefix("[ICC")
    }
}
