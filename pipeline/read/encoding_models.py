"""What text of each legacy encoding looks like: the letters and characters that its languages use most.

The lists are the head of the usual frequency tables. guess.py scores decoded text by them.
"""

from __future__ import annotations

from dataclasses import dataclass

_SIMPLIFIED = (
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家种事成方多经么去法学如都同现当没动面"
    "起看定天分还进好小部其些主样理心她本前开但因只从想实日军者意无力它与长把机十民第公此已工使情明性知全三又关点正业外将两高间由问很最重并物手应战向头"
    "文体政美相见被利什二等产或新己制身果加西斯月话合回特代内信表化老给世位次度门任常先海通教儿原东声提立及比员解水名真论处走义各入几口认条平系气题活尔"
    "更别打女变四神总何电数安少报才结反受目太量再感建务做接必场件计管期市直德资命山金指克许统区保至队形社便空决治展马科司五基眼书非则听白却界达光放强即"
    "像难且权思王象完设式色路记南品住告类求据程北边死张该交规万取拉格望觉术领共确传师观清今切院让识候带导争运笑飞风步改收根干造言联持组每济车亲极林服快"
    "办议往元英士证近失转夫令准布始怎呢存未远叫台单影具罗字爱击流备兵连调深商算质团集百需价花党华城石级整府离况亚请技际约示复病息究线似官火断精满支视消"
    "越器容照须九增研写称企八功吗包片史委乎查轻易早曾除农找装广显吧阿李标谈吃图念六引历首医局突专费号尽另周较注语仅考落青随选列章卷"
)
_TRADITIONAL = (
    "的一是不了在人有我他這個們中來上大為和國地到以說時要就出會可也你對生能而子那得於著下自之年過發後作裡用道行所然家種事成方多經麼去法學如都同現當沒動面"
    "起看定天分還進好小部其些主樣理心她本前開但因只從想實日軍者意無力它與長把機十民第公此已工使情明性知全三又關點正業外將兩高間由問很最重並物手應戰向頭"
    "文體政美相見被利什二等產或新己制身果加西斯月話合回特代內信表化老給世位次度門任常先海通教兒原東聲提立及比員解水名真論處走義各入幾口認條平系氣題活爾"
    "更別打女變四神總何電數安少報才結反受目太量再感建務做接必場件計管期市直德資命山金指克許統區保至隊形社便空決治展馬科司五基眼書非則聽白卻界達光放強即"
    "像難且權思王象完設式色路記南品住告類求據程北邊死張該交規萬取拉格望覺術領共確傳師觀清今切院讓識候帶導爭運笑飛風步改收根幹造言聯持組每濟車親極林服快"
    "辦議往元英士證近失轉夫令準布始怎呢存未遠叫台單影具羅字愛擊流備兵連調深商算質團集百需價花黨華城石級整府離況亞請技際約示復病息究線似官火斷精滿支視消"
    "越器容照須九增研寫稱企八功嗎包片史委乎查輕易早曾除農找裝廣顯吧阿李標談吃圖念六引歷首醫局突專費號盡另周較注語僅考落青隨選列章卷曰香港"
)
_KANJI = (
    "一人日大年出本中子見国言上分生手自行者二間事思時気前会後家今彼来入名知何方十物合所目学話三長下地小心先女顔私的東立部金山高場口明開声持分男屋水実待"
    "新同世内文章主作度当通百度力戦書回第動田道文性体対現公四五六七八九千万夜月火木土空海川町村車電話使考食飲読聞"
)
_KANA = "".join(map(chr, range(0x3041, 0x30F7))) + "ー"
_HANGUL = (
    "이다는에의을가고하은를도한로지사나어기자리그인들시서아대만라해정수보일으것상그전제부장스여게우원적주있음면없었니까오성선구과공조국방세와등대동관생간물신무모문"
    "말마미때안러하했연소유비내회경치중통화위실저개더계당데트양명학외점드금년체터진력용분행거던계표된"
)
_RUSSIAN = "оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфъё"
_UKRAINIAN = "оаиніевртскулдпмяьзгбйчхєцїщюжшфґ"
_FRENCH = "éèàêçâîùôûïëœœÿ"
_GERMAN = "äüöß"
_OTHERS_IN_THE_WEST = "áíóñãõúåøæìò"
_CENTRAL = "ąłęáéíěščřžýóůśżőćńúťďűöüăâîșțşţđňôźä"
_TURKISH = "ıışğçüöâî"
_GREEK = "αοιετσνηυρπκμλςίόάέήδγωώχθύφβξζψϊ"
_HEBREW = "יוהלאתברשמנםכעדקפחזטגסןצךףץ"
_ARABIC = "الينموترهبعدسفكقحجةشصطخىأإذثضزئءغؤظآ"
_THAI = "านรอกเงมยลวดทสตั่ี้ปคาพบหขจไแะชึใโซถู็ผิ์ุ"
_HAN, _HAN_RARE, _CJK_MARKS, _FULL = (0x4E00, 0x9FFF), (0x20000, 0x323AF), (0x3000, 0x303F), (0xFF01, 0xFF65)
_HANGUL_BLOCK = (0xAC00, 0xD7A3)
_EASTERN_MARKS = "　、。，．？！：；「」『』“”‘’（）《》…—–·～"
_WESTERN_MARKS = "’‘“”–—…«»„°£§©·¿¡№\u00a0"


@dataclass(frozen=True, kw_only=True, slots=True)
class Model:
    """One language family and the encodings that it is written in, the likeliest first."""

    encodings: tuple[str, ...]
    weights: dict[str, float]  # of the characters that the languages use most
    usual: tuple[tuple[int, int], ...] = ()  # code points that are of the script: worth something
    latin: bool = False  # its letters stand among ASCII letters; those of other alphabets do not
    eastern: bool = False


def _eastern(*encodings: str, common: str, usual: tuple[tuple[int, int], ...]) -> Model:
    weights = dict.fromkeys(common + _EASTERN_MARKS, 1.0)
    return Model(encodings=encodings, weights=weights, usual=(*usual, _CJK_MARKS, _FULL), eastern=True)


def _alphabet(
    *encodings: str, letters: tuple[str, ...], usual: tuple[tuple[int, int], ...], latin: bool = False
) -> Model:
    """Letters are given by falling frequency: 1.0 for the first down to 0.2 for the last; capitals half of that."""
    weights = dict.fromkeys(_WESTERN_MARKS, 0.6)
    for language in letters:
        for rank, letter in enumerate(language):
            weight = 1.0 - 0.8 * rank / len(language)
            for form, share in ((letter.upper(), 0.5), (letter, 1.0)):
                if len(form) == 1:
                    weights[form] = max(weights.get(form, 0.0), weight * share)
    return Model(encodings=encodings, weights=weights, usual=usual, latin=latin)


MODELS = (
    _eastern("gb18030", common=_SIMPLIFIED, usual=(_HAN, _HAN_RARE)),
    _eastern("cp950", "big5hkscs", common=_TRADITIONAL, usual=(_HAN, _HAN_RARE)),
    _eastern("cp932", "euc_jp", common=_KANA + _KANJI, usual=(_HAN,)),
    _eastern("cp949", common=_HANGUL, usual=(_HANGUL_BLOCK,)),
    _alphabet("cp1251", "koi8_r", "cp866", "iso8859_5", "mac_cyrillic", letters=(_RUSSIAN,), usual=((0x410, 0x451),)),
    _alphabet("cp1251", "koi8_u", letters=(_UKRAINIAN,), usual=((0x404, 0x491),)),
    _alphabet("iso8859_1", "cp1252", "mac_roman", letters=(_FRENCH, _GERMAN, _OTHERS_IN_THE_WEST), latin=True,
              usual=((0xC0, 0xFF),)),
    _alphabet("cp1250", "iso8859_2", letters=(_CENTRAL,), usual=((0xC0, 0x17F),), latin=True),
    _alphabet("cp1254", letters=(_TURKISH,), usual=((0xC0, 0xFF),), latin=True),
    _alphabet("cp1253", letters=(_GREEK,), usual=((0x386, 0x3CE),)),
    _alphabet("cp1255", letters=(_HEBREW,), usual=((0x591, 0x5F4),)),
    _alphabet("cp1256", letters=(_ARABIC,), usual=((0x60C, 0x652),)),
    _alphabet("cp874", letters=(_THAI,), usual=((0xE01, 0xE5B),)),
)  # fmt: skip
