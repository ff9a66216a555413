import AvatarContacts
import AvatarStore
import Foundation
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ContactListsExamples {
    @Test func columnsOfACSVList() async throws {
        try await Place.with { avatars in
            let ada = avatars.serve("/ada.png")
            let staff = avatars.path + "/staff.csv"
            try await AvatarStore.withStore(at: avatars) { store in
                try "Employee Number;Full Name;Photo URL\r\n7;Ada;\(ada)\r\n"
                    .write(toFile: staff, atomically: true, encoding: .utf8)

                var list = try ContactList.open(file: staff)
                list.columns = [.id: ["Employee Number"], .photo: ["Photo URL"]]
                let report = try await store.sync(list, total: list.validate())

                #expect(report.fetched == 1)
                #expect(try store.avatar(forContact: "7")?.bytes == Place.image("/ada.png"))
            }
        }
    }
}
