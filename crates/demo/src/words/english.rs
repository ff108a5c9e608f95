//! What is understood in English; see [`super`] for how to read the tables.

use super::Concept::{
    self, Adding, All, And, Answer, Append, Article, Ascending, Ask, AskMe, ByName, BySize,
    Calculate, Called, Chat, Composition, Content, Count, Descending, Dividing, Empty, File, Files,
    Filler, Find, First, Folder, Folders, For, From, Hello, Help, Here, Holding, In, Largest, Last,
    Lines, List, Mine, Minus, Most, Multiplying, MyName, Names, Numbers, Of, OtherOrder, Over,
    Plus, Post, Power, Read, Repeat, Replace, Send, Show, Sizes, Smallest, Something, Subtracting,
    TellChat, Text, Times, To, Unable, What, Who, With, Write,
};

pub(super) const WORDS: &[(Concept, &str)] = &[
    (List, "list|ls|dir|enumerate|listing"),
    (
        Show,
        "show|display|print|give|tell|get|let me see|see|let me look at",
    ),
    (Read, "read|open|cat|view"),
    (
        Write,
        "write|save|store|put|record|create|make|dump|export|note down|write down|generate|written\
        |saved",
    ),
    (Append, "append|add"),
    (Find, "find|search|look for|grep|locate"),
    (
        Holding,
        "contain|contains|containing|mention|mentions|mentioning|mentioned|occurs|occur|appears\
        |appear|used",
    ),
    (Replace, "replace|change|substitute"),
    (Count, "count|how many|number of"),
    (
        Calculate,
        "calculate|compute|evaluate|calc|solve|how much is|work out|result of|the result of",
    ),
    (What, "what|what's|whats|what is|what are|which"),
    (Content, "content|contents"),
    (File, "file|new file|new text file|new document"),
    (Files, "files|files'|file's"),
    (Folder, "folder|directory|subfolder|subdirectory"),
    (Folders, "folders|directories|subfolders|subdirectories"),
    (Names, "name|names|filenames|file names|filename"),
    (Sizes, "size|sizes|file size|file sizes"),
    (Lines, "line|lines"),
    (Text, "text|message|word|words|string|phrase|sentence"),
    (Empty, "empty|blank"),
    (
        Here,
        "here|in here|this folder|this directory|current folder|the current folder|the workspace\
        |current directory|the current directory|working directory|workspace|this project",
    ),
    (Largest, "largest|biggest|heaviest|greatest|large|big"),
    (Smallest, "smallest|tiniest|lightest|small|tiny"),
    (First, "first|top"),
    (Last, "last"),
    (
        ByName,
        "alphabetically|alphabetical|in alphabetical order|alphabetical order|by name|by names",
    ),
    (
        BySize,
        "by size|by file size|in order of size|order of size",
    ),
    (Ascending, "ascending|in ascending order|ascending order"),
    (
        Descending,
        "descending|in descending order|descending order|reverse|reversed|in reverse|reverse order\
        |in reverse order|reverse alphabetical order|in reverse alphabetical order",
    ),
    (
        OtherOrder,
        "newest|oldest|latest|recent|recently|longest|shortest|random|by date|by time|by age\
        |by type",
    ),
    (Most, "most|least"),
    (
        To,
        "to|into|onto|as|to the end of|at the end of|at the bottom of",
    ),
    (In, "in|inside|within|at|under"),
    (From, "from|out of"),
    (Of, "of"),
    (With, "with|by"),
    (For, "for"),
    (Article, "the|a|an|this|that|these|those|some|any"),
    (Mine, "my|our|your"),
    (
        Called,
        "called|named|titled|with the name|under the name|by the name of",
    ),
    (And, "and|then|and then|also|and also"),
    (
        All,
        "all|every|each|everything|everywhere|all of|all occurrences of|every occurrence of",
    ),
    (
        Filler,
        "please|me|us|i|you|we|can|could|would|will|like|want|need|want to|would like to\
        |i'd like to|like to|need to|to me|for me|their|them|its|it|just|now|there|is|are|was|do\
        |does|did|has|have|exactly|only|ok|okay|so|up|down|out|exist|exists|kindly|as well|of them\
        |ones|of these|thanks|thank|located|stored|sorted|sort|order|ordered|in order|say|says|go\
        |ahead|in total|altogether|uses of|occurrences of|instances of|mentions of|in it|into it\
        |to it|in them|where|where is|where are|how|one per line|one a line|per line\
        |one on each line|each on its own line|let me|why|when|because",
    ),
    (Plus, "plus"),
    (Minus, "minus"),
    (Times, "times|multiplied by|x"),
    (Over, "divided by|over"),
    (Power, "to the power of|to the power"),
    (
        Hello,
        "hi|hello|hey|greet|greet me|say hello|say hi|say hello to me|say hi to me|welcome\
        |welcome me|good morning|good evening|good afternoon|good day|greetings|howdy",
    ),
    (
        Who,
        "who are you|what are you|are you a|are you an|your name|what is your name\
        |what's your name|what model|which model|are you chatgpt|are you gpt|are you real",
    ),
    (
        Help,
        "help|what can you do|what do you do|how do you work|what can i ask|usage|abilities\
        |help me",
    ),
    (
        Unable,
        "delete|remove|erase|rename|move|copy|run|execute|install|download|upload|email\
        |translate|summarize|summarise|explain|compress|unzip|except|excluding|without|not|don't\
        |never|but|unless|if|recursively|recursive|including|older|newer|than|larger|bigger\
        |smaller|more|less|instead|undo|at least|at most|between|modified|changed",
    ),
    (
        Composition,
        "poem|story|essay|letter|haiku|joke|song|script|program|function|code|class|report|article\
        |summary|review|recipe|plan|limerick|tests|documentation|comments|logging|paragraph|tweet",
    ),
    (
        Answer,
        "result|results|the result|answer|the answer|number|the number|matches|hits",
    ),
    (AskMe, "ask me|ask us|ask the user|ask the person"),
    (Ask, "ask"),
    (Something, "something|anything|whatever|question|questions"),
    (
        MyName,
        "who i am|what to call me|how to call me|what i am called",
    ),
    (
        Repeat,
        "repeat|echo|repeat back|repeat it back|say it back|tell it back|tell me it|say it\
        |tell me what i said|say what i said",
    ),
    (Post, "post|announce|publish"),
    (Send, "send"),
    (
        TellChat,
        "tell the chat|tell everyone in the chat|tell everybody in the chat|tell chat\
        |tell the global chat|let the chat know|inform the chat|notify the chat\
        |say in the chat|say in the global chat",
    ),
    (Chat, "chat|global chat|chat room|chatroom"),
    (Numbers, "numbers|integers"),
    (
        Adding,
        "sum|sum up|add up|add together|the sum of|sum of|add them up|add them together|add both\
        |their sum",
    ),
    (
        Subtracting,
        "subtract|difference|the difference of|their difference",
    ),
    (
        Multiplying,
        "multiply|multiply together|product|product of|the product of|their product",
    ),
    (Dividing, "divide"),
];

pub(super) const NUMBERS: &[(u64, &str)] = &[
    (0, "zero"),
    (1, "one|single"),
    (2, "two|couple|a couple of|a couple|couple of|pair"),
    (3, "three"),
    (4, "four"),
    (5, "five"),
    (6, "six"),
    (7, "seven"),
    (8, "eight"),
    (9, "nine"),
    (10, "ten"),
    (11, "eleven"),
    (12, "twelve|dozen|a dozen"),
    (13, "thirteen"),
    (14, "fourteen"),
    (15, "fifteen"),
    (16, "sixteen"),
    (17, "seventeen"),
    (18, "eighteen"),
    (19, "nineteen"),
    (20, "twenty"),
    (30, "thirty"),
    (40, "forty"),
    (50, "fifty"),
    (60, "sixty"),
    (70, "seventy"),
    (80, "eighty"),
    (90, "ninety"),
    (100, "hundred|a hundred"),
];
