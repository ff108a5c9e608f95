//! The programs of the list.

use super::options::{Options, Style};
use super::{Rule, awk, find, git, odd, sed};

/// Programs that neither write, nor send, nor run anything, whatever their arguments say; of
/// those that are also builtins of bash, neither does the builtin.
const ALWAYS: &str = "ls cat head tail wc cut tr echo grep egrep fgrep stat du df nl tac rev paste \
    join comm fold fmt column expand unexpand od hexdump strings basename dirname realpath readlink \
    md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum base64 base32 seq expr \
    true false : pwd whoami id groups uname nproc arch uptime free ps pgrep printenv which whereis \
    type tty users who locale numfmt factor pr cmp sleep cal dir vdir logname tsort \
    lscpu lsblk eza exa";

/// Programs whose version is asked for. Not those that read a file of the folder or of the home
/// directory, which is the workspace, before they show it: cargo, rustc, npm, docker, curl, wget,
/// psql, gpg, rsync, fish, less and others write or run what such a file says.
const VERSION: &str = "python python2 python3 node gcc g++ cc c++ clang clang++ make cmake ninja \
    java javac ruby perl php bash zsh vim nvim ssh sqlite3 ffmpeg postgres ld man emacs nano";

/// The rule of a program, if it is in the list.
pub(super) fn rule(name: &str) -> Option<Rule> {
    if is_in(ALWAYS, name) {
        return Some(Rule::Always);
    }
    if is_in(VERSION, name) {
        return Some(Rule::Version(match name {
            "python" | "python2" | "python3" | "ssh" => "-V",
            "node" | "ruby" | "perl" | "php" => "-v",
            "java" => "-version",
            _ => "--version",
        }));
    }
    Some(match name {
        "git" => Rule::Only(git::check),
        "find" => Rule::Only(find::check),
        "xargs" => Rule::Only(find::check_xargs),
        "sed" => Rule::Only(sed::check),
        "awk" | "gawk" | "mawk" => Rule::Only(awk::check),
        "printf" => Rule::Only(odd::printf),
        "test" | "[" => Rule::Only(odd::test),
        "command" => Rule::Only(odd::command),
        "date" => Rule::Only(odd::date),
        "tar" => Rule::Only(odd::tar),
        "unzip" => Rule::Only(odd::unzip),
        "ip" => Rule::Only(odd::ip),
        "dpkg" => Rule::Only(odd::dpkg),
        "getent" => Rule::Only(odd::getent),
        "xxd" => Rule::Only(odd::xxd),
        _ => Rule::With(options(name)?),
    })
}

fn is_in(list: &str, name: &str) -> bool {
    list.split_whitespace().any(|known| known == name)
}

fn options(name: &str) -> Option<Options> {
    let new = Options::new;
    Some(match name {
        "rg" => RG,
        "fd" | "fdfind" => FD,
        "diff" => DIFF,
        "cd" => new("LP", "").at_most(1),
        "env" | "umask" | "hostname" => new("", "").at_most(0),
        "sort" => new(
            "bdfghiMnRrVck:t:uzms",
            "key= field-separator= reverse numeric-sort human-numeric-sort version-sort unique \
             ignore-case stable check zero-terminated general-numeric-sort month-sort random-sort \
             dictionary-order ignore-leading-blanks merge",
        ),
        // The second operand is the file that it writes.
        "uniq" => new(
            "cdDiuzf:s:w:",
            "count repeated unique ignore-case skip-fields= skip-chars= check-chars= \
             all-repeated? zero-terminated",
        )
        .at_most(1),
        "shuf" => new(
            "n:ezi:r",
            "head-count= echo input-range= zero-terminated repeat",
        ),
        // It reads the letters of a bundle on after one with a value, so values are apart.
        "tree" => new(
            "adfilpsughDFQNqCJXtcUrvxnL:P:I:",
            "gitignore dirsfirst filesfirst du prune noreport inodes device matchdirs \
             ignore-case si",
        )
        .style(Style::Apart),
        "file" => new(
            "bhiLkNnr0F:",
            "brief mime mime-type mime-encoding dereference no-dereference keep-going no-pad \
             extension",
        ),
        "jq" => new(
            "rcnsSeMCajR",
            "arg argjson slurpfile rawfile args jsonargs raw-output compact-output null-input slurp \
             sort-keys exit-status tab indent= raw-input ascii-output join-output color-output \
             monochrome-output stream",
        ),
        "getconf" => new("a", ""),
        "iconv" => new("f:t:lc", "from-code= to-code= list"),
        "bc" => new("lq", "mathlib quiet").at_most(0),
        "ss" | "netstat" => new("tulnpaeo46smi", "").at_most(0),
        "zipinfo" => new("12smlvht", ""),
        "zcat" => new("", ""),
        "tokei" => new("fs:e:t:", "files sort= exclude= types=").style(Style::Apart),
        _ => return None,
    })
}

/// Not here: `--pre` and `--hostname-bin`, which run a program, and `-z`, which runs others.
const RG: Options = Options::new(
    "0acFhHiIlLnNopPqsSuUvVwxbA:B:C:E:M:T:d:e:f:g:j:m:r:t:",
    "files files-with-matches files-without-match count count-matches line-number no-line-number \
     column ignore-case smart-case case-sensitive word-regexp line-regexp fixed-strings \
     invert-match multiline multiline-dotall only-matching hidden no-ignore no-ignore-vcs \
     unrestricted follow glob= iglob= type= type-not= type-list type-add= max-count= max-depth= \
     max-columns= max-filesize= context= after-context= before-context= regexp= replace= sort= \
     sortr= stats trim heading no-heading color= colors= no-filename with-filename json null \
     pcre2 engine= passthru pretty quiet text vimgrep no-messages no-config threads= encoding= \
     glob-case-insensitive include-zero one-file-system debug crlf binary byte-offset",
);

/// Not here: `-x` and `-X`, which run a program, and `-l`, which runs ls.
const FD: Options = Options::new(
    "HIuspigLaFt:e:d:E:c:0S:j:",
    "hidden no-ignore no-ignore-vcs unrestricted case-sensitive ignore-case glob regex \
     fixed-strings absolute-path follow full-path type= extension= max-depth= min-depth= \
     exact-depth= exclude= size= changed-within= changed-before= color= print0 max-results= \
     prune threads= base-directory= search-path= and= strip-cwd-prefix?",
);

/// Not here: `-l`, which runs pr.
const DIFF: Options = Options::new(
    "0123456789uqrNwbBiycaspEtTU:C:x:X:W:I:F:L:S:",
    "unified? context? brief recursive new-file ignore-all-space ignore-space-change \
     ignore-blank-lines ignore-case ignore-trailing-space side-by-side color? exclude= \
     exclude-from= width= suppress-common-lines strip-trailing-cr label= report-identical-files \
     text no-dereference minimal speed-large-files show-c-function left-column normal",
);
