import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';

const SOURCE = new URL('../../cli/start/once-started.ts', import.meta.url).href;

test('a node that works from its start on collects its whole heap once it is calm, so that its actors do not wait for it', () => {
  const program = `
    import v8 from 'node:v8';
    import { syncBuiltinESMExports } from 'node:module';
    const seen = [];
    v8.setFlagsFromString = (option) => {
      seen.push(option);
      if (option === '--no-expose-gc' && seen.includes('calm')) {
        console.log(seen.join(' '));
        process.exit(0);
      }
    };
    syncBuiltinESMExports();
    const { onceStarted } = await import(${JSON.stringify(SOURCE)});
    onceStarted({ keep: () => seen.push('kept'), keepAtExit: () => seen.push('at-exit') });
    const end = performance.now() + 2_500;
    const work = () => {
      if (performance.now() < end) setImmediate(work);
      else seen.push('calm');
    };
    work();
    setInterval(() => {}, 1_000);`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--expose-gc', '--input-type=module', '--eval', program], {
    env: { PATH: process.env.PATH, NODE_NO_WARNINGS: '1' },
    encoding: 'utf8',
    timeout: 20_000,
  });
  assert.equal(stderr, '');
  assert.equal(stdout, 'kept at-exit calm --expose-gc --no-expose-gc\n');
});
