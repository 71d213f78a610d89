"""Closed classes of Chinese characters and words, modern and classical, simplified and traditional."""

from __future__ import annotations

from pipeline.models.extractive.words import words

# Never inside a name found by statistics: particles, pronouns, the plural mark.
PARTICLES: frozenset[str] = frozenset(
    "的了着著过過们們吗嗎呢吧啊呀嘛哩么麼我你您他她它咱俺吾汝彼此这這那哪谁誰是曰矣乎哉焉兮耳"
)

# Does not begin a name.
NEVER_FIRST: frozenset[str] = frozenset(
    "之而以与與及并並或但却卻又也亦都皆俱均就便即既且乃则則遂因故若虽雖使叫让讓把将將被给給从從在到至"
    "为為没沒不未莫勿很更再还還只仅僅正已刚剛忽每某另其所者去出入回起坐跪"
    "赶趕看见見听聽问問答说說讲講话話道笑哭叹嘆怒喝骂罵想觉覺得要欲可会會肯敢须須該该"
    "拿取放打杀殺死刺砍报報送带帶命差派遣喊吃饮飲睡醒"
    "一两兩几幾数數诸諸众眾些个個遍番回条條等今甚岂豈尚犹猶愈殊颇頗稍略极極恐恨愿願怕尔爾"
)

# Begins a name now and then (于禁, 三藏, 令狐): taken only at the start of a clause or with an end that is plain.
SELDOM_FIRST: frozenset[str] = frozenset(
    "追走跑射斩斬领領引率逃退请請求告于於和同跟令教对對向往自当當无無非有太最曾才急忙随隨各来來进進立站拜飞飛奔投逐望闻聞知思念能破败敗胜勝战戰攻守传傳召唤喚呼"
    "二三四五六七八九十百千万萬第位名次件昔昨明早晚先后後前上下左右内內外里裡中间間时時日夜年月益惊驚喜爱愛愁生如何应應"
)

# Does not end a name.
NOT_LAST: frozenset[str] = frozenset(
    "之而以于於与與和同跟及并並或但却卻又也亦都皆俱均就便即既且乃则則遂因故若如虽雖使教叫让讓把将被给給对對向往从從自在到至当當"
    "为為没沒不未莫勿有很太最更再还還只仅僅正已曾才刚剛忽急忙随隨各每某另其所去来來出入坐站跪奔赶趕逃退看见見"
    "听聽问問答说說讲講道笑哭叹嘆怒喝骂罵觉覺得要欲可会會肯敢须須应應該该拿取放打杀殺刺砍救告报報送带帶领領"
    "率命差派遣召喊吃饮飲甚岂豈尚犹猶大一两兩百几幾数數个個这這那等曾压壓掏忙何"
)

# Ends a name now and then: taken only where the end is plain.
SELDOM_LAST: frozenset[str] = frozenset(
    "摇搖点點转轉沉伸停连連引抬推翻低攻斩斬射走跑追飞飛破守胜勝战戰行立起回求请請传傳望闻聞思想知生死进進令名无無二三四五六七八九十"
)

# A name may begin right after these.
BEFORE: frozenset[str] = frozenset(
    "之与與和同跟及并並或但却卻又也亦都就便即且乃则則遂因故若如虽雖使令教叫让讓把将將被给給对對向往从從自在到至当當为為无無有"
    "见見看望听聽闻聞问問答说說道骂罵请請求告报報与召唤喚呼喊送迎接救杀殺斩斬擒捉拿赶趕追随隨引领領率命差派遣拜谢謝辞辭"
    "的了着著过過是那这這曰管护護扶拉唬吓嚇帶带跟投归歸依用使令惟唯独獨于於"
)

# Persons stand after these: with, to, let, ask, meet, kill …
PERSON_BEFORE: frozenset[str] = frozenset(
    "与與和同跟对對向令使叫教请請见見谓謂问問杀殺斩斬擒捉救拜命遣差骂罵劝勸随隨追赶趕护護辞辭謝谢"
)

# At the start of a clause, a person is followed by one of these: says, laughs, is glad, then, also, not …
PERSON_AFTER: frozenset[str] = frozenset(
    "曰道说說笑问問答叹嘆怒喜惊驚闻聞听聽见見看望知想觉覺忽便却卻又也亦就乃遂即急忙连連大自亲親引领領率命令教把将將与與和对對向从從"
    "不既拜叩跪坐立起走跑转轉抬点點摇搖拿取推拔举舉挥揮皱皺冷沉低微"
)

# What a name does: the verb, adverb or particle that follows it.
AFTER: frozenset[str] = frozenset(
    "曰道说說笑问問答叫喝叹嘆怒喜惊驚哭骂罵听聽闻聞见見看望知想思觉覺得忽便却卻又也亦都皆俱就只还還再才已正在从從自向往到至来來去走行入出上"
    "下回过過起坐立站跪拜伏投奔引领領率令命使教着著把将將被与與和同跟及并並对對给給为為是乃即遂因故若如虽雖既不无無未莫非可能会會要欲肯敢须須"
    "当當应應所者之其此这這那的了也矣乎领拿取放打杀殺斩斬急忙连連大一两兩沉冷微轻輕点點摇搖抬低伸转轉停推翻收抓拔举舉挥揮"
    "吃饮飲睡醒哪呀啊吧呢吗嗎等诸諸早先自亲親独獨让讓请請叩谢謝辞辭闭閉睁睜咬握拍指掏靠沿索反压壓露站迎接送追赶趕退逃守攻破败敗胜勝死生有"
)

SPEECH: frozenset[str] = frozenset("曰道说說问問答喝叹嘆骂罵叫笑哭")

# A mention after one of these is that of a common noun: this, a, each, many …
DETERMINERS: frozenset[str] = frozenset(
    "一二两兩三四五六七八九十百千万萬几幾数數诸諸众眾各每某个個位名些条條件座间間只隻匹张張把此的之"
)

LOCATIVE_BEFORE: frozenset[str] = frozenset("在到至往赴抵离離出入回归歸经經过過")

PLACE_LAST: frozenset[str] = frozenset(
    "山河江湖海城镇鎮村庄莊寺庙廟观觀庵府州郡县縣国國关關岭嶺崖谷洞岛島桥橋渡港湾灣塔楼樓阁閣殿宫宮苑园園门門坡原岗崗寨营營院峰川溪泉"
)

ORGANIZATION_LAST: frozenset[str] = frozenset("派帮幫宗教盟会會社军軍司部局")

PERSON_LAST: frozenset[str] = frozenset("公侯王帝后妃僧道仙佛圣聖翁叟婆娘郎君")

STOP_WORDS: frozenset[str] = words(
    """
    却说 卻說 话说 話說 且说 且說 只见 只見 忽见 忽見 忽然 原来 原來 不知 如何 怎么 怎麼 怎生 甚么 甚麼 什么 什麼 这里
    這裡 那里 那裡 哪里 哪裡 今日 明日 次日 昨日 当日 當日 一日 是日 即日 连日 連日 终日 終日 今夜 当夜 當夜 是夜 今晚
    天下 天明 天晚 此时 此時 当时 當時 那时 那時 有时 有時 时候 時候 自己 众人 眾人 二人 三人 一人 两人 兩人 左右 大家
    别人 別人 他人 有人 无人 無人 世人 夫人 女人 男人 老人 小人 人人 人马 人馬 人物 人家 大喜 大怒 大惊 大驚 大叫 大喝
    大笑 大哭 大败 大敗 大骂 大罵 大呼 大军 大軍 大小 大半 大概 大约 大約 大路 大门 大門 大事 大人 不敢 不能 不可 不得
    不如 不是 不曾 不见 不見 不肯 不必 不用 不要 不题 不題 不住 未必 未曾 无不 無不 莫非 岂不 豈不 岂能 豈能 于是 於是
    因此 所以 因为 因為 虽然 雖然 但是 可是 只是 就是 若是 如果 倘若 假如 而且 并且 並且 或者 还是 還是 然后 然後 后来
    後來 以后 以後 以前 从此 從此 自此 至此 正是 果然 居然 竟然 仍然 依然 当然 當然 自然 突然 已经 已經 曾经 曾經 正在
    现在 現在 如今 方才 刚才 剛才 马上 馬上 立刻 即刻 随即 隨即 连忙 連忙 急忙 慌忙 赶忙 趕忙 顷刻 頃刻 霎时 霎時 须臾
    須臾 少顷 少頃 良久 片刻 半晌 一时 一時 一声 一聲 一面 一边 一邊 一齐 一齊 一同 一起 一般 一样 一樣 一个 一個 一定
    一切 一直 一阵 一陣 一场 一場 东西 東西 事情 地方 时间 時間 声音 聲音 样子 樣子 意思 办法 辦法 问题 問題 方面 关系
    關係 情况 情況 结果 結果 原因 消息 里面 裡面 外面 上面 下面 前面 后面 後面 旁边 旁邊 中间 中間 身上 身边 身邊 手中
    手里 手裡 心中 心里 心裡 眼前 眼睛 脸上 臉上 头上 頭上 口中 路上 城中 城下 城上 山上 山下 山中 门外 門外 门前 門前
    空中 水中 阵前 陣前 帐中 帳中 帐下 帳下 军中 軍中 背后 背後 面前 目前 当中 當中 其中 此间 此間 知道 觉得 覺得 看见
    看見 听见 聽見 想起 想到 听说 聽說 说道 說道 笑道 问道 問道 答道 叫道 喝道 骂道 罵道 叹道 嘆道 回头 回頭 起来 起來
    出来 出來 进来 進來 回来 回來 过来 過來 上来 上來 下来 下來 起身 上前 下马 下馬 上马 上馬 商议 商議 吩咐 分付 听得
    聽得 见了 見了 忍不住 为首 為首 相见 相見 去了 来了 來了 罢了 罷了 没有 沒有 可以 应该 應該 必须 必須 愿意 願意 喜欢
    喜歡 希望 非常 十分 特别 特別 更加 越来越 越來越 总是 總是 从来 從來 往往 常常 经常 經常 到底 究竟 几乎 幾乎 似乎
    好像 仿佛 彷彿 恐怕 也许 也許 其实 其實 尚未 毕竟 畢竟 反而 甚至 尤其 于今 於今 何故 何人 何处 何處 何不 何必 何以
    为何 為何 安敢 安能 如此 这样 這樣 那样 那樣 这个 這個 那个 那個 这些 這些 那些 这般 這般 那般 怎样 怎樣 多少 许多
    許多 无数 無數 诸多 全部 所有 各自 每日 每天 有些 某些
    """
)
