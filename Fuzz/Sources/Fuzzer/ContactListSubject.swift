import AvatarContacts
import AvatarCore
import Dispatch

/// Feeds inputs to the readers of contact lists. The first byte of an input chooses the format.
///
/// Reading must not trap. The count of a list must agree with the records that are read from it.
enum ContactListSubject {
    static func check(_ input: [UInt8]) {
        guard let first = input.first else { return }
        let format: ContactList.Format =
            switch first {
            case UInt8(ascii: "j"): .json
            case UInt8(ascii: "n"): .ndjson
            case UInt8(ascii: "t"): .text
            case UInt8(ascii: "c"), UInt8(ascii: "p"): .csv
            default: .vcard
            }
        var list = ContactList(bytes: Array(input.dropFirst()), format: format)
        // A list of rows with columns that are named.
        if first == UInt8(ascii: "p") { list.columns = [.photo: ["User 1"], .name: ["First Name", "Last Name"]] }
        list.includesLogos = first == UInt8(ascii: "l")
        let done = DispatchSemaphore(value: 0)
        Task.detached { [list] in
            await compare(list)
            done.signal()
        }
        done.wait()
    }

    private static func compare(_ list: ContactList) async {
        var count: Int?
        do throws(AvatarStoreError) {
            count = try list.validate()
        } catch {
            require(error.code == .unreadableList, "another error than that of a list")
        }
        var records = 0
        var lastLine = 0
        do {
            for try await record in list {
                records += 1
                switch record {
                case .contact(let contact):
                    check(contact)
                case .unreadable(let line, let reason, _, _):
                    require(line >= max(lastLine, 1), "lines go back")
                    require(!reason.isEmpty, "a fault without a reason")
                    lastLine = line
                }
            }
            require(records == count, "counting and reading disagree")
        } catch {
            require(count == nil, "counting and reading disagree")
        }
    }

    private static func check(_ contact: Contact) {
        require((1...65_536).contains(contact.id.utf8.count), "an impossible id")
        var number = 0
        for image in contact.images {
            switch image {
            case .url(let url):
                require(!url.isEmpty, "an empty address")
            case .photo(let photo):
                number += 1
                require(photo.number == number && !photo.bytes.isEmpty && photo.line > 0, "an impossible photo")
            case .unreadable(let image):
                if let photo = image.number {
                    number += 1
                    require(photo == number, "an impossible photo")
                }
            }
        }
    }
}
