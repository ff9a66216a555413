import AvatarCore
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ContactTests {
    private static let photo = ContactImage.photo(ContactPhoto(bytes: [1]))

    @Test func avatarURLIsTheFirstURLOfTheImages() {
        #expect(Contact(id: "1").avatarURL == nil)
        #expect(Contact(id: "1", avatarURL: "u").images == [.url("u")])
        #expect(Contact(id: "1", images: [Self.photo, .url("u"), .url("v")]).avatarURL == "u")
        #expect(Contact(id: "1", images: [Self.photo]).avatarURL == nil)
    }

    @Test func newAvatarURLTakesThePlaceOfTheOldOne() {
        var contact = Contact(id: "1", images: [Self.photo, .url("u"), .url("v")])

        contact.avatarURL = "w"
        #expect(contact.images == [Self.photo, .url("w"), .url("v")])

        contact.avatarURL = nil
        #expect(contact.images == [Self.photo])

        contact.avatarURL = "x"
        #expect(contact.images == [.url("x"), Self.photo])
    }
}
