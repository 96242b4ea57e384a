import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { parse } from 'yaml';
import { AgentNode, listOf, type Members, members } from '../product/agents/agent-node.ts';
import { BUSYBOX, NEEDS_PODMAN } from '../support/podman.ts';

const EXAMPLE = join(import.meta.dirname, '..', '..', 'examples', 'agents', 'tools');
const INPUT = 'feat: a door; fix: the handle; feat: a window';
const read = (name: string): Promise<string> => readFile(join(EXAMPLE, name), 'utf8');

describe('the example of an agent with tools', () => {
  test('both manifests are one agent but for the place it runs in', async () => {
    const [onNode, inContainer] = [
      members(parse(await read('changelog.yaml'))),
      members(parse(await read('changelog-in-container.yaml'))),
    ];
    const without = (manifest: Members) => ({ ...members(manifest.spec), runtime: null });
    assert.deepEqual(without(inContainer), without(onNode));
  });

  describe('on a node and a Podman of its own', NEEDS_PODMAN, () => {
    let setup: AgentNode;
    before(async () => {
      const rules = listOf(parse(await read('changelog.script.yaml')).rules);
      setup = await AgentNode.start({ rules });
    });
    after(() => setup?.[Symbol.asyncDispose]());

    for (const name of ['changelog.yaml', 'changelog-in-container.yaml']) {
      test(`${name}: it writes, counts and answers`, async () => {
        // No registry here: the image of the tests has a shell and grep too.
        const manifest = (await read(name)).replace(/image: .+/, `image: ${BUSYBOX}`);
        const id = await setup.node.run(await setup.node.deploy(manifest), INPUT);
        const status = await setup.ended(id);
        assert.deepEqual(
          [status.status, status.last_output],
          ['completed', '2 features, 1 fixes'],
          JSON.stringify(status),
        );
        assert.equal(status.tool_calls_executed, 4);
        const files = await setup.workspace(id);
        assert.equal(files['/commits.txt'], 'feat: a door\nfix: the handle\nfeat: a window\n');
        assert.match(String(files['/CHANGELOG.md']), /^# Changelog\n\n- a door\n/);
        const text = JSON.stringify(await setup.events(id));
        assert.match(text, /I write the titles down\./);
      });
    }
  });
});
