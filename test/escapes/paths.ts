import assert from 'node:assert/strict';
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import type { Escape } from './escape.ts';
import { assertHarmless, assertRefused, type EscapeTargets } from './escape-targets.ts';

/** Every tool that takes a path. */
export const callsWith = (
  path: unknown,
): readonly (readonly [tool: string, given: Readonly<Record<string, unknown>>])[] => [
  ['fs.read', { path }],
  ['fs.write', { path, content: 'escaped' }],
  ['fs.list', { path }],
  ['fs.create_dir', { path }],
  ['fs.edit', { path, target_content: 's', replacement_content: 'escaped' }],
  ['fs.multi_edit', { path, edits: [{ target_content: 's', replacement_content: 'escaped' }] }],
  ['fs.grep', { pattern: '.', path }],
  ['fs.glob', { pattern: '**', path }],
  ['fs.delete', { path, recursive: true }],
];

const REFUSED = /^(PathTraversalAttempt|PathOutsideBoundary|InvalidArguments)$/;

const outside = (title: string, path: string | ((at: EscapeTargets) => string)): Escape => ({
  ...{ title: `a path that is ${title}`, kind: 'paths' },
  async attempt(at) {
    const given = typeof path === 'string' ? path : path(at);
    const answers = callsWith(given).map(([tool, args]) => at.call(tool, args));
    for (const said of await Promise.all(answers)) assertRefused(said, REFUSED);
  },
});

/** Plain names for this system: whatever is done stays in the workspace. */
const inside = (title: string, path: string | ((at: EscapeTargets) => string)): Escape => ({
  ...{ title: `a path that is ${title}`, kind: 'paths' },
  async attempt(at) {
    const given = typeof path === 'string' ? path : path(at);
    const answers = callsWith(given).map(([tool, args]) => at.call(tool, args));
    for (const said of await Promise.all(answers)) assertHarmless(said);
    await assert.rejects(access(join(at.outside, 'escaped')));
  },
});

export const PATHS: readonly Escape[] = [
  outside('two dots', '..'),
  outside('two dots and a slash', '../'),
  outside('above the workspace', '../../etc/passwd'),
  outside('above it by its own name', '/workspace/../etc/passwd'),
  outside('above it behind a directory', 'a/../../b'),
  outside('back where it was', 'a/..'),
  outside('two dots behind one', './..'),
  outside('two dots after many slashes', '/workspace////..////etc'),
  outside('two hundred times up', `${'../'.repeat(200)}etc/passwd`),
  outside('up to the file itself', ({ outside: out }) => `/workspace/${'../'.repeat(30)}${out.slice(1)}/secret.txt`),
  outside('absolute', '/etc/passwd'),
  outside('absolute with two slashes', '//etc/passwd'),
  outside('absolute with dots', '/./etc/./passwd'),
  outside('the directory outside', ({ outside: out }) => out),
  outside('the file outside', ({ outside: out }) => `${out}/secret.txt`),
  outside('the volume by its path on the host', ({ workspace }) => workspace),
  outside('the data directory of the node', ({ setup }) => setup.data),
  outside('the database of the node', ({ setup }) => `${setup.data}/documents.sqlite`),
  outside('the environment of the node', '/proc/self/environ'),
  outside('the root of the node by /proc', ({ outside: out }) => `/proc/self/root${out}/secret.txt`),
  outside('the root of process 1', '/proc/1/root/etc/passwd'),
  outside('the working directory of the node', '/proc/self/cwd/package.json'),
  outside('descriptors of the node', '/proc/self/fd/0'),
  outside('memory of the node', '/proc/self/mem'),
  outside('an endless device', '/dev/zero'),
  outside('standard input', '/dev/stdin'),
  outside('shared memory', '/dev/shm/x'),
  outside('kernel settings', '/sys/kernel/uevent_helper'),
  outside('the sockets of the system', '/run/docker.sock'),
  outside('temporary files', '/tmp/escaped'),
  outside('keys of the user', '/root/.ssh/authorized_keys'),
  outside('a name that only begins like the workspace', '/workspacex/file'),
  outside('the workspace in capitals', '/WORKSPACE/file'),
  outside('the workspace with one capital', '/Workspace/file'),
  outside('the workspace with a blank', '/workspace /file'),
  outside('NUL', '\0'),
  outside('cut by NUL', '/workspace/a\0/../../etc/passwd'),
  outside('ended by NUL', 'file.txt\0.png'),
  inside('encoded dots', '%2e%2e/secret.txt'),
  inside('encoded slashes', '..%2fsecret.txt'),
  inside('encoded twice', '%252e%252e%252fsecret.txt'),
  inside('overlong encoded dots', '%c0%ae%c0%ae/secret.txt'),
  inside('with backslashes', '..\\secret.txt'),
  inside('of a drive', 'C:\\Windows\\system32'),
  inside('a network name', '\\\\host\\share'),
  inside('of a home', '~/.ssh/id_ed25519'),
  inside('of a variable', '$HOME/.ssh/id_ed25519'),
  inside('of a command', '`id`/$(id)'),
  inside('full-width dots', '．．/secret.txt'),
  inside('one character that looks like two dots', '‥/secret.txt'),
  inside('two dots and a blank', '.. /secret.txt'),
  inside('two dots and a zero-width blank', '..\u200b/secret.txt'),
  inside('three dots', '.../secret.txt'),
  inside('four dots', '....//secret.txt'),
  inside('a URL', ({ outside: out }) => `file://${out}/secret.txt`),
  inside('a glob', '*/secret.txt'),
  inside('of 300 characters in one name', 'x'.repeat(300)),
  inside('of 20,000 characters', 'x/'.repeat(10_000)),
  inside('with half a character', '\ud800/x'),
  inside('with line breaks and escapes', 'a\nb\u001b[31m/x'),
  inside('turned round on the screen', '\u202etxt.terces'),
];
