import AvatarCore

/// Names without case, accents and width, as they are ordered and searched.
///
/// The index holds names that were folded so, and a search folds its text in the same way. So the tables belong to the store,
/// rather than to a library that may fold otherwise in its next version. `NameFoldingTests` compares all code points with Foundation.
enum NameFolding {
    /// The code point from which on marks make another letter, as in Hindi, and stay. Those of Latin, Greek and Cyrillic before it
    /// lose their marks.
    private static let firstWithMarks: UInt32 = 0x510

    /// The folded name.
    static func folded(_ name: String) -> String {
        let scalars = Array(name.unicodeScalars)
        var output = String.UnicodeScalarView()
        var place = 0
        while place < scalars.count {
            let end = scalars[(place + 1)...].firstIndex { !isMark($0) } ?? scalars.count
            output.append(contentsOf: folded(scalars[place], marks: scalars[(place + 1)..<end]))
            place = end
        }
        return String(output)
    }

    /// A character without case, accent and width, and of the marks behind it those that stay.
    private static func folded(_ base: Unicode.Scalar, marks: ArraySlice<Unicode.Scalar>) -> [Unicode.Scalar] {
        let changed = letters(base)
        let folded = changed ?? [base]
        guard let last = folded.last, last.value >= firstWithMarks else { return folded }
        var marks = marks
        // The first one stays behind the letters and signs of other widths too.
        let losesFirst = changed == nil && !(0xFF00...0xFFEF).contains(base.value)
        if losesFirst, let first = marks.first, first.value < firstWithMarks { marks.removeFirst() }
        return marks.isEmpty ? folded : ordered(folded + marks.flatMap { decomposed[$0] ?? [$0] })
    }

    /// The letters of `scalar` without case, accent and width; `nil` if it stays as it is.
    private static func letters(_ scalar: Unicode.Scalar) -> [Unicode.Scalar]? {
        guard scalar.isASCII else { return mapping[scalar] }
        return ("A"..."Z").contains(scalar) ? Unicode.Scalar(scalar.value | 0x20).map { [$0] } : nil
    }

    private static func isMark(_ scalar: Unicode.Scalar) -> Bool { !scalar.isASCII && extenders.contains(scalar) }

    /// `text` with the marks at its end in the order of their combining classes.
    private static func ordered(_ text: [Unicode.Scalar]) -> [Unicode.Scalar] {
        let start = text.lastIndex { !isMark($0) && !movingSigns.contains($0) }.map { $0 + 1 } ?? 0
        let marks = text[start...].enumerated().sorted { left, right in
            let classes = (combiningClass(left.element), combiningClass(right.element))
            return classes.0 == classes.1 ? left.offset < right.offset : classes.0 < classes.1
        }
        return text[..<start] + marks.map(\.element)
    }

    private static func combiningClass(_ scalar: Unicode.Scalar) -> UInt8 {
        scalar.properties.canonicalCombiningClass.rawValue
    }

    /// The signs that end a word like letters, and have a place in the order of marks.
    private static let movingSigns: Set<Unicode.Scalar> = [
        "\u{1715}", "\u{1734}", "\u{1B44}", "\u{1BAA}", "\u{1BF2}", "\u{1BF3}", "\u{A953}", "\u{A9C0}", "\u{111C0}",
        "\u{11235}", "\u{1134D}", "\u{116B6}", "\u{1193D}", "\u{16FF0}", "\u{16FF1}", "\u{11F41}",
        "\u{1D166}", "\u{1D16D}",
    ]

    /// The marks that consist of others.
    private static let decomposed: [Unicode.Scalar: [Unicode.Scalar]] = [
        "\u{340}": ["\u{300}"], "\u{341}": ["\u{301}"], "\u{343}": ["\u{313}"], "\u{344}": ["\u{308}", "\u{301}"],
        "\u{C48}": ["\u{C46}", "\u{C56}"], "\u{F73}": ["\u{F71}", "\u{F72}"], "\u{F75}": ["\u{F71}", "\u{F74}"],
        "\u{F76}": ["\u{FB2}", "\u{F80}"], "\u{F78}": ["\u{FB3}", "\u{F80}"], "\u{F81}": ["\u{F71}", "\u{F80}"],
        "\u{F93}": ["\u{F92}", "\u{FB7}"], "\u{F9D}": ["\u{F9C}", "\u{FB7}"], "\u{FA2}": ["\u{FA1}", "\u{FB7}"],
        "\u{FA7}": ["\u{FA6}", "\u{FB7}"], "\u{FAC}": ["\u{FAB}", "\u{FB7}"], "\u{FB9}": ["\u{F90}", "\u{FB5}"],
        "\u{1112E}": ["\u{11131}", "\u{11127}"], "\u{1112F}": ["\u{11132}", "\u{11127}"],
    ]

    /// The characters other than ASCII that become others.
    private static let mapping = ScalarMapping(packed: packedMapping)

    /// The marks and other characters that belong to the letter before them.
    private static let extenders = ScalarSet(packed: packedExtenders)

    private static let packedMapping: StaticString = #"""
        QE00Q`>:00UM000UO000V1000V3000V5000V7000R0000V7000V5000V7000V9000V;000V5000V7000V9000V;000R0001V5000V7000V9000
        V;000V=100R0000V7000V9000V;000V=000V7000R004VG0000WM000WO000X1000X3000X5011X7000X5000X7000X9000X;000X5000X7000
        X9000X;101X5000X7000X9000X;000X=200X7000X9000X;000X=000X7100X;000YM000YO000Z1000Z3000Z5000Z7000Z5000Z7000Z9000
        Z;000Z=000Z?000ZA001ZC000ZE0002100ZI000ZK000ZM000ZO000[1000[3000[5000[7000[9000[;000[9000[;000[=000[?000[A000[
        C000[E001[G000[I0002100[M000[O000\1000\3000\5000\7000\9000\;000\=1002100\C001\E000\G100\I000\K000\M000\O000]10
        00]30112100]9000];000]=000]?000]A000]C04g6QTK0002100]I000]K000]M000]O000^1000^30002100^3000^5000^7000^9000^;00
        1^=000^?000^A000^C000^E000^G000^I001^K000^M000^O000_10002100_5000_7000_9000_;000_=000_?000_A000_C000_E000_G000
        _I000_K000_I000_K000_I000_K001_M000_O000`1000`3000`5000`7000`G100]40112100\L0002101\J0002200TN000\D000\F000210
        0\J000\N100]6000]20002300]6000]:100]<000c1000c30112100]D0002100]D2002100]D000cC000cE001]B0112100]F000230027004
        00021004000210040002100fG000fI000f;000f=000f3000f5000eK000eM000eO000f1000f3000f5000f7000f9000f;000f=100gI000gK
        000gM000gO000_G000_I0002100gM000gO000gI000gK000gE000gG000gI000gK000Z8000Z6000h;00040002100hI000hK000V1000S?000
        hC000hE000iA000iC000a;000a=000`;000`=000iM000iO000j1000j3000iM000iO000j1000j3000iM000iO000j1000j3000iI000iK000
        iM000iO000iK000iM000iO000j1000iM000iO000j1000j3000j9001j;000j=0002100k;000k=000X31112100l9000l;000l5000l7000kE
        000kG000kI000kK000kM000kO000l1000l3000kA000kC600eRF0002100Z5000eR@2002100\5000T:000T>0142WA01SO100RO000SG000W8
        Q:112100[E1002700Qd5000W8500Q]I000RF000Q\O000RJ000RL000RN100S6100S>000SD000RB00@R0106R0000N000QD000:000@000B00
        0D000Q:A002700Q1000;000I000?0009000@000QK000QA10010003000M000Q;11;2100S;000RO200SG000SO1002100=0002202X3000S:0
        00S8000U0000S0002U0000TN003U0000RL000RF000S:000U0008R0000QN00ER09001F00QE000QG100QO3001400R3000R9000QE11:21001
        0003014291J2100N000XE000XG0152200YO000Z1000Z3000Z50002100Z1000Z3000210010003000Z;001Z=000Z?0002100ZC000ZE000ZG
        000ZI000Z?000ZA000210010003000YM000YO000ZE000ZG000ZI000ZK000ZM000ZO000ZI000ZK0002100ZI000ZK01J220Q5S0Q@4R3QJRh
        H0Q5^V0100^V0500^V0fB0R?R[m0005@RTJ0Q:UkO202UkOZ000^iM001^iO000^j1000^j3000^j5000^j7001^j9001^j;000^j=000^j?00
        0^jA000^jC000^jE000^jG000^jI000^jK001^jM000^jO000^k1000^k3000^k5000^k7000^k9000^k;000^k=001^k?001^kA001^kC000^
        kE000^kG000^kI000^kK000^kM000^kO000^l1000^l3001^l5000^l7000^l9000^l;000^l9000^l;000^l=000^l?000^lA001^lC000^lE
        000^lG000^lI000^lK000^lM000^lO001^m1000^m3000^m5000^m7000^m9001^m;000^m=000^m?000^mA000^mC000^mE000^mG001^mI00
        0^mK000^mM000^mO000^n1000^n3000^n5001^n7000^n9000^n;000^n=000^n;000^n=000^n?000^nA000^nC000^nE000^nG001^nI000^
        nK000^nM000^nO000^o1000^o3000^o5000^o7000^o9001^o;000^o=000^o?000^oA000^oC000^oE000^oG001^oI000^oK000^oM000^oO
        000_P1000_P3000_P5000_P7000_P9001_P;000_P=000_P?001_PA000_PC000_PE000_PG000_PI000_PK000_PM000_PO000_Q1001_Q300
        0_Q5000_Q7001_Q9001_Q;000_Q=000_Q?000_QA000_QC000_QE000_RK000_R5000_R1000_QO04_SAQUJ000_R?24_RE0100_SM000_SO00
        0_T1000_T3000_T5000_T7000_T9000_T;000_T=000_T?000_TA000_TC000_TE000_TG000_TI000_TK000_TM000_TO000_U1000_U3000_
        U5000_U7000_U9000_U;000_U5000_U7000_U9000_U;000_U=000_U?000_UA000_UC000_UE000_UG000_UI000_UK000_UM000_UO000_V1
        000_V3000_UM000_UO000_V1000_V3000_UI000_UK000_UM000_UO000_V1000_V3000_V5000_V7000_V9000_V;000_V=000_V?000_VA00
        0_VC000_VE000_VG000_VI000_VK000_VM000_VO000_W1000_W3000_W5000_W7000_VM000_VO000_W1000_W3000_W5000_W7000_W9000_
        W;000_W=000_W?000_WA000_WC000_WE000_WG000_WA000_WC000_WE000_WG000_WI000_WK000_WM000_WO0122100]dM000]dO000]e100
        0]e3000]e5000]e7000]e9000]e;000]e=000]e?000]eA000]eC000]eE000]eG000]eI000]eK000]eE000]eG000]eI000]eK000]eM000]
        eO200]f5000]f7000]f9000]f;000]f=000]f?200]fA000]fC000]fE000]fG000]fI000]fK000]fM000]fO000]g1000]g3000]g5000]g7
        000]g9000]g;000]g=000]g?000]g=000]g?000]gA000]gC000]gE000]gG000]gI000]gK000]gM000]gO000]h1000]h3000]h5000]h700
        0]h9000]h;000]h1000]h3000]h5000]h7000]h9000]h;200]hA000]hC000]hE000]hG000]hI000]hK200]hE000]hG000]hI000]hK000]
        hM000]hO000]i1000]i3100]i7100]i;100]i?100]iC000]i=000]i?000]iA000]iC000]iE000]iG000]iI000]iK000]iM000]iO000]j1
        000]j3000]j5000]j7000]j9000]j;000]kM000]kO000]kI000]kK000]kI000]kK000]kI000]kK000]kA000]kC000]k9000]k;000]k500
        0]k7200]lM000]lO000]m1000]m3000]m5000]m7000]m9000]m;000]m=000]m?000]mA000]mC000]mE000]mG000]mI000]mK000]mA000]
        mC000]mE000]mG000]mI000]mK000]mM000]mO000]n1000]n3000]n5000]n7000]n9000]n;000]n=000]n?000]m=000]m?000]mA000]mC
        000]mE000]mG000]mI000]mK000]mM000]mO000]n1000]n3000]n5000]n7000]n9000]n;000]oM000]oO000^P1000^P3000^P5100^P900
        0^P;000^P=000^P?000^PA000^PC000^PE100^P9200_aA000^PE000^PG000^PI100^PM000^PO000^Q5000^Q7000^Q5000^Q7000^Q9300^
        Q=000^Q?000^QA000^QC200^QI000^QK000^QM000^QO000^R1000^R3400^QE000^QG000^QI000^QK000^R5000^R7000^R1000^R3000^R5
        000^R7000^R9000^R;000^RE000_d9000_d;000_hM200^RA000^RC000^RE100^RI000^RK000^SA000^SC000^S1000^S3000^S5000_dAY8
        00^eI300`[M000`\C600QHQ=0?Q0C002VL00aR5=00aS3000aS1b60IQDQi@0Q?S0Q@002100do=000W^;000dn=2122100eQG000doI000eQM
        000eQK10022002801eSM01QA281124002nZ=1F2C1=2T716231N2:112100RUP701424002100Rbb?21123192100Rbd7000RbdM000RbdE000
        Rbd1000Rbd7100Rba3000RbbC000Rba9000Qj00172100RO000Rbd5000RUS?011260025112L002dh:4SmYC004SmYE604SmYG<05SmYI0605
        SmYK0<04SmY3204SmY52<4SjiM404SjiOM04Sjj1A04Sji??04Sjj5=o90OSo]O00ISo[O00Q3So]O001SZmC000SWeM001SWe;000SWf5000S
        WVC000SWW7000SW\;000SW\9000SW\7000SW\5000SW\3000SWXA000SWX?000SWX=000SWZG000SWW7000SW\M000SW\K000SW\I000SW\G00
        1SW\E000SW\C000SW\A000SW\?000SW\=000SW\;000SW\9000SW\7000SW\5000SW\3000SW\1000SW[O000SW[K000SW[I000SW[G005SW[E
        000SW[A000SW[=000SW[9000SW[5004SW[1000SWZO000SWZM005SWZK000SWZI000SWZC001SW`9000SgSO001SgZ1000SfoA000SgZ3001Sf
        oA002SgZ7005SfoC000SgY;002SgZE000SgY5009SgZG305SgV1205SgV5205SgV9202SgV=301SocK000Soc;100SocK000SocO000S_cI100
        S]^;003S_UA000S]TI000S]R5QPA0Q7R@T80Q3R@TL0:R>10>R>106R>101R>Qg:0QBT0Ro=0OR0e\00OR0ne00Q1R4
        """#

    private static let packedExtenders: StaticString = #"""
        d0S?XC6X7Q<10111110R8:Q@D@0S56252113Q30NJRK:QJ890H3181214Q;2QL7Q:G1OQG010474036:1M0QJ010238090:1J021QI04141223
        0N130;1QI0441140D1F510QJ011138072:1N0QK010<090Q8030QG012521371;1M0QJ02020305171;1L1QI110238090:1M0R8040221080R
        A026<7S2028;6R91K01010QG=14115:1Q390S63151121I142@3=02160?0eO2mB2M1N1N1R0116802:90Q=210SE1Q20SF2419062VK120QJ0
        161010276920Q@NQA3Q@61050Q88<1Q032112QH0113012QJ721TH21<16406031V6QO`<0V3Q0RoN2T=0S0Oa:5S91m^D319Q01R@1X@03040
        I150TG1JA=0Q67I:Q>2Q@02321Q70R352121<080Q?0QC012215110Q:180W>02040ci@0g1?@?[>1bM0W20TE4Qd621153Q8240U51aM3\31R
        @2R6:QA3SK0QF>Q9021:2QA32170QM2Q4417QN0<1QD8:320RO220116020TM037E1QI11010F0>634V372210G0RA02510201111W;0236111
        K1RE72011S:0102510S522314X3811WE0:11040T@32140Q09Q8523809522Q><11\F61510RBE261111SJ530111610R813010ZK1;1QD4501
        0UWM06>]dJ4QK6QPH0QO3RA0cUH1Tc1Q=2F`N012448726N3TD2QmKQF4QA80>0F41>QZ@61@261114S40U06[G0QM3_L3o06S=6Re@4hSQ0RO
        T0W?
        """#
}
