//! The words of a wish for a ticket, in all languages at once: a cell as the tables of the demo
//! write it, whose spellings have no other meaning on a screen where tickets are booked.

/// What of one thing is wanted: words of a request, and those of an item that is meant by them. The
/// first word is the one that is said of it. Of a class an item is at most one.
pub(super) const FEATURES: &[(Class, &str)] = &[
    (
        Class::Genre,
        "comedy|comed*|funny|комеди*|комеді*|смешн*|кумедн*|喜剧|搞笑",
    ),
    (Class::Genre, "adventure|adventur*|приключен*|пригод*|冒险"),
    (
        Class::Genre,
        "science fiction|sci-fi|scifi|фантаст*|научн* фантаст*|наук* фантаст*|科幻",
    ),
    (Class::Genre, "drama|drama*|драм*|剧情"),
    (Class::Genre, "thriller|thriller*|триллер*|трилер*|惊悚"),
    (
        Class::Genre,
        "animation|animat*|cartoon*|мульт*|анимац*|анімац*|动画",
    ),
    (
        Class::Genre,
        "horror|horror*|scary|ужас*|ужаст*|страшн*|жах*|страхіт*|恐怖",
    ),
    (
        Class::Genre,
        "romance|romanc*|romantic|романти*|мелодрам*|爱情|浪漫",
    ),
    (Class::Genre, "action|боевик*|бойовик*|动作"),
    (Class::Genre, "western|western*|вестерн*|西部"),
    (
        Class::Genre,
        "documentary|documentar*|документальн*|документалк*|纪录",
    ),
    (
        Class::Zone,
        "front|front row*|впереди|спереди|спереду|передн*|前排",
    ),
    (
        Class::Zone,
        "middle|center|centre|середин*|посередин*|центр*|中间",
    ),
    (
        Class::Zone,
        "back|back row*|сзади|позади|задн*|ззаду|позаду|后排",
    ),
    (Class::Format, "imax"),
    (Class::Format, "3d|3д"),
    (Class::Format, "2d|2д"),
    (
        Class::Day,
        "monday|mondays|понедельник*|понеділ*|周一|星期一|礼拜一",
    ),
    (Class::Day, "tuesday|вторник*|вівтор*|周二|星期二|礼拜二"),
    (Class::Day, "wednesday|сред*|серед*|周三|星期三|礼拜三"),
    (Class::Day, "thursday|четверг*|четвер*|周四|星期四|礼拜四"),
    (Class::Day, "friday|пятниц*|п'ятниц*|周五|星期五|礼拜五"),
    (Class::Day, "saturday|суббот*|субот*|周六|星期六|礼拜六"),
    (
        Class::Day,
        "sunday|воскресень*|неділ*|周日|星期天|星期日|礼拜天",
    ),
    (Class::Ticket, "adult|adult*|взросл*|доросл*|成人"),
    (
        Class::Ticket,
        "child|child*|kid*|детск*|ребен*|дет*|дитяч*|дитин*|儿童|小孩|孩子",
    ),
    (
        Class::Ticket,
        "senior|senior*|pensioner*|пенсионер*|пожил*|пенсіонер*|老人|长者",
    ),
];

/// What kind of thing a feature is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Genre,
    Zone,
    Format,
    Day,
    Ticket,
}

pub(super) const AFTER: &str = "after|past|later than|позже|после|пізніше|після|以后|之后|后|晚于";
pub(super) const FROM: &str =
    "from|since|not before|no earlier than|не раньше|не раніше|начиная с|с|з|від";
pub(super) const BEFORE: &str = "before|earlier than|до|раньше|перед|раніше|以前|之前|前|早于";
pub(super) const UNTIL: &str = "until|till|not later than|no later than|by|не позже|не пізніше";
pub(super) const AT: &str = "at|в|у|о|об";
/// Behind an hour.
pub(super) const HOUR: &str = "o'clock|oclock|час*|годин*|点|点钟|pm|am";
pub(super) const HALF: &str = "半";
pub(super) const MORNING: &str =
    "am|morning|in the morning|this morning|утра|утром|ранку|вранці|зранку|早上|上午";
pub(super) const EVENING: &str = "pm|evening|in the evening|this evening|tonight|at night|afternoon|вечер|вечера|вечером\
    |вечерн*|дня|вечора|ввечері|увечері|вечірн*|晚上|下午|傍晚";
pub(super) const EARLIEST: &str = "first|the first|earliest|soonest|перв*|сам* ранн*|ближайш*|перш*|найраніш*|найближч*|第一|最早";
pub(super) const LATEST: &str =
    "last|the last|latest|последн*|сам* поздн*|останн*|найпізніш*|最后|最晚";
pub(super) const TOGETHER: &str = "side by side|together|next to each other|beside each other|adjacent|adjoining|neighbouring\
    |neighboring|in a row|рядом|вместе|подряд|соседн*|поруч|разом|сусідн*|поряд|підряд|连座|连着|相邻|挨着\
    |一起|并排|连在一起|挨在一起|坐在一起";
/// Who sits, and what on: a number before it counts them.
pub(super) const SEATS: &str = "seat*|ticket*|place*|people|persons|person|friends|of us|билет*|мест*|человек*|люд*|нас|квит*\
    |місц*|осіб|особ*|张|个|座|座位|位|位子|人";
/// Between a number and what it counts.
pub(super) const MEASURE: &str = "张|个|名|位";
pub(super) const COUPLE: &str =
    "for two|a couple of|вдвоем|на двоих|двоих|удвох|вдвох|на двох|我们俩|俩人|俩";
/// What says that something is to be booked, and what of.
pub(super) const BOOKING: &str = "book|book me|booking|reserve|buy|order|get me|get us|want to see|want to watch|watch|заброниру*\
    |бронируй*|закаж*|купи*|возьми*|посмотреть|сходить|забронюй*|бронюй*|замов*|придба*|візьми*\
    |подивитися|订|预订|预定|买|定|看";
pub(super) const THINGS: &str = "movie*|film*|show|shows|showing*|cinema*|theater*|theatre*|screening*|session*|seat*|ticket*\
    |фильм*|кино|сеанс*|билет*|мест*|кинотеатр*|фільм*|кіно|сеанс*|квит*|місц*|кінотеатр*|电影|电影票\
    |票|影院|片|片子|场|场次|座位|座|位子|位|部";
/// Words that change nothing about a ticket.
pub(super) const SMALL: &str = "for|of|on|in|at|the|a|an|and|with|any|some|us|we|row|please|ones|one of the|starts|starting|that\
    |on the|in the|number|на|в|у|и|й|та|і|ряд*|или|любой|любые|любое|любых|любую|какой-нибудь|какую-нибудь\
    |будь-як*|як*-небудь|на какой-нибудь|который|которая|начина*|почина*|的|部|张|个|场|在|到|有|要|我要\
    |我想|想|随便|任意|两个人|请|帮我|给我|开始|吧|一|和";

/// Numbers of hours that the language's own table does not have: after an ordinal.
pub(super) const HOURS: &[(u32, &str)] = &[
    (1, "першої|первого"),
    (2, "другої"),
    (3, "третьої"),
    (4, "четвертої"),
    (5, "п'ятої"),
    (6, "шостої"),
    (7, "сьомої"),
    (8, "восьмої"),
    (9, "дев'ятої"),
    (10, "десятої"),
    (11, "одинадцятої"),
    (12, "дванадцятої|noon|полудня"),
];
