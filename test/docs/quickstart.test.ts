import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { reminder } from '../../examples/actors/reminder.ts';
import { ActorDriver } from '../../runtime/testing/actor-driver.ts';
import { NodeProcess } from '../support/node-process.ts';
import { fencesOf, page } from './pages.ts';

const ROOT = resolve('.');
const COMMAND_TIMEOUT_MS = 60_000;
const START = 'npm start';

/** What commands print, as the pages say it: a part of the command, its standard output, and what else it shows. */
const PRINTS: readonly (readonly [command: string, output: RegExp, shown?: RegExp])[] = [
  ['run first/haiku.yaml', /^Rain on the tin roof\n/, /iteration 1 rejected[\s\S]*iteration 2 accepted/],
  ['haiku --input rain --detach', /^[0-9a-f-]{36}\n$/],
  ['{"text": "one two three"}', /"words": "3"/],
  ['run first/count.yaml', /"words": "6"/],
  ['run first/retry.yaml', /"attempts": "3"/],
  ['examples/actors/counter.ts', /^[24]\n$/],
  ['examples/actors/remind.ts', /^1 reminder_set\n2 reminder_sent\n$/],
];

/** A reader's folder: the files of the page, and the scripts of a clone. */
class Reader {
  readonly #directory: string;
  readonly #node: NodeProcess;
  #env: NodeJS.ProcessEnv = {};

  private constructor(directory: string, node: NodeProcess) {
    this.#directory = directory;
    this.#node = node;
  }

  static async start(name: string, starts: readonly string[]): Promise<Reader> {
    const directory = await mkdtemp(join(tmpdir(), 'svc-quickstart-'));
    const scripts = { svc: `node ${join(ROOT, 'cli/svc.ts')}` };
    await writeFile(join(directory, 'package.json'), JSON.stringify({ type: 'module', scripts }));
    for (const { info, text } of fencesOf(page(name))) {
      if (!info.startsWith('file=')) continue;
      const file = join(directory, info.slice('file='.length));
      await mkdir(dirname(file), { recursive: true });
      // A script's path starts at the working directory of the node, which is this test's.
      await writeFile(file, text.replace('script: first/', `script: ${directory}/first/`));
    }
    const config = /--config (\S+)/.exec(starts.join())?.[1];
    const more = config === undefined ? [] : ['--config', join(directory, config)];
    const node = new NodeProcess(['--data', join(directory, 'data'), ...more]);
    const reader = new Reader(directory, node);
    if (starts.length > 0) await reader.#startNode();
    return reader;
  }

  async #startNode(): Promise<void> {
    this.#node.spawn();
    this.#env = { SVC_URL: await this.#node.url };
  }

  /** Output of a command; rejects when it fails. */
  async run(command: string): Promise<{ readonly stdout: string; readonly stderr: string }> {
    const line = command
      .replaceAll('http://127.0.0.1:8080', this.#env.SVC_URL ?? '')
      .replace('npx node examples/', `node ${ROOT}/examples/`);
    const env = { ...process.env, ...this.#env, PATH: `${ROOT}/node_modules/.bin:${process.env.PATH}` };
    const options = { cwd: this.#directory, env, timeout: COMMAND_TIMEOUT_MS };
    return promisify(execFile)('sh', ['-c', line], options);
  }

  async end(): Promise<void> {
    await this.#node.stop();
    await rm(this.#directory, { recursive: true, force: true });
  }
}

for (const name of ['first-agent', 'first-workflow', 'first-actor']) {
  const file = `docs/quickstart/${name}.md`;
  const commands = fencesOf(page(file))
    .filter(({ info }) => info === 'run-by=quickstart.test.ts')
    .flatMap(({ text }) => text.split('\n'));

  describe(file, { timeout: 300_000 }, () => {
    let reader: Reader;
    let approval = '';
    before(async () => {
      reader = await Reader.start(
        file,
        commands.filter((command) => command.startsWith(START)),
      );
    });
    after(() => reader.end());

    for (const command of commands.filter((one) => !one.startsWith(START))) {
      test(command, async () => {
        const { stdout, stderr } = await reader.run(command.replace(/\bID\b/, approval));
        const [, output = /\S/, shown = /^/] = PRINTS.find(([part]) => command.includes(part)) ?? [];
        assert.match(stdout, output, stdout);
        assert.match(stderr, shown, stderr);
        if (command.endsWith('approval list')) approval = /[0-9a-f-]{36}/.exec(stdout)?.[0] ?? assert.fail(stdout);
      });
    }
  });
}

test('a reminder that was cancelled is not sent', () => {
  const actor = new ActorDriver(reminder, 'acme', 'r-1');
  actor.send('Remind', { text: 'stand up', after_ms: 60_000 });
  actor.send('Cancel', {});
  assert.equal(actor.timers.size, 0);
  // A timer that had already fired is a message like any other.
  assert.deepEqual(actor.send('Due', {}, 'timer').events, []);
  assert.deepEqual(
    actor.events.map(({ name }) => name),
    ['reminder_set', 'reminder_cancelled'],
  );
});
