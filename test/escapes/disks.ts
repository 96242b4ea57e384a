import assert from 'node:assert/strict';
import { HANDS } from './agents.ts';
import type { Escape } from './escape.ts';
import { assertHarmless, type EscapeTargets } from './escape-targets.ts';

const FULL = /^(QuotaExceeded|ToolNotAvailable|ToolFailed|unavailable|quota_exceeded|FileTooLarge)$/;
const MiB = 1_024 * 1_024;

async function healthy({ node }: EscapeTargets): Promise<void> {
  assert.equal((await node.call('GET', '/health')).status, 200);
}

/** On a file system of 32 MiB that holds all volumes and nothing else. */
const filled = (title: string, fill: (call: EscapeTargets['call']) => Promise<void>): Escape => ({
  ...{ title, kind: 'disks' },
  async attempt(at) {
    const { call } = await at.begin(HANDS);
    assert.equal((await call('fs.write', { path: 'kept.txt', content: 'kept' })).isError, false);
    await fill(call);
    await healthy(at);
    assert.equal((await call('fs.read', { path: 'kept.txt' })).said, 'kept', 'what was there is whole');
    await call('fs.delete', { path: 'fill', recursive: true });
    const again = await call('fs.write', { path: 'kept.txt', content: 'again' });
    assert.equal(again.isError, false, again.said);
  },
});

const sh = (script: string) => async (call: EscapeTargets['call']) => {
  assertHarmless(await call('cmd.run', { command: 'sh', args: ['-c', `mkdir -p fill; cd fill; ${script}`] }));
};

export const SMALL_DISKS: readonly Escape[] = [
  filled('a disk filled by fs.write', async (call) => {
    const content = 'x'.repeat(8 * MiB);
    let last = await call('fs.write', { path: 'fill/0', content });
    for (let at = 1; at < 8 && !last.isError; at += 1) last = await call('fs.write', { path: `fill/${at}`, content });
    assert.ok(last.isError && (FULL.test(last.code) || /ENOSPC/.test(last.said)), last.said.slice(0, 300));
  }),
  filled('a disk filled by a command', sh('cat /dev/zero > one; true')),
  filled(
    'a disk filled by many files',
    sh('i=0; while [ $i -lt 60 ]; do head -c 1000000 /dev/zero > $i || break; i=$((i+1)); done; true'),
  ),
  filled('a disk filled by an edit of what is on it', async (call) => {
    await call('fs.write', { path: 'fill/big', content: `x${'y'.repeat(6 * MiB)}` });
    await sh('cat /dev/zero > rest; true')(call);
    const said = await call('fs.edit', {
      path: 'fill/big',
      target_content: 'x',
      replacement_content: 'z'.repeat(4 * MiB),
    });
    assert.ok(said.isError, said.said.slice(0, 100));
  }),
];

/** Of 200 MB, on a disk with room. */
const over = (title: string, script: string): Escape => ({
  ...{ title, kind: 'disks' },
  async attempt(at) {
    const { call } = await at.begin(HANDS);
    const said = await call('cmd.run', { command: 'sh', args: ['-c', script] });
    assertHarmless(said);
    assert.ok(
      said.isError || /File too large|File size limit/.test(said.said) || said.text.includes('"exit_code":'),
      said.said,
    );
    await call('fs.delete', { path: 'fill', recursive: true });
    await healthy(at);
  },
});

export const VOLUMES: readonly Escape[] = [
  over('a volume filled beyond its limit with one file', 'mkdir fill; head -c 400000000 /dev/zero > fill/one; sleep 3'),
  over(
    'a volume filled beyond its limit with many',
    'mkdir fill; for i in 1 2 3 4 5; do head -c 90000000 /dev/zero > fill/$i; done; sleep 600',
  ),
  {
    ...{ title: 'a file written beyond what a tool may write', kind: 'disks' },
    async attempt(at) {
      const said = await at.call('fs.write', { path: 'huge', content: 'x'.repeat(11 * MiB) });
      assertHarmless(said);
      await healthy(at);
      await at.call('fs.delete', { path: 'huge' });
    },
  },
];
