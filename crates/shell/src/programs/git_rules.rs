//! The options of git's subcommands that only read.
//!
//! Not here, on purpose: `--output`, `--ext-diff`, `--textconv`, `--show-signature`, and the pagers
//! of `git grep` (`-O`).

use super::options::{Options, Style};

const LOG_LETTERS: &str = "0123456789pucsmwbazgiEFPRrtqvn:S:G:L:U:M::C::B::l:";

const LOG: Options = Options::new(
    LOG_LETTERS,
    "oneline graph all branches? tags? remotes? decorate? no-decorate stat? numstat shortstat \
     name-only name-status patch no-patch pretty? format= abbrev-commit no-abbrev-commit abbrev? \
     since= after= until= before= author= committer= grep= all-match invert-grep \
     regexp-ignore-case extended-regexp fixed-strings perl-regexp max-count= skip= reverse follow \
     merges no-merges first-parent topo-order date-order author-date-order date= relative-date \
     relative? source cherry cherry-pick cherry-mark left-right left-only right-only walk-reflogs \
     simplify-by-decoration full-history ancestry-path boundary not count parents children \
     cached staged merge-base minimal patience histogram diff-algorithm= word-diff? \
     word-diff-regex= color-words? color? no-color color-moved? unified= raw summary dirstat? \
     diff-filter= find-renames? find-copies? no-renames ignore-all-space ignore-space-change \
     ignore-space-at-eol ignore-blank-lines function-context inter-hunk-context= exit-code quiet \
     check text binary full-index pickaxe-regex pickaxe-all no-ext-diff no-textconv no-index \
     submodule? ignore-submodules? src-prefix= dst-prefix= no-prefix root cc combined-all-paths \
     no-notes notes? no-mailmap mailmap objects exclude= glob= numbered email committer \
     include-untracked only-untracked no-commit-id stdin",
);

const REFS: &str = "list all remotes verbose show-current contains? no-contains? merged? \
    no-merged? points-at? sort= format= column? no-column color? no-color ignore-case abbrev? count=";

/// The options of a subcommand, or of a mode of one.
pub(super) fn options(name: &str) -> Option<Options> {
    let new = Options::new;
    Some(match name {
        "log" | "show" | "diff" | "whatchanged" | "rev-list" | "diff-tree" | "diff-index"
        | "diff-files" | "range-diff" | "cherry" => LOG,
        "reflog-options" => LOG.at_most(0),
        "shortlog" => new(
            "snecw::",
            "summary numbered email group= no-merges all since= until= after= before= author=",
        ),
        "status" => new(
            "sbvzu::",
            "short branch porcelain? long verbose show-stash untracked-files? ignored? \
             ignore-submodules? ahead-behind no-ahead-behind no-renames column? no-column",
        ),
        "blame" | "annotate" => new(
            "lwsetfpncbL:M::C::",
            "line-porcelain porcelain date= since= show-email show-name show-number color-lines \
             color-by-age first-parent reverse root ignore-rev= abbrev=",
        ),
        "branch" => new("avrq", REFS),
        "tag" => new("ln::", REFS),
        "for-each-ref" => new("", REFS),
        "show-ref" => new(
            "sdq",
            "heads tags head hash? verify dereference abbrev? quiet",
        ),
        "remote" => new("v", "verbose").at_most(0),
        "remote-get-url" => new("", "all push").at_most(1),
        "worktree-list" => new("vz", "porcelain verbose").at_most(0),
        "submodule-status" => new("", "recursive cached"),
        "config" => new(
            "lz",
            "get get-all get-regexp list global local system worktree show-origin show-scope \
             name-only bool int path type= includes null default=",
        )
        .style(Style::Leading),
        _ => return plumbing(name),
    })
}

fn plumbing(name: &str) -> Option<Options> {
    let new = Options::new;
    Some(match name {
        "ls-files" => new(
            "cdmosuiktvz",
            "cached deleted modified others stage unmerged ignored exclude-standard full-name \
             error-unmatch directory no-empty-directory deduplicate eol abbrev?",
        ),
        "ls-tree" => new(
            "rtdlz",
            "name-only name-status full-name full-tree long abbrev? object-only format=",
        ),
        "rev-parse" => new(
            "q",
            "abbrev-ref? short? show-toplevel git-dir git-common-dir absolute-git-dir verify quiet \
             is-inside-work-tree is-inside-git-dir is-bare-repository is-shallow-repository \
             show-prefix show-cdup show-superproject-working-tree symbolic symbolic-full-name all \
             branches? tags? remotes? git-path= show-object-format?",
        ),
        "describe" => new(
            "",
            "tags always dirty? long abbrev= match= exclude= exact-match all contains \
             first-parent candidates=",
        ),
        "cat-file" => new("petsz", "batch? batch-check? batch-all-objects"),
        "merge-base" => new("a", "all octopus is-ancestor fork-point independent"),
        "name-rev" => new("", "name-only tags all refs= always"),
        "grep" => new(
            "0123456789niIlLcwvEFPhHeqpWaozA:B:C:m:f:",
            "line-number column count name-only files-with-matches files-without-match \
             ignore-case word-regexp invert-match extended-regexp fixed-strings perl-regexp \
             heading break cached no-index untracked and or not all-match max-depth= \
             context= after-context= before-context= show-function function-context \
             only-matching quiet full-name color? no-color text recurse-submodules max-count= \
             exclude-standard no-exclude-standard",
        ),
        "check-ignore" => new("vnq", "verbose non-matching quiet no-index"),
        "count-objects" => new("vH", "verbose human-readable"),
        "version" => new("", "build-options"),
        "var" => new("l", "").at_most(1),
        _ => return None,
    })
}
