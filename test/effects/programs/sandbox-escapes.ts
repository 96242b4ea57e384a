import { sample } from '../../support/size.ts';
import { CALLS } from './sandbox-calls.ts';
import { CONFIGURATIONS } from './sandbox-configurations.ts';
import { call, gained, perl, row, type SandboxEscape, tcp, unix } from './sandbox-escape.ts';
import { PLACES } from './sandbox-places.ts';

const FILES: readonly SandboxEscape[] = [
  row('a secret in the data directory', 'cat "$DATA/secret"'),
  row('the signing key of the node', 'cat "$DATA/key.pem"'),
  row('a file of the workspace of another tenant', 'cat "$DATA/other/file"'),
  row('names in the data directory', gained('ls "$DATA" | grep -q secret')),
  row('a file in the host’s /tmp', 'cat "$FILE"'),
  row('any file by its name', gained('find /tmp / -xdev -name "$MARKER" 2>/dev/null | grep -q .')),
  row('a new file on the host', gained('echo x > "$OUT/made-$(id -u)"')),
  row('a link to a file', 'ln -s "$DATA/secret" link && cat link'),
  row('a link to a directory', 'ln -s "$DATA" directory && cat directory/secret'),
  row('a link over /proc/self/cwd', 'ln -s /proc/self/cwd/../../../../../../../.. up && cat "up$DATA/secret"'),
  row('a path that goes up', 'cat "../../../../../../../../..$DATA/secret"'),
  row('a further name of a file', 'ln "$DATA/secret" name && cat name', 'root'),
  row('passwords of the host', gained('grep -q ^root: /etc/shadow'), 'root'),
  row('people of the host', gained('grep -q ^daemon: /etc/passwd')),
  row('homes', gained('ls -A /root /home | grep -q "^\\."'), 'root'),
  row('what else is on the disk', gained('ls -A /var /srv /opt /boot /run 2>/dev/null | grep -q "^[a-z]"')),
  row('files of the system', gained('touch /usr/bin/svc-escape'), null),
  row('configuration of the system', gained('touch /etc/svc-escape'), null),
  row('a directory of the top', gained('mkdir /svc-escape'), null),
  row('permissions of a device', gained('chmod 666 /dev/null'), 'root'),
  row('a device of its own', gained('mknod device c 1 3'), 'root'),
  row('disks', gained('ls /dev | grep -qE "^(sd|vd|nvme|xvd|loop)"'), 'user'),
  row('a file by its handle', call(304, '-100', '0', '0'), 'root'),
  row('owners of files', 'touch f && chown 0:0 f && if [ "$(stat -c %u f)" = 0 ]; then echo GAINED; fi', 'root'),
];

const PROCESSES: readonly SandboxEscape[] = [
  row('files over the root of process 1', 'cat "/proc/1/root$DATA/secret"', null),
  row('files over its own root', 'cat "/proc/self/root$DATA/secret"'),
  row('files over the root of another process', 'cat "/proc/$PID/root$DATA/secret"'),
  row('files over the directories of all processes', 'cat /proc/[0-9]*/cwd/secret'),
  row('the environment of a process', 'tr "\\0" "\\n" < "/proc/$PID/environ"'),
  row('environments of all processes', 'cat /proc/[0-9]*/environ | tr "\\0" "\\n" | grep ^SENTINEL='),
  row('command lines of all processes', gained('cat /proc/[0-9]*/cmdline | tr "\\0" " " | grep -q "[s]leep 98765"')),
  row('memory of a process', gained('[ -r "/proc/$PID/mem" ]')),
  row('a signal', gained('kill -0 "$PID"')),
  row('signals to all', gained('kill -0 -1 && kill -0 "$PID"')),
  row(
    'a tracer',
    perl('print "GAINED" if syscall(101, 16, $ENV{PID} + 0, 0, 0) == 0; syscall(101, 17, $ENV{PID} + 0, 0, 0)'),
    'root',
  ),
  row('who is ended first', gained('echo 500 > "/proc/$PID/oom_score_adj"')),
  row(
    'the pattern of core files',
    gained('cat /proc/sys/kernel/core_pattern > p && cat p > /proc/sys/kernel/core_pattern'),
    'root',
  ),
  row('settings of the kernel', gained('[ -w /proc/sys/kernel/panic ]'), 'root'),
  row('the key that restarts the machine', gained('[ -w /proc/sysrq-trigger ]'), null),
  row('the log of the kernel', gained('dmesg | grep -q .'), 'root'),
  row('a higher priority', gained('[ "$(nice -n -5 nice 2>/dev/null)" -lt "$(nice)" ]'), 'root'),
  row('shared memory of the host', gained('ipcs -m | grep -q "$SHARED"')),
  row('descriptors that were left open', 'cat /proc/self/fd/9'),
  row('the terminal', gained('exec 3<> /dev/tty'), null),
  row('text typed into a terminal', call(16, '0', '0x5412', '"x"'), 'user'),
];

const NETWORK: readonly SandboxEscape[] = [
  row('a listener of the node on loopback', tcp('127.0.0.1')),
  row('a listener of the node as 0.0.0.0', tcp('0.0.0.0')),
  row('a listener of the node by its name', tcp('localhost')),
  row('a Unix socket', unix('$ENV{SOCKET}')),
  row('an abstract Unix socket', unix('"\\0$ENV{ABSTRACT}"')),
  row('a Unix socket over the root of a process', unix('"/proc/$ENV{PID}/root$ENV{SOCKET}"')),
  row('names of its listeners', gained('grep -qi ":$(printf %04x "$PORT") " /proc/net/tcp')),
  row('raw packets', perl('print "GAINED" if socket(S, PF_INET, SOCK_RAW, 1)'), 'root'),
  row('packets of others', perl('print "GAINED" if socket(S, 17, SOCK_RAW, 768)'), 'root'),
  row('the name of the machine', gained('[ "$(uname -n)" = "$MACHINE" ]')),
  row('sockets in /run', gained('find /run /var/run -type s 2>/dev/null | grep -q . || [ -d /run/lock ]')),
];

const PRIVILEGES: readonly SandboxEscape[] = [
  row('being root', gained('[ "$(id -u)" = 0 ]'), 'root'),
  row('becoming root', perl('$> = 0; $< = 0; print "GAINED" if $> == 0 or $< == 0'), 'root'),
  row('becoming another user', perl('$> = 12345; print "GAINED" if $> == 12345'), 'root'),
  row('groups', perl('$) = "0 0 4"; print "GAINED" if $) =~ /\\b4\\b/'), 'root'),
  row('programs that give every user root rights', gained('grep -q "^NoNewPrivs:.0" /proc/self/status')),
  row('capabilities', gained('grep "^Cap[EPIA]" /proc/self/status | grep -vq 0000000000000000$'), 'root'),
  row('a user namespace', gained('unshare -U true')),
  row('root of a user namespace', gained('unshare -Ur id | grep -q uid=0')),
  row('a mount namespace', gained('unshare -m true'), 'root'),
  row('the namespaces of another process', gained('nsenter -t "$PID" -u true'), 'root'),
  row('a mount', 'mkdir m; if mount -t tmpfs x m; then echo GAINED; umount m; fi', 'root'),
  row('a mount by the newer calls', call(430, '"tmpfs"', '0'), 'root'),
  row('the system’s programs to be written again', gained('mount -o remount,rw /usr'), null),
  row('taking away its mounts', gained('umount /workspace || umount /proc || umount /dev'), null),
  row('another root', gained('chroot / true'), 'root'),
  row('a restart of the machine', call(169, '0', '0', '0', '0'), 'root'),
  row('a program for the kernel', call(321, '0', '0', '0'), 'root'),
  row('counters of the processor', call(298, '0', '0', '0', '0', '0')),
  row('faults of pages', call(323, '0'), 'root'),
  row('queues that go around filters', call(425, '1', '0')),
  row('a key', call(248, '"user"', '"svc"', '"x"', '1', '-3')),
  row('a keyring', call(250, '0', '-3', '1')),
  row('a 32-bit number of a call', call(0x4000_0000 + 39), null),
  row('control groups', gained('ls -A /sys/fs/cgroup | grep -q .')),
  row('devices in /sys', gained('ls -A /sys | grep -q .')),
  row('more open files', gained('ulimit -n 16000'), 'root'),
  row('larger core files', gained('ulimit -c unlimited && [ "$(ulimit -c)" = unlimited ]'), null),
];

const COMMIT = 'git -c user.name=a -c user.email=a@b.c commit -q --allow-empty -m x 2>&1';
const READERS: readonly SandboxEscape[] = [
  row(
    'git status, by a monitor that the repository names',
    'git init -q r && cd r && git config core.fsmonitor "echo GAINED >&2; echo 1" && git status 2>&1',
  ),
  row(
    'git commit, by a hook of the repository',
    `git init -q r && cd r && mkdir -p .git/hooks && printf '#!/bin/sh\\necho GAINED >&2\\n' > .git/hooks/pre-commit && chmod +x .git/hooks/pre-commit && ${COMMIT}`,
  ),
  row(
    'git commit, by hooks elsewhere',
    `git init -q r && cd r && mkdir h && printf '#!/bin/sh\\necho GAINED >&2\\n' > h/pre-commit && chmod +x h/pre-commit && git config core.hooksPath h && ${COMMIT}`,
  ),
  row(
    'git status, by the configuration of a home',
    'git init -q r && cd r && HOME=$PWD && printf "[core]\\n\\tfsmonitor = echo GAINED >&2; echo 1\\n" > .gitconfig && export HOME && git status 2>&1',
  ),
  row(
    'git status, by a directory that looks like a repository',
    'git init -q --bare b && cd b && mkdir w && git config core.bare false && git config core.worktree w && git config core.fsmonitor "echo GAINED >&2; echo 1" && git status 2>&1',
  ),
  row('make, with a file of its own', 'printf "all:\\n\\t@cat %s\\n" "$DATA/secret" > Makefile && make 2>&1'),
  row('perl', 'perl -pe 1 "$DATA/secret"'),
  row('tar', 'tar -cf - "$DATA/secret" 2>/dev/null | tar -xOf -'),
  row('an editor', 'sed "" "$DATA/secret"'),
  row('a shell', 'while read -r line; do echo "$line"; done < "$DATA/secret"'),
];

/** Attempts to reach the node and its machine, each with its own title. */
export const SANDBOX_ESCAPES: readonly SandboxEscape[] = [
  ...FILES,
  ...PROCESSES,
  ...NETWORK,
  ...PRIVILEGES,
  ...READERS,
  ...CALLS,
  ...PLACES,
  ...CONFIGURATIONS,
];

/** Every fourth attempt runs with the tests; a long run and `npm run attack` make all (`SVC_ATTACK=whole`). */
const EACH = process.env.SVC_ATTACK === 'whole' ? 1 : sample({ normal: 6, long: 1 });
export const CHOSEN_ESCAPES: readonly SandboxEscape[] = SANDBOX_ESCAPES.filter((_escape, index) => index % EACH === 0);
