/** Attempts of a command of `cmd.run` to exceed its bounds, with the expected results. */
export interface CommandEscape {
  readonly title: string;
  readonly command: string;
  /** `MARK` becomes a number that only this run of the table uses. */
  readonly args: readonly string[];
  /** An error's code, or the limit that ends it; `runs`: it runs and `stdout` shows that nothing was gained. */
  readonly ends: 'invalid_argument' | 'not_found' | 'timeout' | 'output' | 'processes' | 'memory' | 'runs';
  readonly stdout?: RegExp;
  /** Another limit that may be noticed first. */
  readonly or?: 'memory';
  readonly timeout_ms?: number;
  /** Only where the node may give commands a process namespace. */
  readonly ownProcesses?: true;
  /** Only where the system itself limits processes: it would be too much for a machine that others use. */
  readonly cgroups?: true;
}

const sh = (script: string): Pick<CommandEscape, 'command' | 'args'> => ({ command: 'sh', args: ['-c', script] });

const NAMES: readonly CommandEscape[] = [
  ...[
    'sh -c id',
    'ls;id',
    'ls|id',
    '$(id)',
    '`id`',
    'ls\nid',
    'ls\0id',
    '',
    ' ls',
    '-c',
    '&& id',
    'a=b',
    '../sh',
    '..',
    '.',
  ],
  ...['/bin/sh', '/usr/bin/env', '//bin/sh', '/workspace/../bin/sh', '/workspace/./x', '/workspace', '/workspace/'],
  ...['./../x', './', '~/x', '/proc/self/exe', '/workspacex/sh', 'C:\\cmd', `${'x'.repeat(300)}`],
].map((command) => ({
  title: `a command called ${JSON.stringify(command.slice(0, 40))}`,
  ...{ command, args: [], ends: 'invalid_argument' as const },
}));

const ARGUMENTS: readonly CommandEscape[] = [
  { title: 'a NUL in an argument', command: 'echo', args: ['a\0b'], ends: 'invalid_argument' },
  { title: 'an argument of 200,000 bytes', command: 'echo', args: ['x'.repeat(200_000)], ends: 'invalid_argument' },
  { title: '2,000 arguments', command: 'echo', args: Array(2_000).fill('x'), ends: 'invalid_argument' },
  {
    title: 'shell words as arguments',
    command: 'echo',
    args: ['$(id)', ';', '|', '$HOME'],
    ends: 'runs',
    stdout: /^\$\(id\) ; \| \$HOME\n$/,
  },
  { title: 'a command that is not there', command: 'no-such-command-here', args: [], ends: 'not_found' },
  { title: 'a path of the workspace that is not there', command: './missing', args: [], ends: 'not_found' },
];

const LEAKS: readonly CommandEscape[] = [
  {
    title: 'the environment of the node',
    command: 'env',
    args: [],
    ends: 'runs',
    stdout: /^(?![\s\S]*of-the-node)[\s\S]*HOME=/,
  },
  {
    title: 'keys of cloud vendors in the environment',
    ...sh('env | grep -E "AWS|OPENAI|_TOKEN|_KEY="; echo none'),
    ends: 'runs',
    stdout: /^none\n$/,
  },
  {
    title: 'the environment of the node by /proc',
    ...sh('cat /proc/[0-9]*/environ | tr "\\0" "\\n" | grep -c of-the-node'),
    ...{ ends: 'runs', stdout: /^0\n$/, ownProcesses: true },
  },
  {
    title: 'the environment of its parent',
    ...sh('tr "\\0" "\\n" < /proc/$PPID/environ | grep -c of-the-node'),
    ...{ ends: 'runs', stdout: /^0\n$/, ownProcesses: true },
  },
  {
    title: 'open descriptors of the node',
    ...sh('ls -l /proc/self/fd | grep -cE "eventpoll|io_uring|eventfd|sqlite|/documents"'),
    ...{ ends: 'runs', stdout: /^0\n$/ },
  },
  {
    title: 'descriptors of the process that started the node',
    ...sh(
      'for f in /proc/self/fd/*; do n=$(basename "$f"); [ "$n" -gt 10 ] && readlink "$f"; done | grep -v /dev/null; echo none',
    ),
    ...{ ends: 'runs', stdout: /^none\n$/ },
  },
  { title: 'a core file', ...sh('ulimit -c'), ends: 'runs', stdout: /^0\n$/ },
  {
    title: 'signals to processes of the node',
    ...sh('ls /proc | grep -xE "[0-9]{3,}"; echo end'),
    ...{ ends: 'runs', stdout: /^end\n$/, ownProcesses: true },
  },
];

const STAYING: readonly CommandEscape[] = [
  {
    title: 'a command that ignores TERM',
    ...sh('trap "" TERM INT HUP; while :; do sleep 1; done'),
    ends: 'timeout',
    timeout_ms: 500,
  },
  { title: 'a child that ignores TERM', ...sh('(trap "" TERM; sleep 600) & wait'), ends: 'timeout', timeout_ms: 500 },
  { title: 'a stopped command', ...sh('kill -STOP $$; sleep 600'), ends: 'timeout', timeout_ms: 500 },
  { title: 'a background process', ...sh('sleep MARK1 & echo'), ends: 'runs', stdout: /^\n$/ },
  { title: 'a separate session', ...sh('setsid sleep MARK2 & echo'), ends: 'runs', stdout: /^\n$/ },
  {
    title: 'a daemon of two forks',
    ...sh('(setsid sh -c "sleep MARK3 &" >/dev/null 2>&1 &) ; echo'),
    ends: 'runs',
    stdout: /^\n$/,
  },
  {
    title: 'a daemon without an environment',
    ...sh('(env -i setsid sh -c "sleep MARK4 &" >/dev/null 2>&1 &) ; sleep 0.3; echo'),
    ...{ ends: 'runs', stdout: /^\n$/, ownProcesses: true },
  },
  { title: 'output kept open by a daemon', ...sh('setsid sleep MARK5 & echo'), ends: 'runs', stdout: /^\n$/ },
  { title: 'endless waiting for input', command: 'cat', args: [], ends: 'runs', stdout: /^$/ },
];

const FLOODS: readonly CommandEscape[] = [
  { title: 'a flood of lines', command: 'yes', args: [], ends: 'output' },
  { title: 'one endless line', ...sh('tr "\\0" x < /dev/zero'), ends: 'output' },
  { title: 'a flood of bytes that are no text', command: 'cat', args: ['/dev/urandom'], ends: 'output' },
  { title: 'a flood on stderr', ...sh('yes >&2'), ends: 'output' },
  { title: 'a flood on both streams', ...sh('yes >&2 & yes'), ends: 'output' },
  {
    title: 'a flood that ignores TERM',
    ...sh('trap "" TERM; while :; do echo xxxxxxxxxxxxxxxxxxxxxxxx; done'),
    ends: 'output',
  },
  { title: 'a fork bomb', ...sh('b() { b | b & }; b; sleep 600'), ends: 'processes', or: 'memory', cgroups: true },
  {
    title: 'processes that double seven times',
    ...sh('b() { if [ "$1" -gt 0 ]; then b $(($1 - 1)) & b $(($1 - 1)) & fi; sleep 600; }; b 7'),
    ...{ ends: 'processes', or: 'memory' },
  },
  {
    title: 'a bomb that ignores TERM and leaves its group with each',
    ...sh(
      'trap "" TERM; i=0; while [ $i -lt 200 ]; do setsid sh -c "trap \'\' TERM; sleep MARK6" & i=$((i+1)); done; wait',
    ),
    ...{ ends: 'processes', or: 'memory' },
  },
  {
    title: 'many sleepers',
    ...sh('i=0; while [ $i -lt 200 ]; do sleep 600 & i=$((i+1)); done; wait'),
    ends: 'processes',
  },
  {
    title: 'many sleepers in separate sessions',
    ...sh('i=0; while [ $i -lt 200 ]; do setsid sleep 600 & i=$((i+1)); done; wait'),
    ends: 'processes',
  },
  {
    title: 'memory',
    ...sh('x=$(head -c 60000000 /dev/zero | tr "\\0" x); y=$x$x; z=$x$x; sleep 600'),
    ends: 'memory',
  },
];

export const COMMAND_ESCAPES: readonly CommandEscape[] = [...NAMES, ...ARGUMENTS, ...LEAKS, ...STAYING, ...FLOODS];
