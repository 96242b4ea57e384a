import { call, gained, perl, row, type SandboxEscape } from './sandbox-escape.ts';

/** Flags of clone and unshare. */
const NAMESPACES = [
  ['mounts', 0x0002_0000],
  ['control groups', 0x0200_0000],
  ['names', 0x0400_0000],
  ['IPC', 0x0800_0000],
  ['users', 0x1000_0000],
  ['processes', 0x2000_0000],
  ['network', 0x4000_0000],
] as const;

const PID = '$ENV{PID} + 0';
/** A call on another process. Any answer gains, also an error that shows that the process was found. */
const onProcess = (number: number, ...args: readonly string[]): string =>
  perl(`my @given = (${args.join(', ')}); my $r = syscall(${number}, @given); print "GAINED $r" if $r >= 0;`);

/** A check of an address comes after the process was found; 14: the address is invalid. */
const memoryCall = (number: number): string =>
  perl(
    `my $b = "x" x 8; my $at = pack("PQ", $b, 8); my $there = pack("QQ", 0, 8); my $r = syscall(${number}, ${PID}, $at, 1, $there, 1, 0); print "GAINED" if $r >= 0 or $! == 14;`,
  );

const SOCKETS = [
  ['the host of a virtual machine', 40, 1],
  ['the kernel’s ciphers', 38, 5],
  ['other protocols of clusters', 30, 1],
  ['the bus of a car', 29, 3],
  ['radio', 31, 3],
  ['keys of the network', 15, 3],
  ['programs for packets', 44, 3],
] as const;

/** System calls that a program without privileges does not need (numbers of x64). */
export const CALLS: readonly SandboxEscape[] = [
  ...NAMESPACES.map(([name, flag]) =>
    row(`a namespace of ${name} by its call`, call(272, String(flag)), name === 'users' ? 'user' : 'root'),
  ),
  row('a child in another user namespace', call(56, String(0x1000_0011), '0', '0', '0', '0'), null),
  row('a child by the newer call', call(435, '0', '0'), 'user'),
  row('a namespace that is entered by its call', call(308, '-1', '0'), 'user'),
  row('a mount by the old call', call(165, '0', '0', '0', '0', '0'), 'root'),
  row('an unmount by the old call', call(166, '0', '0'), null),
  row('a mount of a directory by the newer calls', call(428, '-100', '"/"', '1'), 'root'),
  row('a mount that is moved', call(429, '-100', '""', '-100', '""', '0'), 'root'),
  row('settings of a mount by the newer calls', call(431, '-1', '0', '0', '0', '0'), 'user'),
  row('a mount of what was set', call(432, '-1', '0', '0'), 'root'),
  row('a file system that is looked at to be mounted', call(433, '-100', '"/"', '0'), 'root'),
  row('attributes of mounts', call(442, '-100', '"/"', '0', '0', '0'), 'user'),
  row('a change of the root', call(155, '0', '0'), 'root'),
  row('another root by its call', call(161, '"/usr"'), 'root'),
  row('a module of the kernel', call(175, '0', '0', '0'), null),
  row('a module of the kernel from a file', call(313, '-1', '""', '0'), null),
  row('the removal of a module', call(176, '0', '0'), null),
  row('another kernel', call(246, '0', '99', '0', '0'), null),
  row('another kernel from a file', call(320, '-1', '-1', '0', '""', '0'), null),
  row('memory on a disk', call(167, '0', '0'), 'root'),
  row('memory taken off a disk', call(168, '0'), 'root'),
  row('accounts of processes', call(163, '"/nowhere/at/all"'), 'root'),
  row('ports of the machine', call(172, '9'), null),
  row('some ports of the machine', call(173, '0', '0', '9'), null),
  row('the name of the machine by its call', call(170, '0', '9999'), 'root'),
  row('the domain of the machine by its call', call(171, '0', '9999'), 'root'),
  row('quotas', call(179, '-1', '0', '0', '0'), 'user'),
  row('quotas of a directory', call(443, '-1', '-1', '0', '0'), 'user'),
  row('looking on at files of others', call(300, '0', '0'), 'root'),
  row('the log of the kernel by its call', call(103, '3', '0', '0'), null),
  row('a request for a key', call(249, '"user"', '"svc"', '0', '-3'), 'user'),
  row('a keyring of the session that is joined', call(250, '1', '0'), 'user'),
  row('keys of a keyring that are read', call(250, '11', '-3', '0', '0'), 'user'),
  row('a search for keys', call(250, '10', '-5', '"user"', '"svc"', '0'), 'user'),
  row('a key that is handed to a keyring', call(250, '8', '-3', '-4'), 'user'),
  row('rights of a key', call(250, '5', '-3', '0x3f3f3f3f'), 'user'),
  row('work handed to queues', call(426, '-1', '0', '0', '0', '0', '0'), 'user'),
  row('buffers of queues', call(427, '-1', '0', '0', '0'), 'user'),
  row('a tracer that stops nothing', onProcess(101, '0x4206', PID, '0', '0'), 'root'),
  row('memory of a process by its call', memoryCall(310), 'user'),
  row('memory of a process that is written by its call', memoryCall(311), 'user'),
  row('a handle of a process', onProcess(434, PID, '0')),
  row('comparing what processes have open', onProcess(312, PID, PID, '0', '0', '0'), 'root'),
  row('limits of another process', onProcess(302, PID, '7', '0', '0'), 'root'),
  row('processors of another process', gained('taskset -p "$PID"')),
  row('pages of another process', onProcess(279, PID, '0', '0', '0', '0', '0'), 'user'),
  row('memory of another process moved', onProcess(256, PID, '0', '0', '0'), null),
  row(
    'a robust list of another process',
    perl('my ($h, $l) = ("x" x 8, "x" x 8); print "GAINED" if syscall(274, $ENV{PID} + 0, $h, $l) >= 0'),
    'root',
  ),
  row('the group of another process', onProcess(121, PID)),
  row('the session of another process', onProcess(124, PID)),
  row('the priority of another process', onProcess(140, '0', PID)),
  row(
    'capabilities of another process',
    perl('my $h = pack("Ll", 0x20080522, $ENV{PID}); my $d = "x" x 24; print "GAINED" if syscall(125, $h, $d) >= 0'),
  ),
  row('a signal by its newer call', onProcess(62, PID, '0')),
  row('a signal to a thread', onProcess(200, PID, '0')),
  row(
    'capabilities that are given back',
    perl(
      'my $h = pack("Ll", 0x20080522, 0); my $d = pack("L6", (0xffffffff) x 6); my $r = syscall(126, $h, $d); my $g = "\\0" x 24; syscall(125, $h, $g); print "GAINED" if (unpack("L6", $g))[0] & 0x00200000',
    ),
    'root',
  ),
  row('ambient capabilities', perl('print "GAINED" if syscall(157, 47, 2, 21, 0, 0) == 0'), null),
  row('privileges that come with a program', perl('print "GAINED" if syscall(157, 39, 0, 0, 0, 0) == 0'), 'user'),
  row('all user ids by one call', perl('print "GAINED" if syscall(117, 0, 0, 0) == 0 and $> == 0'), 'root'),
  row('groups by their call', perl('my $g = pack("L", 0); print "GAINED" if syscall(116, 1, $g) == 0'), 'root'),
  row('the user of files alone', perl('syscall(122, 0); print "GAINED" if syscall(122, 0) == 0'), 'root'),
  row('the time of the machine', perl('my $t = pack("QQ", time, 0); print "GAINED" if syscall(227, 0, $t) == 0'), null),
  row('the speed of the clock', perl('my $t = "\\1" . "\\0" x 255; print "GAINED" if syscall(159, $t) >= 0'), null),
  ...SOCKETS.map(([name, family, kind]) =>
    // Those that the machine has no module for are refused there too.
    row(
      `a socket of ${name}`,
      perl(`print "GAINED" if socket(S, ${family}, ${kind}, 0) or ($! != 97 and $! != 1)`),
      null,
    ),
  ),
];
