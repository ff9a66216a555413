import AvatarStore

/// A contact of the demo's list. All its values follow from its number, so that every run has the same list.
struct DemoContact: Sendable {
    /// Counted from 1.
    let number: Int
    /// The given name and the family name.
    let name: String
    /// The response at the URL of the contact's image.
    let image: DemoImage

    /// The contact with a number, counted from 1.
    private init(number: Int) {
        self.number = number
        name = NameTable.name(number)
        image = DemoImage(ofContact: number)
    }

    /// The whole list, in the order of the numbers.
    static let all = (1...NameTable.count).map(DemoContact.init)

    /// The contact's id in the list, such as `p0042`.
    var id: String { "p" + digits }

    /// The number with four digits.
    var digits: String {
        let text = String(number)
        return String(repeating: "0", count: 4 - text.count) + text
    }
}

/// The response of an origin at a contact's image URL: an image, or one of the usual failures.
enum DemoImage: Hashable, Sendable {
    /// An image of the contact alone.
    case portrait(Format)
    /// The logo of a company: all its contacts share one URL.
    case companyLogo
    /// The default image of a service: each contact has its own URL, all with the same bytes.
    case placeholder
    /// A redirect to the image, on another host.
    case moved
    /// An image with the Content-Type text/plain.
    case mislabelled
    /// An image that arrives after a delay.
    case slow
    /// No image at all: the contact has no URL.
    case none
    /// 404.
    case deleted
    /// 500.
    case brokenServer
    /// A sign-in page, with status 200.
    case webPage
    /// An image without its second half.
    case cutShort
    /// A connection without a response.
    case silence
    /// A body larger than the store accepts, like a film.
    case enormous

    /// The file format of a portrait.
    enum Format: Hashable, Sendable {
        /// With a strong ETag.
        case png
        /// With a weak ETag.
        case gif
        /// With a `Last-Modified` field only.
        case bmp
    }

    /// The image of contact `number`, by the first rule that matches.
    init(ofContact number: Int) {
        self = Self.rules.first { number % $0.modulus == $0.remainder }?.image ?? .portrait(.png)
    }

    /// A rule matches the numbers that leave `remainder` when divided by `modulus`. All others have a PNG portrait.
    private static let rules: [(modulus: Int, remainder: Int, image: DemoImage)] = [
        (1000, 17, .silence), (1000, 250, .enormous), (1000, 333, .slow),
        (100, 3, .deleted), (100, 23, .brokenServer), (100, 43, .webPage), (100, 63, .cutShort),
        (100, 83, .moved), (100, 31, .mislabelled),
        (20, 7, .none), (20, 13, .companyLogo), (40, 19, .placeholder),
        (10, 4, .portrait(.bmp)), (5, 1, .portrait(.gif)),
    ]

    /// The failure that a sync must report; `nil` if the image can be fetched.
    var failure: FailureKind? {
        switch self {
        case .deleted: .gone
        case .brokenServer: .serverError
        case .webPage: .notImage
        case .cutShort: .truncated
        case .silence: .timeout
        case .enormous: .tooLarge
        case .portrait, .companyLogo, .placeholder, .moved, .mislabelled, .slow, .none: nil
        }
    }
}

/// 1,000 different names from ten parts of the world.
enum NameTable {
    /// How many names there are.
    static var count: Int { names.count }

    /// The name of contact `number`, counted from 1.
    static func name(_ number: Int) -> String {
        names[number - 1]
    }

    /// Each given name with each family name of its region. The order is shuffled by Knuth's MMIX generator, and so is
    /// the same in every run; the order of the standard library's `shuffle` may change between versions.
    private static let names: [String] = {
        var names = regions.flatMap { region in
            region.given.flatMap { given in region.family.map { "\(given) \($0)" } }
        }
        var state: UInt64 = 1
        for last in (1..<names.count).reversed() {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            names.swapAt(last, Int((state >> 33) % UInt64(last + 1)))
        }
        return names
    }()

    /// Given names and family names that go together.
    private struct Region {
        /// Ten given names.
        let given: [Substring]
        /// Ten family names.
        let family: [Substring]

        /// Both texts hold ten names, separated by spaces.
        init(_ given: String, _ family: String) {
            self.given = given.split(separator: " ")
            self.family = family.split(separator: " ")
        }
    }

    /// The names, a region each.
    private static let regions = [
        Region(
            "Amara Chidi Ngozi Kwame Adaeze Emeka Abena Kofi Zainab Tunde",
            "Okafor Mensah Adeyemi Boateng Eze Owusu Balogun Asante Nwosu Danjuma"
        ),
        Region(
            "Søren Freya Jürgen Zoë Åsa Lars Käthe Mikkel Grete Björn",
            "Ødegård Müller Lindström Sørensen Weiß Nygård Schäfer Åkesson Jørgensen Kühn"
        ),
        Region(
            "Łukasz Zuzana Jiří Agnieszka Dušan Milica Bogdan Kateřina Vesna Radosław",
            "Kowalczyk Dvořák Novak Petrović Horvat Marić Zając Šimić Wójcik Kučera"
        ),
        Region(
            "José Inês João Lucía Nuño Beatriz Thiago Catalina Raúl Ximena",
            "Muñoz Gonçalves Peña Araújo Núñez Ibáñez Simões Castañeda Ordóñez Vélez"
        ),
        Region(
            "Chloé Hélène François Maëlle Benoît Anaïs Loïc Océane Étienne Noémie",
            "Lefèvre Dupré Bérenger Gagné Côté Châtelain Lemaître Besançon Rosière Forêt"
        ),
        Region(
            "Priya Arjun Lakshmi Rohan Fatima Imran Ananya Sanjay Nadia Vikram",
            "Sharma Iyer Banerjee Khan Reddy Chowdhury Nair Perera Malik Gupta"
        ),
        Region(
            "Haruto Yuki Mei Ji-woo Sakura Wei Min-jun Xiu Hana Jun",
            "Tanaka Kim Wang Nakamura Park Chen Suzuki Zhao Choi Watanabe"
        ),
        Region(
            "Linh Minh Hương Quân Thảo Putri Budi Dewi Somchai Mali",
            "Nguyễn Trần Phạm Lê Võ Santoso Wijaya Hartono Saetang Bunnag"
        ),
        Region(
            "Ayşe Mehmet Leyla Çağla Ömer Yasmin Hassan Noor Darius Şirin",
            "Yıldız Öztürk Şahin Al-Masri Haddad Çelik Rahimi Nasser Güneş Karimi"
        ),
        Region(
            "Ελένη Νίκος Σοφία Γιώργος Μαρία Κώστας Άννα Ανδρέας Ειρήνη Πέτρος",
            "Γεωργίου Οικονόμου Αθανασίου Ιωάννου Βασιλείου Νικολάου Δημητρίου Παύλου Στεφάνου Χρήστου"
        ),
    ]
}
