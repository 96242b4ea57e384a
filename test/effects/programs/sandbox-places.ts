import { gained, perl, row, type SandboxEscape } from './sandbox-escape.ts';

const writable = (path: string): SandboxEscape => row(`writing to ${path}`, gained(`[ -w ${path} ]`), 'root');
const hidden = (path: string, without: SandboxEscape['without'] = null): SandboxEscape =>
  row(
    `a look at ${path}`,
    gained(`[ -d ${path} ] && ls -A ${path} 2>/dev/null | grep -q . || [ -f ${path} -a -s ${path} ]`),
    without,
  );
const device = (name: string): SandboxEscape => row(`the device ${name}`, gained(`[ -e /dev/${name} ]`), null);
/** Number of concurrent processes, above the limit of 256. */
const many = (title: string, script: string): SandboxEscape => row(title, script, null);
/**
 * Without a limit of the system the node counts processes and ends surplus ones after a moment, which is longer on a
 * busy machine: processes that are left after all these looks gained. The processes live longer than that.
 */
const COUNT =
  'sleep 5; n=0; while [ "$(ls -d /proc/[0-9]* | wc -l)" -gt 300 ]; do n=$((n + 1)); if [ $n -gt 20 ]; then echo GAINED; break; fi; sleep 1; done';

/** Files, devices, sockets and the process table of the machine, and the share of it that one program may take. */
export const PLACES: readonly SandboxEscape[] = [
  ...['/etc/passwd', '/etc/hosts', '/etc/ld.so.cache', '/usr/bin/env', '/usr/lib', '/bin/sh', '/etc'].map(writable),
  ...['/proc/sys/kernel/hostname', '/proc/sys/vm/drop_caches'].map(writable),
  ...['/proc/sys/net/ipv4/ip_forward', '/proc/sys/kernel/randomize_va_space', '/proc/sys/fs/file-max'].map(writable),
  ...['/proc/sys/kernel/modprobe', '/sys/kernel/uevent_helper', '/sys/power/state'].map((path) =>
    row(`writing to ${path}`, gained(`[ -w ${path} ]`), null),
  ),
  row('who is ended first, itself last', gained('echo -500 > /proc/self/oom_score_adj'), null),
  row('formats of programs', gained('[ -w /proc/sys/fs/binfmt_misc/register ]'), null),
  row('memory of the kernel', gained('head -c 1 /proc/kcore | grep -q .'), null),
  row('addresses of the kernel', gained("grep -qv '^0000000000000000' /proc/kallsyms"), 'root'),
  row('messages of the kernel', gained('timeout 1 head -c 1 /proc/kmsg | grep -q .'), null),
  row('keys in the table of keys', gained('grep -q _ses /proc/keys'), null),
  row('maps of a process', gained('grep -q . "/proc/$PID/maps"')),
  row('what a process has open', gained('ls "/proc/$PID/fd" | grep -q .')),
  row('the command of a process', gained('[ "$(cat "/proc/$PID/comm")" = sleep ]')),
  row('the group of controls of a process', gained('grep -q . "/proc/$PID/cgroup"')),
  row('the place of a process', gained('readlink "/proc/$PID/cwd" | grep -q .')),
  row('descriptors of its starter', 'cat "/proc/$PPID/fd/9"'),
  row(
    'descriptors of all processes',
    'for one in /proc/[0-9]*/fd/*; do [ -f "$one" ] && head -c 200 "$one"; done 2>/dev/null | grep -a sentinel',
  ),
  row(
    'its own descriptors, all of them',
    'for one in /proc/self/fd/*; do [ -f "$one" ] && cat "$one"; done 2>/dev/null',
  ),
  row('a descriptor by its device', 'cat /dev/fd/9'),
  row('the root of its starter', 'cat "/proc/$PPID/root$DATA/secret"'),
  row('the place of process 1', 'cat /proc/1/cwd/secret', null),
  row('the environment of process 1', gained("tr '\\0' '\\n' < /proc/1/environ | grep -q ^SENTINEL="), null),
  row('the secret by a path of many slashes', 'cat "/////$DATA///secret"'),
  row('the secret by /proc/self/task', 'cat /proc/$$/task/*/root"$DATA/secret"'),
  row(
    'a listing of the directory above',
    gained('ls -A /workspace/.. | grep -qE "^(home|root|srv|opt)$" && ls -A /workspace/../root | grep -q .'),
    null,
  ),
  ...['/root', '/srv', '/boot', '/var/log', '/var/lib', '/var/spool', '/mnt', '/media', '/run/user'].map((path) =>
    hidden(path),
  ),
  ...['/etc/ssh', '/etc/sudoers', '/etc/machine-id', '/etc/fstab', '/etc/crontab', '/etc/cron.d', '/etc/gshadow'].map(
    (path) => hidden(path),
  ),
  ...['/etc/hostname', '/etc/resolv.conf', '/etc/apt', '/etc/systemd', '/etc/docker', '/etc/kubernetes'].map((path) =>
    hidden(path),
  ),
  ...['/var/run/docker.sock', '/run/podman', '/run/containerd', '/run/dbus', '/run/systemd', '/run/secrets'].map(
    (path) => row(`the socket or directory ${path}`, gained(`[ -e ${path} ]`), null),
  ),
  ...[
    'mem',
    'kmsg',
    'fuse',
    'net/tun',
    'kvm',
    'loop-control',
    'console',
    'mapper',
    'disk',
    'uinput',
    'vhost-vsock',
    'port',
  ].map(device),
  row('a device of a disk that is made', gained('mknod b b 7 0'), 'root'),
  row('a device of memory that is made', gained('mknod m c 1 1'), 'root'),
  row(
    'a program that makes root of its caller',
    'cp /bin/sh s && chmod 4755 s && chown 0:0 s && if [ "$(stat -c %u s)" = 0 ]; then echo GAINED; fi',
    'root',
  ),
  row('capabilities of a file', 'cp /bin/sh s && if setcap cap_sys_admin+ep s; then echo GAINED; fi', null),
  row('a file for another user', gained('touch f && chown 12345 f'), 'root'),
  row('the network of the host, by its interfaces', gained('[ "$(grep -c : /proc/net/dev)" -gt 1 ]')),
  row('the network of the host, by its routes', gained('[ "$(wc -l < /proc/net/route)" -gt 1 ]'), null),
  row('the network of the host, by its neighbours', gained('[ "$(wc -l < /proc/net/arp)" -gt 1 ]'), null),
  row('the network of the host, by its Unix sockets', gained('grep -qF "$SOCKET" /proc/net/unix')),
  // It sets flags to their present values, so the machine keeps its loopback where it succeeds.
  row(
    'an interface',
    perl(
      'socket(S, PF_INET, SOCK_DGRAM, 0) or die; my $q = pack("a16s", "lo", 0); ioctl(S, 0x8913, $q) or die; print "GAINED" if ioctl(S, 0x8914, $q)',
    ),
    // Tried only inside: nothing in the machine's own network is changed.
    null,
  ),
  row(
    'an address of its own',
    perl(
      'socket(S, PF_INET, SOCK_DGRAM, 0) or die; my $q = pack("a16", "lo") . sockaddr_in(0, inet_aton("127.9.9.9")); print "GAINED" if ioctl(S, 0x8916, $q)',
    ),
    null,
  ),
  row(
    'a listener over IPv6',
    perl(
      'socket(S, 10, SOCK_STREAM, 0); connect(S, pack("SnNa16N", 10, $ENV{PORT}, 0, "\\0" x 10 . "\\xff\\xff" . inet_aton("127.0.0.1"), 0)) or die $!; print scalar <S>',
    ),
    null,
  ),
  row('a listener by a shell', "bash -c 'exec 3<>/dev/tcp/127.0.0.1/$PORT && cat <&3' 2>&1"),
  row(
    'a packet to the metadata of a cloud',
    perl(
      'socket(S, PF_INET, SOCK_DGRAM, 0); connect(S, sockaddr_in(80, inet_aton("169.254.169.254"))) or die $!; print "GAINED"',
    ),
    null,
  ),
  row(
    'a packet to the internet',
    perl(
      'socket(S, PF_INET, SOCK_DGRAM, 0); connect(S, sockaddr_in(53, inet_aton("192.0.2.1"))) or die $!; print "GAINED"',
    ),
    null,
  ),
  row(
    'a broadcast packet',
    perl(
      'socket(S, PF_INET, SOCK_DGRAM, 0); setsockopt(S, 1, 6, 1); send(S, "x", 0, sockaddr_in(9, inet_aton("255.255.255.255"))) or die $!; print "GAINED"',
    ),
    null,
  ),
  row(
    'an echo of the network',
    perl(
      'socket(S, PF_INET, SOCK_DGRAM, 1) and send(S, "\\x08\\0\\xf7\\xff" . "\\0" x 4, 0, sockaddr_in(0, inet_aton("192.0.2.1"))) or die $!; print "GAINED"',
    ),
    null,
  ),
  row('a connection that another process opened', perl('opendir(D, "/proc/$ENV{PID}/fd") or die; print "GAINED"')),
  row(
    'shared memory of the host, by its files',
    gained('ls -A /dev/shm /dev/mqueue 2>/dev/null | grep -q "^[a-z]"'),
    null,
  ),
  row('messages between processes of the host', gained('[ "$(ipcs -q | grep -c 0x)" -gt 0 ]'), null),
  row('the tree of control groups', gained('find /sys/fs/cgroup -name cgroup.procs 2>/dev/null | grep -q .')),
  row(
    'leaving its control group',
    gained(
      'for g in /sys/fs/cgroup /sys/fs/cgroup/pids; do echo $$ > $g/cgroup.procs; done 2>/dev/null && [ -d /sys/fs/cgroup/pids ]',
    ),
    null,
  ),
  row(
    'a control group with a release agent on the host',
    gained('[ -e /sys/fs/cgroup/memory/release_agent -o -e /sys/fs/cgroup/cgroup.subtree_control ]'),
    null,
  ),
  many(
    'processes without end, by a shell',
    `(i=0; while [ $i -lt 900 ]; do sleep 60 & i=$((i + 1)); done) 2>/dev/null; ${COUNT}`,
  ),
  many(
    'processes that make processes',
    `f() { for i in 1 2 3 4 5 6 7 8; do ( [ $1 -gt 0 ] && f $(($1 - 1)); sleep 60 ) & done; }; f 3 2>/dev/null; ${COUNT}`,
  ),
  many(
    'processes that leave their session',
    `i=0; while [ $i -lt 700 ]; do setsid sleep 60 & i=$((i + 1)); done 2>/dev/null; ${COUNT}`,
  ),
  many(
    'children without end',
    `perl -e 'for (1 .. 900) { my $p = fork; last unless defined $p; if (!$p) { sleep 60; exit } }'; ${COUNT}`,
  ),
  many(
    'files in /tmp without end',
    'head -c 300000000 /dev/zero > /tmp/big 2>/dev/null; if [ "$(stat -c %s /tmp/big)" -ge 300000000 ]; then echo GAINED; fi',
  ),
  many(
    'shared memory without end',
    'head -c 100000000 /dev/zero > /dev/shm/big 2>/dev/null; if [ "$(stat -c %s /dev/shm/big)" -ge 100000000 ]; then echo GAINED; fi',
  ),
  many(
    'a file without end',
    'truncate -s 2G big 2>/dev/null; if [ "$(stat -c %s big)" -gt 1073741824 ]; then echo GAINED; fi',
  ),
  many(
    'open files without end',
    perl('my @f; while (@f < 5000) { open(my $h, "<", "/dev/null") or last; push @f, $h } print "GAINED" if @f > 1100'),
  ),
];
