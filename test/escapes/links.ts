import assert from 'node:assert/strict';
import { link, readlink, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Escape } from './escape.ts';
import { assertHarmless, type EscapeTargets } from './escape-targets.ts';
import { callsWith } from './paths.ts';

/** A link of this shape in a directory, and the paths through it that are tried. */
const through = (title: string, target: (at: EscapeTargets) => string, ...below: readonly string[]): Escape => ({
  ...{ title: `a link to ${title}`, kind: 'links' },
  async attempt(at) {
    const { name, path } = await at.place();
    await at.sh(`cd ${name} && ln -s '${target(at)}' link`);
    for (const rest of below.length === 0 ? [''] : below) {
      for (const [tool, args] of callsWith(`${name}/link${rest}`)) {
        await rm(join(path, 'link'), { recursive: true, force: true });
        await symlink(target(at), join(path, 'link'));
        const said = await at.call(tool, args);
        assertHarmless(said);
        // A link itself may be deleted, and a search below it finds nothing: what it names stays.
        if (rest === '' && ['fs.delete', 'fs.grep', 'fs.glob', 'fs.write'].includes(tool)) continue;
        assert.ok(
          said.isError || said.said.trim() === '' || /^no |nothing/i.test(said.said),
          `${tool}: ${said.said.slice(0, 200)}`,
        );
      }
    }
  },
});

const SEARCHES = [
  ['fs.grep', { pattern: '.', path: '/' }],
  ['fs.grep', { pattern: '.', path: '/workspace' }],
  ['fs.glob', { pattern: '**/secret.txt', path: '/' }],
  ['fs.glob', { pattern: '*/*/*', path: '/' }],
] as const;

export const LINKS: readonly Escape[] = [
  through('a directory outside', ({ outside }) => outside, '', '/secret.txt', '/new.txt', '/sub', '/sub/new/new.txt'),
  through('a file outside', ({ outside }) => `${outside}/secret.txt`),
  through('a file outside that is not there', ({ outside }) => `${outside}/new.txt`),
  through('the root', () => '/', '', '/etc/passwd'),
  through('the root of the node by /proc', () => '/proc/self/root', '/etc/passwd'),
  through('the environment of the node', () => '/proc/self/environ'),
  through('a descriptor of the node', () => '/proc/self/fd/0'),
  through('an endless device', () => '/dev/zero'),
  through('a terminal', () => '/dev/tty'),
  through('the data directory of the node', ({ setup }) => setup.data, '', '/documents.sqlite', '/volumes'),
  through('what is above, relative', ({ outside }) => `${'../'.repeat(40)}${outside.slice(1)}`, '/secret.txt'),
  through('its own parent’s parent', () => '../..', '/../etc', '/..'),
  through('itself', () => 'link', '', '/x'),
  {
    ...{ title: 'a chain of forty links that ends outside', kind: 'links' },
    async attempt(at) {
      const { name } = await at.place();
      await at.sh(`cd ${name} && ln -s '${at.outside}' l0 && for i in $(seq 1 39); do ln -s l$((i-1)) l$i; done`);
      for (const [tool, args] of callsWith(`${name}/l39/secret.txt`)) {
        const said = await at.call(tool, args);
        assertHarmless(said);
        assert.ok(said.isError || said.said.trim() === '', `${tool}: ${said.said}`);
      }
    },
  },
  {
    ...{ title: 'links that a search over everything comes by', kind: 'links' },
    async attempt(at) {
      const { name } = await at.place();
      await at.sh(`cd ${name} && ln -s '${at.outside}' out && ln -s '${at.outside}/secret.txt' secret && ln -s / root`);
      for (const [tool, args] of SEARCHES) {
        const said = await at.call(tool, args);
        assertHarmless(said);
        assert.doesNotMatch(said.said, /(out|root)\/.*secret\.txt/);
      }
    },
  },
  {
    ...{ title: 'a link under a directory that is deleted whole', kind: 'links' },
    async attempt(at) {
      const { name } = await at.place();
      await at.sh(
        `cd ${name} && mkdir -p a/b && ln -s '${at.outside}' a/b/out && ln -s '${at.outside}/secret.txt' a/file`,
      );
      const said = await at.call('fs.delete', { path: `${name}/a`, recursive: true });
      assert.equal(said.isError, false, said.said);
    },
  },
  {
    ...{ title: 'a file written where a link to a new file outside was', kind: 'links' },
    async attempt(at) {
      const { name, path } = await at.place();
      await symlink(join(at.outside, 'made.txt'), join(path, 'made.txt'));
      await at.call('fs.write', { path: `${name}/made.txt`, content: 'x' });
      await at.call('fs.write', { path: `${name}/made.txt/deeper.txt`, content: 'x' });
      await readlink(join(path, 'made.txt')).catch(() => '');
    },
  },
  {
    ...{ title: 'a hard link to a file outside, made by a command', kind: 'links' },
    async attempt(at) {
      const { name } = await at.place();
      const said = await at.sh(`ln '${at.outside}/secret.txt' ${name}/hard 2>&1; ls ${name}`);
      // With a view of its own the workspace is another mount for a command, and no link crosses that.
      if (said.includes('hard\n')) return;
      for (const [tool, args] of callsWith(`${name}/hard`)) assertHarmless(await at.call(tool, args));
    },
  },
  {
    ...{ title: 'a second name of a file of the workspace, replaced and deleted', kind: 'links' },
    async attempt(at) {
      const { name, path } = await at.place();
      await at.call('fs.write', { path: `${name}/one`, content: 'one' });
      await link(join(path, 'one'), join(path, 'two'));
      await at.call('fs.delete', { path: `${name}/two` });
      assert.equal((await at.call('fs.read', { path: `${name}/one` })).said, 'one');
    },
  },
];
