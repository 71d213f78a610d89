"""Closed classes of English words: what is never a name by itself and says little about a sentence."""

from __future__ import annotations

from pipeline.models.extractive.words import words

STOP_WORDS: frozenset[str] = words(
    """
    a about above according across after afterwards again against ago ah aha alas all almost alone along already also
    although always am amid among an and another any anybody anyhow anyone anything anywhere apart are around as aside
    at away aye back be because become becomes been before behind being below beneath beside besides best better between
    beyond both but by bye call can cannot certain certainly chapter come concerning consider could dare de did do does
    done down during each eh either else elsewhere enough especially et etc even ever every everybody everyone
    everything everywhere except far farewell few fewer figure finally find first five for formerly four from further
    furthermore generally get give given go gone good got ha had hardly has hast hath have having he hello hence her
    here hereby herein hereupon hers herself hey him himself his hither ho how however hullo i if in inasmuch indeed
    instead into is it its itself just keep last lastly later latter least less lest let like likewise little lo look
    made make many may maybe me meanwhile meantime might mine more moreover most mostly much must my myself nay near
    nearly neither never nevertheless next nine no nobody none nonetheless nor not note nothing notwithstanding now
    nowhere o of off often oh old on once one ones only onto or other others otherwise ought our ours ourselves out over
    own part per perhaps please poor possibly presently probably put quite rather really right round said same saw say
    says second see seeing seem seemed several shall shalt she should since six so some somebody somehow someone
    something sometimes somewhere soon still straightway such suddenly ten than thank thanks that the thee their theirs
    them themselves then thence there thereafter thereby therefore therein thereupon these they thine thing things third
    this those thou though three through throughout thus thy thyself till to together too toward towards true twice two
    under unless unlike until unto up upon us usually verily very via volume was we well went were what whatever when
    whence whenever where whereas whereat whereby wherefore wherein whereupon wherever whether which whichever while
    whilst whither who whoever whole whom whose why will wilt with within without wo would ye yea yes yesterday yet
    yonder you your yours yourself yourselves
    """
)

CONTRACTED: frozenset[str] = words(
    """
    aren't can't couldn't didn't doesn't don't hadn't hasn't haven't he'd he'll he's how's i'd i'll i'm i've isn't it'd
    it'll it's let's mustn't shan't she'd she'll she's shouldn't that's there's they'd they'll they're they've wasn't
    we'd we'll we're we've weren't what's where's who's won't wouldn't you'd you'll you're you've 'tis 'twas tis twas
    o'er e'en ain't
    """
)

CALENDAR: frozenset[str] = words(
    """
    january february march april may june july august september october november december monday tuesday wednesday
    thursday friday saturday sunday
    """
)

# Words that head a page, a list or a note and are capitalised there.
FURNITURE: frozenset[str] = words(
    """
    appendix author book chap chapter chapters contents copyright ebook edition editor epilogue example figure footnote
    foreword gutenberg heading index introduction issue isbn item license listing note notes number page paragraph
    preface project prologue ps section sections subsection table title transcriber translator verse version vol volume
    warning
    """
)

TITLES: frozenset[str] = words(
    """
    abbot abbess admiral ambassador archbishop archduke aunt baron baroness bishop brigadier brother cardinal captain
    chief colonel commander commodore corporal count countess czar dame deacon doctor don dona dr duchess duke earl
    emperor empress father fra frau friar general governor herr judge justice khan king lady lieutenant lord madam
    madame mademoiselle maharaja major marquis marquise marshal master mayor messrs minister miss mister mlle mme
    monsieur mother mr mrs ms officer padre pastor pope premier president prince princess prof professor queen rabbi
    reverend saint senator senor senora sergeant sheikh signor signora sir sire sister squire st sultan tsar tsaritsa
    uncle viscount widow
    """
)

# Written with a full stop that ends no sentence.
ABBREVIATED_TITLES: frozenset[str] = words("mr mrs ms dr st messrs capt col gen lt sgt rev hon prof mme mlle")

# Closed classes that are part of a name where they are capitalised inside a sentence: Old Riverman, the First Breath.
NAME_ADJECTIVES: frozenset[str] = words(
    "best five first four good last little nine old one poor second six ten third three true two"
)

# Verbs of saying that mark a story rather than an explanation.
TELLING: frozenset[str] = words(
    "answered asked cried exclaimed muttered replied said saith shouted sighed spake whispered"
)

SPEECH: frozenset[str] = words(
    """
    added adds agreed answered answers asked asks began bellowed begged called continued cried cries cry declared
    demanded exclaimed explained gasped groaned grumbled howled inquired interrupted laughed murmured muttered nodded
    observed ordered persisted pleaded pursued quoth rejoined remarked repeated replied replies resumed retorted roared
    said saith says screamed shouted shrugged sighed smiled snapped sobbed spake speaking spoke stammered suggested
    thought urged warned wept whispered wondered yelled
    """
)

PLACE_HEADS: frozenset[str] = words(
    """
    abbey archipelago avenue bay beach bridge camp canal cape castle cathedral cave city cliff coast college county
    desert district falls farm ferry forest fort gate gulf harbor harbour heath hill hills hospital house inn island
    islands isle isles kingdom lake lane latitude line lodge manor mountain mountains ocean pacific palace park peak
    peninsula place plain plains point pole port province quay republic river road sea sound square state states strait
    straits street temple tower town valley village ward wharf wood woods
    """
)

PLACE_FIRST: frozenset[str] = words(
    """
    cape fort isle lake mount mt port river gulf bay strait straits
    """
)

ORGANIZATION_HEADS: frozenset[str] = words(
    """
    academy agency army association bank board brigade bureau church club commission committee company congress
    corporation corps council court department division foundation group guard guards guild institute league legion
    ministry navy office order organization parliament party police project regiment senate society squadron team trust
    union university
    """
)

PLACE_BEFORE: frozenset[str] = words(
    """
    in at near into outside inside toward towards round around from to
    """
)
PLACE_SURE: frozenset[str] = words(
    """
    in at near
    """
)

PRONOUNS: frozenset[str] = words(
    """
    he she him her his hers himself herself i me my mine myself thou thee thy we us our ours
    """
)

# A sentence that begins so leans on the one before it.
LEANING: frozenset[str] = words(
    """
    he she it they this that these those such so then thus therefore but and or nor yet for also hence there here
    moreover however nevertheless besides his her their its him them still too
    """
)
