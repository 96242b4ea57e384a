import { row, type SandboxEscape } from './sandbox-escape.ts';

const SECRET = 'cat $DATA/secret';
const REPOSITORY = 'git init -q r && cd r';
const AUTHOR = 'git -c user.name=a -c user.email=a@b.c';
/** A command of git, with one setting of the repository that names a program. */
const git = (title: string, setting: string, command: string, value = SECRET): SandboxEscape =>
  row(`git, by ${title}`, `${REPOSITORY} && git config ${setting} "${value}" && ${command} 2>&1`);
const make = (title: string, text: string, command = 'make'): SandboxEscape =>
  row(`make, by ${title}`, `printf '${text}' > Makefile && ${command} 2>&1`);
const reader = (title: string, command: string): SandboxEscape => row(title, `${command} 2>&1`);

/** Programs that run or read what their configuration names: they get no more than their sandbox has. */
export const CONFIGURATIONS: readonly SandboxEscape[] = [
  git('an alias', 'alias.x', 'git x', `!${SECRET}`),
  git('an editor', 'core.editor', `echo x > f && git add f && ${AUTHOR} commit`, `${SECRET}; :`),
  git(
    'a program for differences',
    'diff.external',
    'echo x > f && git add f && echo y > f && git diff',
    `${SECRET}; :`,
  ),
  git(
    'a filter of files',
    'filter.x.clean',
    'echo "* filter=x" > .gitattributes && git add . && git show :.gitattributes',
    SECRET,
  ),
  git(
    'a text of files',
    'diff.x.textconv',
    'echo "* diff=x" > .gitattributes && git add . && git cat-file --textconv :.gitattributes',
    `${SECRET}; :`,
  ),
  git(
    'a helper for credentials',
    'credential.helper',
    'echo url=https://example.org | git credential fill',
    `!${SECRET} >&2`,
  ),
  row(
    'git, by a program for signatures',
    `${REPOSITORY} && printf '#!/bin/sh\\ncat $DATA/secret > ../got\\n' > sign && chmod +x sign && git config gpg.program "$PWD/sign" && echo x > f && git add f && ${AUTHOR} commit -S -m x; cat ../got 2>&1`,
  ),
  git('a way to other machines', 'core.sshCommand', 'git ls-remote ssh://host/x', `${SECRET} >&2; :`),
  git(
    'another protocol',
    'protocol.ext.allow',
    'echo "cat $DATA/secret >&2" > x && git ls-remote "ext::sh x"',
    'always',
  ),
  git(
    'a merge',
    'merge.x.driver',
    `echo "* merge=x" > .gitattributes && git add . && ${AUTHOR} commit -qm a && git checkout -qb o && echo o > f && git add f && ${AUTHOR} commit -qm b && git checkout -q - && echo m > f && git add f && ${AUTHOR} commit -qm c && ${AUTHOR} merge o; cat f`,
    `${SECRET} >&2; :`,
  ),
  git(
    'a file that it includes',
    'include.path',
    'printf "[alias]\\n\\tx = !cat $DATA/secret\\n" > .git/more && git x',
    'more',
  ),
  git('a worktree elsewhere', 'core.worktree', 'git add -A && git show :secret', '$DATA'),
  row(
    'git, by objects of another repository',
    `${REPOSITORY} && git hash-object -w "$DATA/secret" | xargs git cat-file -p 2>&1`,
  ),
  row('git, by a difference without a repository', 'git diff --no-index /dev/null "$DATA/secret" 2>&1'),
  row(
    'git, by an archive',
    `${REPOSITORY} && ln -s "$DATA/secret" l && git add l && tar -chf - l 2>&1 | tar -xOf - 2>&1`,
  ),
  make(
    'a shell in a variable',
    'X := $(shell cat @S@)\\nall:\\n\\t@echo $X\\n',
    'sed -i "s|@S@|$DATA/secret|" Makefile && make',
  ),
  make(
    'a shell of its own',
    'SHELL = /bin/sh\\n.SHELLFLAGS = -c "cat @S@" --\\nall:\\n\\t@x\\n',
    'sed -i "s|@S@|$DATA/secret|" Makefile && make',
  ),
  make('its arguments', 'all:\\n\\t@true\\n', "make --eval='$(info $(shell cat $(DATA)/secret))'"),
  row(
    'make, by a file that it reads',
    'printf \'$(info $(file < %s))\\nall:\\n\\t@true\\n\' "$DATA/secret" > Makefile && make 2>&1',
  ),
  reader(
    'tar, by a program at a checkpoint',
    'tar -cf /dev/null --checkpoint=1 --checkpoint-action=exec="cat $DATA/secret" /usr/bin/env',
  ),
  reader(
    'tar, by a program for each file',
    'echo x > f && tar -cf a.tar f && tar -xf a.tar --to-command="cat $DATA/secret"',
  ),
  reader('find, by a program for each file', 'find / -maxdepth 0 -exec cat "$DATA/secret" ";"'),
  reader('xargs', 'echo "$DATA/secret" | xargs cat'),
  reader('awk', 'awk \'{ print }\' "$DATA/secret"'),
  reader('awk, by a shell', 'awk \'BEGIN { system("cat $DATA/secret") }\''),
  reader('sed, by a shell', 'echo x | sed "1e cat $DATA/secret"'),
  reader('sed, by a file that it reads', 'echo x | sed "r $DATA/secret"'),
  reader('sort, by a program that compresses', 'sort "$DATA/secret"'),
  reader('split, by a program for each part', 'echo x | split --filter="cat $DATA/secret" -'),
  reader('env', 'env cat "$DATA/secret"'),
  reader('a time-out', 'timeout 5 cat "$DATA/secret"'),
  reader('nice', 'nice cat "$DATA/secret"'),
  reader('dd', 'dd if="$DATA/secret"'),
  reader('base64', 'base64 "$DATA/secret" | base64 -d'),
  reader('od', 'od -An -c "$DATA/secret" | tr -d " \\n"'),
  reader('cp', 'cp "$DATA/secret" copy && cat copy'),
  reader('install', 'install -m 644 "$DATA/secret" copy && cat copy'),
  reader('diff', 'diff /dev/null "$DATA/secret"'),
  reader('head', 'head -c 100 "$DATA/secret"'),
  reader('a library that is loaded first', 'LD_PRELOAD="$DATA/secret" true; cat "$DATA/secret"'),
  reader('a file that shells read first', 'BASH_ENV="$DATA/secret" bash -v -c true'),
  reader('settings of perl', 'PERL5OPT="-Mstrict" perl -ne print "$DATA/secret"'),
  reader('a here-document', 'cat <<X\n$(cat "$DATA/secret")\nX'),
  reader('names by a pattern', 'cat "$(dirname "$DATA")"/*/secret'),
];
