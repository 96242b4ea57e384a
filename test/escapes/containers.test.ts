import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { NEEDS_PODMAN } from '../support/podman.ts';
import { someOf } from '../support/size.ts';
import { waitUntil } from '../support/wait-until.ts';
import { make } from './escape.ts';
import { type EscapeTargets, escapeTargets } from './escape-targets.ts';
import { picture } from './host.ts';
import { BOXES } from './list.ts';

describe('a node with a container engine cannot be escaped by', NEEDS_PODMAN, () => {
  let at: EscapeTargets;
  let was: Awaited<ReturnType<typeof picture>>;
  before(async () => {
    at = await escapeTargets({ containers: true });
    was = await picture(at.outside);
  });
  after(() => at[Symbol.asyncDispose]());

  for (const row of someOf(BOXES, 9)) test(row.title, (context) => make(row, at, context));

  test('no container and no part of one is left afterwards', async () => {
    const { podman } = at.setup;
    assert.ok(podman !== null);
    await waitUntil('all containers are gone', async () => (await podman.docker.listContainers()).length === 0);
    assert.deepEqual(await picture(at.outside), was);
  });
});
