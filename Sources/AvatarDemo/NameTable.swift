/// A thousand different names, from ten parts of the world.
enum NameTable {
    static var count: Int { names.count }

    /// The name of person `number`, counted from 1.
    static func name(_ number: Int) -> String {
        names[number - 1]
    }

    /// Every given name with every family name of its region, shuffled in the same way each time (Knuth's MMIX
    /// generator; the standard library's `shuffle` may change).
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

    private struct Region {
        let given: [Substring]
        let family: [Substring]

        /// Ten names each, with spaces between them.
        init(_ given: String, _ family: String) {
            self.given = given.split(separator: " ")
            self.family = family.split(separator: " ")
        }
    }

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
