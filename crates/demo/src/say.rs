//! What is said, a row for each sentence, a column for each language.
//!
//! Sentences avoid counting nouns, so no language needs its plural forms. A name in braces is
//! replaced by a value.

use super::words::Language;

macro_rules! sentences {
    ($($name:ident: $english:literal, $russian:literal, $chinese:literal, $ukrainian:literal;)*) => {
        /// A sentence for people.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Sentence { $($name,)* }

        impl Sentence {
            /// All of them.
            #[cfg(test)]
            pub(super) const ALL: &[Self] = &[$(Self::$name,)*];

            fn template(self, language: Language) -> &'static str {
                let [english, russian, chinese, ukrainian] = match self {
                    $(Self::$name => [$english, $russian, $chinese, $ukrainian],)*
                };
                match language {
                    Language::English => english,
                    Language::Russian => russian,
                    Language::Chinese => chinese,
                    Language::Ukrainian => ukrainian,
                }
            }
        }
    };
}

sentences! {
    Note: "[demo: rules, not a language model]",
        "[demo: правила, а не языковая модель]",
        "[demo：按规则应答，不是语言模型]",
        "[demo: правила, а не мовна модель]";

    // Before a call.
    Listing: "I am listing the files {place}.", "Смотрю файлы {place}.",
        "正在列出{place}的文件。", "Дивлюся файли {place}.";
    Reading: "I am reading “{path}”.", "Читаю «{path}».", "正在读取“{path}”。", "Читаю «{path}».";
    Searching: "I am looking for “{text}” {place}.", "Ищу «{text}» {place}.",
        "正在{place}查找“{text}”。", "Шукаю «{text}» {place}.";
    Writing: "I am writing “{path}”.", "Записываю «{path}».", "正在写入“{path}”。",
        "Записую «{path}».";
    Editing: "I am changing “{path}”.", "Изменяю «{path}».", "正在修改“{path}”。",
        "Змінюю «{path}».";
    Asking: "I have a question.", "У меня вопрос.", "我有一个问题。", "У мене запитання.";
    Posting: "I am posting in the chat.", "Пишу в чат.", "正在发到聊天里。", "Пишу в чат.";

    // On the screen of a host.
    Choosing: "I choose {what}.", "Выбираю: {what}.", "选择 {what}。", "Обираю: {what}.";
    Showing: "I show only what fits: {what}.", "Показываю только подходящее: {what}.",
        "只显示符合的：{what}。", "Показую лише те, що підходить: {what}.";
    GoingOn: "I go on.", "Иду дальше.", "继续下一步。", "Іду далі.";
    LookingBack: "I look further from the step before.", "Ищу дальше с предыдущего шага.",
        "回到上一步再找。", "Шукаю далі з попереднього кроку.";
    Booked: "It is booked: {what}. The number is {number}, the total {total}.",
        "Забронировано: {what}. Номер {number}, всего {total}.",
        "已订好：{what}。订单号 {number}，总价 {total}。",
        "Заброньовано: {what}. Номер {number}, разом {total}.";
    BookedBefore: "The screen is done: this was booked before, under {number}, for {total}: {what}.",
        "На экране всё готово: это уже забронировано, номер {number}, всего {total}: {what}.",
        "屏幕上已完成：之前已订好，订单号 {number}，总价 {total}：{what}。",
        "На екрані все готово: це вже заброньовано, номер {number}, разом {total}: {what}.";
    NothingShown: "There is nothing on the screen that I could book.",
        "На экране нет ничего, что можно забронировать.", "屏幕上没有可以预订的内容。",
        "На екрані немає нічого, що можна забронювати.";
    NothingFits: "I found nothing that fits all of that, and booked nothing. What shall I change?",
        "Ничего не подходит ко всему сразу, и я ничего не забронировал. Что изменить?",
        "没有找到全部符合的，什么也没有订。要改哪一点？",
        "Нічого не підходить до всього разом, і я нічого не забронював. Що змінити?";
    SearchedLong: "I looked for a while and found nothing so far that fits all of that; nothing is booked. \
        What shall I change?",
        "Я искал долго и пока не нашёл ничего, что подходит ко всему сразу; ничего не забронировано. \
        Что изменить?",
        "找了一阵，还没有找到全部符合的；什么也没有订。要改哪一点？",
        "Я шукав довго і поки не знайшов нічого, що підходить до всього разом; нічого не заброньовано. \
        Що змінити?";
    NotAsked: "I booked nothing yet: nobody asked here about this: “{words}”. Shall I go on without it?",
        "Я пока ничего не забронировал: здесь не спрашивали об этом: «{words}». Обойтись без него?",
        "还没有订：这里没有这一项：“{words}”。不要它也可以吗？",
        "Я ще нічого не забронював: тут не питали про це: «{words}». Обійтися без нього?";

    // Questions.
    AskName: "What is your name?", "Как вас зовут?", "您叫什么名字？", "Як вас звати?";
    AskFolder: "Which folder? Please say its name.", "Какая папка? Назовите её, пожалуйста.",
        "哪个文件夹？请说出名称。", "Яка тека? Назвіть її, будь ласка.";
    AskText: "Which text?", "Какой текст?", "什么文字？", "Який текст?";
    AskNumbers: "Which numbers? Please write {count} of them, with spaces between.",
        "Какие числа? Напишите их через пробел, столько: {count}.",
        "哪些数字？请写 {count} 个，用空格隔开。",
        "Які числа? Напишіть їх через пробіл, стільки: {count}.";
    AskAnyNumbers: "Which numbers? Please write at least two, with spaces between.",
        "Какие числа? Напишите их через пробел, хотя бы два.",
        "哪些数字？请至少写两个，用空格隔开。", "Які числа? Напишіть їх через пробіл, хоча б два.";
    AskAnything: "What would you like to tell me?", "Что вы хотите мне сказать?",
        "您想告诉我什么？", "Що ви хочете мені сказати?";
    AskWords: "I am to ask you: {words}", "Меня просили спросить вас: {words}",
        "要问您的是：{words}", "Мене просили запитати вас: {words}";
    NotNumbers: "Those were not the numbers I need: “{answer}”.",
        "Это не те числа, что нужны: «{answer}».", "这不是我需要的数字：“{answer}”。",
        "Це не ті числа, що потрібні: «{answer}».";
    Answered: "You answered: “{answer}”.", "Вы ответили: «{answer}».", "您回答：“{answer}”。",
        "Ви відповіли: «{answer}».";
    OpenQuestion: "My question was: {question}", "Мой вопрос был: {question}",
        "我的问题是：{question}", "Моє запитання було: {question}";
    NoAnswer: "The answer was empty.", "Ответ был пустым.", "回答是空的。",
        "Відповідь була порожньою.";
    HelloName: "Hello, {name}!", "Здравствуйте, {name}!", "您好，{name}！", "Вітаю, {name}!";
    To: "To {author}:", "Для {author}:", "致 {author}：", "Для {author}:";

    // Places and things.
    Here: "here", "здесь", "当前文件夹", "тут";
    Inside: "in “{path}”", "в «{path}»", "“{path}”", "у «{path}»";
    Everything: "Entries", "Файлы и папки", "条目", "Файли й теки";
    Files: "Files", "Файлы", "文件", "Файли";
    Folders: "Folders", "Папки", "文件夹", "Теки";
    Ending: "Files with the ending .{ending}", "Файлы с окончанием .{ending}",
        ".{ending} 文件", "Файли із закінченням .{ending}";
    ByName: "by name", "по имени", "按名称", "за назвою";
    ByNameReversed: "by name, the last first", "по имени, с конца", "按名称倒序",
        "за назвою, з кінця";
    LargestFirst: "the largest first", "сначала самые большие", "从大到小", "спершу найбільші";
    SmallestFirst: "the smallest first", "сначала самые маленькие", "从小到大",
        "спершу найменші";

    // What was found.
    Listed: "{things} {place}, {order}: {shown} of {total}.",
        "{things} {place}, {order}: {shown} из {total}.",
        "{place}的{things}，{order}：{total} 个中的 {shown} 个。",
        "{things} {place}, {order}: {shown} з {total}.";
    Counted: "{things} {place}: {total}.", "{things} {place}: {total}.",
        "{place}的{things}：{total} 个。", "{things} {place}: {total}.";
    Fewer: "You asked for {asked}; there are only {total}.",
        "Вы просили {asked}, а всего есть {total}.",
        "您要 {asked} 个，但只有 {total} 个。", "Ви просили {asked}, а всього є {total}.";
    LeftOut: "“{path}” itself is left out: it is the file to write.",
        "Сам «{path}» не в счёт: в него идёт запись.",
        "不含“{path}”本身：它是要写入的文件。", "Сам «{path}» не враховано: у нього йде запис.";
    Cut: "The listing was cut, so entries behind its end were not looked at.",
        "Список был обрезан, поэтому записи за его концом не учтены.",
        "列表被截断，其后的条目没有查看。",
        "Список було обрізано, тому записи за його кінцем не враховано.";
    More: "… and {count} more.", "… и ещё {count}.", "……还有 {count} 个。", "… і ще {count}.";
    Lines: "Lines in “{path}”: {count}.", "Строк в «{path}»: {count}.",
        "“{path}”的行数：{count}。", "Рядків у «{path}»: {count}.";
    Text: "“{path}”:", "«{path}»:", "“{path}”：", "«{path}»:";
    TextEmpty: "“{path}” is empty.", "«{path}» пуст.", "“{path}”是空的。", "«{path}» порожній.";
    NotText: "“{path}” is not text: {result}", "«{path}» не текст: {result}",
        "“{path}”不是文本：{result}", "«{path}» не текст: {result}";
    TextPart: "These are lines {first} to {last} of {total}.",
        "Это строки с {first} по {last} из {total}.",
        "以上是第 {first} 到 {last} 行，共 {total} 行。",
        "Це рядки з {first} по {last} із {total}.";
    Found: "“{text}” {place}: {result}", "«{text}» {place}: {result}",
        "“{text}”（{place}）：{result}", "«{text}» {place}: {result}";
    NotFound: "“{text}” was not found {place}.", "«{text}» не найдено {place}.",
        "没有找到“{text}”（{place}）。", "«{text}» не знайдено {place}.";

    // What was done.
    WroteNames: "Their names are in “{path}” now, one a line.",
        "Их имена теперь в «{path}», по одному на строку.",
        "它们的名字已写入“{path}”，每行一个。", "Їхні імена тепер у «{path}», по одному на рядок.";
    WroteSizes: "Their names and sizes in bytes are in “{path}” now, one a line.",
        "Их имена и размеры в байтах теперь в «{path}», по одному на строку.",
        "它们的名字和大小（字节）已写入“{path}”，每行一个。",
        "Їхні імена й розміри в байтах тепер у «{path}», по одному на рядок.";
    WroteText: "I wrote “{text}” to “{path}”.", "В «{path}» записано «{text}».",
        "已把“{text}”写入“{path}”。", "У «{path}» записано «{text}».";
    WroteEmpty: "“{path}” is an empty file now.", "«{path}» теперь пустой файл.",
        "“{path}”现在是空文件。", "«{path}» тепер порожній файл.";
    Wrote: "I wrote that to “{path}”.", "Это записано в «{path}».", "以上内容已写入“{path}”。",
        "Це записано в «{path}».";
    AppendedText: "I added “{text}” at the end of “{path}”.",
        "В конец «{path}» добавлено «{text}».", "已把“{text}”追加到“{path}”的末尾。",
        "У кінець «{path}» додано «{text}».";
    Appended: "I added that at the end of “{path}”.", "Это добавлено в конец «{path}».",
        "以上内容已追加到“{path}”的末尾。", "Це додано в кінець «{path}».";
    Posted: "“{text}” is in the chat now, as message {id}.",
        "«{text}» теперь в чате, сообщение {id}.", "“{text}”已发到聊天里，消息 {id}。",
        "«{text}» тепер у чаті, повідомлення {id}.";
    PostedReport: "That is in the chat now, as message {id}.",
        "Это теперь в чате, сообщение {id}.", "以上已发到聊天里，消息 {id}。",
        "Це тепер у чаті, повідомлення {id}.";
    Replaced: "“{old}” is “{new}” now. {result}", "Вместо «{old}» теперь «{new}». {result}",
        "“{old}”已替换为“{new}”。{result}", "Замість «{old}» тепер «{new}». {result}";
    NothingToWrite: "So there was nothing to write, and “{path}” was not touched.",
        "Записывать нечего, «{path}» не тронут.",
        "没有可写的内容，“{path}”没有改动。", "Записувати нічого, «{path}» не змінено.";

    // Arithmetic.
    Equals: "{expression} = {value}", "{expression} = {value}", "{expression} = {value}",
        "{expression} = {value}";
    Nearly: "{expression} = {fraction} ≈ {value}", "{expression} = {fraction} ≈ {value}",
        "{expression} = {fraction} ≈ {value}", "{expression} = {fraction} ≈ {value}";
    DivisionByZero: "{expression} has no value: it divides by zero.",
        "У {expression} нет значения: это деление на ноль.",
        "{expression} 没有结果：除数为零。", "{expression} не має значення: це ділення на нуль.";
    TooLarge: "{expression} is too large for me to compute exactly.",
        "{expression}: слишком большое число, точно не посчитаю.",
        "{expression} 太大，无法精确计算。", "{expression}: завелике число, точно не порахую.";
    Malformed: "{expression} is not an expression that I can compute.",
        "Выражение {expression} я вычислить не могу.",
        "无法计算表达式 {expression}。", "Вираз {expression} я обчислити не можу.";

    // What went wrong.
    Failed: "That did not work: {tool} failed with: {result}",
        "Не получилось: {tool} ответил ошибкой: {result}",
        "没有成功：{tool} 出错：{result}", "Не вдалося: {tool} відповів помилкою: {result}";
    Denied: "That was not done: {tool} was not allowed: {result}",
        "Не сделано: {tool} не разрешён: {result}",
        "没有执行：{tool} 未获允许：{result}", "Не зроблено: {tool} не дозволено: {result}";
    Cancelled: "That was not done: {tool} was stopped: {result}",
        "Не сделано: {tool} остановлен: {result}",
        "没有完成：{tool} 已被停止：{result}", "Не зроблено: {tool} зупинено: {result}";
    Uncertain: "It is not known whether that was done: {tool}: {result}",
        "Неизвестно, сделано ли это: {tool}: {result}",
        "不清楚是否已完成：{tool}：{result}", "Невідомо, чи це зроблено: {tool}: {result}";
    Stopped: "I stopped there.", "На этом я остановился.", "我就此停止。", "На цьому я зупинився.";
    NoTool: "For that I need the tool {tool}, which I do not have here.",
        "Для этого нужен инструмент {tool}, здесь его нет.",
        "这需要工具 {tool}，但这里没有。", "Для цього потрібен інструмент {tool}, тут його немає.";

    NoRoom: "The call {tool} would be longer than this answer may be, so I did not make it.",
        "Вызов {tool} длиннее, чем может быть этот ответ, поэтому я его не сделал.",
        "调用 {tool} 超出了本次回答的长度限制，所以没有执行。",
        "Виклик {tool} довший, ніж може бути ця відповідь, тому я його не зробив.";

    // What was not understood.
    Unknown: "I did not understand that.", "Этого я не понял.", "我没有听懂。",
        "Цього я не зрозумів.";
    Unable: "I did nothing, because I cannot do this: “{words}”.",
        "Я ничего не сделал: этого я не умею: «{words}».",
        "我什么也没做，因为我做不到：“{words}”。",
        "Я нічого не зробив: цього я не вмію: «{words}».";
    UnknownOrder: "I did nothing, because I do not know “{words}”. I know the largest, the \
        smallest, the first and the last by name, and kinds such as .txt.",
        "Я ничего не сделал: я не знаю, что такое «{words}». Я знаю самые большие, самые \
        маленькие, первые и последние по имени и виды вроде .txt.",
        "我什么也没做，因为我不懂“{words}”。我懂最大、最小、按名称的最前和最后，以及 .txt 之类的种类。",
        "Я нічого не зробив: я не знаю, що таке «{words}». Я знаю найбільші, найменші, перші й \
        останні за назвою та види на зразок .txt.";
    Exists: "“{path}” exists already. If its text is to be replaced, please put the new text in \
        quotation marks.",
        "«{path}» уже есть. Если его текст нужно заменить, возьмите новый текст в кавычки.",
        "“{path}”已经存在。如果要替换其内容，请把新文字用引号括起来。",
        "«{path}» уже є. Якщо його текст треба замінити, візьміть новий текст у лапки.";
    NoSink: "Into which file? Please say its name.", "В какой файл? Назовите его, пожалуйста.",
        "写到哪个文件？请说出文件名。", "У який файл? Назвіть його, будь ласка.";
    Unplaced: "No file was named, so nothing was written.",
        "Файл не назван, поэтому ничего не записано.",
        "没有指定文件，所以什么也没写。", "Файл не названо, тому нічого не записано.";
    NoFile: "Which file? Please say its name.", "Какой файл? Назовите его, пожалуйста.",
        "哪个文件？请说出文件名。", "Який файл? Назвіть його, будь ласка.";
    NoText: "Which text exactly? Please put it in quotation marks.",
        "Какой именно текст? Возьмите его, пожалуйста, в кавычки.",
        "具体是什么文字？请用引号括起来。", "Який саме текст? Візьміть його, будь ласка, у лапки.";
    NoNumbers: "Which numbers? Please write them with a sign between, such as 12 + 30.",
        "Какие числа? Напишите их со знаком, например 12 + 30.",
        "哪些数字？请写出算式，例如 12 + 30。", "Які числа? Напишіть їх зі знаком, наприклад 12 + 30.";
    TooLong: "That is too long for me: I follow short, plain requests.",
        "Это слишком длинно: я понимаю короткие простые просьбы.",
        "太长了：我只懂简短的请求。", "Це задовге: я розумію короткі прості прохання.";
    Unused: "I did not understand and did not use: {words}.",
        "Не понял и не учёл: {words}.", "没有听懂、也没有用到：{words}。",
        "Не зрозумів і не врахував: {words}.";

    // Who this is.
    Hello: "Hello!", "Здравствуйте!", "你好！", "Вітаю!";
    Who: "I am demo, a set of rules that turns plain requests into tool calls.",
        "Я demo, набор правил, который превращает простые просьбы в вызовы инструментов.",
        "我是 demo，一组把简单请求变成工具调用的规则。",
        "Я demo, набір правил, що перетворює прості прохання на виклики інструментів.";
    Can: "This I can do:", "Вот что я умею:", "我能做这些：", "Ось що я вмію:";
    CanList: "list files: list the three largest files here and write their names to largest.txt",
        "список файлов: перечисли три самых больших файла здесь и запиши их имена в largest.txt",
        "列出文件：列出这里最大的三个文件，把它们的名字写到 largest.txt",
        "список файлів: перелічи три найбільші файли тут і запиши їхні імена в largest.txt";
    CanRead: "read files, count lines: show me notes.txt; how many lines are in notes.txt",
        "читать файлы, считать строки: покажи notes.txt; сколько строк в notes.txt",
        "读文件、数行数：显示 notes.txt；notes.txt 有多少行",
        "читати файли, рахувати рядки: покажи notes.txt; скільки рядків у notes.txt";
    CanSearch: "search: find TODO in src", "искать: найди TODO в src", "查找：在 src 里查找 TODO",
        "шукати: знайди TODO у src";
    CanWrite: "write: write \"hello\" to a.txt", "писать: запиши «привет» в a.txt",
        "写入：把“你好”写到 a.txt", "писати: запиши «привіт» у a.txt";
    CanEdit: "replace: replace \"foo\" with \"bar\" in a.txt",
        "заменять: замени «foo» на «bar» в a.txt", "替换：把 a.txt 里的“foo”换成“bar”",
        "замінювати: заміни «foo» на «bar» у a.txt";
    CanCompute: "compute: what is 12 * (3 + 4)", "считать: сколько будет 12 * (3 + 4)",
        "计算：12 * (3 + 4) 等于多少", "рахувати: скільки буде 12 * (3 + 4)";
    CanAsk: "ask you: ask me my name and greet me",
        "спрашивать вас: спроси, как меня зовут, и поздоровайся",
        "问您：问我叫什么名字，然后跟我打招呼",
        "питати вас: запитай, як мене звати, і привітай мене";
    CanPost: "post in the chat: tell the chat that the build is done",
        "писать в чат: напиши в чат, что сборка готова",
        "发到聊天里：告诉聊天室：构建完成了", "писати в чат: напиши в чат, що збірка готова";
    CanBook: "book on a screen that is shown to me: book me the first comedy after six, two seats side by side",
        "заказывать на экране, который мне показывают: закажи первую комедию после шести, два места рядом",
        "在我看到的屏幕上订票：帮我订六点以后的第一场喜剧，两个连座",
        "замовляти на екрані, який мені показують: забронюй першу комедію після шостої, два місця поруч";
    Connect: "For anything else connect a language model: set OPENAI_API_KEY, or OPENAI_BASE_URL \
        for a server of your own, or choose a model with AGENT_MODEL.",
        "Для остального подключите языковую модель: задайте OPENAI_API_KEY, или OPENAI_BASE_URL \
        для своего сервера, или выберите модель в AGENT_MODEL.",
        "其他事情请连接语言模型：设置 OPENAI_API_KEY；自己的服务器设置 OPENAI_BASE_URL；\
        或用 AGENT_MODEL 选择模型。",
        "Для решти під’єднайте мовну модель: задайте OPENAI_API_KEY, або OPENAI_BASE_URL для \
        свого сервера, або виберіть модель в AGENT_MODEL.";
}

impl Language {
    /// Says a sentence.
    pub(super) fn say(self, sentence: Sentence) -> String {
        self.fill(sentence, &[])
    }

    /// Says a sentence with values for the names in its braces.
    pub(super) fn fill(self, sentence: Sentence, values: &[(&str, &str)]) -> String {
        let mut said = String::new();
        let mut rest = sentence.template(self);
        while let Some((before, behind)) = rest.split_once('{') {
            let (name, behind) = behind.split_once('}').unwrap_or((behind, ""));
            let value = values
                .iter()
                .find(|(known, _)| *known == name)
                .map_or("", |known| known.1);
            said.push_str(before);
            said.push_str(value);
            rest = behind;
        }
        said + rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_names_the_same_values_in_every_language() {
        let names = |template: &'static str| {
            let mut names: Vec<_> = template
                .split('{')
                .skip(1)
                .map(|rest| rest.split('}').next().unwrap())
                .collect();
            names.sort_unstable();
            names
        };
        for sentence in Sentence::ALL {
            let english = names(sentence.template(Language::English));
            for language in Language::ALL {
                assert_eq!(
                    names(sentence.template(language)),
                    english,
                    "{sentence:?} {language:?}"
                );
            }
        }
    }

    #[test]
    fn a_value_with_braces_is_said_as_it_is() {
        let said = Language::English.fill(Sentence::Text, &[("path", "{path} {text}.txt")]);
        assert_eq!(said, "“{path} {text}.txt”:");
    }
}
